package sched

import "heddle/harness/state"

// This file lets the tests of package sched_test, which use schedtest, see what
// only this package has.

// Shares keeps jobs sorted.
type Shares = shares

// NewShares sorts jobs by a key, or in FIFO order if key is nil; in queues by a key, or as
// one queue if ofQueue is nil.
func NewShares(key func(*state.View, state.JobID) float64, ofQueue func(*state.View, state.QueueID) (served bool, ratio float64)) *Shares {
	if ofQueue == nil {
		return &shares{key: key, together: true}
	}
	return &shares{key: key, ofQueue: func(v *state.View, q state.QueueID) queueKey {
		served, ratio := ofQueue(v, q)
		return queueKey{served, ratio}
	}}
}

// Walk returns all jobs in their order.
func (o *Shares) Walk(v *state.View) (list []state.JobID) {
	o.start(v)
	for id, ok := o.next(); ok; id, ok = o.next() {
		list = append(list, id)
	}
	return list
}

// thorough is planned, looking at all jobs each time.
type thorough struct{ *planned }

func (m thorough) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	if d, ok := walkPlanned(v, free[:1]); ok {
		return append(out, d)
	}
	return out
}

// PlannedBy is the model planned, or one that looks at all jobs each time.
func PlannedBy(allJobs bool) Model {
	if allJobs {
		return thorough{&planned{}}
	}
	return &planned{}
}
