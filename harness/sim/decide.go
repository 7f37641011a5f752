package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// grant is a container without a task, which the scheduler allocated to a job.
type grant struct {
	next     uint32
	job      int32
	held     state.ReservationID
	expected state.TaskID
	branch   state.Branch // the ApplicationMaster's rule by which the map that is expected in the container was chosen
	decision sched.Decision
	group    uint32 // index in Sim.groups of the group that the decision belongs to; 0: none
	id       int64  // number of the scheduling decision that asked for the container
	askedMs  int64
}

// queue is a linked list of allocated containers that have no task yet. Its
// fields are the indexes of the first and last one; index 0 means none.
type queue struct{ first, last uint32 }

// nextBeat returns the node and time of the next heartbeat that can change something:
// the node has room, and a task or ApplicationMaster waits for a container. To a scheduler
// model that is a sched.EveryHeartbeat more heartbeats matter.
func (s *Sim) nextBeat() (state.NodeID, int64) {
	return s.nodes.nextBeat(s.hears.everyBeat || len(s.view.WaitingJobs(state.Map)) > 0 || len(s.view.WaitingJobs(state.Reduce)) > 0 || len(s.queued) > 0 || len(s.wanted) > 0)
}

// beat handles a heartbeat of node n: the scheduler model decides which tasks
// start there.
func (s *Sim) beat(n state.NodeID) {
	s.nodes.beatPassed(n)
	s.r.Beats++
	if s.nodes.list[n].lost {
		return
	}
	free := s.view.HasRoom(n) && !s.nodes.list[n].busy // a node whose node label is just being set for one job takes no other job
	if free && len(s.queued) > 0 {
		s.placeMasters(n)
		free = s.view.HasRoom(n)
	}
	if free {
		s.recorder.beat(n)
		s.hearBeat(n)
		s.offers.Heartbeat(s.Model, s.view, n, s.carry)
		if len(s.wanted) > 0 {
			s.placeSpeculative(n)
		}
	} else if s.hears.full {
		s.hearBeat(n)
	}
	s.nodes.noteRoom(n)
}

// hearBeat tells the scheduler model of a heartbeat of node n, if it is an observer.
func (s *Sim) hearBeat(n state.NodeID) {
	if s.hears.observer == nil {
		return
	}
	var sample *traces.NodeSample
	if s.load != nil {
		sample = s.load.nodes[n].sample
	}
	s.hears.beat(n, s.events.Now, sample)
}

// tick handles a tick of a clock. A model does not hear the one after the end of the
// last job.
func (s *Sim) tick(i uint32) {
	s.clocks.each[i].set = false
	switch {
	case i == clockLoad:
		s.averageLoad()
	case i == clockSample:
		s.sampleNodes()
	case s.jobs.live > 0:
		s.hears.ticker.Tick(s.view)
	}
	if s.jobs.live > 0 {
		s.clocks.await(i)
	}
}

// carryOut carries out a scheduling decision. It reports whether that was
// possible.
func (s *Sim) carryOut(d sched.Decision) bool {
	if !s.possible(d) {
		s.r.Decisions.Refused++
		return false
	}
	slot := s.jobs.slot[d.Job]
	if s.Actuator == Ideal {
		return s.startAtOnce(slot, d)
	}
	return s.ask(slot, d, 0, 0)
}

// possible reports whether a decision names a job that runs, and a node that is not
// busy with another decision.
func (s *Sim) possible(d sched.Decision) bool {
	return uint(d.Job) < uint(len(s.jobs.slot)) && uint(d.Node) < uint(len(s.nodes.list)) && !s.nodes.list[d.Node].busy && !s.view.Ended(d.Job)
}

