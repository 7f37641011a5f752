package sim

import (
	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// maxFailures is the number of failed attempts at one task that makes the job
// fail: 4, Hadoop's default.
const maxFailures = 4

// fault carries out a fault: a node is lost, comes back or slows down, or a
// share of attempts begins to fail.
func (s *Sim) fault(f *Fault) {
	x := &s.nodes.list[f.Node]
	switch f.What {
	case NodeSlow:
		s.recorder.nodeSlowed(f.Node, f.Speed)
		s.nodes.slow(f.Node, f.Speed)
	case AttemptsFail:
		s.failing = f.Share
	case NodeDown:
		if x.lost {
			return
		}
		s.nodes.lose(f.Node)
		s.caches.lose(f.Node)
		for id := range s.attempts {
			if a := &s.attempts[id]; a.node == f.Node && s.runs(int32(id)) {
				s.freeze(int32(id))
				a.dead = true
			}
		}
		if s.NodeFetches {
			s.loseFetches(f.Node)
		}
		s.events.After(s.Costs.NodeExpiryMs, evExpire, uint32(f.Node), x.gen)
	case NodeUp:
		if !x.lost {
			return
		}
		if s.view.Up(f.Node) { // the node came back before the ResourceManager noticed its loss; the node's containers are gone all the same
			s.expire(f.Node)
			s.killLost(f.Node)
		}
		s.lostNodes &^= 1 << (f.Node & 63)
		s.nodes.comeBack(f.Node)
		s.recorder.nodeUp(f.Node)
	}
}

// runs reports whether the attempt with index id in Sim.attempts has not
// ended.
func (s *Sim) runs(id int32) bool { return s.attempts[id].job >= 0 }

// freeze stops an attempt's transfers, computations and timers, for example
// when the attempt's node is lost.
func (s *Sim) freeze(id int32) {
	a := &s.attempts[id]
	if s.load != nil {
		s.load.settle(s, id)
	}
	for i, f := range a.flows {
		if a.openFlows>>i&1 != 0 {
			s.nodes.flows.Cancel(s.events.Now, f)
		}
	}
	if a.fetch >= 0 && s.NodeFetches {
		s.stopNodeFetch(&s.nodeFetches[a.fetch])
	}
	a.openFlows, a.pending = 0, 0
	a.gen++
	if s.events.Now < a.startMs {
		a.startMs = kernel.Never // the attempt had not been launched, and never will be
	}
	if a.waitsForMaps {
		s.stopWaiting(id)
	}
}

// stopWaiting removes a reduce from the job's list of reduces that wait for
// maps to finish.
func (s *Sim) stopWaiting(id int32) {
	a := &s.attempts[id]
	a.waitsForMaps = false
	j := &s.jobs.list[a.job]
	for _, link := range [...]*int32{&j.waiting, &j.woken} {
		for ; *link >= 0; link = &s.attempts[*link].next {
			if *link == id {
				*link, a.next = a.next, -1
				return
			}
		}
	}
}

// expire handles the moment when the ResourceManager notices that a node is
// lost. If reduces still need map output of that node, the ApplicationMaster
// asks again for containers for those maps. The attempts that ran on the node
// end later, in the function cleanUp.
func (s *Sim) expire(n state.NodeID) {
	if !s.nodes.list[n].lost || !s.view.Up(n) {
		return
	}
	s.state.NodeDown(n)
	s.recorder.nodeDown(n)
	for _, id := range s.view.Active() {
		slot := s.jobs.slot[id]
		j := &s.jobs.list[slot]
		s.loseMaps(slot, n)
		if j.amNode == n {
			s.loseMaster(slot)
		}
	}
	s.nodes.noteRoom(n)
	s.events.After(askAgainMs, evCleanUp, uint32(n), 1)
}

// cleanUp lets ApplicationMasters try to reach a lost node's NodeManager, to
// stop the attempts there. The parameter times counts their tries. When the
// NodeManager answers, or the last try has failed, these attempts count as
// killed. The ApplicationMaster then asks again for containers for their
// tasks.
//
// Source: Hadoop 3.4 ContainerLauncherImpl waits for the NodeManager as the
// settings yarn.client.nodemanager-connect.retry-interval-ms and .max-wait-ms
// say. On a lab, a node came back 15 s after its loss had been noticed, and
// its attempts were killed 7 s after that.
func (s *Sim) cleanUp(n state.NodeID, times uint32) {
	if s.nodes.list[n].lost && times*askAgainMs < giveUpMs {
		s.events.After(askAgainMs, evCleanUp, uint32(n), times+1)
		return
	}
	s.killLost(n)
}

const askAgainMs, giveUpMs = 10_000, 180_000

// killLost ends all attempts that were running on a node when it was lost.
func (s *Sim) killLost(n state.NodeID) {
	for id := range s.attempts {
		if a := &s.attempts[id]; a.node == n && a.dead && s.runs(int32(id)) {
			s.stop(int32(id), traces.Killed, true)
		}
	}
}

// loseMaps asks again for containers for those maps of a job whose output was
// on the lost node n.
func (s *Sim) loseMaps(slot int32, n state.NodeID) {
	j := &s.jobs.list[slot]
	if len(j.ran) == 0 || j.done[state.Reduce] == j.total[state.Reduce] {
		return
	}
	for t, on := range j.ran {
		id := state.TaskID(t)
		if on.node != n || s.state.Retry(j.id, id, true) != nil {
			continue
		}
		w := j.workOf(state.Map, id)
		s.putOut(j, n, -w.OutputBytes)
		s.r.Maps[on.level]--
		s.r.Bytes.Read[on.level] -= w.InputBytes
		s.r.Attempts.Succeeded--
		s.r.Attempts.Killed++
		j.done[state.Map]--
		j.ran[t].node = state.None
		j.tried(id)
	}
	if !j.up { // the next ApplicationMaster asks for them
		s.unaskAll(j)
	}
	s.callBeat(slot)
}

// loseMaster starts a new ApplicationMaster for a job whose ApplicationMaster
// was on a lost node. The new ApplicationMaster keeps the tasks that had
// succeeded, and asks again for containers for the other tasks.
func (s *Sim) loseMaster(slot int32) {
	j := &s.jobs.list[slot]
	s.state.Release(j.amNode, j.id, j.amSize)
	s.mastersMB -= int64(j.amSize.MemoryMB)
	j.amNode, j.up = state.None, false
	j.gen++ // a new generation: events that were scheduled for the lost ApplicationMaster are now ignored
	j.beatSet, j.ended = false, false
	for id := range s.attempts {
		if a := &s.attempts[id]; a.job == slot {
			s.freeze(int32(id))
			s.stop(int32(id), traces.Killed, true)
		}
	}
	s.dropGrants(j)
	s.unaskAll(j)
	j.asked = 0
	s.queued = append(s.queued, slot)
}

// unaskAll withdraws all requests for containers of a job whose ApplicationMaster
// was lost.
func (s *Sim) unaskAll(j *job) {
	for k := range state.Kind(2) {
		for ok := true; ok; {
			_, ok = s.state.Unask(j.id, k)
		}
	}
}

// willFail draws at random whether an attempt fails, with the probability that
// the last fault of kind AttemptsFail set. If the attempt fails, willFail
// schedules the failure.
func (s *Sim) willFail(id int32, a *attempt, j *job, w *Work) bool {
	key := s.draws.fail.At(j.hash).At(uint64(a.task)).At(uint64(a.number))
	if key.Fraction() >= s.failing {
		return false
	}
	ms := int64(w.FixedMs)
	if ms == 0 {
		ms = s.nodes.list[a.node].on(int64(s.Costs.TaskStartMs) + s.draws.computeMs(j, a, w))
	}
	ms = int64(s.Costs.LaunchMs) + 1 + int64(key.At(1).Below(int(max(1, ms))))
	s.events.Push(s.events.Now+ms, evFail, uint32(id), a.gen)
	return true
}

// fail ends an attempt as failed. The ApplicationMaster asks again for a
// container for the attempt's task. But after maxFailures (4) failed attempts
// at the task, the whole job fails.
func (s *Sim) fail(id int32) {
	a := &s.attempts[id]
	slot := a.job
	j := &s.jobs.list[slot]
	x := j.tried(a.task)
	x.failed++
	s.freeze(id)
	if x.failed < maxFailures {
		s.stop(id, traces.Failed, true)
		return
	}
	s.stop(id, traces.Failed, false)
	for other := range s.attempts {
		if b := &s.attempts[other]; b.job == slot {
			s.freeze(int32(other))
			s.stop(int32(other), traces.Killed, false)
		}
	}
	j.ended = true
	s.r.Jobs[j.id].Failed = true
	s.endJob(slot)
	s.nodes.noteAllRoom() // package state has freed the memory and cores of all the job's containers
}

// stop ends an attempt as failed or killed. If again is true, the
// ApplicationMaster asks for a new container for the attempt's task, unless a
// second attempt at the task is running.
func (s *Sim) stop(id int32, how traces.Outcome, again bool) {
	a := &s.attempts[id]
	slot, n, t := a.job, a.node, a.task
	j := &s.jobs.list[slot]
	if how == traces.Failed {
		s.r.Attempts.Failed++
	} else {
		s.r.Attempts.Killed++
	}
	j.tried(t)
	other := a.other
	if other >= 0 {
		s.attempts[other].other = -1
	}
	if other != -1 {
		j.speculative--
	}
	speculative, kind := a.speculative, a.kind
	s.close(id, how)
	switch {
	case speculative:
		s.state.Release(n, j.id, j.size[kind])
	case other >= 0: // the task's other, speculative attempt goes on, as its ordinary attempt
		b := &s.attempts[other]
		s.state.Release(b.node, j.id, j.size[kind])
		b.speculative = false
		if s.state.Retry(j.id, t, false) != nil || s.state.Start(j.id, t, b.node) != nil {
			panic("sim: a speculative attempt cannot take its task's place")
		}
	case again:
		if err := s.state.Retry(j.id, t, how == traces.Failed); err != nil {
			panic(err)
		}
		s.callBeat(slot)
	}
	s.nodes.noteRoom(n)
	s.hears.tell(sched.Event{What: sched.TaskEnded, Job: j.id, Task: t, Node: n, Failed: true})
}

// preempt kills a job's youngest reduce to make room for the job's maps. It
// does so if maps wait and none runs, and either the cluster has no room for a
// map or a map has waited for hungerMs (300 s). It returns true while maps
// wait and none runs; the ApplicationMaster then asks for no more reduces.
//
// Source: Hadoop 3.4 RMContainerAllocator.preemptReducesIfNeeded: at once if
// the headroom cannot hold a map, otherwise after 300 s. The simulator takes
// as headroom what is free on all nodes.
func (s *Sim) preempt(slot int32) bool {
	const m, r = state.Map, state.Reduce
	j := &s.jobs.list[slot]
	if s.view.Waiting(j.id, m) == 0 || s.view.Running(j.id, m) > 0 || j.asked == 0 {
		j.hungryMs = 0
		return false
	}
	if j.hungryMs == 0 {
		j.hungryMs = s.events.Now
	}
	for s.view.Waiting(j.id, r) > 0 {
		j.asked, _ = s.state.Unask(j.id, r)
	}
	if s.freeMB() >= j.size[m].MemoryMB && s.events.Now-j.hungryMs < hungerMs {
		return true
	}
	youngest := int32(-1)
	for id := range s.attempts {
		if a := &s.attempts[id]; a.job == slot && a.kind == r && !a.speculative && (youngest < 0 || a.startMs > s.attempts[youngest].startMs) {
			youngest = int32(id)
		}
	}
	if youngest >= 0 {
		s.freeze(youngest)
		s.stop(youngest, traces.Killed, true)
		j.asked, _ = s.state.Unask(j.id, r)
	}
	return true
}

const hungerMs = 300_000
