package sched

import "heddle/harness/state"

// JobPlanner is a scheduler model that plans the node of each map of a job
// before the job's first map starts. Drivers find out with As whether a model
// is a JobPlanner.
type JobPlanner interface {
	// PlanJob asks the scheduler model for a plan. It is called once for each
	// job, when the job's input is known and none of its tasks has started. It
	// returns false if the model has no plan for the job.
	PlanJob(v *state.View, job state.JobID) (SplitPlan, bool)
}

// SplitPlan lists the job's input splits in the order in which the
// ApplicationMaster is to read them. Each map's split is listed once.
type SplitPlan []PlannedSplit

// PlannedSplit is one input split and the only host that the split is to name.
type PlannedSplit struct {
	Split state.TaskID // number that the map which reads this split has in the job as submitted
	Node  state.NodeID
}
