package traces

import "math"

// Event is one thing that happened. Its concrete type is a pointer to one of
// the structs below. A field's range tag says which values it can have; package
// tracefile lists the ranges.
type Event interface {
	// At returns the time at which it happened.
	At() Time
	// Kind returns the number of its record type.
	Kind() Kind
	// Fields calls v with every field, T first, in the order of the file.
	Fields(v Visitor)
}

// Kind is the number of a record type. A number that is no longer written is
// never given to another type. Readers skip numbers that they do not know.
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

// NodeUp says that a node joined the cluster after the start of the run, or came back.
type NodeUp struct {
	T Time `json:"t"`
	NodeFacts
}

// NodeDown says that a node was lost or removed.
type NodeDown struct {
	T      Time   `json:"t"`
	Node   Node   `json:"node" range:"some"`
	Reason string `json:"reason,omitempty"` // "lost", "decommissioned", "unhealthy", …
}

// NodeSample has the metrics of a node at T. Rates are means over the interval
// that ends at T. -1 means that a metric was not measured.
type NodeSample struct {
	T          Time    `json:"t"`
	Node       Node    `json:"node" range:"some"`
	IntervalNs int64   `json:"intervalNs"`
	CPUUser    float64 `json:"cpuUser" range:"cores,-1"`   // cores busy
	CPUSystem  float64 `json:"cpuSystem" range:"cores,-1"` // cores busy
	CPUIOWait  float64 `json:"cpuIOWait" range:"cores,-1"` // cores idle with I/O under way
	CPUSteal   float64 `json:"cpuSteal" range:"cores,-1"`  // cores taken by the hypervisor
	// CPUThrottledNs is the time in which a CPU quota stopped tasks.
	CPUThrottledNs       int64   `json:"cpuThrottledNs" range:",-1"`
	Load1                float64 `json:"load1" range:",-1"`
	MemoryUsedBytes      int64   `json:"memoryUsedBytes" range:"signed"` // without page cache
	PageCacheBytes       int64   `json:"pageCacheBytes" range:",-1"`
	MemoryFreeBytes      int64   `json:"memoryFreeBytes" range:",-1"`
	DiskReadBytesPerSec  float64 `json:"diskReadBytesPerSec" range:",-1"`
	DiskWriteBytesPerSec float64 `json:"diskWriteBytesPerSec" range:",-1"`
	DiskQueue            float64 `json:"diskQueue" range:",-1"` // requests under way
	NetRecvBytesPerSec   float64 `json:"netRecvBytesPerSec" range:",-1"`
	NetSentBytesPerSec   float64 `json:"netSentBytesPerSec" range:",-1"`
	ContainersRunning    int32   `json:"containersRunning" range:",-1"`
	AllocatedMemoryBytes int64   `json:"allocatedMemoryBytes" range:"signed"`
	AllocatedVCores      int32   `json:"allocatedVCores" range:"signed"`
	HDFSCacheUsedBytes   int64   `json:"hdfsCacheUsedBytes" range:",-1"`
	AgentLostSamples     int32   `json:"agentLostSamples,omitempty"`
	ClockOffsetNs        int64   `json:"clockOffsetNs,omitempty" range:"signed"`
	ClockUncertaintyNs   int64   `json:"clockUncertaintyNs,omitempty"`
}

// NodeLabel says that a node has this label from T on. The empty label is the default
// partition.
type NodeLabel struct {
	T     Time   `json:"t"`
	Node  Node   `json:"node" range:"some"`
	Label string `json:"label"`
}

// JobSubmitted says that a job arrived.
type JobSubmitted struct {
	T        Time   `json:"t"`
	Job      JobID  `json:"job" range:"some"`
	Name     string `json:"name"`
	User     string `json:"user"`
	Queue    string `json:"queue"`
	Priority int32  `json:"priority" range:"signed"`
	Maps     int32  `json:"maps" range:"tasks"`
	Reduces  int32  `json:"reduces" range:"tasks"`
	// Workload is the name of the workload ("wordcount") that heddle ran. It is
	// empty for jobs that others submitted.
	Workload string `json:"workload,omitempty"`
	// The sizes of containers and the settings that decide about placement.
	MapMemoryBytes    int64   `json:"mapMemoryBytes"`
	MapVCores         int32   `json:"mapVCores" range:"cores"`
	ReduceMemoryBytes int64   `json:"reduceMemoryBytes"`
	ReduceVCores      int32   `json:"reduceVCores" range:"cores"`
	SlowStart         float64 `json:"slowStart" range:"share"` // share of maps done before reduces are asked for
	MapLabel          string  `json:"mapLabel,omitempty"`
	ReduceLabel       string  `json:"reduceLabel,omitempty"`
	Speculation       bool    `json:"speculation"`
}

