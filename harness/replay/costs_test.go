package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/traces"
)

// ran is a map as it ran.
type ran struct {
	job        int
	scheduled  float64 // s
	node       traces.Node
	start, end float64 // s
	reduce     bool
}

// traceOf is a trace of jobs whose tasks ran like that, each job from its first
// task's scheduling to its last end.
func traceOf(t testing.TB, h traces.Header, list []ran) *recorded.Trace {
	t.Helper()
	h.Cluster.Nodes = []traces.NodeFacts{
		{Node: "a", Rack: "/r", MemoryBytes: 2 << 30, VCores: 2, Worker: true},
		{Node: "b", Rack: "/r", MemoryBytes: 2 << 30, VCores: 2, Worker: true},
	}
	at := func(s float64) traces.Time { return traces.Time(math.Round(s * 1e9)) }
	jobs := map[int]*traces.JobSubmitted{}
	ends := map[int]float64{}
	var events []traces.Event
	for _, r := range list {
		id := traces.JobID(fmt.Sprintf("job_1_%04d", r.job))
		j := jobs[r.job]
		if j == nil {
			j = &traces.JobSubmitted{T: at(r.scheduled - 5), Job: id, Workload: "w"}
			jobs[r.job] = j
			events = append(events, j, &traces.JobStarted{T: at(r.scheduled), Job: id})
		}
		task := traces.Task{Job: id, Index: j.Maps}
		if r.reduce {
			task.Kind, task.Index = traces.Reduce, j.Reduces
			j.Reduces++
		} else {
			j.Maps++
		}
		ends[r.job] = max(ends[r.job], r.end)
		events = append(events, &traces.TaskScheduled{T: at(r.scheduled), Task: task, LengthBytes: 64 << 20},
			&traces.AttemptStarted{T: at(r.start), Attempt: traces.Attempt{Task: task}, Node: r.node},
			&traces.AttemptFinished{T: at(r.end), Attempt: traces.Attempt{Task: task}, Outcome: traces.Succeeded, Counters: traces.NoCounters})
	}
	for n, j := range jobs {
		events = append(events, &traces.JobFinished{T: at(ends[n] + 1), Job: j.Job, Outcome: traces.Succeeded})
	}
	traces.Sort(events)
	x := must(recorded.New("made by hand", h, slices.Values(events)))
	return x
}

// TestTurnover has the time from an end to the next start count if the task that
// starts had waited, and idle time not.
func TestTurnover(t *testing.T) {
	hours := func(n float64) float64 { return n * 3600 }
	for name, c := range map[string]struct {
		list    []ran
		samples int
		meanMs  float64
	}{
		"jobs hours apart": {list: []ran{
			{1, 10, "a", 11, 20, false},
			{2, hours(1), "a", hours(1) + 1, hours(1) + 9, false},
			{3, hours(2), "a", hours(2) + 1, hours(2) + 9, false},
		}},
		"a job in waves": {list: []ran{
			{1, 10, "a", 11, 20, false}, {1, 10, "a", 20.4, 30, false}, {1, 10, "a", 30.6, 40, false},
		}, samples: 2, meanMs: 500},
		// Hadoop 1 has a task's assignment for its scheduling: the job's others
		// waited all the same.
		"scheduled when assigned": {list: []ran{
			{1, 10, "a", 11, 20, false}, {1, 20.3, "a", 20.4, 30, false}, {1, 30.5, "a", 30.6, 40, false},
		}, samples: 2, meanMs: 500},
		// Two slots are idle for an hour before one of them turns over.
		"room that was free for long": {list: []ran{
			{1, 10, "a", 11, 20, false},
			{1, 10, "a", 11, 21, false},
			{2, hours(1), "a", hours(1) + 1, hours(1) + 9, false},
			{2, hours(1), "a", hours(1) + 9.5, hours(1) + 18, false},
		}, samples: 1, meanMs: 500},
		// A reduce was not waited for while maps ran.
		"reduces after the last map": {list: []ran{
			{1, 10, "a", 11, 20, false}, {1, 10, "b", 11, 100, false}, {1, 10, "a", 100.3, 110, true},
		}},
	} {
		fitted := must(Calibrate([]*recorded.Trace{traceOf(t, traces.Header{Origin: traces.Recovered, Model: "yarn"}, c.list)}, recorded.Change{},
			""))
		if got := fitted.Turnover; got.Samples != c.samples || math.Abs(got.Value-c.meanMs) > 1 {
			t.Errorf("%s: %d turnovers of %.0f ms, want %d of %.0f", name, got.Samples, got.Value, c.samples, c.meanMs)
		}
	}
}

// waves is a job whose tasks follow each other after so many seconds.
func waves(gaps ...float64) []ran {
	list := []ran{{1, 10, "a", 11, 20, false}}
	for _, gap := range gaps {
		last := list[len(list)-1].end
		list = append(list, ran{1, 10, "a", last + gap, last + gap + 10, false})
	}
	return append(list, ran{1, 10, "b", 11, 100, false}, ran{1, 10, "b", 101, 120, true}, ran{1, 10, "b", 121, 140, true},
		ran{1, 10, "b", 141, 160, true}, ran{1, 10, "b", 161, 180, true})
}

