package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/traces"
)

// headlined is a report of three models, whose pair with the cluster's own scheduler has
// the given difference.
func headlined(diff float64, ci Interval, p float64) *Report {
	models := []Model{{Model: "yarn", Runs: 6, Mean: 61.94}, {Model: "delay", Runs: 6, Mean: 61.39}, {Model: "fifo", Runs: 6, Mean: 62.5}}
	pairs := []Pair{{A: "yarn", B: "delay", DiffPct: Number(diff), CI95Pct: ci, P: Number(p), Paired: true, Runs: 6}}
	r := &Report{Table: Table{Metric: "jobCompletion", Unit: "s", Models: models, Pairs: pairs}}
	for range 18 {
		r.trials = append(r.trials, trial{model: "yarn", simulated: true})
	}
	return r
}

// with adds a pair, whose difference is shown if p is small.
func (r *Report) with(a, b string, diff, p float64) *Report {
	r.Pairs = append(r.Pairs, Pair{
		A: a, B: b, DiffPct: Number(diff), CI95Pct: Interval{diff - 1, diff + 1}, P: Number(p), Paired: true,
		Runs: 6,
	})
	return r
}

// TestHeadlineShown has the first sentence say which models are shown to differ from the
// best one and how clearly, and which the trials cannot tell from it.
func TestHeadlineShown(t *testing.T) {
	cases := map[string]*Report{
		"just":           headlined(-10, Interval{-12, -8}, 0.01),
		"none":           headlined(0.6, Interval{-2.1, 3.3}, 0.5),
		"the last alone": headlined(-0.6, Interval{-2.1, 0.9}, 0.5).with("delay", "fifo", 37.8, 0.009).with("yarn", "fifo", 36, 0.01),
		"two others":     headlined(-0.6, Interval{-2.1, 0.9}, 0.5).with("yarn", "fifo", 36, 0.01),
		"all":            headlined(-10, Interval{-12, -8}, 0.009).with("delay", "fifo", 37.8, 0.01),
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		fmt.Fprintf(&text, "%s: %s\n", name, cases[name].Headline())
	}
	golden.Check(t, "testdata/headlines.txt", text.String())
}

// TestHeadlineRecorded has a trace beside its replays named as such: it was neither
// measured here nor is it a model. Its killed job, which replays do not run, is in no
// mean. A mean over other jobs is said.
func TestHeadlineRecorded(t *testing.T) {
	const inModels, inTrace = "Not the same jobs failed under all models", "Not as many jobs succeeded in the trace"
	jobs := func(model string, all, failed int) trial {
		return trial{model: model, workload: "w", simulated: model != "recorded", figures: []*measure.Figures{{Jobs: all, NotSucceeded: failed}}}
	}
	for name, c := range map[string]struct {
		trials  []trial
		want    string
		warning string
	}{
		"a killed job in the trace": {
			[]trial{jobs("recorded", 4, 1), jobs("yarn", 3, 0), jobs("yarn", 3, 0), jobs("fifo", 3, 0)},
			"",
			"; if these are not the same jobs",
		},
		"fewer in the trace": {
			[]trial{jobs("recorded", 4, 2), jobs("yarn", 3, 0), jobs("fifo", 3, 0)},
			inTrace,
			"; the trace's times are not of the same jobs",
		},
		"fewer under a model": {
			[]trial{jobs("recorded", 4, 1), jobs("yarn", 3, 0), jobs("fifo", 3, 1)},
			inModels,
			"; the models' times are not of the same jobs",
		},
	} {
		r := headlined(0, Interval{}, 1)
		r.Models = append(r.Models, Model{Model: "recorded", Runs: 1, Mean: 428, FailedJobs: 1})
		r.trials = c.trials
		got := r.Headline()
		for _, want := range []string{"The trace itself has 428.0 s, recorded.", c.want, "1 the recording of a trace."} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s\nlacks %q", name, got, want)
			}
		}
		for _, not := range []string{inModels, inTrace, "measured"} {
			if not != c.want && strings.Contains(got, not) {
				t.Errorf("%s: %s\nhas %q", name, got, not)
			}
		}
		if list := failures("w", c.trials); len(list) != 1 || !strings.Contains(list[0], c.warning) {
			t.Errorf("%s: %q lacks %q", name, list, c.warning)
		}
	}
}

