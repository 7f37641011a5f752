package measure

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"heddle/traces"
)

// TestSlowed has an attempt a second on each of two workers and, for the first 30 s of each
// minute only, on a third that becomes slow after 2 minutes. A fourth node is no worker.
func TestSlowed(t *testing.T) {
	var h traces.Header
	for _, n := range []traces.Node{"n0", "n1", "n2"} {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: n, Worker: true})
	}
	h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: "master"})
	events := []traces.Event{&traces.JobSubmitted{Job: "j", Name: "j", Maps: 10_000}}
	index := int32(0)
	start := func(at traces.Time, n traces.Node) {
		index++
		events = append(events, &traces.AttemptStarted{T: at, Node: n, Attempt: traces.Attempt{Task: traces.Task{Job: "j", Index: index}}})
	}
	for second := range 600 {
		at := traces.Time(second) * 1e9
		if second == 120 {
			events = append(events, &traces.NodeSpeed{T: at, Node: "n2", Speed: .5})
		}
		if start(at, "n0"); second%60 < 30 {
			start(at, "n2")
		}
		start(at, "n1")
		start(at, "master")
	}
	f := Of(h, slices.Values(events))
	if len(f.Slowed) != 1 || len(f.Slowed[0].Minutes) != slowedMinutes {
		t.Fatalf("%+v", f.Slowed)
	}
	x := f.Slowed[0]
	if x.Before != (Starts{60, 120}) || x.AtMs != 120_000 || x.Speed != .5 {
		t.Errorf("%+v, want 60 starts before, 120 on the others, at 120 s and half speed", x)
	}
	for minute, s := range x.Minutes {
		if s != (Starts{30, 60}) {
			t.Errorf("minute %d: %+v, want 30 starts, 60 on the others", minute, s)
		}
	}
	if got := slowedStarts([]*Figures{f, f}); got != .5 {
		t.Errorf("slowedStarts %v, want 0.5", got)
	}
	if got := slowedStarts([]*Figures{Of(h, slices.Values(events[:1]))}); !math.IsNaN(got) {
		t.Errorf("without a slow node: %v, want that it is not known", got)
	}
	// Where there is nothing to compare with, figures are numbers all the same.
	h.Cluster.Nodes = h.Cluster.Nodes[2:]
	for _, s := range Of(h, slices.Values(events)).Slowed[0].Minutes {
		if math.IsNaN(s.Others) || math.IsInf(s.Others, 0) {
			t.Errorf("no other worker: %+v", s)
		}
	}
}

// TestHostileFigures has speeds and samples that no node has, as only damaged binary traces
// do: none comes out as a figure, so that all can be written as JSON.
func TestHostileFigures(t *testing.T) {
	h := traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n", Worker: true}}}}
	for _, x := range []float64{math.NaN(), math.Inf(-1), math.Inf(1), -5, math.MaxFloat64} {
		f := Of(h, slices.Values([]traces.Event{
			&traces.NodeSpeed{T: 1, Node: "n", Speed: x},
			&traces.JobSubmitted{T: 1, Job: "j", Maps: 1},
			&traces.NodeSample{T: 2, Node: "n", CPUUser: x, Load1: x},
			&traces.NodeSample{T: 3, Node: "n", CPUUser: x, Load1: x},
		}))
		if len(f.Slowed) != 0 {
			t.Errorf("speed %v: %+v", x, f.Slowed)
		}
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("%v: %v", x, err)
		}
	}
}
