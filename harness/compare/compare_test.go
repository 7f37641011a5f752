package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// made describes a run folder to make.
type made struct {
	workloads, models []string
	repeats           int
	// seconds is a trial's makespan; cached how many of its ten maps are
	// cache-local, of those left five are node-local.
	seconds func(repeat int, workload, model string) float64
	cached  func(repeat int, model string) int
	// mapCPU is the CPU time of each map in seconds; nil if it is not known.
	mapCPU func(repeat int, workload, model string) float64
	// failed trials by name, and numbers of failed jobs of others.
	failed     map[string]string
	failedJobs map[string]int
	// steered has models other than yarn make decisions.
	steered bool
	unused  map[int]bool // repeats in which the container of decision 3 runs no task
	// certain has all of these decisions come out as decided.
	certain bool
	// failing has the model of this name fail a job after a second, in the
	// second repeat.
	failing string
	world   string
	// cluster and clusters are in the manifest, file is the cluster file.
	cluster  map[string]string
	clusters map[string]map[string]string
	file     string
}

// jobs of a trial: one that succeeds after so many ms, perhaps one that fails.
func (m made) jobs(repeat int, model string, ms int64) []results.Job {
	list := []results.Job{{ID: "job_1_0001", Outcome: traces.Succeeded.String(), CompletionMs: ms}}
	if model == m.failing && repeat == 2 {
		list = append(list, results.Job{ID: "job_1_0002", Outcome: traces.Failed.String(), CompletionMs: 1000})
	}
	return list
}

// steady is a model's speed, with the noise of a lab: some of it common to a repeat.
func steady(speed map[string]float64) func(int, string, string) float64 {
	return func(repeat int, workload, model string) float64 {
		common := rand.New(rand.NewPCG(uint64(repeat), 1)).NormFloat64()
		own := rand.New(rand.NewPCG(uint64(repeat), 2+uint64(len(model))+10*uint64(len(workload)))).NormFloat64()
		return 30 * speed[model] * float64(len(workload)) / 9 * (1 + 0.04*common + 0.01*own)
	}
}

// of is a run folder of workloads, each with so many repeats, and of models with their speeds: "yarn 1.2 acl 1".
func of(workloads string, repeats int, speeds string) made {
	m, speed := made{workloads: strings.Fields(workloads), repeats: repeats}, map[string]float64{}
	for i, word := range strings.Fields(speeds) {
		if x, err := strconv.ParseFloat(word, 64); i%2 == 1 && err == nil {
			speed[m.models[i/2]] = x
		} else {
			m.models = append(m.models, word)
		}
	}
	m.seconds = steady(speed)
	return m
}

// with returns the run folder with a change.
func (m made) with(change func(*made)) made {
	change(&m)
	return m
}

func (m made) in(t *testing.T, dir string) string {
	t.Helper()
	var plan []runs.TrialRecord
	type planned struct {
		name, workload, model string
		repeat                int
	}
	var todo []planned
	for r := range m.repeats {
		for _, w := range m.workloads {
			for _, model := range m.models {
				p := planned{fmt.Sprintf("r%02d-%s-%s", r+1, w, model), w, model, r + 1}
				todo, plan = append(todo, p), append(plan, runs.TrialRecord{Name: p.name})
			}
		}
	}
	run, err := runs.Create(filepath.Dir(dir), filepath.Base(dir), runs.Manifest{
		Trials: plan, World: m.world, Cluster: m.cluster,
		Clusters: m.clusters,
	})
	mustDo(t, err)
	defer run.Close()
	if m.file != "" {
		mustDo(t, run.WriteFile("cluster.yaml", []byte(m.file)))
	}
	mustDo(t, run.WriteFile("experiment.yaml", fmt.Appendf(nil, "models: %v\n", m.models)))
	for _, p := range todo {
		active := must(run.Begin(p.name))
		if why, ok := m.failed[p.name]; ok {
			mustDo(t, active.Failed(errors.New(why)))
			continue
		}
		seconds := m.seconds(p.repeat, p.workload, p.model)
		cached := 0
		if m.cached != nil {
			cached = m.cached(p.repeat, p.model)
		}
		counters := traces.NoCounters
		if m.mapCPU != nil {
			counters.CPUMs = int64(1000 * m.mapCPU(p.repeat, p.workload, p.model))
		}
		mustDo(t, tracefile.WriteFile(filepath.Join(active.Dir, "trace.heddle"), traces.Header{Format: traces.FormatVersion, Model: p.model},
			append(events(traces.Node(filepath.Base(dir)), seconds, cached, counters), m.decisions(p.repeat, p.model)...)))
		ms := int64(seconds * 1000)
		result := results.Trial{
			Name: p.name, Workload: p.workload, Model: p.model, Repeat: p.repeat, MakespanMs: ms,
			Jobs: m.jobs(p.repeat, p.model, ms),
		}
		for i := range m.failedJobs[p.name] {
			f := results.FailedJob{Name: fmt.Sprintf("day-%d", i), Outcome: "refused", Why: "no such queue"}
			if i > 0 {
				f.ID, f.Outcome = traces.JobID(fmt.Sprintf("job_1_%04d", i+1)), "killed"
				result.Jobs = append(result.Jobs, results.Job{ID: f.ID, Outcome: f.Outcome, CompletionMs: ms})
			}
			result.FailedJobs = append(result.FailedJobs, f)
		}
		data := must(json.Marshal(result))
		mustDo(t, active.WriteFile("result.json", data))
		mustDo(t, active.Done())
	}
	if len(run.Todo()) == 0 {
		err = nil
	} else {
		err = errors.New("some trials failed")
	}
	mustDo(t, run.End(err))
	return dir
}

