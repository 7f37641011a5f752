package paper

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/fidelity"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/stats"
)

// liveRun copies the run that the tests of package compare keep, with one file changed.
func liveRun(t *testing.T, change func(dir string)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	check(t, os.CopyFS(dir, os.DirFS("../compare/testdata/run")))
	change(dir)
	return dir
}

// edit replaces text in a file, which must have it.
func edit(t *testing.T, path string, pairs ...string) {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	text := strings.NewReplacer(pairs...).Replace(string(data))
	if text == string(data) {
		t.Fatalf("%s has none of %q", path, pairs)
	}
	check(t, os.WriteFile(path, []byte(text), 0o644))
}

// TestLiveHostile reads run folders in which a file is cut, changed, exchanged or gone. What
// cannot be trusted is an error that names the file, and not a figure beside a paper's.
func TestLiveHostile(t *testing.T) {
	const acl, yarn = "trials/r01-wordcount-acl", "trials/r01-wordcount-yarn"
	cut := func(name string) func(string) {
		return func(dir string) { check(t, os.Truncate(filepath.Join(dir, name), 300)) }
	}
	for _, c := range []struct {
		name       string
		change     func(dir string)
		unverified bool
		is         error
		want       string // in the error, or if there is none, in a warning
	}{
		{"a trace cut short", cut(acl + "/trace.heddle"), false, runs.ErrDamaged, "r01-wordcount-acl/trace.heddle"},
		{"a trace cut short that is to be read anyway", cut(acl + "/trace.heddle"), true, runs.ErrDamaged, "only the part of the trace before that"},
		{"a result cut short", func(dir string) { check(t, os.Truncate(filepath.Join(dir, yarn, "result.json"), 100)) }, true, runs.ErrDamaged, "r01-wordcount-yarn/result.json"},
		{"a faster result", func(dir string) { edit(t, filepath.Join(dir, acl, "result.json"), "31121", "11121") }, false, runs.ErrDamaged, "r01-wordcount-acl/result.json"},
		{"a faster result that is to be read anyway", func(dir string) { edit(t, filepath.Join(dir, acl, "result.json"), "31121", "11121") }, true, nil, "r01-wordcount-acl/result.json"},
		{"a result of another trial", func(dir string) {
			edit(t, filepath.Join(dir, acl, "result.json"), "r01-wordcount-acl", "r02-wordcount-acl")
		}, true, runs.ErrDamaged, "r01-wordcount-acl"},
		{"traces exchanged", func(dir string) {
			a, b := filepath.Join(dir, acl, "trace.heddle"), filepath.Join(dir, yarn, "trace.heddle")
			check(t, os.Rename(a, a+".x"))
			check(t, os.Rename(b, a))
			check(t, os.Rename(a+".x", b))
		}, false, runs.ErrDamaged, "trace.heddle"},
		{"a trace that is gone", func(dir string) { check(t, os.Remove(filepath.Join(dir, yarn, "trace.heddle"))) }, true, fs.ErrNotExist, "r01-wordcount-yarn/trace.heddle"},
		{"no manifest", func(dir string) { check(t, os.Remove(filepath.Join(dir, "manifest.json"))) }, false, runs.ErrNotRun, "run"},
		{"a manifest that is none", func(dir string) { check(t, os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("[]"), 0o644)) }, true, nil, "manifest.json"},
	} {
		dir := liveRun(t, c.change)
		table, err := testLive.Read(dir, c.unverified)
		text := ""
		switch {
		case err != nil:
			text = err.Error()
		case table != nil:
			text = strings.Join(table.Warnings, "\n")
		}
		if !strings.Contains(text, c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: error %v, warnings %q; want %v, and %q said", c.name, err, text, c.is, c.want)
		}
	}
}

// TestLiveModels has rows in the order of the paper's experiment, and models that it
// does not have after them; an experiment that cannot be read orders nothing.
func TestLiveModels(t *testing.T) {
	head := "cluster: lab\nactuator: labels\nworkloads:\n  - {name: wordcount, size: 1MiB}\nrepeats: 1\nmodels: "
	for models, want := range map[string]string{"[yarn, acl]": "yarn acl", "[acl, yarn]": "acl yarn", "[fifo, yarn]": "yarn acl", "[fifo, delay]": "acl yarn", "{": "acl yarn"} {
		l := &Live{Files: fstest.MapFS{ExperimentFile: {Data: []byte(head + models + "\n")}}}
		table, err := l.Read("../compare/testdata/run", false)
		check(t, err)
		got := strings.Join(each(table.Rows, func(r *LiveRow) string { return r.Model }), " ")
		if got != want {
			t.Errorf("models %s: rows of %s, want %s", models, got, want)
		}
		if first := table.Rows[0].SavesPct; !math.IsNaN(float64(first.Value)) || math.IsNaN(float64(table.Rows[1].SavesPct.Value)) {
			t.Errorf("models %s: saves %v and %v, want nothing for the first, with which the second is compared", models, first, table.Rows[1].SavesPct)
		}
	}
	l := &Live{Files: fstest.MapFS{}, Explain: func(t *LiveTable) []string { return []string{"explained " + t.Run} }}
	table, err := l.Read("../compare/testdata/run", false)
	check(t, err)
	if !slices.Equal(table.Notes, []string{"explained run"}) || !slices.Contains(table.Remarks(), "explained run") {
		t.Errorf("notes %q, remarks %q", table.Notes, table.Remarks())
	}
}

