package traces

import "math"

// Event is one thing that happened during a run. Its concrete type is a pointer
// to one of the structs below, whose first field is the time T. The range tag of a field
// names the values that it can have, see ranges.go. The tag file says how a trace file
// stores it: "text" if it is rarely the same in two events, "later" if files of earlier
// versions do not have it and the fields after it.
type Event interface {
	// At returns the event's field T: the time at which the event happened.
	At() Time
	// Kind returns the kind of the event, which is also the number of its record
	// type in the file.
	Kind() Kind
}

// Kind is the kind of an event: the number of its record type in the file. The
// number of a kind that is no longer written is never given to another kind.
// Readers skip events whose number they do not know.
type Kind uint8

// The kinds of events in a trace, one for each record type of the file.
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
	_ // kind number 18 is not used again: earlier versions of heddle wrote events with it
	KindJobListed
	KindNodeCapacity
	KindNodeSpeed
	KindJobPredicted
	KindSparkApplication
	KindSparkQuery
	KindSparkStage
	KindSparkExecutor
	KindSparkTask
)

// NodeUp says that a node joined the cluster after the start of the run, or came back.
type NodeUp struct {
	T Time `json:"t"`
	NodeFacts
}

// NodeDown says that a node was lost or was removed from the cluster.
type NodeDown struct {
	T      Time   `json:"t"`
	Node   Node   `json:"node" range:"some"`
	Reason string `json:"reason,omitempty"` // why the node is down, such as "lost", "decommissioned", "unhealthy"
}

// NodeCapacity says how much memory and how many cores a node has for
// containers from the time T on. It may be less than the node's running
// containers use: these go on, and no other starts until there is room.
type NodeCapacity struct {
	T           Time  `json:"t"`
	Node        Node  `json:"node" range:"some"`
	MemoryBytes int64 `json:"memoryBytes"`
	VCores      int32 `json:"vcores" range:"cores"`
}

// NodeSpeed says that a fault made on purpose changed how fast a node computes, from the
// time T on: to Speed times its normal speed.
type NodeSpeed struct {
	T     Time    `json:"t"`
	Node  Node    `json:"node" range:"some"`
	Speed float64 `json:"speed" range:"cores"`
}

// JobPredicted says when the scheduler model expected a job to end, at the time T.
type JobPredicted struct {
	T   Time  `json:"t"`
	Job JobID `json:"job" range:"some"`
	// DonePct is the share of the job's tasks, in percent, that had succeeded at least: 0
	// when the job was submitted, then 50 and 90.
	DonePct uint8 `json:"donePct" range:"percent"`
	End     Time  `json:"end"`
}

