// Package measure computes the figures of a run from its events, one by one:
// jobs, tasks, completion times, locality, bytes, phases, use of nodes,
// scheduling decisions, hashes. Measured and simulated runs go through the same
// code, so their figures can be compared.
//
// The package is pure: it uses no clock, files or goroutines. Its memory grows
// with the number of running tasks, not with the length of the trace. It keeps
// running tasks, one record of figures for each job, and samples of durations
// (see Durations), but no events. It compares nothing: intervals and tests are
// in package stats, comparisons in packages compare and fidelity.
package measure

import (
	"fmt"
	"slices"

	"heddle/harness/loadfit"
	"heddle/traces"
)

// Figures describe a run of jobs in numbers. Other programs rely on the JSON
// keys up to traceDigest; more keys may be added.
type Figures struct {
	Format  int `json:"format"`
	Jobs    int `json:"jobs"`
	Maps    int `json:"maps"`    // number of map tasks
	Reduces int `json:"reduces"` // number of reduce tasks
	// Attempts counts the task attempts that ended, by outcome. An attempt that
	// ended before its process was launched counts too.
	Attempts Attempts `json:"attempts"`
	// Locality counts the successful maps by where the nearest replica or
	// cached copy of their block was when they started.
	Locality Locality `json:"locality"`
	// SplitLocality counts the map attempts that got a container. It counts
	// them by how near the container was to the hosts in their split, as
	// Hadoop's own locality counters do.
	SplitLocality SplitLocality `json:"splitLocality"`
	// Bytes are how many bytes the successful attempts read, shuffled and
	// wrote.
	Bytes     Bytes    `json:"bytes"`
	Synthetic []string `json:"synthetic"`
	// Mended counts, by kind, the defects that an import found in its files and
	// mended by a rule.
	Mended         map[string]int `json:"mended,omitempty"`
	Decisions      Decisions      `json:"decisions"`
	ScheduleDigest string         `json:"scheduleDigest"`
	// TraceDigest is the hash of the trace's records, by which equal traces are
	// recognized. It is empty for a simulation that wrote no trace.
	TraceDigest string `json:"traceDigest"`

	// List is set for a trace that was imported from a list of jobs, otherwise
	// nil. It has the rules that give each job's number of tasks. No job of
	// such a list has run in heddle: its bytes are those that the list states.
	List     *traces.ListRules `json:"list,omitempty"`
	Origin   traces.Origin     `json:"origin"`
	Model    string            `json:"model"`
	Actuator string            `json:"actuator,omitempty"`
	// maps that ran on the node that the scheduler model planned; nil if it planned no splits
	Plan       *Plan   `json:"plan,omitempty"`
	Events     int64   `json:"events"`
	DurationMs float64 `json:"durationMs"` // time from the first to the last event of the trace
	// MakespanMs is the time from the first submission to the end of the last
	// job. MeanCompletionMs is the mean time from submission to end over the
	// jobs that succeeded; 0 if none did. NotSucceeded counts the other jobs:
	// they failed, were killed or did not end.
	MakespanMs       float64 `json:"makespanMs"`
	MeanCompletionMs float64 `json:"meanCompletionMs"`
	NotSucceeded     int     `json:"jobsNotSucceeded,omitempty"`
	// UtilisationPct is the percentage of the workers' container memory that
	// task attempts used, from the first submission to the end of the last job.
	// If the capacity of nodes changes, it is the percentage of what they had. It
	// can then be above 100, since running containers stay when capacity falls.
	// It is -1 if the trace does not say how much memory workers or containers
	// have.
	UtilisationPct float64 `json:"utilisationPct"`
	// CoreUsePct is the mean percentage of the workers' CPU cores that were busy,
	// over those workers of which the trace has both samples and the number of
	// cores. It is -1 if there are none.
	CoreUsePct float64 `json:"coreUsePct"`

	// KilledMs is how long attempts ran that were killed, all together. StarvedMs is how
	// long reduces held all slots while maps of their own jobs waited.
	KilledMs  float64 `json:"killedMs,omitempty"`
	StarvedMs float64 `json:"starvedMs,omitempty"`
	// Kept has values of metrics of some jobs, by name, for summaries.
	Kept map[string]float64 `json:"kept,omitempty"`
	// Notes are the scheduler model's own figures, such as learned delays.
	Notes map[string]float64 `json:"-"`

	// The metrics of these names; not a number if they are not known.
	nodeTasks, nodeLoad, nodeRunnable float64
	// Fetched counts the bytes that successful reduces fetched, by where the maps ran that
	// put them out. Simulate does not set it.
	Fetched              ByLevel `json:"-"`
	shufflesMs, shuffles float64 // of the metric shuffling
	mapCPUMs, mapCPUs    float64 // of the metric mapCPU

	// BoundMs is a lower bound of the makespan: no placement ends earlier whose
	// tasks take as long as the successful attempts of this run did. It is the
	// longest of two times: all attempts' memory times duration, divided by the
	// workers' memory; and, of each job from the first submission on, its
	// submission, its longest map and then the longest rest of a reduce.
	BoundMs float64 `json:"boundMs"`
	// InputByLevel counts the bytes that successful maps read, by where the
	// nearest copy of their block was when they started. It is nil if the trace
	// has no such bytes.
	InputByLevel *ByLevel `json:"inputByLevel,omitempty"`
	// AllJobs has the times of all jobs. Classes has them by queue, pool and size,
	// as [Figures.Classify] divides the jobs.
	AllJobs JobClass   `json:"allJobs"`
	Classes []JobClass `json:"classes,omitempty"`
	JobList []*Job     `json:"jobList,omitempty"` // figures of each job, in order of submission
	Phases  []Phase    `json:"phases"`
	// Slowed has the nodes that faults made slow, in order of time.
	Slowed []Slowed `json:"slowed,omitempty"`
	// Load is what tasks add to the load of nodes; nil if there are too few load averages.
	Load *loadfit.Loads `json:"load,omitempty"`
	// Estimates are those of each job's shuffle, if the scheduler model recorded them.
	Estimates []Estimate `json:"estimates,omitempty"`
	// Predictions are those of each job's end, if the scheduler model made any.
	Predictions []Predictions `json:"predictions,omitempty"`
	Nodes       []*Node       `json:"nodes,omitempty"` // figures of each node, sorted by name

	maps, reduceRests *Durations
}

