package replay

import (
	"cmp"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// listed makes the jobs of a job list one by one as they arrive, so that memory holds
// only the tasks of jobs that have not ended.
type listed struct {
	*jobMaker
	network bool // true: reduces fetch over the simulated network; false: fetching takes a fixed time
}

// listSlowStart is Hadoop's default for mapreduce.job.reduce.slowstart.completedmaps:
// the share of a job's maps that must be done before its reduces are asked for.
const listSlowStart = 0.05

// Next makes the next job of the job list, so that the simulator can submit it. It
// implements sim.Source.
func (l *listed) Next(x *sim.Job) bool {
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
	x.SetListed(rules, j, l.network)
	if l.Modelled {
		l.model(j, x)
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

// model gives the tasks of a job from a job list the computing times of the job's
// workload. If the costs of another workload are used instead, tasks write as many
// bytes as the list says.
func (l *listed) model(j *traces.JobListed, x *sim.Job) {
	w, standIn, _ := l.costsOf(j.Name)
	x.MapWork, x.ReduceWork = eachTask(x.MapWork, x.Maps, standIn), eachTask(x.ReduceWork, x.Reduces, standIn)
	l.compute(w, x)
}

// eachTask returns the work of n tasks, one entry for each task. All tasks but the
// last get the first entry of list; the last task gets the last entry. If told is
// false, the output bytes of the tasks are unknown.
func eachTask(list []sim.Work, n int32, told bool) []sim.Work {
	if n == 0 {
		return list
	}
	first, last := list[0], list[len(list)-1]
	list = cleared(list, int(n))
	for i := range list {
		if list[i] = first; i == len(list)-1 {
			list[i] = last
		}
		if !told {
			list[i].OutputBytes = unknown
		}
	}
	return list
}
