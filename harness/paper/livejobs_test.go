package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/stats"
	"heddle/traces"
)

// placedTrial is a trial of a large and a small job, whose reduces ran on nodes, with bytes that
// the large one fetched in the rack and from the other one.
func placedTrial(model string, repeat int, seconds float64, on string, rack, off int64, wrong float64) measured {
	nodes := strings.Fields(on)
	large := &measure.Job{Outcome: traces.Succeeded, Reduces: 2, CompletionMs: 1000 * seconds, Bytes: measure.Bytes{Shuffle: 1e6 * int64(seconds)}, ReduceNodes: []traces.Node{traces.Node(nodes[0]), traces.Node(nodes[1])}}
	small := &measure.Job{Outcome: traces.Succeeded, Reduces: 1, CompletionMs: 5000, Bytes: measure.Bytes{Shuffle: 1000}, ReduceNodes: []traces.Node{traces.Node(nodes[2])}}
	f := &measure.Figures{JobList: []*measure.Job{large, small}, Fetched: measure.ByLevel{Rack: rack, Off: off}, Estimates: []measure.Estimate{{ErrorPct: &wrong}, {}}}
	return measured{Trial: results.Trial{Workload: "mix", Model: model, Repeat: repeat}, seconds: seconds, turnaround: math.NaN(), figures: f}
}

// placedTable has two models and as many repeats. In the first repeat greedy fetches less than
// mine, in the second more, and in the third as much.
func placedTable() *LiveTable {
	return &LiveTable{
		Rows: []LiveRow{{Workload: "mix", Model: "greedy"}, {Workload: "mix", Model: "mine", Notes: map[string]Cell{"jobsDeferred": CellOf(stats.Mean([]float64{1, 1})), "jobsPlaced": CellOf(stats.Mean([]float64{2, 2}))}}},
		trials: []measured{
			placedTrial("greedy", 1, 10, "b1 a1 a2", 2e6, 0, 4), placedTrial("mine", 1, 20, "a1 b1 b2", 0, 2e6, -8),
			placedTrial("greedy", 2, 40, "a1 a2 b1", 0, 3e6, 4), placedTrial("mine", 2, 20, "a1 b1 b1", 3e6, 0, -8),
			placedTrial("greedy", 3, 10, "a1 a2 b1", 1e6, 0, 4), placedTrial("mine", 3, 30, "a1 a2 b2", 1e6, 0, -8),
		},
	}
}

// TestLiveJobs works out by hand what is said of jobs and of their reduces' places.
func TestLiveJobs(t *testing.T) {
	table := placedTable()
	notes := strings.Join(slices.Concat(table.Placements("mix"), table.Repeats("mix", "greedy", "mine", 5), table.Fetches("mix"),
		table.Noted("%s defers %.0f of %.0f", "jobsDeferred", "jobsPlaced")), "\n")
	for _, want := range []string{
		"mix, job 1, reduces that fetch 10.0 MB in all, on: greedy a1 b1; mine a1 b1", // whatever the order of their ends
		"mix, job 2, reduces that fetch 0.0 MB in all, on: greedy a2; mine b2",
		"greedy and mine have the reduces of 3 of 6 jobs on other nodes (50 %)",
		"mix: to tell 5 % between the job times of greedy and mine takes ",
		"mix, greedy: reduces fetch 0 MB from their node, 1.00 ", "times hops that is 6.00 ",
		"mix: mine defers 1 of 2",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
	for i := range table.trials { // all on the same nodes
		for _, j := range table.trials[i].figures.JobList {
			j.ReduceNodes = []traces.Node{"a1"}
		}
	}
	if same := strings.Join(table.Placements("mix"), "\n"); !strings.Contains(same, "0 of 6 jobs on other nodes (0 %): not testable: same placements") {
		t.Errorf("of equal placements:\n%s", same)
	}
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"the dearest is 20/10 and 40/20 as slow, and the third repeat says nothing", table.Dearest("mix").Value, 2},
		{"repeats that count for it", float64(table.Dearest("mix").N), 2},
		{"time that large jobs save: (20/10 * 20/40 * 30/10)^(1/3)", table.SavedOf("mix", "greedy", "mine", 2).Value, 100 * (1 - math.Cbrt(3))},
		{"time that small jobs save", table.SavedOf("mix", "greedy", "mine", 1).Value, 0},
		{"slope of a time that is its data", table.TimeOnData("mix", 2).Slope.Value, 1},
		{"errors of 4 and -8", table.EstimateErrors("mix").Value, 6},
	} {
		if math.Abs(x.got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
	if n := table.EstimateErrors("other").N + table.SavedOf("mix", "greedy", "mine", 3).N + len(table.Placements("other")) + len(table.Fetches("other")) + len(table.Repeats("other", "greedy", "mine", 5)); n != 0 {
		t.Errorf("of what is not there, %d things are said", n)
	}
	said := Said([]Effect{{What: "nothing"}, {What: "all", Estimate: stats.Mean([]float64{1, 1})}})
	if len(said) != 1 || !strings.HasPrefix(said[0], "all 1.00") {
		t.Errorf("said %q", said)
	}
}

// TestRepeatsFloor: jobs that do not vary in a simulation vary on a lab.
func TestRepeatsFloor(t *testing.T) {
	table := &LiveTable{trials: []measured{placedTrial("a", 1, 10, "x y z", 0, 0, 0), placedTrial("b", 1, 10, "x y z", 0, 0, 0), placedTrial("a", 2, 10, "x y z", 0, 0, 0), placedTrial("b", 2, 10, "x y z", 0, 0, 0)}}
	want := fmt.Sprintf("takes %d repeats", stats.PairsToTell(Spread*math.Sqrt2, math.Log1p(.2)))
	if got := table.Repeats("mix", "a", "b", 20); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}
