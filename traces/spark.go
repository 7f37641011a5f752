package traces

import "errors"

// ErrSpark is the error for a trace with applications of Spark where results are computed of
// jobs of MapReduce.
var ErrSpark = errors.New(
	"it has applications of Spark, which are not simulated, nor held by formats for MapReduce: heddle trace info, explain and report " +
		"show them, replay --queues FILE --against FILE has their executors as containers; \"heddle trace cut --job ID\" copies " +
		"jobs of MapReduce, without the room that Spark took beside them",
)

// SparkLocality is how near to its data a task of Spark ran, as its driver counts.
type SparkLocality uint8

// Levels of locality in Spark. A task that reads HDFS is in the same process as its data if
// the executor keeps the partition, and on a host with a cached replica.
const (
	SparkNoPref SparkLocality = iota // it has no place to prefer, or the log does not say
	SparkProcess
	SparkNode
	SparkRack
	SparkAny
)

// SparkLocalities are the names of the levels.
var SparkLocalities = []string{"noPref", "process", "node", "rack", "any"}

func (l SparkLocality) String() string { return nameOf(SparkLocalities, l, "locality") }

// MarshalText writes the name of the level, such as "node".
func (l SparkLocality) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText sets the level from the text that MarshalText writes.
func (l *SparkLocality) UnmarshalText(text []byte) error {
	return numberOf(SparkLocalities, text, "locality", l)
}

// SparkApplication is an application of Spark. This event, and those of its parts, are at
// their starts and have their ends, by the driver's clock. An End of 0 means that the log does
// not have it.
type SparkApplication struct {
	T       Time   `json:"t"` // its submission or, before Spark 3, its driver's start
	App     JobID  `json:"job" range:"some"`
	Name    string `json:"name" file:"text"`
	User    string `json:"user"`
	Queue   string `json:"queue"`
	Version string `json:"version"`         // of Spark
	Start   Time   `json:"start,omitempty"` // of the driver, without its start of Java
	End     Time   `json:"end,omitempty"`
	// Outcome is that of the driver's exit code or, before Spark 4, of its last job.
	Outcome Outcome `json:"outcome"`
	Driver  Node    `json:"driver"`
	// AMStart is when the ApplicationMaster of an application in client mode was up.
	AMStart     Time   `json:"amStart,omitempty"`
	AMContainer string `json:"amContainer,omitempty" file:"text"`
	// Settings are those that say where and how tasks run, each KEY=VALUE.
	Settings []string `json:"settings,omitempty"`
	// AMMemoryBytes is the container of the ApplicationMaster on YARN, and AMNode where it ran in client mode.
	AMMemoryBytes int64 `json:"amMemoryBytes,omitempty" file:"later"`
	AMNode        Node  `json:"amNode,omitempty" file:"later"`
}

// SparkQuery is an execution of a query of Spark SQL.
type SparkQuery struct {
	T       Time    `json:"t"`
	App     JobID   `json:"job" range:"some"`
	Query   int64   `json:"query"`
	Root    int64   `json:"root" range:",-1"` // the query that it is a part of; itself, or -1 if the log does not say
	Text    string  `json:"text" file:"text"`
	End     Time    `json:"end,omitempty"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty" file:"text"`
}

// SparkStage is an attempt of a stage that ran.
type SparkStage struct {
	T       Time   `json:"t"`
	App     JobID  `json:"job" range:"some"`
	Stage   int32  `json:"stage"`
	Attempt int32  `json:"attempt"`
	Name    string `json:"name" file:"text"`
	Job     int32  `json:"sparkJob" range:",-1"` // that it was submitted for
	Query   int64  `json:"query" range:",-1"`    // that the job is of; -1: none
	Tasks   int32  `json:"tasks"`
	// Parents are the stages that ran whose output it reads. Spark lists a stage again, under an
	// id that never runs, in later jobs that use its output.
	Parents []int32 `json:"parents,omitempty"`
	End     Time    `json:"end,omitempty"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty" file:"text"`
}

// SparkExecutor is an executor from its registration with the driver on.
type SparkExecutor struct {
	T         Time   `json:"t"`
	App       JobID  `json:"job" range:"some"`
	Executor  string `json:"executor"`
	Node      Node   `json:"node"`
	Container string `json:"container,omitempty" file:"text"`
	Cores     int32  `json:"cores" range:"cores"`
	// MemoryBytes is the container that was asked for: heap, overhead and off-heap.
	MemoryBytes int64 `json:"memoryBytes"`
	End         Time  `json:"end,omitempty"` // its application's, if it was there until then
	// Outcome is succeeded for one that was there until its application ended, killed for one
	// that the driver gave back, failed for one that was lost.
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty" file:"text"`
}

// SparkTask is an attempt of a task of a stage.
type SparkTask struct {
	T            Time          `json:"t"` // its launch
	App          JobID         `json:"job" range:"some"`
	ID           int64         `json:"id"` // Spark's TID, which no other attempt of the application has
	Stage        int32         `json:"stage"`
	StageAttempt int32         `json:"stageAttempt"`
	Index        int32         `json:"index"`
	Attempt      int32         `json:"attempt"`
	Executor     string        `json:"executor"`
	Node         Node          `json:"node"`
	Locality     SparkLocality `json:"locality"`
	Speculative  bool          `json:"speculative,omitempty"`
	End          Time          `json:"end,omitempty"`
	Outcome      Outcome       `json:"outcome"`
	Error        string        `json:"error,omitempty" file:"text"`
	SparkCounters
}

// SparkCounters are what Spark measured of a task. -1 means "not reported".
type SparkCounters struct {
	DeserializeMs      int64 `json:"deserializeMs" range:",-1"` // of the task's code
	RunMs              int64 `json:"runMs" range:",-1"`         // with waits and garbage collections
	CPUMs              int64 `json:"cpuMs" range:",-1"`         // of RunMs
	GCMs               int64 `json:"gcMs" range:",-1"`
	ResultMs           int64 `json:"resultMs" range:",-1"` // serialization of the result
	InputBytes         int64 `json:"inputBytes" range:",-1"`
	InputRecords       int64 `json:"inputRecords" range:",-1"`
	OutputBytes        int64 `json:"outputBytes" range:",-1"`
	ShuffleLocalBytes  int64 `json:"shuffleLocalBytes" range:",-1"`
	ShuffleRemoteBytes int64 `json:"shuffleRemoteBytes" range:",-1"`
	FetchWaitMs        int64 `json:"fetchWaitMs" range:",-1"`
	ShuffleWriteBytes  int64 `json:"shuffleWriteBytes" range:",-1"`
	ShuffleWriteMs     int64 `json:"shuffleWriteMs" range:",-1"`
	SpilledMemoryBytes int64 `json:"spilledMemoryBytes" range:",-1"` // size in memory of what was spilled
	SpilledDiskBytes   int64 `json:"spilledDiskBytes" range:",-1"`   // and on the disk
	PeakMemoryBytes    int64 `json:"peakMemoryBytes" range:",-1"`    // of aggregations, joins and sorts
}

// NoSparkCounters has -1 in all counters.
var NoSparkCounters = SparkCounters{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// IsSpark reports whether events of a kind are of an application of Spark.
func (k Kind) IsSpark() bool { return k >= KindSparkApplication && k <= KindSparkTask }

// Begins reports whether events of a kind are of the submission of a job or application.
func (k Kind) Begins() bool {
	return k == KindJobSubmitted || k == KindJobListed || k == KindSparkApplication
}
