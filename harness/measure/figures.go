// Package measure turns the events of a run, as they come, into the figures of
// the run: jobs, tasks, completion times, locality, bytes, phases, use of nodes,
// decisions, digests. Measured and simulated runs go through the same code, so
// their figures can be set side by side.
//
// It is pure, and its memory is bounded by what is alive: it keeps running
// tasks, one line of figures a job, and samples of durations (see Durations),
// but no events. It compares nothing with anything: intervals and tests are in
// package stats, comparisons in compare and fidelity.
package measure

import (
	"fmt"
	"slices"

	"heddle/traces"
)

// Figures are a run in numbers. The JSON keys up to traceDigest are relied upon
// by other programs; more may be added.
type Figures struct {
	Format  int `json:"format"`
	Jobs    int `json:"jobs"`
	Maps    int `json:"maps"`    // tasks
	Reduces int `json:"reduces"` // tasks
	// Attempts that ended, by outcome, those ended before their launch included.
	Attempts Attempts `json:"attempts"`
	// Locality counts maps that succeeded by where a replica or cached copy was
	// when they started.
	Locality Locality `json:"locality"`
	// SplitLocality counts map attempts that got a container, as Hadoop does.
	SplitLocality SplitLocality `json:"splitLocality"`
	// Bytes are of attempts that succeeded.
	Bytes     Bytes    `json:"bytes"`
	Synthetic []string `json:"synthetic"`
	// Mended counts what an import had to decide for itself, by kind.
	Mended         map[string]int `json:"mended,omitempty"`
	Decisions      Decisions      `json:"decisions"`
	ScheduleDigest string         `json:"scheduleDigest"`
	// TraceDigest is empty of simulations whose events nobody asked for.
	TraceDigest string `json:"traceDigest"`

	// List are the rules by which a list of jobs has its tasks, nil of other traces.
	// Nothing of a list has run: its bytes are what its jobs are said to move.
	List       *traces.ListRules `json:"list,omitempty"`
	Origin     traces.Origin     `json:"origin"`
	Model      string            `json:"model"`
	Actuator   string            `json:"actuator,omitempty"`
	Plan       *Plan             `json:"plan,omitempty"` // nil where splits were not planned
	Events     int64             `json:"events"`
	DurationMs float64           `json:"durationMs"` // first to last event
	// MakespanMs is from the first submission to the last end of a job.
	// MeanCompletionMs is from submission to end, of the jobs that succeeded.
	MakespanMs       float64 `json:"makespanMs"`
	MeanCompletionMs float64 `json:"meanCompletionMs"`
	// UtilisationPct is the share of the workers' memory for containers that
	// attempts of tasks held, from the first submission to the last end; -1 where
	// the trace does not tell the sizes.
	UtilisationPct float64 `json:"utilisationPct"`
	JobList        []*Job  `json:"jobList,omitempty"` // by submission
	Phases         []Phase `json:"phases"`
	Nodes          []*Node `json:"nodes,omitempty"` // by name

	maps, reduces, reduceRests *Durations
}

// MapDurations are those of the map attempts that succeeded.
func (f *Figures) MapDurations() *Durations { return f.maps }

// ReduceDurations are those of the reduce attempts that succeeded.
func (f *Figures) ReduceDurations() *Durations { return f.reduces }

// ReduceRests are how long reduce attempts that succeeded took from the end of
// their job's last map on, of those that started earlier; of others the whole
// time.
func (f *Figures) ReduceRests() *Durations { return f.reduceRests }

// Known is how many maps succeeded of which it is known where their block was.
func (l Locality) Known() int { return l.Cache + l.Node + l.Rack + l.Off }

// Shares are the shares, 0 to 1, of the maps that are known: from the cache, their
// node, their rack and another.
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

// Locality counts maps by nearness to their data.
type Locality struct {
	Cache   int `json:"cache"`
	Node    int `json:"node"`
	Rack    int `json:"rack"`
	Off     int `json:"off"`
	Unknown int `json:"unknown"`
}

// SplitLocality counts map attempts by nearness to their split's hosts.
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

// Records are what maps read and put out, and what reduces wrote.
type Records struct{ MapInput, MapOutput, ReduceOutput int64 }

// Plan says how many of the maps that succeeded in a trace with planned splits
// had a planned node, and how many of those ran there.
type Plan struct {
	Maps   int `json:"maps"`
	OnNode int `json:"onNode"`
}

func (p *Plan) String() string {
	return fmt.Sprintf("plan: %d of %d maps on the planned node", p.OnNode, p.Maps)
}

// Job is one job in figures.
type Job struct {
	ID       traces.JobID   `json:"id"`
	Name     string         `json:"name"`
	Outcome  traces.Outcome `json:"outcome"`
	SubmitMs float64        `json:"submitMs"` // from the trace's Time 0
	// CompletionMs is from submission to end, -1 where there is no end.
	CompletionMs  float64       `json:"completionMs"`
	Maps          int           `json:"maps"`
	Reduces       int           `json:"reduces"`
	Attempts      Attempts      `json:"attempts"`
	SplitLocality SplitLocality `json:"splitLocality"`
	Bytes         Bytes         `json:"bytes"`
	// Records are of attempts that succeeded.
	Records Records `json:"-"`
	// Differences are the totals in which the trace's attempts and Hadoop's own
	// counters do not agree; Compared counts those looked at.
	Compared    int      `json:"compared"`
	Differences []string `json:"differences,omitempty"`

	launchedMaps, launchedReds int64
	containerBytes             [2]int64 // of a map, of a reduce
	lastMap                    traces.Time
	submitted                  traces.Time
	hadoop                     *traces.JobFinished // its own totals
	live                       *liveJob            // nil: nothing of it runs or waits
}

// Names of the phases that are whole attempts.
const (
	WholeMap    = "map: whole attempt"
	WholeReduce = "reduce: whole attempt"
)

// Phase is the phase of that name, with a count of 0 where there is none.
func (f *Figures) Phase(name string) Phase {
	i := slices.IndexFunc(f.Phases, func(p Phase) bool { return p.Name == name })
	if i < 0 {
		return Phase{Name: name}
	}
	return f.Phases[i]
}

// Summary is the figures without what there is of each job, node and miss.
func (f *Figures) Summary() *Figures {
	s := *f
	s.JobList, s.Nodes, s.Decisions.Misses = nil, nil, nil
	return &s
}

// Phase is how long a part of a task took, over attempts that succeeded.
type Phase struct {
	Name     string  `json:"name"`
	Count    int     `json:"count"`
	MeanMs   float64 `json:"meanMs"`
	MedianMs float64 `json:"medianMs"`
	P95Ms    float64 `json:"p95Ms"`
	// Approximate is set where the attempts were too many to be kept one by one:
	// percentiles are then right to 1 %.
	Approximate bool `json:"approximate,omitempty"`
}

// Node is the use of one node.
type Node struct {
	Node     traces.Node `json:"node"`
	Rack     string      `json:"rack"`
	Attempts int         `json:"attempts"` // launched
	// MeanRunning is how many attempts ran there on average over the trace.
	MeanRunning float64 `json:"meanRunning"`
	// CPUCores is the mean of cores busy over samples, -1 without any.
	CPUCores float64 `json:"cpuCores"`

	busy    traces.Time
	cpu     float64
	samples int
}
