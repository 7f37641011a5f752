package traceplan_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/measure"
	"heddle/harness/workload/traceplan"
	"heddle/traces"
	"heddle/traces/errtest"
)

const mib = int64(1 << 20)

// attempt is the end of an attempt at a task of the job "j".
func attempt(kind traces.TaskKind, index, number int32, outcome traces.Outcome, change func(*traces.Counters)) traces.Event {
	c := traces.NoCounters
	change(&c)
	return &traces.AttemptFinished{
		Attempt: traces.Attempt{Task: traces.Task{Job: "j", Kind: kind, Index: index}, Number: number},
		Outcome: outcome, Counters: c,
	}
}

// small is a trace of one job of three maps of one file and two reduces. A map failed
// first and was copied later; what counts is the attempt that succeeded.
func small() []traces.Event {
	at := func(i int32, offset int64) traces.Event {
		return &traces.TaskScheduled{Task: traces.Task{Job: "j", Index: i}, Path: "/in", OffsetBytes: offset, LengthBytes: 10 * mib}
	}
	emits := func(put int64) func(*traces.Counters) {
		return func(c *traces.Counters) { c.HDFSReadBytes, c.MapOutputBytes, c.CPUMs = 99*mib, put, 1000 }
	}
	fetches := func(fetched, written int64) func(*traces.Counters) {
		return func(c *traces.Counters) { c.ShuffleBytes, c.HDFSWrittenBytes, c.CPUMs = fetched, written, 500 }
	}
	return []traces.Event{
		&traces.JobSubmitted{T: 7e9, Job: "j", Name: "the job", Queue: "q", Maps: 3, Reduces: 2},
		at(2, 20*mib), at(0, 0), at(1, 10*mib),
		attempt(traces.Map, 0, 0, traces.Failed, emits(777)),
		attempt(traces.Map, 0, 1, traces.Succeeded, emits(6*mib)),
		attempt(traces.Map, 0, 2, traces.Killed, emits(888)),
		attempt(traces.Map, 1, 0, traces.Succeeded, emits(3*mib)),
		attempt(traces.Map, 2, 0, traces.Succeeded, emits(0)),
		attempt(traces.Reduce, 0, 0, traces.Succeeded, fetches(2*mib, mib)),
		attempt(traces.Reduce, 1, 0, traces.Succeeded, fetches(mib, 0)),
		&traces.JobFinished{T: 37e9, Job: "j", Outcome: traces.Succeeded},
	}
}

func onlyJob(t *testing.T, events []traces.Event, o traceplan.Options) *traceplan.Job {
	t.Helper()
	p := errtest.Must(traceplan.New(&traces.Header{}, slices.Values(events), o))
	if len(p.Jobs) != 1 {
		t.Fatalf("%d jobs, want one", len(p.Jobs))
	}
	return &p.Jobs[0]
}

// TestByHand has the plan of a small trace worked out by hand: as it is, half as large, and
// with two maps of three merged.
func TestByHand(t *testing.T) {
	for _, x := range []struct {
		name    string
		o       traceplan.Options
		maps    []traceplan.Map
		reduces []traceplan.Reduce
	}{
		// The reduces fetch 3 MiB of the 9 MiB that maps put out, so each map emits a third of what it put out.
		{
			"as it is",
			traceplan.Options{},
			[]traceplan.Map{{LengthBytes: 10 * mib, EmitBytes: 2 * mib, CPUMs: 1000}, {
				OffsetBytes: 10 * mib, LengthBytes: 10 * mib, EmitBytes: mib,
				CPUMs: 1000,
			}, {OffsetBytes: 20 * mib, LengthBytes: 10 * mib, CPUMs: 1000}},
			[]traceplan.Reduce{{ShuffleBytes: 2 * mib, OutputBytes: mib, CPUMs: 500}, {ShuffleBytes: mib, CPUMs: 500}},
		},
		{
			"half as large, ten times as fast",
			traceplan.Options{Scale: 0.5, Speed: 10},
			[]traceplan.Map{{LengthBytes: 5 * mib, EmitBytes: mib, CPUMs: 500}, {
				OffsetBytes: 5 * mib, LengthBytes: 5 * mib, EmitBytes: mib / 2,
				CPUMs: 500,
			}, {OffsetBytes: 10 * mib, LengthBytes: 5 * mib, CPUMs: 500}},
			[]traceplan.Reduce{{ShuffleBytes: mib, OutputBytes: mib / 2, CPUMs: 250}, {ShuffleBytes: mib / 2, CPUMs: 250}},
		},
		// Of three maps in two tasks the first has one, and the second two neighbours.
		{
			"merged",
			traceplan.Options{MaxTasks: 2, CPUMsPerMiB: 1e6},
			[]traceplan.Map{{LengthBytes: 10 * mib, EmitBytes: 2 * mib, CPUMs: 1000}, {
				OffsetBytes: 10 * mib, LengthBytes: 20 * mib, EmitBytes: mib,
				CPUMs: 2000,
			}},
			[]traceplan.Reduce{{ShuffleBytes: 2 * mib, OutputBytes: mib, CPUMs: 500}, {ShuffleBytes: mib, CPUMs: 500}},
		},
	} {
		j := onlyJob(t, small(), x.o)
		if diff := cmp.Diff(x.maps, j.Maps) + cmp.Diff(x.reduces, j.Reduces); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
		want := traceplan.Recorded{
			Bytes: measure.Bytes{Input: 30 * mib, Shuffle: 3 * mib, Output: mib}, CompletionMs: 30_000,
			Locality: measure.Locality{Unknown: 3},
		}
		if diff := cmp.Diff(want, j.Recorded); diff != "" {
			t.Errorf("%s: what was recorded, which no option changes (-want +got):\n%s", x.name, diff)
		}
	}
}

