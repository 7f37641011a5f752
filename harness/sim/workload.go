package sim

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Machines describes the cluster. Nodes are numbered in this order.
type Machines struct {
	Nodes []Node
	Racks []Rack // those not named have unlimited uplinks
	// WritesWait makes tasks wait for their node's disk when they write to
	// HDFS. Otherwise the page cache takes all writes, as it does where jobs
	// write less than the memory holds.
	WritesWait bool
	// HostCores is how many cores all nodes share, besides each node's own
	// limit, as in a lab on one machine. 0: each node is a machine of its own.
	HostCores float64
}

// Node is a worker: a NodeManager and a DataNode.
type Node struct {
	Name     string
	Rack     string
	Capacity state.Resource
	// Speed divides the compute time of tasks. The reference is 1, and 0 means
	// 1.
	Speed float64
	// Cores is how many cores tasks compute on. They are shared evenly when
	// more tasks compute. 0: each task has a core of its own.
	Cores float64
	// DiskBytesPerSec is shared by reads and by writes that wait.
	// LinkBytesPerSec is for each direction. 0 means no limit.
	DiskBytesPerSec, LinkBytesPerSec int64
	// MemoryBytesPerSec is for reads of cached copies; 0 means no limit.
	// CacheBytes is the room for Config.CacheReads.
	MemoryBytesPerSec, CacheBytes int64
}

// Rack is a switch with an uplink to the core. The core itself does not limit.
type Rack struct {
	Name              string
	UplinkBytesPerSec int64 // of each direction; 0 means no limit
}

// Job is a MapReduce job that arrives.
type Job struct {
	state.JobSpec
	// ID is the job's name in traces and digests; "" means Name.
	ID traces.JobID
	// SubmitMs is the time of arrival, in milliseconds since the run's start.
	SubmitMs int64
	// SlowStart is the share of maps that must be done before reduces are asked
	// for.
	SlowStart float32
	// ReduceAskMs are the times at which reduces are asked for, in order, if a
	// recorded run tells them. The last one is for all remaining reduces. nil:
	// by SlowStart.
	ReduceAskMs []int64
	// MapWork and ReduceWork say what the tasks do. With fewer entries than
	// tasks, the last entries are for the last tasks and the first is for all
	// before: one entry makes all alike.
	MapWork, ReduceWork []Work
	// AMSize is the ApplicationMaster's container. Zero: it takes no room and
	// starts at once, as on a node of its own.
	AMSize state.Resource
	// AMStartMs and FinishMs, if above 0, replace those in Costs.
	AMStartMs, FinishMs int32
	// Blocks is the block that each map reads, for Config.CacheReads. nil: only
	// what JobSpec.Cached says is cached.
	Blocks []traces.Block
	// Workload is the workload's name in the trace; may be "".
	Workload string
	// Pasts tell how attempts ended in a recorded run, for tasks with a failed
	// attempt or with several attempts. They are sorted by kind, task and
	// number.
	Pasts []Past
}

// Work is what one task reads, computes and writes.
type Work struct {
	// InputBytes is what a map reads. A reduce has 0: it fetches its share of
	// the map output.
	InputBytes int64
	// OutputBytes is what a map puts out for all reduces together, or writes to
	// HDFS if the job has no reduces. For a reduce it is what it writes to
	// HDFS.
	OutputBytes int64
	// ComputeMs is the time besides launch, reading, shuffling and writing, on
	// a node of speed 1. Each attempt's time is drawn evenly from SpreadPercent
	// below to SpreadPercent above it.
	ComputeMs     int32
	SpreadPercent uint8
	// FixedMs, above 0, is how long the attempt takes on any node, in place of
	// all the rest. With FromLastMap, a reduce that started earlier takes it
	// from the end of the last map.
	FixedMs     int32
	FromLastMap bool
}

// Source yields jobs in the order of their SubmitMs.
type Source interface {
	// Next puts the next job into j, and returns false if there is none. It may
	// reuse the slices in j: the simulator copies what it keeps.
	Next(j *Job) bool
}

// Jobs is a Source of jobs in memory.
type Jobs struct {
	List []Job // sorted by SubmitMs
	next int
}

// Next puts the next job of the list into j.
func (s *Jobs) Next(j *Job) bool {
	if s.next == len(s.List) {
		return false
	}
	*j = s.List[s.next]
	s.next++
	return true
}

// work returns the entry of list that describes task i of n, see Job.MapWork.
func work(list []Work, i, n int32) *Work {
	return &list[max(0, int(i)-int(n)+len(list))]
}

// SetListed gives j the tasks that rules make of the listed job x. All tasks of
// a kind are alike, except the last. Reduces take the time that the rules give
// for fetching, unless a simulated network makes them take their own.
func (j *Job) SetListed(r *traces.ListRules, x *traces.JobListed, network bool) {
	maps, reduces := r.Maps(x), r.Reduces(x)
	j.Maps, j.Reduces = int32(maps), int32(reduces)
	spread := uint8(r.SpreadPercent)
	put := x.ShuffleBytes
	if reduces == 0 {
		put = x.OutputBytes
	}
	one := func(bytes, put int64) Work {
		return Work{InputBytes: bytes, OutputBytes: put, ComputeMs: r.MapMs(bytes), SpreadPercent: spread}
	}
	j.MapWork, j.ReduceWork = j.MapWork[:0], j.ReduceWork[:0]
	if maps > 1 {
		j.MapWork = append(j.MapWork, one(r.BlockBytes, put/maps))
	}
	j.MapWork = append(j.MapWork, one(r.LastSplitBytes(x), put-put/maps*(maps-1)))
	if reduces == 0 {
		return
	}
	fetched := x.ShuffleBytes / reduces
	if network {
		fetched = 0
	}
	w := Work{OutputBytes: x.OutputBytes / reduces, SpreadPercent: spread}
	w.ComputeMs = r.ReduceMs(fetched, w.OutputBytes)
	if j.ReduceWork = append(j.ReduceWork, w); reduces > 1 {
		w.OutputBytes = x.OutputBytes - x.OutputBytes/reduces*(reduces-1)
		j.ReduceWork = append(j.ReduceWork, w)
	}
}
