package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// maxFailures of one task fail its job, 4 as Hadoop ships.
const maxFailures = 4

// fault has something go wrong.
func (s *Sim) fault(f *Fault) {
	x := &s.nodes[f.Node]
	switch f.What {
	case NodeSlow:
		x.slow = slowness(f.Speed)
		if s.shared != nil {
			s.setCores(f.Node)
		}
	case AttemptsFail:
		s.failing = f.Share
	case NodeDown:
		if x.lost {
			return
		}
		x.lost = true
		x.gen++
		s.noteRoom(f.Node)
		if c := &s.caching; c.cache != nil {
			s.evict(f.Node, c.cache.Lose(f.Node, c.evicted[:0]))
		}
		for id := range s.attempts {
			if a := &s.attempts[id]; a.node == f.Node && s.runs(int32(id)) {
				s.freeze(int32(id))
				a.dead = true
			}
		}
		s.after(s.Costs.NodeExpiryMs, evExpire, uint32(f.Node), x.gen)
	case NodeUp:
		if !x.lost {
			return
		}
		if s.view.Up(f.Node) { // back before it was missed: its containers are gone all the same
			s.expire(f.Node, x.gen)
			s.bury(f.Node)
		}
		x.lost = false
		s.state.NodeUp(f.Node)
		s.noteRoom(f.Node)
		if s.Record != nil {
			s.Record(&traces.NodeUp{T: s.at(), NodeFacts: traces.NodeFacts{Node: s.nodeName(f.Node)}})
		}
	}
}

// runs says whether an attempt is one that has not ended.
func (s *Sim) runs(id int32) bool { return s.attempts[id].job >= 0 }

// freeze has nothing more come of what an attempt does.
func (s *Sim) freeze(id int32) {
	a := &s.attempts[id]
	for i, f := range a.flows {
		if a.open>>i&1 != 0 {
			s.shared.Cancel(s.now, f)
		}
	}
	a.open, a.pending = 0, 0
	a.gen++
	if s.now < a.startMs {
		a.startMs = never // it will not be launched
	}
	if a.waits {
		s.stopWaiting(id)
	}
}

// stopWaiting takes a reduce out of those that wait for maps.
func (s *Sim) stopWaiting(id int32) {
	a := &s.attempts[id]
	a.waits = false
	j := &s.jobs[a.job]
	for _, link := range [...]*int32{&j.waiting, &j.woken} {
		for ; *link >= 0; link = &s.attempts[*link].next {
			if *link == id {
				*link, a.next = a.next, -1
				return
			}
		}
	}
}

// expire is when a node's loss is noticed: the maps whose output was there are
// asked for again, where reduces still need it, and what ran there once the node
// has been given up.
func (s *Sim) expire(n state.NodeID, gen uint32) {
	if x := &s.nodes[n]; !x.lost || x.gen<<4>>4 != gen<<4>>4 || !s.view.Up(n) {
		return
	}
	s.state.NodeDown(n)
	if s.Record != nil {
		s.Record(&traces.NodeDown{T: s.at(), Node: s.nodeName(n), Reason: "lost"})
	}
	for _, id := range s.view.Active() {
		slot := s.slot[id]
		j := &s.jobs[slot]
		s.loseMaps(slot, n)
		if j.amNode == n {
			s.loseMaster(slot)
		}
	}
	s.noteRoom(n)
	s.after(askAgainMs, evRelease, uint32(n), 1)
}

// release is a master's next try, the times-th, to have a lost node's NodeManager
// end what ran there. Once that answers, or is given up, the node's attempts count
// as killed, and their tasks are asked for again.
//
// Source: Hadoop 3.4 ContainerLauncherImpl waits for the NodeManager, by
// yarn.client.nodemanager-connect.retry-interval-ms and .max-wait-ms. On a lab,
// where a node was back 15 s after its loss had been noticed, they were killed 7 s
// later, and 22 s after the notice.
func (s *Sim) release(n state.NodeID, times uint32) {
	if s.nodes[n].lost && times*askAgainMs < giveUpMs {
		s.after(askAgainMs, evRelease, uint32(n), times+1)
		return
	}
	s.bury(n)
}

const askAgainMs, giveUpMs = 10_000, 180_000

// bury has what ran on a node before it was lost end.
func (s *Sim) bury(n state.NodeID) {
	for id := range s.attempts {
		if a := &s.attempts[id]; a.node == n && a.dead && s.runs(int32(id)) {
			s.stop(int32(id), traces.Killed, true)
		}
	}
}

// loseMaps has maps that succeeded on a lost node run again.
func (s *Sim) loseMaps(slot int32, n state.NodeID) {
	j := &s.jobs[slot]
	if len(j.ran) == 0 || j.done[state.Reduce] == j.total[state.Reduce] {
		return
	}
	for t, on := range j.ran {
		id := state.TaskID(t)
		if on.node != n || s.state.Retry(j.id, id, true) != nil {
			continue
		}
		w := s.workOf(j, state.Map, id)
		s.putOut(j, n, -w.OutputBytes)
		s.r.Maps[on.level]--
		s.r.Bytes.Read[on.level] -= w.InputBytes
		s.r.Attempts.Succeeded--
		s.r.Attempts.Killed++
		j.done[state.Map]--
		j.ran[t].node = state.None
		s.tried(j, id)
	}
	s.callBeat(slot)
}

