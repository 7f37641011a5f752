package why

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// reader explains attempts from the events of a trace.
type reader struct {
	header     *traces.Header
	byYARN     bool
	slots      bool // nodes have a limit of maps and reduces
	rewritten  bool // splits do not name the hosts of all replicas
	now        traces.Time
	nodes      map[traces.Node]*node
	jobs       map[traces.JobID]*job
	blocks     map[traces.Block]*block
	decisions  map[int64]*traces.Decision // those whose outcome is not known
	slotsOpen  map[place]*awaited
	attempts   map[traces.Attempt]*attempt // those that are not explained yet
	containers map[string]*attempt         // the same by container
	fresh      []*attempt                  // those that started at the time now
	done       []*Explanation
}

type job struct {
	need     [2]state.Amounts // of a container for a map, and for a reduce
	known    [2]bool          // the trace has the size of these containers
	tasks    map[task]*taskInfo
	bound    map[traces.Attempt]*traces.Decision // decisions whose outcome came before their attempt's start
	started  traces.Time                         // when its master was up; the least time: not yet
	master   *node
	takes    state.Amounts // of the master
	running  int
	finished bool
}

type task struct {
	kind  traces.TaskKind
	index int32
}

type taskInfo struct {
	asked     traces.Time
	scheduled bool
	hosts     []traces.Node // of the split
	block     traces.Block
	hasBlock  bool
	tries     []try
}

// try is an attempt of a task that started.
type try struct {
	number  int32
	node    traces.Node
	outcome traces.Outcome
	end     traces.Time
	ended   bool
	killer  string
}

// attempt is an attempt that is not explained yet.
type attempt struct {
	x         *Explanation
	node      *node // nil: the trace names none
	job       *job
	need      state.Amounts
	needKnown bool
	running   bool
	resolved  bool // what concerns the time of its start is known
	ended     bool
	linked    bool // its decision is known
	waits     bool // in the list of those that wait for the outcomes of decisions
	done      bool
	container string
	input     *taskInfo
	tries     int // how many attempts of the task started before
}

func newReader(h *traces.Header) *reader {
	r := &reader{
		byYARN:    (h.Model == "yarn" || h.Model == "") && h.Origin != traces.Simulated,
		header:    h,
		slots:     h.MapSlots > 0 || h.ReduceSlots > 0,
		rewritten: h.Splits != "" && h.Splits != "asSubmitted",
		now:       math.MinInt64,
		nodes:     map[traces.Node]*node{}, jobs: map[traces.JobID]*job{}, blocks: map[traces.Block]*block{},
		decisions: map[int64]*traces.Decision{},
		slotsOpen: map[place]*awaited{}, attempts: map[traces.Attempt]*attempt{}, containers: map[string]*attempt{},
	}
	for i := range h.Cluster.Nodes {
		r.size(&h.Cluster.Nodes[i])
	}
	return r
}

// add takes the next event into account.
func (r *reader) add(e traces.Event) {
	if e.At() > r.now {
		r.resolve()
		r.now = e.At()
	}
	switch e := e.(type) {
	case *traces.NodeUp, *traces.NodeDown, *traces.NodeCapacity, *traces.BlockReplica, *traces.BlockCached:
		r.changedCluster(e)
	case *traces.JobSubmitted:
		j := r.job(e.Job)
		for k, bytes := range [2]int64{e.MapMemoryBytes, e.ReduceMemoryBytes} {
			cores := int64([2]int32{e.MapVCores, e.ReduceVCores}[k])
			j.need[k], j.known[k] = state.Need(max(0, bytes), max(1, cores), traces.TaskKind(k)), bytes > 0
		}
	case *traces.JobStarted:
		r.masterStarted(e)
	case *traces.JobFinished:
		j := r.job(e.Job)
		r.release(j)
		j.finished = true
		r.forget(e.Job, j)
	case *traces.TaskScheduled:
		t := r.job(e.Task.Job).task(e.Task)
		if !t.scheduled {
			t.scheduled, t.asked = true, e.T
		}
		if len(e.SplitHosts) > 0 {
			t.hosts = slices.Clone(e.SplitHosts)
		}
		if len(e.Blocks) > 0 {
			t.block, t.hasBlock = e.Blocks[0], true
		}
	case *traces.AttemptStarted:
		r.started(e)
	case *traces.AttemptFinished:
		r.finished(e)
	case *traces.Decision:
		r.decided(e)
	case *traces.Actuation:
		r.actuated(e)
	}
}

// changedCluster takes an event of nodes and blocks into account.
func (r *reader) changedCluster(e traces.Event) {
	switch e := e.(type) {
	case *traces.NodeUp:
		if e.MemoryBytes > 0 || r.nodes[e.Node] == nil { // a node that comes back may be named without its size
			r.size(&e.NodeFacts)
		}
		n := r.node(e.Node)
		n.up, n.upAt = true, e.T
	case *traces.NodeDown:
		n := r.node(e.Node)
		if !n.up || n.upAt != e.T { // a node that comes back before its loss was noticed is lost and back at one time, in this order in the trace
			n.up, n.downAt = false, e.T
		}
		for _, j := range r.jobs { // the order does not matter
			if j.master == n {
				r.release(j)
			}
		}
	case *traces.NodeCapacity:
		n := r.node(e.Node)
		r.resize(n, e.MemoryBytes, e.VCores)
		n.memoryKnown = true
	case *traces.BlockReplica:
		b := r.block(e.Block)
		b.replicas = changed(b.replicas, e.Node, e.Gone)
	case *traces.BlockCached:
		b := r.block(e.Block)
		b.cached = changed(b.cached, e.Node, e.Gone)
	}
}

