package lanes

import (
	"cmp"

	"heddle/traces"
	"heddle/traces/printable"
)

// Times in what a timeline keeps are in ms on the trace's clock. unknown is a time or number
// that the trace does not have.
const unknown = -1

// bar is one attempt. Strings are places in data.strings, with 0 for none.
type bar struct {
	from, to  int64
	waited    int64 // from when the task was ready until the attempt's start, in ms
	node, job int32
	index     int32
	number    int32
	kind      traces.TaskKind
	replica   traces.Level
	split     traces.Level
	outcome   traces.Outcome
	spec      bool // speculative
	spark     bool // a task of Spark, whose replica is Spark's level
	// first and second are when parts of the attempt ended: a map's reading, or a reduce's
	// shuffle and sort. 0 means that the trace does not say.
	first, second int64
	read          int64 // bytes, or unknown
	shuffled      int64
	written       int64
	cpuMs         int64
	error         int32
	decision      int32 // place in data.decisions, from 1; 0: none
}

// decision is what a scheduler model decided about an attempt.
type decision struct {
	id      int64
	at      int64
	reason  int32
	outcome int32
	askedMs int64 // from the decision to the container, in ms, or unknown
	bind    int32 // the map that was expected to come, or unknown
}

// job is one job. Times are unknown if the trace does not have them.
type job struct {
	id            string
	name          int32
	submit, end   int64
	outcome       traces.Outcome
	maps, reduces int32
	containerMiB  [2]int64
}

// node is one node. Its slots are how many containers it holds: from its memory, or else as
// many as ran at the same time.
type node struct {
	name, rack string
	worker     bool
	mib        int64
	slots      int64 // how many containers it can hold at the start; 0: not known
}

// mark says that something holds for a node for some time, or for the whole cluster at a
// moment.
type mark struct {
	What  string  `json:"what"` // down, slow, capacity, note
	Node  int32   `json:"node"` // unknown for notes
	From  int64   `json:"from"`
	To    int64   `json:"to"` // unknown for what has no end
	Text  string  `json:"text"`
	Share float64 `json:"share"` // what a node has of its normal speed or size
}

// data is what a timeline keeps of one trial.
type data struct {
	head
	nodes     []node
	jobs      []job
	bars      []bar // in the order of their starts; none if there is a grid
	decisions []decision
	masters   []master // ApplicationMasters on workers, in the order of their starts
}

// master is an attempt of an ApplicationMaster on a worker, where it takes the room of a task.
type master struct {
	node, job int32
	from, to  int64
}

// attempt returns whose bar it is.
func (d *data) attempt(b bar) traces.Attempt {
	return traces.Attempt{Task: traces.Task{Job: traces.JobID(d.jobs[b.job].id), Kind: b.kind, Index: b.index}, Number: b.number}
}

// collector makes the data of a trial from its events. It keeps attempts one by one up to
// most, and sums beyond.
type collector struct {
	d         data
	most      int
	nodes     map[traces.Node]int32
	jobs      map[traces.JobID]int32
	strings   map[string]int32
	running   map[traces.Attempt]int // place in d.bars, or in live once there is a grid
	live      []bar                  // attempts that run, once there is a grid
	free      []int                  // places in live that are free
	bars      map[traces.Attempt]int // all bars, until there is a grid
	masters   map[traces.JobID]int   // running ApplicationMasters: places in d.masters
	waiting   map[traces.Task]int64
	decided   map[int64]decision
	coming    map[traces.Attempt]decision // of attempts that start at the time of their decision's outcome
	sizes     []int64                     // each node's MiB for containers at the start
	up        map[int32]int64             // when nodes last came up
	lasting   map[lasting]int             // places in d.Marks
	begun     bool
	submitted bool
	header    traces.Header
}

// mostMarks is how many marks a trial has at most.
const mostMarks = 10_000

func newCollector(h traces.Header, most int) *collector {
	c := &collector{
		most: most, header: h,
		nodes: map[traces.Node]int32{}, jobs: map[traces.JobID]int32{}, strings: map[string]int32{"": 0},
		running: map[traces.Attempt]int{}, bars: map[traces.Attempt]int{}, masters: map[traces.JobID]int{}, waiting: map[traces.Task]int64{},
		decided: map[int64]decision{}, coming: map[traces.Attempt]decision{}, up: map[int32]int64{}, lasting: map[lasting]int{},
	}
	c.d.head = head{Strings: []string{""}, End: unknown, Racks: []string{}, Nodes: []string{}, JobIDs: []string{}, Marks: []mark{}}
	for _, n := range h.Cluster.Nodes {
		i := c.node(n.Node)
		c.d.nodes[i] = node{name: string(n.Node), rack: n.Rack, worker: n.Worker, mib: n.MemoryBytes >> 20}
		c.sizes[i] = n.MemoryBytes >> 20
	}
	return c
}

