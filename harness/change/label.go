package change

import (
	"context"
	"errors"
	"maps"
	"slices"

	"heddle/yarnclient"
)

// nodeLabel is the kind of changes of nodes' labels. The ResourceManager takes
// labels for nodes that are down too.
type nodeLabel struct{}

// ReplaceLabels changes the labels of nodes, as yarnclient.RM.ReplaceLabels
// does. It first writes to the journal the old labels of those nodes whose old
// label is not there yet. Each call that has labels to write takes some 30 ms
// longer, however many they are. So name all workers in one early call.
func (h *Hold) ReplaceLabels(ctx context.Context, labelOf map[string]string) error {
	return h.do("replace labels",
		func() error { return h.noteLabels(ctx, labelOf) },
		func() error { return h.cluster.RM.ReplaceLabels(ctx, labelOf) })
}

func (h *Hold) noteLabels(ctx context.Context, labelOf map[string]string) error {
	return h.ensure(ctx, NodeLabel, slices.Sorted(maps.Keys(labelOf)), func(nodes []string) ([]Change, error) {
		before, err := nodesToLabels(ctx, h.cluster.RM)
		changes := make([]Change, len(nodes))
		for i, node := range nodes {
			changes[i] = Change{Kind: NodeLabel, Name: node, Label: before[node]}
		}
		return changes, err
	})
}

func (nodeLabel) Left(ctx context.Context, u *undoing, _ []Change) (finder, error) {
	there, err := labelNames(ctx, u.RM)
	if err != nil {
		return nil, err
	}
	now, err := nodesToLabels(ctx, u.RM)
	return func(c Change) finding {
		removed := c.Label != "" && !there[c.Label] // the old label was removed from the cluster, so it cannot be put back
		switch {
		case removed && now[c.Name] == "":
			return finding{kept, "that label was removed meanwhile; the node has none now"}
		case !removed && now[c.Name] == c.Label:
			return finding{}
		}
		return finding{left, "the node has " + labelText(now[c.Name])}
	}, err
}

// Undo puts all labels back in one call, or node by node if the ResourceManager
// refuses that call.
func (nodeLabel) Undo(ctx context.Context, u *undoing, list []Change) []error {
	there, err := labelNames(ctx, u.RM)
	if err != nil {
		return all(list, err)
	}
	back := map[string]string{}
	for _, c := range list {
		back[c.Name] = ""
		if there[c.Label] {
			back[c.Name] = c.Label
		}
	}
	err = u.RM.ReplaceLabels(ctx, back)
	if !errors.As(err, new(*yarnclient.RemoteError)) {
		return all(list, err)
	}
	return each(list, func(c Change) error {
		return u.RM.ReplaceLabels(ctx, map[string]string{c.Name: back[c.Name]})
	})
}

// addedLabel is the kind of labels that were added to the cluster.
type addedLabel struct{}

// addLabels adds those of the given node labels that the cluster lacks.
func (h *Hold) addLabels(ctx context.Context, prepared bool, names []string) error {
	var missing []string
	err := h.noteFirst(ctx, func() (changes []Change, err error) {
		there, err := labelNames(ctx, h.cluster.RM)
		missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return there[name] })
		for _, name := range missing {
			changes = append(changes, Change{Kind: AddedLabel, Name: name, Prepared: prepared})
		}
		return changes, err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return h.cluster.RM.AddLabels(ctx, true, missing...)
}

// Left keeps labels in use. To remove one would take it from its nodes and end the
// applications that ask for it.
func (addedLabel) Left(ctx context.Context, u *undoing, _ []Change) (finder, error) {
	there, err := labelNames(ctx, u.RM)
	if err != nil {
		return nil, err
	}
	users, err := labelUsers(ctx, u.RM)
	return func(c Change) finding {
		switch user := users[c.Name]; {
		case !there[c.Name]:
			return finding{}
		case user != "":
			return finding{kept, user + " uses it"}
		}
		return finding{left, "the cluster has it"}
	}, err
}

func (addedLabel) Undo(ctx context.Context, u *undoing, list []Change) []error {
	return each(list, func(c Change) error {
		err := u.RM.RemoveLabels(ctx, c.Name)
		if refused, ok := errors.AsType[*yarnclient.RemoteError](err); ok && refused.Status == 400 { // a queue's settings name it
			return keep{refused}
		}
		return err
	})
}

// labelUsers returns, for each node label in use, one node or application that
// uses the label.
func labelUsers(ctx context.Context, rm *yarnclient.RM) (map[string]string, error) {
	users := map[string]string{}
	nodes, err := nodesToLabels(ctx, rm)
	if err != nil {
		return nil, err
	}
	for node, label := range nodes {
		users[label] = "node " + node
	}
	apps, err := unfinishedApps(ctx, rm)
	for _, a := range apps {
		for _, label := range labelsOf(&a) {
			users[label] = "application " + a.ID
		}
	}
	return users, err
}