// MapDurations returns the durations of all map attempts that succeeded.
func (f *Figures) MapDurations() *Durations { return f.maps }

// ReduceRests returns, for each reduce attempt that succeeded, its duration
// without the time before the end of the job's last map.
func (f *Figures) ReduceRests() *Durations { return f.reduceRests }

// Known returns the number of successful maps for which it is known how near
// the nearest copy of their block was.
func (l Levels[N]) Known() N { return l.Cache + l.Node + l.Rack + l.Off }

// Shares returns four shares of maps, 0 to 1: those that found their block in
// the cache of their node, on its disk, in their rack, and elsewhere. Maps for
// which this is unknown do not count.
func (l Levels[N]) Shares() [4]float64 {
	known := float64(max(1, l.Known()))
	return [4]float64{float64(l.Cache) / known, float64(l.Node) / known, float64(l.Rack) / known, float64(l.Off) / known}
}

// Attempts contains the numbers of task attempts that succeeded, failed and
// were killed.
type Attempts struct {
	OK     int `json:"ok"`
	Failed int `json:"failed"`
	Killed int `json:"killed"`
}

// Locality counts maps by how near they ran to a copy of their block: in the
// cache of their node, on its disk, in their rack, or outside.
type Locality = Levels[int]

// Levels are numbers by how near a map's input was.
type Levels[N int | int64] struct {
	Cache   N `json:"cache"`
	Node    N `json:"node"`
	Rack    N `json:"rack"`
	Off     N `json:"off"`
	Unknown N `json:"unknown"`
}

