package measure_test

import (
	"path/filepath"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// TestLive follows measured traces: at every event what runs on each node is what an
// own count of the events says, and at the end the counts are those of the trace's
// figures.
func TestLive(t *testing.T) {
	files, _ := filepath.Glob("../fidelity/testdata/run/trials/*/trace.heddle")
	if len(files) < 6 {
		t.Fatalf("%d traces, want 6 or more", len(files))
	}
	for _, path := range files {
		r, err := tracefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r.KeepEvents()
		var l measure.Live
		var events []traces.Event
		for e := range r.All() {
			events = append(events, e)
			l.Add(e)
			if len(events)%20 == 0 {
				checkRunning(t, path, events, l.Now())
			}
		}
		f, now := measure.Of(r.Header(), func(yield func(traces.Event) bool) {
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
		}), l.Now()
		r.Close()
		checkRunning(t, path, events, now)
		if now.Jobs != f.Jobs || now.JobsEnded != f.Jobs || now.Maps.All != f.Maps || now.Reduces.All != f.Reduces || now.Decisions != f.Decisions.Made || now.Outcomes["honoured"] != f.Decisions.Honoured {
			t.Errorf("%s: %+v, figures %+v", path, now, f)
		}
		if now.Maps.Done != f.Maps || now.Reduces.Done != f.Reduces || now.Maps.Running+now.Reduces.Running > 0 {
			t.Errorf("%s: at the end maps %+v, reduces %+v", path, now.Maps, now.Reduces)
		}
	}
}

// checkRunning counts the containers of each node again, from all events.
func checkRunning(t *testing.T, path string, events []traces.Event, now measure.Now) {
	t.Helper()
	want := map[traces.Node]int{}
	for i, event := range events {
		over := func(is func(traces.Event) bool) bool {
			for _, later := range events[i:] {
				if is(later) {
					return true
				}
			}
			return false
		}
		switch e := event.(type) {
		case *traces.AttemptStarted:
			if !over(func(x traces.Event) bool { f, ok := x.(*traces.AttemptFinished); return ok && f.Attempt == e.Attempt }) {
				want[e.Node]++
			}
		case *traces.JobStarted:
			if !over(func(x traces.Event) bool { f, ok := x.(*traces.JobFinished); return ok && f.Job == e.Job }) {
				want[e.AMNode]++
			}
		}
	}
	for _, n := range now.Nodes {
		if n.Running != want[n.Node] {
			t.Errorf("%s: after %d events %d containers run on %s, want %d", path, len(events), n.Running, n.Node, want[n.Node])
		}
		delete(want, n.Node)
	}
	for node, n := range want {
		if n > 0 {
			t.Errorf("%s: after %d events %s is missing, where %d containers run", path, len(events), node, n)
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
		&traces.NodeDown{Node: "n"},
	} {
		l.Add(e)
	}
	now := l.Now()
	if want := (measure.TasksNow{All: 3, Running: 1}); now.Maps != want {
		t.Errorf("maps %+v, want %+v", now.Maps, want)
	}
	if len(now.Nodes) != 1 || !now.Nodes[0].Down || now.Nodes[0].Running != 1 {
		t.Errorf("nodes %+v", now.Nodes)
	}
}
