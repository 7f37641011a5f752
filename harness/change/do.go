package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/harness/internal/poll"
	"heddle/yarnclient"
)

// ReplaceLabels changes the labels of nodes, as yarnclient.RM.ReplaceLabels
// does. It first writes to the journal the old labels of those nodes whose old
// label is not there yet. Each call that has labels to write takes some 30 ms
// longer, however many they are. So name all workers in one early call.
func (h *Hold) ReplaceLabels(ctx context.Context, labelOf map[string]string) error {
	h.busy.RLock()
	defer h.busy.RUnlock()
	if err := h.labelsNoted(ctx, labelOf); err != nil {
		return fmt.Errorf("replace labels: %w", err)
	}
	return h.cluster.RM.ReplaceLabels(ctx, labelOf)
}

func (h *Hold) labelsNoted(ctx context.Context, labelOf map[string]string) error {
	return ensure(ctx, h, NodeLabel, maps.Keys(labelOf), func(ctx context.Context, nodes []string) ([]Change, error) {
		before, err := nodesToLabels(ctx, h.cluster.RM)
		changes := make([]Change, len(nodes))
		for i, node := range nodes {
			changes[i] = Change{Kind: NodeLabel, Name: node, Label: before[node]}
		}
		return changes, err
	})
}

// SetNodeResource changes the size (memory and cores) of a node, as
// yarnclient.RM.SetNodeResource does. Before the first change it writes to the
// journal, in one step, the old sizes of all nodes that steering has used so
// far. These are the nodes whose old labels are in the journal.
func (h *Hold) SetNodeResource(ctx context.Context, id string, total yarnclient.Resource) error {
	h.busy.RLock()
	defer h.busy.RUnlock()
	if err := h.noteSizes(ctx, id); err != nil {
		return fmt.Errorf("set resource of node %s: %w", id, err)
	}
	return h.cluster.RM.SetNodeResource(ctx, id, total)
}

// NoteSizes writes to the journal, in one step, the sizes of nodes that are to be
// changed later. Such a change then takes no longer than its call. To write to the
// journal takes much longer.
func (h *Hold) NoteSizes(ctx context.Context, nodes ...string) error {
	h.busy.RLock()
	defer h.busy.RUnlock()
	if err := h.noteSizes(ctx, nodes...); err != nil {
		return fmt.Errorf("note sizes of nodes: %w", err)
	}
	return nil
}

func (h *Hold) noteSizes(ctx context.Context, list ...string) error {
	return ensure(ctx, h, NodeResource, slices.Values(list), func(ctx context.Context, ids []string) ([]Change, error) {
		var nodes []yarnclient.Node
		err := whileActive(ctx, h.cluster.RM, func() (err error) {
			nodes, err = h.cluster.RM.Nodes(ctx, "RUNNING")
			return err
		})
		if err != nil {
			return nil, err
		}
		var changes []Change
		found := 0
		for _, n := range nodes {
			touched := slices.Contains(ids, n.ID)
			if touched && n.Total != (yarnclient.Resource{}) {
				found++
			}
			if touched || h.noted(key{kind: NodeLabel, name: n.ID}) && !h.noted(key{kind: NodeResource, name: n.ID}) {
				changes = append(changes, Change{Kind: NodeResource, Name: n.ID, Resource: &n.Total})
			}
		}
		if found < len(ids) {
			return nil, errors.New("the ResourceManager does not report its size: the node is not running, or Hadoop is older than 3.3")
		}
		return changes, nil
	})
}

// noteAdded finds out which of the given node labels the cluster lacks, writes
// these to the journal as labels to be added, and returns them.
func (h *Hold) noteAdded(ctx context.Context, prepared bool, names []string) ([]string, error) {
	h.noting.Lock()
	defer h.noting.Unlock()
	if err := h.Alive(); err != nil {
		return nil, err
	}
	there, err := labelNames(ctx, h.cluster.RM)
	if err != nil {
		return nil, err
	}
	var missing []string
	var changes []Change
	for _, name := range names {
		if there[name] {
			continue
		}
		missing = append(missing, name)
		c := Change{Kind: AddedLabel, Name: name, Prepared: prepared}
		if !h.noted(c.key()) {
			changes = append(changes, c)
		}
	}
	return missing, h.note(ctx, changes)
}

