package measure_test

import (
	"path/filepath"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// TestLive follows measured traces: at the end the counts are those of the trace's
// figures.
func TestLive(t *testing.T) {
	files, _ := filepath.Glob("../fidelity/testdata/run/trials/*/trace.heddle")
	if len(files) < 6 {
		t.Fatalf("%d traces, want 6 or more", len(files))
	}
	for _, path := range files {
		r := errtest.Must(tracefile.Open(path))
		r.KeepEvents()
		var l measure.Live
		var events []traces.Event
		for e := range r.All() {
			events = append(events, e)
			l.Add(e)
		}
		f, now := measure.Of(r.Header(), func(yield func(traces.Event) bool) {
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
		}), l.Now()
		r.Close()
		if now.Jobs != f.Jobs || now.JobsEnded != f.Jobs || now.Maps.All != f.Maps || now.Reduces.All != f.Reduces ||
			now.Decisions != f.Decisions.Made || now.Outcomes["honoured"] != f.Decisions.Honoured {
			t.Errorf("%s: %+v, figures %+v", path, now, f)
		}
		if now.Maps.Done != f.Maps || now.Reduces.Done != f.Reduces || now.Maps.Running+now.Reduces.Running > 0 {
			t.Errorf("%s: at the end maps %+v, reduces %+v", path, now.Maps, now.Reduces)
		}
	}
}

// TestLiveOfAFailedJob: what is missing or comes twice does no harm.
func TestLiveOfAFailedJob(t *testing.T) {
	task := func(i int32) traces.Task { return traces.Task{Job: "j", Kind: traces.Map, Index: i} }
	var l measure.Live
	for _, e := range []traces.Event{
		&traces.JobSubmitted{Job: "j", Maps: 3},
		&traces.TaskScheduled{Task: task(0)}, &traces.TaskScheduled{Task: task(1)},
		&traces.AttemptStarted{Attempt: traces.Attempt{Task: task(0)}, Node: "n"},
		&traces.AttemptStarted{Attempt: traces.Attempt{Task: task(0)}, Node: "n"},
		&traces.AttemptStarted{Attempt: traces.Attempt{Task: task(2)}, Node: "n"}, // was never scheduled
		&traces.AttemptFinished{Attempt: traces.Attempt{Task: task(0)}},
		&traces.AttemptFinished{Attempt: traces.Attempt{Task: task(7)}}, // never started
		&traces.JobFinished{Job: "j", Outcome: traces.Failed},
	} {
		l.Add(e)
	}
	now := l.Now()
	if want := (measure.TasksNow{All: 3, Running: 1}); now.Maps != want {
		t.Errorf("maps %+v, want %+v", now.Maps, want)
	}
}
