package traceplan

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// reader collects those jobs of a trace that are planned.
type reader struct {
	o       *Options
	list    *traces.ListRules
	jobs    []*recorded // jobs in order of their submissions
	jobOf   map[traces.JobID]*recorded
	levels  map[traces.Attempt]traces.Level // for each running attempt, how near it is to its input
	blocks  map[traces.Block]blockAt        // for blocks whose file is known, the file and the offset
	cached  map[traces.Block]bool           // blocks that were in the HDFS cache at some time
	tasks   int64                           // number of tasks of the listed jobs so far, after merging
	skipped int                             // number of jobs before From, at Until or later, or after the first ones
}

type blockAt struct {
	path   string
	offset int64
}

// recorded is a job of the trace.
type recorded struct {
	id       traces.JobID
	name     string
	at       traces.Time
	queue    string
	pool     string
	user     string
	priority int32
	terms    traces.Terms
	ended    traces.Time // time of the job's end; 0 means unknown
	tasks    [2][]task   // by kind of task, sorted by index once all events were read
	index    map[traces.Task]int
	listed   *traces.JobListed // entry of a list of jobs; nil for a job with recorded tasks
}

// task is a task of the trace, or several that were merged. Bytes that were not
// reported are 0.
type task struct {
	index          int32
	path           string
	offset, length int64 // the task's part of the file; length 0 means that it is not known
	block          traces.Block
	read           int64 // bytes that a map read from HDFS
	put            int64 // bytes that a map emitted, before a combiner and compression
	fetched        int64 // bytes that a reduce fetched
	written        int64 // bytes that the task wrote to HDFS
	cpuMs          int64
	level          traces.Level
	succeeded      bool
}

func newReader(h *traces.Header, o *Options) *reader {
	return &reader{
		o: o, list: h.List, jobOf: map[traces.JobID]*recorded{}, levels: map[traces.Attempt]traces.Level{},
		blocks: map[traces.Block]blockAt{}, cached: map[traces.Block]bool{},
	}
}

// add takes the next event of the trace. It keeps no reference to the event.
func (r *reader) add(e traces.Event) error {
	switch e := e.(type) {
	case *traces.JobSubmitted:
		j, err := r.submitted(e.Job, e.T)
		if j != nil {
			j.name, j.queue, j.user, j.priority = cmp.Or(e.Name, string(e.Job)), e.Queue, e.User, e.Priority
			j.pool, j.terms = cmp.Or(e.Pool, e.Queue), e.Terms
		}
		return err
	case *traces.JobListed:
		j, err := r.submitted(e.Job, e.T)
		if j == nil {
			return err
		}
		if r.list == nil {
			return fmt.Errorf("job %s is listed, but the header has no rules that make its tasks", e.Job)
		}
		if err := r.list.Check(e); err != nil {
			return fmt.Errorf("job %s: %w", e.Job, err)
		}
		entry := *e
		j.name, j.queue, j.user, j.pool = cmp.Or(e.Name, string(e.Job)), e.Queue, e.User, e.Queue
		j.listed, j.terms = &entry, e.Terms
		r.tasks += int64(r.o.most(r.list.Maps(e)) + r.o.most(r.list.Reduces(e)))
		return r.tooMany(r.tasks)
	case *traces.JobFinished:
		if j := r.jobOf[e.Job]; j != nil {
			j.ended = e.T
		}
	case *traces.TaskScheduled:
		if t := r.task(e.Task); t != nil {
			t.path, t.offset, t.length = e.Path, max(0, e.OffsetBytes), max(0, e.LengthBytes)
			if len(e.Blocks) > 0 {
				t.block = e.Blocks[0]
			}
		}
	case *traces.AttemptStarted:
		if t := r.task(e.Attempt.Task); t != nil {
			level := e.ReplicaLocality
			if level == traces.LevelUnknown {
				level = e.SplitLocality
			}
			r.levels[e.Attempt] = level
		}
	case *traces.AttemptFinished:
		r.finished(e)
	case *traces.BlockReplica:
		if e.Path != "" {
			r.blocks[e.Block] = blockAt{e.Path, max(0, e.OffsetBytes)}
		}
	case *traces.BlockCached:
		if !e.Gone {
			r.cached[e.Block] = true
		}
	}
	return nil
}

// submitted returns a new job of the plan, or nil if the options leave it out.
func (r *reader) submitted(id traces.JobID, at traces.Time) (*recorded, error) {
	o := r.o
	if r.jobOf[id] != nil {
		return nil, fmt.Errorf("job %s is submitted twice", id)
	}
	if at < traces.Time(o.From) || o.Until > 0 && at >= traces.Time(o.Until) || o.First > 0 && len(r.jobs) == o.First {
		r.skipped++
		return nil, nil
	}
	if len(r.jobs) == maxJobs {
		return nil, fmt.Errorf("the trace has more than %d jobs to plan; first, from and until take a part of it", maxJobs)
	}
	j := &recorded{id: id, at: at, index: map[traces.Task]int{}}
	r.jobOf[id] = j
	r.jobs = append(r.jobs, j)
	return j, nil
}

// task returns the task with this id, which it makes if it is new. It returns
// nil if the task's job is not planned.
func (r *reader) task(id traces.Task) *task {
	j := r.jobOf[id.Job]
	if j == nil || !id.Kind.Valid() {
		return nil
	}
	i, ok := j.index[id]
	if !ok {
		i = len(j.tasks[id.Kind])
		j.index[id] = i
		j.tasks[id.Kind] = append(j.tasks[id.Kind], task{index: id.Index})
	}
	return &j.tasks[id.Kind][i]
}

// finished takes the counters of the attempt that succeeded. As long as none
// did, it takes those of the attempt that ended last.
func (r *reader) finished(e *traces.AttemptFinished) {
	t := r.task(e.Attempt.Task)
	if t == nil {
		return
	}
	level := r.levels[e.Attempt]
	delete(r.levels, e.Attempt)
	if t.succeeded {
		return
	}
	c := &e.Counters
	t.read, t.put, t.fetched = max(0, c.HDFSReadBytes), max(0, c.MapOutputBytes), max(0, c.ShuffleBytes)
	t.written, t.cpuMs = max(0, c.HDFSWrittenBytes), max(0, c.CPUMs)
	if e.Outcome == traces.Succeeded {
		t.succeeded, t.level = true, level
	}
}

// sorted returns the job's tasks of a kind in the order of their numbers, each
// with its file if only the task's block tells it.
func (r *reader) sorted(j *recorded, kind traces.TaskKind) []task {
	list := j.tasks[kind]
	slices.SortFunc(list, func(a, b task) int { return cmp.Compare(a.index, b.index) })
	for i := range list {
		if at, ok := r.blocks[list[i].block]; ok && list[i].path == "" && list[i].block != 0 {
			list[i].path, list[i].offset = at.path, at.offset
		}
	}
	return list
}

// most returns n, or MaxTasks if n is more.
func (o *Options) most(n int64) int {
	if o.MaxTasks > 0 {
		n = min(n, int64(o.MaxTasks))
	}
	return int(n)
}

func (r *reader) tooMany(tasks int64) error {
	if tasks > maxTasks {
		return fmt.Errorf("the jobs have more than %d tasks; maxTasks limits the tasks of each job, and first, from and until take a "+
			"part of the trace", maxTasks)
	}
	return nil
}
