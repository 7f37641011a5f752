package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
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
func (cs *containers) carryGroup(list []sched.Decision) bool {
	if !cs.fitsAll(list) {
		cs.r.Decisions.Refused += int64(len(list))
		return false
	}
	slot := cs.jobs.slot[list[0].Job]
	cs.recorder.group = cs.r.Decisions.Made + 1
	defer func() { cs.recorder.group = 0 }()
	if cs.Actuator == Ideal {
		for _, d := range list {
			cs.startAtOnce(slot, d)
		}
		return true
	}
	g := cs.newGroup()
	cs.groups[g].open = int32(len(list))
	cs.events.Push(cs.events.Now+sched.GroupLimitMs(cs.Model), evGroup, g, cs.groups[g].gen)
	for i, d := range list {
		before := int64(0) // a node gets one container at a time for a node label
		for _, other := range list[:i] {
			if other.Node == d.Node {
				before++
			}
		}
		cs.ask(slot, d, g, before)
	}
	return true
}

// fitsAll reports whether all decisions of a group can be carried out together.
func (cs *containers) fitsAll(list []sched.Decision) bool {
	fit := true
	cs.held = cs.held[:0]
	for _, d := range list {
		if !cs.possible(d) || d.Job != list[0].Job {
			fit = false
			break
		}
		held, err := cs.state.Reserve(d.Job, d.Kind, d.Task, d.Node)
		if err != nil {
			fit = false
			break
		}
		cs.held = append(cs.held, held)
	}
	for _, held := range cs.held {
		cs.state.Cancel(held)
	}
	return fit
}

func (cs *containers) newGroup() uint32 {
	if k := len(cs.spareGroups); k > 0 {
		g := cs.spareGroups[k-1]
		cs.spareGroups = cs.spareGroups[:k-1]
		return g
	}
	cs.groups = append(cs.groups, group{})
	return uint32(len(cs.groups) - 1)
}

// bindMember starts the task of a group's member whose container the
// ApplicationMaster has learnt of. With the last of them the group is complete.
func (cs *containers) bindMember(slot int32, x *grant, t state.TaskID, expected bool) {
	m := member{grant: *x, task: t, boundMs: cs.events.Now, expected: expected}
	m.attempt = cs.attempts.launch(slot, x.decision.Kind, t, x.decision.Node)
	m.gen = cs.attempts.list[m.attempt].gen
	m.number = int32(cs.attempts.list[m.attempt].number)
	g := &cs.groups[m.grant.group]
	g.members = append(g.members, m)
	if g.open--; g.open > 0 {
		return
	}
	for i := range g.members {
		cs.recorder.memberBound(&g.members[i], "honoured", "")
	}
	cs.freeGroup(m.grant.group)
}

// groupGone notes that the container of a group's member was given up. The other
// members are given up too.
func (cs *containers) groupGone(id uint32) {
	cs.failGroup(id)
	g := &cs.groups[id]
	if g.open--; g.open == 0 {
		cs.freeGroup(id)
	}
}

func (cs *containers) freeGroup(id uint32) {
	g := &cs.groups[id]
	*g = group{gen: g.gen + 1, members: g.members[:0]}
	cs.spareGroups = append(cs.spareGroups, id)
}

// failGroup gives up all members of a group: the room of containers that have no
// task is free again, and attempts that have begun in others are killed. The
// containers without a task themselves still come, and are given back then.
func (cs *containers) failGroup(id uint32) {
	g := &cs.groups[id]
	if g.failed {
		return
	}
	g.failed = true
	for i := range cs.grants {
		x := &cs.grants[i]
		if x.group != id {
			continue
		}
		cs.state.Cancel(x.held)
		x.held = state.None
		if !cs.view.Ended(x.decision.Job) {
			if !cs.jobs.list[x.job].up { // the job's ApplicationMaster was lost, and asks for nothing
				cs.state.Unask(x.decision.Job, x.decision.Kind)
			}
			cs.nodes.noteRoom(x.decision.Node)
		}
	}
	for i := range g.members {
		if m := &g.members[i]; !cs.view.Ended(m.grant.decision.Job) {
			cs.cancelMember(m)
		}
	}
}

// cancelMember gives up a member of a failed group whose container has got a task.
func (cs *containers) cancelMember(m *member) {
	if m.expected {
		cs.r.Decisions.AsExpected--
	} else {
		cs.r.Decisions.Otherwise--
	}
	cs.r.Decisions.Unused++
	cs.recorder.memberBound(m, "cancelled", groupIncomplete)
	if cs.attempts.list[m.attempt].gen == m.gen {
		cs.attempts.kill(m.attempt, "the other containers of its group did not come", true)
	}
	cs.hears.decision(sched.Cancelled, m.grant.decision, m.task)
}
