package model

import (
	"math"
	"slices"

	"heddle/harness/state"
)

// forecast says how many slots the cluster has at each time. Times are in
// seconds since the run's start. The slots are constant from one of the starts
// to the next, and begin again after the period. They count from the time from,
// before which the slots are those of first.
type forecast struct {
	starts, slots []float64
	sums          []float64 // slot-seconds from time 0 to each of the starts
	period        float64   // 0 means that the last slots last for ever
	whole         float64   // slot-seconds of a period
	from, first   float64
}

// constant is the forecast of a number of slots that never changes.
func constant(slots float64) *forecast {
	return &forecast{starts: []float64{0}, slots: []float64{slots}, sums: []float64{0}}
}

// foresee makes a forecast from a timetable. Nodes that it does not name keep
// what they have now, and all do until it begins. A slot holds one container of
// the given size.
func foresee(v *state.View, t *state.Timetable, size state.Resource) *forecast {
	f := &forecast{period: float64(t.EveryMs) / 1000, from: float64(t.FromMs) / 1000}
	fits := func(r state.Resource) float64 { return float64(fit(r, size)) }
	left := map[string]float64{}
	total := 0.0
	change := func(node string, to state.Resource) { total, left[node] = total+fits(to)-left[node], fits(to) }
	for n := range state.NodeID(v.Nodes()) {
		change(v.NodeName(n), v.Capacity(n))
	}
	f.first = total
	if t.EveryMs > 0 { // before its first change, a node has what it had at the end of the timetable
		for _, c := range t.Changes {
			change(c.Node, c.Left)
		}
	}
	f.starts, f.slots, f.sums = []float64{0}, []float64{total}, []float64{0}
	for _, c := range t.Changes {
		change(c.Node, c.Left)
		k, at := len(f.starts)-1, float64(c.AtMs)/1000
		if f.starts[k] == at {
			f.slots[k] = total
			continue
		}
		f.sums = append(f.sums, f.sums[k]+(at-f.starts[k])*f.slots[k])
		f.starts, f.slots = append(f.starts, at), append(f.slots, total)
	}
	if last := len(f.starts) - 1; f.period > 0 {
		f.whole = f.sums[last] + (f.period-f.starts[last])*f.slots[last]
	}
	return f
}

// within returns the index of the slots at time t, how far t is behind their
// start, and the slot-seconds of the whole periods before. The time t counts from
// f.from.
func (f *forecast) within(t float64) (i int, rest, before float64) {
	if f.period > 0 {
		n := math.Floor(t / f.period)
		t, before = t-n*f.period, n*f.whole
	}
	i, found := slices.BinarySearch(f.starts, t)
	if !found {
		i--
	}
	return i, t - f.starts[i], before
}

// at returns the slots at time t.
func (f *forecast) at(t float64) float64 {
	if t < f.from {
		return f.first
	}
	i, _, _ := f.within(t - f.from)
	return f.slots[i]
}

// avail returns the slot-seconds from time a to time b.
func (f *forecast) avail(a, b float64) float64 {
	until := func(t float64) float64 {
		if t < f.from {
			return (t - f.from) * f.first
		}
		i, rest, before := f.within(t - f.from)
		return before + f.sums[i] + rest*f.slots[i]
	}
	return until(b) - until(a)
}

// end returns the time at which the slots from time a on have done the work, in
// slot-seconds; +Inf if they do not in 30 years.
func (f *forecast) end(a, work float64) float64 {
	low, high := a, a+1
	for f.avail(a, high) < work {
		if low, high = high, a+2*(high-a); high > 1e9 {
			return math.Inf(1)
		}
	}
	for high-low > sameGoal/10 {
		if middle := (low + high) / 2; f.avail(a, middle) < work {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// mean returns the mean slots of a period, or those at time t if there is none.
func (f *forecast) mean(t float64) float64 {
	if f.period == 0 {
		return f.at(t)
	}
	return f.whole / f.period
}
