package why

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"heddle/harness/state"
	"heddle/traces"
)

// mostNearer is how many nearer nodes an Explanation has.
const mostNearer = 8

// reader explains attempts from the events of a trace.
type reader struct {
	model      string
	byYARN     bool
	countCores bool
	reasons    bool     // decisions say what the model saw
	slots      [2]int64 // of maps and reduces on each node; 0 and 0: no limit
	rewritten  bool     // splits do not name the hosts of all replicas
	now        traces.Time
	nodes      map[traces.Node]*node
	jobs       map[traces.JobID]*job
	blocks     map[traces.Block]*block
	decisions  map[int64]*decided // those whose outcome is not known
	slotsOpen  map[place]*awaited
	attempts   map[traces.Attempt]*attempt // those that are not explained yet
	containers map[string]*attempt         // the same by container
	fresh      []*attempt                  // those that started at the time now
	done       []*Explanation
}

// node is a node with what its containers leave free.
type node struct {
	name        traces.Node
	rack        string
	has, free   state.Amounts
	memoryKnown bool
	up          bool
	upAt        traces.Time // when it came back last
	downAt      traces.Time
	running     int
	log         state.RoomLog
}

type block struct{ replicas, cached []traces.Node }

type job struct {
	need     [2]state.Amounts // of a container for a map, and for a reduce
	known    [2]bool          // the trace has the size of these containers
	tasks    map[task]*taskInfo
	bound    map[traces.Attempt]*decided // decisions whose outcome came before their attempt's start
	started  traces.Time                 // when its master was up; the least time: not yet
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

// place is where decisions without an outcome are looked for: an attempt in the same place
// may be that of any of them.
type place struct {
	job  traces.JobID
	kind traces.TaskKind
	node traces.Node
}

// awaited are the decisions of a place whose outcome is not known, and the attempts that
// have ended and may be theirs.
type awaited struct {
	decisions int
	attempts  []*attempt
}

// decided is a decision whose outcome is not known.
type decided struct{ traces.Decision }

func newReader(h *traces.Header) *reader {
	r := &reader{
		model: h.Model, byYARN: (h.Model == "yarn" || h.Model == "") && h.Origin != traces.Simulated,
		slots:     [2]int64{int64(h.MapSlots), int64(h.ReduceSlots)},
		reasons:   h.Reasons,
		rewritten: h.Splits != "" && h.Splits != "asSubmitted",
		now:       math.MinInt64,
		nodes:     map[traces.Node]*node{}, jobs: map[traces.JobID]*job{}, blocks: map[traces.Block]*block{}, decisions: map[int64]*decided{},
		slotsOpen: map[place]*awaited{}, attempts: map[traces.Attempt]*attempt{}, containers: map[string]*attempt{},
	}
	// YARN counts cores only with this calculator, simulations always do.
	r.countCores = h.Origin == traces.Simulated || strings.HasSuffix(h.Settings["yarn.scheduler.capacity.resource-calculator"], "DominantResourceCalculator")
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
		r.change(n, r.capacity(e.MemoryBytes, e.VCores).Minus(n.has), 0)
		n.has, n.memoryKnown = r.capacity(e.MemoryBytes, e.VCores), true
	case *traces.BlockReplica:
		b := r.block(e.Block)
		b.replicas = changed(b.replicas, e.Node, e.Gone)
	case *traces.BlockCached:
		b := r.block(e.Block)
		b.cached = changed(b.cached, e.Node, e.Gone)
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
		d := &decided{Decision: *e}
		if e.Seen != nil {
			seen := *e.Seen
			seen.Candidates, seen.Passed = slices.Clone(seen.Candidates), slices.Clone(seen.Passed)
			d.Seen = &seen
		} else if r.reasons {
			d.Seen = &traces.Seen{}
		}
		if _, again := r.decisions[e.ID]; !again {
			r.decisions[e.ID] = d
			r.awaited(d.place()).decisions++
		}
	case *traces.Actuation:
		r.actuated(e)
	}
}

func changed(list []traces.Node, n traces.Node, gone bool) []traces.Node {
	i := slices.Index(list, n)
	switch {
	case gone && i >= 0:
		return slices.Delete(list, i, i+1)
	case !gone && i < 0:
		return append(list, n)
	}
	return list
}

func (r *reader) node(name traces.Node) *node {
	n := r.nodes[name]
	if n == nil {
		n = &node{name: name, up: true, upAt: math.MinInt64, has: r.capacity(0, 0)}
		n.free = n.has
		r.nodes[name] = n
	}
	return n
}

// size notes the rack and the capacity of a node.
func (r *reader) size(f *traces.NodeFacts) *node {
	n := r.node(f.Node)
	n.rack = f.Rack
	has := r.capacity(f.MemoryBytes, f.VCores)
	r.change(n, has.Minus(n.has), 0)
	n.has, n.memoryKnown = has, f.MemoryBytes > 0
	return n
}

