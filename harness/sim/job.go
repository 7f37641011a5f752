package sim

import (
	"cmp"
	"fmt"
	"math"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// job is a simulated job that was submitted and has not ended. Its
// ApplicationMaster is simulated with it.
type job struct {
	id          state.JobID
	gen         uint32
	name        traces.JobID
	hash        uint64 // hash of the job's name; it enters the hash of the run's schedule
	work        [2][]Work
	spread      [2][]Ratio // by kind of task: quantiles of the ratios by which attempts' computing times differ
	total, done [2]int32   // by kind of task (map, reduce): total is the number of the job's tasks, done the number of those that succeeded
	slowStart   int32      // number of maps that must succeed before the job asks for reduces
	asked       int32      // number of reduces for which the job's ApplicationMaster has asked for containers so far
	askMs       []int64    // times, in ms, at which the job asks for containers for reduces; nil: when enough maps are done (slow start)
	size        [2]state.Resource
	amSize      state.Resource
	amNode      state.NodeID // node on which the job's ApplicationMaster runs; None if the ApplicationMaster takes no memory and cores
	amStartMs   int32
	finishMs    int32
	hungryMs    int64 // time when the job's maps began to wait while none of them ran; 0 if they do not; after a long wait a reduce of the job is killed
	amUpMs      int64 // time of the ApplicationMaster's first heartbeat; the later heartbeats follow at a fixed interval
	up, beatSet bool
	ended       bool
	replicas    *state.Hosts // nodes that store each map's input; nil if the replicas that package state knows are these nodes
	granted     queue        // containers that get their tasks at the ApplicationMaster's next heartbeat
	waiting     int32        // index in Sim.attempts of the first reduce in the list of those that wait for maps to finish; -1 if there is none
	woken       int32        // index in Sim.attempts of the first reduce in the list of those that go on now, since a map has finished; -1 if there is none
	out         []int64      // by rack: bytes of the job's map output stored on the rack's nodes
	outBytes    int64
	division    []int64        // by reduce: sum of the shares of map output of this reduce and those before it; empty if all shares are equal
	lately      [16]int32      // racks of the nodes on which the job's last 16 successful maps ran
	tries       []try          // by task: counts of attempts; empty while every task has had one attempt only
	ran         []success      // by map: the node on which the map succeeded; empty if the run has no node losses
	blocks      []traces.Block // block that each map reads; empty unless caches keep the blocks that are read
	took        [2]moments     // by kind of task: statistics of the durations of the job's successful attempts, for finding slow attempts
	speculative int32          // number of speculative attempts that run or are asked for
	pasts       []Past         // how attempts at the job's tasks ended in the replayed trace
}

// try counts the attempts at one task: those started and those that failed.
type try struct{ begun, failed uint8 }

// success says on which node a map succeeded, and how near this node was to
// the map's input. The field node is None if the map has not succeeded.
type success struct {
	node  state.NodeID
	level state.Level
}

// fetchNext reads the next job to be submitted at a known time from
// Config.Source, and checks that it is valid. It puts jobs that wait for other
// jobs aside.
func (s *Sim) fetchNext() error {
	for {
		err := s.readJob()
		if err != nil || s.comes == kernel.Never || !s.follows() {
			s.awaitArrival()
			return err
		}
	}
}

// readJob does the same as fetchNext for the next job, which may wait for another
// one.
func (s *Sim) readJob() error {
	before := s.coming.SubmitMs
	if len(s.r.Jobs) == 0 {
		before = 0
	}
	if !s.Source.Next(&s.coming) {
		s.comes = kernel.Never
		return nil
	}
	j := &s.coming
	for k, list := range [2][]Work{j.MapWork, j.ReduceWork} {
		n := [2]int32{j.Maps, j.Reduces}[k]
		if n > 0 && (len(list) == 0 || len(list) > int(n)) {
			return fmt.Errorf("job %q: work is given for %d %ss: it must be for 1 to %d", j.Name, len(list), state.Kind(k), n)
		}
		for i := range list {
			if w := &list[i]; w.InputBytes < 0 || w.OutputBytes < 0 || w.ComputeMs < 0 || w.FixedMs < 0 || w.MemoryMB < 0 || w.DiskBytes < 0 {
				return fmt.Errorf("job %q: the work of %s %d has a negative number: %+v", j.Name, state.Kind(k), i, *w)
			} else if w.SpreadPercent > 100 {
				return fmt.Errorf("job %q: the work of %s %d differs by up to %d %%: it must be at most 100, or it would take less than no time", j.Name, state.Kind(k), i, w.SpreadPercent)
			} else if w.CoresPercent > 100 {
				return fmt.Errorf("job %q: %s %d uses %d %% of a core: it must be at most 100, as a task has one thread that computes", j.Name, state.Kind(k), i, w.CoresPercent)
			}
		}
	}
	if j.SubmitMs < 0 {
		return fmt.Errorf("job %q is submitted at %d ms: it must be 0 or more", j.Name, j.SubmitMs)
	}
	if j.SubmitMs < before {
		return fmt.Errorf("job %q is submitted at %d ms, before the job in front of it at %d ms: sort jobs by time", j.Name, j.SubmitMs, before)
	}
	if j.SlowStart > 1 {
		return fmt.Errorf("job %q: its reduces start after %g of its maps: it must be at most 1, or they never start", j.Name, j.SlowStart)
	}
	if j.AfterMs < 0 {
		return fmt.Errorf("job %q is submitted %d ms after job %s: it must be 0 or more", j.Name, j.AfterMs, j.After)
	}
	s.comes = j.SubmitMs
	return nil
}

// maxTasks is the largest number of tasks that all unfinished jobs together
// may have. This limits the simulator's memory, since a task takes about 50
// bytes.
const maxTasks = 1 << 26

// start submits a job.
func (s *Sim) start(x *Job) error {
	if n := s.tasks + int64(x.Maps) + int64(x.Reduces); n > maxTasks {
		return fmt.Errorf("submit job %q: with it, jobs that have not ended have %d tasks, and the limit is %d: have fewer jobs at a time, or larger blocks", x.Name, n, maxTasks)
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
	if s.load != nil {
		s.load.submitted(slot, s.Loads[cmp.Or(x.Workload, x.Name)])
	}
	j := &s.jobs[slot]
	work, spread, out, tries, ran, blocks, pasts, division := j.work, j.spread, j.out, j.tries, j.ran, j.blocks, j.pasts, j.division
	*j = job{
		id: id, gen: j.gen, name: x.ID, total: [2]int32{x.Maps, x.Reduces},
		size: [2]state.Resource{x.MapSize, x.ReduceSize}, amSize: x.AMSize, amNode: state.None,
		amStartMs: s.Costs.AMStartMs, finishMs: s.Costs.FinishMs,
		slowStart: int32(math.Ceil(float64(x.SlowStart) * float64(x.Maps))), replicas: replicas,
		waiting: -1, woken: -1, out: out[:0], division: division[:0], tries: tries[:0], ran: ran[:0], blocks: blocks[:0],
	}
	for k, q := range x.Spread {
		j.spread[k] = append(spread[k][:0], q...)
	}
	j.work[0], j.work[1] = append(work[0][:0], x.MapWork...), append(work[1][:0], x.ReduceWork...)
	if x.Reduces > 0 {
		j.out = resized(out, int(s.racks))
	}
	for sum, i := int64(0), 0; i < len(x.ReduceShares); i++ {
		sum += x.ReduceShares[i]
		j.division = append(j.division, sum)
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
	s.awaitTicks()
	for _, ms := range x.ReduceAskMs {
		j.askMs = append(j.askMs, ms)
		s.events.Push(max(ms, s.events.Now), evAsk, uint32(slot), j.gen)
	}
	s.events.After(s.Costs.SubmitMs, evAdmit, uint32(slot), j.gen)
	return nil
}

// admit queues a job's ApplicationMaster until a node has room for it. An
// ApplicationMaster of size 0 needs no room and starts at once.
func (s *Sim) admit(slot int32) {
	j := &s.jobs[slot]
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
		j := &s.jobs[slot]
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
	j := &s.jobs[slot]
	j.up, j.amUpMs = true, s.events.Now
	s.recordStarted(j)
	s.state.Ask(j.id, state.Map, j.total[state.Map])
	s.rampUp(j)
	s.endIfDone(slot)
}

// callBeat schedules the next heartbeat of a job's ApplicationMaster. At a
// heartbeat the ApplicationMaster asks for containers and learns of those
// allocated.
func (s *Sim) callBeat(slot int32) {
	j := &s.jobs[slot]
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
		s.callBeat(s.slot[j.id])
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
	j := &s.jobs[slot]
	if j.done == j.total && !j.ended && j.up {
		j.ended = true
		s.events.After(j.finishMs, evEndJob, uint32(slot), j.gen)
	}
}

// endJob removes a job that has ended from the simulation and frees its
// ApplicationMaster's room.
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
	x.EndMs = s.events.Now
	s.recordEnded(j, x)
	s.observe(sched.Event{What: sched.JobEnded, Job: j.id})
	s.release(j.name)
	s.live--
	s.tasks -= int64(j.total[0]) + int64(j.total[1])
	j.gen++
	s.spare = append(s.spare, slot)
}