// TestLiveColumns has a paper's own columns in the order that it says: one that every
// paper has, a metric, and a figure that a model notes.
func TestLiveColumns(t *testing.T) {
	l := &Live{Files: fstest.MapFS{}, Columns: []string{"saves", "makespan", "adherence", "delayMs"}}
	table, err := l.Read("../compare/testdata/run", false)
	check(t, err)
	run, err := results.Open("../compare/testdata/run", false)
	check(t, err)
	sum, n := map[string]float64{}, map[string]float64{}
	for _, r := range run.Trials {
		sum[r.Model], n[r.Model] = sum[r.Model]+float64(r.MakespanMs)/1000, n[r.Model]+1
	}
	for _, r := range table.Rows {
		if want := sum[r.Model] / n[r.Model]; math.Abs(float64(r.Metrics["makespan"].Value)-want) > 0.01 {
			t.Errorf("%s: makespan %v, the results have %v", r.Model, r.Metrics["makespan"].Value, want)
		}
	}
	several, err := l.Read("../fidelity/testdata/run", false) // with repeats, from which a trial is predicted
	check(t, err)
	for _, r := range several.Rows {
		was, is := float64(r.Metrics["makespan"].Value), float64(r.Replayed["makespan"].Value)
		if math.Abs(is/was-1) > .5 || is == was {
			t.Errorf("%s: makespan %v, %v as replayed: want a prediction that is near", r.Model, was, is)
		}
	}
	if with := several.parts()[1].(*doc.Table); !slices.Equal(with.Columns, []string{"workload", "model", "n", "saves", "makespan", "makespan, replayed", "adherence", "delayMs"}) {
		t.Errorf("columns %q, want the metric of replays, which is known, beside that of the run", with.Columns)
	}
	head := table.parts()[1].(*doc.Table)
	if !slices.Equal(head.Columns, []string{"workload", "model", "n", "saves", "makespan", "adherence", "delayMs"}) || len(head.Rows) != len(table.Rows) || len(head.Rows[0]) != len(head.Columns) {
		t.Errorf("columns %q, %d rows", head.Columns, len(head.Rows))
	}
	if plain, err := (&Live{Files: fstest.MapFS{}}).Read("../compare/testdata/run", false); err != nil || len(plain.parts()[1].(*doc.Table).Columns) != 3+liveWidth || len(plain.parts()[2].(*doc.Table).Columns) != 6 || plain.Rows[0].Metrics != nil {
		t.Errorf("without columns of its own, the table is cut as before: %v, %v", err, plain.parts()[1])
	}
}

// byHand has three repeats of two workloads under two models.
func byHand() *LiveTable {
	trial := func(workload, model string, repeat int, seconds float64, cache, local, made int64, notes map[string]float64) measured {
		m := measured{Trial: results.Trial{Workload: workload, Model: model, Repeat: repeat, Notes: notes}, seconds: seconds, turnaround: math.NaN(), master: math.NaN(), decisionMs: 10 * float64(repeat)}
		m.cache, m.local, m.adherence = stats.Share{Part: cache, Of: 10}, stats.Share{Part: local, Of: 10}, stats.Share{Part: made, Of: made}
		return m
	}
	return &LiveTable{trials: []measured{
		trial("sort", "base", 1, 10, 1, 5, 0, nil), trial("sort", "base", 2, 12, 2, 5, 0, nil), trial("sort", "base", 3, 14, 3, 5, 0, nil),
		trial("sort", "mine", 1, 9, 4, 8, 4, map[string]float64{"delayMs": 30}), trial("sort", "mine", 2, 10.8, 5, 8, 0, nil), trial("sort", "mine", 3, 12.6, 6, 8, 4, map[string]float64{"delayMs": 50, "late": 7}),
		trial("scan", "mine", 1, 3, 0, 0, 0, nil),
	}}
}