// ask has the cluster allocate a container for a decision. If a node label gives the
// node to the job, the container comes after so many others that the node gets for
// the decision's group before. It reports whether the decision was possible.
func (s *Sim) ask(slot int32, d sched.Decision, group uint32, before int64) bool {
	var t state.TaskID
	branch := state.BindNone
	if d.Kind == state.Reduce {
		t = s.view.NextReduce(d.Job)
	} else {
		t, branch = s.view.WouldBind(d.Job, d.Node)
	}
	s.recorder.look(d, t)
	held, err := s.state.Reserve(d.Job, d.Kind, t, d.Node)
	if err != nil {
		s.r.Decisions.Refused++
		return false
	}
	s.events.ProgressMs = s.events.Now
	s.r.Decisions.Made++
	i := s.newGrant()
	s.grants[i] = grant{job: slot, held: held, expected: t, branch: branch, decision: d, id: s.r.Decisions.Made, askedMs: s.events.Now, group: group}
	j := &s.jobs.list[slot]
	s.recorder.decided(j, &s.grants[i])
	if s.Actuator == Native {
		s.hear(slot, i)
		return true
	}
	s.nodes.list[d.Node].busy = true
	s.events.Push(s.events.Now+(before+1)*s.draws.labelMs(s.Costs.LabelMs, j, t), evGrant, i, 0)
	return true
}

// startAtOnce starts the task that a scheduling decision names, without a wait
// for heartbeats. If the decision names no task, it starts the task that the
// ApplicationMaster would choose.
func (s *Sim) startAtOnce(slot int32, d sched.Decision) bool {
	j := &s.jobs.list[slot]
	t := d.Task
	if t == state.None {
		if t, _ = s.view.WouldBind(d.Job, d.Node); d.Kind == state.Reduce {
			t = s.view.NextReduce(d.Job)
		}
	}
	s.recorder.look(d, t)
	if !s.view.Fits(d.Node, d.Job, d.Kind) || t == state.None || s.state.Start(d.Job, t, d.Node) != nil {
		s.r.Decisions.Refused++
		return false
	}
	s.events.ProgressMs = s.events.Now
	s.r.Decisions.Made++
	s.r.Decisions.AsExpected++
	s.recorder.decidedAtOnce(s.r.Decisions.Made, j, d, t)
	s.launch(slot, d.Kind, t, d.Node)
	s.hears.decision(sched.Confirmed, d, t)
	return true
}

func (s *Sim) newGrant() uint32 {
	if i := s.spareGrant; i != 0 {
		s.spareGrant = s.grants[i].next
		return i
	}
	s.grants = append(s.grants, grant{})
	return uint32(len(s.grants) - 1)
}

// granted handles the arrival of a container on a node that a node label gave
// to a job. The scheduler may then decide on this node again.
func (s *Sim) granted(i uint32) {
	g := &s.grants[i]
	n := g.decision.Node
	s.nodes.list[n].busy = false
	s.nodes.noteRoom(n)
	switch {
	case s.view.Ended(g.decision.Job):
		s.freeGrant(i)
		return
	case !s.view.Free(n).Holds(state.Resource{}), // the node's capacity fell after the decision, so YARN has no room for the container
		g.group != 0 && s.groups[g.group].failed:
		s.cancelGrant(g)
		s.freeGrant(i)
		return
	case !s.jobs.list[g.job].up: // the job's ApplicationMaster was lost before the container came, so the container is given back
		s.state.Cancel(g.held)
		s.state.Unask(g.decision.Job, g.decision.Kind)
		s.nodes.noteRoom(n)
		s.r.Decisions.Unused++
		s.freeGrant(i)
		return
	}
	s.hear(g.job, i)
}

// freeGrant frees the place in memory of a container that has got a task or was
// given up.
func (s *Sim) freeGrant(i uint32) {
	g := &s.grants[i]
	group := g.group
	g.group = 0
	g.next, s.spareGrant = s.spareGrant, i
	if group != 0 {
		s.groupGone(group)
	}
}

