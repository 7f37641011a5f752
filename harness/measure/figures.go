// Package measure computes the figures of a run from its events, one by one:
// jobs, tasks, completion times, locality, bytes, phases, use of nodes,
// decisions, digests. Measured and simulated runs go through the same code, so
// their figures can be compared.
//
// The package is pure. Its memory grows with what is alive, not with the trace:
// it keeps running tasks, one record of figures for each job, and samples of
// durations (see Durations), but no events. It compares nothing: intervals and
// tests are in package stats, comparisons in compare and fidelity.
package measure

import (
	"fmt"
	"slices"

	"heddle/traces"
)

// Figures are a run in numbers. Other programs rely on the JSON keys up to
// traceDigest; more keys may be added.
type Figures struct {
	Format  int `json:"format"`
	Jobs    int `json:"jobs"`
	Maps    int `json:"maps"`    // tasks
	Reduces int `json:"reduces"` // tasks
	// Attempts are those that ended, by outcome, including those that ended
	// before launch.
	Attempts Attempts `json:"attempts"`
	// Locality counts the maps that succeeded by the nearest replica or cached
	// copy at their start.
	Locality Locality `json:"locality"`
	// SplitLocality counts the map attempts that got a container by the hosts
	// in their splits, as Hadoop does.
	SplitLocality SplitLocality `json:"splitLocality"`
	// Bytes are what the attempts that succeeded moved.
	Bytes     Bytes    `json:"bytes"`
	Synthetic []string `json:"synthetic"`
	// Mended counts, by kind, what an import had to decide because the source
	// did not say.
	Mended         map[string]int `json:"mended,omitempty"`
	Decisions      Decisions      `json:"decisions"`
	ScheduleDigest string         `json:"scheduleDigest"`
	// TraceDigest is empty for a simulation that wrote no trace.
	TraceDigest string `json:"traceDigest"`

	// List is the rules by which a job list makes tasks of its jobs; nil for
	// other traces. No job of a list has run: its bytes are what the list says
	// its jobs move.
	List       *traces.ListRules `json:"list,omitempty"`
	Origin     traces.Origin     `json:"origin"`
	Model      string            `json:"model"`
	Actuator   string            `json:"actuator,omitempty"`
	Plan       *Plan             `json:"plan,omitempty"` // nil: splits were not planned
	Events     int64             `json:"events"`
	DurationMs float64           `json:"durationMs"` // from the first to the last event
	// MakespanMs is from the first submission to the last end of a job.
	// MeanCompletionMs is the mean time from submission to end of the jobs that
	// succeeded.
	MakespanMs       float64 `json:"makespanMs"`
	MeanCompletionMs float64 `json:"meanCompletionMs"`
	// UtilisationPct is the share of the workers' container memory that task
	// attempts used, from the first submission to the last end; -1 if the trace
	// does not have the sizes.
	UtilisationPct float64 `json:"utilisationPct"`
	JobList        []*Job  `json:"jobList,omitempty"` // in order of submission
	Phases         []Phase `json:"phases"`
	Nodes          []*Node `json:"nodes,omitempty"` // in order of names

	maps, reduces, reduceRests *Durations
}

// MapDurations returns the durations of the map attempts that succeeded.
func (f *Figures) MapDurations() *Durations { return f.maps }

// ReduceDurations returns the durations of the reduce attempts that succeeded.
func (f *Figures) ReduceDurations() *Durations { return f.reduces }

// ReduceRests returns the durations of the reduce attempts that succeeded,
// counted from the end of the job's last map if the reduce started before that.
func (f *Figures) ReduceRests() *Durations { return f.reduceRests }

// Known returns how many of the maps that succeeded have a known location of
// their block.
func (l Locality) Known() int { return l.Cache + l.Node + l.Rack + l.Off }

// Shares returns the shares, 0 to 1, of the known maps by level: cache, node,
// rack, off.
func (l Locality) Shares() [4]float64 {
	known := float64(max(1, l.Known()))
	return [4]float64{float64(l.Cache) / known, float64(l.Node) / known, float64(l.Rack) / known, float64(l.Off) / known}
}

// Attempts counts attempts by outcome.
type Attempts struct {
	OK     int `json:"ok"`
	Failed int `json:"failed"`
	Killed int `json:"killed"`
}

