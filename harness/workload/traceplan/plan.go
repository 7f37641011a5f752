// Package traceplan turns a trace into a plan of jobs to submit to a cluster:
// which jobs, when, with which tasks, reading which parts of which files.
//
// A plan is made of the events of a trace, heddle's own or an imported one. It
// can be a part of the trace, faster, with fewer bytes, and with fewer tasks
// that carry the same bytes. Jobs that read the same path in the trace read the
// same generated file in the plan, so that files which are read often in the
// trace are read often on the cluster.
//
// The package is pure: it uses no clock, files, goroutines or random numbers.
// The same events and options give the same plan. It submits nothing and writes
// no files.
//
// Words:
//
//   - scale: factor for the bytes of tasks and for recorded CPU times
//   - floor: least amount that a task can be asked for, such as one line of input
//   - share: what one reduce fetches of the map output of its job
package traceplan

import (
	"fmt"
	"iter"
	"math"
	"time"

	"heddle/harness/measure"
	"heddle/traces"
)

// LineBytes is the length of a line of a generated input file, with its line
// end. Hadoop gives a map whole lines, so no map can be asked to read less.
const LineBytes = 4096

// Limits of a plan. A cluster would need weeks for so much, and its NameNode
// would hold the files of no larger one.
const (
	maxJobs       = 50_000
	maxTasks      = 2_000_000
	maxInputBytes = 1 << 50
)

// Options say which part of a trace is planned, and how it is changed to fit a
// cluster.
type Options struct {
	// From and Until are times since the start of the trace. Jobs that are
	// submitted before From, or at Until or later, are left out. If Until is 0,
	// there is no end.
	From, Until time.Duration
	// First is the greatest number of jobs, the earliest ones; 0 means all.
	First int
	// Speed divides the times between submissions; 0 means 1.
	Speed float64
	// Scale multiplies the bytes of input, shuffle and output, and recorded CPU
	// times; 0 means 1.
	Scale float64
	// MaxTasks is the greatest number of maps, and of reduces, of one job; 0
	// means no limit. If a job has more, neighbours are merged into one task
	// with the bytes of all.
	MaxTasks int
	// CPUMsPerMiB is the CPU time in ms for each MiB that a task takes in, for
	// jobs without recorded CPU times.
	CPUMsPerMiB float64
	// Queues, Users and Priorities map values of the trace to values of the
	// cluster. The key "*" stands for all values that are not named. Without an
	// entry, a job goes to the queue that the cluster's configuration names, as the
	// cluster's own user, without priority.
	Queues, Users map[string]string
	Priorities    map[string]int
}

// Plan is what is to be submitted to a cluster.
type Plan struct {
	Jobs  []Job  // jobs in order of submission
	Files []File // input files, in the order in which jobs first read them
	// Warnings say what the trace lacks for a plan, and what was done instead.
	Warnings []string
}

// Job is a job of a plan.
type Job struct {
	ID          traces.JobID // id of the job in the trace
	Name        string       // name of the job in the trace
	At          time.Duration
	Queue, User string // empty means the cluster's own
	Priority    int    // 0 means none
	Pool        string // the job's pool in the trace, or its queue there if it has none
	Terms       traces.Terms
	Maps        []Map
	Reduces     []Reduce
	Floors      Floors // what was added to the job's maps to reach the floor
	Recorded    Recorded
}

// Map is what one map is asked to do: it reads LengthBytes of a file from
// OffsetBytes on. It emits EmitBytes for all reduces together, or writes them
// to HDFS if the job has no reduces.
type Map struct {
	File                                       int // index in Plan.Files
	OffsetBytes, LengthBytes, EmitBytes, CPUMs int64
}

// Reduce is what one reduce is asked to do. ShuffleBytes is its share of what
// all maps of the job emit. It takes the same part of what each map emits.
type Reduce struct{ ShuffleBytes, OutputBytes, CPUMs int64 }

// File is an input file to generate.
type File struct {
	Path   string // name of the file, to which the caller adds a folder
	Bytes  int64
	Cached bool   // at least half of the bytes read from the file in the trace were in the HDFS cache at some time
	From   string // path of the file in the trace; empty if the trace names none
}

// Floors counts the maps that read less than one line in the trace, and the
// bytes that were added to them.
type Floors struct {
	Maps       int
	InputBytes int64
}

// Recorded is what the trace says of a job, before any change.
type Recorded struct {
	Bytes measure.Bytes
	// CompletionMs is the time from the job's submission to its end; -1 if the
	// trace does not have it.
	CompletionMs int64
	// Locality counts the job's maps by how near they ran to their input.
	Locality measure.Locality
}

// Asked returns what the job's tasks are asked to read, shuffle and write, all
// together.
func (j *Job) Asked() measure.Bytes {
	var b measure.Bytes
	for i := range j.Maps {
		b.Input += j.Maps[i].LengthBytes
		if len(j.Reduces) == 0 {
			b.Output += j.Maps[i].EmitBytes
		}
	}
	for i := range j.Reduces {
		b.Shuffle += j.Reduces[i].ShuffleBytes
		b.Output += j.Reduces[i].OutputBytes
	}
	return b
}

// New makes a plan of a trace with the header h. The events must be in order of
// time, as traces.Sort gives them. It fails if a value of the options is out of
// its range, if no job is left, or if the plan would be too large.
func New(h *traces.Header, events iter.Seq[traces.Event], o Options) (*Plan, error) {
	if o.Speed == 0 {
		o.Speed = 1
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	r := newReader(h, &o)
	for e := range events {
		if err := r.add(e); err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
	}
	p := planner{o: &o, files: map[fileKey]int{}, hits: map[string]hits{}}
	if err := p.plan(r); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return &p.Plan, nil
}

func (o *Options) check() error {
	switch {
	case !(o.Speed > 0) || math.IsInf(o.Speed, 0):
		return fmt.Errorf("speed is %v, want a number above 0", o.Speed)
	case !(o.Scale > 0) || math.IsInf(o.Scale, 0):
		return fmt.Errorf("scale is %v, want a number above 0", o.Scale)
	case o.First < 0 || o.MaxTasks < 0:
		return fmt.Errorf("first is %d and maxTasks is %d, want 0 or more", o.First, o.MaxTasks)
	case o.From < 0 || o.Until < 0 || o.Until > 0 && o.Until <= o.From:
		return fmt.Errorf("from is %v and until is %v, want a time from 0 on and a later one", o.From, o.Until)
	case !(o.CPUMsPerMiB >= 0) || math.IsInf(o.CPUMsPerMiB, 0):
		return fmt.Errorf("cpu is %v ms for each MiB, want 0 or more", o.CPUMsPerMiB)
	}
	return nil
}
