package traces

import "math"

// Event is one thing that happened. Its concrete type is a pointer to one of
// the structs below.
type Event interface {
	// At is when it happened.
	At() Time
	// Kind is its record number in the file.
	Kind() Kind
	// Fields shows v every field, T first, in the order of the file.
	Fields(v Visitor)
}

// Kind numbers the record types. Numbers are never used again for something
// else; a reader skips those it does not know.
type Kind uint8

// Record types.
const (
	KindNodeUp Kind = iota + 1
	KindNodeDown
	KindNodeSample
	KindNodeLabel
	KindJobSubmitted
	KindJobStarted
	KindJobFinished
	KindTaskScheduled
	KindTaskFinished
	KindAttemptStarted
	KindAttemptFinished
	KindBlockReplica
	KindBlockCached
	KindDecision
	KindActuation
	KindHeartbeat
	KindNote
	_ // 18 is of earlier versions
	KindJobListed
)

// NodeUp says that a node joined after the start, or came back.
type NodeUp struct {
	T Time `json:"t"`
	NodeFacts
}

// NodeDown says that a node was lost or taken out.
type NodeDown struct {
	T      Time   `json:"t"`
	Node   Node   `json:"node"`
	Reason string `json:"reason,omitempty"` // "lost", "decommissioned", "unhealthy", …
}

// NodeSample is one reading of a node's metrics. Rates are over the interval
// that ends at T; -1 is "not measured".
type NodeSample struct {
	T          Time    `json:"t"`
	Node       Node    `json:"node"`
	IntervalNs int64   `json:"intervalNs"`
	CPUUser    float64 `json:"cpuUser"`   // cores busy
	CPUSystem  float64 `json:"cpuSystem"` // cores busy
	CPUIOWait  float64 `json:"cpuIOWait"` // cores idle with I/O under way
	CPUSteal   float64 `json:"cpuSteal"`  // cores taken by the hypervisor
	// CPUThrottledNs is how long tasks were held back by a CPU quota.
	CPUThrottledNs       int64   `json:"cpuThrottledNs"`
	Load1                float64 `json:"load1"`
	MemoryUsedBytes      int64   `json:"memoryUsedBytes"` // without page cache
	PageCacheBytes       int64   `json:"pageCacheBytes"`
	MemoryFreeBytes      int64   `json:"memoryFreeBytes"`
	DiskReadBytesPerSec  float64 `json:"diskReadBytesPerSec"`
	DiskWriteBytesPerSec float64 `json:"diskWriteBytesPerSec"`
	DiskQueue            float64 `json:"diskQueue"` // requests under way
	NetRecvBytesPerSec   float64 `json:"netRecvBytesPerSec"`
	NetSentBytesPerSec   float64 `json:"netSentBytesPerSec"`
	ContainersRunning    int32   `json:"containersRunning"`
	AllocatedMemoryBytes int64   `json:"allocatedMemoryBytes"`
	AllocatedVCores      int32   `json:"allocatedVCores"`
	HDFSCacheUsedBytes   int64   `json:"hdfsCacheUsedBytes"`
	AgentLostSamples     int32   `json:"agentLostSamples,omitempty"`
	ClockOffsetNs        int64   `json:"clockOffsetNs,omitempty"`
	ClockUncertaintyNs   int64   `json:"clockUncertaintyNs,omitempty"`
}

// NodeLabel says that a node carries Label from T on; empty is the default
// partition.
type NodeLabel struct {
	T     Time   `json:"t"`
	Node  Node   `json:"node"`
	Label string `json:"label"`
}

// JobSubmitted is a job's arrival with what is known of it by then.
type JobSubmitted struct {
	T        Time   `json:"t"`
	Job      JobID  `json:"job"`
	Name     string `json:"name"`
	User     string `json:"user"`
	Queue    string `json:"queue"`
	Priority int32  `json:"priority"`
	Maps     int32  `json:"maps"`
	Reduces  int32  `json:"reduces"`
	// Workload is what heddle ran it as ("wordcount"), empty for others' jobs.
	Workload string `json:"workload,omitempty"`
	// Container sizes and settings that placement depends on.
	MapMemoryBytes    int64   `json:"mapMemoryBytes"`
	MapVCores         int32   `json:"mapVCores"`
	ReduceMemoryBytes int64   `json:"reduceMemoryBytes"`
	ReduceVCores      int32   `json:"reduceVCores"`
	SlowStart         float64 `json:"slowStart"` // share of maps done before reduces are asked for
	MapLabel          string  `json:"mapLabel,omitempty"`
	ReduceLabel       string  `json:"reduceLabel,omitempty"`
	Speculation       bool    `json:"speculation"`
}

