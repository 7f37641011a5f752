package model

import (
	"heddle/harness/sched"
	"heddle/harness/state"
)

// fifo1 serves jobs in the order in which they came, as the default scheduler of
// Hadoop 1 does.
//
// Rule. Jobs go by priority, then submission. On a heartbeat of a node, maps
// first:
//
//	cap = min(slots, ceil(slots · remaining maps / map slots of the cluster))
//	as long as the node runs fewer maps than cap, for each job in order:
//	  a node-local map, else a rack-local one:  start it; the next slot
//	                                            (no more maps if the cluster is nearly full)
//	  else any map:                             start it; no more maps in this heartbeat
//
// Then at most one reduce, under a cap of the same kind. The cluster is nearly
// full when running maps + padding >= its map slots, with padding = 1 % of all
// maps of the jobs considered, at most the slots of one node, and 0 with three
// nodes or fewer. A job without reduces is not considered, and jobs are
// considered in order, each with all that come before it. If reduces are nearly
// full, only the first job with reduces is asked for one. No job waits for locality.
//
// Source. Hadoop 1.2.1: JobQueueTaskScheduler.assignTasks and exceededPadding;
// the order of jobs is JobQueueJobInProgressListener's.
//
// Parameters.
//
//	pad  share (0.01)  of a job's tasks to keep free (mapred.jobtracker.taskalloc.capacitypad)
//
// Differs. Setup and cleanup tasks, blacklists and speculative attempts are left
// out. Without slots, a node has as many as the smallest containers it can hold.
type fifo1 struct {
	Pad float64 `default:"0.01" unit:"share" max:"1" text:"of the tasks of jobs, kept free for failures when the cluster is nearly full"`

	beat   heartbeat
	cap    [2]int32 // by kind of task: how many tasks the node may run in this heartbeat
	full   [2]bool  // by kind of task: the cluster is nearly full
	noMore [2]bool  // by kind of task: nothing more starts in this heartbeat
}

// FIFO1Info describes the model fifo1.
var FIFO1Info = sched.Info{
	Name:    "fifo1",
	Use:     sched.ForClusters,
	Summary: "serves jobs in the order they came, on map slots and reduce slots, as Hadoop 1 does by default",
	Source:  "Hadoop 1.2.1 JobQueueTaskScheduler",
	Params:  sched.ParamsOf[fifo1](),
	Build: func(a sched.Args) (sched.Model, error) {
		m := sched.ValuesOf[fifo1](a)
		return sched.PerNode{NodeModel: &m}, nil
	},
}

func (m *fifo1) Name() string { return "fifo1" }

func (m *fifo1) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	if m.beat.starts(v, n) {
		m.begin(v, n)
	}
	if !m.noMore[state.Map] && v.Taken(n, state.Map) < m.cap[state.Map] {
		if p, ok := m.chooseMap(v, n); ok {
			return p, true
		}
	}
	m.noMore[state.Map] = true
	if m.noMore[state.Reduce] || v.Taken(n, state.Reduce) >= m.cap[state.Reduce] {
		return sched.Pick{}, false
	}
	m.noMore[state.Reduce] = true
	return m.chooseReduce(v, n)
}

// begin computes how many tasks the node may run in this heartbeat.
func (m *fifo1) begin(v *state.View, n state.NodeID) {
	for _, k := range kinds {
		remaining := int64(0)
		for _, id := range v.Active() {
			remaining += int64(unfinished(v, id, k))
		}
		all, taken := clusterSlots(v, k)
		m.cap[k] = loadCap(v.Slots(n, k), remaining, all)
		m.full[k] = m.nearlyFull(v, n, k, all, taken)
		m.noMore[k] = false
	}
}

func (m *fifo1) nearlyFull(v *state.View, n state.NodeID, k state.Kind, all, taken int64) bool {
	const smallCluster = 3 // nodes, up to which nothing is kept free
	needed := 0.0
	for _, id := range v.Active() {
		if v.Tasks(id, state.Reduce) == 0 {
			continue
		}
		needed += float64(v.Tasks(id, k))
		padding := int64(0)
		if v.NodesUp() > smallCluster {
			padding = min(int64(v.Slots(n, k)), int64(needed*m.Pad))
		}
		if taken+padding >= all {
			return true
		}
	}
	return false
}

func (m *fifo1) chooseMap(v *state.View, n state.NodeID) (sched.Pick, bool) {
	for _, id := range v.WaitingJobs(state.Map) {
		if !sched.WantsMap(v, id, n) {
			continue
		}
		if t := v.NextRerun(id); t != state.None {
			m.noMore[state.Map] = m.full[state.Map]
			return sched.Pick{Job: id, Task: t, Kind: state.Map, Reason: sched.Rerun}, true
		}
		t, level := v.Nearest(id, n, state.LevelNode, state.LevelOff)
		m.noMore[state.Map] = level == state.LevelOff || m.full[state.Map]
		return sched.MapPick(id, t, level), true
	}
	return sched.Pick{}, false
}

func (m *fifo1) chooseReduce(v *state.View, n state.NodeID) (sched.Pick, bool) {
	first := state.JobID(state.None) // in FIFO order, of the jobs with reduces
	for _, id := range v.Active() {
		if v.Tasks(id, state.Reduce) > 0 && (first == state.None || v.Priority(id) > v.Priority(first)) {
			first = id
		}
	}
	for _, id := range v.WaitingJobs(state.Reduce) {
		if m.full[state.Reduce] && id != first {
			break
		}
		if v.Fits(n, id, state.Reduce) {
			return sched.Pick{Job: id, Task: v.NextReduce(id), Kind: state.Reduce, Reason: sched.Reduces}, true
		}
	}
	return sched.Pick{}, false
}
