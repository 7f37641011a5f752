package sim

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Machines is the machines. Nodes are numbered as they stand here.
type Machines struct {
	Nodes []Node
	Racks []Rack // those not named have unlimited uplinks
	// WritesWait has what tasks write to HDFS wait for the disk of their node.
	// Else page caches take all of it, as they do where jobs write less than
	// memory holds.
	WritesWait bool
	// HostCores is how many cores all nodes share, on top of what each may use: a
	// lab's are on one machine. 0: each has a machine of its own.
	HostCores float64
}

// Node is a worker: NodeManager and DataNode.
type Node struct {
	Name     string
	Rack     string
	Capacity state.Resource
	// Speed divides the compute time of tasks: 1 is the reference, 0 stands for
	// 1.
	Speed float64
	// Cores is how many cores tasks compute on, shared evenly when more compute;
	// 0: each has a core of its own.
	Cores float64
	// DiskBytesPerSec is shared by all that waits for the disk, LinkBytesPerSec is of each
	// direction; 0 is no limit.
	DiskBytesPerSec, LinkBytesPerSec int64
	// MemoryBytesPerSec is for reads of cached copies, 0 no limit. CacheBytes is
	// what Config.CacheReads has room for.
	MemoryBytesPerSec, CacheBytes int64
}

// Rack is a switch with an uplink to the core, which does not limit.
type Rack struct {
	Name              string
	UplinkBytesPerSec int64 // of each direction, 0 no limit
}

// Job is a MapReduce job that arrives.
type Job struct {
	state.JobSpec
	// ID is the job's name in traces and digests; "" stands for Name.
	ID traces.JobID
	// SubmitMs is milliseconds since the run's start.
	SubmitMs int64
	// SlowStart is the share of maps that are done before reduces are asked for.
	SlowStart float32
	// ReduceAskMs are the times, in order, at which reduces are asked for, where a
	// run tells; the last is that of all the rest. Nil: by SlowStart.
	ReduceAskMs []int64
	// MapWork and ReduceWork are what tasks do. Where there are fewer entries
	// than tasks, the last entries are those of the last tasks and the first that
	// of all before: one entry means that all are alike.
	MapWork, ReduceWork []Work
	// AMSize is the ApplicationMaster's container; zero: it takes no room and
	// starts at once, as on a node of its own.
	AMSize state.Resource
	// AMStartMs and FinishMs, above 0, replace those of Costs.
	AMStartMs, FinishMs int32
	// Blocks is the block that each map reads, for Config.CacheReads; nil: nothing
	// of this job is cached while it runs but what JobSpec.Cached says.
	Blocks []traces.Block
	// Workload is what the trace calls it, "" nothing.
	Workload string
	// Pasts are of attempts that did not just succeed, where a run tells: by kind,
	// task and number.
	Pasts []Past
}

// Work is what one task does.
type Work struct {
	// InputBytes a map reads. A reduce has 0: it fetches its share of what the
	// maps put out.
	InputBytes int64
	// OutputBytes a map puts out for all reduces together, or writes to HDFS if
	// the job has no reduces; a reduce writes them to HDFS.
	OutputBytes int64
	// ComputeMs is besides launch, reading, shuffling and writing, on a node of
	// speed 1. That of each attempt is drawn evenly from SpreadPercent below it to
	// as much above.
	ComputeMs     int32
	SpreadPercent uint8
	// FixedMs, above 0, is how long the attempt takes, wherever it runs, instead
	// of all the rest. A reduce takes it from when the last map is done, if that
	// is after its start and FromLastMap is set.
	FixedMs     int32
	FromLastMap bool
}

// Source yields jobs in the order of their SubmitMs.
type Source interface {
	// Next fills j with the next job, false if there is none. It may use the
	// slices that j has; the simulator copies what it keeps.
	Next(j *Job) bool
}

// Jobs is a Source of jobs in memory.
type Jobs struct {
	List []Job // by SubmitMs
	next int
}

// Next is the next of the list.
func (s *Jobs) Next(j *Job) bool {
	if s.next == len(s.List) {
		return false
	}
	*j = s.List[s.next]
	s.next++
	return true
}

// work is the entry of task i of n.
func work(list []Work, i, n int32) *Work {
	return &list[max(0, int(i)-int(n)+len(list))]
}

// SetListed gives j the tasks that the rules of a list make of x, all alike but
// the last of a kind. Reduces take the rules' time for what they fetch, unless
// there is a network that has it take its own.
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
