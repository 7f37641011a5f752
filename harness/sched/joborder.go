package sched

import (
	"heddle/harness/state"
)

// FIFOWalk goes through the jobs with a waiting task in FIFO order: by priority,
// then by submission.
type FIFOWalk struct {
	v             *state.View
	maps, reduces []state.JobID
}

// FIFOOrder begins a walk through the jobs with a waiting task. It allocates
// nothing. The walk is over when the View changes.
func FIFOOrder(v *state.View) FIFOWalk {
	return FIFOWalk{v, v.WaitingJobs(state.Map), v.WaitingJobs(state.Reduce)}
}

// Next returns the next job in FIFO order, or false if no job is left.
func (w *FIFOWalk) Next() (state.JobID, bool) {
	switch {
	case len(w.maps) == 0 && len(w.reduces) == 0:
		return state.None, false
	case len(w.maps) == 0:
		return w.popReduce(), true
	case len(w.reduces) == 0:
		return w.popMap(), true
	}
	m, r := w.maps[0], w.reduces[0]
	if m == r {
		w.reduces = w.reduces[1:]
		return w.popMap(), true
	}
	if pm, pr := w.v.Priority(m), w.v.Priority(r); pm > pr || pm == pr && m < r {
		return w.popMap(), true
	}
	return w.popReduce(), true
}

func (w *FIFOWalk) popMap() state.JobID {
	id := w.maps[0]
	w.maps = w.maps[1:]
	return id
}

func (w *FIFOWalk) popReduce() state.JobID {
	id := w.reduces[0]
	w.reduces = w.reduces[1:]
	return id
}

// ordered goes through the jobs with a waiting task in the order of fair
// shares, or in FIFO order if its field shares is nil. It tests the field at
// each step. A function variable in place of the test would be slower, because
// the compiler would not inline the call.
type ordered struct {
	shares *shares
	fifo   FIFOWalk
}

func (o *ordered) begin(v *state.View, by *shares) {
	if o.shares = by; by != nil {
		by.start(v)
	} else {
		o.fifo = FIFOOrder(v)
	}
}

func (o *ordered) next() (state.JobID, bool) {
	if o.shares != nil {
		return o.shares.next()
	}
	return o.fifo.Next()
}
