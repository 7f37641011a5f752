package sim

import (
	"heddle/harness/cluster"
	"heddle/harness/sched"
	"heddle/traces"
)

// attempt is one try at a task, from when it is bound.
type attempt struct {
	startMs int64
	bytes   int64 // that it will have read
	job     int32
	task    cluster.TaskID
	node    cluster.NodeID
	gen     uint32
	fetch   int32 // index of its fetch, -1: it is no reduce or fetches nothing
	next    int32 // in a list of attempts
	pending int16 // flows and timers of the present phase that have not ended
	number  int16
	kind    cluster.Kind
	phase   phase
	level   cluster.Level // of a map's replicas
	split   cluster.Level
}

// phase is what an attempt does next, when what it does now is over.
type phase uint8

const (
	begin phase = iota // the container is launched: start the JVM
	take               // read, or fetch
	compute
	write
	commit
	finish
)

// event kinds.
const (
	evFault uint32 = iota
	evAdmit
	evAMUp
	evAMBeat
	evGrant
	evPhase
	evEndJob
	evStarted
	evSpeculate
	evExpire
)

// tag is an event's kind with the generation of the job or attempt it is for.
func tag(kind, gen uint32) uint32 { return gen<<4 | kind }

// after pushes an event for ms from now.
func (s *Sim) after(ms int32, kind, id, gen uint32) {
	s.wheel.push(s.now+int64(ms), tag(kind, gen), id)
}

// handle handles one of the wheel's events, unless what it was for is gone.
func (s *Sim) handle(t, id uint32) {
	gen := t >> 4
	switch kind := t & 15; kind {
	case evPhase:
		if a := &s.attempts[id]; a.gen<<4>>4 == gen {
			s.advanceAttempt(int32(id))
		}
	case evStarted:
		if a := &s.attempts[id]; a.gen<<4>>4 == gen {
			s.recordAttempt(a)
		}
	case evGrant:
		s.granted(id)
	case evFault:
		s.fault(&s.Faults[id])
	case evExpire:
		s.expire(cluster.NodeID(id), gen)
	default:
		if s.jobs[id].gen<<4>>4 != gen {
			return
		}
		slot := int32(id)
		switch kind {
		case evAdmit:
			s.admit(slot)
		case evAMUp:
			s.amUp(slot)
		case evAMBeat:
			s.amBeat(slot)
		case evEndJob:
			s.endJob(slot)
		case evSpeculate:
			s.speculate(slot)
		}
	}
}

// launch starts an attempt of t on n, which the State says runs there.
func (s *Sim) launch(slot int32, k cluster.Kind, t cluster.TaskID, n cluster.NodeID) {
	var id int32
	if last := len(s.idle) - 1; last >= 0 {
		id, s.idle = s.idle[last], s.idle[:last]
	} else {
		id = int32(len(s.attempts))
		s.attempts = append(s.attempts, attempt{})
	}
	j := &s.jobs[slot]
	a := &s.attempts[id]
	*a = attempt{
		startMs: s.now + int64(s.Costs.LaunchMs), job: slot, task: t, node: n, gen: a.gen,
		fetch: -1, next: -1, kind: k, number: int16(s.try(j, t)), phase: begin,
	}
	s.running++
	if x := &s.r.Jobs[j.id]; x.StartMs < 0 {
		x.StartMs = a.startMs
	}
	if k == cluster.Map {
		a.level = s.replicaLevel(j, t, n)
		a.split = s.level(s.splitHosts(j, t), n)
		s.r.SplitMaps[a.split]++
	}
	w := s.workOf(j, k, t)
	if s.Record != nil {
		s.after(s.Costs.LaunchMs, evStarted, uint32(id), a.gen)
	}
	s.observe(sched.Event{What: sched.TaskStarted, Job: j.id, Task: t, Node: n})
	x := &s.nodes[n]
	switch {
	case k == cluster.Map && w.FixedMs > 0:
		a.phase = finish
		s.after(s.Costs.LaunchMs+w.FixedMs, evPhase, uint32(id), a.gen)
	case k == cluster.Map && s.shared == nil:
		a.phase = finish
		ms := int64(s.Costs.LaunchMs) + x.on(int64(s.Costs.TaskStartMs)+s.computeMs(j, a, w))
		if j.total[cluster.Reduce] == 0 && w.OutputBytes > 0 {
			ms += int64(s.Costs.CommitMs)
		}
		s.wheel.push(s.now+ms, tag(evPhase, a.gen), uint32(id))
	case x.cores || k == cluster.Reduce && w.FixedMs > 0:
		s.after(s.Costs.LaunchMs, evPhase, uint32(id), a.gen)
	default:
		a.phase = take
		s.wheel.push(s.now+int64(s.Costs.LaunchMs)+x.on(int64(s.Costs.TaskStartMs)), tag(evPhase, a.gen), uint32(id))
	}
}

func (s *Sim) workOf(j *job, k cluster.Kind, t cluster.TaskID) *Work {
	i := int32(t)
	if k == cluster.Reduce {
		i -= j.total[cluster.Map]
	}
	return work(j.work[k], i, j.total[k])
}