// JobStarted says that the ApplicationMaster runs and has read the splits.
type JobStarted struct {
	T             Time  `json:"t"`
	Job           JobID `json:"job"`
	AMNode        Node  `json:"amNode"`
	AMAttempt     int32 `json:"amAttempt"` // from 1
	AMMemoryBytes int64 `json:"amMemoryBytes,omitempty"`
}

// JobFinished is a job's end with Hadoop's own totals, kept to be compared
// with the sums over the trace's attempts. -1 is "not reported".
type JobFinished struct {
	T           Time     `json:"t"`
	Job         JobID    `json:"job"`
	Outcome     Outcome  `json:"outcome"`
	Diagnostics string   `json:"diagnostics,omitempty"`
	Counters    Counters `json:"counters"`
	// Assigned map attempts by split locality, as the ApplicationMaster counted.
	DataLocalMaps  int64 `json:"dataLocalMaps"`
	RackLocalMaps  int64 `json:"rackLocalMaps"`
	OtherLocalMaps int64 `json:"otherLocalMaps"`
	LaunchedMaps   int64 `json:"launchedMaps"`
	LaunchedReds   int64 `json:"launchedReduces"`
}

// TaskScheduled says that a task waits for a container from T on. For maps it
// carries the split.
type TaskScheduled struct {
	T    Time `json:"t"`
	Task Task `json:"task"`
	// SplitHosts are the hosts that the ApplicationMaster saw.
	SplitHosts []Node `json:"splitHosts,omitempty"`
	// Path, OffsetBytes and LengthBytes are the split's piece of its file; Path
	// is empty where it is not known.
	Path        string  `json:"path,omitempty"`
	OffsetBytes int64   `json:"offsetBytes,omitempty"`
	LengthBytes int64   `json:"lengthBytes,omitempty"`
	Blocks      []Block `json:"blocks,omitempty"`
}

// TaskFinished is a task's end.
type TaskFinished struct {
	T       Time    `json:"t"`
	Task    Task    `json:"task"`
	Outcome Outcome `json:"outcome"`
	// Winner is the number of the attempt that succeeded, -1 none.
	Winner int32 `json:"winner"`
}

// AttemptStarted says that an attempt's container was launched.
type AttemptStarted struct {
	T         Time    `json:"t"`
	Attempt   Attempt `json:"attempt"`
	Node      Node    `json:"node"`
	Rack      string  `json:"rack,omitempty"`
	Container string  `json:"container,omitempty"`
	// SplitLocality is by the hosts that the ApplicationMaster saw, as Hadoop
	// counts it; unknown for reduces.
	SplitLocality Level `json:"splitLocality"`
	// ReplicaLocality is by the block's replicas and caches at T.
	ReplicaLocality Level `json:"replicaLocality"`
	// SampleAgeNs is how old the block and cache locations behind
	// ReplicaLocality were at T; -1 where there were none.
	SampleAgeNs int64 `json:"sampleAgeNs"`
	Speculative bool  `json:"speculative,omitempty"`
}

// AttemptFinished is an attempt's end.
type AttemptFinished struct {
	T       Time    `json:"t"`
	Attempt Attempt `json:"attempt"`
	Outcome Outcome `json:"outcome"`
	// Unlaunched is true for an attempt that got a container and was ended
	// before it started; it has no AttemptStarted.
	Unlaunched bool `json:"unlaunched,omitempty"`
	// MapDone is when a map had read its input and began its final merge.
	// ShuffleDone and SortDone are a reduce's. 0 is "not reported".
	MapDone     Time     `json:"mapDone,omitempty"`
	ShuffleDone Time     `json:"shuffleDone,omitempty"`
	SortDone    Time     `json:"sortDone,omitempty"`
	Error       string   `json:"error,omitempty"`
	Counters    Counters `json:"counters"`
	// Node and SplitLocality are where an unlaunched attempt's container was;
	// those of others are in AttemptStarted.
	Node          Node  `json:"node,omitempty"`
	SplitLocality Level `json:"splitLocality,omitempty"`
}