// loseMaster has a job's ApplicationMaster start anew. What it had done it
// reads from its history; what ran is asked for again.
func (s *Sim) loseMaster(slot int32) {
	j := &s.jobs[slot]
	s.state.Release(j.amNode, j.id, j.amSize)
	s.mastersMB -= int64(j.amSize.MemoryMB)
	j.amNode, j.up = state.None, false
	j.gen++ // its heartbeats and its end are of the past
	j.beatSet, j.ended = false, false
	for id := range s.attempts {
		if a := &s.attempts[id]; a.job == slot {
			s.freeze(int32(id))
			s.stop(int32(id), traces.Killed, true)
		}
	}
	s.dropGrants(j)
	for k := range state.Kind(2) {
		for ok := true; ok; {
			_, ok = s.state.Unask(j.id, k)
		}
	}
	j.asked = 0
	s.queued = append(s.queued, slot)
}

// tried makes room to count a job's attempts: t has had one.
func (s *Sim) tried(j *job, t state.TaskID) *try {
	if len(j.tries) == 0 {
		j.tries = resized(j.tries, int(j.total[0]+j.total[1]))
	}
	x := &j.tries[t]
	x.begun = max(1, x.begun)
	return x
}

// willFail draws whether an attempt fails, and when.
func (s *Sim) willFail(id int32, a *attempt, j *job, w *Work) bool {
	key := s.streams.fail.At(j.hash).At(uint64(a.task)).At(uint64(a.number))
	if key.Fraction() >= s.failing {
		return false
	}
	ms := int64(w.FixedMs)
	if ms == 0 {
		ms = s.nodes[a.node].on(int64(s.Costs.TaskStartMs) + s.computeMs(j, a, w))
	}
	ms = int64(s.Costs.LaunchMs) + 1 + int64(key.At(1).Below(int(max(1, ms))))
	s.wheel.push(s.now+ms, tag(evFail, a.gen), uint32(id))
	return true
}

// fail is an attempt's end without success; the task is tried again first of
// all, or its job fails.
func (s *Sim) fail(id int32) {
	a := &s.attempts[id]
	slot := a.job
	j := &s.jobs[slot]
	x := s.tried(j, a.task)
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
	for n := range s.nodes { // the State gave back the room of all that ran
		s.noteRoom(state.NodeID(n))
	}
}

// stop ends an attempt that does nothing more and has not succeeded; with again,
// its task is asked for again unless another attempt at it runs.
func (s *Sim) stop(id int32, how traces.Outcome, again bool) {
	a := &s.attempts[id]
	slot, n, t := a.job, a.node, a.task
	j := &s.jobs[slot]
	if how == traces.Failed {
		s.r.Attempts.Failed++
	} else {
		s.r.Attempts.Killed++
	}
	s.tried(j, t)
	twin := a.twin
	if twin >= 0 {
		s.attempts[twin].twin = -1
	}
	if twin != -1 {
		j.copies--
	}
	copied, kind := a.copied, a.kind
	s.close(id, how)
	switch {
	case copied:
		s.state.Release(n, j.id, j.size[kind])
	case twin >= 0: // the copy is now the task's attempt
		b := &s.attempts[twin]
		s.state.Release(b.node, j.id, j.size[kind])
		b.copied = false
		if s.state.Retry(j.id, t, false) != nil || s.state.Start(j.id, t, b.node) != nil {
			panic("sim: a copy cannot take its task's place")
		}
	case again:
		if err := s.state.Retry(j.id, t, how == traces.Failed); err != nil {
			panic(err)
		}
		s.callBeat(slot)
	}
	s.noteRoom(n)
	s.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: t, Node: n, Failed: true})
}

// preempt ends the youngest of a job's reduces where a map of the job waits, none
// runs, and the cluster has no room for it, or the map has waited for long. It
// says whether maps wait like that: no reduce is to be asked for then.
//
// Source: Hadoop 3.4 RMContainerAllocator.preemptReducesIfNeeded: at once where
// the headroom holds no map, after 300 s where it does. The headroom is taken as
// what is free on all nodes.
func (s *Sim) preempt(slot int32) bool {
	const m, r = state.Map, state.Reduce
	j := &s.jobs[slot]
	if s.view.Waiting(j.id, m) == 0 || s.view.Running(j.id, m) > 0 || j.asked == 0 {
		j.hungryMs = 0
		return false
	}
	if j.hungryMs == 0 {
		j.hungryMs = s.now
	}
	for s.view.Waiting(j.id, r) > 0 {
		j.asked, _ = s.state.Unask(j.id, r)
	}
	if s.freeMB() >= j.size[m].MemoryMB && s.now-j.hungryMs < hungerMs {
		return true
	}
	youngest := int32(-1)
	for id := range s.attempts {
		if a := &s.attempts[id]; a.job == slot && a.kind == r && !a.copied && (youngest < 0 || a.startMs > s.attempts[youngest].startMs) {
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
