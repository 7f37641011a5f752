package replay

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/state"
)

// bounds are what the jobs of a replay take on its cluster at least and at most,
// whatever model decides. A result outside them is not to be believed. It is the
// Source of the jobs, which it looks at on their way.
type bounds struct {
	sim.Source
	capacity
	jobs    []jobBounds // by submission
	reduces bool
	wrong   bool // things go wrong: there is work that jobs do not tell
}

// jobBounds is what one job takes.
type jobBounds struct {
	submitMs, leastMs, mostMs float64 // from submission to end, alone
	work                      room    // at least
	containersMs              float64 // at most
}

// newBounds derives bounds from the cluster, its costs and, as they pass, the jobs.
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
func newBounds(x *sim.Config, m *jobMaker, source sim.Source) *bounds {
	return &bounds{Source: source, capacity: capacityOf(x, m), wrong: len(x.Faults) > 0 || x.Speculation != sim.NoSpeculation}
}

// Next implements sim.Source.
func (b *bounds) Next(j *sim.Job) bool {
	if !b.Source.Next(j) {
		return false
	}
	least, most := b.tasks(j)
	b.jobs = append(b.jobs, jobBounds{float64(j.SubmitMs), least.chainMs, most.chainMs, least.work, most.work.containers})
	b.reduces = b.reduces || j.Reduces > 0
	b.wrong = b.wrong || len(j.Pasts) > 0
	return true
}

// makespan is the least and the most, infinite where nothing bounds it.
func (b *bounds) makespan() (leastMs, mostMs float64) {
	var work room // of the job under way and those after it
	var wholeMs, aloneMs, lastMs float64
	for i := len(b.jobs) - 1; i >= 0; i-- {
		j := &b.jobs[i]
		came := j.submitMs - b.jobs[0].submitMs
		work = work.plus(j.work)
		leastMs = max(leastMs, came+j.leastMs, came+work.over(b.all))
		wholeMs += j.containersMs
		aloneMs += j.mostMs
		lastMs = max(lastMs, came+j.mostMs)
	}
	slots := b.containers
	if b.reduces {
		slots *= 1 - b.costs.RampUp
	}
	if b.masters > 0 {
		slots -= b.masters
		lastMs += aloneMs / b.masters
	}
	if slots <= 0 || b.wrong {
		return leastMs, math.Inf(1)
	}
	return leastMs, lastMs + wholeMs/slots
}

// check says what of a result is outside the bounds.
func (b *bounds) check(r *sim.Result) []string {
	if slices.ContainsFunc(r.Jobs, func(j sim.JobResult) bool { return j.Failed }) {
		return nil // they did part of their work
	}
	var list []string
	ms := float64(r.MakespanMs)
	leastMs, mostMs := b.makespan()
	if ms < leastMs {
		list = append(list, fmt.Sprintf("a makespan of %.2f s is less than the %.2f s that these jobs take on this cluster at least: this is a defect of the simulator", ms/1000, leastMs/1000))
	}
	if ms > mostMs {
		list = append(list, fmt.Sprintf("a makespan of %.2f s is more than the %.2f s that these jobs take on this cluster if no room is left unused while tasks wait: the model holds tasks back, or what things cost is wrong (see --calibrate)", ms/1000, mostMs/1000))
	}
	for i, j := range r.Jobs {
		if took := float64(j.EndMs - j.SubmitMs); took < b.jobs[i].leastMs {
			return append(list, fmt.Sprintf("job %d took %.2f s, less than the %.2f s that it takes alone: this is a defect of the simulator", i+1, took/1000, b.jobs[i].leastMs/1000))
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

func capacityOf(x *sim.Config, jobs *jobMaker) capacity {
	m := capacity{costs: &x.Costs, stretch: 1, slow: math.Inf(1)}
	most, least := state.Resource{}, state.Resource{MemoryMB: math.MaxInt32, VCores: math.MaxInt32}
	master := state.Resource{MemoryMB: math.MaxInt32, VCores: math.MaxInt32}
	see := func(forMap, forReduce, am state.Resource) {
		for _, size := range []state.Resource{forMap, forReduce, am} {
			if size.MemoryMB > 0 {
				most = state.Resource{MemoryMB: max(most.MemoryMB, size.MemoryMB), VCores: max(most.VCores, size.VCores)}
				least = state.Resource{MemoryMB: min(least.MemoryMB, size.MemoryMB), VCores: min(least.VCores, size.VCores)}
			}
		}
		if am.MemoryMB > 0 {
			master.MemoryMB, m.masters = min(master.MemoryMB, am.MemoryMB), 1
		}
	}
	for _, j := range jobs.jobs {
		see(jobs.sizes(j))
	}
	if len(jobs.Trace.List) > 0 {
		see(sizeOf(0, 0), sizeOf(0, 0), state.Resource{})
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
		w, n := &j.MapWork[i], alike(i, j.MapWork, j.Maps)
		lo, hi := m.taskMs(w, float64(w.InputBytes))
		least.work = least.work.plus(takes(n*lo, j.MapSize))
		most.work = most.work.plus(takes(n*(hi+turnoverCost.mostMs), j.MapSize))
		mapLeast, mapMost = max(mapLeast, lo), max(mapMost, hi)
		out += n * float64(w.OutputBytes)
	}
	for i := range j.ReduceWork {
		w, n := &j.ReduceWork[i], alike(i, j.ReduceWork, j.Reduces)
		lo, hi := m.taskMs(w, out/float64(j.Reduces)+1)
		hi += float64(c.FetchMs) * float64(j.Maps)
		least.work = least.work.plus(takes(n*lo, j.ReduceSize))
		most.work = most.work.plus(takes(n*(hi+turnoverCost.mostMs), j.ReduceSize))
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

// alike is how many of n tasks entry i of their work stands for.
func alike(i int, work []sim.Work, n int32) float64 {
	if i == 0 {
		return float64(int(n) - len(work) + 1)
	}
	return 1
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
