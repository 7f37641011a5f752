package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
)

// containers carry out the scheduler model's decisions: a container is allocated, its job's
// ApplicationMaster learns of it and gives it a task.
type containers struct {
	*base
	masters     *masters
	attempts    *attempts
	grants      []grant // index 0 is not used
	spareGrant  uint32
	groups      []group // index 0 is not used
	spareGroups []uint32
	held        []state.ReservationID // memory for fitsAll
}

// begin has no container without a task.
func (cs *containers) begin(b *base, am *masters, at *attempts) {
	*cs = containers{
		base:        b,
		masters:     am,
		attempts:    at,
		grants:      append(cs.grants[:0], grant{}),
		groups:      append(cs.groups[:0], group{}),
		spareGroups: cs.spareGroups[:0],
		held:        cs.held,
	}
}

// grant is a container without a task, which the scheduler allocated to a job.
type grant struct {
	next     uint32
	job      int32
	held     state.ReservationID
	expected state.TaskID
	branch   state.Branch // the ApplicationMaster's rule by which the map that is expected in the container was chosen
	decision sched.Decision
	group    uint32 // index in containers.groups of the group that the decision belongs to; 0: none
	id       int64  // number of the scheduling decision that asked for the container
	askedMs  int64
}

// queue is a linked list of allocated containers that have no task yet. Its
// fields are the indexes of the first and last one; index 0 means none.
type queue struct{ first, last uint32 }

// carryOut carries out a scheduling decision. It reports whether that was
// possible.
func (cs *containers) carryOut(d sched.Decision) bool {
	if !cs.possible(d) {
		cs.r.Decisions.Refused++
		return false
	}
	slot := cs.jobs.slot[d.Job]
	if d.Reason == sched.Master {
		return cs.masters.start(slot, d.Node)
	}
	if d.Task == sched.Surplus {
		return cs.surplus(slot, d)
	}
	if cs.Actuator == Ideal {
		return cs.startAtOnce(slot, d)
	}
	return cs.ask(slot, d, 0, 0)
}

// possible reports whether a decision names a job that runs, and a node that is not
// busy with another decision.
func (cs *containers) possible(d sched.Decision) bool {
	return uint(d.Job) < uint(len(cs.jobs.slot)) && uint(d.Node) < uint(len(cs.nodes.list)) && !cs.nodes.busy.Has(d.Node) &&
		!cs.view.Ended(d.Job)
}

// ask has the cluster allocate a container for a decision. If a node label gives the
// node to the job, the container comes after so many others that the node gets for
// the decision's group before. It reports whether the decision was possible.
func (cs *containers) ask(slot int32, d sched.Decision, group uint32, before int64) bool {
	var t state.TaskID
	branch := state.BindNone
	if d.Kind == state.Reduce {
		t = cs.view.NextReduce(d.Job)
	} else {
		t, branch = cs.view.WouldBind(d.Job, d.Node)
	}
	cs.recorder.look(d, t)
	held, err := cs.state.Reserve(d.Job, d.Kind, t, d.Node)
	if err != nil {
		cs.r.Decisions.Refused++
		return false
	}
	cs.events.ProgressMs = cs.events.Now
	cs.r.Decisions.Made++
	i := cs.newGrant()
	cs.grants[i] = grant{
		job:      slot,
		held:     held,
		expected: t,
		branch:   branch,
		decision: d,
		id:       cs.r.Decisions.Made,
		askedMs:  cs.events.Now,
		group:    group,
	}
	j := &cs.jobs.list[slot]
	cs.recorder.decided(j, &cs.grants[i])
	if cs.Actuator == Native {
		cs.hear(slot, i)
		return true
	}
	cs.nodes.busy.Add(d.Node)
	cs.events.Push(cs.events.Now+(before+1)*cs.draws.labelMs(cs.Costs.LabelMs, j, t), evGrant, i, 0)
	return true
}

