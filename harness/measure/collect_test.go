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