// try is how many attempts at t there were before.
func (s *Sim) try(j *job, t cluster.TaskID) int32 {
	if len(j.tries) == 0 || t == cluster.None {
		return 0
	}
	return int32(j.tries[t])
}

// replicaLevel is how near n is to map t's input.
func (s *Sim) replicaLevel(j *job, t cluster.TaskID, n cluster.NodeID) cluster.Level {
	if !j.swapped {
		return s.view.Level(j.id, t, n)
	}
	if s.view.Level(j.id, t, n) == cluster.LevelCache {
		return cluster.LevelCache
	}
	return s.level(s.view.SplitHosts(j.id, t), n)
}

// flowEnded is the end of a flow, evPhase that of a timer.
func (s *Sim) flowEnded(id int32) { s.advanceAttempt(id) }

// advanceAttempt goes on with an attempt when one of the things that it waited
// for is over.
func (s *Sim) advanceAttempt(id int32) {
	a := &s.attempts[id]
	if a.pending > 0 {
		if a.pending--; a.pending > 0 {
			return
		}
	}
	j := &s.jobs[a.job]
	w := s.workOf(j, a.kind, a.task)
	for {
		switch a.phase {
		case begin:
			a.phase = take
			s.computes(id, a, int64(s.Costs.TaskStartMs))
		case take:
			if a.kind == cluster.Reduce {
				if !s.fetchMore(id, w) {
					return
				}
				break
			}
			a.phase = compute
			s.read(id, a, j, w)
		case compute:
			a.phase = write
			s.computes(id, a, s.computeMs(j, a, w))
		case write:
			a.phase = commit
			if a.kind == cluster.Reduce || j.total[cluster.Reduce] == 0 {
				s.write(id, a, w)
			}
		case commit:
			a.phase = finish
			if w.OutputBytes > 0 && (a.kind == cluster.Reduce || j.total[cluster.Reduce] == 0) && s.Costs.CommitMs > 0 {
				s.after(s.Costs.CommitMs, evPhase, uint32(id), a.gen)
				a.pending++
			}
		case finish:
			s.succeed(id)
			return
		}
		if a.pending > 0 {
			return
		}
	}
}

// computeMs is how long an attempt computes on the reference.
func (s *Sim) computeMs(j *job, a *attempt, w *Work) int64 {
	ms := int64(w.ComputeMs)
	if w.SpreadPercent == 0 {
		return ms
	}
	const one = 1 << 20
	x := int64(s.streams.compute.At(j.hash).At(uint64(a.task)).At(uint64(a.number))>>43) - one // within one of 0
	return ms + ms*int64(w.SpreadPercent)*x/(100*one)
}

// computes has an attempt use a core for so long.
func (s *Sim) computes(id int32, a *attempt, ms int64) {
	if ms == 0 {
		return
	}
	x := &s.nodes[a.node]
	if !x.cores {
		s.wheel.push(s.now+x.on(ms), tag(evPhase, a.gen), uint32(id))
		a.pending++
		return
	}
	s.flow(a, s.shared.Compute(s.now, a.node, ms*1000, uint32(id)))
}

// succeed is an attempt's end, and its task's.
func (s *Sim) succeed(id int32) {
	a := &s.attempts[id]
	slot := a.job
	j := &s.jobs[slot]
	w := s.workOf(j, a.kind, a.task)
	if err := s.state.Finish(j.id, a.task); err != nil {
		panic(err) // the kernel's own fault: the State and it disagree
	}
	j.done[a.kind]++
	s.r.Attempts.Succeeded++
	writes := a.kind == cluster.Reduce
	if a.kind == cluster.Map {
		s.r.Maps[a.level]++
		s.r.Bytes.Read[a.level] += w.InputBytes
		if writes = j.total[cluster.Reduce] == 0; !writes {
			s.r.Bytes.MapOutput += w.OutputBytes
			j.out[s.nodes[a.node].rack] += w.OutputBytes
			j.outBytes += w.OutputBytes
		}
	}
	if writes {
		s.r.Bytes.Written += w.OutputBytes
	}
	if a.kind == cluster.Reduce {
		s.r.Bytes.Shuffled += share(j.outBytes, int64(a.task)-int64(j.total[cluster.Map]), int64(j.total[cluster.Reduce]))
	}
	s.close(id, traces.Succeeded)
	s.noteRoom(a.node)
	s.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: a.task, Node: a.node})
	if a.kind == cluster.Map && j.total[cluster.Reduce] > 0 {
		s.mapDone(slot)
	}
	s.endIfDone(slot)
}

// close takes an attempt that has ended out of the books.
func (s *Sim) close(id int32, how traces.Outcome) {
	a := &s.attempts[id]
	j := &s.jobs[a.job]
	i := int32(a.task)
	if a.kind == cluster.Reduce {
		i -= j.total[cluster.Map]
	}
	s.r.Digest.AddHashed(j.hash, a.kind, i, int32(a.number), s.nodes[a.node].hash, traces.Time(a.startMs*1e6), traces.Time(s.now*1e6))
	s.recordAttemptEnd(a, how)
	if a.fetch >= 0 {
		s.spareFetch = append(s.spareFetch, a.fetch)
	}
	a.gen++
	s.running--
	s.idle = append(s.idle, id)
}
