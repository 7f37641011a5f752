package rhc

import (
	"cmp"
	"math"
	"slices"
)

// bound returns a cost that no rule can be below, even one that knows all jobs before.
//
// On the k cheapest slots run at most k reduce tasks at a time. So the data that is
// fetched there is at most W_k, the largest that k sets of tasks can have of which none
// overlap in time. W_k - W_(k-1) falls with k, so the cost is at least the sum of that
// times the cost of slot k. W_k is the largest flow of k units through time, in which each
// task is an arc from its begin to its end. Jobs that do not meet, since the system was
// empty in between, are bounded apart.
func bound(jobs []job, costs []float64) float64 {
	gains := make([]float64, len(costs))
	for len(jobs) > 0 {
		n, until := 1, jobs[0].to
		for n < len(jobs) && jobs[n].from < until {
			until = max(until, jobs[n].to)
			n++
		}
		addGains(gains, jobs[:n])
		jobs = jobs[n:]
	}
	sum := 0.0
	for k, g := range gains {
		sum += g * costs[k]
	}
	return sum
}

// addGains adds W_k - W_(k-1) of some jobs for each k. It sends one unit after the other
// through time on the path with the most gain, which may take back what was sent before.
func addGains(gains []float64, jobs []job) {
	f := newFlow(jobs)
	for k := 0; k < len(gains); {
		gain := f.longest()
		if gain <= tiny {
			return
		}
		for range f.send(len(gains) - k) {
			gains[k] += gain
			k++
		}
	}
}

const tiny = 1e-9

// flow are arcs between points in time, in the order of the points where they begin.
type flow struct {
	arcs   []arc
	most   []float64 // by point, the largest gain of a path from point 0
	before []int     // the last arc of that path: arc i forward is i, and back ^i
}

// arc is one or more reduce tasks of a job with the same data, or time in which a unit
// waits.
type arc struct {
	from, to   int
	gain       float64
	left, sent int // how many units can still go there, and how many do
}

func newFlow(jobs []job) *flow {
	type event struct {
		time float64
		job  int
		end  bool
	}
	var events []event
	for i := range jobs {
		events = append(events, event{jobs[i].to, i, true}, event{jobs[i].from, i, false})
	}
	// At one time, jobs that leave make room for those that come.
	slices.SortStableFunc(events, func(a, b event) int {
		if a.time == b.time && a.end != b.end {
			return map[bool]int{true: -1, false: 1}[a.end]
		}
		return cmp.Compare(a.time, b.time)
	})
	ends := make([]int, len(jobs))
	for i, e := range events {
		if e.end {
			ends[e.job] = i
		}
	}
	f := &flow{most: make([]float64, len(events)), before: make([]int, len(events))}
	for i, e := range events {
		if j := &jobs[e.job]; !e.end {
			for k, x := range j.each[:j.Reduces] {
				if k > 0 && x == j.each[k-1] {
					f.arcs[len(f.arcs)-1].left++
				} else {
					f.arcs = append(f.arcs, arc{i, ends[e.job], x, 1, 0})
				}
			}
		}
		if i+1 < len(events) {
			f.arcs = append(f.arcs, arc{i, i + 1, 0, math.MaxInt32, 0})
		}
	}
	return f
}

// longest finds the path with the most gain, and returns that. It passes the arcs forward
// and back until nothing changes.
func (f *flow) longest() float64 {
	for i := range f.most {
		f.most[i] = math.Inf(-1)
	}
	f.most[0] = 0
	for changed := true; changed; {
		changed = false
		for i := range f.arcs {
			if a := &f.arcs[i]; a.left > 0 && f.most[a.from]+a.gain > f.most[a.to]+tiny {
				f.most[a.to], f.before[a.to], changed = f.most[a.from]+a.gain, i, true
			}
		}
		for i := len(f.arcs) - 1; i >= 0; i-- {
			if a := &f.arcs[i]; a.sent > 0 && f.most[a.to]-a.gain > f.most[a.from]+tiny {
				f.most[a.from], f.before[a.from], changed = f.most[a.to]-a.gain, ^i, true
			}
		}
	}
	return f.most[len(f.most)-1]
}

// send sends as many units as can go along the path that longest found, at most so many.
func (f *flow) send(most int) int {
	f.walk(func(left, _ *int) { most = min(most, *left) })
	f.walk(func(left, sent *int) { *left, *sent = *left-most, *sent+most })
	return most
}

// walk calls a function for each arc of the path, from its end: with how many units can
// still go there, and how many could go back.
func (f *flow) walk(step func(left, sent *int)) {
	for v := len(f.before) - 1; v > 0; {
		if i := f.before[v]; i >= 0 {
			a := &f.arcs[i]
			step(&a.left, &a.sent)
			v = a.from
		} else {
			a := &f.arcs[^i]
			step(&a.sent, &a.left)
			v = a.to
		}
	}
}