// at returns the number of a level.
func (l *Levels[N]) at(level traces.Level) *N {
	switch level {
	case traces.LevelCache:
		return &l.Cache
	case traces.LevelNode:
		return &l.Node
	case traces.LevelRack:
		return &l.Rack
	case traces.LevelOff:
		return &l.Off
	default:
		return &l.Unknown
	}
}

// Add counts one more at a level.
func (l *Levels[N]) Add(level traces.Level) { *l.at(level)++ }

// SplitLocality counts map attempts by how near they ran to the hosts that
// their split names: on such a host, in its rack, or outside.
type SplitLocality struct {
	Node    int `json:"node"`
	Rack    int `json:"rack"`
	Off     int `json:"off"`
	Unknown int `json:"unknown"`
}

// ByLevel counts bytes by how near a copy of them was to the map that read them.
type ByLevel = Levels[int64]

// Bytes are the numbers of bytes that task attempts read from HDFS, shuffled,
// and wrote to HDFS.
type Bytes struct {
	Input   int64 `json:"input"`
	Shuffle int64 `json:"shuffle"`
	Output  int64 `json:"output"`
}

// Records are the numbers of records that maps read, that maps put out, and
// that reduces wrote.
type Records struct{ MapInput, MapOutput, ReduceOutput int64 }

// Plan counts the successful maps for which the scheduler model planned a node.
// It also counts how many of these maps ran on that node.
type Plan struct {
	Maps   int `json:"maps"`
	OnNode int `json:"onNode"`
}

func (p *Plan) String() string {
	return fmt.Sprintf("plan: %d of %d maps on the planned node", p.OnNode, p.Maps)
}

// Job contains the figures of one MapReduce job: its times, tasks, locality and
// bytes. An application of Spark is a job without maps and reduces.
type Job struct {
	ID       traces.JobID   `json:"id"`
	Name     string         `json:"name"`
	Outcome  traces.Outcome `json:"outcome"`
	SubmitMs float64        `json:"submitMs"` // time of submission, counted from the start of the trace
	// CompletionMs is the time from the job's submission to its end in ms, -1
	// if the job has not ended.
	CompletionMs float64 `json:"completionMs"`
	// DeadlineMs is how long after its submission the job should have ended, in
	// ms; 0 if it has no deadline.
	DeadlineMs int64    `json:"deadlineMs,omitempty"`
	Maps       int      `json:"maps"`
	Reduces    int      `json:"reduces"`
	Attempts   Attempts `json:"attempts"`
	// Preempted counts attempts whose container YARN took for others, PreemptedMs is how long they ran.
	Preempted     int           `json:"preempted,omitempty"`
	PreemptedMs   float64       `json:"preemptedMs,omitempty"`
	SplitLocality SplitLocality `json:"splitLocality"`
	Bytes         Bytes         `json:"bytes"`
	// Records are the numbers of records that the job's successful attempts
	// read, put out and wrote.
	Records Records `json:"-"`
	// Locality counts the job's successful maps as Figures.Locality counts those
	// of all jobs. MapWaitMs is how long the job's maps waited for containers
	// after the ApplicationMaster was up, all together. Simulate does not set it.
	Locality  Locality `json:"-"`
	MapWaitMs float64  `json:"-"`
	// MapTime is how long the job's successful maps ran, all together, and ReduceTime
	// its reduces. An attempt that ended before it started, by the clocks of two machines,
	// counts as nothing. Simulate does not set them.
	MapTime    traces.Time `json:"-"`
	ReduceTime traces.Time `json:"-"`
	// Fetched is as Figures.Fetched. ReduceNodes are the nodes of reduces that succeeded, in
	// the order of their ends, the first mostReduceNodes. Simulate does not set them.
	Fetched     ByLevel       `json:"-"`
	ReduceNodes []traces.Node `json:"-"`
	// Differences names the totals of a job, such as bytes read, for which the
	// sum over the trace's attempts is not what Hadoop's own job counters say.
	// Compared is how many totals were compared.
	Compared    int      `json:"compared"`
	Differences []string `json:"differences,omitempty"`
	Spark       *Spark   `json:"spark,omitempty"` // nil for a job of MapReduce

	// Queue and User are those that the job was submitted to and by.
	Queue, User string `json:"-"`
	// UsedMiBMs is the memory of the job's containers times how long its attempts held them.
	UsedMiBMs int64 `json:"-"`

	// FirstError is what the first attempt that failed said; empty if none failed
	// or the trace does not have it.
	FirstError string `json:"-"`

	launchedMaps, launchedReds int64
	containerBytes             [2]int64 // container size in bytes: first of a map, then of a reduce
	pool                       string
	ran                        bool        // an attempt of the job has started
	firstStart                 traces.Time // when the first attempt of the job started, if ran is true
	longestMap, longestRest    traces.Time // longest successful map, and longest part of a successful reduce after the job's last map
	lastMap                    traces.Time
	submitted                  traces.Time
	started                    traces.Time // when the ApplicationMaster was up; 0 if that is not known
	// event of the job's end, which has Hadoop's own counters; nil until the job ends
	hadoop *traces.JobFinished
	// bytes that the model expected its reduces to fetch; 0: it did not say
	estimate    int64
	predictions *[len(predictionMoments)]traces.JobPredicted // nil: the model predicted nothing
	masterOn    *Node                                        // the worker that the job's ApplicationMaster runs on
	masterMiB   int64
	live        *liveJob // the job's running and waiting tasks; nil if there are none
}