// TestMadeUp has nothing fitted to what a trace's header says was made up.
func TestMadeUp(t *testing.T) {
	for _, marks := range [][]string{
		nil,
		{"schedule"},
		{"hosts"},
		{"durations"},
		{"tasks"},
		{"nodes"},
		{"replicas"},
		{"nodes", "tasks", "durations", "schedule", "hosts", "replicas"},
	} {
		c := must(Calibrate([]*recorded.Trace{traceOf(t, traces.Header{Origin: traces.Imported, Synthetic: marks}, waves(0.5, 0.5, 0.5))},
			recorded.Change{}, ""))
		has := func(mark ...string) bool {
			for _, m := range mark {
				if strings.Contains(strings.Join(marks, " "), m) {
					return true
				}
			}
			return false
		}
		for what, x := range map[string]struct{ fitted, made bool }{
			"start of masters": {c.AMStart.Samples > 0, has("schedule")},
			"end of jobs":      {c.Finish.Samples > 0, has("schedule", "durations")},
			"turnover":         {c.Turnover.Samples > 0, has("schedule", "durations", "hosts", "nodes")},
			"start of tasks":   {c.TaskStart.Samples > 0, has("schedule", "durations", "tasks")},
			"workloads":        {len(c.Workloads) > 0, has("durations", "tasks")},
		} {
			if x.fitted == x.made {
				t.Errorf("made up are %v: %s fitted: %v", marks, what, x.fitted)
			}
		}
		if (len(marks) > 0) != (len(c.Warnings) == 1) {
			t.Errorf("made up are %v: warnings %q", marks, c.Warnings)
		}
	}
}

// TestRefused has means that cannot be the cost refused, with the figures.
func TestRefused(t *testing.T) {
	for want, gaps := range map[string][]float64{
		"the mean of 40000 ms on 3 samples, which differ from it by 0 ms on average, is rejected: a mean above 15 s contains waiting": {
			40, 40,
			40,
		},
		"": {0.5, 0.4, 0.6},
	} {
		c := must(Calibrate([]*recorded.Trace{traceOf(t, traces.Header{Origin: traces.Recovered, Model: "yarn"}, waves(gaps...))},
			recorded.Change{}, ""))
		if got := strings.Join(c.Warnings, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("gaps of %v s: warnings %q, want %q", gaps, got, want)
		}
		if refused := c.Turnover.Samples == 0; refused != (want != "") {
			t.Errorf("gaps of %v s: fitted is %+v", gaps, c.Turnover)
		}
	}
}

// TestEraTurnover holds what is fitted to public traces against what is to be seen
// in them. On the nodes of 2011 the next map starts 4 to 62 ms after the last one
// of its job, in its JVM. In the trace of 2009 no node that had run a task was
// given one that had waited meanwhile: those that seem so are second attempts.
func TestEraTurnover(t *testing.T) {
	for file, want := range map[string]struct{ least, most float64 }{
		"rumen/trace_3m.json.gz":       {15, 25},
		"rumen/input-trace.json":       {},
		"sls/2jobs2min-rumen-jh.json":  {500, 2500},
		"jhist/job_2.4.0-FAILED.jhist": {},
	} {
		c := must(CalibrateOne(imported(t, 0, file), false))
		if got := c.Turnover; got.Value < want.least || got.Value > want.most {
			t.Errorf("%s: a turnover of %.0f ms on %d samples, want %.0f to %.0f", file, got.Value, got.Samples, want.least, want.most)
		}
	}
}

// TestBounds holds results against bounds, under models that wait for data and that
// do not, with tasks that take what they took or what they would.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var list []ran
		submit := 10.0
		for job := range rapid.IntRange(1, 6).Draw(r, "jobs") {
			submit += rapid.Float64Range(0, 300).Draw(r, "gap")
			last := submit + 1
			for range rapid.IntRange(1, 12).Draw(r, "maps") {
				took := rapid.Float64Range(0.01, 100).Draw(r, "map")
				list = append(list, ran{job, submit, "a", submit + 1, submit + 1 + took, false})
				last = max(last, submit+1+took)
			}
			for range rapid.IntRange(0, 4).Draw(r, "reduces") {
				start := rapid.SampledFrom([]float64{submit + 1, last + 1}).Draw(r, "start")
				list = append(list, ran{job, submit, "b", start, max(start, last) + rapid.Float64Range(0.01, 100).Draw(r, "reduce"), true})
			}
		}
		x := traceOf(t, traces.Header{Origin: traces.Recovered, Model: "yarn"}, list)
		c := &Config{
			Trace: x, Behaviour: config.Behaviour{Actuator: rapid.SampledFrom([]string{
				config.ActuatorNone, config.ActuatorLabels,
				config.ActuatorIdeal,
			}).Draw(r, "actuator")},
			Model: config.Model{Model: rapid.SampledFrom([]string{"fifo", "fair", "capacity", "delay", "acl", "random"}).Draw(r, "model")}, Seed: 1,
			Calibration: &calibration.Calibration{Format: 1},
			Change: recorded.Change{
				Nodes: rapid.IntRange(1, 5).Draw(r, "nodes"), Slots: rapid.IntRange(1, 3).Draw(r, "slots"),
				Cores: []float64{rapid.SampledFrom([]float64{0, 1}).Draw(r, "cores")},
			},
		}
		if c.Modelled = rapid.Bool().Draw(r, "modelled"); c.Modelled {
			c.Calibration.Workloads = []calibration.Workload{{
				Workload: "w", Map: calibration.Phase{FixedMs: 3000, MsPerMiB: 20},
				Reduce: calibration.Phase{FixedMs: 9000}, MapOutputPerByte: 0.5,
			}}
			c.Change.Disk = recorded.Rate{Rate: 50e6, Given: true}
			c.Change.Link = recorded.Rate{Rate: 20e6, Given: true}
		} else {
			c.Change.Cores = nil
		}
		prepared, _, err := c.prepare()
		if err != nil {
			r.Fatal(err)
		}
		limits := boundsOf(t, c, prepared)
		result, err := sim.Run(prepared)
		if err != nil {
			r.Fatal(err)
		}
		if list := limits.check(result); len(list) > 0 {
			r.Errorf("%s: %v", c.Model.Model, list)
		}
	})
}