// decisions of a model of heddle's: of ten, one in the second repeat is not
// honoured, one in the third binds another map, one in the fourth has no end.
func (m made) decisions(repeat int, model string) []traces.Event {
	if !m.steered || model == "yarn" {
		return nil
	}
	var list []traces.Event
	task := traces.Task{Job: "job_1_0001", Kind: traces.Map}
	for i := range 10 {
		task.Index = int32(i)
		at, branch := traces.Time(i)*1e9, []string{"node", "node", "rack", "any", "rerun"}[i%5]
		list = append(list, &traces.Decision{
			T: at, ID: int64(i + 1), Job: task.Job, What: task.Kind, Node: "r1n1", TaskIndex: -1,
			BindIndex: int32(i), BindBranch: branch,
		})
		end := &traces.Actuation{
			T: at + 1e8, Decision: int64(i + 1), AskedAt: at, GrantedAt: at + traces.Time(10+i+repeat)*1e6,
			Outcome: "honoured", Bound: traces.Attempt{Task: task},
		}
		switch {
		case m.unused[repeat] && i == 2:
			end.Outcome, end.Cause, end.Bound = "unused", "no task ran in the container", traces.Attempt{}
		case m.certain:
		case repeat == 2 && i == 4:
			end.Outcome, end.Cause, end.Bound = "none", "no container within 3s", traces.Attempt{}
		case repeat == 3 && i == 7:
			end.Bound.Index = 9
		case repeat == 4 && i == 9:
			continue
		}
		list = append(list, end)
	}
	return list
}

// events are ten maps, one after the other over the first half, and a reduce. The
// node is the run's own: no two runs have the same schedule. The counters are each map's.
func events(node traces.Node, seconds float64, cached int, counters traces.Counters) []traces.Event {
	var list []traces.Event
	at := func(share float64) traces.Time { return traces.Time(share * seconds * 1e9) }
	for i := range 10 {
		level := traces.LevelRack
		if i < cached {
			level = traces.LevelCache
		} else if i < cached+5 {
			level = traces.LevelNode
		}
		a := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Map, Index: int32(i)}}
		list = append(list,
			&traces.AttemptStarted{T: at(float64(i) / 20), Attempt: a, Node: node, ReplicaLocality: level},
			&traces.AttemptFinished{T: at(float64(i+1) / 20), Attempt: a, Outcome: traces.Succeeded, Counters: counters})
	}
	a := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Reduce}}
	return append(list, &traces.AttemptStarted{T: at(0.5), Attempt: a, Node: node},
		&traces.AttemptFinished{T: at(1), Attempt: a, Outcome: traces.Succeeded, Counters: traces.NoCounters})
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None

func cachedBy(maps map[string]int) func(int, string) int {
	return func(repeat int, model string) int { return maps[model] + repeat%2 }
}

