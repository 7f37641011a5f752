package sched

import "heddle/harness/state"

// JobPlanner is a model that plans the nodes of a job's maps before the first
// starts. Drivers find it by type assertion.
type JobPlanner interface {
	// PlanJob is called once for each job, when its input is known and none of
	// its tasks has started. It returns false if it has no plan for this job.
	PlanJob(v *state.View, job state.JobID) (SplitPlan, bool)
}

// SplitPlan is the job's splits in the order in which the ApplicationMaster is
// to read them. It has each of the job's maps once.
type SplitPlan []PlannedSplit

// PlannedSplit is one split and the only host that it is to name.
type PlannedSplit struct {
	Split state.TaskID // the map's number at submission
	Node  state.NodeID
}

// plan is a SplitPlan that a model gave for a job. The driver may not have
// carried it out.
type plan struct {
	splits  SplitPlan
	checked int32 // View.InputChanges when inForce was computed; below 0: never
	inForce bool
}

// isInForce reports whether the job's splits name the plan's nodes.
func (p *plan) isInForce(v *state.View, id state.JobID) bool {
	if len(p.splits) == 0 {
		return false
	}
	if moves := v.InputChanges(id); moves != p.checked {
		p.checked, p.inForce = moves, true
		for i, x := range p.splits {
			if hosts := v.SplitHosts(id, state.TaskID(i)); len(hosts) != 1 || hosts[0] != x.Node {
				p.inForce = false
			}
		}
	}
	return p.inForce
}