// TestWhatIsMissing has a trace without some of the counters: nothing fetched is what maps
// put out, no path is a file of the job's own, no CPU time is computed from bytes.
func TestWhatIsMissing(t *testing.T) {
	without := func(change func(e *traces.AttemptFinished)) []traces.Event {
		events := small()
		for _, e := range events {
			if e, ok := e.(*traces.AttemptFinished); ok {
				change(e)
			}
		}
		return events
	}
	j := onlyJob(t, without(func(e *traces.AttemptFinished) { e.Counters.ShuffleBytes = -1 }), traceplan.Options{})
	if j.Maps[0].EmitBytes != 6*mib || j.Maps[1].EmitBytes != 3*mib || j.Reduces[0].ShuffleBytes != j.Reduces[1].ShuffleBytes ||
		j.Asked().Shuffle != 9*mib {
		t.Errorf("nothing is known to be fetched: maps %+v, reduces %+v; want the 9 MiB that maps put out, evenly", j.Maps, j.Reduces)
	}
	j = onlyJob(t, without(func(e *traces.AttemptFinished) { e.Counters.CPUMs = -1 }), traceplan.Options{CPUMsPerMiB: 20})
	if j.Maps[2].CPUMs != 200 || j.Reduces[0].CPUMs != 40 || j.Reduces[1].CPUMs != 20 {
		t.Errorf("no CPU time is known: maps %+v, reduces %+v; want 20 ms for each MiB taken in", j.Maps, j.Reduces)
	}
	events := small()
	for _, e := range events {
		if e, ok := e.(*traces.TaskScheduled); ok {
			e.Path, e.OffsetBytes, e.LengthBytes = "", 0, 0
		}
	}
	j = onlyJob(t, events, traceplan.Options{})
	for i, m := range j.Maps {
		if m.OffsetBytes != int64(i)*99*mib || m.LengthBytes != 99*mib {
			t.Errorf("map %d of no file reads %d bytes from %d on, want the 99 MiB that it read, one map after the other", i, m.LengthBytes,
				m.OffsetBytes)
		}
	}
	if j := onlyJob(t, small()[:1+3], traceplan.Options{}); j.Recorded.CompletionMs != -1 || len(j.Maps) != 3 || len(j.Reduces) != 0 {
		t.Errorf("a trace cut off after the maps were scheduled: %+v", j)
	}
}

