// Package sched contains the scheduler models: the interface that drivers call,
// and the baselines that other models are compared with.
//
// A driver asks a model what to start on nodes that have room. The model
// answers with decisions and never acts. A driver carries the decisions out on
// a real or on a simulated cluster, so that the same model code runs in both.
// The package is pure: no clock, no I/O, and random numbers only from a given
// seed. New makes a model by name, and List describes all of them. The comment
// of each baseline's type gives its rule, the source of the rule, and how it
// differs from the source.
//
// # Writing a model
//
// A model may be in a package of any module. "heddle models new NAME" begins one
// in a module of its own, whose program is heddle with this model: its function
// main calls cmd.Main with the model's Info, and so all commands and experiments
// know the model. A program that makes models by name without the commands calls
// Register itself, also for the models of papers, which package
// harness/paper/models lists.
//
// Info has the model's name, summary, source and parameters with their ranges,
// and Build, which makes the model from the values of the parameters.
//
// Most models are a NodeModel: Choose gets the View of the cluster and one node
// with room, and returns one task to start there, or none. It is called again
// until the node is full. PerNode makes a Model of it. A model that chooses among
// all nodes with room is a Model with Round. Both may also be an Observer, to
// learn from events, a JobPlanner, to place a job's maps before the first starts,
// a Warmup, to train before a job's first task, a Noter, to report figures of its own, a Ticker, to
// do something every so often, a Foreseer, to know how the capacity of nodes will
// change, a Predictor, to say when jobs will end, which is held against their ends, or a Reasoner,
// to keep why it decided. A model that is an EveryHeartbeat hears of
// full nodes too, and of nodes while no task waits. Drivers find out with As.
//
// An Observer that is a HearsLoad also hears how loaded nodes are: Event.Sample has the
// newest metrics of the node that reported, Event.SampleAgeMs how old they are. On a
// real cluster they come from the agents, in simulations from a model of the load.
//
// A model may place only reduces and leave the maps to any other model: Compose makes
// one model of the two.
//
// FIFOOrder walks through the jobs in the usual order. RerunOrReduce is what goes
// before a job's other maps, WantsMap says whether a node can hold one of these,
// View.Nearest finds the one to start, and MapPick is the pick of it.
//
// The View is read-only and shows the present. A model keeps its own data in
// its struct: counts for each job (PerJob), or a generator of random numbers
// made from a seed parameter. It may keep ids, but no slice that the View
// returned, because these are reused. It must not use a clock, the global
// random source, or the order of a map, so that the same run gives the same
// decisions.
//
// Package schedtest tests a model in one line: that it starts nothing that does
// not wait or does not fit, changes nothing in the View, lets no task wait for
// ever, and decides the same way twice. Another line runs files that show step by
// step what the model does. Models of this package are in the table of
// registry.go, with a row in property_test.go if parameters change how they decide.
// "go test ./harness/sim -run Digests -update" records the schedules of heddle's
// models, so that a later change of them shows.
//
// Words:
//
//	opportunity  a heartbeat of a node that has room
//	round        one call that asks a model for decisions; an opportunity has one or more
//	FIFO order   jobs by descending priority, then in order of submission
//	skip         to pass over a job that could start, so that it waits for locality
//	level        how near a map's input is; a job's level is the farthest it may use
//	walk         to go through jobs one by one
//	wave         the maps that all slots of the cluster can run at the same time
package sched

import (
	"heddle/harness/state"
)

// Model is a scheduler: it decides which task starts on which node.
type Model interface {
	// Name returns the name under which New makes this scheduler model.
	Name() string
	// Round asks the model what to start. free[0] is the node whose heartbeat
	// has arrived; the other nodes in free also have room. The model appends
	// its decisions to out, and the driver carries them out in order. The
	// driver asks again as long as it carried out a decision and the node
	// still has room, so one task for each call is enough. Round changes only
	// the model's own data.
	Round(v *state.View, free []state.NodeID, out []Decision) []Decision
}

// Decision asks the driver to start a container for a job on a node.
type Decision struct {
	Job  state.JobID
	Node state.NodeID
	// Task is the task that the model wants to start; state.None means any
	// task of the job, Surplus none. When containers are steered by node labels, Task is
	// only a wish: the ApplicationMaster chooses the task, see View.WouldBind.
	Task   state.TaskID
	Kind   state.Kind
	Reason Reason
	// Group, if above 0, ties together those decisions of one answer of Round that
	// stand side by side and have the same Group: several reduces of one job. The
	// driver carries out all of them or none. All members must have their containers
	// within a time, see GroupLimitMs; otherwise all are cancelled, and tasks that
	// have started in such containers are killed. The model hears of each member's
	// cancellation.
	Group int16
}

// GroupLimitMs returns how long a group of the model's decisions may take to get all
// its containers, in milliseconds: what the model's method GroupLimitMs returns, or
// 30 seconds.
func GroupLimitMs(m Model) int64 {
	if g, ok := As[interface{ GroupLimitMs() int64 }](m); ok {
		return g.GroupLimitMs()
	}
	return 30_000
}

// Reason says in one word why a scheduling decision was taken. Reports show
// this word.
type Reason uint8

