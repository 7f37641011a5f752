package recorded

import (
	"cmp"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// usualSlowStart is Hadoop's default for mapreduce.job.reduce.slowstart.completedmaps:
// the share of a job's maps that must be done before its reduces are asked for.
const usualSlowStart = 0.05

// slowStart returns that share for a job. Of other tools' traces, 0 means that it is not known.
func (t *Trace) slowStart(j *Job) float32 {
	if j.SlowStart == 0 && t.Foreign() {
		return usualSlowStart
	}
	return float32(j.SlowStart)
}

// StartUnknown reports whether the size or the start of a job's ApplicationMaster is not known.
func (t *Trace) StartUnknown() bool {
	return len(t.List) > 0 || slices.ContainsFunc(t.Jobs, func(j *Job) bool { return j.AMMemoryBytes == 0 || j.Started <= j.T })
}

// SlowStartUnknown reports whether a job has reduces of which it is not known when they were
// asked for.
func (t *Trace) SlowStartUnknown() bool {
	return len(t.List) > 0 || slices.ContainsFunc(t.Jobs, func(j *Job) bool {
		return j.Maps > 0 && j.Reduces > 0 && t.slowStart(j) != float32(j.SlowStart)
	})
}

// nextListed makes the next job of the job list. It makes the jobs one by one as they
// arrive, so that memory holds only the tasks of jobs that have not ended.
func (l *Source) nextListed(x *sim.Job) bool {
	list, rules := l.Trace.List, l.Trace.Header.List
	if l.next == len(list) {
		return false
	}
	j := &list[l.next]
	l.next++
	*x = sim.Job{
		ID: j.Job, SubmitMs: l.submitMs(j.T, list[0].T), SlowStart: usualSlowStart,
		JobSpec: state.JobSpec{
			Name: cmp.Or(j.Name, string(j.Job)), User: j.User, Queue: j.Queue, MapSize: sizeOf(0, 0), ReduceSize: sizeOf(0, 0),
			Replicas: x.Replicas, Cached: x.Cached,
		},
		MapWork: x.MapWork, ReduceWork: x.ReduceWork,
	}
	x.SetTerms(&j.Terms)
	x.SetListed(rules, j, l.network)
	if l.Costs != nil {
		l.Costs.SetListed(j, x)
	}
	file := traces.HashName(cmp.Or(j.Path, string(j.Job)))
	x.Replicas.Reset()
	l.topology.File(&x.Replicas, l.replicas.At(file), int(x.Maps), state.None, cmp.Or(l.Change.Replication, rules.Replication))
	x.Cached.Reset()
	for range x.Maps {
		x.Cached.Add()
	}
	return true
}
