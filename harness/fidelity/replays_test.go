package fidelity

import (
	"math"
	"slices"
	"testing"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
)

// TestOfReplays has two replays with other seeds stand beside one recording: 110 s and 90 s
// for jobs that took 100 s in the mean.
func TestOfReplays(t *testing.T) {
	of := func(model string, simulated bool, ms ...float64) compare.Chosen {
		f := &measure.Figures{Model: model, MakespanMs: slices.Max(ms)}
		for i, x := range ms {
			f.JobList = append(f.JobList, &measure.Job{ID: traces.JobID(rune('a' + i)), CompletionMs: x})
			f.MeanCompletionMs += x / float64(len(ms))
		}
		return compare.Chosen{Workload: "w", Model: model, Name: model, Simulated: simulated, Figures: f}
	}
	recorded := of(config.ModelRecorded, false, 50_000, 150_000)
	r := must(OfReplays([]compare.Chosen{of("fifo", true, 60_000, 160_000), recorded, of("fifo", true, 40_000, 140_000)}, nil))
	own := r.Own[0]
	if len(r.Own) != 1 || own.Runs != 2 || own.MeanAbsErrorPct != 10 || own.BiasPct != 0 || !math.IsNaN(float64(own.NoisePct)) ||
		own.CI95Pct.Bounded() && own.CI95Pct[0] > 10 {
		t.Errorf("%+v", own)
	}
	if x := own.jobs; len(x) != 2 || math.Abs(x[0]-100.0/15) > 1e-9 || x[1] != 20 {
		t.Errorf("jobs of the first replay are off by %v, want 6.7 and 20 %%", x)
	}
	if f := r.Forest(); len(f.Rows) != 1 || f.Rows[0].Band != 0 || f.DotText != "a job" {
		t.Errorf("%+v", f)
	}
	errtest.Is(t, errtest.Of(OfReplays([]compare.Chosen{of("fifo", true, 1)}, nil)), ErrNothing)
	errtest.Is(t, errtest.Of(OfReplays([]compare.Chosen{recorded, of("yarn", false, 1)}, nil)), ErrNothing)
}

// TestManyJobs keeps the errors of some of many jobs: the ends, and those between evenly.
func TestManyJobs(t *testing.T) {
	var was, is measure.Figures
	for i := range 1001 {
		id := traces.JobID(string(rune(i + 1000)))
		was.JobList = append(was.JobList, &measure.Job{ID: id, CompletionMs: 1000})
		is.JobList = append(is.JobList, &measure.Job{ID: id, CompletionMs: 1000 + float64((i*2)%1001)})
	}
	got := jobErrors(&was, &is)
	if len(got) != mostDots || got[0] != 0 || got[mostDots-1] != 100 || math.Abs(got[100]-50) > 1 {
		t.Errorf("%d errors from %v to %v", len(got), got[0], got[len(got)-1])
	}
}