func (c *collector) node(name traces.Node) int32 {
	i, ok := c.nodes[name]
	if !ok {
		i = int32(len(c.d.nodes))
		c.nodes[name] = i
		c.d.nodes = append(c.d.nodes, node{name: string(name), worker: true})
		c.sizes = append(c.sizes, 0)
	}
	return i
}

func (c *collector) job(id traces.JobID) *job {
	i, ok := c.jobs[id]
	if !ok {
		i = int32(len(c.d.jobs))
		c.jobs[id] = i
		c.d.jobs = append(c.d.jobs, job{id: string(id), submit: unknown, end: unknown})
	}
	return &c.d.jobs[i]
}

// text returns the place of a string in data.strings.
func (c *collector) text(s string) int32 {
	i, ok := c.strings[s]
	if !ok {
		i = int32(len(c.d.Strings))
		c.strings[s] = i
		c.d.Strings = append(c.d.Strings, printable.Line(s))
	}
	return i
}

// add takes the next event into account.
func (c *collector) add(e traces.Event) {
	t := e.At().Milliseconds()
	if !c.begun {
		c.begun, c.d.From, c.d.To = true, t, t
	}
	c.d.From, c.d.To = min(c.d.From, t), max(c.d.To, t)
	switch e := e.(type) {
	case *traces.JobSubmitted:
		c.submittedJob(e, t)
	case *traces.JobStarted:
		c.job(e.Job)
		c.endMaster(e.Job, t)
		if n, ok := c.nodes[e.AMNode]; ok && c.d.nodes[n].worker && len(c.d.masters) < c.most {
			c.masters[e.Job] = len(c.d.masters)
			c.d.masters = append(c.d.masters, master{node: n, job: c.jobs[e.Job], from: t, to: unknown})
		}
	case *traces.JobFinished:
		j := c.job(e.Job)
		j.end, j.outcome = t, e.Outcome
		c.d.End = max(c.d.End, t)
		c.endMaster(e.Job, t)
	case *traces.TaskScheduled:
		c.waiting[e.Task] = t
	case *traces.TaskFinished:
		delete(c.waiting, e.Task)
	case *traces.AttemptStarted:
		c.started(e, t)
	case *traces.AttemptFinished:
		c.finished(e, t)
	case *traces.Decision:
		if c.d.Grid == nil {
			c.decided[e.ID] = decision{id: e.ID, at: t, reason: c.text(e.Reason), askedMs: unknown, bind: e.BindIndex}
		}
	case *traces.Actuation:
		c.actuated(e)
	case *traces.NodeUp, *traces.NodeDown, *traces.NodeCapacity, *traces.NodeSpeed, *traces.Note:
		c.marked(e, t)
	default:
		if e.Kind().IsSpark() {
			c.spark(e, t)
		}
	}
}

// endMaster ends the job's running ApplicationMaster.
func (c *collector) endMaster(id traces.JobID, t int64) {
	if i, ok := c.masters[id]; ok {
		c.d.masters[i].to = t
		delete(c.masters, id)
	}
}

func (c *collector) submittedJob(e *traces.JobSubmitted, t int64) {
	j := c.job(e.Job)
	j.submit, j.maps, j.reduces, j.name = t, e.Maps, e.Reduces, c.text(cmp.Or(e.Workload, e.Name))
	j.containerMiB = [2]int64{e.MapMemoryBytes >> 20, e.ReduceMemoryBytes >> 20}
	if !c.submitted {
		c.submitted, c.d.Begin = true, t
	}
	c.d.Begin = min(c.d.Begin, t)
}

