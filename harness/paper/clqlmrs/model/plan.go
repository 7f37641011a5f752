package model

import (
	"heddle/harness/sched"
	"heddle/harness/state"
)

// plan is a SplitPlan (a host for each split) that a scheduler model made for a
// job. It may be that the driver has not rewritten the job's splits to it.
type plan struct {
	splits  sched.SplitPlan
	checked int32 // value of View.InputChanges when inForce was computed; below 0: not computed yet
	inForce bool
}

// isInForce reports whether the job's splits name the nodes of the plan, so
// that the driver has carried the plan out.
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
