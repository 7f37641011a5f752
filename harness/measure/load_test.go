package measure

import (
	"math"
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

// TestRunnable has 3 tasks that run or wait on a node for 40 s, then none for 20 s: 2 in the
// mean, whatever the load average is before, and although it never comes near 3.
func TestRunnable(t *testing.T) {
	h := traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n0", Worker: true}}}}
	for _, load := range []float64{0, 5} {
		events := []traces.Event{&traces.JobSubmitted{Job: "j", Name: "j", Maps: 1}, &traces.AttemptStarted{Node: "n0", Attempt: traces.Attempt{Task: traces.Task{Job: "j"}}}}
		for tenth := range 601 {
			events = append(events, &traces.NodeSample{T: traces.Time(tenth) * 1e8, Node: "n0", Load1: load, CPUUser: -1, CPUSystem: -1})
			active := 0.
			if tenth < 400 {
				active = 3
			}
			load = active + (load-active)*math.Exp(-.1/60)
		}
		f := Of(h, slices.Values(events))
		if math.Abs(f.nodeRunnable-2) > .01 {
			t.Errorf("%v tasks, want 2; the mean load average is %v", f.nodeRunnable, f.nodeLoad)
		}
	}
}