// NodeSample has the metrics of a node at time T. A rate is the mean over the
// last IntervalNs nanoseconds before T. -1 means that a metric was not
// measured.
type NodeSample struct {
	T          Time    `json:"t"`
	Node       Node    `json:"node" range:"some"`
	IntervalNs int64   `json:"intervalNs"`
	CPUUser    float64 `json:"cpuUser" range:"cores,-1"`   // mean number of cores that ran user code
	CPUSystem  float64 `json:"cpuSystem" range:"cores,-1"` // mean number of cores that ran kernel code
	CPUIOWait  float64 `json:"cpuIOWait" range:"cores,-1"` // mean number of idle cores that waited for I/O
	CPUSteal   float64 `json:"cpuSteal" range:"cores,-1"`  // mean number of cores that the hypervisor gave to other machines
	// CPUThrottledNs is the time, in ns, in which tasks of the node could not run
	// because they had used up their CPU quota.
	CPUThrottledNs int64 `json:"cpuThrottledNs" range:",-1"`
	// Load1 is the mean number of tasks that ran or waited for a core or disk, over about
	// a minute. In the trace of a trial, it leaves out what ran before the trial.
	Load1                float64 `json:"load1" range:",-1"`
	MemoryUsedBytes      int64   `json:"memoryUsedBytes" range:"signed"` // memory in use, in bytes, without the page cache
	PageCacheBytes       int64   `json:"pageCacheBytes" range:",-1"`
	MemoryFreeBytes      int64   `json:"memoryFreeBytes" range:",-1"`
	DiskReadBytesPerSec  float64 `json:"diskReadBytesPerSec" range:",-1"`
	DiskWriteBytesPerSec float64 `json:"diskWriteBytesPerSec" range:",-1"`
	DiskQueue            float64 `json:"diskQueue" range:",-1"` // number of I/O requests that the disk has not finished
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

// NodeLabel says that a node has the YARN node label Label from the time T on.
// An empty label means the default partition.
type NodeLabel struct {
	T     Time   `json:"t"`
	Node  Node   `json:"node" range:"some"`
	Label string `json:"label"`
}

// JobSubmitted says that a job was submitted.
type JobSubmitted struct {
	T        Time   `json:"t"`
	Job      JobID  `json:"job" range:"some"`
	Name     string `json:"name"`
	User     string `json:"user"`
	Queue    string `json:"queue"`
	Priority int32  `json:"priority" range:"signed"`
	Maps     int32  `json:"maps" range:"tasks"`
	Reduces  int32  `json:"reduces" range:"tasks"`
	// Workload is the name of the workload that heddle ran with this job, such
	// as "wordcount". It is empty for jobs that others submitted.
	Workload string `json:"workload,omitempty"`
	// Sizes of the job's containers, and settings of the job that influence where
	// its tasks run.
	MapMemoryBytes    int64 `json:"mapMemoryBytes"`
	MapVCores         int32 `json:"mapVCores" range:"cores"`
	ReduceMemoryBytes int64 `json:"reduceMemoryBytes"`
	ReduceVCores      int32 `json:"reduceVCores" range:"cores"`
	// SlowStart is the share of the job's maps, 0 to 1, that must be done before it
	// requests containers for reduces.
	SlowStart   float64 `json:"slowStart" range:"share"`
	MapLabel    string  `json:"mapLabel,omitempty"`
	ReduceLabel string  `json:"reduceLabel,omitempty"`
	Speculation bool    `json:"speculation"`
	// Pool is the group of jobs among which a scheduler model of heddle shared
	// slots. It is empty if the experiment named no pools.
	Pool  string `json:"pool,omitempty" file:"later"`
	Terms `file:"later"`
	// Costs names what the job's tasks cost: the kind of workload, and those of its
	// settings that change how long a task takes, such as "wordcount". A calibration
	// fitted to jobs holds for all jobs with the same Costs. If it is empty, the
	// workload's name stands for it.
	Costs string `json:"costs,omitempty" file:"later"`
}

// JobStarted says that the job's ApplicationMaster is running and has read the
// list of the job's input splits.
type JobStarted struct {
	T             Time  `json:"t"`
	Job           JobID `json:"job" range:"some"`
	AMNode        Node  `json:"amNode"`
	AMAttempt     int32 `json:"amAttempt" range:"tasks"` // attempt number of the ApplicationMaster, from 1
	AMMemoryBytes int64 `json:"amMemoryBytes,omitempty"`
}

// JobFinished says that a job ended. Its counters and totals are those that
// Hadoop reported; they can be compared with sums over the attempts in the
// trace. -1 means "not reported".
type JobFinished struct {
	T           Time     `json:"t"`
	Job         JobID    `json:"job" range:"some"`
	Outcome     Outcome  `json:"outcome"`
	Diagnostics string   `json:"diagnostics,omitempty" file:"text"`
	Counters    Counters `json:"counters"`
	// Numbers that the ApplicationMaster counted. Three are for map attempts that
	// got a container: those with split locality node, rack and off. Two are for
	// launched attempts: of maps, and of reduces. -1 means "not reported".
	DataLocalMaps  int64 `json:"dataLocalMaps" range:",-1"`
	RackLocalMaps  int64 `json:"rackLocalMaps" range:",-1"`
	OtherLocalMaps int64 `json:"otherLocalMaps" range:",-1"`
	LaunchedMaps   int64 `json:"launchedMaps" range:",-1"`
	LaunchedReds   int64 `json:"launchedReduces" range:",-1"`
}

// TaskScheduled says that a task waits for a container from the time T on. The
// fields about the input split are set only for maps: a reduce has no split.
type TaskScheduled struct {
	T    Time `json:"t"`
	Task Task `json:"task"`
	// SplitHosts are the hosts of the map's split, as the ApplicationMaster read
	// them from the job's list of splits.
	SplitHosts []Node `json:"splitHosts,omitempty"`
	// Path, OffsetBytes and LengthBytes say which part of which HDFS file the
	// split is. Path is empty if the file is not known.
	Path        string  `json:"path,omitempty"`
	OffsetBytes int64   `json:"offsetBytes,omitempty"`
	LengthBytes int64   `json:"lengthBytes,omitempty"`
	Blocks      []Block `json:"blocks,omitempty"`
}

// TaskFinished says that a task ended, and with which outcome.
type TaskFinished struct {
	T       Time    `json:"t"`
	Task    Task    `json:"task"`
	Outcome Outcome `json:"outcome"`
	// Winner is the number of the attempt that succeeded; -1 means that none
	// did.
	Winner int32 `json:"winner" range:"tasks,-1"`
}

// AttemptStarted says that the container of a task attempt was launched.
type AttemptStarted struct {
	T         Time    `json:"t"`
	Attempt   Attempt `json:"attempt"`
	Node      Node    `json:"node"`
	Rack      string  `json:"rack,omitempty"`
	Container string  `json:"container,omitempty" file:"text"`
	// SplitLocality compares the attempt's node with the hosts of the map's
	// split, as Hadoop counts locality. It is unknown for reduces.
	SplitLocality Level `json:"splitLocality"`
	// ReplicaLocality compares the attempt's node with the nodes that really had
	// a replica or a cached copy of the map's block at the time T.
	ReplicaLocality Level `json:"replicaLocality"`
	// SampleAgeNs is the age, in ns at the time T, of the NameNode's data from
	// which ReplicaLocality was computed; -1 means that there were no data.
	SampleAgeNs int64 `json:"sampleAgeNs" range:"age,-1"`
	Speculative bool  `json:"speculative,omitempty"`
}

// AttemptFinished says that a task attempt ended.
type AttemptFinished struct {
	T       Time    `json:"t"`
	Attempt Attempt `json:"attempt"`
	Outcome Outcome `json:"outcome"`
	// Unlaunched is true for an attempt that got a container but ended before
	// the container was launched. The trace has no AttemptStarted for such an
	// attempt.
	Unlaunched bool `json:"unlaunched,omitempty"`
	// MapDone is the time at which a map had processed its input and began to
	// merge its spill files. ShuffleDone and SortDone are the times at which a
	// reduce ended its shuffle and its sort. 0 means "not reported".
	MapDone     Time     `json:"mapDone,omitempty"`
	ShuffleDone Time     `json:"shuffleDone,omitempty"`
	SortDone    Time     `json:"sortDone,omitempty"`
	Error       string   `json:"error,omitempty" file:"text"`
	Counters    Counters `json:"counters"`
	// Node and SplitLocality are set only if the attempt was not launched: they
	// describe its container. For a launched attempt they are in its
	// AttemptStarted event.
	Node          Node  `json:"node,omitempty"`
	SplitLocality Level `json:"splitLocality,omitempty"`
}

// Counters are Hadoop's counters of an attempt or of a job. -1 means "not
// reported". The numbers of input and output records of a job are the sums over
// its maps and reduces. HDFS stands for every file system but the local one.
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

// NoCounters has -1 in all counters, which means that none was reported.
var NoCounters = Counters{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// Uncounted returns the end of a job whose counters are not known.
func Uncounted(t Time, job JobID, o Outcome) *JobFinished {
	return &JobFinished{
		T: t, Job: job, Outcome: o, Counters: NoCounters,
		DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1,
	}
}

// AddCount returns sum plus count. A negative count means "not reported" and is
// not added. If the result would be too large for an int64, it is the greatest
// int64.
func AddCount(sum, count int64) int64 {
	if count <= 0 {
		return sum
	}
	if sum > math.MaxInt64-count {
		return math.MaxInt64
	}
	return sum + count
}

// BlockReplica says that at the time T, according to the NameNode, a node has a
// replica of a block. If Gone is true, the node no longer has it.
type BlockReplica struct {
	T           Time   `json:"t"`
	Block       Block  `json:"block"`
	Node        Node   `json:"node" range:"some"`
	Path        string `json:"path,omitempty"`
	OffsetBytes int64  `json:"offsetBytes"`
	LengthBytes int64  `json:"lengthBytes"`
	Gone        bool   `json:"gone,omitempty"`
}

// BlockCached says that at the time T, according to the NameNode, a node has a
// block in its HDFS cache. If Gone is true, the node no longer has it there.
type BlockCached struct {
	T     Time  `json:"t"`
	Block Block `json:"block"`
	Node  Node  `json:"node" range:"some"`
	Gone  bool  `json:"gone,omitempty"`
}

// Heartbeat says that a NodeManager with free resources sent a heartbeat to the
// ResourceManager.
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
	Text string `json:"text" file:"text"`
}