// startAtOnce starts the task that a scheduling decision names, without a wait
// for heartbeats. If the decision names no task, it starts the task that the
// ApplicationMaster would choose.
func (cs *containers) startAtOnce(slot int32, d sched.Decision) bool {
	j := &cs.jobs.list[slot]
	t := d.Task
	if t == state.None {
		if t, _ = cs.view.WouldBind(d.Job, d.Node); d.Kind == state.Reduce {
			t = cs.view.NextReduce(d.Job)
		}
	}
	cs.recorder.look(d, t)
	if !cs.view.Fits(d.Node, d.Job, d.Kind) || t == state.None || cs.state.Start(d.Job, t, d.Node) != nil {
		cs.r.Decisions.Refused++
		return false
	}
	cs.events.ProgressMs = cs.events.Now
	cs.r.Decisions.Made++
	cs.r.Decisions.AsExpected++
	cs.recorder.decidedAtOnce(cs.r.Decisions.Made, j, d, t)
	cs.attempts.launch(slot, d.Kind, t, d.Node)
	cs.hears.decision(sched.Confirmed, d, t)
	return true
}

// surplus has a job get a container that it does not want any more. Its ApplicationMaster hears of it
// at its next heartbeat, and gives it back with the one after.
func (cs *containers) surplus(slot int32, d sched.Decision) bool {
	j := &cs.jobs.list[slot]
	x := reported{d.Node, d.Job, j.size[d.Kind], false}
	if !j.up || !cs.view.Free(x.node).Holds(x.size) {
		return false
	}
	cs.r.Decisions.Made++
	cs.r.Decisions.Unused++
	cs.state.Hold(x.node, x.job, x.size)
	cs.masters.freeAt(x, cs.masters.beatOf(j)+int64(cs.Costs.AMBeatMs))
	return true
}

func (cs *containers) newGrant() uint32 {
	if i := cs.spareGrant; i != 0 {
		cs.spareGrant = cs.grants[i].next
		return i
	}
	cs.grants = append(cs.grants, grant{})
	return uint32(len(cs.grants) - 1)
}

// granted handles the arrival of a container on a node that a node label gave
// to a job. The scheduler may then decide on this node again.
func (cs *containers) granted(i uint32) {
	g := &cs.grants[i]
	n := g.decision.Node
	cs.nodes.busy.Remove(n)
	cs.nodes.noteRoom(n)
	switch {
	case cs.view.Ended(g.decision.Job):
		cs.freeGrant(i)
		return
	case !cs.view.Free(n).Holds(state.Resource{}), // the node's capacity fell after the decision, so YARN has no room for the container
		g.group != 0 && cs.groups[g.group].failed:
		cs.cancelGrant(g)
		cs.freeGrant(i)
		return
	case !cs.jobs.list[g.job].up: // the job's ApplicationMaster was lost before the container came, so the container is given back
		cs.state.Cancel(g.held)
		cs.state.Unask(g.decision.Job, g.decision.Kind)
		cs.nodes.noteRoom(n)
		cs.r.Decisions.Unused++
		cs.freeGrant(i)
		return
	}
	cs.hear(g.job, i)
}

// freeGrant frees the place in memory of a container that has got a task or was
// given up.
func (cs *containers) freeGrant(i uint32) {
	g := &cs.grants[i]
	group := g.group
	g.group = 0
	g.next, cs.spareGrant = cs.spareGrant, i
	if group != 0 {
		cs.groupGone(group)
	}
}

// drop gives back to the cluster the job's containers that have no task
// yet.
func (cs *containers) drop(j *job) {
	for i := j.granted.first; i != 0; {
		g := &cs.grants[i]
		n := g.decision.Node
		cs.state.Cancel(g.held)
		cs.nodes.noteRoom(n)
		cs.r.Decisions.Unused++
		next := g.next
		cs.freeGrant(i)
		i = next
	}
	j.granted = queue{}
}

