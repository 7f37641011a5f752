package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"heddle/traces"
	"heddle/traces/tracefile"
)

// Trace is a run as a replay needs it: by job and task, with where each map's
// input was when the job was submitted.
type Trace struct {
	// Name is what messages call it, by default its path.
	Name   string
	Header traces.Header
	Jobs   []*Job // by submission
	// Nodes are the cluster's workers, those that came later included.
	Nodes []traces.NodeFacts
	// Heartbeats are the recorded opportunities.
	Heartbeats []traces.Heartbeat
	// Decisions are the model's that were honoured.
	Decisions []Decision
	// Warnings say what the trace lacks.
	Warnings []string

	attempts map[traces.Attempt]*Attempt
	mishaps  mishaps
}

// Job is a job of a trace. Times are nanoseconds from the trace's start, 0 where
// they are not known.
type Job struct {
	traces.JobSubmitted
	Started, Finished traces.Time
	AMNode            traces.Node
	AMMemoryBytes     int64
	Outcome           traces.Outcome
	// Tasks are those that events name, by kind and in order of their index. The
	// counts of JobSubmitted are what was claimed, and may be higher.
	Tasks [2][]Task

	places [2]map[int32]int // while the trace is read: in Tasks, by index
}

// Task is a map or a reduce.
type Task struct {
	Index       int32 // within its job and kind
	Scheduled   traces.Time
	LengthBytes int64
	Path        string
	OffsetBytes int64
	// SplitHosts are those the ApplicationMaster saw, Replicas and Cached the
	// nodes with the input when the job was submitted.
	SplitHosts, Replicas, Cached []traces.Node
	// Won is the attempt that succeeded, nil none.
	Won *Attempt

	block traces.Block
}

// Decision is a model's decision and what came of it.
type Decision struct {
	traces.Decision
	GrantedAt traces.Time // when its container was seen
	Bound     traces.Attempt
}

// Attempt is an attempt that was launched. End is 0 where it did not.
type Attempt struct {
	ID                             traces.Attempt
	Node                           traces.Node
	Level                          traces.Level // of its replicas, else of its split
	Start, End                     traces.Time
	MapDone, ShuffleDone, SortDone traces.Time
	Outcome                        traces.Outcome
	Counters                       traces.Counters
}

// Ms is how long it ran.
func (a *Attempt) Ms() float64 { return float64(a.End-a.Start) / 1e6 }

// Load reads the trace at path. One that was cut off is read up to there, with a
// warning.
func Load(path string) (*Trace, error) {
	r, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := newBuilder(path, r.Header())
	for r.Next() {
		if err := b.add(r.Event()); err != nil {
			return nil, fmt.Errorf("load trace %s: %w", path, err)
		}
	}
	var damage *tracefile.DamageError
	if err := r.Err(); errors.As(err, &damage) {
		b.warn("%v: what comes before it is replayed", err)
	} else if err != nil {
		return nil, err
	}
	return b.finish()
}

// New is the trace of events in memory, in order.
func New(name string, h traces.Header, events []traces.Event) (*Trace, error) {
	b := newBuilder(name, h)
	for _, e := range events {
		if err := b.add(e); err != nil {
			return nil, fmt.Errorf("load trace %s: %w", name, err)
		}
	}
	return b.finish()
}

// builder makes a Trace of events.
type builder struct {
	*Trace
	jobs    map[traces.JobID]*Job
	blocks  map[traces.Block]*history
	decided map[int64]traces.Decision
}

// history is where a block was, in order of time.
type history struct {
	path        string
	offset      int64
	length      int64
	onDisk, ram []placed
}

type placed struct {
	t    traces.Time
	node traces.Node
	gone bool
}

func newBuilder(name string, h traces.Header) *builder {
	t := &Trace{Name: name, Header: h, attempts: map[traces.Attempt]*Attempt{}}
	anyWorker := slices.ContainsFunc(h.Cluster.Nodes, func(n traces.NodeFacts) bool { return n.Worker })
	for _, n := range h.Cluster.Nodes {
		if n.Worker || !anyWorker {
			t.Nodes = append(t.Nodes, n)
		}
	}
	return &builder{
		Trace: t, jobs: map[traces.JobID]*Job{},
		blocks: map[traces.Block]*history{}, decided: map[int64]traces.Decision{},
	}
}

