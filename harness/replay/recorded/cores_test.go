package recorded

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/traces"
)

// TestTaskCores has cores counted while tasks want more than there are and no
// ApplicationMaster starts, and says how many ApplicationMasters were up beside the workers.
func TestTaskCores(t *testing.T) {
	const second = 1_000_000_000
	header := traces.Header{Cluster: traces.ClusterFacts{HostCores: 2, Nodes: []traces.NodeFacts{
		{Node: "master"}, {Node: "a", Worker: true}, {Node: "b", Worker: true},
	}}}
	for _, c := range []struct {
		name           string
		jobs           int
		attempts       int32
		master         traces.Node
		workers        float64 // cores that each of the two uses
		cores, masters float64
	}{
		{"one job", 1, 4, "master", 0.9, 1.8, 1},
		{"three jobs", 3, 2, "master", 0.8, 1.6, 3},
		{"masters on a worker", 3, 2, "a", 0.9, 1.8, 0},
		{"fewer tasks than keep the cores busy", 1, 3, "master", 0.9, 0, 0},
		{"tasks that wait for something else", 1, 4, "master", 0.3, 0, 0},
	} {
		var events []traces.Event
		for j := range c.jobs {
			id := traces.JobID(fmt.Sprintf("job_1_%04d", j+1))
			events = append(events, &traces.JobSubmitted{T: 1, Job: id, Maps: c.attempts}, &traces.JobStarted{T: 2 * second, Job: id, AMNode: c.master})
			for i := range c.attempts {
				a := traces.Attempt{Task: traces.Task{Job: id, Index: i}}
				events = append(events, &traces.AttemptStarted{T: 3 * second, Attempt: a, Node: "a"},
					&traces.AttemptFinished{T: 20 * second, Attempt: a, Outcome: traces.Succeeded, Counters: traces.NoCounters})
			}
			events = append(events, &traces.JobFinished{T: 21 * second, Job: id, Outcome: traces.Succeeded})
		}
		for at := traces.Time(1); at < 25; at++ {
			used := c.workers
			if at <= 3 || at > 20 {
				used = 0.01 // that does not count
			}
			for _, n := range []traces.Node{"a", "b"} {
				events = append(events, &traces.NodeSample{T: at * second, Node: n, IntervalNs: second, CPUUser: used})
			}
			events = append(events, &traces.NodeSample{T: at * second, Node: "master", IntervalNs: second, CPUUser: 0.1, CPUSystem: 0.1})
		}
		if c.name == "one job" || c.name == "fewer tasks than keep the cores busy" {
			// Another ApplicationMaster starts, and fails to: what it takes of the cores says nothing.
			events = append(events, &traces.JobSubmitted{T: 8 * second, Job: "job_1_0009"}, &traces.JobFinished{T: 9 * second, Job: "job_1_0009", Outcome: traces.Failed})
			for _, n := range []traces.Node{"a", "b"} {
				events = append(events, &traces.NodeSample{T: 8*second + second/2, Node: n, IntervalNs: second / 4, CPUUser: 0.1})
			}
		}
		traces.Sort(events)
		x, err := New("made by hand", header, slices.Values(events))
		if err != nil {
			t.Fatal(err)
		}
		if cores, masters := x.TaskCores(); math.Abs(cores-c.cores) > 1e-9 || math.Abs(masters-c.masters) > 1e-9 {
			t.Errorf("%s: %v cores with %v masters up, want %v and %v", c.name, cores, masters, c.cores, c.masters)
		}
	}
}
