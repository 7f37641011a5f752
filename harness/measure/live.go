package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/traces"
)

// Live follows a run that goes on, by its events so far. It keeps what runs and what
// waits, and no event. Its zero value is ready.
type Live struct {
	now       Now
	nodes     map[traces.Node]*NodeNow
	attempts  map[traces.Attempt]traces.Node // that run
	masters   map[traces.JobID]traces.Node   // of jobs that run
	scheduled map[traces.Task]traces.Time    // tasks without an attempt so far, and since when they wait
	undecided map[int64]traces.Time          // decisions without an outcome, and when they were made
}

// Now is what a run that goes on has done so far, and does.
type Now struct {
	At              traces.Time // of the last event
	Jobs, JobsEnded int
	Maps, Reduces   TasksNow
	// Locality counts the maps that have started, by how near they were to a copy of
	// their block.
	Locality Locality
	// Decisions counts those that were made, and Outcomes those whose outcome is known,
	// such as "honoured".
	Decisions int
	Outcomes  map[string]int
	// TaskWaits are the times from when a task could start until its first attempt
	// started, and DecisionWaits those from a decision until its outcome was known.
	TaskWaits, DecisionWaits Waits
	// Nodes are sorted by rack and name.
	Nodes []NodeNow
}

// TasksNow counts maps or reduces.
type TasksNow struct {
	All, Done        int // Done counts those that succeeded, again if their output was lost
	Waiting, Running int // Running counts attempts
}

// NodeNow is a node and the number of containers that run on it. Those of
// ApplicationMasters count.
type NodeNow struct {
	Node    traces.Node
	Rack    string
	Down    bool
	Running int
}

// WaitBoundsMs are the bounds of the classes of Waits. The last class has no bound.
var WaitBoundsMs = [...]float64{50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000}

// Waits counts times by their length: Counts[i] are those of WaitBoundsMs[i] at most, and
// longer than the bound before.
type Waits struct {
	Counts [len(WaitBoundsMs) + 1]int
	SumMs  float64
}

func (w *Waits) add(wait traces.Time) {
	ms := max(0, float64(wait)/1e6)
	i, _ := slices.BinarySearch(WaitBoundsMs[:], ms)
	w.Counts[i]++
	w.SumMs += ms
}

// DecisionsText says what became of the decisions.
func (n *Now) DecisionsText() string {
	known := 0
	for _, count := range n.Outcomes {
		known += count
	}
	return fmt.Sprintf("%d decisions, %d of %d honoured", n.Decisions, n.Outcomes["honoured"], known)
}

// Merge adds the times of other waits.
func (w *Waits) Merge(x *Waits) {
	for i, n := range x.Counts {
		w.Counts[i] += n
	}
	w.SumMs += x.SumMs
}

// Count adds what another run has counted since its start: decisions, outcomes, places
// of maps, and waits. What runs and what waits stays as it is.
func (n *Now) Count(x *Now) {
	n.Decisions += x.Decisions
	if n.Outcomes == nil {
		n.Outcomes = map[string]int{}
	}
	for outcome, count := range x.Outcomes {
		n.Outcomes[outcome] += count
	}
	n.Locality.add(x.Locality)
	n.TaskWaits.Merge(&x.TaskWaits)
	n.DecisionWaits.Merge(&x.DecisionWaits)
}

// Now returns what the run does now. Later events do not change the result.
func (l *Live) Now() Now {
	now := l.now
	now.Outcomes = maps.Clone(l.now.Outcomes)
	now.Nodes = make([]NodeNow, 0, len(l.nodes))
	for _, n := range l.nodes {
		now.Nodes = append(now.Nodes, *n)
	}
	slices.SortFunc(now.Nodes, func(a, b NodeNow) int {
		return cmp.Or(cmp.Compare(a.Rack, b.Rack), cmp.Compare(a.Node, b.Node))
	})
	return now
}

func (l *Live) node(name traces.Node) *NodeNow {
	n := l.nodes[name]
	if n == nil {
		n = &NodeNow{Node: name}
		l.nodes[name] = n
	}
	return n
}

func (l *Live) tasks(kind traces.TaskKind) *TasksNow {
	if kind == traces.Map {
		return &l.now.Maps
	}
	return &l.now.Reduces
}

// Add takes an event. Events may be missing, or come twice.
func (l *Live) Add(event traces.Event) {
	if l.nodes == nil {
		l.nodes, l.attempts, l.masters = map[traces.Node]*NodeNow{}, map[traces.Attempt]traces.Node{}, map[traces.JobID]traces.Node{}
		l.scheduled, l.undecided, l.now.Outcomes = map[traces.Task]traces.Time{}, map[int64]traces.Time{}, map[string]int{}
	}
	l.now.At = max(l.now.At, event.At())
	switch e := event.(type) {
	case *traces.NodeUp:
		n := l.node(e.Node)
		n.Rack, n.Down = cmp.Or(e.Rack, n.Rack), false
	case *traces.NodeDown:
		l.node(e.Node).Down = true
	case *traces.JobSubmitted:
		l.now.Jobs++
		l.now.Maps.All += int(e.Maps)
		l.now.Reduces.All += int(e.Reduces)
	case *traces.JobStarted:
		l.endMaster(e.Job)
		if e.AMNode != "" {
			l.node(e.AMNode).Running++
			l.masters[e.Job] = e.AMNode
		}
	case *traces.JobFinished:
		l.now.JobsEnded++
		l.endMaster(e.Job)
		if e.Outcome != traces.Succeeded { // its other tasks will not start
			maps.DeleteFunc(l.scheduled, func(t traces.Task, _ traces.Time) bool {
				if t.Job == e.Job {
					l.tasks(t.Kind).Waiting--
				}
				return t.Job == e.Job
			})
		}
	case *traces.TaskScheduled:
		l.scheduled[e.Task] = e.T
		l.tasks(e.Task.Kind).Waiting++
	case *traces.TaskFinished:
		if e.Outcome == traces.Succeeded {
			l.tasks(e.Task.Kind).Done++
		}
	case *traces.AttemptStarted:
		l.start(e)
	case *traces.AttemptFinished:
		if node, runs := l.attempts[e.Attempt]; runs {
			delete(l.attempts, e.Attempt)
			l.node(node).Running--
			l.tasks(e.Attempt.Kind).Running--
		}
	case *traces.Decision:
		l.now.Decisions++
		l.undecided[e.ID] = e.T
	case *traces.Actuation:
		l.now.Outcomes[e.Outcome]++
		if made, ok := l.undecided[e.Decision]; ok {
			delete(l.undecided, e.Decision)
			l.now.DecisionWaits.add(e.T - made)
		}
	}
}

func (l *Live) endMaster(job traces.JobID) {
	if node, runs := l.masters[job]; runs {
		delete(l.masters, job)
		l.node(node).Running--
	}
}

func (l *Live) start(e *traces.AttemptStarted) {
	if _, runs := l.attempts[e.Attempt]; runs {
		return
	}
	l.attempts[e.Attempt] = e.Node
	n := l.node(e.Node)
	n.Running++
	n.Rack = cmp.Or(n.Rack, e.Rack)
	tasks := l.tasks(e.Attempt.Kind)
	tasks.Running++
	if since, waits := l.scheduled[e.Attempt.Task]; waits {
		delete(l.scheduled, e.Attempt.Task)
		tasks.Waiting--
		l.now.TaskWaits.add(e.T - since)
	}
	if e.Attempt.Kind == traces.Map {
		l.now.Locality.Add(e.ReplicaLocality)
	}
}
