// Package summary says in figures what is in a trace: jobs, tasks, attempts,
// locality, bytes, phases, node use, decisions, digests. It is pure: it takes
// events in order from wherever they are and keeps what runs at the time, not
// the events.
package summary

import (
	"fmt"
	"iter"

	"heddle/traces"
)

// Info is a trace in figures. The JSON keys up to traceDigest are relied upon by
// other programs; more may be added.
type Info struct {
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
	TraceDigest    string         `json:"traceDigest"`

	Origin     traces.Origin `json:"origin"`
	Model      string        `json:"model"`
	Plan       *Plan         `json:"plan,omitempty"` // nil where splits were not planned
	Events     int64         `json:"events"`
	DurationMs float64       `json:"durationMs"` // first to last event
	JobList    []*Job        `json:"jobList"`    // by submission
	Phases     []Phase       `json:"phases"`
	Nodes      []*Node       `json:"nodes"` // by name
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

// Decisions says what became of a model's decisions. Latencies are from the
// decision to the container, of those honoured; 0 where there are none.
type Decisions struct {
	Made     int `json:"made"`
	Honoured int `json:"honoured"`
	// BindPredicted counts honoured decisions whose container ran the predicted map.
	BindPredicted int     `json:"bindPredicted"`
	P50Ms         float64 `json:"p50Ms"`
	P95Ms         float64 `json:"p95Ms"`
}

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
	// Differences are the totals in which the trace's attempts and Hadoop's own
	// counters do not agree; Compared counts those looked at.
	Compared    int      `json:"compared"`
	Differences []string `json:"differences,omitempty"`

	launchedMaps, launchedReds int64
	end                        *traces.JobFinished
}

// Phase is how long a part of a task took, over attempts that succeeded.
type Phase struct {
	Name     string  `json:"name"`
	Count    int     `json:"count"`
	MedianMs float64 `json:"medianMs"`
	P95Ms    float64 `json:"p95Ms"`
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

// Of takes a trace in.
func Of(h traces.Header, events iter.Seq[traces.Event]) *Info {
	c := &collector{
		info:  &Info{Format: h.Format, Origin: h.Origin, Model: h.Model, Synthetic: h.Synthetic, Mended: h.Mended},
		jobs:  map[traces.JobID]*Job{},
		nodes: map[traces.Node]*Node{}, waiting: map[traces.Task]traces.Time{},
		running: map[traces.Attempt]start{}, decisions: map[int64]decision{},
		digest: traces.NewTraceDigest(),
	}
	if h.Splits == "plan" {
		c.info.Plan, c.planned = &Plan{}, map[traces.Task]traces.Node{}
	}
	if c.info.Synthetic == nil {
		c.info.Synthetic = []string{}
	}
	for _, n := range h.Cluster.Nodes {
		c.node(n.Node).Rack = n.Rack
	}
	for e := range events {
		c.add(e)
	}
	return c.finish()
}