func (b *builder) warn(format string, args ...any) {
	b.Warnings = append(b.Warnings, b.Name+": "+fmt.Sprintf(format, args...))
}

// add takes in an event, of which it keeps nothing.
func (b *builder) add(e traces.Event) error {
	b.mishaps.add(e)
	switch e := e.(type) {
	case *traces.NodeUp:
		if e.Worker && !slices.ContainsFunc(b.Nodes, func(n traces.NodeFacts) bool { return n.Node == e.Node }) {
			b.Nodes = append(b.Nodes, e.NodeFacts)
		}
	case *traces.JobSubmitted:
		if e.Maps < 0 || e.Reduces < 0 {
			return fmt.Errorf("job %s has %d maps and %d reduces", e.Job, e.Maps, e.Reduces)
		}
		if b.jobs[e.Job] != nil {
			return fmt.Errorf("job %s is submitted twice", e.Job)
		}
		j := &Job{JobSubmitted: *e}
		b.jobs[e.Job] = j
		b.Jobs = append(b.Jobs, j)
	case *traces.JobStarted:
		if j := b.jobs[e.Job]; j != nil {
			j.Started, j.AMNode, j.AMMemoryBytes = e.T, e.AMNode, e.AMMemoryBytes
		}
	case *traces.JobFinished:
		if j := b.jobs[e.Job]; j != nil {
			j.Finished, j.Outcome = e.T, e.Outcome
		}
	case *traces.TaskScheduled:
		if t := b.task(e.Task); t != nil {
			t.Scheduled, t.LengthBytes, t.Path, t.OffsetBytes = e.T, e.LengthBytes, e.Path, e.OffsetBytes
			t.SplitHosts = slices.Clone(e.SplitHosts)
			if len(e.Blocks) > 0 {
				t.block = e.Blocks[0]
			}
		}
	case *traces.AttemptStarted:
		level := e.ReplicaLocality
		if level == traces.LevelUnknown {
			level = e.SplitLocality
		}
		b.task(e.Attempt.Task) // which need not have been scheduled by then, or at all
		b.attempts[e.Attempt] = &Attempt{ID: e.Attempt, Node: e.Node, Level: level, Start: e.T}
	case *traces.AttemptFinished:
		if a := b.attempts[e.Attempt]; a != nil {
			a.End, a.Outcome, a.Counters = e.T, e.Outcome, e.Counters
			a.MapDone, a.ShuffleDone, a.SortDone = e.MapDone, e.ShuffleDone, e.SortDone
			if t := b.task(e.Attempt.Task); t != nil && e.Outcome == traces.Succeeded && t.Won == nil {
				t.Won = a
			}
		}
	case *traces.BlockReplica:
		h := b.block(e.Block)
		h.path, h.offset, h.length = e.Path, e.OffsetBytes, e.LengthBytes
		h.onDisk = append(h.onDisk, placed{e.T, e.Node, e.Gone})
	case *traces.BlockCached:
		h := b.block(e.Block)
		h.ram = append(h.ram, placed{e.T, e.Node, e.Gone})
	case *traces.Decision:
		b.decided[e.ID] = *e
	case *traces.Actuation:
		if d, ok := b.decided[e.Decision]; ok && e.Outcome == "honoured" && e.GrantedAt >= d.T {
			b.Decisions = append(b.Decisions, Decision{d, e.GrantedAt, e.Bound})
		}
		delete(b.decided, e.Decision)
	case *traces.Heartbeat:
		b.Heartbeats = append(b.Heartbeats, *e)
	}
	return nil
}

func (b *builder) block(id traces.Block) *history {
	h := b.blocks[id]
	if h == nil {
		h = &history{}
		b.blocks[id] = h
	}
	return h
}

