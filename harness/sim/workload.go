package sim

import (
	"cmp"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// Machines describes the cluster that is simulated. The nodes are numbered
// from 0, in the order of the list Nodes.
type Machines struct {
	Nodes []Node
	Racks []Rack // racks with a limited uplink; a rack that is not in the list has no limit
	// WritesWait makes tasks wait for their node's disk when they write to HDFS.
	// Otherwise writes take no time, as if the page cache held all that is
	// written.
	WritesWait bool
	// HostCores is how many CPU cores all nodes share, as in a lab on a single
	// machine, whose cores have the speed of the fastest node. Each node's own limit of
	// cores holds too. 0 means that each node is a machine of its own.
	HostCores float64
	// MasterCores is how many cores each ApplicationMaster beside the nodes takes while it is
	// up. HostCores are those that are left when MastersUp of them are up.
	MasterCores, MastersUp float64
	// MastersMB is the memory of nodes on which ApplicationMasters alone run, in MB. Jobs
	// without Job.AMSize have theirs there, as many at a time as have room by
	// Costs.AMBesideMB. YARN counts what is left of it in their headroom.
	MastersMB int32
	// Masters is the number of these nodes. YARN's own schedulers count them among the
	// cluster's, on which it depends for how long a map waits for a node near its input.
	Masters int32
	// Contention, from 0 to 10, is by which part the computing of attempts takes longer
	// for each further one with which they share a core of HostCores, see Slowed.
	Contention float64
}

// Slowed returns by which factor the same computing takes longer if so many attempts share
// each core. Whenever an attempt gets the core, it puts its own data into the core's caches
// in place of the others'. With four a core, nothing of an attempt's is left there.
//
// On a lab, maps took 5 % more CPU time for each further attempt.
func Slowed(contention, perCore float64) float64 {
	return 1 + contention*(min(max(1, perCore), mostPerCore)-1)
}

// mostPerCore is with how many attempts on a core further ones no longer slow the others.
const mostPerCore = 4

// coresWith is how many cores all nodes share while so many ApplicationMasters are up beside
// them: from half of HostCores to twice as many.
func (m *Machines) coresWith(masters int) float64 {
	cores := m.HostCores - m.MasterCores*(float64(masters)-m.MastersUp)
	if cores >= m.HostCores/2 {
		return min(cores, 2*m.HostCores)
	}
	return m.HostCores / 2
}

// hostSpeed is the speed of the cores that all nodes share.
func (m *Machines) hostSpeed() float64 {
	fastest := 0.0
	for i := range m.Nodes {
		fastest = max(fastest, cmp.Or(m.Nodes[i].Speed, 1))
	}
	return cmp.Or(fastest, 1)
}

// Node is a simulated worker: a NodeManager and a DataNode.
type Node struct {
	Name     string
	Rack     string
	Label    string // its node label, if it has one
	Capacity state.Resource
	// Speed is the speed at which the node computes: tasks' compute time is
	// divided by it. 1 is the speed to which the times of Work.ComputeMs refer; 0
	// means 1. A time that is longer than 49 days so becomes one of 49 days.
	Speed float64
	// Cores is the number of CPU cores for tasks. If more tasks compute at a time,
	// they share the cores evenly. 0 means that each task has a core of its own.
	Cores float64
	// DiskBytesPerSec is the disk's rate for reads, and for the writes that tasks
	// wait for. LinkBytesPerSec is the network link's rate in each direction. 0
	// means no limit.
	DiskBytesPerSec, LinkBytesPerSec int64
	// MemoryBytesPerSec is the rate of reads from cached copies; 0 means no limit.
	// CacheBytes is the size of the node's cache if Config.CacheReads is set.
	MemoryBytesPerSec, CacheBytes int64
}

// Rack is a rack switch with an uplink to the core network. The core network
// has no limit.
type Rack struct {
	Name              string
	UplinkBytesPerSec int64 // rate of the rack's uplink in each direction; 0 means no limit
}

// Job is a MapReduce job to be simulated, with the time of its submission.
type Job struct {
	state.JobSpec
	// ID is the job's id in the simulation's trace, and in the hash of the run's
	// schedule. If it is "", the job's Name is used.
	ID traces.JobID
	// SubmitMs is the time of submission, in milliseconds since the run's start.
	SubmitMs int64
	// After is the id of a job that the Source yielded before. This job is then
	// submitted AfterMs after that job's end, and SubmitMs only gives its place
	// in the Source. "" means that the job waits for no other.
	After   traces.JobID
	AfterMs int64
	// SlowStart is the share of the job's maps that must succeed before the job
	// asks for reduces.
	SlowStart float32
	// ReduceAskMs are the times, after its first ApplicationMaster was up, at which the recorded
	// job asked for its reduces, in ascending order. At the last it asks for all that are left.
	// If ReduceAskMs is nil, the job asks according to SlowStart.
	ReduceAskMs []int64
	// MapWork and ReduceWork describe the work of each task. If a list has fewer
	// entries than tasks, its first entry also stands for as many tasks at the
	// beginning as have no entry of their own. So a list of one entry describes
	// all tasks.
	MapWork, ReduceWork []Work
	// Spread, by kind of task, says how the computing times of a job's attempts
	// differ by chance. It has the quantiles of the ratio of an attempt's computing
	// time to Work.ComputeMs, evenly spaced from the smallest ratio to the largest.
	// The ratio of each attempt is drawn from them. nil means that all ratios are 1.
	Spread [2][]Ratio
	// AMSize is the size of the ApplicationMaster's container. If it is zero, the
	// ApplicationMaster takes no room and need not wait for a node.
	AMSize state.Resource
	// AMStartMs and FinishMs, if above 0, replace the fields of the same name in
	// Costs.
	AMStartMs, FinishMs int32
	// Blocks is the HDFS block that each map reads, for Config.CacheReads. If
	// Blocks is nil, the cached copies of the job's input are those in
	// JobSpec.Cached, and do not change.
	Blocks []traces.Block
	// Workload and Costs are those of traces.JobSubmitted. They may be "".
	Workload, Costs string
	// Pasts tell how attempts ended in the recorded run that is replayed. They
	// cover the tasks with a failed attempt or several attempts. They are sorted
	// by kind of task, then task number, then attempt number.
	Pasts []Past
}

// Work is what one task reads, computes and writes.
type Work struct {
	// InputBytes is what a map reads. It is 0 for a reduce, which fetches its
	// share of the map output.
	InputBytes int64
	// OutputBytes is what a map leaves for all reduces together, or what it writes
	// to HDFS if the job has no reduces. For a reduce it is what the reduce writes
	// to HDFS.
	OutputBytes int64
	// ComputeMs is the task's computing time on a node of speed 1, without launch,
	// reading, shuffling and writing. The time of each attempt is drawn at random
	// from SpreadPercent below ComputeMs to SpreadPercent above it.
	ComputeMs int32
	// FixedMs, if above 0, is how long the attempt takes on any node, instead of
	// all other times. If FromLastMap is set, a reduce that started before the end
	// of the job's last map takes FixedMs from that end on.
	FixedMs       int32
	FromLastMap   bool
	SpreadPercent uint8
	// CoresPercent is the share of a core, in percent, that the task uses while it
	// computes alone. Two tasks of 50 % so fit on one core, and none is slower for
	// the other. 0 means a whole core. With FixedMs it shows in the nodes' samples
	// only, and 0 means that the task sleeps.
	CoresPercent uint8
}

// Ratio is a ratio of two times, in units of RatioOne. It is a whole number, so
// that equal seeds give equal times on every machine.
type Ratio uint32

// RatioOne is the Ratio of two equal times.
const RatioOne Ratio = 1 << 16

// ratioAt returns the ratio at a random place between the first and the last of
// the given quantiles. Between two neighbours it interpolates.
func ratioAt(quantiles []Ratio, key draw.Key) int64 {
	const parts = 1 << 16 // number of places between two neighbours
	x := key.Below((len(quantiles)-1)*parts + 1)
	i, part := x/parts, int64(x%parts)
	if part == 0 {
		return int64(quantiles[i])
	}
	return int64(quantiles[i]) + ((int64(quantiles[i+1])-int64(quantiles[i]))*part+parts/2)/parts
}

// Source yields the jobs to be simulated, in the order of their SubmitMs.
type Source interface {
	// Next stores the next job in j, or returns false if there is none. Next may
	// reuse the slices in j, because the simulator copies what it keeps.
	Next(j *Job) bool
}

// Jobs is a Source of simulated jobs that are all in memory.
type Jobs struct {
	List []Job // jobs to be simulated, sorted by SubmitMs
	next int
}

// Next stores the next job of the field List in j, or returns false if no job
// is left.
func (s *Jobs) Next(j *Job) bool {
	if s.next == len(s.List) {
		return false
	}
	*j = s.List[s.next]
	s.next++
	return true
}

// work returns the entry of list that describes task i of n tasks. The first
// entry also stands for tasks without an entry, as in Job.MapWork.
func work(list []Work, i, n int32) *Work {
	return &list[max(0, int(i)-int(n)+len(list))]
}

// SetListed sets the tasks of job j from x, an entry of a job list. Such a
// list has only totals of each job, such as its bytes, and the rules r turn
// them into tasks. All tasks of a kind (maps, reduces) are alike, except the
// last one. If network is true, the time to fetch map output is simulated,
// otherwise taken from the rules.
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