// Counters are Hadoop's counts of an attempt or a job. -1 is "not reported".
// Records are those of maps and of reduces, a job's the sum of both.
type Counters struct {
	HDFSReadBytes    int64 `json:"hdfsReadBytes"`
	HDFSWrittenBytes int64 `json:"hdfsWrittenBytes"`
	FileReadBytes    int64 `json:"fileReadBytes"`
	FileWrittenBytes int64 `json:"fileWrittenBytes"`
	ShuffleBytes     int64 `json:"shuffleBytes"`
	MapOutputBytes   int64 `json:"mapOutputBytes"`
	InputRecords     int64 `json:"inputRecords"`
	OutputRecords    int64 `json:"outputRecords"`
	SpilledRecords   int64 `json:"spilledRecords"`
	CPUMs            int64 `json:"cpuMs"`
	GCMs             int64 `json:"gcMs"`
	PhysicalBytes    int64 `json:"physicalBytes"`
}

// NoCounters is Counters with nothing reported.
var NoCounters = Counters{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// AddCount adds a count to a sum. A count below 0 is not reported and adds
// nothing; the sum stays at the greatest number where it would go over it.
func AddCount(sum, count int64) int64 {
	if count <= 0 {
		return sum
	}
	if sum > math.MaxInt64-count {
		return math.MaxInt64
	}
	return sum + count
}

// BlockReplica says that Node has (or, with Gone, no longer has) a replica of
// a block, as the NameNode answered at T.
type BlockReplica struct {
	T           Time   `json:"t"`
	Block       Block  `json:"block"`
	Node        Node   `json:"node"`
	Path        string `json:"path,omitempty"`
	OffsetBytes int64  `json:"offsetBytes"`
	LengthBytes int64  `json:"lengthBytes"`
	Gone        bool   `json:"gone,omitempty"`
}

// BlockCached says that Node has (or, with Gone, no longer has) a block in its
// HDFS cache, as the NameNode answered at T.
type BlockCached struct {
	T     Time  `json:"t"`
	Block Block `json:"block"`
	Node  Node  `json:"node"`
	Gone  bool  `json:"gone,omitempty"`
}

// Decision is what a model asked for.
type Decision struct {
	T    Time     `json:"t"`
	ID   int64    `json:"id"` // from 1, unique in the run
	Job  JobID    `json:"job"`
	What TaskKind `json:"what"`
	Node Node     `json:"node"`
	// TaskIndex is the task the model meant, -1 any of the job's.
	TaskIndex int32 `json:"taskIndex"`
	// BindIndex is the map that the ApplicationMaster was predicted to bind,
	// -1 no prediction; BindBranch says by which rule.
	BindIndex  int32  `json:"bindIndex"`
	BindBranch string `json:"bindBranch,omitempty"` // rerun, node, rack, any
	Group      int64  `json:"group,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Actuation is what became of a decision.
type Actuation struct {
	T        Time  `json:"t"` // when the outcome was known
	Decision int64 `json:"decision"`
	AskedAt  Time  `json:"askedAt"` // when the cluster was told
	// GrantedAt is when the container was first seen, 0 never.
	GrantedAt Time    `json:"grantedAt,omitempty"`
	Outcome   string  `json:"outcome"` // honoured, none, surplus, wrong-job, wrong-node, cancelled
	Container string  `json:"container,omitempty"`
	Bound     Attempt `json:"bound"` // the attempt that ran in it; zero unknown
	Cause     string  `json:"cause,omitempty"`
}

// Heartbeat is one opportunity: a node reported with room.
type Heartbeat struct {
	T                Time  `json:"t"`
	Node             Node  `json:"node"`
	FreeMemoryBytes  int64 `json:"freeMemoryBytes"`
	FreeVCores       int32 `json:"freeVCores"`
	ContainersFree   int32 `json:"containersFree"`
	RunningContainer int32 `json:"running"`
}

// Note is a remark for the reader of a run: a fault injected, a phase begun.
type Note struct {
	T    Time   `json:"t"`
	Text string `json:"text"`
}
