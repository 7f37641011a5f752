package sched

import "heddle/harness/state"

// PerJob holds one value of type T for each job, such as a count that a model
// keeps. The zero value is ready for use.
type PerJob[T any] []T

// Of returns a job's value, which is zero until it is set. A later call of Of for
// another job may move the value: do not keep the pointer.
func (p *PerJob[T]) Of(id state.JobID) *T {
	for int(id) >= len(*p) {
		var zero T
		*p = append(*p, zero)
	}
	return &(*p)[id]
}

// heartbeatCount counts the containers that a model has chosen for a node in
// the node's present heartbeat, by the reason of the decision. Calls that ask
// the model about the same node at the same time belong to one heartbeat.
type heartbeatCount struct {
	at     int64
	node   state.NodeID
	begun  bool
	full   bool // the node gets nothing more in this heartbeat
	chosen [Master + 1]int32
}

// The method round notes that the model is asked about node n. If this is a new
// heartbeat of the node, the counts of containers start at zero again.
func (b *heartbeatCount) round(v *state.View, n state.NodeID) {
	if !b.begun || b.at != v.Now() || b.node != n {
		b.at, b.node, b.begun, b.full = v.Now(), n, true, false
		clear(b.chosen[:])
	}
}

// reached reports whether at least limit decisions with one of these reasons
// have been taken in the present heartbeat. A limit of 0 means no limit.
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
