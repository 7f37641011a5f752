package replay

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// TestRecordedByHand holds the simulator's job of a small trace against times and
// bytes done by hand: a job of two maps and a reduce, which waits for the second.
func TestRecordedByHand(t *testing.T) {
	const second = traces.Time(1e9)
	task := func(kind traces.TaskKind, index int32) traces.Task {
		return traces.Task{Job: "job_1_1", Kind: kind, Index: index}
	}
	attempt := func(kind traces.TaskKind, index int32) traces.Attempt { return traces.Attempt{Task: task(kind, index)} }
	counters := func(read, mapOutput, shuffled, written int64) traces.Counters {
		c := traces.NoCounters
		c.HDFSReadBytes, c.MapOutputBytes, c.ShuffleBytes, c.HDFSWrittenBytes = read, mapOutput, shuffled, written
		return c
	}
	h := traces.Header{Format: 1, Origin: traces.Measured, Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{
		{Node: "a", Rack: "/r", MemoryBytes: 4 << 30, VCores: 4, Worker: true},
		{Node: "b", Rack: "/r", MemoryBytes: 4 << 30, VCores: 4, Worker: true},
	}}}
	events := []traces.Event{
		&traces.JobSubmitted{
			T: 2 * second, Job: "job_1_1", Name: "sort", Maps: 2, Reduces: 1, SlowStart: 0.5,
			MapMemoryBytes: 512 << 20, ReduceMemoryBytes: 1 << 30, MapVCores: 1, ReduceVCores: 2,
			Terms: traces.Terms{DeadlineMs: 30_000, Price: 2, Hints: traces.JobHints{Reduce: traces.Hints{Disk: 7}}},
		},
		&traces.JobStarted{T: 5 * second, Job: "job_1_1", AMNode: "a", AMMemoryBytes: 256 << 20},
		&traces.TaskScheduled{T: 5 * second, Task: task(traces.Map, 0), LengthBytes: 100, SplitHosts: []traces.Node{"a"}},
		&traces.TaskScheduled{T: 5 * second, Task: task(traces.Map, 1), LengthBytes: 50, SplitHosts: []traces.Node{"b", "a"}},
		&traces.TaskScheduled{T: 5 * second, Task: task(traces.Reduce, 0)},
		&traces.AttemptStarted{T: 6 * second, Attempt: attempt(traces.Map, 0), Node: "a"},
		&traces.AttemptStarted{T: 7 * second, Attempt: attempt(traces.Map, 1), Node: "b"},
		&traces.AttemptStarted{T: 9 * second, Attempt: attempt(traces.Reduce, 0), Node: "b"},
		&traces.AttemptFinished{T: 10 * second, Attempt: attempt(traces.Map, 0), Outcome: traces.Succeeded, Counters: counters(100, 30, 0, 0)},
		&traces.AttemptFinished{T: 16 * second, Attempt: attempt(traces.Map, 1), Outcome: traces.Succeeded, Counters: counters(50, 10, 0, 0)},
		&traces.AttemptFinished{T: 20 * second, Attempt: attempt(traces.Reduce, 0), Outcome: traces.Succeeded, Counters: counters(0, 0, 80, 40)},
		&traces.JobFinished{T: 21500 * 1e6, Job: "job_1_1", Outcome: traces.Succeeded, Counters: traces.NoCounters},
	}
	trace, err := recorded.New("by hand", h, slices.Values(events))
	mustDo(t, err)
	c := &Config{Trace: trace, Model: config.Model{Model: config.ModelYARN}, Calibration: &calibration.Calibration{}}
	x, _, err := c.prepare()
	mustDo(t, err)
	var j sim.Job
	if !x.Source.Next(&j) {
		t.Fatal("no job")
	}
	mb := func(n, cores int32) state.Resource { return state.Resource{MemoryMB: n, VCores: cores} }
	for _, v := range []struct {
		what      string
		got, want any
	}{
		{"submission, ms", j.SubmitMs, int64(2000)},
		{"start of the master, ms", j.AMStartMs, int32(3000)},
		{"end after the last task, ms", j.FinishMs, int32(1500)},
		{"slow start", j.SlowStart, float32(0.5)},
		{"sizes", []state.Resource{j.MapSize, j.ReduceSize, j.AMSize}, []state.Resource{mb(512, 1), mb(1024, 2), mb(256, 1)}},
		// The reduces fetched 80 bytes, of which the maps put out 30 and 10 parts.
		{"maps", j.MapWork, []sim.Work{{InputBytes: 100, OutputBytes: 60, FixedMs: 4000}, {InputBytes: 50, OutputBytes: 20, FixedMs: 9000}}},
		{"reduce, from the last map on", j.ReduceWork, []sim.Work{{OutputBytes: 40, FixedMs: 4000, FromLastMap: true}}},
		{"deadline and price", []float64{float64(j.DeadlineMs), j.Price}, []float64{30_000, 2}},
		{"hints", j.Hints, [2]state.Hints{{}, {Disk: 7}}},
		{"replicas", j.Replicas, state.Hosts{Nodes: []state.NodeID{0, 1, 0}, Ends: []int32{1, 3}}},
	} {
		if d := cmp.Diff(v.want, v.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", v.what, d)
		}
	}
	if x.Source.Next(&j) {
		t.Error("a second job")
	}
}
