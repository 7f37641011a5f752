package fidelity

import (
	"errors"
	"math"
	"testing"

	"heddle/harness/stats"
)

// TestAcross predicts a measured run from itself: what is predicted of it then is the
// mean of what it was fitted to, and its own runs are within the interval of new ones.
func TestAcross(t *testing.T) {
	const run = "testdata/run"
	a, err := AcrossRuns([]string{run}, []string{run, run}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Settings) != 4 || a.Runs != 12 || a.Settings[0].Run != run {
		t.Fatalf("%d settings and %d runs: %+v", len(a.Settings), a.Runs, a.Settings)
	}
	held := 0
	for _, x := range a.Settings {
		if !(math.Abs(float64(x.ErrorPct)) < 8) {
			t.Errorf("%s under %s: %.1f %% off", x.Workload, x.Model, x.ErrorPct)
		}
		if lo, hi := x.PredictedCI95Ms[0], x.PredictedCI95Ms[1]; !(lo < float64(x.PredictedMs) && float64(x.PredictedMs) < hi) {
			t.Errorf("%s under %s: %v is not in %v", x.Workload, x.Model, x.PredictedMs, x.PredictedCI95Ms)
		}
		held += x.Held
	}
	if a.Held != held || a.Held < 10 || a.Within != 4 {
		t.Errorf("%d of 12 runs held, %d settings within", a.Held, a.Within)
	}
	var abs []float64
	for _, x := range a.Settings {
		abs = append(abs, math.Abs(float64(x.ErrorPct)))
	}
	if got, want := float64(a.MedianAbsErrorPct), stats.Quantile(abs, 0.5); got != want {
		t.Errorf("median error %v, want %v", got, want)
	}
	for _, dirs := range [][2]string{{run, "testdata/none"}, {"testdata/none", run}} {
		if _, err := AcrossRuns(dirs[:1], dirs[1:], Options{}); err == nil || errors.Is(err, ErrNothing) {
			t.Errorf("%v: error %v", dirs, err)
		}
	}
}