// JobStarted says that the ApplicationMaster runs and has read the splits.
type JobStarted struct {
	T             Time  `json:"t"`
	Job           JobID `json:"job" range:"some"`
	AMNode        Node  `json:"amNode"`
	AMAttempt     int32 `json:"amAttempt" range:"tasks"` // from 1
	AMMemoryBytes int64 `json:"amMemoryBytes,omitempty"`
}

// JobFinished says that a job ended. The totals are Hadoop's own, which can be compared
// with sums over the trace's attempts. -1 means "not reported".
type JobFinished struct {
	T           Time     `json:"t"`
	Job         JobID    `json:"job" range:"some"`
	Outcome     Outcome  `json:"outcome"`
	Diagnostics string   `json:"diagnostics,omitempty"`
	Counters    Counters `json:"counters"`
	// The numbers of map attempts that got a container, by split locality, as the
	// ApplicationMaster counted them.
	DataLocalMaps  int64 `json:"dataLocalMaps" range:",-1"`
	RackLocalMaps  int64 `json:"rackLocalMaps" range:",-1"`
	OtherLocalMaps int64 `json:"otherLocalMaps" range:",-1"`
	LaunchedMaps   int64 `json:"launchedMaps" range:",-1"`
	LaunchedReds   int64 `json:"launchedReduces" range:",-1"`
}

// TaskScheduled says that a task waits for a container from T on. The split is that of a
// map; a reduce has none.
type TaskScheduled struct {
	T    Time `json:"t"`
	Task Task `json:"task"`
	// SplitHosts are the hosts that the ApplicationMaster saw.
	SplitHosts []Node `json:"splitHosts,omitempty"`
	// Path, OffsetBytes and LengthBytes say which part of which file the split
	// is. Path is empty if it is not known.
	Path        string  `json:"path,omitempty"`
	OffsetBytes int64   `json:"offsetBytes,omitempty"`
	LengthBytes int64   `json:"lengthBytes,omitempty"`
	Blocks      []Block `json:"blocks,omitempty"`
}

// TaskFinished says that a task ended.
type TaskFinished struct {
	T       Time    `json:"t"`
	Task    Task    `json:"task"`
	Outcome Outcome `json:"outcome"`
	// Winner is the number of the attempt that succeeded; -1 means none.
	Winner int32 `json:"winner" range:"tasks,-1"`
}

// AttemptStarted says that an attempt's container was launched.
type AttemptStarted struct {
	T         Time    `json:"t"`
	Attempt   Attempt `json:"attempt"`
	Node      Node    `json:"node"`
	Rack      string  `json:"rack,omitempty"`
	Container string  `json:"container,omitempty"`
	// SplitLocality compares the node with the split's hosts, as Hadoop counts
	// locality. It is unknown for reduces.
	SplitLocality Level `json:"splitLocality"`
	// ReplicaLocality compares the node with the nodes that had a replica or a
	// cached copy of the block at T.
	ReplicaLocality Level `json:"replicaLocality"`
	// SampleAgeNs is the age, at T, of the NameNode's answer that ReplicaLocality
	// was computed from; -1 means that there was no answer.
	SampleAgeNs int64 `json:"sampleAgeNs" range:"age,-1"`
	Speculative bool  `json:"speculative,omitempty"`
}

// AttemptFinished says that an attempt ended.
type AttemptFinished struct {
	T       Time    `json:"t"`
	Attempt Attempt `json:"attempt"`
	Outcome Outcome `json:"outcome"`
	// Unlaunched is true for an attempt that got a container and ended before it
	// was launched. It has no AttemptStarted.
	Unlaunched bool `json:"unlaunched,omitempty"`
	// MapDone is the time at which a map had read its input and began its final
	// merge. ShuffleDone and SortDone are the ends of a reduce's phases. 0 means
	// "not reported".
	MapDone     Time     `json:"mapDone,omitempty"`
	ShuffleDone Time     `json:"shuffleDone,omitempty"`
	SortDone    Time     `json:"sortDone,omitempty"`
	Error       string   `json:"error,omitempty"`
	Counters    Counters `json:"counters"`
	// Node and SplitLocality are those of an unlaunched attempt's container. All
	// other attempts have them in AttemptStarted.
	Node          Node  `json:"node,omitempty"`
	SplitLocality Level `json:"splitLocality,omitempty"`
}

