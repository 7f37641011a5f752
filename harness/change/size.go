package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"heddle/harness/require"
	"heddle/yarnclient"
)

// nodeSize is the kind of changes of nodes' sizes (memory and cores).
type nodeSize struct{}

// SetNodeResource changes the size (memory and cores) of a node, as
// yarnclient.RM.SetNodeResource does. Before the first change it writes to the
// journal, in one step, the old sizes of all nodes that steering has used so
// far. These are the nodes whose old labels are in the journal.
func (h *Hold) SetNodeResource(ctx context.Context, id string, total yarnclient.Resource) error {
	return h.do("set resource of node "+id,
		func() error { return h.noteSizes(ctx, id) },
		func() error { return h.cluster.RM.SetNodeResource(ctx, id, total) })
}

// NoteSizes writes to the journal, in one step, the sizes of nodes that are to be
// changed later. Such a change then takes no longer than its call. To write to the
// journal takes much longer.
func (h *Hold) NoteSizes(ctx context.Context, nodes ...string) error {
	return h.do("note sizes of nodes", func() error { return h.noteSizes(ctx, nodes...) })
}

func (h *Hold) noteSizes(ctx context.Context, list ...string) error {
	return h.ensure(ctx, NodeResource, list, func(ids []string) ([]Change, error) {
		running, err := nodes(ctx, h.cluster.RM, "RUNNING")
		if err != nil {
			return nil, err
		}
		var changes []Change
		found := 0
		for _, n := range running {
			touched := slices.Contains(ids, n.ID)
			if touched && n.Total != (yarnclient.Resource{}) {
				found++
			}
			if touched || h.noted(key{kind: NodeLabel, name: n.ID}) {
				changes = append(changes, Change{Kind: NodeResource, Name: n.ID, Resource: &n.Total})
			}
		}
		if found < len(ids) {
			return nil, errors.New("the ResourceManager does not report its size: the node is not running, or Hadoop is older than 3.3")
		}
		return changes, nil
	})
}

// Left takes a node for one that is as before if it does not register within the
// kind's patience: it has its configured size when it comes back.
func (nodeSize) Left(ctx context.Context, u *undoing, _ []Change) (finder, error) {
	all, err := nodes(ctx, u.RM)
	byID := map[string]yarnclient.Node{}
	for _, n := range all {
		byID[n.ID] = n
	}
	return func(c Change) finding {
		n, known := byID[c.Name]
		switch {
		case c.Resource == nil:
			return finding{stuck, "the journal has no old size for it"}
		case !known:
			return finding{there: unknown}
		case n.State != "RUNNING":
			return finding{stuck, "the node is " + n.State}
		case n.Total == *c.Resource:
			return finding{}
		case c.Resource.MemoryMB < n.Total.MemoryMB && !require.InPool(n.Label()):
			return finding{kept, fmt.Sprintf("the node has no label of steering and reports %d MiB: heddle makes no such node smaller",
				n.Total.MemoryMB)}
		}
		return finding{left, fmt.Sprintf("the node still reports %d MiB, %d vcores", n.Total.MemoryMB, n.Total.VCores)}
	}, err
}

func (nodeSize) Undo(ctx context.Context, u *undoing, list []Change) []error {
	return each(list, func(c Change) error { return u.RM.SetNodeResource(ctx, c.Name, *c.Resource) })
}
