package recorded

import (
	"math"
	"slices"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
)

// What an ApplicationMaster takes is told by the containers of nodes that run no tasks, and
// by no sample that cannot be.
func TestAMMemory(t *testing.T) {
	h := traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{
		{Node: "master", MemoryBytes: 4 << 30},
		{Node: "n1", MemoryBytes: 2 << 30, Worker: true},
	}}}
	sample := func(n traces.Node, containers int32, bytes int64) traces.Event {
		return &traces.NodeSample{Node: n, CPUUser: -1, Load1: -1, ContainersRunning: containers, AllocatedMemoryBytes: bytes}
	}
	nothing := []traces.Event{
		sample("n1", 1, 1<<30), sample("master", 0, 1<<30), sample("master", 1, -1), sample("master", -1, 1<<30),
		sample("master", 1, math.MaxInt64),
	}
	for want, list := range map[int64][]traces.Event{
		0:   nothing,
		512: append(nothing, sample("master", 2, 1<<30), sample("master", 3, 3<<29)),
	} {
		x := errtest.Must(New("x", h, slices.Values(append([]traces.Event{&traces.JobSubmitted{Job: "a", Maps: 1}}, list...))))
		if got := x.AMMemoryMB(); got != want {
			t.Errorf("%d MB, want %d", got, want)
		}
	}
}