// dropGrants gives back to the cluster the job's containers that have no task
// yet.
func (s *Sim) dropGrants(j *job) {
	for i := j.granted.first; i != 0; {
		g := &s.grants[i]
		n := g.decision.Node
		s.state.Cancel(g.held)
		s.nodes.noteRoom(n)
		s.r.Decisions.Unused++
		next := g.next
		s.freeGrant(i)
		i = next
	}
	j.granted = queue{}
}

// hear queues an allocated container for the job's ApplicationMaster. The
// ApplicationMaster learns of the container at its next heartbeat.
func (s *Sim) hear(slot int32, i uint32) {
	j := &s.jobs.list[slot]
	s.grants[i].next = 0
	if j.granted.first == 0 {
		j.granted.first = i
	} else {
		s.grants[j.granted.last].next = i
	}
	j.granted.last = i
	if s.Costs.AMBeatMs == 0 {
		s.bind(slot)
		return
	}
	s.callBeat(slot)
}

// bind assigns tasks to the containers that a job's ApplicationMaster has just
// learnt of.
//
// When the scheduler decided on each container, package state already chose a
// map for it, by the ApplicationMaster's rules in this order: a map that
// failed before, a map whose split is on the container's host, a map whose
// split is in the host's rack, any map. The real ApplicationMaster applies
// each rule to all containers before it tries the next rule. If the containers
// are sorted by the rule that chose their maps, both ways give the same maps.
// Otherwise bind chooses the maps of all these containers again.
func (s *Sim) bind(slot int32) {
	j := &s.jobs.list[slot]
	first := j.granted.first
	if first == 0 {
		return
	}
	j.granted = queue{}
	branch := state.BindNone
	for i := first; i != 0; i = s.grants[i].next {
		if g := &s.grants[i]; g.decision.Kind == state.Map {
			if g.branch < branch {
				s.rebind(j, first)
				break
			}
			branch = g.branch
		}
	}
	for i := first; i != 0; {
		g := &s.grants[i]
		next := g.next
		_, k, t, n, ok := s.state.Reservation(g.held)
		d, expected := g.decision, g.expected
		if ok && t != state.None && s.view.Up(n) && s.state.Confirm(g.held, t) == nil {
			if t == expected {
				s.r.Decisions.AsExpected++
			} else {
				s.r.Decisions.Otherwise++
			}
			if g.group != 0 {
				s.bindMember(slot, g, t, t == expected)
				g.group = 0
				s.freeGrant(i)
			} else {
				s.recorder.bound(j, g, t)
				s.freeGrant(i)
				s.launch(slot, k, t, n)
			}
			s.hears.decision(sched.Confirmed, d, t)
		} else {
			s.cancelGrant(g)
			s.freeGrant(i)
		}
		i = next
	}
}

// cancelGrant gives back the container of a decision that no task came of.
func (s *Sim) cancelGrant(g *grant) {
	s.state.Cancel(g.held)
	s.nodes.noteRoom(g.decision.Node)
	s.r.Decisions.Unused++
	s.recorder.bound(&s.jobs.list[g.job], g, state.None)
	s.hears.decision(sched.Cancelled, g.decision, g.expected)
}

// rebind chooses the maps of a job's new containers again. Maps that failed
// before come first, then maps with a split on the container's host, then maps
// with a split in the rack, then any map.
func (s *Sim) rebind(j *job, first uint32) {
	for i := first; i != 0; i = s.grants[i].next {
		if g := &s.grants[i]; g.decision.Kind == state.Map {
			s.state.Unbind(g.held)
		}
	}
	for _, branch := range [...]state.Branch{state.BindRerun, state.BindNode, state.BindRack, state.BindAny} {
		for i := first; i != 0; i = s.grants[i].next {
			g := &s.grants[i]
			if _, _, expected, n, ok := s.state.Reservation(g.held); !ok || expected != state.None || !s.view.Up(n) {
				continue
			}
			if t, b := s.view.WouldBind(j.id, g.decision.Node); t != state.None && b <= branch {
				s.state.Bind(g.held, t)
			}
		}
	}
}
