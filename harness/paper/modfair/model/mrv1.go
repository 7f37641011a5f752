package model

import "heddle/harness/state"

// This file has what the schedulers of Hadoop 1 have in common: fifo1, fair1 and
// modfair. They give out map slots and reduce slots, see state.State.SetSlots,
// and look at one TaskTracker's heartbeat at a time.

var kinds = [...]state.Kind{state.Map, state.Reduce}

// heartbeat recognizes the heartbeat during which a model is asked. A model is
// asked again and again in one heartbeat, until it starts nothing more.
type heartbeat struct {
	at    int64
	node  state.NodeID
	begun bool
}

// starts reports whether this is the first question of a heartbeat of node n.
func (h *heartbeat) starts(v *state.View, n state.NodeID) bool {
	if h.begun && h.at == v.Now() && h.node == n {
		return false
	}
	h.at, h.node, h.begun = v.Now(), n, true
	return true
}

// clusterSlots returns how many slots for tasks of kind k all nodes that are up
// have together, and how many of them are taken.
func clusterSlots(v *state.View, k state.Kind) (all, taken int64) {
	for n := range state.NodeID(v.Nodes()) {
		if v.Up(n) {
			all += int64(v.Slots(n, k))
			taken += int64(v.Taken(n, k))
		}
	}
	return all, taken
}

// loadCap returns how many tasks a node with this many slots may run so that a
// cluster that is not full spreads its tasks evenly: slots · wanted / all,
// rounded up, and at most slots. The parameter wanted is how many tasks run or
// could run, and all is the number of slots in the cluster.
func loadCap(slots int32, wanted, all int64) int32 {
	if wanted >= all {
		return slots
	}
	return int32((int64(slots)*wanted + all - 1) / all)
}

// unfinished returns how many of a job's tasks of kind k run or wait. Reduces
// that the job has not asked for yet do not count.
func unfinished(v *state.View, id state.JobID, k state.Kind) int32 {
	return v.Waiting(id, k) + v.Running(id, k)
}

// jobPriority is one of the five priorities of a job in Hadoop 1.
type jobPriority int8

const (
	veryLow jobPriority = iota
	low
	normal
	high
	veryHigh
)

func (p jobPriority) String() string {
	return [...]string{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"}[p]
}

// weight returns the factor by which a priority raises a job's fair share
// (FairScheduler.getPriorityFactor).
func (p jobPriority) weight() float64 { return [...]float64{0.25, 0.5, 1, 2, 4}[p] }

// submittedPriority converts a job's priority in YARN to one of Hadoop 1's: 0 is
// NORMAL, 1 is HIGH, all above are VERY_HIGH, and so on below.
func submittedPriority(v *state.View, id state.JobID) jobPriority {
	return jobPriority(min(max(v.Priority(id), -2), 2) + int32(normal))
}
