package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// lookout is what all models here have in common: it learns how long maps take,
// and finds out when the deadlines of jobs cannot all be met.
//
// Rule. Each cycle, jobs whose deadline is ahead take the slots of the forecast one
// after the other, the earliest deadline first, as if work could be divided at will.
// No other order meets all deadlines if this one does not (Liu and Layland, 1973). A
// job that ends late in this order is named, with how late it ends. Work is what is
// left of the maps; what running maps have done does not count. Nothing is named
// before the first map has ended, since the time of maps is a guess until then.
//
// The report is a forecast. Notes say of how many jobs it was right: a job is named
// once, and its end shows whether it is late.
type lookout struct {
	cycleMs  int64
	firstMap float64 // seconds
	times    sched.PerJob[times]
	all      times // of all jobs

	late   sched.PerJob[lateness]
	picked state.JobID // job of the last decision

	named, ended, right int
}

// times has the times of maps that have ended, and when those that run began.
type times struct {
	sum   float64 // seconds
	count int
	begun []int64 // -1 for a map that does not run
	runs  int     // maps that run
	since float64 // sum of when these began, in seconds
}

// lateness is how late a job is expected to end, in seconds.
type lateness struct {
	named   bool
	seconds float64 // by the last report
}

// PeriodMs implements sched.Ticker.
func (l *lookout) PeriodMs() int64 { return l.cycleMs }

// Observe implements sched.Observer: it learns how long maps take, and whether jobs
// that were named end late.
func (l *lookout) Observe(v *state.View, e sched.Event) {
	switch e.What {
	case sched.TaskStarted:
		if k, i := v.Index(e.Job, e.Task); k == state.Map {
			x := l.times.Of(e.Job)
			if x.begun == nil {
				x.begun = slices.Repeat([]int64{-1}, int(v.Tasks(e.Job, state.Map)))
			}
			x.begin(i, v.Now())
		}
	case sched.TaskEnded:
		x := l.times.Of(e.Job)
		k, i := v.Index(e.Job, e.Task)
		if v.Ended(e.Job) || k != state.Map || x.begun == nil {
			return
		}
		took, ran := float64(v.Now()-x.begun[i])/1e9, x.begun[i] >= 0
		if x.begin(i, -1); ran && !e.Failed {
			for _, x := range []*times{x, &l.all} {
				x.sum, x.count = x.sum+took, x.count+1
			}
		}
	case sched.JobEnded:
		l.times.Of(e.Job).begun = nil
		if l.late.Of(e.Job).named {
			if l.ended++; v.Now() > v.Deadline(e.Job) {
				l.right++
			}
		}
	}
}

// begin notes when map i began, -1 if it does not run.
func (x *times) begin(i int32, at int64) {
	if x.begun[i] >= 0 {
		x.runs, x.since = x.runs-1, x.since-float64(x.begun[i])/1e9
	}
	if x.begun[i] = at; at >= 0 {
		x.runs, x.since = x.runs+1, x.since+float64(at)/1e9
	}
}

// mean returns how long these maps took, or else a time that stands for it, in seconds.
func (x *times) mean(otherwise float64) float64 {
	if x.count == 0 {
		return otherwise
	}
	return x.sum / float64(x.count)
}

// mean returns how long the job's maps take, in seconds.
func (l *lookout) mean(id state.JobID) float64 { return l.times.Of(id).mean(l.all.mean(l.firstMap)) }

// left returns the job's work that is left, in slot-seconds. Of its running maps, what
// they have done is taken off, but no more than they take in the mean.
func (l *lookout) left(v *state.View, id state.JobID) float64 {
	x, mean := l.times.Of(id), l.mean(id)
	done := float64(x.runs)*float64(v.Now())/1e9 - x.since
	return float64(pendingMaps(v, id))*mean - max(0, min(done, float64(x.runs)*mean))
}

// look names the jobs that end late in the order of deadlines.
func (l *lookout) look(v *state.View, f *forecast) {
	if l.all.count == 0 {
		return
	}
	now := float64(v.Now()) / 1e9
	var due []Demand // jobs whose deadline is ahead
	for _, id := range v.Active() {
		if d := v.Deadline(id); d != state.NoDeadline && d > v.Now() && pendingMaps(v, id) > 0 {
			due = append(due, Demand{job: id, Goal: float64(d) / 1e9, work: l.left(v, id)})
		}
	}
	slices.SortFunc(due, func(a, b Demand) int { return cmp.Or(cmp.Compare(a.Goal, b.Goal), cmp.Compare(a.job, b.job)) })
	work := 0.0
	for _, d := range due {
		work += d.work
		x := l.late.Of(d.job)
		if x.seconds = 0; work > f.avail(now, d.Goal)+sameGoal {
			x.seconds = f.end(now, work) - d.Goal
		}
		if x.seconds > sameGoal && !x.named {
			x.named = true
			l.named++
		}
	}
}

// Explain implements sched.Explainer: it says how late the job of the last decision is
// expected to end.
func (l *lookout) Explain() string {
	if l.picked == state.None {
		return ""
	}
	if x := l.late.Of(l.picked); x.seconds > sameGoal && !math.IsInf(x.seconds, 1) {
		return fmt.Sprintf("lateSeconds=%.1f", x.seconds)
	}
	return ""
}

// Notes implements sched.Noter.
func (l *lookout) Notes() map[string]float64 {
	notes := map[string]float64{"namedLate": float64(l.named)}
	if l.ended > 0 {
		notes["namedLateRightPct"] = 100 * float64(l.right) / float64(l.ended)
	}
	return notes
}
