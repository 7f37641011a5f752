package model

import (
	"container/heap"
	"math"
	"slices"
)

// demand is what a job still needs: its work in slot-seconds until its goal. The
// goal of a job without a deadline is +Inf.
type demand struct {
	goal, work float64
	need       float64 // the result: slots that it needs now
}

// sameGoal is the difference in seconds below which two goals are one.
const sameGoal = 0.001

// required sets the need without look-ahead, s_req: the slots with which a job
// just meets its goal if it keeps them. Past its goal a job needs all that is
// left of it at once. The formula is from memory of Polo et al.
func required(jobs []demand, now float64, pending func(i int) float64) {
	for i := range jobs {
		j := &jobs[i]
		switch {
		case math.IsInf(j.goal, 1):
			j.need = 0
		case j.goal <= now:
			j.need = pending(i)
		default:
			j.need = j.work / (j.goal - now)
		}
	}
}

// scaled is required, but a job counts on the slots that the forecast has until
// its goal, and not on those of now.
func scaled(jobs []demand, now float64, f *forecast, pending func(i int) float64) {
	required(jobs, now, pending)
	for i := range jobs {
		if j := &jobs[i]; j.goal > now && !math.IsInf(j.goal, 1) {
			if ahead := f.avail(now, j.goal); ahead > 0 {
				j.need *= f.at(now) * (j.goal - now) / ahead
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
	open        shareHeap
	horizon     string  // next: only jobs with the first goal have a need; one: all work is to be done until then
	placed      float64 // slot-seconds that were placed in later periods
}

// walk sets the need of each job at the time now. The cycle is the time until
// the next plan: a goal that has passed counts as the end of the cycle.
func (w *walker) walk(jobs []demand, now, cycle float64, avail func(a, b float64) float64) {
	w.order, w.open, w.placed = w.order[:0], w.open[:0], 0
	for i := range jobs {
		j := &jobs[i]
		if j.need = 0; !math.IsInf(j.goal, 1) && j.work > 0 {
			if j.goal <= now {
				j.goal = now + cycle
			}
			w.order = append(w.order, i)
		}
	}
	slices.SortFunc(w.order, func(a, b int) int { // the last goal first
		switch d := jobs[b].goal - jobs[a].goal; {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return a - b
	})
	if len(w.order) == 0 {
		return
	}
	switch first := jobs[w.order[len(w.order)-1]].goal; w.horizon {
	case "next":
		w.order = slices.DeleteFunc(w.order, func(i int) bool { return jobs[i].goal > first+sameGoal })
	case "one":
		for _, i := range w.order {
			jobs[i].goal = first
		}
	}
	level, next, end := 0.0, 0, jobs[w.order[0]].goal
	for {
		for next < len(w.order) && jobs[w.order[next]].goal > end-sameGoal {
			i := w.order[next]
			w.enter(jobs, i, level)
			next++
		}
		begin := now
		if next < len(w.order) {
			begin = jobs[w.order[next]].goal
		} else if w.nextCycle && end > now+cycle+sameGoal {
			begin = now + cycle
		}
		if begin == now {
			break
		}
		level = w.fill(jobs, avail(begin, end), level)
		end = begin
	}
	for _, x := range w.open {
		left := x.key - level
		if w.latestFirst {
			left = jobs[x.job].work - x.key
		}
		jobs[x.job].need = left / (end - now)
	}
}

// enter makes a job one that gets a share of the periods from now on.
func (w *walker) enter(jobs []demand, i int, level float64) {
	if w.latestFirst {
		w.open = append(w.open, share{i, 0})
		return
	}
	heap.Push(&w.open, share{i, jobs[i].work + level})
}

// fill gives the open jobs the slot-seconds of a period. It returns the new
// level: what each open job would have been given since the walk's start.
func (w *walker) fill(jobs []demand, room, level float64) float64 {
	if w.latestFirst {
		w.fillLatest(jobs, room)
		return level
	}
	for room > 0 && len(w.open) > 0 {
		n := float64(len(w.open))
		if least := w.open[0].key - level; least*n <= room {
			room, level = room-least*n, w.open[0].key
			w.placed += least * n
			heap.Pop(&w.open)
			continue
		}
		w.placed += room
		return level + room/n
	}
	return level
}

func (w *walker) fillLatest(jobs []demand, room float64) {
	done := 0
	for k := range w.open {
		x := &w.open[k]
		got := min(room, jobs[x.job].work-x.key)
		x.key, room, w.placed = x.key+got, room-got, w.placed+got
		if x.key < jobs[x.job].work {
			break
		}
		done++
	}
	w.open = w.open[done:]
}

// share is a job in the walk. With equal shares its key is its work plus the
// level at which it entered; with the latest first it is what it got so far.
type share struct {
	job int
	key float64
}

type shareHeap []share

func (h shareHeap) Len() int           { return len(h) }
func (h shareHeap) Less(a, b int) bool { return h[a].key < h[b].key }
func (h shareHeap) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *shareHeap) Push(x any)        { *h = append(*h, x.(share)) }
func (h *shareHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
