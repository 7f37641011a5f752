package measure

import (
	"math"
	"slices"
	"testing"

	"heddle/traces"
)

// TestRunnable has 3 tasks that run or wait on a node for 40 s, then none for 20 s: 2 in the
// mean, whatever the load average is before, and although it never comes near 3.
func TestRunnable(t *testing.T) {
	h := traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n0", Worker: true}}}}
	for _, load := range []float64{0, 5} {
		events := []traces.Event{
			&traces.JobSubmitted{Job: "j", Name: "j", Maps: 1},
			&traces.AttemptStarted{Node: "n0", Attempt: traces.Attempt{Task: traces.Task{Job: "j"}}},
		}
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
