package sched

import (
	"heddle/harness/state"
)

// walk goes through the jobs with a waiting task in FIFO order.
type walk struct {
	v             *state.View
	maps, reduces []state.JobID
}

func (w *walk) begin(v *state.View) {
	w.v, w.maps, w.reduces = v, v.WaitingJobs(state.Map), v.WaitingJobs(state.Reduce)
}

func fifoOrder(v *state.View) (w walk) {
	w.begin(v)
	return w
}

// next returns the next job, false if there is none.
func (w *walk) next() (state.JobID, bool) {
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

func (w *walk) popMap() state.JobID {
	id := w.maps[0]
	w.maps = w.maps[1:]
	return id
}

func (w *walk) popReduce() state.JobID {
	id := w.reduces[0]
	w.reduces = w.reduces[1:]
	return id
}

// ordered goes through the jobs with a waiting task in the order of shares, or
// in FIFO order if shares is nil. It branches because the compiler would not
// inline a func value.
type ordered struct {
	shares *shares
	fifo   walk
}

func (o *ordered) begin(v *state.View, by *shares) {
	if o.shares = by; by != nil {
		by.start(v)
	} else {
		o.fifo.begin(v)
	}
}

func (o *ordered) next() (state.JobID, bool) {
	if o.shares != nil {
		return o.shares.next()
	}
	return o.fifo.next()
}

// unplaced returns the job's task that goes to any node, before its maps, as
// the MapReduce ApplicationMaster asks for it: a re-run, else a reduce.
func unplaced(v *state.View, id state.JobID, n state.NodeID) (Pick, bool) {
	if t := v.NextRerun(id); t != state.None && v.Fits(n, id, state.Map) {
		return Pick{id, t, state.Map, Rerun}, true
	}
	if t := v.NextReduce(id); t != state.None && v.Fits(n, id, state.Reduce) {
		return Pick{id, t, state.Reduce, Reduces}, true
	}
	return Pick{}, false
}

// firstUnplaced returns unplaced of the first job in FIFO order that has such a
// task.
func firstUnplaced(v *state.View, n state.NodeID) (Pick, bool) {
	jobs := fifoOrder(v)
	if !v.AnyRerun() {
		jobs.maps = nil
	}
	for {
		id, ok := jobs.next()
		if !ok {
			return Pick{}, false
		}
		if p, ok := unplaced(v, id, n); ok {
			return p, true
		}
	}
}

// wantsMap reports whether the job has a waiting map that n can hold.
func wantsMap(v *state.View, id state.JobID, n state.NodeID) bool {
	return v.Waiting(id, state.Map) > 0 && v.Fits(n, id, state.Map)
}

func mapAt(id state.JobID, t state.TaskID, level state.Level) Pick {
	return Pick{id, t, state.Map, near(level)}
}

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
