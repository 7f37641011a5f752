package replay

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/state"
)

// bounds are what the jobs of a replay take on its cluster at least and at most,
// whatever model decides. A result outside them is not to be believed.
type bounds struct {
	leastMs, mostMs float64 // of the makespan; mostMs is infinite where nothing bounds it
	// jobsMs is by job, in order of submission, the least from submission to end.
	jobsMs []float64
	// load is the share of the cluster's room that the tasks take from the first
	// submission to the last; infinite for jobs that all come at once.
	load float64
}

// boundsOf derives bounds from the jobs, the cluster and its costs.
//
// At least: a job takes the start of its ApplicationMaster, its longest map, the
// longest of its reduces from there on, and its end. And the jobs that come at
// some time or later bring work, room times time, of which the cluster's whole
// room does no more than so much in a time. The makespan is at least the longest
// of these.
//
// At most: the list-scheduling bound (Graham, 1966). Take the job that ends last.
// From its submission on either what ends it last goes on (the master's start, a
// map, a reduce, its end), or one of its tasks waits. While a task waits, every
// node holds as many containers as fit into it of the largest size that any job
// asks for, or the task would start: the cluster works on that many tasks. So the
// job ends no later than its submission, the time that it takes alone, and the
// whole work over that many. To it is added what real schedulers and this one
// need besides:
//
//   - for each start of a task, the longest turnover that is believed (see costs),
//     in which its room is empty; models that wait for data wait no longer, or
//     they leave room unused to a degree that is worth a warning;
//   - the longest start and end of a job that are believed, where the trace does
//     not say what they took;
//   - reduces that wait for maps hold the part of the room that ramp-up gives them;
//   - ApplicationMasters that take room hold all that they may, and a job waits for
//     the jobs before it if that is too little for all of them;
//   - a task that shares cores, disks or links shares them with as many as fit.
func boundsOf(x *sim.Config, jobs []sim.Job) bounds {
	m := machinesOf(x, jobs)
	b := bounds{jobsMs: make([]float64, len(jobs)), mostMs: math.Inf(1)}
	first := float64(jobs[0].SubmitMs)
	var work room // of the job under way and those after it
	var wholeMs, aloneMs, lastMs float64
	reduces := false
	for i := len(jobs) - 1; i >= 0; i-- {
		j := &jobs[i]
		came := float64(j.SubmitMs) - first
		least, most := m.tasks(j)
		b.jobsMs[i] = least.chainMs
		work = work.plus(least.work)
		b.leastMs = max(b.leastMs, came+least.chainMs, came+work.over(m.all))
		wholeMs += most.work.containers
		aloneMs += most.chainMs
		lastMs = max(lastMs, came+most.chainMs)
		reduces = reduces || j.Reduces > 0
	}
	span := float64(jobs[len(jobs)-1].SubmitMs) - first
	b.load = work.over(m.all) / span
	slots := m.containers
	if reduces {
		slots *= 1 - x.Costs.RampUp
	}
	if m.masters > 0 {
		slots -= m.masters
		lastMs += aloneMs / m.masters
	}
	wrong := len(x.Faults) > 0 || x.Speculation != sim.NoSpeculation // work that jobs do not tell
	for i := range jobs {
		wrong = wrong || len(jobs[i].Pasts) > 0
	}
	if slots > 0 && !wrong {
		b.mostMs = lastMs + wholeMs/slots
	}
	return b
}

// check says what of a result is outside the bounds.
func (b *bounds) check(r *sim.Result) []string {
	if slices.ContainsFunc(r.Jobs, func(j sim.JobResult) bool { return j.Failed }) {
		return nil // they did part of their work
	}
	var list []string
	ms := float64(r.MakespanMs)
	if ms < b.leastMs {
		list = append(list, fmt.Sprintf("a makespan of %.2f s is less than the %.2f s that these jobs take on this cluster at least: this is a defect of the simulator", ms/1000, b.leastMs/1000))
	}
	if ms > b.mostMs {
		list = append(list, fmt.Sprintf("a makespan of %.2f s is more than the %.2f s that these jobs take on this cluster if no room is left unused while tasks wait: the model holds tasks back, or what things cost is wrong (see --calibrate)", ms/1000, b.mostMs/1000))
	}
	for i, j := range r.Jobs {
		if took := float64(j.EndMs - j.SubmitMs); took < b.jobsMs[i] {
			return append(list, fmt.Sprintf("job %d took %.2f s, less than the %.2f s that it takes alone: this is a defect of the simulator", i+1, took/1000, b.jobsMs[i]/1000))
		}
	}
	return list
}

// room is work: containers, their memory and their cores, each times ms.
type room struct{ containers, memory, cores float64 }

func (r room) plus(s room) room {
	return room{r.containers + s.containers, r.memory + s.memory, r.cores + s.cores}
}

// over is how many ms the work takes at least in all of the room.
func (r room) over(all room) float64 {
	return max(r.memory/all.memory, r.cores/all.cores)
}

// tasksTime is what the tasks of a job take: together, and one after the other as
// far as they must.
type tasksTime struct {
	work    room
	chainMs float64
}

// capacity is what bounds need to know of a cluster.
type capacity struct {
	costs      *sim.Costs
	all        room    // that there is
	containers float64 // of the largest size, on all nodes
	masters    float64 // that may run at a time; 0: they take no room
	stretch    float64 // by how much sharing a core makes what is computed longer, at most
	fast, slow float64 // the highest and lowest speed of a node
	waitMs     float64 // for each byte, at most
}

