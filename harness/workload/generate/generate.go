// Package generate has workloads that Go functions make: a function gets parameters and
// returns jobs, with the bytes and CPU time of each task. Experiments run such jobs as they
// run those of a trace: on a cluster as Hadoop Streaming jobs of synthetic tasks, or in
// virtual time.
//
// A workload may be in any module. Its program gives the workload to cmd.Main, as it gives
// scheduler models:
//
//	func main() { cmd.Main(mymodel.Info, nightly.Workload) }
//
// Experiments then name it, with values of its parameters:
//
//	workloads: [{name: nightly, params: {jobs: 20}}]
//
// The package is pure, and so must be the function of a workload: the same parameters give
// the same jobs. Random numbers are to be made from a seed, which is a parameter like any
// other. It runs no job, and knows no cluster.
package generate

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"time"

	"heddle/harness/sched"
	"heddle/traces"
)

// Workload describes a workload and makes its jobs.
type Workload struct {
	Name    string // by which experiments know it
	Summary string // one line that says what its jobs are
	Params  []sched.Param
	// Jobs makes the jobs, in any order. Its argument has a value for each of Params, the
	// default where none was given. The error says which values do not go together.
	Jobs func(sched.Args) ([]Job, error)
}

// Job is a job that runs.
type Job struct {
	// Name is the job's name. No other job of the workload has it. "" gives the job one.
	Name string
	At   time.Duration // when it is submitted, counted from the first job
	// Queue and Pool are as in a trace: an experiment says which queue of the cluster stands
	// for Queue, and models share slots among pools. "" of Pool is the queue.
	Queue, Pool string
	// Terms are the job's deadline, price and hints, for models that heed them.
	Terms   traces.Terms
	Maps    []Map // at least one
	Reduces []Reduce
}

// Map is what a map does. It reads at least a line of input, of 4 KiB.
type Map struct {
	// Path names the file that the map reads from OffsetBytes on. Maps of all jobs that have
	// the same path read one file. If all maps of a job that read a file have OffsetBytes 0,
	// they read it part by part, one after the other. Without a path, each job has a file of
	// its own, which its maps read so.
	Path                   string
	OffsetBytes, ReadBytes int64
	EmitBytes              int64 // what it gives to reduces, or writes if there are none
	CPUMs                  int64
}

// Reduce is what a reduce does. The reduces of a job take in what its maps emit. If one of
// them has ShuffleBytes, then these count, and the maps emit as much in all; else each takes
// in an equal part.
type Reduce struct {
	ShuffleBytes, WriteBytes int64
	CPUMs                    int64
}

// most is the largest number that a job may have. It is far above what a cluster can do.
const most = 1 << 50

