package measure

import (
	"math"
	"slices"
	"testing"

	"heddle/traces"
)

// TestFetched: reduces fetch from each node its share of the maps' output, and their shuffle
// takes from the last map on, or from their own start.
func TestFetched(t *testing.T) {
	h := traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "a1", Rack: "a", Worker: true}, {Node: "a2", Rack: "a", Worker: true}, {Node: "b1", Rack: "b", Worker: true}}}}
	attempt := func(kind traces.TaskKind, i int32) traces.Attempt {
		return traces.Attempt{Task: traces.Task{Job: "j", Kind: kind, Index: i}}
	}
	events := []traces.Event{&traces.JobSubmitted{Job: "j", Maps: 3, Reduces: 2}}
	run := func(kind traces.TaskKind, i int32, node traces.Node, from, shuffled, to traces.Time, put, fetched int64) {
		c := traces.NoCounters
		c.MapOutputBytes, c.ShuffleBytes = put, fetched
		events = append(events, &traces.AttemptStarted{T: from, Attempt: attempt(kind, i), Node: node},
			&traces.AttemptFinished{T: to, Attempt: attempt(kind, i), Outcome: traces.Succeeded, Counters: c, ShuffleDone: shuffled, SortDone: shuffled})
	}
	run(traces.Map, 0, "a1", 0, 0, 4e9, 600, -1)
	run(traces.Map, 1, "a2", 0, 0, 5e9, 300, -1)
	run(traces.Map, 2, "b1", 0, 0, 6e9, 100, -1)
	run(traces.Reduce, 0, "a1", 2e9, 9e9, 10e9, -1, 500)
	run(traces.Reduce, 1, "b1", 7e9, 8e9, 11e9, -1, 500)
	f := Of(h, slices.Values(events))
	if want := (ByLevel{Node: 300 + 50, Rack: 150, Off: 50 + 450}); f.Fetched != want || f.JobList[0].Fetched != want {
		t.Errorf("fetched %+v, want %+v", f.Fetched, want)
	}
	if got := f.JobList[0].ReduceNodes; !slices.Equal(got, []traces.Node{"a1", "b1"}) {
		t.Errorf("reduces on %q, want a1 and b1", got)
	}
	metrics, err := Find([]string{"shuffling", "nodeFetched", "offRackFetched"})
	if err != nil {
		t.Fatal(err)
	}
	none := Of(h, slices.Values(events[:1]))
	for i, want := range []float64{2, 35, 50} {
		if got := metrics[i].Of(f); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", metrics[i].Name, got, want)
		}
		if got := metrics[i].Of(none); !math.IsNaN(got) {
			t.Errorf("%s of no reduce is %v", metrics[i].Name, got)
		}
	}
}