// task is the task with a name, nil where its job claims none such. A task is
// made when an event first names it, whatever its job claims: memory follows what
// a trace has.
func (b *builder) task(id traces.Task) *Task {
	j := b.jobs[id.Job]
	if j == nil || !id.Kind.Valid() || id.Index < 0 || id.Index >= j.claims(id.Kind) {
		return nil
	}
	places := &j.places[id.Kind]
	i, ok := (*places)[id.Index]
	if !ok {
		if *places == nil {
			*places = map[int32]int{}
		}
		i = len(j.Tasks[id.Kind])
		(*places)[id.Index] = i
		j.Tasks[id.Kind] = append(j.Tasks[id.Kind], Task{Index: id.Index})
	}
	return &j.Tasks[id.Kind][i]
}

// claims is how many tasks of a kind the job is said to have.
func (j *Job) claims(k traces.TaskKind) int32 {
	if k == traces.Map {
		return j.Maps
	}
	return j.Reduces
}

// sortTasks puts tasks in order, once all are there, and warns of those that were
// claimed and are not.
func (b *builder) sortTasks() {
	var first traces.JobID
	jobs, lacking := 0, int64(0)
	for _, j := range b.Jobs {
		j.places = [2]map[int32]int{}
		lacks := int64(j.Maps) + int64(j.Reduces)
		for _, tasks := range j.Tasks {
			slices.SortFunc(tasks, func(x, y Task) int { return cmp.Compare(x.Index, y.Index) })
			lacks -= int64(len(tasks))
		}
		if lacks > 0 {
			first = cmp.Or(first, j.Job)
			jobs, lacking = jobs+1, lacking+lacks
		}
	}
	if jobs > 0 {
		b.warn("%d jobs, %s the first, claim %d tasks that no event names: they are left out", jobs, first, lacking)
	}
}

// finish says where the input of jobs was.
func (b *builder) finish() (*Trace, error) {
	if len(b.Jobs) == 0 {
		return nil, fmt.Errorf("load trace %s: no job is submitted in it", b.Name)
	}
	slices.SortStableFunc(b.Jobs, func(x, y *Job) int { return cmp.Compare(x.T, y.T) })
	b.sortTasks()
	for _, j := range b.Jobs {
		for i := range j.Tasks[traces.Map] {
			t := &j.Tasks[traces.Map][i]
			if h := b.blocks[t.block]; h != nil {
				// One that was first looked at later was there already: the NameNode
				// was asked because of the job.
				at := j.T
				if len(h.onDisk) > 0 {
					at = max(at, h.onDisk[0].t)
				}
				t.Replicas, t.Cached = nodesAt(h.onDisk, at), nodesAt(h.ram, at)
				if t.Path == "" {
					t.Path, t.OffsetBytes = h.path, h.offset
				}
			}
			if len(t.Replicas) == 0 {
				t.Replicas = t.SplitHosts
			}
		}
	}
	slices.SortFunc(b.Decisions, func(x, y Decision) int { return cmp.Compare(x.ID, y.ID) })
	b.seeNodes()
	return b.Trace, nil
}

// nodesAt is where a block was at t.
func nodesAt(list []placed, t traces.Time) []traces.Node {
	var nodes []traces.Node
	for _, p := range list {
		if p.t > t {
			break
		}
		if i := slices.Index(nodes, p.node); p.gone && i >= 0 {
			nodes = slices.Delete(nodes, i, i+1)
		} else if !p.gone && i < 0 {
			nodes = append(nodes, p.node)
		}
	}
	return nodes
}

// seeNodes adds the nodes that jobs name where the header names none.
func (b *builder) seeNodes() {
	if len(b.Nodes) > 0 {
		return
	}
	seen := map[traces.Node]bool{}
	see := func(n traces.Node) {
		if n != "" && !seen[n] {
			seen[n] = true
			b.Nodes = append(b.Nodes, traces.NodeFacts{Node: n, Rack: "/default-rack", Worker: true})
		}
	}
	for _, j := range b.Jobs {
		for _, tasks := range j.Tasks {
			for i := range tasks {
				for _, n := range tasks[i].SplitHosts {
					see(n)
				}
				if a := tasks[i].Won; a != nil {
					see(a.Node)
				}
			}
		}
	}
	slices.SortFunc(b.Nodes, func(x, y traces.NodeFacts) int { return cmp.Compare(x.Node, y.Node) })
}
