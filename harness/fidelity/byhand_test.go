package fidelity

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// TestSumByHand has the errors of three trials worked out by hand.
func TestSumByHand(t *testing.T) {
	w := Own{Trials: []Prediction{
		{MeasuredMs: 100, PredictedMs: 112, ErrorPct: 12, MakespanErrorPct: -5, Distances: Distances{10, 0.1, 0, unknown, 3}},
		{MeasuredMs: 200, PredictedMs: 188, ErrorPct: -6, MakespanErrorPct: 7, Distances: Distances{20, 0.2, 0, 0, 6}},
		{MeasuredMs: 300, PredictedMs: 327, ErrorPct: 9, MakespanErrorPct: 0, Distances: Distances{30, 0.6, 0, 0, 0}},
	}}
	w.sum(nil)
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"error", float64(w.MeanAbsErrorPct), 9},                     // of 12, 6 and 9
		{"its interval", w.CI95Pct[1], 9 + 4.3027*3/math.Sqrt(3)},    // their deviation is 3
		{"its lower bound", w.CI95Pct[0], 9 - 4.3027*3/math.Sqrt(3)}, // above 0
		{"bias", float64(w.BiasPct), 4.5},                            // 12, -12 and 27 ms are 9 in the mean of 200
		{"its bound", w.BiasCI95Pct[1], 4.5 + 4.3027*math.Sqrt(387)/math.Sqrt(3)/2},
		{"noise", float64(w.NoisePct), 50}, // a deviation of 100 of 200
		{"measured", float64(w.MeasuredMs), 200},
		{"predicted", float64(w.PredictedMs), 209},
		{"makespan", float64(w.MakespanErrorPct), 4},
		{"maps", float64(w.MapDistancePct), 20},
		{"KS of maps", float64(w.MapKS), 0.3},
		{"locality", float64(w.LocalityPoints), 3},
	} {
		if math.Abs(x.got-x.want) > 0.002 {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
	if !math.IsNaN(float64(w.ReduceKS)) {
		t.Errorf("a distance that one trial does not have: %v in the mean", w.ReduceKS)
	}
	// An error has no sign, so its interval ends at 0.
	v := Own{Trials: []Prediction{{MeasuredMs: 1, ErrorPct: 0.1}, {MeasuredMs: 1, ErrorPct: -30}}}
	if v.sum(nil); v.CI95Pct[0] != 0 || !(v.CI95Pct[1] > 100) {
		t.Errorf("errors of 0.1 and 30 %% are within %v", v.CI95Pct)
	}
	r := Report{Own: []Own{{Model: "a", MeanAbsErrorPct: 3}, {Model: "b", MeanAbsErrorPct: 8}, {Model: "c", MeanAbsErrorPct: 5}}}
	if got := r.Worst().Model; got != "b" {
		t.Errorf("the worst is %s, want b", got)
	}
}

// mapsOf has the figures of a job whose maps take so many ms.
func mapsOf(ms ...int64) *measure.Figures {
	events := []traces.Event{&traces.JobSubmitted{Job: "j", Maps: int32(len(ms))}}
	for i, x := range ms {
		a := traces.Attempt{Task: traces.Task{Job: "j", Index: int32(i)}}
		events = append(events, &traces.AttemptStarted{Attempt: a, Node: "n"}, &traces.AttemptFinished{
			T: traces.Time(x * 1e6), Attempt: a,
			Outcome: traces.Succeeded, Counters: traces.NoCounters,
		})
	}
	traces.Sort(events)
	return measure.Of(traces.Header{}, slices.Values(append(events, &traces.JobFinished{T: 1e12, Job: "j", Outcome: traces.Succeeded})))
}

// TestDistanceByHand has distances between durations of tasks: in percent of the measured
// mean, over all replays together.
func TestDistanceByHand(t *testing.T) {
	for _, x := range []struct {
		was     []int64
		is      [][]int64
		pct, ks float64
	}{
		{[]int64{1000, 2000}, [][]int64{{1000, 2000}, {2000, 1000}}, 0, 0},
		{[]int64{1000, 3000}, [][]int64{{2000, 4000}}, 50, 0.5},                // each moves by 1000 of 2000
		{[]int64{1000, 1000}, [][]int64{{3000, 3000}}, 200, 1},                 // none overlaps
		{[]int64{1000, 2000}, [][]int64{{1000, 1000}, {2000, 2000}}, 0, 0},     // as likely, all replays together
		{[]int64{2000, 2000}, [][]int64{{1000, 3000}}, 50, 0.5},                // the same mean, and half of them on each side
		{[]int64{4000}, [][]int64{{1000}, {2000}, {3000}, {4000}}, 37.5, 0.75}, // 3000, 2000, 1000 and 0 away
	} {
		var again []*measure.Figures
		for _, ms := range x.is {
			again = append(again, mapsOf(ms...))
		}
		pct, ks := distance(mapsOf(x.was...), again, (*measure.Figures).MapDurations)
		if math.Abs(float64(pct)-x.pct) > 1e-9 || math.Abs(float64(ks)-x.ks) > 1e-9 {
			t.Errorf("measured %v, simulated %v: %v %% and %v, want %v and %v", x.was, x.is, pct, ks, x.pct, x.ks)
		}
	}
	pct, ks := distance(mapsOf(1000), []*measure.Figures{mapsOf(1000)}, (*measure.Figures).ReduceRests)
	if text, err := json.Marshal([]compare.Number{pct, ks}); string(text) != "[null,null]" || err != nil {
		t.Errorf("durations of reduces that there are not differ by %s, %v", text, err)
	}
}

// TestLocalityByHand has the largest difference of a level's share, and none where it is
// not known where blocks were, as in a trace that comes from Hadoop's history.
func TestLocalityByHand(t *testing.T) {
	of := func(cache, node, rack, off, unknown int) *measure.Figures {
		return &measure.Figures{Locality: measure.Locality{Cache: cache, Node: node, Rack: rack, Off: off, Unknown: unknown}}
	}
	for _, x := range []struct {
		was, one, two *measure.Figures
		want          float64
	}{
		{of(0, 8, 2, 0, 0), of(0, 8, 2, 0, 0), of(0, 4, 1, 0, 9), 0},
		{of(5, 5, 0, 0, 0), of(5, 1, 4, 0, 0), of(5, 1, 4, 0, 0), 40},
		{of(0, 10, 0, 0, 0), of(0, 6, 0, 4, 0), of(0, 8, 2, 0, 0), 30},
		{of(0, 0, 0, 0, 10), of(0, 10, 0, 0, 0), of(0, 10, 0, 0, 0), math.NaN()},
		{of(0, 10, 0, 0, 0), of(0, 0, 0, 0, 10), of(0, 0, 0, 0, 10), math.NaN()},
		{of(0, 10, 0, 0, 0), of(0, 0, 0, 0, 10), of(0, 9, 1, 0, 0), 10},
	} {
		got := float64(localityPoints(x.was, []*measure.Figures{x.one, x.two}))
		if math.Abs(got-x.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(x.want) {
			t.Errorf("measured %+v, simulated %+v and %+v: %v points off, want %v", x.was.Locality, x.one.Locality, x.two.Locality, got, x.want)
		}
	}
	dir := labRun(t, "*", func(e traces.Event) {
		if e, ok := e.(*traces.AttemptStarted); ok {
			e.ReplicaLocality = traces.LevelUnknown
		}
	})
	for name, p := range own(t, dir) {
		if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), `"localityPoints":null`) {
			t.Errorf("%s: %s, %v: want no figure of what is not known", name, text, err)
		}
	}
}

