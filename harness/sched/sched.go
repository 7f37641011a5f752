// Package sched is scheduler models: what they are asked, what they answer, and
// the baselines that others are compared with.
//
// A model is asked what to start on nodes that have room, and answers with
// decisions; it never acts. Drivers carry decisions out, on a real cluster or a
// simulated one, with the same code of the model. The package is pure: no
// clock, no I/O, no random numbers but those a seed says. New makes models by
// name and List says what there are; each baseline's file opens with its rule,
// where that is from, and how it differs.
//
// # Writing a model
//
// "heddle models new NAME" writes a model to start from. Most models are a
// NodeModel: Choose gets the View of the cluster and one node with room, and
// returns one task to start there, or none. It is asked again until the node is
// full. A model that chooses among all nodes with room is a Model with Round. A
// model may also be an Observer, to learn from what happens, a JobPlanner, to place
// a job's maps before the first starts, or a Warmup, to train before a run.
//
// The View is only to read, and shows the present. What a model keeps it keeps in
// its own struct: counts for each job (perJob), a generator of random numbers that
// is made from a seed parameter. It may keep ids, and nothing that the View
// returned: slices are used again. It must not use a clock, the global random
// source, or the order of a map, so that the same run gives the same decisions.
//
// A model's Info stands in the model's file: name, summary, source, parameters with
// their range, and how to build it. Its line in the table of registry.go makes it
// known to "heddle models", "heddle replay" and experiments.
//
// Each model in the registry is tested for what all must keep: it starts nothing
// that does not wait or does not fit, changes nothing in the View, lets no task
// wait for ever, and decides the same way twice. Models whose parameters change
// these paths have a row in property_test.go. A file in testdata/scenarios shows
// step by step what a model does; "go test ./harness/sched -run Scenarios -rewrite"
// writes the answers. "go test ./harness/sim -run Digests -update" notes the model's
// schedules, so that a later change of them is seen.
package sched

import (
	"heddle/harness/state"
)

// Model is a scheduler.
type Model interface {
	// Name is the name that New made it by.
	Name() string
	// Round is one opportunity: free[0] has reported and has room, and the
	// others are the nodes with room besides. What to start is appended to out.
	// The driver carries it out in order, and as long as that happened and the
	// node still has room, asks again: a model need not choose more than one
	// task a round. Round changes nothing but the model's own counts.
	Round(v *state.View, free []state.NodeID, out []Decision) []Decision
}

// Decision is what a model wants to be started.
type Decision struct {
	Job  state.JobID
	Kind state.Kind
	Node state.NodeID
	// Task is the task that the model means, state.None any of the job's.
	// Under node labels it is a wish: which map starts is the ApplicationMaster's
	// choice, see View.WouldBind.
	Task state.TaskID
	// Group, above 0, joins decisions of one Round that are to be carried out
	// all or not at all.
	Group  int32
	Reason Reason
}

// Reason is why a decision was taken, in one word for reports.
type Reason uint8

// Reasons. The first four say how near the model found the map's data.
const (
	Cache Reason = iota
	Node
	Rack
	Off
	Rerun   // a map that failed goes first, anywhere
	Reduces // a reduce, which is near nothing
	Random
	Plan // where the plan says, or nowhere that is up
)

func (r Reason) String() string {
	return [...]string{"cache", "node", "rack", "off", "rerun", "reduce", "random", "plan"}[r]
}

// ReasonOf is the reason of a map that was found at a level.
func ReasonOf(level state.Level) Reason { return Reason(level - state.LevelCache) }

// NodeModel is a model that looks at the node that reported and at no other.
type NodeModel interface {
	Name() string
	// Choose is one thing to start on n, which has room; false: nothing.
	Choose(v *state.View, n state.NodeID) (Pick, bool)
}

// Pick is a Decision about the node that reported. It is small enough to
// travel in registers, which matters at millions a second.
type Pick struct {
	Job    state.JobID
	Task   state.TaskID
	Kind   state.Kind
	Reason Reason
}

// On is the decision to start it on n.
func (p Pick) On(n state.NodeID) Decision {
	return Decision{Job: p.Job, Kind: p.Kind, Node: n, Task: p.Task, Reason: p.Reason}
}

// PerNode makes a NodeModel a Model.
type PerNode struct{ NodeModel }

// firstOnly marks models that look at the first of the nodes alone: collecting
// the others on a large cluster takes longer than the decision.
type firstOnly interface{ firstOnly() }

func (PerNode) firstOnly() {}

// Round asks for the node that reported.
func (m PerNode) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	if c, ok := m.Choose(v, free[0]); ok {
		out = append(out, Decision{})
		// Field by field: a copy of a whole one would wait until its fields, just
		// written, are in the cache.
		d := &out[len(out)-1]
		d.Job, d.Kind, d.Node, d.Task, d.Reason = c.Job, c.Kind, free[0], c.Task, c.Reason
	}
	return out
}

// Offers is how drivers ask: all alike, so that a model which counts
// opportunities counts the same. The zero value is ready; it keeps memory
// between calls.
type Offers struct {
	free []state.NodeID
	out  []Decision
}

// Heartbeat asks m what to start, now that node n has reported, until it has
// nothing more for it or the node is full. carryOut is given each decision, in
// order, and returns whether it has changed the State behind v accordingly.
func (o *Offers) Heartbeat(m Model, v *state.View, n state.NodeID, carryOut func(Decision) bool) {
	_, first := m.(firstOnly)
	for v.HasRoom(n) {
		if first {
			o.free = append(o.free[:0], n)
		} else {
			o.free = v.WithRoom(n, o.free[:0])
		}
		o.out = m.Round(v, o.free, o.out[:0])
		carried := false
		for i := range o.out {
			if carryOut(o.out[i]) {
				carried = true
			}
		}
		if !carried {
			return
		}
	}
}
