package replay

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/harness/replay/calibration"
	"heddle/harness/sim"
	"heddle/harness/state"
)

// bounds are lower and upper limits of the times that a replay's jobs can take on
// its cluster, whatever the scheduler model decides. The simulator takes its jobs from
// here, so that each job counts in the limits.
type bounds struct {
	sim.Source
	capacity
	jobs    []jobBounds // limits of each job's time; jobs in order of submission
	reduces bool
	wrong   bool // true: faults, failures or speculative attempts add work that the limits do not count
}

// jobBounds are the lower and upper limits of one job's time, and of the work that
// its tasks do.
type jobBounds struct {
	submitMs, leastMs, mostMs float64 // the job's arrival; its least and largest time to its end, in ms, if it runs alone
	work                      room    // lower limit of the job's work: containers, memory and cores, each multiplied by time
	containersMs              float64 // upper limit of the time, in ms, for which the job's tasks occupy containers, all tasks added up
}

// boundsOf has the jobs of a replay that was prepared go through limits of its own.
func boundsOf(t testing.TB, c *Config, x *sim.Config) *bounds {
	t.Helper()
	again, _, err := c.prepare()
	mustDo(t, err)
	b := &bounds{
		Source: x.Source, capacity: capacityOf(x, again.Source),
		wrong: len(x.Faults) > 0 || x.Speculation != sim.NoSpeculation || len(x.Capacity.Changes) > 0,
	}
	x.Source = b
	return b
}

// Next returns the next job of the replay and notes the lower and upper limits of
// the job's time. It implements sim.Source.
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

// makespan returns the lower and upper limit of the makespan, in ms. The upper limit
// may be infinite.
func (b *bounds) makespan() (leastMs, mostMs float64) {
	var work room // sum of the work of this job and of all jobs that arrive later
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
	if b.beside > 0 {
		lastMs += aloneMs / b.beside
	}
	if slots <= 0 || b.wrong {
		return leastMs, math.Inf(1)
	}
	return leastMs, lastMs + wholeMs/slots
}

// check compares a replay's results with the lower and upper limits, and returns a
// warning for each result outside them.
func (b *bounds) check(r *sim.Result) []string {
	if slices.ContainsFunc(r.Jobs, func(j sim.JobResult) bool { return j.Failed }) {
		return nil // skip this job: it failed and did only part of its work, so the lower limit does not hold
	}
	var list []string
	ms := float64(r.MakespanMs)
	leastMs, mostMs := b.makespan()
	if ms < leastMs {
		list = append(list,
			fmt.Sprintf("a makespan of %.2f s is less than the %.2f s that these jobs need at least on this cluster: this is a defect of the "+
				"simulator", ms/1000, leastMs/1000))
	}
	if ms > mostMs {
		list = append(list, fmt.Sprintf("a makespan of %.2f s is more than the %.2f s that these jobs take on this cluster if no room stays "+
			"unused while tasks wait: the model holds tasks back, or the costs are wrong (see --calibrate)", ms/1000, mostMs/1000))
	}
	for i, j := range r.Jobs {
		if took := float64(j.EndMs - j.SubmitMs); took < b.jobs[i].leastMs {
			return append(list, fmt.Sprintf("job %d took %.2f s, less than the %.2f s that it takes alone: this is a defect of the simulator",
				i+1, took/1000, b.jobs[i].leastMs/1000))
		}
	}
	return list
}

// room is an amount of work: containers, memory and cores, each multiplied by the ms
// for which it is used. The type also serves for a cluster's memory and cores.
type room struct{ containers, memory, cores float64 }

func (r room) plus(s room) room {
	return room{r.containers + s.containers, r.memory + s.memory, r.cores + s.cores}
}

// The method over returns the least time, in ms, in which a cluster can do this work.
// The argument all is the cluster's memory and cores.
func (r room) over(all room) float64 {
	return max(r.memory/all.memory, r.cores/all.cores)
}

// tasksTime is the time that the tasks of a job take: all tasks together, and along
// the longest chain of tasks that must run one after the other.
type tasksTime struct {
	work    room
	chainMs float64
}

// capacity is the memory, the cores and the speed of a cluster, from which limits of
// job times are computed.
type capacity struct {
	costs      *sim.Costs
	all        room    // memory and cores of all nodes together
	containers float64 // how many containers of the largest size all nodes hold together
	masters    float64 // number of ApplicationMasters that may run at a time; 0: they take no room on workers
	beside     float64 // number of ApplicationMasters that may run at a time beside the workers; 0: any number
	stretch    float64 // the largest factor by which sharing of cores can slow down computing
	fast, slow float64 // highest and lowest speed of a node's processors, relative to the trace
	waitMs     float64 // the longest time, in ms, that a task can take to move one byte, with all disks and links shared
}

