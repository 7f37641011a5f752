package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/traces"
)

// Live follows a run that goes on, by its events so far. It keeps what runs, and no
// event. Its zero value is ready.
type Live struct {
	now      Now
	nodes    map[traces.Node]*NodeNow
	attempts map[traces.Attempt]traces.Node // that run
	masters  map[traces.JobID]traces.Node   // of jobs that run
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
	// Nodes are sorted by rack and name.
	Nodes []NodeNow
}

// TasksNow counts maps or reduces.
type TasksNow struct {
	All, Done int // Done counts those that succeeded, again if their output was lost
	Running   int // attempts
}

// NodeNow is a node and the number of containers that run on it. Those of
// ApplicationMasters count.
type NodeNow struct {
	Node    traces.Node
	Rack    string
	Down    bool
	Running int
}

// DecisionsText says what became of the decisions.
func (n *Now) DecisionsText() string {
	known := 0
	for _, count := range n.Outcomes {
		known += count
	}
	return fmt.Sprintf("%d decisions, %d of %d honoured", n.Decisions, n.Outcomes["honoured"], known)
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
		l.now.Outcomes = map[string]int{}
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
	case *traces.Actuation:
		l.now.Outcomes[e.Outcome]++
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
	l.tasks(e.Attempt.Kind).Running++
	if e.Attempt.Kind == traces.Map {
		l.now.Locality.Add(e.ReplicaLocality)
	}
}