// SetSchedulerConf changes scheduler settings, as
// yarnclient.RM.SetSchedulerConf does. It accepts only changes that can be
// undone: settings of existing queues, and global settings that already have a
// value.
func (h *Hold) SetSchedulerConf(ctx context.Context, change yarnclient.SchedulerChange) error {
	h.busy.RLock()
	defer h.busy.RUnlock()
	if err := h.noteSettings(ctx, false, change); err != nil {
		return fmt.Errorf("set scheduler configuration: %w", err)
	}
	return h.cluster.RM.SetSchedulerConf(ctx, change)
}

func (h *Hold) noteSettings(ctx context.Context, prepared bool, change yarnclient.SchedulerChange) error {
	h.noting.Lock()
	defer h.noting.Unlock()
	if err := h.Alive(); err != nil {
		return err
	}
	var before map[string]string
	err := whileActive(ctx, h.cluster.RM, func() (err error) {
		before, err = h.cluster.RM.SchedulerConf(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var changes []Change
	for _, q := range slices.Concat(change.Update, []yarnclient.QueueSettings{{Settings: change.Global}}) {
		for _, name := range slices.Sorted(maps.Keys(q.Settings)) {
			c := Change{Kind: Setting, Queue: q.Queue, Name: name, Prepared: prepared}
			c.Value = before[c.settingName()]
			if q.Queue == "" && c.Value == "" {
				return fmt.Errorf("global setting %s is not set, and Hadoop cannot unset it again; set it in capacity-scheduler.xml", name)
			}
			if !h.noted(c.key()) {
				changes = append(changes, c)
			}
		}
	}
	return h.note(ctx, changes)
}

// settingName returns the full property name of a changed scheduler setting.
func (c Change) settingName() string {
	if c.Queue == "" {
		return c.Name
	}
	return "yarn.scheduler.capacity." + c.Queue + "." + c.Name
}

// ensure makes sure that the journal has the old values of some things, given
// by their names, before these are changed. For things that the journal lacks,
// it calls the function read to get the old values, and writes them to the
// journal. It fails if this process has lost the right to change the cluster.
func ensure(ctx context.Context, h *Hold, kind Kind, names func(func(string) bool), read func(context.Context, []string) ([]Change, error)) error {
	if err := h.Alive(); err != nil {
		return err
	}
	missing := func() (list []string) {
		h.mu.RLock()
		defer h.mu.RUnlock()
		for name := range names {
			if _, there := h.notes[key{kind: kind, name: name}]; !there {
				list = append(list, name)
			}
		}
		return list
	}
	if missing() == nil {
		return nil
	}
	h.noting.Lock()
	defer h.noting.Unlock()
	list := missing() // look again which entries are missing, as another goroutine may have written some meanwhile
	if list == nil {
		return nil
	}
	slices.SortFunc(list, strings.Compare)
	changes, err := read(ctx, list)
	if err != nil {
		return err
	}
	return h.note(ctx, changes)
}

func (h *Hold) noted(k key) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, there := h.notes[k]
	return there
}

// nodesToLabels and labelNames ask only an active ResourceManager. A
// ResourceManager that is just starting answers, with status 200, that there
// are no labels.
func nodesToLabels(ctx context.Context, rm *yarnclient.RM) (map[string]string, error) {
	labelOf := map[string]string{}
	err := whileActive(ctx, rm, func() error {
		all, err := rm.NodesToLabels(ctx)
		clear(labelOf)
		for node, labels := range all {
			labelOf[node] = strings.Join(labels, ",") // a node has at most one label; Join turns this list of none or one into text
		}
		return err
	})
	return labelOf, err
}

func labelNames(ctx context.Context, rm *yarnclient.RM) (map[string]bool, error) {
	names := map[string]bool{}
	err := whileActive(ctx, rm, func() error {
		labels, err := rm.NodeLabels(ctx)
		clear(names)
		for _, l := range labels {
			names[l.Name] = true
		}
		return err
	})
	return names, err
}

// whileActive calls read, which asks the ResourceManager. It calls read again
// if, when read ended, this ResourceManager was not active or another one had
// become active, since the answer may then be wrong.
func whileActive(ctx context.Context, rm *yarnclient.RM, read func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, activeLimit, fmt.Errorf("no active ResourceManager within %v", activeLimit))
	defer cancel()
	for {
		before, err := rm.WaitActive(ctx, 0)
		if err != nil {
			return err
		}
		if err = read(); err == nil {
			after, err := rm.Info(ctx)
			if err == nil && after.HAState == yarnclient.HAActive && after.ID == before.ID {
				return nil
			}
		} else if !errors.Is(err, yarnclient.ErrUnreachable) && !errors.Is(err, yarnclient.ErrUnavailable) {
			return err
		}
		if err := poll.Wait(ctx, lookEvery); err != nil {
			return err
		}
	}
}