// mostTasks is how many tasks the jobs of a workload may have.
const mostTasks = 2_000_000

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+){0,4}$`)

// Check says what is wrong with the description of a workload, and what to change, nil if
// nothing is. It makes the jobs by the defaults of the parameters to see that this can be
// done.
func (w Workload) Check() error {
	const longest = 40
	if !nameForm.MatchString(w.Name) || len(w.Name) < 3 || len(w.Name) > longest {
		return fmt.Errorf("workload %q: its name takes 3 to %d characters of a-z, 0-9 and single hyphens, at most four, a letter first, "+
			"as in my-jobs", w.Name, longest)
	}
	err := sched.CheckParams(w.Params)
	switch {
	case w.Summary == "":
		err = errors.New("no Summary; say in one line what its jobs are")
	case w.Jobs == nil:
		err = errors.New("no Jobs; set it to the function that makes the jobs")
	}
	if err != nil {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	if _, err := w.Make(nil); err != nil {
		return fmt.Errorf("by the defaults of its Params: %w", err)
	}
	return nil
}

// Make returns the jobs for the given values of parameters, in the order in which they are
// submitted. Each has a name.
func (w Workload) Make(p sched.Params) ([]Job, error) {
	jobs, err := w.make(p)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return jobs, nil
}

func (w Workload) make(p sched.Params) ([]Job, error) {
	a, err := sched.ParseParams(w.Params, p)
	if err != nil {
		return nil, err
	}
	jobs, err := w.Jobs(a)
	if err = errors.Join(err, a.Err()); err != nil {
		return nil, err
	}
	jobs = slices.Clone(jobs)
	tasks, named := 0, map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		if j.Name == "" {
			j.Name = fmt.Sprintf("%s-%d", w.Name, i+1)
		}
		if named[j.Name] {
			return nil, fmt.Errorf("two jobs have the name %q", j.Name)
		}
		named[j.Name] = true
		if err := j.check(); err != nil {
			return nil, fmt.Errorf("job %q: %w", j.Name, err)
		}
		if tasks += len(j.Maps) + len(j.Reduces); tasks > mostTasks {
			return nil, fmt.Errorf("its jobs have more than %d tasks", mostTasks)
		}
	}
	if len(jobs) == 0 {
		return nil, errors.New("its function makes no job")
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return int(min(1, max(-1, a.At-b.At))) })
	return jobs, nil
}

func (j *Job) check() error {
	if j.At < 0 {
		return fmt.Errorf("it is submitted at %v; want 0s or more", j.At)
	}
	if len(j.Maps) == 0 {
		return errors.New("it has no map; want at least one")
	}
	for i := range j.Maps {
		m := &j.Maps[i]
		if err := inRange("map", i, m.OffsetBytes, m.ReadBytes, m.EmitBytes, m.CPUMs); err != nil {
			return err
		}
	}
	for i := range j.Reduces {
		r := &j.Reduces[i]
		if err := inRange("reduce", i, r.ShuffleBytes, r.WriteBytes, r.CPUMs); err != nil {
			return err
		}
	}
	return nil
}

func inRange(kind string, i int, numbers ...int64) error {
	for _, n := range numbers {
		if n < 0 || n > most {
			return fmt.Errorf("%s %d has the number %d of bytes or milliseconds; want 0 to %d", kind, i, n, int64(most))
		}
	}
	return nil
}

// Events returns jobs as a trace has them that ran: with the counters of each task, and
// without times, nodes and blocks.
func Events(jobs []Job) iter.Seq[traces.Event] {
	return func(yield func(traces.Event) bool) {
		for i := range jobs {
			if !jobs[i].events(yield) {
				return
			}
		}
	}
}

func (j *Job) events(yield func(traces.Event) bool) bool {
	at, id := traces.Time(j.At), traces.JobID(j.Name)
	if !yield(&traces.JobSubmitted{T: at, Job: id, Name: j.Name, Queue: j.Queue, Pool: j.Pool, Terms: j.Terms}) {
		return false
	}
	task := func(kind traces.TaskKind, i int, x traces.TaskScheduled, c traces.Counters) bool {
		x.T, x.Task = at, traces.Task{Job: id, Kind: kind, Index: int32(i)}
		return yield(&x) && yield(&traces.AttemptFinished{
			T: at, Attempt: traces.Attempt{Task: x.Task}, Outcome: traces.Succeeded,
			Counters: c,
		})
	}
	for i, m := range j.Maps {
		x := traces.TaskScheduled{Path: m.Path, OffsetBytes: m.OffsetBytes, LengthBytes: m.ReadBytes}
		c := traces.Counters{HDFSReadBytes: m.ReadBytes, CPUMs: m.CPUMs}
		if len(j.Reduces) > 0 {
			c.MapOutputBytes = m.EmitBytes
		} else {
			c.HDFSWrittenBytes = m.EmitBytes
		}
		if !task(traces.Map, i, x, c) {
			return false
		}
	}
	for i, r := range j.Reduces {
		if !task(traces.Reduce, i, traces.TaskScheduled{},
			traces.Counters{ShuffleBytes: r.ShuffleBytes, HDFSWrittenBytes: r.WriteBytes, CPUMs: r.CPUMs}) {
			return false
		}
	}
	return true
}
