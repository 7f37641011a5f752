package sched

import (
	"slices"

	"heddle/harness/queues"
	"heddle/harness/state"
)

// partitions is the model capacity by a capacity-scheduler.xml. The nodes of each label are
// divided by a tree of their own, and so are those without one.
//
// Differs. All containers of a job are on nodes of the label of its maps, or of its queue.
// Nodes whose label is not exclusive serve no other jobs while they are idle. What a queue
// takes of jobs is counted by label.
type partitions struct {
	*tree
	others []*tree // of labels, in the order in which they were first met
}

func newPartitions(f *queues.File) *partitions { return &partitions{tree: newTree(f, "")} }

// of returns the tree of a label.
func (m *partitions) of(label string) *tree {
	if label == "" {
		return m.tree
	}
	i := slices.IndexFunc(m.others, func(t *tree) bool { return t.label == label })
	if i < 0 {
		i = len(m.others)
		m.others = append(m.others, newTree(m.file, label))
	}
	m.others[i].Reasoning = m.Reasoning
	return m.others[i]
}

// labelOf returns the label of the nodes on which a job runs.
func (m *tree) labelOf(v *state.View, id state.JobID) string {
	if !v.Labelled() {
		return ""
	}
	label := v.Label(id)
	if q, err := m.file.Leaf(v.QueueName(v.Queue(id))); err == nil && label == "" {
		label = q.DefaultLabel
	}
	return label
}

func (m *partitions) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	return m.of(v.NodeLabel(n)).Choose(v, n)
}

// Admit implements Masters.
func (m *partitions) Admit(v *state.View, id state.JobID, master state.Resource) error {
	return m.of(m.labelOf(v, id)).Admit(v, id, master)
}

// Leave implements Masters.
func (m *partitions) Leave(v *state.View, id state.JobID) { m.of(m.labelOf(v, id)).Leave(v, id) }

// Beat implements HearsMasters.
func (m *partitions) Beat(v *state.View, id state.JobID) { m.of(m.labelOf(v, id)).Beat(v, id) }

// Headroom implements Masters.
func (m *partitions) Headroom(v *state.View, id state.JobID) state.Resource {
	return m.of(m.labelOf(v, id)).Headroom(v, id)
}

// Wants implements Masters.
func (m *partitions) Wants() bool {
	return m.tree.Wants() || slices.ContainsFunc(m.others, (*tree).Wants)
}

// Preempt implements Preempter.
func (m *partitions) Preempt(v *state.View, running func(state.JobID) []Container, out []Container) []Container {
	out = m.tree.Preempt(v, running, out)
	for _, t := range m.others {
		out = t.Preempt(v, running, out)
	}
	return out
}