// TestMapping has queues, users and priorities of the trace become those of the cluster.
func TestMapping(t *testing.T) {
	events := []traces.Event{}
	for i, queue := range []string{"prod", "dev", "other"} {
		id := traces.JobID(queue)
		events = append(events, &traces.JobSubmitted{
			T: traces.Time(i) * 1e9, Job: id, Queue: queue, User: "u-" + queue, Priority: int32(i),
			Pool: queue[:1],
		}, &traces.TaskScheduled{Task: traces.Task{Job: id}})
	}
	p := errtest.Must(traceplan.New(&traces.Header{}, slices.Values(events), traceplan.Options{
		Speed: 4, Queues: map[string]string{"prod": "gold", "*": "silver"}, Users: map[string]string{"u-dev": "joe"},
		Priorities: map[string]int{"2": 9, "*": 1},
	}))
	var got []string
	for _, j := range p.Jobs {
		got = append(got, fmt.Sprint(j.At, " ", j.Queue, " ", j.User, " ", j.Priority, " ", j.Pool))
	}
	if diff := cmp.Diff([]string{"0s gold  1 p", "250ms silver joe 1 d", "500ms silver  9 o"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "no bytes for the tasks of 3 jobs") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

// TestHostileTraces has traces with numbers that cannot be, and too much of everything.
func TestHostileTraces(t *testing.T) {
	huge := func(change func(*traces.TaskScheduled)) []traces.Event {
		events := small()
		for _, e := range events {
			if e, ok := e.(*traces.TaskScheduled); ok {
				change(e)
			}
		}
		return events
	}
	for name, events := range map[string][]traces.Event{
		"lengths below 0":             huge(func(e *traces.TaskScheduled) { e.LengthBytes, e.OffsetBytes = math.MinInt64, math.MinInt64 }),
		"a kind of task that is none": append(small(), &traces.TaskScheduled{Task: traces.Task{Job: "j", Kind: 7}}),
		"tasks of no job": append(small(), &traces.TaskScheduled{Task: traces.Task{Job: "nobody"}},
			&traces.JobFinished{Job: "nobody"}),
		"counters below 0": append(small()[:4], attempt(traces.Map, 0, 0, traces.Succeeded, func(c *traces.Counters) {
			*c = traces.Counters{HDFSReadBytes: math.MinInt64, HDFSWrittenBytes: -9, MapOutputBytes: -9, CPUMs: -9, ShuffleBytes: -9}
		})),
		"an end before the start": append(small(), &traces.JobFinished{T: 1, Job: "j"}),
	} {
		p, err := traceplan.New(&traces.Header{}, slices.Values(events), traceplan.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, m := range p.Jobs[0].Maps {
			if f := p.Files[m.File]; m.LengthBytes < traceplan.LineBytes || m.EmitBytes < 0 || m.CPUMs < 0 || m.OffsetBytes < 0 ||
				m.OffsetBytes+m.LengthBytes > f.Bytes {
				t.Errorf("%s: map %+v of file %+v", name, m, f)
			}
		}
	}
	many := []traces.Event{}
	for i := range 50_001 {
		many = append(many, &traces.JobSubmitted{Job: traces.JobID(fmt.Sprint(i))})
	}
	rules := traces.DefaultListRules
	for want, x := range map[string]struct {
		events []traces.Event
		o      traceplan.Options
	}{
		"job j is submitted twice":          {append(small(), small()...), traceplan.Options{}},
		"over the limit of 1024 TiB":        {huge(func(e *traces.TaskScheduled) { e.LengthBytes = math.MaxInt64 }), traceplan.Options{}},
		"ends after 1024 TiB":               {huge(func(e *traces.TaskScheduled) { e.OffsetBytes = math.MaxInt64 }), traceplan.Options{}},
		"the trace has no jobs":             {nil, traceplan.Options{}},
		"none of the 1 jobs has a recorded": {small()[:1], traceplan.Options{}},
		"more than 50000 jobs to plan":      {many, traceplan.Options{}},
		"more than 2000000 tasks; maxTasks": {[]traces.Event{
			&traces.JobListed{Job: "l", InputBytes: 1_000_001 * rules.BlockBytes},
			&traces.JobListed{Job: "m", InputBytes: 1_000_001 * rules.BlockBytes},
		}, traceplan.Options{}},
		"first is 0 and maxTasks is -1": {small(), traceplan.Options{MaxTasks: -1}},
		"cpu is NaN ms":                 {small(), traceplan.Options{CPUMsPerMiB: math.NaN()}},
		"speed is +Inf":                 {small(), traceplan.Options{Speed: math.Inf(1)}},
		"from is -1ns":                  {small(), traceplan.Options{From: -time.Nanosecond}},
	} {
		errtest.Has(t, errtest.Of(traceplan.New(&traces.Header{List: &rules}, slices.Values(x.events), x.o)), want)
	}
}
