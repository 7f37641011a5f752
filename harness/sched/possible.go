package sched

import (
	"fmt"

	"heddle/harness/state"
)

// Possible says why a decision cannot be carried out, nil if it can.
func Possible(v *state.View, d Decision) error {
	switch {
	case d.Job < 0 || int(d.Job) >= v.Jobs() || d.Node < 0 || int(d.Node) >= v.Nodes():
		return fmt.Errorf("decision names job %d of %d, node %d of %d", d.Job, v.Jobs(), d.Node, v.Nodes())
	case !v.Fits(d.Node, d.Job, d.Kind):
		return fmt.Errorf("decision to start a %v of job %q on %s: the node is down or has only %v free",
			d.Kind, v.JobName(d.Job), v.NodeName(d.Node), v.Free(d.Node))
	case v.Waiting(d.Job, d.Kind) == 0:
		return fmt.Errorf("decision to start a %v of job %q: none waits", d.Kind, v.JobName(d.Job))
	case d.Task == state.None:
		return nil
	case d.Task < 0 || int32(d.Task) >= v.Tasks(d.Job, state.Map)+v.Tasks(d.Job, state.Reduce) || !v.IsWaiting(d.Job, d.Task):
		return fmt.Errorf("decision to start task %d of job %q: it does not wait", d.Task, v.JobName(d.Job))
	}
	if k, _ := v.Index(d.Job, d.Task); k != d.Kind {
		return fmt.Errorf("decision to start task %d of job %q as a %v: it is a %v", d.Task, v.JobName(d.Job), d.Kind, k)
	}
	return nil
}
