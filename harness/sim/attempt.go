package sim

import (
	"math"

	"heddle/harness/sched"
	"heddle/harness/sim/fluid"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// attempt is a simulated attempt at a map or reduce, from the moment when the
// ApplicationMaster assigns the task to a container.
type attempt struct {
	startMs      int64
	endMs        int64 // time at which the attempt's computing ends, if this time is known
	bytes        int64 // bytes of map output that a reduce has fetched
	phaseMs      int32 // time from startMs until the attempt's present phase (reading, computing and so on) began
	readFrom     int32 // of a map: time from startMs until it began to read its input, and until it had read it
	readTo       int32
	job          int32
	task         state.TaskID
	node         state.NodeID
	gen          uint32
	fetch        int32 // index in Sim.fetches of the counts of what a reduce has fetched; -1 for a map, or a reduce that fetches nothing
	next         int32 // index in Sim.attempts of the next reduce in the job's list of reduces that wait for maps to finish
	other        int32 // index in Sim.attempts of the other running attempt at the same task, -1 if there is none
	flows        [maxFlows]fluid.Flow
	number       int16
	pending      uint8 // number of the attempt's transfers, computations and timers that have not ended
	openFlows    uint8 // bit i is set if the attempt's transfer or computation with index i in the field flows has not ended
	kind         state.Kind
	phase        phase
	level        state.Level // distance of a map from its input, by the block's replicas and cached copies
	split        state.Level
	speculative  bool // this is a speculative attempt; state.Hold takes its memory and cores, since package state counts only one attempt for each task
	waitsForMaps bool // true for a reduce that waits for maps to finish before it fetches more
	rerun        bool
	traced       bool // the start of this attempt is written to the simulation's trace
	dead         bool // the attempt's node was lost, whether or not the ResourceManager has noticed the loss
}

// maxFlows is the largest number of transfers and computations that one attempt
// runs at the same time.
const maxFlows = exactRacks

// phase names the step that a task's attempt takes next: start the JVM, read
// the input, compute, and so on.
type phase uint8

const (
	begin phase = iota // the container is launched, and the JVM starts
	input              // a map reads its input, or a reduce fetches map outputs
	compute
	write
	commit
	finish
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
	evPhase
	evEndJob
	evStarted
	evExpire
	evFail
	evKill
	evCopy
	evCleanUp
	evCapacity
	evGroup
)

// handle carries out an event of the simulation. It ignores an event that was
// meant for a job or attempt that has ended.
func (s *Sim) handle(e kernel.Event) {
	id := int32(e.ID)
	switch e.Kind() {
	case kernel.FlowEnd:
		s.flowEnded(e.ID)
	case evPhase:
		if e.IsFor(s.attempts[id].gen) {
			s.goOn(id)
		}
	case evStarted:
		if a := &s.attempts[id]; e.IsFor(a.gen) {
			s.recorder.attemptStarted(a)
		}
	case evFail:
		if e.IsFor(s.attempts[id].gen) {
			s.fail(id)
		}
	case evKill:
		if e.IsFor(s.attempts[id].gen) {
			s.freeze(id)
			s.stop(id, traces.Killed, true)
		}
	case evCopy:
		if a := &s.attempts[id]; e.IsFor(a.gen) && a.other == -1 {
			s.askSpeculative(id)
		}
	case evGrant:
		s.granted(e.ID)
	case evFault:
		s.fault(&s.Faults[id])
	case evExpire:
		if e.IsFor(s.nodes.list[id].gen) {
			s.expire(state.NodeID(id))
		}
	case evCleanUp:
		s.cleanUp(state.NodeID(id), e.Generation())
	case evCapacity, evCapacityAgain:
		s.recorder.capacity(s.nodes.changeCapacity(int(id)))
	case evTick:
		s.tick(e.ID)
	case evGroup:
		if e.IsFor(s.groups[id].gen) {
			s.failGroup(e.ID)
		}
	default:
		if e.IsFor(s.jobs.list[id].gen) {
			s.handleJob(e.Kind(), id)
		}
	}
}

// handleJob carries out an event of a job.
func (s *Sim) handleJob(k kernel.Kind, slot int32) {
	switch k {
	case evAdmit:
		s.admit(slot)
	case evAMUp:
		s.amUp(slot)
	case evAMBeat, evAsk:
		s.amBeat(slot)
	case evEndJob:
		s.endJob(slot)
	case evSpeculate:
		s.speculate(slot)
	}
}

// launch starts an attempt at task t on node n. The caller has already taken
// the container's memory and cores on the node.
func (s *Sim) launch(slot int32, k state.Kind, t state.TaskID, n state.NodeID) int32 {
	var id int32
	if last := len(s.idle) - 1; last >= 0 {
		id, s.idle = s.idle[last], s.idle[:last]
	} else {
		id = int32(len(s.attempts))
		s.attempts = append(s.attempts, attempt{})
	}
	j := &s.jobs.list[slot]
	a := &s.attempts[id]
	gen := a.gen
	*a = attempt{} // the fields are set one by one below, since the compiler would build a composite literal elsewhere in memory and copy it
	a.startMs, a.job, a.task, a.node, a.gen = s.events.Now+int64(s.Costs.LaunchMs), slot, t, n, gen
	a.fetch, a.next, a.other, a.kind, a.phase = -1, -1, -1, k, begin
	if len(j.tries) > 0 {
		a.number = int16(j.tries[t].begun)
		a.rerun = a.number > 0
		j.tries[t].begun++
	}
	if k == state.Map {
		if a.level, a.split = s.view.Levels(j.id, t, n); j.replicas != nil && a.level != state.LevelCache {
			a.level = s.nodes.level(of(j.replicas, int32(t)), n)
		}
		s.r.SplitMaps[a.split]++
	}
	s.running++
	if x := &s.r.Jobs[j.id]; x.StartMs < 0 {
		x.StartMs = a.startMs
		if s.Speculation != NoSpeculation {
			s.scanIn(scanMs, slot)
		}
	}
	s.hears.task(sched.TaskStarted, j.id, t, n)
	if s.Record != nil {
		s.events.After(s.Costs.LaunchMs, evStarted, uint32(id), gen)
	}
	x := &s.nodes.list[n]
	if x.lost {
		a.dead = true
		return id // the node is lost, and the ResourceManager has not noticed the loss: the attempt will never proceed
	}
	w := j.workOf(k, t)
	if len(j.blocks) > 0 && a.level <= state.LevelNode && k == state.Map {
		s.caches.read(j.blocks[t], n, w.InputBytes)
	}
	if s.failing > 0 && s.willFail(id, a, j, w) || len(j.pasts) > 0 && s.endsAsBefore(id, a, j) {
		return id
	}
	fixedMs := j.fixedMs(a, w)
	launch := int64(s.Costs.LaunchMs)
	ms := launch
	switch {
	case k == state.Map && fixedMs > 0:
		a.phase = finish
		ms += int64(fixedMs)
	case k == state.Map && s.nodes.flows == nil:
		a.phase = finish
		ms += x.on(int64(s.Costs.TaskStartMs) + s.draws.computeMs(j, a, w))
		if j.total[state.Reduce] == 0 && w.OutputBytes > 0 {
			ms += int64(s.Costs.CommitMs)
		}
	case x.cores || k == state.Reduce && fixedMs > 0:
	default:
		a.phase = input
		ms += x.on(int64(s.Costs.TaskStartMs))
	}
	a.endMs = s.events.Now + ms
	s.timer(id, a, ms)
	if s.load != nil {
		s.load.launched(s, id, a, w, launch)
	}
	return id
}

// timer starts a timer of ms milliseconds. The attempt waits for the timer's
// end before its next phase (read input, compute and so on).
func (s *Sim) timer(id int32, a *attempt, ms int64) {
	s.events.Push(s.events.Now+ms, evPhase, uint32(id), a.gen)
	a.pending++
}

// flowEnded handles the end of a transfer or computation. The attempt that
// waited for this end goes on. The parameter tag names the attempt.
func (s *Sim) flowEnded(tag uint32) {
	if tag >= nodeFetchTag {
		s.nodeFetchEnded(tag - nodeFetchTag)
		return
	}
	id := int32(tag / maxFlows)
	s.attempts[id].openFlows &^= 1 << (tag % maxFlows)
	if s.load != nil {
		s.load.flowEnded(id, uint8(tag%maxFlows))
	}
	s.goOn(id)
}

// goOn is called when a transfer, computation or timer of an attempt has
// ended. When all transfers, computations and timers of the attempt have
// ended, the attempt starts its next phase.
func (s *Sim) goOn(id int32) {
	a := &s.attempts[id]
	if a.pending--; a.pending == 0 {
		s.proceed(id)
	}
}

// proceed starts an attempt's next phase (read input, compute, write and so
// on).
func (s *Sim) proceed(id int32) {
	a := &s.attempts[id]
	if s.load != nil {
		s.load.settle(s, id)
	}
	if a.phase == finish { // most calls are for attempts in their last phase, finish, so this phase is tested first
		s.succeed(id)
		return
	}
	j := &s.jobs.list[a.job]
	w := j.workOf(a.kind, a.task)
	writes := w.OutputBytes > 0 && (a.kind == state.Reduce || j.total[state.Reduce] == 0)
	for a.pending == 0 {
		switch a.phase {
		case begin:
			a.phase = input
			s.computes(id, a, int64(s.Costs.TaskStartMs), 0)
		case input:
			if a.kind == state.Reduce {
				if !s.fetchMore(id, a, w) {
					return
				}
				break
			}
			a.phase = compute
			a.readFrom = s.since(a)
			s.read(id, a, j, w)
		case compute:
			a.phase = write
			if a.kind == state.Map {
				a.readTo = s.since(a)
			}
			s.computes(id, a, s.draws.computeMs(j, a, w), w.CoresPercent)
			if w.DiskBytes > 0 && s.nodes.flows != nil {
				f := s.nodes.flows.Write(s.events.Now, a.node, a.node, w.DiskBytes, s.flowTag(id, a))
				s.flow(id, a, f)
				if s.load != nil {
					s.load.moves(s, id, beside, writing, a.node, w.DiskBytes, f)
				}
			}
		case write:
			a.phase = commit
			if writes && s.nodes.flows != nil && s.Cluster.WritesWait {
				f := s.nodes.flows.Write(s.events.Now, a.node, a.node, w.OutputBytes, s.flowTag(id, a))
				s.flow(id, a, f)
				if s.load != nil {
					s.load.moves(s, id, main, writing, a.node, w.OutputBytes, f)
				}
			}
		case commit:
			a.phase = finish
			if writes && s.Costs.CommitMs > 0 {
				s.timer(id, a, int64(s.Costs.CommitMs))
			}
		case finish:
			s.succeed(id)
			return
		}
	}
	a.phaseMs = s.since(a)
}

// since returns the time from an attempt's start until now.
func (s *Sim) since(a *attempt) int32 { return int32(min(s.events.Now-a.startMs, math.MaxInt32)) }

// computes starts a computation of an attempt. The computation takes ms
// milliseconds on a node of speed 1, and uses this share of a core; 0 means a
// whole core.
func (s *Sim) computes(id int32, a *attempt, ms int64, percent uint8) {
	if ms == 0 {
		return
	}
	x := &s.nodes.list[a.node]
	if !x.cores {
		ms = x.on(ms)
		a.endMs = s.events.Now + ms
		s.timer(id, a, ms)
		if s.load != nil {
			s.load.computes(id, a, percent, s.events.Now, a.endMs, fluid.Ended)
		}
		return
	}
	var f fluid.Flow
	if percent == 0 {
		f = s.nodes.flows.Compute(s.events.Now, a.node, ms*1000, s.flowTag(id, a))
	} else {
		f = s.nodes.flows.ComputeSlowly(s.events.Now, a.node, ms*10*int64(percent), (int64(1e6)<<16/x.slow)*int64(percent)/100, s.flowTag(id, a))
	}
	s.flow(id, a, f)
	if s.load != nil {
		s.load.computes(id, a, percent, s.events.Now, s.events.Now+x.on(ms), f)
	}
}