// Counters are Hadoop's counters of an attempt or of a job. -1 means "not
// reported". A job's records are the sum over its maps and reduces.
type Counters struct {
	HDFSReadBytes    int64 `json:"hdfsReadBytes" range:",-1"`
	HDFSWrittenBytes int64 `json:"hdfsWrittenBytes" range:",-1"`
	FileReadBytes    int64 `json:"fileReadBytes" range:",-1"`
	FileWrittenBytes int64 `json:"fileWrittenBytes" range:",-1"`
	ShuffleBytes     int64 `json:"shuffleBytes" range:",-1"`
	MapOutputBytes   int64 `json:"mapOutputBytes" range:",-1"`
	InputRecords     int64 `json:"inputRecords" range:",-1"`
	OutputRecords    int64 `json:"outputRecords" range:",-1"`
	SpilledRecords   int64 `json:"spilledRecords" range:",-1"`
	CPUMs            int64 `json:"cpuMs" range:",-1"`
	GCMs             int64 `json:"gcMs" range:",-1"`
	PhysicalBytes    int64 `json:"physicalBytes" range:",-1"`
}

// NoCounters is Counters with nothing reported.
var NoCounters = Counters{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// AddCount adds a count to a sum. A count below 0 is not reported and adds
// nothing. A sum that would overflow becomes the greatest int64.
func AddCount(sum, count int64) int64 {
	if count <= 0 {
		return sum
	}
	if sum > math.MaxInt64-count {
		return math.MaxInt64
	}
	return sum + count
}

// BlockReplica says that a node has a replica of a block at T, according to the
// NameNode. With Gone it no longer has it.
type BlockReplica struct {
	T           Time   `json:"t"`
	Block       Block  `json:"block"`
	Node        Node   `json:"node" range:"some"`
	Path        string `json:"path,omitempty"`
	OffsetBytes int64  `json:"offsetBytes"`
	LengthBytes int64  `json:"lengthBytes"`
	Gone        bool   `json:"gone,omitempty"`
}

// BlockCached says that a node has a block in its HDFS cache at T, according to
// the NameNode. With Gone it no longer has it.
type BlockCached struct {
	T     Time  `json:"t"`
	Block Block `json:"block"`
	Node  Node  `json:"node" range:"some"`
	Gone  bool  `json:"gone,omitempty"`
}

// Decision says that a model asked to start a task of a job on a node.
type Decision struct {
	T    Time     `json:"t"`
	ID   int64    `json:"id" range:"id"` // from 1, unique in the run
	Job  JobID    `json:"job" range:"some"`
	What TaskKind `json:"what"`
	Node Node     `json:"node"`
	// TaskIndex is the task that the model chose; -1 means any task of the job.
	TaskIndex int32 `json:"taskIndex" range:"tasks,-1"`
	// BindIndex is the map that the ApplicationMaster was expected to start in
	// the container, and BindBranch the rule behind that. -1 means that nothing
	// was expected.
	BindIndex  int32  `json:"bindIndex" range:"tasks,-1"`
	BindBranch string `json:"bindBranch,omitempty"` // rerun, node, rack, any
	Group      int64  `json:"group,omitempty" range:"any"`
	Reason     string `json:"reason,omitempty"`
}

// Actuation says that the outcome of a decision is known.
type Actuation struct {
	T        Time  `json:"t"` // when the outcome was known
	Decision int64 `json:"decision" range:"id"`
	AskedAt  Time  `json:"askedAt"` // when the cluster was told
	// GrantedAt is the time at which the container was first seen; 0 means never.
	GrantedAt Time    `json:"grantedAt,omitempty"`
	Outcome   string  `json:"outcome"` // honoured, none, surplus, wrong-job, wrong-node, cancelled
	Container string  `json:"container,omitempty"`
	Bound     Attempt `json:"bound" range:"maybe"` // the attempt that ran in it; zero unknown
	Cause     string  `json:"cause,omitempty"`
}

// Heartbeat says that a node with free resources reported to the scheduler.
type Heartbeat struct {
	T                Time  `json:"t"`
	Node             Node  `json:"node" range:"some"`
	FreeMemoryBytes  int64 `json:"freeMemoryBytes" range:"signed"`
	FreeVCores       int32 `json:"freeVCores" range:"signed"`
	ContainersFree   int32 `json:"containersFree" range:"signed"`
	RunningContainer int32 `json:"running" range:"signed"`
}

// Note is a remark for people, such as "fault 2 was injected".
type Note struct {
	T    Time   `json:"t"`
	Text string `json:"text"`
}
