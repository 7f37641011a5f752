package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// preempt ends the containers that the model takes from jobs. The tasks in them run again. A node
// hears with its next heartbeat that a container of it is to end, and reports the end with the one after.
func (s *Sim) preempt() {
	for _, c := range s.preempter.Preempt(s.view, s.running, nil) {
		if c.Master {
			s.loseMaster(s.jobs.slot[c.Job], traces.KilledByYARN)
			continue
		}
		id := int32(uint32(c.ID))
		x := reported{node: s.attempts.list[id].node, job: state.None, size: s.view.ContainerSize(c.Job, c.Kind)}
		s.attempts.kill(id, traces.KilledByYARN, true)
		s.masters.freeAtBeat(x, int64(s.Costs.NodeBeatMs))
	}
}

// running returns the containers of a job that run.
func (s *Sim) running(id state.JobID) (list []sched.Container) {
	slot := s.jobs.slot[id]
	if s.jobs.list[slot].amNode != state.None {
		list = append(list, sched.Container{ID: 1<<63 | uint64(id), Job: id, Master: true})
	}
	for i := range s.attempts.list {
		if a := &s.attempts.list[i]; a.job == slot && !a.is(dead) {
			list = append(list, sched.Container{ID: uint64(a.gen)<<32 | uint64(i), Job: id, Kind: a.kind, StartMs: a.startMs})
		}
	}
	return list
}