// Locality counts maps by how near they ran to their input.
type Locality struct {
	Cache   int `json:"cache"`
	Node    int `json:"node"`
	Rack    int `json:"rack"`
	Off     int `json:"off"`
	Unknown int `json:"unknown"`
}

// SplitLocality counts map attempts by how near they ran to their split's
// hosts.
type SplitLocality struct {
	Node    int `json:"node"`
	Rack    int `json:"rack"`
	Off     int `json:"off"`
	Unknown int `json:"unknown"`
}

// Bytes are what attempts read from HDFS, shuffled, and wrote to HDFS.
type Bytes struct {
	Input   int64 `json:"input"`
	Shuffle int64 `json:"shuffle"`
	Output  int64 `json:"output"`
}

// Records are how many records maps read and put out, and reduces wrote.
type Records struct{ MapInput, MapOutput, ReduceOutput int64 }

// Plan counts, for a trace with planned splits, the maps that succeeded and had
// a planned node, and how many of those ran there.
type Plan struct {
	Maps   int `json:"maps"`
	OnNode int `json:"onNode"`
}

func (p *Plan) String() string {
	return fmt.Sprintf("plan: %d of %d maps on the planned node", p.OnNode, p.Maps)
}

// Job is the figures of one job.
type Job struct {
	ID       traces.JobID   `json:"id"`
	Name     string         `json:"name"`
	Outcome  traces.Outcome `json:"outcome"`
	SubmitMs float64        `json:"submitMs"` // from the trace's Time 0
	// CompletionMs is from submission to end, -1 if the job has not ended.
	CompletionMs  float64       `json:"completionMs"`
	Maps          int           `json:"maps"`
	Reduces       int           `json:"reduces"`
	Attempts      Attempts      `json:"attempts"`
	SplitLocality SplitLocality `json:"splitLocality"`
	Bytes         Bytes         `json:"bytes"`
	// Records are what the attempts that succeeded read and wrote.
	Records Records `json:"-"`
	// Differences names the totals in which the trace's attempts and Hadoop's
	// own counters disagree. Compared is how many totals were compared.
	Compared    int      `json:"compared"`
	Differences []string `json:"differences,omitempty"`

	launchedMaps, launchedReds int64
	containerBytes             [2]int64 // of a map, of a reduce
	lastMap                    traces.Time
	submitted                  traces.Time
	hadoop                     *traces.JobFinished // what Hadoop itself reported of the job
	live                       *liveJob            // nil: nothing of the job runs or waits
}

// Names of the phases that are whole attempts.
const (
	WholeMap    = "map: whole attempt"
	WholeReduce = "reduce: whole attempt"
)

// Phase returns the phase of a name, with a count of 0 if there is none.
func (f *Figures) Phase(name string) Phase {
	i := slices.IndexFunc(f.Phases, func(p Phase) bool { return p.Name == name })
	if i < 0 {
		return Phase{Name: name}
	}
	return f.Phases[i]
}

// Summary returns the figures without the lists of jobs, nodes and misses.
func (f *Figures) Summary() *Figures {
	s := *f
	s.JobList, s.Nodes, s.Decisions.Misses = nil, nil, nil
	return &s
}

// Phase is how long one part of a task took, over attempts that succeeded.
type Phase struct {
	Name     string  `json:"name"`
	Count    int     `json:"count"`
	MeanMs   float64 `json:"meanMs"`
	MedianMs float64 `json:"medianMs"`
	P95Ms    float64 `json:"p95Ms"`
	// Approximate says that there were too many attempts to keep them one by
	// one: percentiles are then within 1 %.
	Approximate bool `json:"approximate,omitempty"`
}

// Node is the use of one node.
type Node struct {
	Node     traces.Node `json:"node"`
	Rack     string      `json:"rack"`
	Attempts int         `json:"attempts"` // attempts launched on the node
	// MeanRunning is how many attempts ran on the node on average over the
	// trace.
	MeanRunning float64 `json:"meanRunning"`
	// CPUCores is the mean number of busy cores over the node's samples, -1
	// without samples.
	CPUCores float64 `json:"cpuCores"`

	busy    traces.Time
	cpu     float64
	samples int
}