// cases are the golden files' runs: text, JSON and benchmarks of each.
var cases = map[string]struct {
	runs    []made
	options Options
}{
	"six": {runs: []made{of("wordcount", 6, "acl 1 delay 1.195 yarn 1.2").with(func(m *made) {
		m.cached = cachedBy(map[string]int{"acl": 4, "delay": 1})
	})}},
	"steered": {runs: []made{of("wordcount", 4, "acl 1 delay 1.195 yarn 1.2").with(func(m *made) { m.steered = true })}, options: makespan},
	"unused": {runs: []made{of("wordcount", 3, "acl 1 yarn 1.2").with(func(m *made) {
		m.steered, m.unused = true, map[int]bool{1: true}
	})}, options: makespan},
	"one": {runs: []made{of("wordcount", 1, "acl 1 yarn 1.2")}},
	"five-two-workloads": {runs: []made{of("sort wordcount", 5, "acl 1 yarn 1.2").with(func(m *made) {
		m.failed = map[string]string{"r02-sort-acl": "job_1_0007 failed: map 3 lost its node"}
	})}, options: makespan},
	"failed-jobs": {runs: []made{of("day night", 2, "acl 1 yarn 1.2").with(func(m *made) {
		m.failedJobs = map[string]int{"r01-day-acl": 2, "r02-night-acl": 1, "r01-night-yarn": 1}
	})}, options: makespan},
	"grid": {runs: []made{
		of("sort", 6, "yarn 1.2 delay-nodeSkips=9 1.1 delay-nodeSkips=10 1.05 delay-nodeSkips=100 1 delay-nodeSkips=-1 1 fifo 1.2 acl 0.9"),
	}, options: makespan},
	"drift": {runs: []made{of("sort", 7, "fifo 0 yarn 0").with(func(m *made) {
		m.seconds = func(repeat int, w, model string) float64 { return float64(20+2*repeat) + float64(len(model))/10 }
	})}, options: makespan},
	// The processors were slower for fifo, not for acl.
	"slow-processors": {runs: []made{of("wordcount", 6, "acl 1 fifo 1.3 yarn 1.2").with(func(m *made) {
		m.mapCPU = steady(map[string]float64{"yarn": 0.05, "fifo": 0.055, "acl": 0.05})
	})}, options: makespan},
	"two-runs": {
		runs:    []made{of("sort", 6, "yarn 1.2"), of("sort", 6, "acl 1")},
		options: Options{Metrics: []string{"makespan", "nodeLocal"}},
	},
	"pooled": {runs: []made{of("sort", 3, "acl 1 yarn 1.2"), of("sort", 4, "acl 1 delay 1.1 yarn 1.25")}, options: makespan},
	// Virtual time: what drifts by chance says nothing of a cluster, decisions
	// that cannot fail nothing of steering, and no block is cached.
	"simulated": {runs: []made{of("sort", 12, "acl 0 fifo 0 yarn 0").with(func(m *made) {
		m.world, m.steered, m.certain = runs.WorldSimulated, true, true
		m.seconds = func(repeat int, w, model string) float64 {
			return map[bool]float64{true: 40, false: 20}[repeat < 3] + float64(repeat*len(model))/200
		}
	})}, options: Options{Metrics: []string{"makespan", "cacheLocal", "nodeLocal"}}},
	"failed-not-in-mean": {
		runs:    []made{of("sort", 6, "fifo 1.2 yarn 1.2").with(func(m *made) { m.failing = "fifo" })},
		options: Options{Metrics: []string{"jobCompletion"}},
	},
	"worlds": {runs: []made{
		of("sort", 6, "acl 1 yarn 1.2"), of("sort", 6, "acl 1 yarn 1.1").with(func(m *made) { m.world = runs.WorldSimulated }),
	}, options: Options{Metrics: []string{"makespan", "nodeLocal"}}},
	"apart": {runs: []made{of("sort", 3, "yarn 1.2"), of("sort", 3, "yarn 1")}, options: Options{Metrics: makespan.Metrics, Apart: true}},
}

var makespan = Options{Metrics: []string{"makespan"}}

// TestGolden holds what is printed of each case against testdata. With -update
// it also keeps a run folder there, for the command's tests.
func TestGolden(t *testing.T) {
	if *golden.Update {
		kept := filepath.Join("testdata", "run")
		mustDo(t, os.RemoveAll(kept))
		mustDo(t, os.MkdirAll("testdata", 0o755))
		cases["one"].runs[0].in(t, kept)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			var dirs []string
			for i, m := range c.runs {
				dirs = append(dirs, m.in(t, filepath.Join(root, fmt.Sprintf("run%d", i+1))))
			}
			r := must(Runs(dirs, c.options))
			var text, lines bytes.Buffer
			d := r.Doc()
			for _, part := range d { // before lines are broken, which depends on the length of paths
				if notes, is := part.(doc.Notes); is {
					for i := range notes {
						notes[i] = strings.ReplaceAll(notes[i], root, "RUNS")
					}
				}
			}
			mustDo(t, doc.WriteText(&text, d, false))
			mustDo(t, r.WriteBenchmarks(&lines))
			object := must(json.MarshalIndent(r, "", "  "))
			for ending, got := range map[string][]byte{".txt": text.Bytes(), ".bench": lines.Bytes(), ".json": append(object, '\n')} {
				golden.Check(t, filepath.Join("testdata", name+ending), bytes.ReplaceAll(got, []byte(root), []byte("RUNS")))
			}
			readBenchmarks(t, &lines, r)
		})
	}
}