func capacityOf(x *sim.Config, jobs sim.Source) capacity {
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
	for j := (sim.Job{}); jobs.Next(&j); j = (sim.Job{}) {
		see(j.MapSize, j.ReduceSize, j.AMSize)
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
		cores := x.Cluster.HostCores
		if x.Cluster.MasterCores > 0 { // with any number of ApplicationMasters
			cores /= 2
		}
		perCore := running / cores
		m.stretch = max(m.stretch, perCore*sim.Slowed(x.Cluster.Contention, perCore))
	}
	// At worst, a byte passes a disk, two nodes' links and two racks' uplinks, each
	// shared by all tasks.
	m.waitMs = 5 * 1000 * running * float64(max(1, x.Costs.Fetchers)) / rate
	if m.masters > 0 {
		m.masters = max(1, math.Floor(x.Costs.AMShare*m.all.memory/float64(master.MemoryMB)))
	}
	if mb := x.Costs.AMBesideMB; mb > 0 && x.Cluster.MastersMB > 0 {
		m.beside = float64(max(1, x.Cluster.MastersMB/mb))
	}
	return m
}

// The method tasks returns the least and the largest time that the job's tasks can
// take.
func (m *capacity) tasks(j *sim.Job) (least, most tasksTime) {
	c := m.costs
	launch := float64(c.LaunchMs)
	var mapLeast, mapMost, tail, aside, reduceMost, out float64
	for i := range j.MapWork {
		w, n := &j.MapWork[i], alike(i, j.MapWork, j.Maps)
		lo, hi := m.taskMs(w, j.Spread[state.Map], float64(w.InputBytes))
		least.work = least.work.plus(takes(n*lo, j.MapSize))
		most.work = most.work.plus(takes(n*(hi+calibration.LongestTurnoverMs), j.MapSize))
		mapLeast, mapMost = max(mapLeast, lo), max(mapMost, hi)
		out += n * float64(w.OutputBytes)
	}
	for i := range j.ReduceWork {
		w, n := &j.ReduceWork[i], alike(i, j.ReduceWork, j.Reduces)
		lo, hi := m.taskMs(w, j.Spread[state.Reduce], out/float64(j.Reduces)+1)
		hi += float64(c.FetchMs) * float64(j.Maps)
		least.work = least.work.plus(takes(n*lo, j.ReduceSize))
		most.work = most.work.plus(takes(n*(hi+calibration.LongestTurnoverMs), j.ReduceSize))
		switch {
		case w.FixedMs == 0: // leave the JVM's start out of the lower limit: it may be over before the last map ends
			tail = max(tail, lo-float64(c.TaskStartMs)/m.fast)
		case w.FromLastMap:
			tail = max(tail, lo)
		default:
			aside = max(aside, lo)
		}
		reduceMost = max(reduceMost, hi+calibration.LongestTurnoverMs)
	}
	start, end := float64(c.SubmitMs+c.AMStartMs), float64(c.FinishMs)
	startMost, endMost := float64(calibration.LongestAMStartMs), float64(calibration.LongestFinishMs)
	if j.AMStartMs > 0 {
		start = float64(c.SubmitMs + j.AMStartMs)
		startMost += start
	}
	if j.FinishMs > 0 {
		end = float64(j.FinishMs)
		endMost += end
	}
	least.chainMs = start + launch + max(mapLeast+tail, aside) + end
	most.chainMs = startMost + calibration.LongestTurnoverMs + mapMost + reduceMost + endMost
	return least, most
}

// alike returns how many of a job's n tasks the entry work[i] describes. The first
// entry stands for all tasks without an entry of their own.
func alike(i int, work []sim.Work, n int32) float64 {
	if i == 0 {
		return float64(int(n) - len(work) + 1)
	}
	return 1
}

// taskMs returns the least and the largest time, in ms, that a task can take which
// reads or fetches this many bytes. The argument ratios is the job's sim.Job.Spread.
func (m *capacity) taskMs(w *sim.Work, ratios []sim.Ratio, bytes float64) (least, most float64) {
	if w.FixedMs > 0 {
		return float64(w.FixedMs), float64(w.FixedMs)
	}
	short, long := float64(w.ComputeMs), float64(w.ComputeMs)
	if len(ratios) > 0 {
		short = math.Floor(short * float64(slices.Min(ratios)) / float64(sim.RatioOne))
		long = math.Ceil(long * float64(slices.Max(ratios)) / float64(sim.RatioOne))
	}
	spread := float64(w.SpreadPercent) / 100
	least = (float64(m.costs.TaskStartMs) + short*(1-spread)) / m.fast
	most = (float64(m.costs.TaskStartMs)+long*(1+spread))*m.stretch/m.slow + float64(m.costs.CommitMs)
	return least, most + (bytes+float64(w.OutputBytes))*m.waitMs
}

func takes(ms float64, size state.Resource) room {
	return room{ms, ms * float64(size.MemoryMB), ms * float64(size.VCores)}
}
