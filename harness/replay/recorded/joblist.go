package recorded

import (
	"cmp"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// listSlowStart is Hadoop's default for mapreduce.job.reduce.slowstart.completedmaps:
// the share of a job's maps that must be done before its reduces are asked for.
const listSlowStart = 0.05

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
		ID: j.Job, SubmitMs: l.submitMs(j.T, list[0].T), SlowStart: listSlowStart,
		JobSpec: state.JobSpec{
			Name: cmp.Or(j.Name, string(j.Job)), MapSize: sizeOf(0, 0), ReduceSize: sizeOf(0, 0),
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