// readBenchmarks reads what was written with the format's own reader.
func readBenchmarks(t *testing.T, lines *bytes.Buffer, r *Report) {
	t.Helper()
	reader, n := benchfmt.NewReader(lines, "out"), 0
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("%v", record)
		case *benchfmt.Result:
			of := r.trials[n]
			if got, ok := record.Value("makespan-sec"); !ok || math.Abs(got-of.figures[0].MakespanMs/1000) > 1e-6 {
				t.Errorf("line %d: makespan %v, want %v ms", n+1, got, of.figures[0].MakespanMs)
			}
			if model := record.GetConfig("model"); model != of.model {
				t.Errorf("line %d: model %q, want %q", n+1, model, of.model)
			}
			n++
		}
	}
	mustDo(t, reader.Err())
	if n != len(r.trials) {
		t.Errorf("%d lines for %d trials", n, len(r.trials))
	}
}

// TestOneRepeatDoesNotRank: however far apart two models are, one trial of each
// shows nothing.
func TestOneRepeatDoesNotRank(t *testing.T) {
	dir := of("sort", 1, "acl 1 yarn 9").in(t, filepath.Join(t.TempDir(), "run"))
	r := must(Runs([]string{dir}, Options{}))
	for _, table := range r.Tables {
		for _, p := range table.Pairs {
			if p.Significant() || p.CI95Pct.Bounded() || !math.IsNaN(float64(p.P)) {
				t.Errorf("%s: %+v says something", table.Metric, p)
			}
		}
		if !slices.ContainsFunc(table.Warnings, func(w string) bool { return strings.Contains(w, "need at least 2 ") }) {
			t.Errorf("%s: no warning of too few repeats in %q", table.Metric, table.Warnings)
		}
	}
}

// TestSharesStayInside: a difference of rates is of at most 100 points, and so is
// its interval.
func TestSharesStayInside(t *testing.T) {
	m := of("sort", 6, "acl 1 yarn 1")
	m.steered, m.cached = true, func(repeat int, model string) int {
		switch {
		case model == "yarn":
			return 0
		case repeat == 3:
			return 8
		}
		return 10
	}
	r := must(Runs([]string{m.in(t, filepath.Join(t.TempDir(), "run"))}, Options{Metrics: []string{"cacheLocal", "nodeLocal"}}))
	for _, table := range r.Tables {
		for _, p := range table.Pairs {
			if ci := p.CI95Pct; !ci.Bounded() || ci[0] < -100 || ci[1] > 100 || !p.Significant() {
				t.Errorf("%s: %+v, want an interval of at most 100 points", table.Metric, p)
			}
		}
	}
	for _, s := range r.Steering {
		if ci := s.HonouredCI95Pct; !ci.Bounded() || !(ci[0] > 0 && ci[0] < 96 && ci[1] > 97 && ci[1] <= 100) {
			t.Errorf("%d of %d honoured, interval %v", s.Honoured, s.Decisions, ci)
		}
	}
}

// made10 are the figures of a trial with ten maps, of which some read from the cache
// and the others from another rack.
func made10(makespanMs float64, cached int) []*measure.Figures {
	return []*measure.Figures{{
		MakespanMs: makespanMs, Locality: measure.Locality{Cache: cached, Off: 10 - cached},
		UtilisationPct: float64(cached) + makespanMs/1000, BoundMs: 500,
	}}
}

// TestPAgreesWithInterval: "~" stands beside an interval exactly if it contains
// 0, however many models and whatever their values.
func TestPAgreesWithInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models, repeats := rapid.IntRange(2, 6).Draw(t, "models"), rapid.IntRange(1, 8).Draw(t, "repeats")
		var trials []trial
		for i := range models {
			for repeat := range repeats {
				run := 0
				if i == models-1 {
					run = rapid.IntRange(0, 1).Draw(t, "run") // of another run, without partners
				}
				trials = append(trials, trial{run: run, repeat: repeat, model: fmt.Sprint("m", i), figures: made10(
					float64(rapid.IntRange(1000, 1100).Draw(t, "ms")+20*i), rapid.IntRange(0, 10).Draw(t, "cached"),
				)})
			}
		}
		metrics := must(metricsOf([]string{"makespan", "cacheLocal", "slotUse", "overBound"}))
		for _, m := range metrics {
			for _, p := range newTable(m, "w", trials).Pairs {
				excludes := p.CI95Pct[0] > 0 || p.CI95Pct[1] < 0
				if p.Significant() != excludes && math.Abs(float64(p.P)-0.05) > 1e-9 {
					t.Errorf("%s: %s vs %s: %s", m.Name, p.B, p.A, p.cell(m.Unit))
				}
				if p.CI95Pct[0] > p.CI95PctAlone[0] || p.CI95Pct[1] < p.CI95PctAlone[1] || p.P < p.PAlone {
					t.Errorf("%s: %s vs %s: %v p %v is more certain than alone: %v p %v", m.Name, p.B, p.A, p.CI95Pct, p.P, p.CI95PctAlone, p.PAlone)
				}
			}
		}
	})
}