// capacity returns what a node has for containers. What is not counted is more than
// containers can take.
func (r *reader) capacity(bytes int64, cores int32) state.Amounts {
	const uncounted = math.MaxInt64 / 4
	a := state.Amounts{uncounted, uncounted, uncounted, uncounted}
	if bytes > 0 {
		a[0] = min(bytes, uncounted)
	}
	if r.countCores && cores > 0 {
		a[1] = int64(cores)
	}
	if r.slots != [2]int64{} {
		a[2], a[3] = r.slots[0], r.slots[1]
	}
	return a
}

// change adds to what a node has free, and to the number of task containers that run on it.
func (r *reader) change(n *node, by state.Amounts, running int) {
	n.log.Changed(int64(r.now), &n.free)
	n.free = n.free.Minus(state.Amounts{}.Minus(by))
	n.running += running
}

func (r *reader) block(id traces.Block) *block {
	b := r.blocks[id]
	if b == nil {
		b = &block{}
		r.blocks[id] = b
	}
	return b
}

func (r *reader) job(id traces.JobID) *job {
	j := r.jobs[id]
	if j == nil {
		j = &job{started: math.MinInt64, tasks: map[task]*taskInfo{}, bound: map[traces.Attempt]*decided{}}
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
		Attempt: id, Node: on, Rack: rack, Start: Ms(r.now), Facts: Ms(r.now), Level: replica, model: r.model, byYARN: r.byYARN, namesSplit: r.rewritten && !t.hasBlock,
	}
	a := &attempt{x: x, job: j, input: t, need: j.need[id.Kind&1], needKnown: j.known[id.Kind&1]}
	if on != "" {
		a.node = r.node(on)
		if x.Rack == "" {
			x.Rack = a.node.rack
		}
	}
	if t.scheduled && id.Kind == traces.Map {
		asked := Ms(max(t.asked, min(j.started, r.now)))
		x.Asked = &asked
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
		at := Ms(e.T)
		a.x.Killed, a.x.KilledBy = &at, r.killer(a, e.Error)
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

func (d *decided) place() place { return place{d.Job, d.What, d.Node} }

func (r *reader) awaited(p place) *awaited {
	w := r.slotsOpen[p]
	if w == nil {
		w = &awaited{}
		r.slotsOpen[p] = w
	}
	return w
}

func (r *reader) actuated(e *traces.Actuation) {
	d := r.decisions[e.Decision]
	if d == nil {
		return
	}
	delete(r.decisions, e.Decision)
	a := r.attempts[e.Bound]
	if e.Bound.Job == "" && e.Container != "" {
		a = r.containers[e.Container]
	}
	switch j := r.jobs[e.Bound.Job]; {
	case a != nil:
		a.link(d)
		r.offer(a)
	case j != nil:
		j.bound[e.Bound] = d
	}
	w := r.awaited(d.place())
	if w.decisions--; w.decisions == 0 {
		delete(r.slotsOpen, d.place())
		for _, a := range w.attempts {
			a.waits = false
			r.offer(a)
		}
	}
}

// link notes the decision that brought an attempt its container.
func (a *attempt) link(d *decided) {
	if a.linked {
		return
	}
	a.linked = true
	x := a.x
	x.Decision = &Decision{ID: d.ID, At: Ms(d.T), Reason: d.Reason, Values: d.Values}
	meant := d.TaskIndex
	if d.What == traces.Map && d.BindIndex >= 0 {
		meant = d.BindIndex
	}
	if meant >= 0 && meant != x.Attempt.Index {
		x.Decision.Meant = &traces.Task{Job: d.Job, Kind: d.What, Index: meant}
	}
	s := d.Seen
	if s == nil {
		return
	}
	y := x.Decision
	y.ViewAgeMs, y.OneNode, y.Passed, y.MorePassed = s.ViewAgeMs, s.OneNode, s.Passed, s.MorePassed
	y.Waited, y.Limit, y.WaitUnit, y.Farthest = s.Waited, s.Limit, s.WaitUnit, s.Farthest
	if y.Meant != nil || d.Node != x.Node {
		return // what the model saw is about another map
	}
	x.Seen, x.Facts = true, y.At
	x.Nearer, x.MoreNearer = nil, int(s.MoreCandidates)
	for _, c := range s.Candidates {
		n := Nearer{Node: c.Node, Level: c.Level, Room: c.Room.String(), Running: -1}
		if c.Room == traces.RoomSlots {
			n.Room, n.Slots = RoomFull, true
		}
		if c.Room != traces.RoomFree && c.ForMs >= 0 {
			since := y.At - Ms(c.ForMs)*1e6
			n.Since = &since
		}
		x.Nearer = append(x.Nearer, n)
	}
}

// resolve notes which nodes were nearer to the input of the attempts that started at the
// time now, and whether these were full. It is called when all events of that time are known.
//
// A node was full if it had no room before that time and has none after it: that a container
// ended and another one started at one moment left no room.
func (r *reader) resolve() {
	for _, a := range r.fresh {
		a.resolved = true
		if a.tries > 0 {
			a.x.Before = before(&a.input.tries[a.tries-1])
		}
		if !a.x.Seen && a.x.Attempt.Kind == traces.Map {
			r.findNearer(a)
		}
		r.offer(a)
	}
	r.fresh = r.fresh[:0]
}

// before describes an attempt that started before another one.
func before(t *try) *Before {
	b := &Before{Number: t.number, Node: t.node, Outcome: t.outcome, KilledBy: t.killer}
	if t.ended {
		end := Ms(t.end)
		b.End = &end
	}
	return b
}

func (r *reader) findNearer(a *attempt) {
	x, t := a.x, a.input
	var at []Nearer
	b := r.blocks[t.block]
	if b != nil && t.hasBlock && len(b.replicas)+len(b.cached) > 0 {
		for _, n := range b.cached {
			at = append(at, Nearer{Node: n, Level: traces.LevelCache})
		}
		for _, n := range b.replicas {
			if !slices.Contains(b.cached, n) {
				at = append(at, Nearer{Node: n, Level: traces.LevelNode})
			}
		}
		x.namesSplit = false
	} else {
		for _, n := range t.hosts {
			at = append(at, Nearer{Node: n, Level: traces.LevelNode})
		}
	}
	x.hasInput = len(at) > 0
	if x.Level == traces.LevelUnknown && x.hasInput && a.node != nil {
		x.Level, x.BySplit = r.level(a.node, at), true
	}
	for _, n := range at {
		if x.Level == traces.LevelUnknown || n.Level >= x.Level || n.Node == x.Node {
			continue
		}
		if len(x.Nearer) == mostNearer {
			x.MoreNearer++
			continue
		}
		r.room(a, &n)
		x.Nearer = append(x.Nearer, n)
	}
}

// level returns how near a node is to the nodes in a list.
func (r *reader) level(n *node, at []Nearer) traces.Level {
	level := traces.LevelOff
	for _, other := range at {
		if other.Node == n.name {
			return other.Level
		}
		if o := r.nodes[other.Node]; o != nil && o.rack == n.rack && n.rack != "" {
			level = traces.LevelRack
		}
	}
	return level
}

// room finds out whether a node could have taken the container of an attempt.
func (r *reader) room(a *attempt, at *Nearer) {
	n := r.nodes[at.Node]
	if n == nil {
		at.Room = RoomUnknown
		return
	}
	at.Running = n.running
	since, ok := n.log.FullSince(&a.need)
	switch {
	case !n.up:
		at.Room, since, ok = RoomDown, int64(n.downAt), true
	case !(n.memoryKnown && a.needKnown) && r.slots == [2]int64{}:
		at.Room = RoomUnknown
		return
	case n.free.Holds(&a.need), ok && since == int64(a.x.Start):
		at.Room = RoomFree
		return
	default:
		at.Room = RoomFull
		at.Slots = r.slotsLimit(n.free, a.need)
	}
	if ok {
		ms := Ms(since)
		at.Since = &ms
	}
}

// slotsLimit says whether a node's slots, and nothing else, keep a container from it: what it
// has left is free.
func (r *reader) slotsLimit(free, need state.Amounts) bool {
	return r.slots != [2]int64{} && free[0] >= need[0] && free[1] >= need[1]
}

// offer adds an attempt to those that are explained, if all that concerns it is known.
func (r *reader) offer(a *attempt) {
	if a.done || !a.ended || !a.resolved {
		return
	}
	if !a.linked {
		if w := r.slotsOpen[place{a.x.Attempt.Job, a.x.Attempt.Kind, a.x.Node}]; w != nil {
			if !a.waits {
				a.waits = true
				w.attempts = append(w.attempts, a)
			}
			return
		}
	}
	r.explained(a)
}

func (r *reader) explained(a *attempt) {
	a.done = true
	if r.attempts[a.x.Attempt] == a {
		delete(r.attempts, a.x.Attempt)
	}
	if r.containers[a.container] == a {
		delete(r.containers, a.container)
	}
	a.x.tellUnknown()
	r.done = append(r.done, a.x)
}

// rest returns the attempts that are left at the end of the trace.
func (r *reader) rest() []*Explanation {
	r.resolve()
	left := make([]*attempt, 0, len(r.attempts))
	for _, a := range r.attempts {
		left = append(left, a)
	}
	slices.SortFunc(left, func(a, b *attempt) int { return Compare(a.x.Attempt, b.x.Attempt) })
	for _, a := range left {
		r.explained(a)
	}
	return r.done
}

// Compare orders attempts by job, kind, task and number.
func Compare(a, b traces.Attempt) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Number, b.Number))
}
