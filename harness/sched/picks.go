package sched

import "heddle/harness/state"

// unplaced is what of the job goes before its maps and to any node, as the
// MapReduce ApplicationMaster asks for it: first a map that failed before, then
// a reduce.
func unplaced(v *state.View, id state.JobID, n state.NodeID) (Pick, bool) {
	if t := v.NextRerun(id); t != state.None && v.Fits(n, id, state.Map) {
		return Pick{id, t, state.Map, Rerun}, true
	}
	if t := v.NextReduce(id); t != state.None && v.Fits(n, id, state.Reduce) {
		return Pick{id, t, state.Reduce, Reduces}, true
	}
	return Pick{}, false
}

// firstUnplaced is unplaced of the first job in FIFO order that has any.
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

// wantsMap says whether the job has a waiting map that n can hold.
func wantsMap(v *state.View, id state.JobID, n state.NodeID) bool {
	return v.Waiting(id, state.Map) > 0 && v.Fits(n, id, state.Map)
}

func mapAt(id state.JobID, t state.TaskID, level state.Level) Pick {
	return Pick{id, t, state.Map, ReasonOf(level)}
}
