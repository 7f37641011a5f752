package measure_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
)

const second = traces.Time(1e9)

// run is the events of one job of a map on node a and a reduce on node b, begun
// at t: the map takes 4 s, the reduce starts 1 s before its end and takes 3 s.
func run(id string, t traces.Time) []traces.Event {
	job := traces.JobID(id)
	m := traces.Attempt{Task: traces.Task{Job: job, Kind: traces.Map}}
	r := traces.Attempt{Task: traces.Task{Job: job, Kind: traces.Reduce}}
	return []traces.Event{
		&traces.JobSubmitted{T: t, Job: job, Maps: 1, Reduces: 1, MapMemoryBytes: 1 << 30, ReduceMemoryBytes: 2 << 30},
		&traces.TaskScheduled{T: t, Task: m.Task},
		&traces.TaskScheduled{T: t, Task: r.Task},
		&traces.AttemptStarted{T: t + second, Attempt: m, Node: "a", ReplicaLocality: traces.LevelCache},
		&traces.AttemptStarted{T: t + 4*second, Attempt: r, Node: "b"},
		&traces.AttemptFinished{T: t + 5*second, Attempt: m, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		&traces.AttemptFinished{T: t + 7*second, Attempt: r, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		&traces.JobFinished{T: t + 8*second, Job: job, Outcome: traces.Succeeded, Counters: traces.NoCounters},
	}
}

var twoNodes = traces.Header{Format: 1, Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{
	{Node: "a", MemoryBytes: 4 << 30, Worker: true}, {Node: "b", MemoryBytes: 4 << 30, Worker: true}, {Node: "master", MemoryBytes: 64 << 30},
}}}

// TestByHand holds the figures of two jobs against sums done by hand.
func TestByHand(t *testing.T) {
	events := append(run("job_1_0001", 0), run("job_1_0002", 2*second)...)
	traces.Sort(events)
	f := measure.Of(twoNodes, slices.Values(events))
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"jobs", float64(f.Jobs), 2},
		{"makespan, ms", f.MakespanMs, 10_000},
		{"mean completion, ms", f.MeanCompletionMs, 8_000},
		// Twice 4 s of 1 GiB and 3 s of 2 GiB, of 8 GiB for 10 s.
		{"utilisation, %", f.UtilisationPct, 100 * 20.0 / 80},
		{"maps from the cache", float64(f.Locality.Cache), 2},
		{"maps known", float64(f.Locality.Known()), 2},
		{"mean map, ms", f.MapDurations().MeanMs(), 4_000},
		{"mean reduce, ms", f.Phase(measure.WholeReduce).MeanMs, 3_000},
		{"mean rest of reduces, ms", f.ReduceRests().MeanMs(), 2_000},
		{"running on a", f.Nodes[0].MeanRunning, 0.8},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
}

// TestUtilisation has the capacity of node a fall below what runs on it: its share of
// time counts with what it had.
func TestUtilisation(t *testing.T) {
	events := append(run("job_1_0001", 10*second),
		&traces.NodeCapacity{T: 2 * second, Node: "b", MemoryBytes: 2 << 30}, // before the first submission
		&traces.NodeCapacity{T: 12 * second, Node: "a"},
		&traces.NodeCapacity{T: 16 * second, Node: "a", MemoryBytes: 3 << 30},
		&traces.NodeCapacity{T: 60 * second, Node: "a"}) // after the job's end
	traces.Sort(events)
	f := measure.Of(twoNodes, slices.Values(events))
	// 4 s of 1 GiB and 3 s of 2 GiB are used. For 8 s b has 2 GiB; a has 4 GiB for 2 s, nothing for 4 s and 3 GiB for 2 s.
	if want := 100 * 10.0 / (8*2 + 2*4 + 2*3); f.UtilisationPct != want {
		t.Errorf("utilisation %v %%, want %v", f.UtilisationPct, want)
	}
}

// TestCutOff measures a run that ends in the middle: what runs counts until the
// last event, and a job without an end has no completion time.
func TestCutOff(t *testing.T) {
	f := measure.Of(twoNodes, slices.Values(run("job_1_0001", 0)[:5]))
	if f.MakespanMs != 0 || f.JobList[0].CompletionMs != -1 || f.Nodes[0].MeanRunning != 0.75 {
		t.Errorf("makespan %v ms, completion %v ms, %v running on a; want 0, -1, 0.75", f.MakespanMs, f.JobList[0].CompletionMs, f.Nodes[0].MeanRunning)
	}
}

// TestLateEnd counts an attempt that ends after its job, as killed ones do.
func TestLateEnd(t *testing.T) {
	events := run("job_1_0001", 0)
	late := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Map}, Number: 1}
	events = slices.Insert(events, 4, traces.Event(&traces.AttemptStarted{T: 2 * second, Attempt: late, Node: "b"}))
	events = append(events, &traces.AttemptFinished{T: 10 * second, Attempt: late, Outcome: traces.Killed})
	f := measure.Of(twoNodes, slices.Values(events))
	if f.Attempts != (measure.Attempts{OK: 2, Killed: 1}) || f.Nodes[1].MeanRunning != 1.1 {
		t.Errorf("%+v, %v running on b; want 2 ok, 1 killed, 1.1", f.Attempts, f.Nodes[1].MeanRunning)
	}
}

