package sched

import "heddle/harness/state"

// perJob holds one T for each job, made when it is first asked for.
type perJob[T any] []T

func (p *perJob[T]) of(id state.JobID) *T {
	for int(id) >= len(*p) {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[id]
}

// heartbeatCount counts, by reason, what a model has chosen for a node since
// the node's heartbeat. Rounds at the same time for the same node belong to one
// heartbeat.
type heartbeatCount struct {
	at     int64
	node   state.NodeID
	begun  bool
	chosen [Random + 1]int32
}

// round notes that node n is asked about. At a new heartbeat it starts the
// counts again.
func (b *heartbeatCount) round(v *state.View, n state.NodeID) {
	if !b.begun || b.at != v.Now() || b.node != n {
		b.at, b.node, b.begun = v.Now(), n, true
		clear(b.chosen[:])
	}
}

// reached reports whether limit decisions of these reasons have been taken
// since the heartbeat. A limit of 0 is never reached.
func (b *heartbeatCount) reached(limit int, reasons ...Reason) bool {
	if limit == 0 {
		return false
	}
	for _, r := range reasons {
		limit -= int(b.chosen[r])
	}
	return limit <= 0
}

func (b *heartbeatCount) chose(r Reason) { b.chosen[r]++ }
