package sim

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// preemption ends containers as the model says.
type preemption struct {
	by        sched.Preempter // nil: the model is none
	taken     int             // containers since succeeded changed or a job came
	of        []string        // queues of which they were
	succeeded int64
	endless   error // not nil: it goes on for ever
}

// mostTaken is how many containers are taken for each task that waits or runs, while none succeeds and no job is to come, before
// the simulation ends. Hadoop 3.4's monitor goes on: it takes a container that is larger than what is due, and its queue may be
// the first to which the room is offered again.
const mostTaken = 100

// preempt ends the containers that the model takes from jobs. The tasks in them run again. A node
// hears with its next heartbeat that a container of it is to end, and reports the end with the one after.
func (s *Sim) preempt() {
	p := &s.preemption
	if n := s.r.Attempts.Succeeded; n != p.succeeded || s.arrivals.left() {
		p.succeeded, p.taken, p.of = n, 0, p.of[:0]
	}
	for _, c := range p.by.Preempt(s.view, s.running, nil) {
		p.taken++
		if q := s.view.QueueName(s.view.Queue(c.Job)); !slices.Contains(p.of, q) {
			p.of = append(p.of, q)
		}
		if c.Master {
			s.loseMaster(s.jobs.slot[c.Job], traces.KilledByYARN)
			continue
		}
		id := int32(uint32(c.ID))
		x := reported{node: s.attempts.list[id].node, job: state.None, size: s.view.ContainerSize(c.Job, c.Kind)}
		s.attempts.kill(id, traces.KilledByYARN, true)
		s.masters.freeAtBeat(x, int64(s.Costs.NodeBeatMs))
	}
	if p.taken > mostTaken {
		s.endPreemption()
	}
}

// endPreemption ends the simulation if preemption would go on for ever.
func (s *Sim) endPreemption() {
	p, tasks := &s.preemption, int32(0)
	var asking []string
	for _, id := range s.view.Active() {
		for k := range state.Kind(2) {
			n := s.view.Waiting(id, k)
			if q := s.view.QueueName(s.view.Queue(id)); n > 0 && !slices.Contains(asking, q) {
				asking = append(asking, q)
			}
			tasks += n + s.view.Running(id, k)
		}
	}
	if int32(p.taken) > mostTaken*tasks {
		p.endless = fmt.Errorf("at %d ms preemption goes on for ever, as under YARN: %d containers were taken from jobs of %s since a task last "+
			"succeeded, for jobs of %s; let queues use more (max_ignored_over_capacity), give containers longer (max_wait_before_kill), "+
			"take less in a round (total_preemption_per_round), or nothing from a queue (disable_preemption)",
			s.events.Now, p.taken, strings.Join(p.of, ", "), strings.Join(asking, ", "))
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
