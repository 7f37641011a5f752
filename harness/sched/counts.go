package sched

import "heddle/harness/state"

// perJob is a model's own number or struct of each job, made when first asked
// for.
type perJob[T any] []T

func (p *perJob[T]) of(id state.JobID) *T {
	for int(id) >= len(*p) {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[id]
}

// beat counts what a model has chosen for a node since its heartbeat, by
// reason: rounds at the same time for the same node are one.
type beat struct {
	at     int64
	node   state.NodeID
	begun  bool
	chosen [Random + 1]int32
}

// see is called with each round.
func (b *beat) see(v *state.View, n state.NodeID) {
	if !b.begun || b.at != v.Now() || b.node != n {
		b.at, b.node, b.begun = v.Now(), n, true
		clear(b.chosen[:])
	}
}

// reached says whether so many decisions of these reasons have been taken; 0 is
// no limit.
func (b *beat) reached(limit int, reasons ...Reason) bool {
	if limit == 0 {
		return false
	}
	for _, r := range reasons {
		limit -= int(b.chosen[r])
	}
	return limit <= 0
}

func (b *beat) chose(r Reason) { b.chosen[r]++ }