func (c *collector) started(e *traces.AttemptStarted, t int64) {
	b := bar{
		from: t, to: unknown, waited: unknown, node: c.node(e.Node), index: e.Attempt.Index, number: e.Attempt.Number,
		kind: e.Attempt.Kind, replica: known(e.ReplicaLocality), split: known(e.SplitLocality), spec: e.Speculative,
		read: unknown, shuffled: unknown, written: unknown, cpuMs: unknown,
	}
	c.job(e.Attempt.Job)
	b.job = c.jobs[e.Attempt.Job]
	if n := &c.d.nodes[b.node]; n.rack == "" {
		n.rack = e.Rack
	}
	if since, ready := c.waiting[e.Attempt.Task]; ready {
		b.waited = t - since
	}
	delete(c.waiting, e.Attempt.Task)
	if c.d.Attempts++; c.d.Attempts > c.most && c.d.Grid == nil {
		c.fold()
	}
	if c.d.Grid != nil {
		i := len(c.live)
		if k := len(c.free); k > 0 {
			i, c.free = c.free[k-1], c.free[:k-1]
			c.live[i] = b
		} else {
			c.live = append(c.live, b)
		}
		c.running[e.Attempt] = i
		return
	}
	c.running[e.Attempt], c.bars[e.Attempt] = len(c.d.bars), len(c.d.bars)
	c.d.bars = append(c.d.bars, b)
	if d, ok := c.coming[e.Attempt]; ok {
		delete(c.coming, e.Attempt)
		c.decide(len(c.d.bars)-1, d)
	}
}

func (c *collector) finished(e *traces.AttemptFinished, t int64) {
	i, ok := c.running[e.Attempt]
	if !ok {
		if e.Unlaunched {
			c.d.Unlaunched++
		}
		return
	}
	delete(c.running, e.Attempt)
	if c.d.Grid != nil {
		c.live[i].to = t
		c.d.Grid.add(c.live[i])
		c.free = append(c.free, i)
		return
	}
	b := &c.d.bars[i]
	b.to, b.error = t, c.text(e.Error)
	if e.Outcome.Valid() {
		b.outcome = e.Outcome
	}
	b.read, b.shuffled, b.cpuMs = e.Counters.HDFSReadBytes, e.Counters.ShuffleBytes, e.Counters.CPUMs
	b.written = e.Counters.HDFSWrittenBytes
	if b.kind == traces.Map {
		b.first, b.written = e.MapDone.Milliseconds(), e.Counters.MapOutputBytes
	} else {
		b.first, b.second = e.ShuffleDone.Milliseconds(), e.SortDone.Milliseconds()
	}
}

func (c *collector) actuated(e *traces.Actuation) {
	d, ok := c.decided[e.Decision]
	delete(c.decided, e.Decision)
	if !ok || e.Bound == (traces.Attempt{}) || c.d.Grid != nil {
		return
	}
	d.outcome = c.text(e.Outcome)
	if e.GrantedAt != 0 {
		d.askedMs = e.GrantedAt.Milliseconds() - d.at
	}
	if i, ok := c.bars[e.Bound]; ok {
		c.decide(i, d)
	} else {
		c.coming[e.Bound] = d
	}
}

// decide says which decision started the attempt of a bar.
func (c *collector) decide(i int, d decision) {
	c.d.decisions = append(c.d.decisions, d)
	c.d.bars[i].decision = int32(len(c.d.decisions))
}

// known returns a level, or LevelUnknown for one that a later version may have written.
func known(l traces.Level) traces.Level {
	if l.Valid() {
		return l
	}
	return traces.LevelUnknown
}

// fold replaces the bars by sums, and keeps of the strings only the names of jobs.
func (c *collector) fold() {
	d := &c.d
	d.Grid = newGrid(len(d.nodes), d.From)
	for _, b := range d.bars {
		if b.to != unknown {
			d.Grid.add(b)
		}
	}
	for a, i := range c.running {
		c.live = append(c.live, d.bars[i])
		c.running[a] = len(c.live) - 1
	}
	d.bars, d.decisions, c.bars, c.decided, c.coming = nil, nil, nil, nil, nil
	old := d.Strings
	d.Strings, c.strings = []string{""}, map[string]int32{"": 0}
	for i := range d.jobs {
		d.jobs[i].name = c.text(old[d.jobs[i].name])
	}
}

// finish returns the trial's data. Attempts without an end last until the last event.
func (c *collector) finish() *data {
	d := &c.d
	for _, i := range c.masters {
		d.masters[i].to = d.To
	}
	for _, i := range c.running {
		if d.Grid != nil {
			c.live[i].to = d.To
			d.Grid.add(c.live[i])
		} else {
			d.bars[i].to = d.To
		}
	}
	sparkOnly := len(d.bars) > 0
	for i := range d.bars {
		if b := &d.bars[i]; b.spark && b.to == unknown {
			b.to = d.To
		} else if !b.spark {
			sparkOnly = false
		}
	}
	for _, n := range c.header.Cluster.Nodes {
		if sparkOnly { // hosts have no rows beside their executors
			d.nodes[c.nodes[n.Node]].worker = false
		}
	}
	c.countSlots()
	return d
}
