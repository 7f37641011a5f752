package replay

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/errtest"
)

// listOf is a list of jobs of so many bytes, an hour apart, on 20 nodes.
func listOf(t *testing.T, jobs int, input, shuffle, output int64) *recorded.Trace {
	t.Helper()
	rules := traces.DefaultListRules
	h := traces.Header{Origin: traces.Imported, List: &rules, Synthetic: []string{"durations", "replicas", "schedule", "tasks"}}
	for n := range 20 {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{
			Node: traces.Node(fmt.Sprint("n", n)), Rack: fmt.Sprint("/r", n/5),
			Worker: true,
		})
	}
	var events []traces.Event
	for j := range jobs {
		events = append(events, &traces.JobListed{
			T: traces.Time(j) * 3600e9, Job: traces.JobID(fmt.Sprint("job", j)), Name: "job", InputBytes: input, ShuffleBytes: shuffle,
			OutputBytes: output,
		})
	}
	x := must(recorded.New("list", h, slices.Values(events)))
	return x
}

// TestListFigures: figures that are taken without events are those of the events.
func TestListFigures(t *testing.T) {
	x := listOf(t, 3, 9<<30+1, 5<<30, 2<<30)
	lab := labCosts(t)
	for _, c := range []Config{
		{},
		{
			Behaviour: config.Behaviour{Actuator: config.ActuatorIdeal},
			Change:    recorded.Change{Disk: recorded.Rate{Given: true}, Cores: []float64{1}},
		},
		{Behaviour: config.Behaviour{Actuator: config.ActuatorNone}, Change: recorded.Change{
			Nodes: 8, Racks: 2, Replication: 2, Load: 3600,
			Link: recorded.Rate{Given: true},
		}},
		{Calibration: lab, Modelled: true, Workload: "wordcount", Change: recorded.Change{Speed: 4}},
	} {
		if c.Change.Disk.Given {
			c.Change.Disk.Rate = 50e6
		}
		if c.Change.Link.Given {
			c.Change.Link.Rate = 20e6
		}
		c.Trace, c.Model, c.Seed = x, config.Model{Model: "capacity"}, 3
		recorded := c
		events := 0
		recorded.Record = func(traces.Event) { events++ }
		out := must(Outcomes([]Config{c, recorded}))
		got, want := out[0], out[1]
		unknown := cmpopts.IgnoreFields(measure.Figures{}, "TraceDigest", "Events", "DurationMs", "Decisions", "Phases", "Fetched")
		if d := cmp.Diff(want.Figures, got.Figures, unknown, cmpopts.IgnoreUnexported(measure.Figures{}, measure.Job{}, measure.Node{}),
			cmpopts.EquateApprox(1e-9, 0), cmpopts.IgnoreFields(measure.Node{}, "MeanRunning"),
			cmpopts.IgnoreFields(measure.Job{}, "MapWaitMs", "MapTime", "ReduceTime", "Fetched", "ReduceNodes")); d != "" {
			t.Errorf("%+v: without events, %d of them, figures differ:\n%s", c.Change, events, d)
		}
		if d := cmp.Diff(want.Phases, got.Phases); d != "" {
			t.Errorf("%+v: phases differ:\n%s", c.Change, d)
		}
		if got.TraceDigest != "" || got.Decisions.Made != want.Decisions.Made || got.Decisions.Honoured != want.Decisions.Honoured ||
			got.Decisions.P50Ms != -1 {
			t.Errorf("digest %q, decisions %+v, of events %+v", got.TraceDigest, got.Decisions, want.Decisions)
		}
		if got.Maps != 3*73 || got.Reduces != 3*5 || got.Attempts.OK != 3*78 || len(got.Warnings) > 0 {
			t.Errorf("%d maps, %d reduces, %+v, warnings %q", got.Maps, got.Reduces, got.Attempts, got.Warnings)
		}
		if got.Bytes.Input != 3*(9<<30+1) {
			t.Errorf("%d bytes read", got.Bytes.Input)
		}
	}
}

// TestListSeeds has the seed place blocks and draw times, and models see the same
// of both.
func TestListSeeds(t *testing.T) {
	x := listOf(t, 2, 9<<30, 5<<30, 2<<30)
	run := func(model string, seed uint64) Outcome {
		out := must(Outcomes([]Config{{Trace: x, Model: config.Model{Model: model}, Seed: seed, Change: recorded.Change{Slots: 4}}}))
		return out[0]
	}
	a, again, other, fair := run("fifo", 1), run("fifo", 1), run("fifo", 2), run("fair", 1)
	if a.ScheduleDigest != again.ScheduleDigest || a.ScheduleDigest == other.ScheduleDigest {
		t.Errorf("digests %s, again %s, of another seed %s", a.ScheduleDigest, again.ScheduleDigest, other.ScheduleDigest)
	}
	if was, is := a.MapDurations().MeanMs(), fair.MapDurations().MeanMs(); was != is {
		t.Errorf("maps take %v ms under one model, %v under another", was, is)
	}
	if a.Durations != "rules" {
		t.Errorf("durations are %s", a.Durations)
	}
}

// TestListMemory has what a replay allocates grow with jobs, not with their tasks:
// here three million maps, of which 100,000 are alive at a time.
func TestListMemory(t *testing.T) {
	x := listOf(t, 30, 100_000*128<<20, 0, 0)
	costs := must(CalibrateOne(x, false))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := must(Outcomes([]Config{{
		Trace: x, Calibration: costs, Model: config.Model{Model: "fifo"}, Behaviour: config.Behaviour{Actuator: config.ActuatorIdeal}, Seed: 1,
		Change: recorded.Change{Slots: 1000, Speed: 10},
	}}))
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; out[0].Attempts.OK != 3_000_000 || bytes > 64<<20 {
		t.Errorf("%d maps were replayed, and %d MB allocated", out[0].Attempts.OK, bytes>>20)
	}
	if p := out[0].Phases[0]; !p.Approximate {
		t.Errorf("%+v: percentiles of so many are not exact", p)
	}
}

// TestListErrors has lists refused that cannot be, and what they cannot give.
func TestListErrors(t *testing.T) {
	rules := traces.DefaultListRules
	h := traces.Header{List: &rules}
	job := &traces.JobListed{Job: "a", InputBytes: 1}
	for want, events := range map[string][]traces.Event{
		"listed twice":             {job, job},
		"maps are over the limit":  {&traces.JobListed{Job: "a", InputBytes: 1 << 60}},
		"the trace lists its jobs": {job, &traces.JobSubmitted{Job: "b"}},
		"it has no jobs":           nil,
	} {
		errtest.Has(t, errtest.Of(recorded.New("x", h, slices.Values(events))), want)
	}
	errtest.Has(t, errtest.Of(recorded.New("x", traces.Header{}, slices.Values([]traces.Event{job}))), "no rules")
	x := listOf(t, 1, 1, 1, 1)
	for want, c := range map[string]Config{
		"were made up":                       {Modelled: true},
		"the calibration lacks the costs of": {Modelled: true, Calibration: &calibration.Calibration{Format: 1}},
		"to follow":                          {Follow: true},
	} {
		c.Trace, c.Model.Model = x, "fifo"
		errtest.Has(t, errtest.Of(Outcomes([]Config{c})), want)
	}
	_, err := Outcomes([]Config{{Trace: x, Model: config.Model{Model: "fifo"}, Interrupted: func() error { return errors.New("enough") }}})
	if err == nil {
		t.Error("a replay that is interrupted ends as if it were not")
	}
}
