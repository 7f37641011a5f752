package fidelity

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/stats"
)

// TestAcross predicts a measured run from itself: what is predicted of it then is the
// mean of what it was fitted to, and its own runs are within the interval of new ones.
func TestAcross(t *testing.T) {
	const run = "testdata/run"
	again := filepath.Join(t.TempDir(), "again")
	if err := os.CopyFS(again, os.DirFS(run)); err != nil {
		t.Fatal(err)
	}
	a, err := AcrossRuns([]string{run}, []string{again, again}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Settings) != 4 || a.Runs != 12 || a.Settings[0].Run != again {
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

// TestAcrossTurns predicts a workload of a run from another one of the same run, and not
// the trials that were fitted to, whatever name the folder has.
func TestAcrossTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a:b")
	if err := os.CopyFS(dir, os.DirFS("testdata/run")); err != nil {
		t.Fatal(err)
	}
	rename := func(path, from, to string, times int) {
		text, err := os.ReadFile(path)
		if err == nil && strings.Count(string(text), from) != times {
			err = fmt.Errorf("%s has %q %d times", path, from, strings.Count(string(text), from))
		}
		if err == nil {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rename(filepath.Join(dir, "manifest.json"), "-wordcount-fifo", "-other-fifo", 3)
	trials, err := filepath.Glob(filepath.Join(dir, "trials", "*-fifo"))
	if err != nil || len(trials) != 3 {
		t.Fatal(trials, err)
	}
	for _, trial := range trials {
		rename(filepath.Join(trial, "result.json"), "wordcount", "other", 2)
		rename(filepath.Join(trial, "trial.json"), "wordcount", "other", 1)
		if err := os.Rename(trial, strings.Replace(trial, "wordcount", "other", 1)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	a, err := AcrossRuns([]string{dir + ":other"}, []string{link}, Options{Unverified: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Settings) != 1 || a.Settings[0].Workload != "wordcount" || a.Settings[0].Runs != 3 || a.Settings[0].Run != link {
		t.Errorf("predicted %+v", a.Settings)
	}
}
