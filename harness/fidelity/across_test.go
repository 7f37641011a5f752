package fidelity

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// TestAcross predicts a measured run from itself: what is predicted of it then is the
// mean of what it was fitted to, and its own runs are within the interval of new ones.
func TestAcross(t *testing.T) {
	const run = "testdata/run"
	again := filepath.Join(t.TempDir(), "again")
	mustDo(t, os.CopyFS(again, os.DirFS(run)))
	a := must(AcrossRuns([]string{run}, []string{again}, Options{}))
	if len(a.Settings) != 2 || a.Runs != 6 || a.Settings[0].Run != again {
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
	if a.Held != held || a.Held < 5 || a.Within != 2 {
		t.Errorf("%d of 6 runs held, %d settings within", a.Held, a.Within)
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

// TestAcrossPools predicts two runs of one experiment on one cluster as one with twice the
// repeats, and a run on another cluster apart.
func TestAcrossPools(t *testing.T) {
	const run = "testdata/run"
	text := must(os.ReadFile(run + "/manifest.json"))
	var dirs []string
	for _, disk := range []string{"80MB/s", "80MB/s", "8MB/s"} {
		dir := filepath.Join(t.TempDir(), "run")
		mustDo(t, os.CopyFS(dir, os.DirFS(run)))
		with := strings.Replace(string(text), "{", fmt.Sprintf(`{"cluster": {"rates.disk": %q},`, disk), 1)
		mustDo(t, os.WriteFile(dir+"/manifest.json", []byte(with), 0o644))
		dirs = append(dirs, dir)
	}
	of := func(dirs ...string) *Across {
		a := must(AcrossRuns([]string{run}, dirs, Options{Unverified: true}))
		return a
	}
	one, all := of(dirs[0]), of(dirs...)
	if len(all.Settings) != 4 || all.Runs != 18 {
		t.Fatalf("%d settings with %d runs, want 4 with 18: %+v", len(all.Settings), all.Runs, all.Settings)
	}
	for i, x := range all.Settings[:2] {
		was := one.Settings[i]
		if x.Run != dirs[0] || len(x.FurtherRuns) != 1 || x.FurtherRuns[0] != dirs[1] || x.Runs != 6 || x.Held != 2*was.Held {
			t.Errorf("pooled: %+v of %+v", x, was)
		}
		if math.Abs(float64(x.MeasuredMs-was.MeasuredMs)) > 1e-6 || math.Abs(float64(x.PredictedMs-was.PredictedMs)) > 1e-6 {
			t.Errorf("two runs that are the same: %v predicted %v, one of them: %v predicted %v", x.MeasuredMs, x.PredictedMs, was.MeasuredMs,
				was.PredictedMs)
		}
	}
	for _, x := range all.Settings[2:] {
		if x.Run != dirs[2] || len(x.FurtherRuns) != 0 || x.Runs != 3 {
			t.Errorf("on another cluster: %+v", x)
		}
	}
	errtest.Has(t, errtest.Of(AcrossRuns([]string{run}, []string{dirs[0], dirs[0]}, Options{})), "is given twice")
}

// TestAcrossSpeed predicts runs whose maps took 1.25 times the CPU time for the same work:
// at that speed, the prediction is longer. Without counters, or with those of
// no processor, no speed is known.
func TestAcrossSpeed(t *testing.T) {
	const run = "testdata/run"
	with := func(factor float64) *Across {
		again := labRun(t, "*", func(e traces.Event) {
			if a, ok := e.(*traces.AttemptFinished); ok && a.Attempt.Task.Kind == traces.Map {
				a.Counters.CPUMs = int64(factor * float64(a.Counters.CPUMs))
			}
		})
		a := must(AcrossRuns([]string{run}, []string{again}, Options{Unverified: true}))
		return a
	}
	same, slow, unknown, wrong := with(1), with(1.25), with(0), with(1e9)
	if same.AtSpeed != 2 || slow.AtSpeed != 2 || unknown.AtSpeed != 0 || wrong.AtSpeed != 0 {
		t.Fatalf("speeds of %d, %d, %d and %d settings are known, want 2, 2, 0 and 0", same.AtSpeed, slow.AtSpeed, unknown.AtSpeed, wrong.AtSpeed)
	}
	sum := 0.0
	for i, x := range slow.Settings {
		was := same.Settings[i]
		sum += float64(was.SpeedPct)
		if ratio := (100 + float64(x.SpeedPct)) / (100 + float64(was.SpeedPct)); math.Abs(ratio-0.8) > 0.002 {
			t.Errorf("%s under %s: %v of the speed, want 0.8", x.Workload, x.Model, ratio)
		}
		if longer := (100 + float64(x.ErrorAtSpeedPct)) / (100 + float64(was.ErrorAtSpeedPct)); longer < 1.1 || longer > 1.26 {
			t.Errorf("%s under %s: predicted %v times as long at 0.8 of the speed", x.Workload, x.Model, longer)
		}
		if x.ErrorPct != was.ErrorPct {
			t.Errorf("%s under %s: an error of %v, was %v: the prediction knows the speed", x.Workload, x.Model, x.ErrorPct, was.ErrorPct)
		}
	}
	if math.Abs(sum/2) > 1 {
		t.Errorf("the runs that were fitted to differ by %v %% from their own mean speed", sum/2)
	}
	for _, x := range append(unknown.Settings, wrong.Settings...) {
		if !math.IsNaN(float64(x.SpeedPct)) || !math.IsNaN(float64(x.ErrorAtSpeedPct)) {
			t.Errorf("%s under %s: a speed of %v", x.Workload, x.Model, x.SpeedPct)
		}
	}
}

// TestAcrossOthers predicts runs beside which other programs used half a core. That is
// left out of the cores that tasks have, if it is asked for.
func TestAcrossOthers(t *testing.T) {
	const run = "testdata/run"
	again := labRun(t, "*", func(traces.Event) {})
	paths := must(filepath.Glob(filepath.Join(again, "trials", "*", "trace.heddle")))
	for _, path := range paths {
		h, events, err := tracefile.ReadFile(path)
		mustDo(t, err)
		h.Cluster.OthersCores += 0.5
		mustDo(t, errors.Join(os.Remove(path), tracefile.WriteFile(path, h, events)))
	}
	with := func(others bool) *Across {
		a := must(AcrossRuns([]string{run}, []string{again}, Options{Unverified: true, Others: others, Cluster: recorded.Change{HostCores: 2}}))
		return a
	}
	without, beside := with(false), with(true)
	for i, x := range beside.Settings {
		was := without.Settings[i]
		if longer := float64(x.PredictedMs / was.PredictedMs); longer < 1.15 || longer > 1.6 {
			t.Errorf("%s under %s: predicted %v times as long beside half a core of others", x.Workload, x.Model, longer)
		}
		if x.MeasuredMs != was.MeasuredMs {
			t.Errorf("%s under %s: measured %v, was %v", x.Workload, x.Model, x.MeasuredMs, was.MeasuredMs)
		}
	}
	errtest.Has(t, errtest.Of(AcrossRuns([]string{run}, []string{again}, Options{Unverified: true, Others: true})),
		"no cores that all nodes share")
}

// TestAcrossTurns predicts a workload of a run from another one of the same run, and not
// the trials that were fitted to, whatever name the folder has.
func TestAcrossTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a:b")
	mustDo(t, os.CopyFS(dir, os.DirFS("testdata/run")))
	rename := func(path, from, to string, times int) {
		text, err := os.ReadFile(path)
		if err == nil && strings.Count(string(text), from) != times {
			err = fmt.Errorf("%s has %q %d times", path, from, strings.Count(string(text), from))
		}
		if err == nil {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o644)
		}
		mustDo(t, err)
	}
	rename(filepath.Join(dir, "manifest.json"), "-wordcount-fifo", "-other-fifo", 3)
	trials, err := filepath.Glob(filepath.Join(dir, "trials", "*-fifo"))
	if err != nil || len(trials) != 3 {
		t.Fatal(trials, err)
	}
	for _, trial := range trials {
		rename(filepath.Join(trial, "result.json"), "wordcount", "other", 2)
		rename(filepath.Join(trial, "trial.json"), "wordcount", "other", 1)
		mustDo(t, os.Rename(trial, strings.Replace(trial, "wordcount", "other", 1)))
	}
	link := filepath.Join(t.TempDir(), "link")
	mustDo(t, os.Symlink(dir, link))
	a := must(AcrossRuns([]string{dir + ":other"}, []string{link}, Options{Unverified: true}))
	if len(a.Settings) != 1 || a.Settings[0].Workload != "wordcount" || a.Settings[0].Runs != 3 || a.Settings[0].Run != link {
		t.Errorf("predicted %+v", a.Settings)
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