// captured makes a run folder like those of heddle capture.
func captured(t *testing.T, dir string) string {
	t.Helper()
	run := must(runs.Create(filepath.Dir(dir), filepath.Base(dir), runs.Manifest{Trials: []runs.TrialRecord{{Name: "capture"}}}))
	defer run.Close()
	active := must(run.Begin("capture"))
	mustDo(t, active.WriteFile("trace.heddle", []byte("a trace")))
	mustDo(t, active.Done())
	mustDo(t, run.End(nil))
	return run.Dir
}

func TestRefused(t *testing.T) {
	root := t.TempDir()
	good := of("sort", 1, "yarn 1")
	whole := good.in(t, filepath.Join(root, "whole"))
	good.failed = map[string]string{"r01-sort-yarn": "no room"}
	empty := good.in(t, filepath.Join(root, "empty"))
	good.failed = nil
	cut := good.in(t, filepath.Join(root, "cut"))
	mustDo(t, os.WriteFile(filepath.Join(cut, "trials/r01-sort-yarn/result.json"), []byte(`{"trial":`), 0o644))
	lost := good.in(t, filepath.Join(root, "lost"))
	mustDo(t, os.Remove(filepath.Join(lost, "trials/r01-sort-yarn/trace.heddle")))
	capture := captured(t, filepath.Join(root, "capture"))
	for _, c := range []struct {
		what    string
		dirs    []string
		options Options
		is      error
		says    string
	}{
		{"no run", []string{root}, Options{}, runs.ErrNotRun, "manifest.json"},
		{"no folder", []string{filepath.Join(root, "none")}, Options{}, os.ErrNotExist, "none"},
		{"no finished trial", []string{whole, empty}, Options{}, ErrNoTrial, "--resume " + empty},
		{"cut result", []string{cut}, Options{}, runs.ErrDamaged, "result.json"},
		{"no trace", []string{lost}, Options{}, runs.ErrDamaged, "trace.heddle"},
		{"capture", []string{capture}, Options{}, results.ErrNone, "is a capture: it has no models and repeats; 'heddle trace info " + capture},
		{"unknown metric", []string{whole}, Options{Metrics: []string{"speed"}}, nil, "makespan, jobCompletion"},
		{"twice", []string{whole, whole}, Options{}, nil, "given twice"},
	} {
		_, err := Runs(c.dirs, c.options)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error of %v that says %q", c.what, err, c.is, c.says)
		}
	}
}

// TestIntervalOfNothing has an interval without two finite bounds be null in JSON, which
// has no other word for it.
func TestIntervalOfNothing(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for i, want := range map[Interval]string{
		{1, 2}: "[1,2]", {2, 2}: "[2,2]", {-inf, inf}: "null", {0, inf}: "null", {-inf, 0}: "null",
		{inf, inf}: "null", {nan, nan}: "null", {nan, 1}: "null", {0, nan}: "null",
	} {
		if text, err := json.Marshal(i); string(text) != want || err != nil {
			t.Errorf("%v is %s, %v; want %s", i, text, err, want)
		}
	}
}

// TestManyModels has a table of more models than can be compared be refused, unless
// some are chosen.
func TestManyModels(t *testing.T) {
	var list []results.Trial
	for i := range 1500 {
		model := fmt.Sprintf("m%d", i)
		list = append(list, results.Trial{
			Name: config.TrialName(1, "w", model), Workload: "w", Model: model, Repeat: 1, MakespanMs: 1000,
			Figures: &measure.Figures{},
		})
	}
	run := must(results.Keep(t.TempDir(), "many", "", runs.Manifest{World: runs.WorldSimulated}, list))
	errtest.Has(t, errtest.Of(Runs([]string{run.Dir}, Options{})), "--where")
	some := must(results.Where("model~^m1$"))
	if r, err := Runs([]string{run.Dir}, Options{Where: some}); err != nil || len(r.Models) != 1 {
		t.Errorf("one chosen: %v", err)
	}
}
