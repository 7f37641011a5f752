package sim

import (
	"cmp"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// Kinds of event in the simulation, such as a fault or the start of an
// ApplicationMaster. Those before evFault may change nothing: a job that can
// never run must not keep the simulation going by them.
const (
	evAMBeat kernel.Kind = iota
	evSpeculate
	evTick
	evCapacityAgain // a change of a timetable that never ends
	evFault
	evAsk
	evAdmit
	evAMUp
	evGrant
	evEndJob
	evStarted
	evExpire
	evFail
	evKill
	evCopy
	evCleanUp
	evCapacity
	evGroup
	evFreed
	// What follows comes first within a millisecond, see package kernel.
	evRead // a map begins to read from its own node, if it is not booked
	evPhase
	evBooked
)

// handle carries out an event of the simulation. It ignores an event that was
// meant for a job or attempt that has ended.
func (s *Sim) handle(e kernel.Event) {
	id := int32(e.ID)
	switch e.Kind() {
	case kernel.FlowEnd:
		if e.ID >= masterTag {
			s.masters.upBeside(int32(e.ID - masterTag))
			break
		}
		s.attempts.flowEnded(e.ID)
	case evPhase, evRead, evBooked:
		s.attempts.timeUp(e)
	case evStarted:
		if a := &s.attempts.list[id]; e.IsFor(a.gen) {
			s.recorder.attemptStarted(a)
		}
	case evFail:
		if slot := s.attempts.list[id].job; e.IsFor(s.attempts.list[id].gen) && s.attempts.fail(id) {
			s.failJob(slot)
		}
	case evKill, evCopy:
		s.handleRecorded(e, id)
	case evGrant:
		s.containers.granted(e.ID)
	case evFault, evExpire, evCleanUp, evCapacity, evCapacityAgain:
		s.handleNode(e, id)
	case evTick:
		s.tick(e.ID)
	case evFreed:
		s.masters.free(s.masters.ended[id])
		s.masters.spare = append(s.masters.spare, e.ID)
	case evGroup:
		if e.IsFor(s.containers.groups[id].gen) {
			s.containers.failGroup(e.ID)
		}
	default:
		if e.IsFor(s.jobs.list[id].gen) {
			s.handleJob(e.Kind(), id)
		}
	}
}

// handleRecorded kills or doubles an attempt as one was when it was recorded.
func (s *Sim) handleRecorded(e kernel.Event, id int32) {
	a := &s.attempts.list[id]
	switch {
	case !e.IsFor(a.gen):
	case e.Kind() == evKill:
		s.attempts.kill(id, "as recorded", true)
	case !a.is(doubled):
		s.speculation.ask(id)
	}
}

// handleNode carries out an event of one node or more.
func (s *Sim) handleNode(e kernel.Event, id int32) {
	switch e.Kind() {
	case evFault:
		s.fault(&s.Faults[id])
	case evExpire:
		if e.IsFor(s.nodes.losses[id]) {
			s.expire(state.NodeID(id))
		}
	case evCleanUp:
		s.cleanUp(state.NodeID(id), e.Generation())
	default:
		n, left := s.nodes.changeCapacity(int(id))
		s.recorder.capacity(n, left)
		if s.CapacityKills {
			s.attempts.killAbove(n)
		}
	}
}

// handleJob carries out an event of a job.
func (s *Sim) handleJob(k kernel.Kind, slot int32) {
	switch k {
	case evAdmit:
		s.admit(slot)
	case evAMUp:
		s.masters.up(slot)
	case evAMBeat, evAsk:
		s.masterBeat(slot)
	case evEndJob:
		s.endJob(slot)
	case evSpeculate:
		s.speculation.scan(slot)
	}
}

// admit takes a job, or ends it if the model refuses it.
func (s *Sim) admit(slot int32) {
	if err := s.masters.admit(slot); err != nil {
		j := &s.jobs.list[slot]
		s.r.Jobs[j.id].Failed, s.r.Jobs[j.id].Refused = true, err.Error()
		j.ended = true
		s.endJob(slot)
	}
}

// arrive submits the job whose time has come, and reads the next.
func (s *Sim) arrive() error {
	if err := s.start(s.arrivals.take()); err != nil {
		return err
	}
	return s.arrivals.read()
}

// start submits a job.
func (s *Sim) start(x *Job) error {
	if n := s.jobs.tasks + int64(x.Maps) + int64(x.Reduces); n > maxTasks {
		return fmt.Errorf(
			"submit job %q: with it, jobs that have not ended have %d tasks, and the limit is %d: have fewer jobs at a time, or larger blocks",
			x.Name,
			n,
			maxTasks,
		)
	}
	id, replicas, err := s.splits.submit(x)
	if err != nil {
		return err
	}
	slot := s.jobs.add(id, x, replicas)
	j := &s.jobs.list[slot]
	if s.load != nil {
		loads, ok := s.Loads[x.Costs]
		if !ok {
			loads = s.Loads[cmp.Or(x.Workload, x.Name)]
		}
		s.load.submitted(slot, loads)
	}
	j.blocks = s.caches.expect(j.blocks, id, x)
	s.r.PeakTasks = max(s.r.PeakTasks, s.jobs.tasks)
	s.r.Jobs = append(s.r.Jobs, JobResult{SubmitMs: x.SubmitMs, StartMs: -1, EndMs: -1})
	s.recorder.submitted(x, j)
	s.hears.tell(sched.Event{What: sched.JobSubmitted, Job: id})
	s.clocks.awaitAll()
	s.events.After(s.Costs.SubmitMs, evAdmit, uint32(slot), j.gen)
	return nil
}

// nextBeat returns the node and time of the next heartbeat that can change something:
// the node has room, and a task or ApplicationMaster waits for a container. To a scheduler
// model that is a sched.EveryHeartbeat more heartbeats matter.
func (s *Sim) nextBeat() (state.NodeID, int64) {
	return s.nodes.nextBeat(
		s.hears.everyBeat || len(s.view.WaitingJobs(state.Map)) > 0 || len(s.view.WaitingJobs(state.Reduce)) > 0 || s.masters.wait() ||
			len(s.speculation.wanted) > 0,
	)
}

// beat handles a heartbeat of node n: the scheduler model decides which tasks
// start there.
func (s *Sim) beat(n state.NodeID) {
	s.nodes.beatPassed()
	s.r.Beats++
	if s.nodes.lost.Has(n) {
		return
	}
	free := s.view.HasRoom(n) && !s.nodes.busy.Has(n) // a node whose node label is just being set for one job takes no other job
	if free && len(s.masters.queued) > 0 {
		s.masters.place(n)
		free = s.view.HasRoom(n)
	}
	if free {
		s.recorder.beat(n)
		s.hearBeat(n)
		s.offers.Heartbeat(s.Model, s.view, n, s.carry)
		if len(s.speculation.wanted) > 0 {
			s.speculation.place(n)
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
		sample = s.load.list[n].sample
	}
	s.hears.beat(n, s.events.Now, sample)
}

// tick handles a tick of a clock. A model does not hear the one after the end of the
// last job.
func (s *Sim) tick(i uint32) {
	s.clocks.each[i].set = false
	switch {
	case i == clockLoad:
		s.load.average(s.attempts.list)
	case i == clockSample:
		s.load.sample(s.attempts.list)
	case s.jobs.live == 0:
	case i == clockPreempt:
		s.preempt()
	default:
		s.hears.ticker.Tick(s.view)
	}
	if s.jobs.live > 0 {
		s.clocks.await(i)
	}
}

// masterBeat handles a heartbeat of a job's ApplicationMaster. Heartbeats at which
// the ApplicationMaster would neither ask for nor learn of containers are left
// out. But while reduces and maps both want containers, all heartbeats are
// simulated.
func (s *Sim) masterBeat(slot int32) {
	j := &s.jobs.list[slot]
	j.beatSet = false
	if j.ended {
		return
	}
	s.masters.send(j)
	starve, kill := s.masters.starve(j)
	if starve {
		s.starved(j)
	} else {
		s.masters.rampUp(j)
	}
	for ; kill > 0; kill-- {
		if id := s.attempts.youngestReduce(slot); id >= 0 {
			s.attempts.kill(id, traces.KilledForMaps, true)
			j.asked, _ = s.state.Unask(j.id, state.Reduce)
		}
	}
	if s.masters.hears != nil {
		s.masters.hears.Beat(s.view, j.id)
		if j.granted.first != 0 {
			s.masters.callBeat(slot) // at which YARN hears what is wanted without these
		}
	}
	s.containers.bind(slot)
	s.masters.beatAgain(slot)
}

// starved counts the time until a job's next heartbeat if reduces hold all slots while its
// maps wait.
func (s *Sim) starved(j *job) {
	until := s.events.Now + cmp.Or(int64(s.Costs.AMBeatMs), idleBeatMs)
	if s.starvedTo >= until || s.attempts.maps > 0 || s.view.Running(j.id, state.Reduce) == 0 {
		return
	}
	for n := range s.nodes.list {
		if s.view.Fits(state.NodeID(n), j.id, state.Map) {
			return
		}
	}
	s.r.StarvedMs += until - max(s.events.Now, s.starvedTo)
	s.starvedTo = until
}

// endJob removes a job that has ended from the simulation and frees its
// ApplicationMaster's room.
func (s *Sim) endJob(slot int32) {
	j := &s.jobs.list[slot]
	s.containers.drop(j)
	s.masters.leave(j, false)
	s.caches.forget(j.id, j.blocks)
	j.blocks = j.blocks[:0]
	s.state.EndJob(j.id)
	x := &s.r.Jobs[j.id]
	x.EndMs = s.events.Now
	s.recorder.jobEnded(j, x)
	s.hears.tell(sched.Event{What: sched.JobEnded, Job: j.id})
	s.arrivals.release(j.name)
	s.jobs.remove(slot)
}

// failJob ends a job of which a task has failed too often, with all that still runs
// of it.
func (s *Sim) failJob(slot int32) {
	j := &s.jobs.list[slot]
	s.attempts.killAll(slot, traces.KilledWithTask, false)
	j.ended = true
	s.r.Jobs[j.id].Failed = true
	s.endJob(slot)
	s.nodes.noteAllRoom() // package state has freed the memory and cores of all the job's containers
}
