package sched

import "heddle/harness/state"

// JobPlanner is a model that plans a job's maps before the first starts.
// Drivers find it by type assertion.
type JobPlanner interface {
	// PlanJob is asked once a job, when its input is known and nothing of it
	// has started; false: no plan for this one.
	PlanJob(v *state.View, job state.JobID) (SplitPlan, bool)
}

// SplitPlan is what an ApplicationMaster is to read: its map i gets the i-th
// entry. Each of the job's maps is in it once.
type SplitPlan []PlannedSplit

// PlannedSplit is a split and the one host that it names.
type PlannedSplit struct {
	Split state.TaskID // the map's number as submitted
	Node  state.NodeID
}

// plan is a SplitPlan that a model gave for a job, which may have been carried
// out or not.
type plan struct {
	splits  SplitPlan
	checked int32 // View.Moves when inForce was found; below 0: never
	inForce bool
}

// holds says whether the job's splits name the plan's nodes.
func (p *plan) holds(v *state.View, id state.JobID) bool {
	if len(p.splits) == 0 {
		return false
	}
	if moves := v.Moves(id); moves != p.checked {
		p.checked, p.inForce = moves, true
		for i, x := range p.splits {
			if hosts := v.SplitHosts(id, state.TaskID(i)); len(hosts) != 1 || hosts[0] != x.Node {
				p.inForce = false
			}
		}
	}
	return p.inForce
}
