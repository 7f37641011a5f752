package measure

import (
	"slices"
	"testing"

	"heddle/traces"
)

// TestPerNode has a task on a worker for 4 s from the start of the run on, and one on
// another for the last 2 s of these: 0.75 tasks on a worker in the mean. What loads were
// measured before the first does not count.
func TestPerNode(t *testing.T) {
	var h traces.Header
	for _, n := range []traces.Node{"n0", "n1"} {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: n, Worker: true})
	}
	attempt := func(i int32) traces.Attempt { return traces.Attempt{Task: traces.Task{Job: "j", Index: i}} }
	sample := func(at traces.Time, n traces.Node, load float64) traces.Event {
		return &traces.NodeSample{T: at, Node: n, Load1: load, CPUUser: -1, CPUSystem: -1}
	}
	f := Of(h, slices.Values([]traces.Event{
		&traces.JobSubmitted{Job: "j", Name: "j", Maps: 2}, sample(0, "n0", 9),
		&traces.AttemptStarted{Attempt: attempt(0), Node: "n0"}, sample(1e9, "n0", 2),
		&traces.AttemptStarted{T: 2e9, Attempt: attempt(1), Node: "n1"}, sample(3e9, "n1", 4),
		&traces.AttemptFinished{T: 4e9, Attempt: attempt(0), Outcome: traces.Succeeded},
		&traces.AttemptFinished{T: 4e9, Attempt: attempt(1), Outcome: traces.Succeeded},
	}))
	if f.nodeTasks != 0.75 || f.nodeLoad != 3 {
		t.Errorf("%v tasks on a worker and a load of %v, want 0.75 and 3", f.nodeTasks, f.nodeLoad)
	}
}