// TestMadeUp has the first sentence and the first warning say what an import made up. A
// simulation's schedule is its result, and no simulated workload has a recording.
func TestMadeUp(t *testing.T) {
	of := func(origin traces.Origin, parts ...string) trial {
		return trial{simulated: true, figures: []*measure.Figures{{Origin: origin, Synthetic: parts}}}
	}
	r := &Report{trials: []trial{of(traces.Simulated, "tasks", "schedule"), of(traces.Simulated, "durations", "schedule")}}
	if got, want := r.origin(), "Simulated (2 trials): no cluster was measured. Made up, not recorded: durations, tasks."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := madeUpWarning(r.trials); len(got) != 1 || !strings.HasPrefix(got[0], "made up, not recorded: durations, tasks; ") {
		t.Errorf("warnings %q", got)
	}
	if got, _ := madeUp([]trial{of(traces.Simulated, "schedule"), of(traces.Simulated, "durations", "input", "schedule")}); len(got) > 0 {
		t.Errorf("%q are made up, want nothing", got)
	}
	if got, _ := madeUp([]trial{of(traces.Measured, "schedule")}); len(got) != 1 {
		t.Errorf("%q are made up, want the schedule", got)
	}
	// Replays of a measured trace compute durations; no import is there. What an import made up stays so in its replays.
	for _, x := range []struct {
		was  []string
		want string
	}{
		{nil, "computed in the replays, not taken from the recorded trace: durations; "},
		{[]string{"durations"}, "made up, not recorded: durations; "},
	} {
		recorded := of(traces.Measured, x.was...)
		recorded.model, recorded.simulated = config.ModelRecorded, false
		if got := madeUpWarning([]trial{recorded, of(traces.Simulated, "durations", "schedule")}); len(got) != 1 ||
			!strings.HasPrefix(got[0], x.want) {
			t.Errorf("of a trace in which %q were made up the warnings are %q, want %q", x.was, got, x.want)
		}
	}
}

// TestOtherwise counts all decisions that came out otherwise, also where a trial keeps
// only the first of them.
func TestOtherwise(t *testing.T) {
	s := Steering{Decisions: 100, Honoured: 90, Branches: []measure.Branch{
		{Branch: "node", Maps: 50, Predicted: 45},
		{Branch: "rack", Maps: 20, Predicted: 5},
	}, Misses: make([]Miss, 3)}
	r := &Report{Steering: []Steering{s}}
	var text strings.Builder
	mustDo(t, doc.WriteText(&text, r.SteeringDoc(), false))
	for _, want := range []string{"50 of 70", "30 that came out otherwise"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s\nlacks %q", text.String(), want)
		}
	}
}

// TestPlaces: trials on emulated nodes are said to be so, and not to be measured.
func TestPlaces(t *testing.T) {
	for want, trials := range map[string][]trial{
		"On emulated nodes (2 trials): a real ResourceManager scheduled, and no task computed.": {{emulated: true}, {emulated: true}},
		"Of 3 trials: 1 simulated, 1 on emulated nodes, 1 measured on a cluster.":               {{emulated: true}, {simulated: true}, {}},
		"Measured on a cluster (1 trial).":                                                      {{}},
	} {
		if got := (&Report{trials: trials}).places(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestHeldUp: a model that is slower since reduces held its slots is not just called slower.
func TestHeldUp(t *testing.T) {
	r := headlined(-59.7, Interval{-60, -59}, 0.001)
	r.trials = []trial{
		{model: "yarn", figures: []*measure.Figures{{StarvedMs: 316_000}, {}}},
		{model: "delay", figures: []*measure.Figures{{}}},
	}
	const want = " yarn lost 158.0 s by reduces that held all slots (mean; at most 316.0 s), which is part of the difference."
	if got := r.Headline(); !strings.Contains(got, "delay is faster than yarn by 59.7 %") || !strings.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}
