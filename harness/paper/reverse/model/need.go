package model

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/state"
)

// Demand is what a job of a plan still needs, and what it gets.
type Demand struct {
	Goal    float64 // +Inf for a job without a deadline
	work    float64 // slot-seconds until the goal
	need    float64 // the result: slots that it needs now
	pending float64 // tasks that have not ended
	alloc   float64 // the result: its slots; those that it has already at first
	utility float64
	age     int32 // its place in the order of submission
	job     state.JobID
}

// sameGoal is the difference in seconds below which two goals are one.
const sameGoal = 0.001

// required sets the need without look-ahead, s_req: the slots with which a job
// just meets its goal if it keeps them. Past its goal a job needs all that is
// left of it at once. The formula is from memory of Polo et al.
func required(jobs []Demand, now float64) {
	for i := range jobs {
		j := &jobs[i]
		switch {
		case math.IsInf(j.Goal, 1):
			j.need = 0
		case j.Goal <= now:
			j.need = j.pending
		default:
			j.need = j.work / (j.Goal - now)
		}
	}
}

// scaled is required, but a job counts on the slots that the forecast has until
// its goal, and not on those of now.
func scaled(jobs []Demand, now float64, f *forecast) {
	required(jobs, now)
	for i := range jobs {
		if j := &jobs[i]; j.Goal > now && !math.IsInf(j.Goal, 1) {
			if ahead := f.avail(now, j.Goal); ahead > 0 {
				j.need *= f.at(now) * (j.Goal - now) / ahead
			}
		}
	}
}

// walker computes the need with look-ahead, s_fit: it walks back from the last
// goal to the first. In each period between two goals, the jobs whose goal is not
// before its end get what fits into it; the rest moves to the period before.
// What is left for the period from now to the first goal is the need. The zero
// value is ready for use, and keeps its memory.
type walker struct {
	latestFirst bool // in a period, the job with the latest goal goes first; else all are given as much, until they have enough
	nextCycle   bool // the first period ends after one cycle, so that all is done as late as possible
	order       []int
	open        []int  // jobs that get a share: the latest goal first, or that which is done last
	horizon     string // next: only jobs with the first goal have a need; one: all work is to be done until then
}

// walk sets the need of each job at the time now. The cycle is the time until
// the next plan: a goal that has passed counts as the end of the cycle.
func (w *walker) walk(jobs []Demand, now, cycle float64, avail func(a, b float64) float64) {
	w.order, w.open = w.order[:0], w.open[:0]
	for i := range jobs {
		j := &jobs[i]
		if j.need = 0; !math.IsInf(j.Goal, 1) && j.work > 0 {
			if j.Goal <= now {
				j.Goal = now + cycle
			}
			w.order = append(w.order, i)
		}
	}
	// The last goal first.
	slices.SortFunc(w.order, func(a, b int) int { return cmp.Or(cmp.Compare(jobs[b].Goal, jobs[a].Goal), a-b) })
	if len(w.order) == 0 {
		return
	}
	switch first := jobs[w.order[len(w.order)-1]].Goal; w.horizon {
	case "next":
		w.order = slices.DeleteFunc(w.order, func(i int) bool { return jobs[i].Goal > first+sameGoal })
	case "one":
		for _, i := range w.order {
			jobs[i].Goal = first
		}
	}
	level, next, end := 0.0, 0, jobs[w.order[0]].Goal
	for {
		for next < len(w.order) && jobs[w.order[next]].Goal > end-sameGoal {
			i, at := w.order[next], len(w.open)
			if !w.latestFirst {
				j := &jobs[i]
				j.need = j.work + level
				at, _ = slices.BinarySearchFunc(w.open, j.need, func(i int, done float64) int { return cmp.Compare(done, jobs[i].need) })
			}
			w.open = slices.Insert(w.open, at, i)
			next++
		}
		begin := now
		if next < len(w.order) {
			begin = jobs[w.order[next]].Goal
		} else if w.nextCycle && end > now+cycle+sameGoal {
			begin = now + cycle
		}
		if begin == now {
			break
		}
		level = w.fill(jobs, avail(begin, end), level)
		end = begin
	}
	for _, i := range w.open {
		j := &jobs[i]
		if j.need -= level; w.latestFirst {
			j.need = j.work - j.need
		}
		j.need /= end - now
	}
}

// fill gives the open jobs the slot-seconds of a period. It returns the new
// level: what each open job would have been given since the walk's start.
func (w *walker) fill(jobs []Demand, room, level float64) float64 {
	for room > 0 && len(w.open) > 0 {
		if w.latestFirst {
			j := &jobs[w.open[0]]
			got := min(room, j.work-j.need)
			if j.need, room = j.need+got, room-got; j.need < j.work {
				break
			}
			j.need, w.open = 0, w.open[1:]
			continue
		}
		last := len(w.open) - 1
		j := &jobs[w.open[last]]
		n, least := float64(last+1), j.need-level
		if least*n > room {
			return level + room/n
		}
		room, level, w.open, j.need = room-least*n, j.need, w.open[:last], 0
	}
	return level
}