// Names of phases of a task that take the whole duration of an attempt.
const (
	WholeMap    = "map: whole attempt"
	WholeReduce = "reduce: whole attempt"
)

// Phase returns the figures of the task phase with the given name. Its count is
// 0 if there is none.
func (f *Figures) Phase(name string) Phase {
	i := slices.IndexFunc(f.Phases, func(p Phase) bool { return p.Name == name })
	if i < 0 {
		return Phase{Name: name}
	}
	return f.Phases[i]
}

// Summary returns a short form of the figures: without the list of jobs, the
// list of nodes, the list of decisions that did not come out as intended, and the
// samples of durations.
func (f *Figures) Summary() *Figures {
	s := *f
	s.JobList, s.Nodes, s.Decisions.Misses, s.Estimates, s.Predictions = nil, nil, nil, nil, nil
	s.maps, s.reduceRests, s.Decisions.latencies = nil, nil, Durations{}
	return &s
}

// Phase says how long one phase of a task, such as the shuffle, took in the
// attempts that succeeded.
type Phase struct {
	Name     string  `json:"name"`
	Count    int     `json:"count"`
	MeanMs   float64 `json:"meanMs"`
	MedianMs float64 `json:"medianMs"`
	P95Ms    float64 `json:"p95Ms"`
	// Approximate says that there were too many attempts to keep their
	// durations one by one. Percentiles then have an error of up to 1 %.
	Approximate bool `json:"approximate,omitempty"`
}

// Node says how busy one node was.
type Node struct {
	Node     traces.Node `json:"node"`
	Rack     string      `json:"rack"`
	Attempts int         `json:"attempts"` // number of task attempts launched on the node
	// MeanRunning is the number of task attempts that ran on the node at the
	// same time, averaged over the trace.
	MeanRunning float64 `json:"meanRunning"`
	// CPUCores is the mean number of busy cores, over the trace's samples of
	// the node's load. It is -1 if there are no samples.
	CPUCores float64 `json:"cpuCores"`

	worker  bool
	down    bool
	usedMiB int64   // memory of the containers that run
	slow    bool    // made slow by a fault, at present
	mib     int64   // memory for containers at present, in MiB
	cores   float64 // number of CPU cores; 0 if it is not known
	busy    traces.Time
	cpu     float64
	samples int
	load    float64   // sum of load averages from the first attempt on
	loads   float64   // how many these are
	ends    [2]loadAt // the first and the last of these
}
