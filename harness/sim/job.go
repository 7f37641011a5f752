package sim

import (
	"fmt"
	"math"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// job is one that has arrived and not ended, with its ApplicationMaster.
type job struct {
	id          state.JobID
	gen         uint32
	name        traces.JobID
	hash        uint64 // of the name
	work        [2][]Work
	total, done [2]int32 // tasks by kind
	slowStart   int32    // maps done before reduces are asked for
	asked       int32    // reduces
	askMs       []int64  // when they are asked for; nil: by slow start
	size        [2]state.Resource
	amSize      state.Resource
	amNode      state.NodeID // None: it takes no room
	amStartMs   int32
	finishMs    int32
	hungryMs    int64 // since when maps wait and none runs, though reduces are asked for; 0: they do not
	amUpMs      int64 // its heartbeats count from then
	up, beatSet bool
	ended       bool
	replicas    *state.Hosts // where they are, if the State was told of the splits instead
	granted     queue        // of grants, to be bound at the next heartbeat
	waiting     int32        // list of attempts: reduces that wait for maps, -1 none
	woken       int32        // the same: those that need not any more, and have not gone on
	out         []int64      // bytes that maps have put out, by rack
	outBytes    int64
	lately      [16]int32      // racks of maps that have ended, the last ones
	tries       []try          // by task; empty: none was tried twice
	ran         []success      // by map; empty where no node is ever lost
	blocks      []traces.Block // that its maps read, where caches follow reads
	took        [2]moments     // by kind, ms that attempts took, for speculation
	copies      int32          // speculative ones under way
	pasts       []Past         // of its attempts
}

// try counts a task's attempts.
type try struct{ begun, failed uint8 }

// success is where a map succeeded, node None if it has not.
type success struct {
	node  state.NodeID
	level state.Level
}

// fetchNext reads the next job of the source.
func (s *Sim) fetchNext() error {
	before := s.coming.SubmitMs
	if len(s.r.Jobs) == 0 {
		before = 0
	}
	if !s.Source.Next(&s.coming) {
		s.comes = never
		return nil
	}
	j := &s.coming
	for k, list := range [2][]Work{j.MapWork, j.ReduceWork} {
		n := [2]int32{j.Maps, j.Reduces}[k]
		if n > 0 && (len(list) == 0 || len(list) > int(n)) {
			return fmt.Errorf("job %q: work of %d tasks, for %d %ss", j.Name, len(list), n, state.Kind(k))
		}
		for i := range list {
			if w := &list[i]; w.InputBytes < 0 || w.OutputBytes < 0 || w.ComputeMs < 0 || w.FixedMs < 0 {
				return fmt.Errorf("job %q: a %s with negative work %+v", j.Name, state.Kind(k), *w)
			}
		}
	}
	if j.SubmitMs < before {
		return fmt.Errorf("job %q: submitted at %d ms, after one at %d ms", j.Name, j.SubmitMs, before)
	}
	s.comes = j.SubmitMs
	return nil
}

// maxTasks bounds the tasks of jobs that have not ended, and so memory: about 50
// bytes each.
const maxTasks = 1 << 26

// arrive submits the job that comes.
func (s *Sim) arrive() error {
	x := &s.coming
	if n := s.tasks + int64(x.Maps) + int64(x.Reduces); n > maxTasks {
		return fmt.Errorf("job %q: with it %d tasks are of jobs that have not ended, over the limit of %d: have fewer jobs at a time, or larger blocks", x.Name, n, maxTasks)
	}
	id, replicas, err := s.submit(x)
	if err != nil {
		return err
	}
	var slot int32
	if k := len(s.spare); k > 0 {
		slot = s.spare[k-1]
		s.spare = s.spare[:k-1]
	} else {
		slot = int32(len(s.jobs))
		s.jobs = append(s.jobs, job{})
	}
	s.slot = append(s.slot, slot)
	j := &s.jobs[slot]
	work, out, tries, ran, blocks, pasts := j.work, j.out, j.tries, j.ran, j.blocks, j.pasts
	*j = job{
		id: id, gen: j.gen, name: x.ID, total: [2]int32{x.Maps, x.Reduces},
		size: [2]state.Resource{x.MapSize, x.ReduceSize}, amSize: x.AMSize, amNode: state.None,
		amStartMs: s.Costs.AMStartMs, finishMs: s.Costs.FinishMs,
		slowStart: int32(math.Ceil(float64(x.SlowStart) * float64(x.Maps))), replicas: replicas,
		waiting: -1, woken: -1, out: out[:0], tries: tries[:0], ran: ran[:0], blocks: blocks[:0],
	}
	j.work[0], j.work[1] = append(work[0][:0], x.MapWork...), append(work[1][:0], x.ReduceWork...)
	if x.Reduces > 0 {
		j.out = resized(out, int(s.racks))
	}
	if s.losesNodes && x.Reduces > 0 {
		j.ran = resized(ran, int(x.Maps))
		for t := range j.ran {
			j.ran[t].node = state.None
		}
	}
	if j.name == "" {
		j.name = traces.JobID(x.Name)
	}
	j.hash = traces.HashName(string(j.name))
	if x.AMStartMs > 0 {
		j.amStartMs = x.AMStartMs
	}
	if x.FinishMs > 0 {
		j.finishMs = x.FinishMs
	}
	if j.pasts = append(pasts[:0], x.Pasts...); len(j.pasts) > 0 {
		j.tries = resized(tries, int(x.Maps+x.Reduces))
	}
	s.expectReads(j, x)
	s.live++
	s.tasks += int64(x.Maps) + int64(x.Reduces)
	s.r.PeakTasks = max(s.r.PeakTasks, s.tasks)
	s.r.Jobs = append(s.r.Jobs, JobResult{SubmitMs: x.SubmitMs, StartMs: -1, EndMs: -1})
	s.recordSubmitted(x, j)
	s.observe(sched.Event{What: sched.JobSubmitted, Job: id})
	for _, ms := range x.ReduceAskMs {
		j.askMs = append(j.askMs, ms)
		s.wheel.push(max(ms, s.now), tag(evAMBeat, j.gen), uint32(slot))
	}
	s.after(s.Costs.SubmitMs, evAdmit, uint32(slot), j.gen)
	return s.fetchNext()
}

// admit has a job's ApplicationMaster look for room.
func (s *Sim) admit(slot int32) {
	j := &s.jobs[slot]
	if j.amSize == (state.Resource{}) {
		s.after(j.amStartMs, evAMUp, uint32(slot), j.gen)
		return
	}
	s.queued = append(s.queued, slot)
}

// placeMasters gives n's room to ApplicationMasters that wait, in order of
// submission.
func (s *Sim) placeMasters(n state.NodeID) {
	kept := s.queued[:0]
	for _, slot := range s.queued {
		j := &s.jobs[slot]
		most := int64(s.Costs.AMShare * float64(s.view.Total().MemoryMB))
		if !s.view.Up(n) || !s.view.Free(n).Holds(j.amSize) || s.mastersMB > 0 && s.mastersMB+int64(j.amSize.MemoryMB) > most {
			kept = append(kept, slot)
			continue
		}
		j.amNode = n
		s.mastersMB += int64(j.amSize.MemoryMB)
		s.state.Hold(n, j.id, j.amSize)
		s.after(j.amStartMs, evAMUp, uint32(slot), j.gen)
	}
	s.queued = kept
}

// amUp is the ApplicationMaster's first heartbeat: it asks for its maps.
func (s *Sim) amUp(slot int32) {
	j := &s.jobs[slot]
	j.up, j.amUpMs = true, s.now
	s.recordStarted(j)
	s.state.Ask(j.id, state.Map, j.total[state.Map])
	s.rampUp(j)
	s.endIfDone(slot)
}

// callBeat sees to it that the job's master has its next heartbeat, at which it
// asks and hears of containers.
func (s *Sim) callBeat(slot int32) {
	j := &s.jobs[slot]
	if j.beatSet || !j.up {
		return
	}
	j.beatSet = true
	wait := int64(0)
	if b := int64(s.Costs.AMBeatMs); b > 0 {
		wait = b - (s.now-j.amUpMs)%b
	}
	s.looks++
	s.wheel.push(s.now+wait, tag(evAMBeat, j.gen), uint32(slot))
}

// amBeat is a heartbeat of the job's master. Those at which it has nothing to
// ask or hear are left out; while its reduces and maps compete, it has.
func (s *Sim) amBeat(slot int32) {
	j := &s.jobs[slot]
	j.beatSet = false
	if j.ended {
		return
	}
	if !s.preempt(slot) {
		s.rampUp(j)
	}
	s.bind(slot)
	if j.beatSet || j.asked == 0 || j.asked == j.total[state.Reduce] && s.view.Waiting(j.id, state.Map) == 0 {
		return
	}
	if s.Costs.AMBeatMs > 0 {
		s.callBeat(slot)
		return
	}
	j.beatSet = true
	s.looks++
	s.after(idleBeatMs, evAMBeat, uint32(slot), j.gen)
}

// idleBeatMs is how often a master without a heartbeat looks after its reduces.
const idleBeatMs = 1000

// rampUp asks for reduces: from the slow start on as many as leave the waiting
// maps their part, all when no map waits.
//
// Source: Hadoop 3.4 RMContainerAllocator.scheduleReduces. What a job may use is
// taken as what it uses and what is free on all nodes.
func (s *Sim) rampUp(j *job) {
	const m, r = state.Map, state.Reduce
	if j.askMs != nil {
		before := j.asked
		for j.asked < j.total[r] && j.askMs[min(int(j.asked), len(j.askMs)-1)] <= s.now {
			j.asked++
		}
		if j.asked > before {
			s.state.Ask(j.id, r, j.asked)
		}
		return
	}
	if j.asked == j.total[r] || j.done[m] < j.slowStart {
		return
	}
	v := s.view
	maps, reduces := int64(v.Waiting(j.id, m)), int64(v.Waiting(j.id, r)+v.Running(j.id, r))
	if maps == 0 {
		j.asked = j.total[r]
		s.state.Ask(j.id, r, j.asked)
		return
	}
	share := min(float64(j.done[m])/float64(j.total[m]), s.Costs.RampUp)
	mapMB := max(1, int64(j.size[m].MemoryMB))
	reduceMB := max(1, int64(j.size[r].MemoryMB))
	maps += int64(v.Running(j.id, m))
	all := int64(s.freeMB()) + int64(v.Running(j.id, m))*mapMB + int64(v.Running(j.id, r))*reduceMB
	forReduces := int64(float64(all) * share)
	if all-forReduces >= maps*mapMB {
		forReduces = all - maps*mapMB
	}
	if more := (forReduces - reduces*reduceMB) / reduceMB; more > 0 {
		j.asked = int32(min(int64(j.total[r]), int64(j.asked)+more))
		s.state.Ask(j.id, r, j.asked)
		s.callBeat(s.slot[j.id])
	}
}

// freeMB is what no queue uses of the cluster's memory.
func (s *Sim) freeMB() int32 {
	free := s.view.Total().MemoryMB
	for q := range s.view.Queues() {
		free -= s.view.QueueUsed(state.QueueID(q)).MemoryMB
	}
	return max(0, free)
}

// endIfDone ends a job that has no task left, when its master has finished.
func (s *Sim) endIfDone(slot int32) {
	j := &s.jobs[slot]
	if j.done == j.total && !j.ended && j.up {
		j.ended = true
		s.after(j.finishMs, evEndJob, uint32(slot), j.gen)
	}
}

// endJob forgets a job.
func (s *Sim) endJob(slot int32) {
	j := &s.jobs[slot]
	s.dropGrants(j)
	if j.amNode != state.None {
		s.state.Release(j.amNode, j.id, j.amSize)
		s.mastersMB -= int64(j.amSize.MemoryMB)
		s.noteRoom(j.amNode)
	}
	s.forgetReads(j)
	s.state.EndJob(j.id)
	x := &s.r.Jobs[j.id]
	x.EndMs = s.now
	s.recordEnded(j, x)
	s.observe(sched.Event{What: sched.JobEnded, Job: j.id})
	s.live--
	s.tasks -= int64(j.total[0]) + int64(j.total[1])
	j.gen++
	s.spare = append(s.spare, slot)
}
