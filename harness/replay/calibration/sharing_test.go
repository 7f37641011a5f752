package calibration

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/errtest"
)

// The cores that workers use while they have work for more, and how many ApplicationMasters
// are up meanwhile, are what is known of a machine that runs all nodes.
func TestMastersUp(t *testing.T) {
	const second = traces.Time(1e9)
	cluster := traces.ClusterFacts{HostCores: 2, Nodes: []traces.NodeFacts{
		{Node: "master"},
		{Node: "n1", Worker: true},
		{Node: "n2", Worker: true},
	}}
	var events []traces.Event
	for _, job := range []traces.JobID{"a", "b"} {
		events = append(events, &traces.JobSubmitted{Job: job, Maps: 4})
	}
	events = append(events, &traces.JobStarted{T: second, Job: "a"}, &traces.JobStarted{T: 2 * second, Job: "b"})
	attempt := func(i int) traces.Attempt {
		return traces.Attempt{Task: traces.Task{Job: "a", Kind: traces.Map, Index: int32(i)}}
	}
	for i := range 4 {
		events = append(events, &traces.AttemptStarted{T: 3 * second, Attempt: attempt(i), Node: traces.Node(fmt.Sprint("n", 1+i%2))})
	}
	for at := 4 * second; at < 13*second; at += second { // 9 samples, 5 of them with both
		if at == 9*second {
			events = append(events, &traces.JobFinished{T: at - second/2, Job: "b", Outcome: traces.Succeeded})
		}
		for node, cores := range map[traces.Node]float64{"master": 0.3, "n1": 0.9, "n2": 0.7} {
			events = append(events, &traces.NodeSample{T: at, Node: node, IntervalNs: int64(second), CPUUser: cores, Load1: -1})
		}
	}
	for i := range 4 {
		events = append(events, &traces.AttemptFinished{T: 13 * second, Attempt: attempt(i), Outcome: traces.Succeeded})
	}
	x := errtest.Must(recorded.New("x", traces.Header{Origin: traces.Measured, Cluster: cluster}, slices.Values(events)))
	c := &Calibration{}
	c.fitSharing([]*recorded.Trace{x}, 0)
	if want := 14.0 / 9; math.Abs(c.HostCores-1.6) > 1e-9 || math.Abs(c.MastersUp-want) > 1e-9 || c.MasterCores != labMasterCores {
		t.Errorf("%.3f cores with %.3f ApplicationMasters, each further one %v; want 1.6 with %.3f, %v", c.HostCores, c.MastersUp, c.MasterCores,
			want, labMasterCores)
	}
	c = &Calibration{}
	if c.fitSharing([]*recorded.Trace{x}, 2); c.HostCores != 2 || c.MastersUp != 0 || c.MasterCores != 0 {
		t.Errorf("%v cores with %v ApplicationMasters, each further one %v; want the 2 that are given, and nothing known of those", c.HostCores,
			c.MastersUp, c.MasterCores)
	}
}