// decided keeps a decision.
func (r *reader) decided(e *traces.Decision) {
	d := new(*e)
	if e.Seen != nil {
		d.Seen = new(*e.Seen)
		d.Seen.Candidates, d.Seen.Passed = slices.Clone(e.Seen.Candidates), slices.Clone(e.Seen.Passed)
	} else if r.header.Reasons {
		d.Seen = &traces.Seen{}
	}
	if _, again := r.decisions[e.ID]; !again {
		r.decisions[e.ID] = d
		r.awaited(placeOf(d)).decisions++
	}
}

func (r *reader) job(id traces.JobID) *job {
	j := r.jobs[id]
	if j == nil {
		j = &job{started: math.MinInt64, tasks: map[task]*taskInfo{}, bound: map[traces.Attempt]*traces.Decision{}}
		for k := range j.need {
			j.need[k] = state.Need(0, 1, traces.TaskKind(k))
		}
		r.jobs[id] = j
	}
	return j
}

// forget drops a job that has ended, with all its attempts.
func (r *reader) forget(id traces.JobID, j *job) {
	if j.finished && j.running == 0 && r.jobs[id] == j {
		delete(r.jobs, id)
	}
}

func (j *job) task(id traces.Task) *taskInfo {
	key := task{id.Kind, id.Index}
	t := j.tasks[key]
	if t == nil {
		t = &taskInfo{}
		j.tasks[key] = t
	}
	return t
}

func (r *reader) masterStarted(e *traces.JobStarted) {
	j := r.job(e.Job)
	j.started = e.T
	r.release(j) // the room of an earlier master
	if e.AMNode != "" && e.AMMemoryBytes > 0 {
		j.master, j.takes = r.node(e.AMNode), state.Amounts{e.AMMemoryBytes, 1}
		r.change(j.master, state.Amounts{}.Minus(j.takes), 0)
	}
}

// release frees the room of a job's master.
func (r *reader) release(j *job) {
	if j.master != nil {
		r.change(j.master, j.takes, 0)
		j.master = nil
	}
}

func (r *reader) started(e *traces.AttemptStarted) {
	if r.attempts[e.Attempt] != nil {
		return // it starts again, which cannot be
	}
	a := r.begin(e.Attempt, e.Node, e.Rack, e.ReplicaLocality, e.SplitLocality)
	a.x.Speculative, a.running = e.Speculative, true
	a.job.running++
	a.input.tries = append(a.input.tries, try{number: e.Attempt.Number, node: e.Node})
	if a.node != nil {
		r.change(a.node, state.Amounts{}.Minus(a.need), 1)
	}
	if e.Container != "" {
		a.container = e.Container
		r.containers[e.Container] = a
	}
	r.bind(a)
}

// begin makes the explanation of an attempt that got a container at the time now.
func (r *reader) begin(id traces.Attempt, on traces.Node, rack string, replica, split traces.Level) *attempt {
	j := r.job(id.Job)
	t := j.task(id.Task)
	x := &Explanation{
		Attempt: id, Node: on, Rack: rack, Start: Ms(r.now), Facts: Ms(r.now), Level: replica, model: r.header.Model, byYARN: r.byYARN,
		namesSplit: r.rewritten && !t.hasBlock,
	}
	a := &attempt{x: x, job: j, input: t, need: j.need[id.Kind&1], needKnown: j.known[id.Kind&1]}
	if on != "" {
		a.node = r.node(on)
		if x.Rack == "" {
			x.Rack = a.node.rack
		}
	}
	if t.scheduled && id.Kind == traces.Map {
		x.Asked = new(Ms(max(t.asked, min(j.started, r.now))))
	}
	a.tries = len(t.tries)
	if id.Kind == traces.Map && x.Level == traces.LevelUnknown {
		x.Level, x.BySplit = split, split != traces.LevelUnknown
	}
	r.attempts[id] = a
	r.fresh = append(r.fresh, a)
	return a
}

// bind links an attempt with its decision if the outcome of that came before the attempt's
// start.
func (r *reader) bind(a *attempt) {
	if d := a.job.bound[a.x.Attempt]; d != nil {
		delete(a.job.bound, a.x.Attempt)
		a.link(d)
	}
}

func (r *reader) finished(e *traces.AttemptFinished) {
	a := r.attempts[e.Attempt]
	if a == nil && e.Unlaunched {
		a = r.begin(e.Attempt, e.Node, "", traces.LevelUnknown, e.SplitLocality)
		a.x.Unlaunched = true
		r.bind(a)
	}
	if a == nil || a.ended {
		return
	}
	a.ended = true
	if e.Outcome == traces.Killed {
		a.x.Killed, a.x.KilledBy = new(Ms(e.T)), r.killer(a, e.Error)
	}
	for i := range a.input.tries {
		if t := &a.input.tries[i]; t.number == e.Attempt.Number {
			t.ended, t.end, t.outcome, t.killer = true, e.T, e.Outcome, a.x.KilledBy
		}
	}
	if a.running {
		a.running = false
		a.job.running--
		if a.node != nil {
			r.change(a.node, a.need, -1)
		}
		r.forget(e.Attempt.Job, a.job)
	}
	r.offer(a)
}

// Compare orders attempts by job, kind, task and number.
func Compare(a, b traces.Attempt) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Number, b.Number))
}
