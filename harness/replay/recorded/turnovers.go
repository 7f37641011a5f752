package recorded

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/stats"
	"heddle/traces"
)

// Turnovers returns the times, in ms, from an attempt's end to the next start on its
// node, if the started task had waited since before that end. The cluster needed
// this time, since the task could have started at once. A gap in which no task
// waited is idle time and does not count.
//
// Each start is paired with the latest end before it, so that room which was free for
// long does not count. Only first attempts of tasks count, because it is unknown
// since when later attempts waited. Gaps much longer than usual are left out: a model
// may leave room free while tasks wait for data or for their queue's share.
func (t *Trace) Turnovers() []float64 {
	since := slices.Repeat([][2]traces.Time{{math.MaxInt64, math.MaxInt64}}, len(t.jobNames))
	for _, j := range t.Jobs {
		if t.ExecutorAskMs[j.Job] == nil { // since when executors waited is not known
			since[j.number] = j.waitsSince()
		}
	}
	ends := make([][]traces.Time, len(t.nodes)) // times at which attempts ended on each node, ascending
	for a := range t.attempts.all() {
		if a.End > 0 {
			ends[a.node] = append(ends[a.node], a.End)
		}
	}
	for _, list := range ends {
		slices.Sort(list)
	}
	var turns []float64
	free := make([][]traces.Time, len(t.nodes)) // for each node, in ascending order: the times at which its free slots became free
	tried := map[taskKey]bool{}
	for _, a := range t.launched() {
		list, room := ends[a.node], free[a.node]
		for len(list) > 0 && list[0] <= a.Start {
			room, list = append(room, list[0]), list[1:]
		}
		ends[a.node] = list
		key := taskKey{a.job, a.Index, a.Kind}
		if n := len(room) - 1; n >= 0 {
			if a.Kind.Valid() && !tried[key] && since[a.job][a.Kind] <= room[n] {
				turns = append(turns, float64(a.Start-room[n])/1e6)
			}
			room = room[:n]
		}
		free[a.node] = room
		tried[key] = true
	}
	usual := stats.Quantile(turns, 0.5)
	return slices.DeleteFunc(turns, func(ms float64) bool { return ms > 4*usual })
}

// waitsSince returns two times, one for the job's maps and one for its reduces. From
// that time on, all such tasks that have not started certainly wait for room.
//
// An ApplicationMaster asks for all maps together: when the first was scheduled, all
// waited. The scheduling time of a single task does not say this, because under
// Hadoop 1 it is the time when a node got the task. Reduces may be held back until
// the last map has ended.
func (j *Job) waitsSince() [2]traces.Time {
	var since [2]traces.Time
	for k, tasks := range j.Tasks {
		since[k] = math.MaxInt64
		for i := range tasks {
			if t := &tasks[i]; t.scheduled > 0 {
				since[k] = min(since[k], t.scheduled)
			} else if t.Won != nil {
				since[k] = min(since[k], t.Won.Start)
			}
		}
	}
	since[traces.Reduce] = max(since[traces.Reduce], j.LastMap())
	return since
}

// The function launched returns the attempts that were launched, sorted by start time.
func (t *Trace) launched() []*Attempt {
	return slices.SortedFunc(t.attempts.all(), func(a, b *Attempt) int {
		if a.Start != b.Start {
			return cmp.Compare(a.Start, b.Start)
		}
		return cmp.Or(cmp.Compare(t.jobNames[a.job], t.jobNames[b.job]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index),
			cmp.Compare(a.number, b.number))
	})
}
