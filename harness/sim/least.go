package sim

import (
	"math"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// LeastMs returns a lower bound of the time from the submission of a job to its end,
// in ms: no scheduler makes the job end sooner on this cluster, with this seed, even if
// the job is alone. It returns 0, which is always a bound, if nodes come or go, or if
// the times of attempts are not those of the job's work (faults, changes of capacity,
// speculation, pasts).
//
// Proof. A job waits for its ApplicationMaster, then runs all maps, and no reduce
// computes before the last map has ended. The maps take at least the longest of:
//
//   - one map on a node by itself, which reads from a cache if any node caches its block
//   - all maps' time in containers, divided by the number of maps that fit on all nodes
//   - all maps' computing, divided by the number of cores
//   - the bytes that no node caches, divided by the rates of all disks
//
// After that the reduces take at least the longest one by itself, with its writing if
// tasks wait for that, and with its start and its fetching if it starts after the last
// map. They also take at least all reduces' computing divided by the number of cores, and
// all that they write divided by the rates of all disks. Each attempt's computing time is
// the one that the simulation draws. Rates of transfers may be above their limit by an
// eighth for a while, so limits count as so much higher.
func (c *Config) LeastMs(j *Job) int64 {
	if len(c.Faults) > 0 || c.Speculation != NoSpeculation || len(c.Capacity.Changes) > 0 || len(j.Pasts) > 0 || j.Maps == 0 {
		return 0
	}
	m := machinesOf(c, j)
	hash := traces.HashName(string(j.ID))
	if j.ID == "" {
		hash = traces.HashName(j.Name)
	}
	draws := draw.Stream(c.Seed, "compute time").At(hash)
	ms := float64(c.Costs.SubmitMs) + m.maps(c, j, draws) + m.reduces(c, j, draws)
	master, finish := c.Costs.AMStartMs, c.Costs.FinishMs
	if j.AMStartMs > 0 {
		master = j.AMStartMs
	}
	if j.FinishMs > 0 {
		finish = j.FinishMs
	}
	return int64(ms) + int64(master) + int64(finish)
}

// machines are what all nodes of a cluster have together, and the best of one node.
type machines struct {
	places                 float64 // number of maps that fit; +Inf if they take no room
	speed                  float64 // of the fastest node
	cores, disks           float64 // cores of speed 1, and bytes in a ms from disks; +Inf if they are not limited
	fastestDisk, fastestMB float64 // bytes in a ms from one disk, and from one cache
	fastestLink            float64 // bytes in a ms into one node
}

// above is how far a transfer's rate may be above its limit.
const above = 1.125

func machinesOf(c *Config, j *Job) *machines {
	m := &machines{speed: 1}
	rate := func(perSecond int64) float64 {
		if perSecond <= 0 {
			return math.Inf(1)
		}
		return above * float64(perSecond) / 1000
	}
	for i := range c.Cluster.Nodes {
		n := &c.Cluster.Nodes[i]
		m.speed = max(m.speed, n.Speed)
		if n.Cores > 0 {
			m.cores += n.Cores * max(n.Speed, 1)
		} else {
			m.cores = math.Inf(1)
		}
		m.disks += rate(n.DiskBytesPerSec)
		m.fastestDisk, m.fastestMB = max(m.fastestDisk, rate(n.DiskBytesPerSec)), max(m.fastestMB, rate(n.MemoryBytesPerSec))
		m.fastestLink = max(m.fastestLink, rate(n.LinkBytesPerSec))
		if j.MapSize.MemoryMB > 0 {
			m.places += math.Floor(float64(n.Capacity.MemoryMB) / float64(j.MapSize.MemoryMB))
		} else {
			m.places = math.Inf(1)
		}
	}
	return m
}

// maps returns the least time that all maps take.
func (m *machines) maps(c *Config, j *Job, draws draw.Key) float64 {
	longest, occupied, computing, fromDisk, start := 0.0, 0.0, 0.0, 0.0, int32(0)
	for t := range j.Maps {
		w := work(j.MapWork, t, j.Maps)
		end := start
		if int(t) < len(j.Cached.Ends) {
			end = j.Cached.Ends[t]
		}
		cached, stored := end > start || c.CacheReads, int(t) < len(j.Replicas.Ends)
		start = end
		alone := float64(w.FixedMs)
		if w.FixedMs == 0 {
			cpu := float64(c.Costs.TaskStartMs) + leastCompute(j, state.Map, w, draws.At(uint64(t)).At(0))
			computing += cpu * coresOf(w)
			read := 0.0
			switch {
			case cached:
				read = float64(w.InputBytes) / m.fastestMB
			case stored:
				read = float64(w.InputBytes) / m.fastestDisk
				fromDisk += float64(w.InputBytes)
			}
			alone = max(0, cpu/m.speed+read-perPhase)
		}
		longest = max(longest, alone)
		occupied += alone + float64(c.Costs.LaunchMs)
	}
	launch := float64(c.Costs.LaunchMs)
	return max(launch+longest, occupied/m.places, launch+computing/m.cores-perPhase, launch+fromDisk/m.disks-perPhase)
}

// perPhase is more than rounding to whole ms can make the phases of an attempt shorter.
const perPhase = 4

// reduces returns the least time from the end of the last map to that of the last reduce.
func (m *machines) reduces(c *Config, j *Job, draws draw.Key) float64 {
	longest, computing, written, put := 0.0, 0.0, 0.0, 0.0
	for t := range j.Maps {
		put += float64(work(j.MapWork, t, j.Maps).OutputBytes)
	}
	after := j.SlowStart >= 1 && j.ReduceAskMs == nil // reduces start after the last map
	for t := range j.Reduces {
		w := work(j.ReduceWork, t, j.Reduces)
		if w.FixedMs > 0 {
			continue // it may have run beside the maps
		}
		cpu, moving := leastCompute(j, state.Reduce, w, draws.At(uint64(j.Maps+t)).At(0)), 0.0
		if after {
			cpu += float64(c.Costs.TaskStartMs)
			if !c.NodeFetches && j.ReduceShares == nil {
				moving += math.Floor(put/float64(j.Reduces)) / m.fastestLink
			}
		}
		if c.Cluster.WritesWait {
			moving += float64(w.OutputBytes) / m.fastestDisk
			written += float64(w.OutputBytes)
		}
		computing += cpu * coresOf(w)
		longest = max(longest, cpu/m.speed+moving)
	}
	return max(0, longest-2*perPhase, computing/m.cores-perPhase, written/m.disks-perPhase)
}

// coresOf returns the share of a core that a task uses at least while it computes.
func coresOf(w *Work) float64 {
	if w.CoresPercent == 0 {
		return 1
	}
	return min(1, float64(w.CoresPercent)/100)
}

// leastCompute returns the computing time of a task's first attempt, as it is drawn with
// key, or the least possible one if it is drawn from recorded ratios.
func leastCompute(j *Job, k state.Kind, w *Work, key draw.Key) float64 {
	ms := int64(w.ComputeMs)
	if q := j.Spread[k]; len(q) > 0 {
		ms = ms * int64(q[0]) / int64(RatioOne)
	}
	return float64(spreadOf(ms, w.SpreadPercent, key))
}

// spreadOf returns a computing time that differs from ms by chance, by up to so many
// percent.
func spreadOf(ms int64, percent uint8, key draw.Key) int64 {
	if percent == 0 {
		return ms
	}
	const one = 1 << 20
	x := int64(key>>43) - one // random number from -1 to 1, in fixed point: the constant one stands for 1
	return ms + ms*int64(percent)*x/(100*one)
}