// labRun copies the lab's run, with the traces of some trials rewritten.
func labRun(t *testing.T, of string, change func(traces.Event)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	mustDo(t, os.CopyFS(dir, os.DirFS("testdata/run")))
	paths, err := filepath.Glob(filepath.Join(dir, "trials", of, "trace.heddle"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		h, events, err := tracefile.ReadFile(path)
		mustDo(t, err)
		for _, e := range events {
			change(e)
		}
		traces.Sort(events)
		mustDo(t, errors.Join(os.Remove(path), tracefile.WriteFile(path, h, events)))
	}
	return dir
}

func own(t *testing.T, dir string) map[string]Prediction {
	t.Helper()
	r := must(Of(dir, Options{Seeds: 2, Unverified: true}))
	all := map[string]Prediction{}
	for _, w := range r.Own {
		for _, p := range w.Trials {
			all[p.Trial] = p
		}
	}
	return all
}

// TestOwnTimesAreNotKnown has the times of a repeat be longer by a minute. What is predicted
// of the trials of that repeat is the same as before: it comes from the other repeats, on
// which this one has an effect.
func TestOwnTimesAreNotKnown(t *testing.T) {
	const longer = 60e9
	before := own(t, "testdata/run")
	after := own(t, labRun(t, "r01-*", func(e traces.Event) {
		switch e := e.(type) {
		case *traces.AttemptFinished:
			e.T += longer
		case *traces.TaskFinished:
			e.T += longer
		case *traces.JobFinished:
			e.T += longer
		}
	}))
	for name, was := range before {
		is := after[name]
		first := strings.HasPrefix(name, "r01-")
		if first && (is.PredictedMs != was.PredictedMs || math.Abs(is.MeasuredMs-was.MeasuredMs-longer/1e6) > 1) {
			t.Errorf("%s: measured %v ms and predicted %v, with its own times longer by a minute %v and %v: the prediction knows what it predicts",
				name, was.MeasuredMs, was.PredictedMs, is.MeasuredMs, is.PredictedMs)
		}
		if !first && !(is.PredictedMs > was.PredictedMs+5000) {
			t.Errorf("%s: predicted %v ms, and %v where another repeat took longer by a minute", name, was.PredictedMs, is.PredictedMs)
		}
		if slices.Contains(is.CalibratedOn, name) || len(is.CalibratedOn) != 4 {
			t.Errorf("%s is calibrated on %q", name, is.CalibratedOn)
		}
	}
}

// TestLeftOut has a trial with a job that failed be left out and named, and a run be refused
// that has nothing to predict from, or whose trace is damaged.
func TestLeftOut(t *testing.T) {
	dir := labRun(t, "r03-wordcount-yarn", func(e traces.Event) {
		if e, ok := e.(*traces.JobFinished); ok {
			e.Outcome = traces.Failed
		}
	})
	r := must(Of(dir, Options{Seeds: 1, Unverified: true}))
	if r.Own[0].Runs+r.Own[1].Runs != 5 || !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "r03-wordcount-yarn: ") && strings.Contains(w, "the trial is left out")
	}) {
		t.Errorf("%d and %d trials, warnings %q: want the failed one left out", r.Own[0].Runs, r.Own[1].Runs, r.Warnings)
	}
	errtest.Is(t, errtest.Of(Of(dir, Options{Seeds: 1})), runs.ErrDamaged)
	run := must(results.Open("testdata/run", false))
	run.Trials[2].Figures = &measure.Figures{}
	if _, err := OfRun(run, Options{Seeds: 1}); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "--traces") {
		t.Errorf("a run that keeps figures alone: error %v", err)
	}
	stop := errors.New("stop")
	if _, err := Of("testdata/run", Options{Interrupted: func() error { return stop }}); err == nil {
		t.Error("an interrupted prediction has a result")
	}
}

// TestDocSaysWho has the table say which winner was predicted, and when the runs do not tell.
func TestDocSaysWho(t *testing.T) {
	r := &Report{
		Simulated: true, Own: []Own{{Workload: "w", Model: "m", Runs: 3, MeanAbsErrorPct: 4, CI95Pct: compare.Interval{1, 7}}},
		Counterfactual: []Counterfactual{{From: "a", To: "b", WinnerRight: true}, {From: "b", To: "a"}, {From: "c", To: "d", Undecided: true}},
	}
	var out strings.Builder
	mustDo(t, doc.WriteMarkdown(&out, r.Doc()))
	for _, want := range []string{
		"4.0 % [1.0, 7.0]", "| right |", "| wrong |", "| wrong, but simulated runs do not tell |",
		"simulated difference",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, empty := range []*Report{{}, {Own: []Own{{}}, Warnings: []string{"w"}}} {
		if err := doc.WriteText(&out, empty.Doc(), false); err != nil {
			t.Error(err)
		}
	}
}
