package results

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// traced makes a run of one trial that keeps its trace: a job of two maps and one of
// one.
func traced(t *testing.T, h traces.Header, jobs []Job) *Run {
	t.Helper()
	check := func(err error) {
		t.Helper()
		mustDo(t, err)
	}
	const name = "r01-sort-fifo"
	run, err := runs.Create(t.TempDir(), "run", runs.Manifest{Seed: 7, Trials: []runs.TrialRecord{{Name: name}}})
	check(err)
	check(run.WriteFile("experiment.yaml", []byte("workloads: [{name: sort, size: 1GiB}]\nmodels: [fifo]\nsizeClasses: {one: 1, more: }\n")))
	active, err := run.Begin(name)
	check(err)
	h.Format = traces.FormatVersion
	var events []traces.Event
	for maps, id := range map[int32]traces.JobID{2: "job_1_0001", 1: "job_1_0002"} {
		events = append(events, &traces.JobSubmitted{Job: id, Maps: maps})
		for i := range maps {
			a := traces.Attempt{Task: traces.Task{Job: id, Kind: traces.Map, Index: i}}
			events = append(events, &traces.TaskScheduled{Task: a.Task}, &traces.AttemptStarted{T: traces.Time(i) * 1e9, Attempt: a, Node: "n1"},
				&traces.AttemptFinished{T: traces.Time(i+1) * 1e9, Attempt: a, Outcome: traces.Succeeded, Counters: traces.NoCounters})
		}
		events = append(events, &traces.JobFinished{T: 2e9, Job: id, Outcome: traces.Succeeded})
	}
	check(active.Write(TraceFile, func(out io.Writer) error { return tracefile.Encode(out, TraceFile, h, events) }))
	check(Write(active, &Trial{Name: name, Workload: "sort", Model: "fifo", Repeat: 1, MakespanMs: 2500, Jobs: jobs}))
	check(active.Done())
	check(WriteSummary(run))
	check(run.End(nil))
	run.Close()
	opened, err := Open(run.Dir, false)
	check(err)
	return opened
}

// TestFiguresOfATrace has figures come from the trace, the times of jobs from the
// result, and the classes of sizes from the experiment.
func TestFiguresOfATrace(t *testing.T) {
	run := traced(t, traces.Header{Seed: 7, Model: "fifo"}, []Job{
		{ID: "job_1_0001", Outcome: "succeeded", CompletionMs: 2400},
		{ID: "job_1_0002", Outcome: "succeeded", CompletionMs: 2000},
	})
	trial := &run.Trials[0]
	m, warning, err := run.Figures(trial)
	if err != nil || warning != "" {
		t.Fatal(err, warning)
	}
	var classes []string
	for _, c := range m.Classes {
		if c.By == "size" {
			classes = append(classes, c.Name)
		}
	}
	f := trial.WithTimes(m)
	if m.Attempts.OK != 3 || strings.Join(classes, " ") != "one more" || f.MakespanMs != 2500 || f.Completion().MeanMs() != 2200 ||
		m.MakespanMs == 2500 {
		t.Errorf("%d attempts in classes %q, makespan %v, mean completion %v; the trace's own makespan %v must stay", m.Attempts.OK, classes,
			f.MakespanMs, f.Completion().MeanMs(), m.MakespanMs)
	}
	outside := &measure.Figures{}
	if err := Classify("elsewhere.heddle", outside); err != nil {
		t.Error(err)
	}
	if err := Classify(run.TracePath(trial), m); err != nil {
		t.Error(err)
	}
}

// TestForeignTrace has the trace of another trial be told from what the result and
// the manifest say.
func TestForeignTrace(t *testing.T) {
	for want, run := range map[string]*Run{
		"its seed is 8, but the run's is 7": traced(t, traces.Header{Seed: 8, Model: "fifo"},
			[]Job{{ID: "job_1_0001"}, {ID: "job_1_0002"}}),
		"its job job_1_0001 is not in result.jso": traced(t, traces.Header{Seed: 7, Model: "fifo"}, []Job{{ID: "job_1_0002"}}),
	} {
		if _, _, err := run.Figures(&run.Trials[0]); !errors.Is(err, runs.ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	run := traced(t, traces.Header{Seed: 7, Model: "acl"}, []Job{{ID: "job_1_0001"}, {ID: "job_1_0002"}})
	run.models["fifo"] = "fifo"
	if _, _, err := run.Figures(&run.Trials[0]); err == nil ||
		!strings.Contains(err.Error(), `its model is "acl", but other traces of "fifo" have "fifo"`) {
		t.Errorf("error %v, want one about the model", err)
	}
}

// TestChangedFiles has a trace that has changed since the run ended be refused, or be
// used with a warning if that is asked for.
func TestChangedFiles(t *testing.T) {
	run := traced(t, traces.Header{Seed: 7, Model: "fifo"}, []Job{{ID: "job_1_0001"}, {ID: "job_1_0002"}})
	path := run.TracePath(&run.Trials[0])
	data := errtest.Must(os.ReadFile(path))
	mustDo(t, os.WriteFile(path, data[:len(data)-9], 0o644))
	errtest.Has(t, errtest.Of(Open(run.Dir, false)), TraceFile)
	opened := errtest.Must(Open(run.Dir, true))
	if m, warning, err := opened.Figures(&opened.Trials[0]); err != nil || warning == "" || m == nil {
		t.Errorf("figures %v, warning %q, error %v; want the part before the damage, and a warning", m, warning, err)
	}
}