// hear queues an allocated container for the job's ApplicationMaster. The
// ApplicationMaster learns of the container at its next heartbeat.
func (cs *containers) hear(slot int32, i uint32) {
	j := &cs.jobs.list[slot]
	cs.grants[i].next = 0
	if j.granted.first == 0 {
		j.granted.first = i
	} else {
		cs.grants[j.granted.last].next = i
	}
	j.granted.last = i
	if cs.Costs.AMBeatMs == 0 {
		cs.bind(slot)
		return
	}
	cs.masters.callBeat(slot)
}

// bind assigns tasks to the containers that a job's ApplicationMaster has just
// learnt of.
//
// When the scheduler decided on each container, package state already chose a
// map for it, by the ApplicationMaster's rules in this order: a map that
// failed before, a map whose split is on the container's host, a map whose
// split is in the host's rack, any map. The real ApplicationMaster applies
// each rule to all containers before it tries the next rule. Both ways give the
// same maps if the containers are sorted by the rule that chose their maps, and
// if at most the last got a map by one of the last two rules: an earlier one
// may have got a map of a later one's host. Otherwise bind chooses the maps of
// all these containers again.
func (cs *containers) bind(slot int32) {
	j := &cs.jobs.list[slot]
	first := j.granted.first
	if first == 0 {
		return
	}
	j.granted = queue{}
	branch := state.BindNone
	for i := first; i != 0; i = cs.grants[i].next {
		if g := &cs.grants[i]; g.decision.Kind == state.Map {
			if g.branch < branch || branch > state.BindNode {
				cs.rebind(j, first)
				break
			}
			branch = g.branch
		}
	}
	for i := first; i != 0; {
		g := &cs.grants[i]
		next := g.next
		_, k, t, n, ok := cs.state.Reservation(g.held)
		d, expected := g.decision, g.expected
		if ok && t != state.None && cs.view.Up(n) && cs.state.Confirm(g.held, t) == nil {
			if t == expected {
				cs.r.Decisions.AsExpected++
			} else {
				cs.r.Decisions.Otherwise++
			}
			if g.group != 0 {
				cs.bindMember(slot, g, t, t == expected)
				g.group = 0
				cs.freeGrant(i)
			} else {
				cs.recorder.bound(j, g, t)
				cs.freeGrant(i)
				cs.attempts.launch(slot, k, t, n)
			}
			cs.hears.decision(sched.Confirmed, d, t)
		} else {
			cs.cancelGrant(g)
			cs.freeGrant(i)
		}
		i = next
	}
}

// cancelGrant gives back the container of a decision that no task came of.
func (cs *containers) cancelGrant(g *grant) {
	cs.state.Cancel(g.held)
	cs.nodes.noteRoom(g.decision.Node)
	cs.r.Decisions.Unused++
	cs.recorder.bound(&cs.jobs.list[g.job], g, state.None)
	cs.hears.decision(sched.Cancelled, g.decision, g.expected)
}

// rebind chooses the maps of a job's new containers again. Maps that failed
// before come first, then maps with a split on the container's host, then maps
// with a split in the rack, then any map.
func (cs *containers) rebind(j *job, first uint32) {
	for i := first; i != 0; i = cs.grants[i].next {
		if g := &cs.grants[i]; g.decision.Kind == state.Map {
			cs.state.Unbind(g.held)
		}
	}
	for _, branch := range [...]state.Branch{state.BindRerun, state.BindNode, state.BindRack, state.BindAny} {
		for i := first; i != 0; i = cs.grants[i].next {
			g := &cs.grants[i]
			if _, _, expected, n, ok := cs.state.Reservation(g.held); !ok || expected != state.None || !cs.view.Up(n) {
				continue
			}
			if t, b := cs.view.WouldBind(j.id, g.decision.Node); t != state.None && b <= branch {
				cs.state.Bind(g.held, t)
			}
		}
	}
}
