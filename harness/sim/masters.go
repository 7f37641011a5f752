package sim

import (
	"cmp"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/state"
)

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
		return fmt.Errorf("submit job %q: with it, jobs that have not ended have %d tasks, and the limit is %d: have fewer jobs at a time, or larger blocks", x.Name, n, maxTasks)
	}
	id, replicas, err := s.splits.submit(x)
	if err != nil {
		return err
	}
	slot := s.jobs.add(id, x, replicas)
	j := &s.jobs.list[slot]
	if s.load != nil {
		s.load.submitted(slot, s.Loads[cmp.Or(x.Workload, x.Name)])
	}
	j.blocks = s.caches.expect(j.blocks, id, x)
	s.r.PeakTasks = max(s.r.PeakTasks, s.jobs.tasks)
	s.r.Jobs = append(s.r.Jobs, JobResult{SubmitMs: x.SubmitMs, StartMs: -1, EndMs: -1})
	s.recorder.submitted(x, j)
	s.hears.tell(sched.Event{What: sched.JobSubmitted, Job: id})
	s.clocks.awaitAll()
	for _, ms := range j.askMs {
		s.events.Push(max(ms, s.events.Now), evAsk, uint32(slot), j.gen)
	}
	s.events.After(s.Costs.SubmitMs, evAdmit, uint32(slot), j.gen)
	return nil
}

// admit queues a job's ApplicationMaster until a node has room for it. An
// ApplicationMaster of size 0 needs no room and starts at once.
func (s *Sim) admit(slot int32) {
	j := &s.jobs.list[slot]
	if j.amSize == (state.Resource{}) {
		s.events.After(j.amStartMs, evAMUp, uint32(slot), j.gen)
		return
	}
	s.queued = append(s.queued, slot)
}

// placeMasters starts waiting ApplicationMasters on node n, in the order in
// which their jobs were submitted, as long as the node has room.
func (s *Sim) placeMasters(n state.NodeID) {
	kept := s.queued[:0]
	for _, slot := range s.queued {
		j := &s.jobs.list[slot]
		most := int64(s.Costs.AMShare * float64(s.view.Total().MemoryMB))
		if !s.view.Up(n) || !s.view.Free(n).Holds(j.amSize) || s.mastersMB > 0 && s.mastersMB+int64(j.amSize.MemoryMB) > most {
			kept = append(kept, slot)
			continue
		}
		j.amNode = n
		s.mastersMB += int64(j.amSize.MemoryMB)
		s.state.Hold(n, j.id, j.amSize)
		s.events.After(j.amStartMs, evAMUp, uint32(slot), j.gen)
	}
	s.queued = kept
}

// amUp handles the first heartbeat of a job's ApplicationMaster. At this
// heartbeat the ApplicationMaster asks for containers for all maps of the job.
func (s *Sim) amUp(slot int32) {
	j := &s.jobs.list[slot]
	j.up, j.amUpMs = true, s.events.Now
	s.recorder.started(j)
	s.state.Ask(j.id, state.Map, j.total[state.Map])
	s.rampUp(j)
	s.endIfDone(slot)
}

// callBeat schedules the next heartbeat of a job's ApplicationMaster. At a
// heartbeat the ApplicationMaster asks for containers and learns of those
// allocated.
func (s *Sim) callBeat(slot int32) {
	j := &s.jobs.list[slot]
	if j.beatSet || !j.up {
		return
	}
	j.beatSet = true
	wait := int64(0)
	if b := int64(s.Costs.AMBeatMs); b > 0 {
		wait = b - (s.events.Now-j.amUpMs)%b
	}
	s.events.Push(s.events.Now+wait, evAMBeat, uint32(slot), j.gen)
}

// amBeat handles a heartbeat of a job's ApplicationMaster. Heartbeats at which
// the ApplicationMaster would neither ask for nor learn of containers are left
// out. But while reduces and maps both want containers, all heartbeats are
// simulated.
func (s *Sim) amBeat(slot int32) {
	j := &s.jobs.list[slot]
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
	s.events.After(idleBeatMs, evAMBeat, uint32(slot), j.gen)
}

// idleBeatMs is the time between two checks whether a job's ApplicationMaster
// can ask for more reduces, if Costs.AMBeatMs is 0 (no heartbeat interval).
const idleBeatMs = 1000

// rampUp asks for a job's reduce containers once enough maps have succeeded
// (slow start). Reduces must leave the waiting maps their share of the job's
// memory. If no map waits, all reduces are asked for.
//
// Source: Hadoop 3.4 RMContainerAllocator.scheduleReduces. A job's memory is
// taken to be what its containers use plus what is free on all nodes.
func (s *Sim) rampUp(j *job) {
	const m, r = state.Map, state.Reduce
	if j.askMs != nil {
		before := j.asked
		for j.asked < j.total[r] && j.askMs[min(int(j.asked), len(j.askMs)-1)] <= s.events.Now {
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
		s.callBeat(s.jobs.slot[j.id])
	}
}

// freeMB returns the memory, in MB, of all nodes that are up, less what the
// jobs of all queues use.
func (s *Sim) freeMB() int32 {
	free := s.view.Total().MemoryMB
	for q := range s.view.Queues() {
		free -= s.view.QueueUsed(state.QueueID(q)).MemoryMB
	}
	return max(0, free)
}

// endIfDone schedules the end of a job whose tasks have all succeeded. The job
// ends later, after the time that its ApplicationMaster takes to finish.
func (s *Sim) endIfDone(slot int32) {
	j := &s.jobs.list[slot]
	if j.done == j.total && !j.ended && j.up {
		j.ended = true
		s.events.After(j.finishMs, evEndJob, uint32(slot), j.gen)
	}
}

// endJob removes a job that has ended from the simulation and frees its
// ApplicationMaster's room.
func (s *Sim) endJob(slot int32) {
	j := &s.jobs.list[slot]
	s.dropGrants(j)
	if j.amNode != state.None {
		s.state.Release(j.amNode, j.id, j.amSize)
		s.mastersMB -= int64(j.amSize.MemoryMB)
		s.nodes.noteRoom(j.amNode)
	}
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
