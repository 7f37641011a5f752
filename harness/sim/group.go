package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// group is a group of scheduling decisions that are carried out all or none, see
// sched.Decision. It exists until each of them has a container with a task or is
// given up.
type group struct {
	gen     uint32
	open    int32 // number of members whose container has neither a task nor been given up
	failed  bool  // a member was given up, or the time is over: the others are given up too
	members []member
}

// member is a decision of a group whose container has got a task.
type member struct {
	grant    grant
	task     state.TaskID
	attempt  int32
	gen      uint32 // generation of the attempt's place in memory
	number   int32  // number of the attempt among those at the task
	boundMs  int64
	expected bool // the task is the one that was expected
}

const groupIncomplete = "not all containers of the group came"

// carryGroup carries out the decisions of a group, all or none. It reports whether
// that was possible.
func (s *Sim) carryGroup(list []sched.Decision) bool {
	if !s.fitsAll(list) {
		s.r.Decisions.Refused += int64(len(list))
		return false
	}
	slot := s.jobs.slot[list[0].Job]
	s.recorder.group = s.r.Decisions.Made + 1
	defer func() { s.recorder.group = 0 }()
	if s.Actuator == Ideal {
		for _, d := range list {
			s.startAtOnce(slot, d)
		}
		return true
	}
	g := s.newGroup()
	s.groups[g].open = int32(len(list))
	s.events.Push(s.events.Now+sched.GroupLimitMs(s.Model), evGroup, g, s.groups[g].gen)
	for i, d := range list {
		before := int64(0) // a node gets one container at a time for a node label
		for _, other := range list[:i] {
			if other.Node == d.Node {
				before++
			}
		}
		s.ask(slot, d, g, before)
	}
	return true
}

// fitsAll reports whether all decisions of a group can be carried out together.
func (s *Sim) fitsAll(list []sched.Decision) bool {
	fit := true
	s.held = s.held[:0]
	for _, d := range list {
		if !s.possible(d) || d.Job != list[0].Job {
			fit = false
			break
		}
		held, err := s.state.Reserve(d.Job, d.Kind, d.Task, d.Node)
		if err != nil {
			fit = false
			break
		}
		s.held = append(s.held, held)
	}
	for _, held := range s.held {
		s.state.Cancel(held)
	}
	return fit
}

func (s *Sim) newGroup() uint32 {
	if k := len(s.spareGroups); k > 0 {
		g := s.spareGroups[k-1]
		s.spareGroups = s.spareGroups[:k-1]
		return g
	}
	s.groups = append(s.groups, group{})
	return uint32(len(s.groups) - 1)
}

// bindMember starts the task of a group's member whose container the
// ApplicationMaster has learnt of. With the last of them the group is complete.
func (s *Sim) bindMember(slot int32, x *grant, t state.TaskID, expected bool) {
	m := member{grant: *x, task: t, boundMs: s.events.Now, expected: expected}
	m.attempt = s.launch(slot, x.decision.Kind, t, x.decision.Node)
	m.gen = s.attempts[m.attempt].gen
	m.number = int32(s.attempts[m.attempt].number)
	g := &s.groups[m.grant.group]
	g.members = append(g.members, m)
	if g.open--; g.open > 0 {
		return
	}
	for i := range g.members {
		s.recorder.memberBound(&g.members[i], "honoured", "")
	}
	s.freeGroup(m.grant.group)
}

// groupGone notes that the container of a group's member was given up. The other
// members are given up too.
func (s *Sim) groupGone(id uint32) {
	s.failGroup(id)
	g := &s.groups[id]
	if g.open--; g.open == 0 {
		s.freeGroup(id)
	}
}

func (s *Sim) freeGroup(id uint32) {
	g := &s.groups[id]
	*g = group{gen: g.gen + 1, members: g.members[:0]}
	s.spareGroups = append(s.spareGroups, id)
}

// failGroup gives up all members of a group: the room of containers that have no
// task is free again, and attempts that have begun in others are killed. The
// containers without a task themselves still come, and are given back then.
func (s *Sim) failGroup(id uint32) {
	g := &s.groups[id]
	if g.failed {
		return
	}
	g.failed = true
	for i := range s.grants {
		x := &s.grants[i]
		if x.group != id {
			continue
		}
		s.state.Cancel(x.held)
		x.held = state.None
		if !s.view.Ended(x.decision.Job) {
			if !s.jobs.list[x.job].up { // the job's ApplicationMaster was lost, and asks for nothing
				s.state.Unask(x.decision.Job, x.decision.Kind)
			}
			s.nodes.noteRoom(x.decision.Node)
		}
	}
	for i := range g.members {
		if m := &g.members[i]; !s.view.Ended(m.grant.decision.Job) {
			s.cancelMember(m)
		}
	}
}

// cancelMember gives up a member of a failed group whose container has got a task.
func (s *Sim) cancelMember(m *member) {
	if m.expected {
		s.r.Decisions.AsExpected--
	} else {
		s.r.Decisions.Otherwise--
	}
	s.r.Decisions.Unused++
	s.recorder.memberBound(m, "cancelled", groupIncomplete)
	if s.attempts[m.attempt].gen == m.gen {
		s.freeze(m.attempt)
		s.stop(m.attempt, traces.Killed, true)
	}
	s.hears.decision(sched.Cancelled, m.grant.decision, m.task)
}
