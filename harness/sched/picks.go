package sched

import "heddle/harness/state"

// RerunOrReduce returns the job's next task that may run on any node: a map to run
// again after a failure, otherwise a reduce. The MapReduce ApplicationMaster
// also asks for these before the other maps.
func RerunOrReduce(v *state.View, id state.JobID, n state.NodeID) (Pick, bool) {
	if t := v.NextRerun(id); t != state.None && v.Fits(n, id, state.Map) {
		return Pick{id, t, state.Map, Rerun}, true
	}
	if t := v.NextReduce(id); t != state.None && v.Fits(n, id, state.Reduce) {
		return Pick{id, t, state.Reduce, Reduces}, true
	}
	return Pick{}, false
}

// firstRerunOrReduce finds the first job in FIFO order with a re-run map or a
// reduce that node n can hold, and returns that task.
func firstRerunOrReduce(v *state.View, n state.NodeID) (Pick, bool) {
	jobs := FIFOOrder(v)
	if !v.AnyRerun() {
		jobs.maps = nil
	}
	for {
		id, ok := jobs.Next()
		if !ok {
			return Pick{}, false
		}
		if p, ok := RerunOrReduce(v, id, n); ok {
			return p, true
		}
	}
}

// WantsMap reports whether the job has a waiting map that node n can hold.
func WantsMap(v *state.View, id state.JobID, n state.NodeID) bool {
	return v.Waiting(id, state.Map) > 0 && v.Fits(n, id, state.Map)
}

// MapPick returns the pick of a job's map, whose input is at this level from the
// node, as View.Nearest returns both.
func MapPick(id state.JobID, t state.TaskID, level state.Level) Pick {
	return Pick{id, t, state.Map, ReasonOf(level)}
}
