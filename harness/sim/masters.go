package sim

import (
	"slices"

	"heddle/harness/sched"
	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// masters are the jobs' ApplicationMasters: when one starts, when its heartbeats are, and
// for how many containers it asks. What it does with the containers that it gets is
// in containers.go.
type masters struct {
	*base
	by     sched.Masters      // model that decides which ApplicationMasters start where; nil: they start in order of submission
	hears  sched.HearsMasters // nil: the model is none, or there are no heartbeats
	queued []int32            // indexes in jobs.list of the jobs whose ApplicationMaster waits for a container, in order of submission
	ended  []reported         // containers whose end a node has not reported
	spare  []uint32           // indexes in ended that are free
	usedMB int64              // memory that all ApplicationMasters on nodes take, in MB
	starts []start            // ApplicationMasters that start beside the nodes
	beside mastersBeside
}

// mastersBeside are the ApplicationMasters that run beside the nodes, on no node of the cluster.
type mastersBeside struct {
	queued []int32 // indexes in jobs.list of the jobs whose ApplicationMaster waits for room there, in order of submission
	usedMB int64   // memory that those which start or are up take, in MB
	up     int     // number of them that are up
}

// begin has no ApplicationMaster run or wait.
func (am *masters) begin(b *base) {
	*am = masters{base: b, queued: am.queued[:0], starts: am.starts[:0], beside: mastersBeside{queued: am.beside.queued[:0]}}
	if b.Actuator == Native {
		am.by, _ = sched.As[sched.Masters](b.Model)
		if b.Costs.AMBeatMs > 0 {
			am.hears, _ = sched.As[sched.HearsMasters](b.Model)
		}
	}
}

// admit queues a job's ApplicationMaster until a node has room for it or, if its size is
// 0, until there is room beside the nodes. An error says why the model refuses the job.
func (am *masters) admit(slot int32) error {
	j := &am.jobs.list[slot]
	if am.by != nil {
		if err := am.by.Admit(am.view, j.id, j.amSize); err != nil {
			return err
		}
	}
	if j.amSize == (state.Resource{}) {
		am.beside.queued = append(am.beside.queued, slot)
		am.placeBeside()
	} else if am.by == nil {
		am.queued = append(am.queued, slot)
	}
	return nil
}

// wait reports whether an ApplicationMaster waits for a node.
func (am *masters) wait() bool { return len(am.queued) > 0 || am.by != nil && am.by.Wants() }

// placeBeside starts waiting ApplicationMasters beside the nodes, as long as there is room
// for them. One may always run.
func (am *masters) placeBeside() {
	x := &am.beside
	mb, most := int64(am.Costs.AMBesideMB), int64(am.Cluster.MastersMB)
	for len(x.queued) > 0 && (most == 0 || x.usedMB == 0 || x.usedMB+mb <= most) {
		slot := x.queued[0]
		x.queued = slices.Delete(x.queued, 0, 1)
		x.usedMB += mb
		am.jobs.list[slot].amBeside = true
		am.startBeside(slot)
	}
}

// reported is a container that has ended.
type reported struct {
	node   state.NodeID
	job    state.JobID
	size   state.Resource
	master bool
}

// freeAtBeat has a container that has ended count as used until its node's next heartbeat, if the
// model starts ApplicationMasters: its queue's limits are those of YARN, which hears of it then.
func (am *masters) freeAtBeat(x reported, laterMs int64) {
	switch {
	case am.by == nil:
		return
	case x.master:
	default:
		am.state.Hold(x.node, x.job, x.size)
	}
	if am.Costs.NodeBeatMs == 0 {
		am.free(x)
		return
	}
	am.freeAt(x, am.nodes.reports(x.node)+laterMs)
}

// freeAt has YARN hear of the end of a container at a time.
func (am *masters) freeAt(x reported, ms int64) {
	i := uint32(len(am.ended))
	if k := len(am.spare); k > 0 {
		i, am.spare = am.spare[k-1], am.spare[:k-1]
		am.ended[i] = x
	} else {
		am.ended = append(am.ended, x)
	}
	am.events.Push(ms, evFreed, i, 0)
}

// free has YARN hear of the end of a container.
func (am *masters) free(x reported) {
	am.state.Release(x.node, x.job, x.size)
	am.nodes.noteRoom(x.node)
	if x.master {
		am.usedMB -= int64(x.size.MemoryMB)
		am.by.Leave(am.view, x.job)
	}
}

// startBeside starts an ApplicationMaster that runs on no node of the cluster. If one
// machine runs all nodes, the ApplicationMaster shares its cores with their tasks.
func (am *masters) startBeside(slot int32) {
	j := &am.jobs.list[slot]
	if am.Cluster.HostCores > 0 && am.nodes.flows != nil && j.amStartMs > 0 {
		am.starts = append(am.starts, start{slot, fluid.Ended, int64(float64(j.amStartMs) * 1000 * am.coresBeside())})
		am.shareBeside()
		return
	}
	am.events.After(j.amStartMs, evAMUp, uint32(slot), j.gen)
}

// start is that of an ApplicationMaster which shares the cores of the machine.
type start struct {
	slot   int32
	flow   fluid.Flow
	coreUs int64 // what it has to compute until it is up, if flow has ended
}

func (am *masters) coresBeside() float64 { return min(masterCores, am.Cluster.HostCores) }

// shareBeside divides what the lab's master may have of the machine's cores evenly between
// the ApplicationMasters that start.
func (am *masters) shareBeside() {
	weight := max(1, (masterWeight+len(am.starts)/2)/max(1, len(am.starts)))
	for i := range am.starts {
		x := &am.starts[i]
		if x.flow != fluid.Ended {
			x.coreUs = am.nodes.flows.Left(am.events.Now, x.flow)
			am.nodes.flows.Cancel(am.events.Now, x.flow)
		}
		x.flow = am.nodes.flows.ComputeBeside(
			am.events.Now,
			max(1, x.coreUs),
			int64(am.nodes.core*am.coresBeside()),
			uint16(weight),
			masterTag+uint32(x.slot),
		)
	}
}

// upBeside handles the end of the start of an ApplicationMaster beside the nodes.
func (am *masters) upBeside(slot int32) {
	am.starts = slices.DeleteFunc(am.starts, func(x start) bool { return x.slot == slot })
	am.shareBeside()
	am.up(slot)
}

// upBy counts the ApplicationMasters that are up beside the nodes: so many more or, below 0,
// fewer. They take cores of the machine that runs all nodes.
func (am *masters) upBy(more int) {
	am.beside.up += more
	if am.Cluster.MasterCores > 0 && am.Cluster.HostCores > 0 && am.nodes.flows != nil {
		am.nodes.shareHost(am.events.Now, am.beside.up)
	}
}

// How ApplicationMasters that start on a lab use the machine's cores. One, two and
// three that start at once took 2.0, 3.1 and 4.7 s on two cores. All run on the lab's
// master, which has the CPU weight of four nodes, and a node of the usual two containers
// that of two attempts.
const (
	masterCores  = 1.5
	masterWeight = 8
)

// masterTag is added to the tags of starts of ApplicationMasters.
const masterTag = 3 << 30

// place starts waiting ApplicationMasters on node n, in the order in
// which their jobs were submitted, as long as the node has room.
func (am *masters) place(n state.NodeID) {
	kept := am.queued[:0]
	for _, slot := range am.queued {
		j := &am.jobs.list[slot]
		most := int64(am.Costs.AMShare * float64(am.view.Total().MemoryMB))
		if !am.view.Up(n) || !am.view.Free(n).Holds(j.amSize) || am.usedMB > 0 && am.usedMB+int64(j.amSize.MemoryMB) > most {
			kept = append(kept, slot)
			continue
		}
		am.start(slot, n)
	}
	am.queued = kept
}

// start starts a job's ApplicationMaster on node n. It reports whether there is room.
func (am *masters) start(slot int32, n state.NodeID) bool {
	j := &am.jobs.list[slot]
	if j.amNode != state.None || !am.view.Up(n) || !am.view.Free(n).Holds(j.amSize) {
		return false
	}
	j.amNode = n
	am.usedMB += int64(j.amSize.MemoryMB)
	am.state.Hold(n, j.id, j.amSize)
	am.events.After(j.amStartMs, evAMUp, uint32(slot), j.gen)
	return true
}

// up handles the registration of a job's ApplicationMaster, which then wants containers
// for all maps of the job.
func (am *masters) up(slot int32) {
	j := &am.jobs.list[slot]
	if !j.wasUp {
		for i := range j.askMs {
			j.askMs[i] += am.events.Now
		}
	}
	j.up, j.wasUp, j.amUpMs, j.mapsMs = true, true, am.events.Now, am.events.Now
	if j.amBeside {
		am.upBy(1)
	}
	am.recorder.started(j)
	am.request(j)
	if am.asksAtOnce(j) {
		am.rampUp(j) // asks for the reduces of recorded times that have passed, too
	}
	for _, ms := range j.askMs {
		if ms > am.events.Now {
			am.events.Push(ms, evAsk, uint32(slot), j.gen)
		}
	}
	if am.Speculation != NoSpeculation && am.r.Jobs[j.id].StartMs >= 0 { // the scans of the ApplicationMaster before have ended with it
		am.events.After(scanMs, evSpeculate, uint32(slot), j.gen)
	}
	am.endIfDone(slot)
}

// request has the ApplicationMaster's requests for containers sent: with its next
// heartbeat, or at once where requests do not wait.
//
// Source: Hadoop 3.4 RMCommunicator waits for one interval before its first heartbeat,
// and RMContainerAllocator decides on reduces after it has sent a heartbeat. With
// heartbeats of 0.2 and 1 s, a lab's jobs started their first attempt 0.56 and 2.2 s after
// their ApplicationMaster was up.
func (am *masters) request(j *job) {
	if am.asksAtOnce(j) {
		am.send(j)
	} else {
		am.callBeat(am.jobs.slot[j.id])
	}
}

// asksAtOnce reports whether a job's requests do not wait for a heartbeat: if there are no
// intervals, if decisions are carried out without the ApplicationMaster, or if the times
// of the job are those at which requests were seen to arrive.
func (am *masters) asksAtOnce(j *job) bool {
	return am.Costs.AMBeatMs == 0 || am.Actuator == Ideal || j.askMs != nil
}

// send makes the requests that the ApplicationMaster has decided on known to the cluster.
func (am *masters) send(j *job) {
	am.state.Ask(j.id, state.Map, j.total[state.Map])
	am.state.Ask(j.id, state.Reduce, j.asked)
	j.unsent = 0
}

// askAgain has the ApplicationMaster ask for a new container for a task whose attempt has
// ended or whose output is lost. It returns an error if the task waits already.
func (am *masters) askAgain(j *job, t state.TaskID, hurry bool) error {
	if am.view.Waiting(j.id, state.Map) == 0 {
		j.mapsMs = am.events.Now
	}
	return am.state.Retry(j.id, t, hurry)
}

// callBeat schedules the next heartbeat of a job's ApplicationMaster. At a
// heartbeat the ApplicationMaster sends its requests and learns of containers
// allocated.
func (am *masters) callBeat(slot int32) {
	j := &am.jobs.list[slot]
	if j.beatSet || !j.up {
		return
	}
	j.beatSet = true
	am.events.Push(am.beatOf(j), evAMBeat, uint32(slot), j.gen)
}

// beatOf returns the time of the next heartbeat of a job's ApplicationMaster.
func (am *masters) beatOf(j *job) int64 {
	if b := int64(am.Costs.AMBeatMs); b > 0 {
		return am.events.Now + b - (am.events.Now-j.amUpMs)%b
	}
	return am.events.Now
}

// beatAgain schedules the heartbeat after the present one, while reduces and maps both
// want containers. Other heartbeats are called for by what happens.
func (am *masters) beatAgain(slot int32) {
	j := &am.jobs.list[slot]
	if j.beatSet || j.asked == 0 || j.asked == j.total[state.Reduce] && am.view.Waiting(j.id, state.Map) == 0 {
		return
	}
	if am.Costs.AMBeatMs > 0 {
		am.callBeat(slot)
		return
	}
	j.beatSet = true
	am.events.After(idleBeatMs, evAMBeat, uint32(slot), j.gen)
}

// idleBeatMs is the time between two checks whether a job's ApplicationMaster
// can ask for more reduces, if Costs.AMBeatMs is 0 (no heartbeat interval).
const idleBeatMs = 1000

// rampUp asks for a job's reduce containers once enough maps have succeeded
// (slow start). Reduces must leave the waiting maps their share of the job's
// memory. If no map waits, all reduces are asked for.
//
// Source: Hadoop 3.4 RMContainerAllocator.scheduleReduces. A job's memory is
// taken to be what its containers use plus its headroom.
func (am *masters) rampUp(j *job) {
	const m, r = state.Map, state.Reduce
	if j.askMs != nil {
		before := j.asked
		for j.asked < j.total[r] && j.askMs[min(int(j.asked), len(j.askMs)-1)] <= am.events.Now {
			j.asked++
		}
		if j.asked > before {
			am.send(j)
			am.callBeat(am.jobs.slot[j.id])
		}
		return
	}
	if j.asked == j.total[r] || j.done[m] < j.slowStart {
		return
	}
	v := am.view
	maps, reduces := int64(v.Waiting(j.id, m)), int64(v.Waiting(j.id, r)+v.Running(j.id, r)+j.unsent)
	more := int64(j.total[r] - j.asked)
	if maps > 0 {
		share := min(float64(j.done[m])/float64(j.total[m]), am.Costs.RampUp)
		mapMB := max(1, int64(j.size[m].MemoryMB))
		reduceMB := max(1, int64(j.size[r].MemoryMB))
		maps += int64(v.Running(j.id, m))
		all := int64(am.headroomMB(j)) + int64(v.Running(j.id, m))*mapMB + int64(v.Running(j.id, r))*reduceMB
		forReduces := int64(float64(all) * share)
		if all-forReduces >= maps*mapMB {
			forReduces = all - maps*mapMB
		}
		more = min(more, (forReduces-reduces*reduceMB)/reduceMB)
	}
	if more > 0 {
		j.asked += int32(more)
		j.unsent += int32(more)
		am.request(j)
		am.callBeat(am.jobs.slot[j.id]) // at which it withdraws the request if its maps starve
	}
}

// starve reports whether maps of a job wait and none runs. Its ApplicationMaster then
// asks for no reduces and withdraws its requests for them. The result kill says how many
// reduces that run it also has to kill: some if the cluster has no room for a map, or if
// maps wait that it asked for hungerMs (300 s) ago.
//
// Source: Hadoop 3.4 RMContainerAllocator.preemptReducesIfNeeded: at once if
// the headroom cannot hold a map, otherwise 300 s after the request. It kills as many as
// have the memory of the maps that wait, or of half of what the job may have if that is
// less, but at least of one map.
func (am *masters) starve(j *job) (starve bool, kill int32) {
	const m, r = state.Map, state.Reduce
	waiting := am.view.Waiting(j.id, m)
	if waiting == 0 || am.view.Running(j.id, m) > 0 || j.asked == 0 {
		return false, 0
	}
	j.asked, j.unsent = j.asked-j.unsent, 0
	for am.view.Waiting(j.id, r) > 0 {
		j.asked, _ = am.state.Unask(j.id, r)
	}
	headroomMB, mapMB, reduceMB := int64(am.headroomMB(j)), max(1, int64(j.size[m].MemoryMB)), max(1, int64(j.size[r].MemoryMB))
	if headroomMB >= mapMB && am.events.Now-j.mapsMs < hungerMs {
		return true, 0
	}
	reduces := func(mb int64) int64 { return (mb + reduceMB - 1) / reduceMB }
	half := (headroomMB + int64(am.view.Running(j.id, r))*reduceMB) / 2
	return true, int32(min(max(reduces(mapMB), reduces(half)), reduces(mapMB*int64(waiting)), int64(am.view.Running(j.id, r))))
}

const hungerMs = 300_000

// headroomMB returns how much memory YARN tells a job that it may still get: that of all
// nodes that are up, less what the jobs of all queues and their ApplicationMasters use.
// Nodes for ApplicationMasters alone are among them, though no task may run there. On a lab
// whose two containers were both taken by reduces, a job had a headroom of 3.5 GiB, so that
// its maps waited for 300 s.
func (am *masters) headroomMB(j *job) int32 {
	if am.by != nil {
		return am.by.Headroom(am.view, j.id).MemoryMB
	}
	free := am.view.Total().MemoryMB
	if j.amSize == (state.Resource{}) {
		free += int32(max(0, int64(am.Cluster.MastersMB)-am.beside.usedMB))
	}
	for q := range am.view.Queues() {
		free -= am.view.QueueUsed(state.QueueID(q)).MemoryMB
	}
	return max(0, free)
}

// endIfDone schedules the end of a job whose tasks have all succeeded. The job
// ends later, after the time that its ApplicationMaster takes to finish.
func (am *masters) endIfDone(slot int32) {
	j := &am.jobs.list[slot]
	if j.done == j.total && !j.ended && j.up {
		j.ended = true
		am.events.After(j.finishMs, evEndJob, uint32(slot), j.gen)
	}
}

// unaskAll withdraws all requests for containers of a job whose ApplicationMaster
// was lost.
func (am *masters) unaskAll(j *job) {
	for k := range state.Kind(2) {
		for ok := true; ok; {
			_, ok = am.state.Unask(j.id, k)
		}
	}
}

// leave frees the room of a job's ApplicationMaster, which has ended or was lost.
func (am *masters) leave(j *job, lost bool) {
	if j.amBeside {
		j.amBeside = false
		if j.up {
			am.upBy(-1)
		}
		am.beside.usedMB -= int64(am.Costs.AMBesideMB)
		am.placeBeside()
	}
	if am.by != nil && !lost && j.amNode != state.None {
		am.freeAtBeat(reported{j.amNode, j.id, j.amSize, true}, 0)
		j.amNode = state.None
		return
	}
	if j.amNode != state.None {
		am.state.Release(j.amNode, j.id, j.amSize)
		am.usedMB -= int64(j.amSize.MemoryMB)
		am.nodes.noteRoom(j.amNode)
		j.amNode = state.None
	}
	if am.by != nil {
		am.by.Leave(am.view, j.id)
	}
}
