package report

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/fidelity"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/harness/replay"
	recordedtrace "heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// two is an experiment whose models differ, with thresholds of each verdict.
const two = `cluster: lab
models: [yarn, {model: yarn, label: yarn-cached, splits: cachedOnly}]
repeats: 6
seed: 7
workloads: [{name: wordcount, size: 64MiB, maps: 8, reduces: 1}, {name: sort, size: 64MiB, maps: 8, reduces: 1}]
cache: {fraction: 0.5}
thresholds:
  makespan: ["yarn-cached < yarn * 1.5", "yarn-cached < 1s"]
  cacheLocal: ["yarn-cached > yarn"]
  cannotTell: pass
`

// simulated runs an experiment in virtual time and returns its run folder.
func simulated(t testing.TB, source string) string {
	t.Helper()
	e := must(config.ParseExperiment("two.yaml", []byte(source)))
	lab := must(config.LoadCluster("../config/testdata/slowdisks.yaml"))
	run := must(experiment.Simulate(t.Context(), experiment.Options{
		Experiment: e, Source: []byte(source), Cluster: lab,
		Root: t.TempDir(), Name: "two",
	}, nil))
	return run.Dir
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None

// written returns the page of runs and traces.
func written(t testing.TB, o Options) string {
	t.Helper()
	d := must(Of(t.Context(), o))
	var out strings.Builder
	mustDo(t, doc.WritePage(&out, d))
	return out.String()
}

// TestGolden has the words and numbers of a simulated run's page, up to where it says
// where all of it is from.
func TestGolden(t *testing.T) {
	d := must(Of(t.Context(), Options{Runs: []string{simulated(t, two)}}))
	var out strings.Builder
	mustDo(t, doc.WriteText(&out, d, false))
	text, _, ok := strings.Cut(out.String(), "\nWhere this is from\n")
	if !ok {
		t.Fatalf("it does not say where it is from:\n%s", text)
	}
	text = regexp.MustCompile(`began .*`).ReplaceAllString(text, "began      TIME")
	golden.Check(t, "testdata/two.txt", text)
}

// TestMeasured has the page of a measured run compare its trials with predictions.
func TestMeasured(t *testing.T) {
	page := written(t, Options{Runs: []string{"../fidelity/testdata/run"}, Fidelity: true})
	for _, want := range []string{
		"Measured on a cluster (6 trials).", ">Measured against predicted</h2>",
		"repeats differ by so much among themselves", "17.0.15+6-Debian-1deb12u1", `class="lanes"`, ">Times of maps under fifo, by locality<",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if without := written(t, Options{Runs: []string{"../fidelity/testdata/run"}}); strings.Contains(without, "against predicted") {
		t.Error("predictions were made, though nobody asked for them")
	}
}

// TestTraceBesideRun has a trace stand beside its workload's models in every part.
func TestTraceBesideRun(t *testing.T) {
	run := "../fidelity/testdata/run"
	page := written(t, Options{Runs: []string{run}, Traces: []string{run + "/trials/r04-wordcount-yarn/trace.heddle"}})
	for _, want := range []string{
		`>Trace trace.heddle</h2>`, `data-name="trace.heddle"`, `"recorded":true`,
		`<td class="whole">trace.heddle</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// replayed replays a recorded trace under a model and returns the run folder.
func replayed(t testing.TB, path string, keep bool) string {
	t.Helper()
	kept := experiment.Replays{Root: t.TempDir(), Name: "again", Traces: keep}
	t.Cleanup(kept.Close)
	r := must(tracefile.Open(path))
	defer r.Close()
	figures, each := measure.New(r.Header()), kept.Trace(path, r)
	trace := must(recordedtrace.Read(path, r, func(e traces.Event) { figures.Add(e); each(e) }))
	fitted := must(replay.CalibrateOne(trace, false))
	configs := []replay.Config{{Trace: trace, Model: config.Model{Model: "fifo", Label: "fifo"}, Seed: 1, Calibration: fitted}}
	kept.Record(configs)
	list := must(replay.Outcomes(configs))
	run := must(kept.Keep(append([]replay.Outcome{*replay.Recorded(trace, figures.Figures())}, list...)))
	return run.Dir
}

// TestTraceBesideReplay has a trace stand once beside its replay, under one name in all
// parts, whether the run keeps traces or not; and the errors of the replay.
func TestTraceBesideReplay(t *testing.T) {
	path := "../fidelity/testdata/run/trials/r04-wordcount-yarn/trace.heddle"
	for _, keep := range []bool{true, false} {
		page := written(t, Options{Runs: []string{replayed(t, path, keep)}, Traces: []string{path}})
		for want, times := range map[string]int{
			`"recorded":true`:                                          1, // in the timeline
			`<g class="row" data-name="recorded"`:                      3, // a curve in each chart of jobs
			`data-name="trace.heddle"`:                                 0,
			`<td class="whole">recorded</td>`:                          3, // a row for each of the two jobs, and one for the trial
			`>Measured against predicted</h2>`:                         1,
			`recorded against`:                                         0,
			`again: a task takes its recorded time wherever it runs`:   1,
			`under fifo: the mean completion time of jobs is replayed`: 1,
		} {
			if got := strings.Count(page, want); got != times {
				t.Errorf("with traces %t: %q is %d times in the page, want %d", keep, want, got, times)
			}
		}
	}
}

// TestFarFromRecording has the first warning say that a replay is far from its recording:
// in this trace a job waits a minute on an idle cluster, and no model waits so long.
func TestFarFromRecording(t *testing.T) {
	const second = traces.Time(1e9)
	h := traces.Header{
		Origin:  traces.Measured,
		Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "a", Rack: "r", MemoryBytes: 8 << 30, VCores: 8, Worker: true}}},
	}
	a := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Map}}
	path := filepath.Join(t.TempDir(), "waits.trace")
	mustDo(t, tracefile.WriteFile(path, h, []traces.Event{
		&traces.JobSubmitted{Job: a.Job, Name: "waits", Maps: 1},
		&traces.TaskScheduled{Task: a.Task, SplitHosts: []traces.Node{"a"}},
		&traces.AttemptStarted{T: 60 * second, Attempt: a, Node: "a", Rack: "r", SampleAgeNs: -1},
		&traces.AttemptFinished{T: 63 * second, Attempt: a, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		&traces.JobFinished{T: 64 * second, Job: a.Job, Outcome: traces.Succeeded, Counters: traces.NoCounters},
	}))
	d := must(Of(t.Context(), Options{Runs: []string{replayed(t, path, false)}, Traces: []string{path}}))
	i := slices.IndexFunc(d, func(part doc.Part) bool { _, is := part.(doc.Warnings); return is })
	if i < 0 || !regexp.MustCompile(`^waits.*: the simulated mean job completion time is far from the real one: -\d\d\.\d % under fifo; `).MatchString(d[i].(doc.Warnings)[0]) {
		t.Errorf("warnings %q", d[i])
	}
	if list := far(&fidelity.Report{Own: []fidelity.Own{
		{BiasPct: 19.9},
		{BiasPct: -19.9},
		{BiasPct: compare.Number(math.NaN())},
	}}); len(list) > 0 {
		t.Errorf("near or unknown, and yet %q", list)
	}
}

// TestCommand has the page say how to make it again, as a shell takes it.
func TestCommand(t *testing.T) {
	page := written(t, Options{
		Traces:  []string{hostileTrace(t, "plain")},
		Command: []string{"/opt/bin/heddle", "report", "-o", "it's a page.html", "x.trace"},
	})
	if want := `<code>heddle report -o &#39;it&#39;\&#39;&#39;s a page.html&#39; x.trace</code>`; !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
}

// evil are names that a server, a trace or another user can give.
var evil = []string{`</script><img src=x onerror=alert(1)>`, strings.Repeat("long", 2500), "\u202egnp.exe", "\x1b]0;title\a\x1b[31mred"}

// hostileTrace writes a trace that has a name wherever a trace has one.
func hostileTrace(t testing.TB, name string) string {
	t.Helper()
	const second = traces.Time(1e9)
	h := traces.Header{
		Origin: traces.Measured, Model: name, Writer: name,
		Cluster: traces.ClusterFacts{Name: name, Nodes: []traces.NodeFacts{{Node: traces.Node(name), Rack: name, Worker: true}}},
	}
	a := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Map}}
	events := []traces.Event{
		&traces.JobSubmitted{Job: a.Job, Name: name, User: name, Queue: name, Maps: 1},
		&traces.TaskScheduled{Task: a.Task, SplitHosts: []traces.Node{traces.Node(name)}},
		&traces.AttemptStarted{T: second, Attempt: a, Node: traces.Node(name), Rack: name, Container: name, SampleAgeNs: -1},
		&traces.AttemptFinished{T: 3 * second, Attempt: a, Outcome: traces.Failed, Error: name, Counters: traces.NoCounters},
		&traces.JobFinished{T: 4 * second, Job: a.Job, Outcome: traces.Failed, Diagnostics: name, Counters: traces.NoCounters},
	}
	path := filepath.Join(t.TempDir(), "x.trace")
	mustDo(t, tracefile.WriteFile(path, h, events))
	return path
}

// TestHostileNames has the page of a trace have the same tags whatever the names in the
// trace are, and no character that a terminal or an editor would obey.
func TestHostileNames(t *testing.T) {
	tags := func(page string) string {
		var list []string
		for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
			switch tokens.Next() {
			case html.ErrorToken:
				return strings.Join(list, " ")
			case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken, html.CommentToken:
				name, _ := tokens.TagName()
				list = append(list, string(name))
			}
		}
	}
	plain := tags(written(t, Options{Traces: []string{hostileTrace(t, "plain")}}))
	for _, name := range evil {
		page := written(t, Options{Traces: []string{hostileTrace(t, name)}})
		if got := tags(page); got != plain {
			t.Errorf("of %.40q: tags %s\nwant those of any name: %s", name, got, plain)
		}
		if i := strings.IndexAny(page, "\x1b\a\u202e"); i >= 0 {
			t.Errorf("of %.40q: %q is in the page", name, page[max(0, i-30):i+20])
		}
	}
}

// TestChart has each model look as it does in all charts, and the axis of values that are
// far apart be logarithmic.
func TestChart(t *testing.T) {
	of := func(model string, values ...float64) compare.Curve {
		return compare.NewCurve("w", model, "time", "s", values)
	}
	looks := map[string]int{"a": 1, "b": 2}
	c := chart("times", []compare.Curve{of("b", 1, 2, 3), of("a", 200, 300, 400)}, func(model string) int { return looks[model] })
	if !c.Log || len(c.Rows) != 2 || c.Rows[0].Look != 2 || c.Rows[1].Look != 1 {
		t.Errorf("rows %+v, logarithmic %t; want b and a on a logarithmic axis", c.Rows, c.Log)
	}
	if got := c.Numbers.Rows[1][5].String(); c.Numbers.Columns[5] != "median" || got != "300.0 s" {
		t.Errorf("the %s of a is %s, want 300 s", c.Numbers.Columns[5], got)
	}
	if last := c.Rows[1].Points[100]; last.Value != 100 || c.Rows[1].At[100] != 400 {
		t.Errorf("the curve of a ends at %v, %v; want all values up to 400 s", c.Rows[1].At[100], last)
	}
}