// The reasons of a decision. The first four say how near the node is to the
// map's input.
const (
	Cache Reason = iota
	Node
	Rack
	Off
	Rerun   // reason: the task is a map that must run again; it goes first and may start on any node
	Reduces // reason: the task is a reduce; it has no input block, so any node will do
	Random
	Plan // reason: the map's node is the one that the job's plan names, or any node if all named nodes are down
	// Master is said of the container of a job's ApplicationMaster, which a model that is a
	// Masters picks.
	Master
)

func (r Reason) String() string {
	return [...]string{"cache", "node", "rack", "off", "rerun", "reduce", "random", "plan", "master"}[r]
}

// ReasonOf returns the reason for a decision to start a map at this locality
// level.
func ReasonOf(level state.Level) Reason { return Reason(level - state.LevelCache) }

// NodeModel is a scheduler model that looks only at the node whose heartbeat
// has arrived.
type NodeModel interface {
	Name() string
	// Choose returns one task to start on node n, which has room. It returns
	// false to start nothing there.
	Choose(v *state.View, n state.NodeID) (Pick, bool)
}

// Pick is a scheduling decision without the node on which the task is to start.
// It is so small that it is passed in CPU registers, which matters at millions
// of decisions a second.
type Pick struct {
	Job    state.JobID
	Task   state.TaskID
	Kind   state.Kind
	Reason Reason
}

// On turns pick p into a Decision: to start the task of p on node n.
func (p Pick) On(n state.NodeID) Decision {
	return Decision{Job: p.Job, Kind: p.Kind, Node: n, Task: p.Task, Reason: p.Reason}
}

// PerNode turns a NodeModel, which chooses a task for one given node, into a Model,
// which is offered all free nodes. It asks the NodeModel only about the node whose
// heartbeat has arrived.
type PerNode struct{ NodeModel }

// Unwrap returns the NodeModel, so that As finds what it can do.
func (m PerNode) Unwrap() NodeModel { return m.NodeModel }

// firstOnly marks models that look only at the node whose heartbeat has
// arrived. For these models a driver need not list the other free nodes, which
// would take longer than the decision.
type firstOnly interface{ firstOnly() }

func (PerNode) firstOnly() {}

// FirstOnly says whether the model, or the one that it wraps, looks only at the
// node whose heartbeat has arrived.
func FirstOnly(m Model) bool {
	_, ok := As[firstOnly](m)
	return ok
}

// EveryHeartbeat marks models to which every heartbeat matters. A driver asks such
// a model about nodes with room even while no task waits. If the model is an
// Observer, it hears NodeReported of full nodes too. Other models do not see these
// heartbeats, which saves time.
type EveryHeartbeat interface{ EveryHeartbeat() }

// HearsLoad marks an Observer that wants Event.Sample. Other models get no samples,
// which saves time.
type HearsLoad interface{ HearsLoad() }

// Round asks the NodeModel about free[0], the node whose heartbeat has
// arrived.
func (m PerNode) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	if c, ok := m.Choose(v, free[0]); ok {
		out = append(out, Decision{})
		// The fields of the Decision are set one by one. To copy a whole
		// Decision would stall the CPU on fields that were just written.
		d := &out[len(out)-1]
		d.Job, d.Kind, d.Node, d.Task, d.Reason = c.Job, c.Kind, free[0], c.Task, c.Reason
	}
	return out
}

// Offers asks scheduler models for decisions. All drivers use Offers, so that
// models which count node heartbeats count the same everywhere. The zero value
// is ready for use. Offers reuses its memory between calls.
type Offers struct {
	// Group carries out the decisions of a group: all of them or none. It returns
	// whether it did. A driver sets it before it calls Heartbeat; nil carries out none.
	Group func([]Decision) bool

	free []state.NodeID
	out  []Decision
}

// lastOfGroup returns the index of the last decision of the group that begins with
// decision i.
func (o *Offers) lastOfGroup(i int) int {
	for i+1 < len(o.out) && o.out[i+1].Group == o.out[i].Group {
		i++
	}
	return i
}

// Heartbeat asks model m what to start after a heartbeat of node n. It asks
// again until m starts nothing more or the node is full. It passes each
// decision to carryOut in order. carryOut must apply the decision to the State
// that v shows, and returns whether it did.
func (o *Offers) Heartbeat(m Model, v *state.View, n state.NodeID, carryOut func(Decision) bool) {
	_, first := m.(firstOnly) // of m itself: a wrapper may show what it wraps another node than the first
	both, _ := m.(interface{ passOver() bool })
	for v.HasRoom(n) {
		if first {
			o.free = append(o.free[:0], n)
		} else {
			o.free = v.WithRoom(n, o.free[:0])
		}
		o.out = m.Round(v, o.free, o.out[:0])
		carried := false
		for i := 0; i < len(o.out); i++ {
			if o.out[i].Group > 0 {
				last := o.lastOfGroup(i)
				if o.Group != nil && o.Group(o.out[i:last+1]) {
					carried = true
				}
				i = last
			} else if carryOut(o.out[i]) {
				carried = true
			}
		}
		if !carried && (both == nil || !both.passOver()) {
			return
		}
	}
}