// TestLiveByHand has the means and intervals of a table worked out by hand.
func TestLiveByHand(t *testing.T) {
	table := byHand()
	table.fill(&fidelity.Report{Own: []fidelity.Own{
		{Workload: "sort", Model: "mine", MeanAbsErrorPct: 4, CI95Pct: compare.Interval{1, 7}, Trials: []fidelity.Prediction{{PredictedMs: 9000}, {PredictedMs: 11_000}}},
		{Workload: "scan", Model: "base", MeanAbsErrorPct: 99},
	}}, []string{"base", "mine"}, nil)
	var rows []string
	for _, r := range table.Rows {
		rows = append(rows, r.Workload+" "+r.Model)
	}
	if !slices.Equal(rows, []string{"sort base", "sort mine", "scan mine"}) {
		t.Fatalf("rows %q", rows)
	}
	base, mine, scan := &table.Rows[0], &table.Rows[1], &table.Rows[2]
	for _, x := range []struct {
		name          string
		got           Cell
		value, lo, hi float64 // lo NaN: no interval
	}{
		// A deviation of 2 of three values: 4.303 standard errors of 2/sqrt(3).
		{"completion", base.CompletionS, 12, 12 - 4.968, 12 + 4.968},
		{"saves in each repeat 10 %", mine.SavesPct, 10, math.NaN(), 0},
		{"cache", base.CachePct, 20, 20 - 24.84, 20 + 24.84},
		{"local", mine.LocalPct, 80, math.NaN(), 0},
		{"decision", mine.DecisionMs, 20, 20 - 24.84, 20 + 24.84},
		{"predicted", mine.PredictedS, 10, 10 - 12.706, 10 + 12.706},
		{"error", mine.ErrorPct, 4, 1, 7},
		{"one repeat", scan.CompletionS, 3, math.Inf(-1), math.Inf(1)},
		{"a note of two of three repeats", mine.Notes["delayMs"], 40, 40 - 127.06, 40 + 127.06},
		{"a note of the last repeat", mine.Notes["late"], 7, math.Inf(-1), math.Inf(1)},
	} {
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 0.02 }
		if !near(float64(x.got.Value), x.value) || !math.IsNaN(x.lo) && x.name != "cache" && !(near(x.got.CI95[0], x.lo) && near(x.got.CI95[1], x.hi)) {
			t.Errorf("%s: %v %v, want %v [%v, %v]", x.name, x.got.Value, x.got.CI95, x.value, x.lo, x.hi)
		}
	}
	if ci := base.CachePct.CI95; !(ci[0] >= 0 && ci[0] < 20 && ci[1] > 20 && ci[1] <= 100) {
		t.Errorf("cache rate within %v: want within 0 to 100", ci)
	}
	for name, c := range map[string]Cell{"adherence of none": base.AdherencePct, "turnaround": mine.TurnaroundS, "of the first model": base.SavesPct, "against a model that did not run": scan.SavesPct, "no prediction": scan.PredictedS} {
		if !math.IsNaN(float64(c.Value)) || c.CI95.Bounded() {
			t.Errorf("%s: %v, want nothing", name, c)
		}
	}
	if mine.AdherencePct.Value != 100 || base.Notes != nil {
		t.Errorf("adherence %v, notes of base %v", mine.AdherencePct, base.Notes)
	}
	table.Splits = map[string]map[string]int{"sort": {"n2": 3, "n1": 4}, "scan": nil}
	remarks := table.Remarks()
	if len(remarks) != 2 || remarks[0] != "maps of sort with their block on a node: n1 4, n2 3" || !strings.HasPrefix(remarks[1], "sort, mine at the end of a trial: delayMs 40.0") {
		t.Errorf("remarks %q", remarks)
	}
}

// TestFewAlike: two repeats with one and the same difference tell nothing of how much others
// would differ; six do, and so do two that are not alike.
func TestFewAlike(t *testing.T) {
	metrics, err := measure.Find([]string{"makespan"})
	check(t, err)
	for _, x := range []struct {
		repeats int
		odd     float64
		bounded bool
	}{{2, 0, false}, {5, 0, false}, {6, 0, true}, {2, 1000, true}} {
		table := &LiveTable{}
		for i := range x.repeats {
			for model, ms := range map[string]float64{"a": 20_000, "b": 10_000 + x.odd*float64(i)} {
				m := measured{figures: &measure.Figures{MakespanMs: ms}}
				m.Workload, m.Model, m.Repeat = "w", model, i+1
				table.trials = append(table.trials, m)
			}
		}
		e := table.Differences("w", "a", "b", metrics[0])
		if e.Bounded() != x.bounded || math.Abs(e.Value-10) > 2 {
			t.Errorf("%d repeats, %v apart: %+v, want an interval: %v", x.repeats, x.odd, e, x.bounded)
		}
	}
}