func machinesOf(x *sim.Config, jobs []sim.Job) capacity {
	m := capacity{costs: &x.Costs, stretch: 1, slow: math.Inf(1)}
	most, least := state.Resource{}, state.Resource{MemoryMB: math.MaxInt32, VCores: math.MaxInt32}
	master := state.Resource{MemoryMB: math.MaxInt32, VCores: math.MaxInt32}
	for i := range jobs {
		sizes := []state.Resource{jobs[i].MapSize, jobs[i].ReduceSize}
		if am := jobs[i].AMSize; am.MemoryMB > 0 {
			sizes = append(sizes, am)
			master.MemoryMB = min(master.MemoryMB, am.MemoryMB)
			m.masters = 1
		}
		for _, size := range sizes {
			most = state.Resource{MemoryMB: max(most.MemoryMB, size.MemoryMB), VCores: max(most.VCores, size.VCores)}
			least = state.Resource{MemoryMB: min(least.MemoryMB, size.MemoryMB), VCores: min(least.VCores, size.VCores)}
		}
	}
	fit := func(in, size state.Resource) float64 {
		return float64(min(in.MemoryMB/max(1, size.MemoryMB), in.VCores/max(1, size.VCores)))
	}
	rate, running := math.Inf(1), 0.0
	slower := func(bytesPerSec int64) {
		if bytesPerSec > 0 {
			rate = min(rate, float64(bytesPerSec))
		}
	}
	for i := range x.Cluster.Nodes {
		n := &x.Cluster.Nodes[i]
		m.all = m.all.plus(room{memory: float64(n.Capacity.MemoryMB), cores: float64(n.Capacity.VCores)})
		m.containers += fit(n.Capacity, most)
		running += fit(n.Capacity, least)
		if n.Cores > 0 {
			m.stretch = max(m.stretch, fit(n.Capacity, least)/n.Cores)
		}
		speed := n.Speed
		if speed == 0 {
			speed = 1
		}
		m.fast, m.slow = max(m.fast, speed), min(m.slow, speed)
		slower(n.DiskBytesPerSec)
		slower(n.LinkBytesPerSec)
		slower(n.MemoryBytesPerSec)
	}
	for _, r := range x.Cluster.Racks {
		slower(r.UplinkBytesPerSec)
	}
	if x.Cluster.HostCores > 0 {
		m.stretch = max(m.stretch, running/x.Cluster.HostCores)
	}
	// Bytes pass a disk, two links and two uplinks, each of which all share.
	m.waitMs = 5 * 1000 * running * float64(max(1, x.Costs.Fetchers)) / rate
	if m.masters > 0 {
		m.masters = max(1, math.Floor(x.Costs.AMShare*m.all.memory/float64(master.MemoryMB)))
	}
	return m
}

// tasks is what the job's tasks take at least and at most.
func (m *capacity) tasks(j *sim.Job) (least, most tasksTime) {
	c := m.costs
	launch := float64(c.LaunchMs)
	var mapLeast, mapMost, tail, aside, reduceMost, out float64
	for i := range j.MapWork {
		w := &j.MapWork[i]
		lo, hi := m.taskMs(w, float64(w.InputBytes))
		least.work = least.work.plus(takes(lo, j.MapSize))
		most.work = most.work.plus(takes(hi+turnoverCost.mostMs, j.MapSize))
		mapLeast, mapMost = max(mapLeast, lo), max(mapMost, hi)
		out += float64(w.OutputBytes)
	}
	for i := range j.ReduceWork {
		w := &j.ReduceWork[i]
		lo, hi := m.taskMs(w, out/float64(len(j.ReduceWork))+1)
		hi += float64(c.FetchMs) * float64(j.Maps)
		least.work = least.work.plus(takes(lo, j.ReduceSize))
		most.work = most.work.plus(takes(hi+turnoverCost.mostMs, j.ReduceSize))
		switch {
		case w.FixedMs == 0: // its start may be over when the last map ends
			tail = max(tail, lo-float64(c.TaskStartMs)/m.fast)
		case w.FromLastMap:
			tail = max(tail, lo)
		default:
			aside = max(aside, lo)
		}
		reduceMost = max(reduceMost, hi+turnoverCost.mostMs)
	}
	start, end := float64(c.SubmitMs+c.AMStartMs), float64(c.FinishMs)
	startMost, endMost := amStartCost.mostMs, finishCost.mostMs
	if j.AMStartMs > 0 {
		start = float64(c.SubmitMs + j.AMStartMs)
		startMost += start
	}
	if j.FinishMs > 0 {
		end = float64(j.FinishMs)
		endMost += end
	}
	least.chainMs = start + launch + max(mapLeast+tail, aside) + end
	most.chainMs = startMost + turnoverCost.mostMs + mapMost + reduceMost + endMost
	return least, most
}

// taskMs is the least and the most time that a task takes which moves so many
// bytes.
func (m *capacity) taskMs(w *sim.Work, bytes float64) (least, most float64) {
	if w.FixedMs > 0 {
		return float64(w.FixedMs), float64(w.FixedMs)
	}
	spread := float64(w.ComputeMs) * float64(w.SpreadPercent) / 100
	least = (float64(m.costs.TaskStartMs) + float64(w.ComputeMs) - spread) / m.fast
	most = (float64(m.costs.TaskStartMs)+float64(w.ComputeMs)+spread)*m.stretch/m.slow + float64(m.costs.CommitMs)
	return least, most + (bytes+float64(w.OutputBytes))*m.waitMs
}

func takes(ms float64, size state.Resource) room {
	return room{ms, ms * float64(size.MemoryMB), ms * float64(size.VCores)}
}