// TestMemory holds what a collector keeps once jobs are over: a line of figures
// each, however many tasks they had.
func TestMemory(t *testing.T) {
	grown := func(jobs, tasks int) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := measure.New(twoNodes)
		for j := range jobs {
			id := traces.JobID(fmt.Sprintf("job_1_%04d", j))
			c.Add(&traces.JobSubmitted{Job: id})
			for i := range tasks {
				a := traces.Attempt{Task: traces.Task{Job: id, Index: int32(i)}}
				c.Add(&traces.TaskScheduled{Task: a.Task})
				c.Add(&traces.AttemptStarted{Attempt: a, Node: "a"})
				c.Add(&traces.AttemptFinished{T: 1, Attempt: a, Outcome: traces.Succeeded})
			}
			c.Add(&traces.JobFinished{T: 1, Job: id})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(c)
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	// 400,000 attempts would take 10 MB in lists of their durations alone.
	if bytes := grown(4, 100_000); bytes > 2<<20 {
		t.Errorf("%d bytes are kept of 4 jobs with 400,000 tasks", bytes)
	}
	if bytes := grown(2000, 2) / 2000; bytes > 1000 {
		t.Errorf("%d bytes are kept of a job that is over", bytes)
	}
}

// TestLaterStart holds what is measured over the trace's time against sums done by
// hand, in a trace that begins a while after its time 0.
func TestLaterStart(t *testing.T) {
	const at = 100 * second
	sample := func(t traces.Time, user, system float64) traces.Event {
		return &traces.NodeSample{T: t, Node: "a", CPUUser: user, CPUSystem: system}
	}
	up := &traces.JobStarted{T: at + second/2, Job: "job_1_0001"} // no task waits for a container before
	events := append(run("job_1_0001", at), up, sample(at, 1, 0.5), sample(at+second, 2, 0.5), sample(at+2*second, -1, 1), sample(at+3*second, 1, -1), sample(at+4*second, 0, 0))
	traces.Sort(events)
	f := measure.Of(twoNodes, slices.Values(events))
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"duration, ms", f.DurationMs, 8_000},
		{"makespan, ms", f.MakespanMs, 8_000},
		{"running on a", f.Nodes[0].MeanRunning, 0.5},
		{"cores busy on a, of the three samples that tell", f.Nodes[0].CPUCores, 4.0 / 3},
		{"cores busy on b, without samples", f.Nodes[1].CPUCores, -1},
		{"utilisation, %", f.UtilisationPct, 100 * 10.0 / 64},
		{"wait of the map, ms", f.Phase("map: wait for container").MeanMs, 500},
		{"wait of the reduce, ms", f.Phase("reduce: wait for container").MeanMs, 3_500},
		{"whole map, ms", f.Phase(measure.WholeMap).MedianMs, 4_000},
		{"attempts of a phase that no trace has", float64(f.Phase("sleep").Count), 0},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
	if f := measure.Of(traces.Header{}, slices.Values(events)); f.UtilisationPct != -1 {
		t.Errorf("utilisation of workers that no header tells: %v, want -1", f.UtilisationPct)
	}
}

// TestSummary keeps the figures of the whole, and no list.
func TestSummary(t *testing.T) {
	f := measure.Of(twoNodes, slices.Values(run("job_1_0001", 0)))
	s := f.Summary()
	if s.Jobs != 1 || s.MakespanMs != 8_000 || s.JobList != nil || s.Nodes != nil || len(f.JobList) != 1 || len(f.Nodes) != 3 {
		t.Errorf("%+v of %+v", s, f)
	}
}

// TestRecords counts what attempts that succeeded read and wrote, by job.
func TestRecords(t *testing.T) {
	finished := func(job traces.JobID, kind traces.TaskKind, outcome traces.Outcome) traces.Event {
		return &traces.AttemptFinished{
			Attempt: traces.Attempt{Task: traces.Task{Job: job, Kind: kind}}, Outcome: outcome,
			Counters: traces.Counters{InputRecords: 10, OutputRecords: 3},
		}
	}
	f := measure.Of(twoNodes, slices.Values([]traces.Event{
		finished("a", traces.Map, traces.Succeeded), finished("a", traces.Map, traces.Failed), finished("b", traces.Map, traces.Succeeded),
		finished("a", traces.Map, traces.Succeeded), finished("a", traces.Reduce, traces.Succeeded), finished("a", traces.Reduce, traces.Killed),
	}))
	if a, want := f.JobList[0].Records, (measure.Records{MapInput: 20, MapOutput: 6, ReduceOutput: 3}); a != want {
		t.Errorf("records of job a: %+v, want %+v", a, want)
	}
	if b, want := f.JobList[1].Records, (measure.Records{MapInput: 10, MapOutput: 3}); b != want {
		t.Errorf("records of job b: %+v, want %+v", b, want)
	}
}
