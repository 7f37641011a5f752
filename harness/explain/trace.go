package explain

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"heddle/harness/state"
	"heddle/traces"
)

// Reader is the trace that is to be explained, in memory.
type Reader struct {
	header   *traces.Header
	begin    traces.Time
	last     traces.Time // of the events
	nodes    map[traces.Node]*node
	names    []*node // in the order of the trace
	uplinks  map[string]int64
	jobs     map[traces.JobID]*job
	order    []*job
	tasks    map[traces.Task]*task
	attempts map[traces.Attempt]*attempt
	ends     []*attempt // by end
	takers   []*attempt // by end; with ApplicationMasters and with losses of nodes
	decided  map[int64]traces.Time
	bound    map[traces.Attempt]traces.Time
	groups   map[group]*typical
	rooms    map[state.Amounts][]span
	least    traces.Time // from a submission until the ApplicationMaster is up
	byCount  bool        // sizes are not known: containers are counted
	block    traces.Block
	copied   bool // blocks have several replicas
	walks    int  // see walk.id
}

type job struct {
	id               traces.JobID
	name             string
	submitted, ended traces.Time // ended: -never, if the trace does not say
	outcome          traces.Outcome
	masters          []*attempt // its ApplicationMasters
	later            bool       // the first of them that the trace has is not the job's first
	app              *app       // nil: a job of MapReduce
	bytes            [2]int64   // of containers
	vcores           [2]int32
	maps             int32
	slowStart        float64
	ends             []*attempt    // by end
	ran              [2][]*attempt // maps and reduces of these
	running          [2]*sharing   // how many of these ran at once
	mapEnds          []*attempt    // those of maps that succeeded
}

type task struct {
	scheduled traces.Time
	tries     []*attempt
}

// attempt is what took room on a node.
type attempt struct {
	id          traces.Attempt
	job         *job
	node        *node
	level       traces.Level
	speculative bool
	master      bool // it is no attempt, but an ApplicationMaster
	lost        bool // it is no attempt, but the time in which the node was lost
	unlaunched  bool // it got a container, from start on if that is known, and never ran
	start, end  traces.Time
	ended       bool
	outcome     traces.Outcome
	bytes       int64 // read or fetched; -1: not known
	written     int64
	cpuMs       int64
	shuffled    traces.Time
	text        string // what Hadoop says of its end
	need        state.Amounts
	asked       traces.Time
	why         reason
	before      *attempt    // why it was asked for, see reason
	from        traces.Time // since when its room was reserved
	since       traces.Time // when it had all that it needed: a reduce, the end of the last map
	took        traces.Time // from then on, without what it lost by sharing cores
	seen        int         // by which walk
}

// never is before and -never is after all times. Such times can be added and subtracted.
const never = -1 << 60

// at returns a time between these.
func at(t traces.Time) traces.Time { return max(never, min(t, -never)) }

// New returns a Reader of a trace with the header h.
func New(h *traces.Header) *Reader {
	w := &Reader{
		header: h, nodes: map[traces.Node]*node{}, jobs: map[traces.JobID]*job{}, tasks: map[traces.Task]*task{},
		attempts: map[traces.Attempt]*attempt{},
		decided:  map[int64]traces.Time{}, bound: map[traces.Attempt]traces.Time{}, groups: map[group]*typical{},
		rooms: map[state.Amounts][]span{}, uplinks: map[string]int64{},
	}
	for _, f := range h.Cluster.Nodes {
		w.node(f.Node).NodeFacts = f
	}
	for _, d := range h.Cluster.Disks {
		w.node(d.Node).disk = d.BytesPerSec
	}
	for _, l := range h.Cluster.Links {
		if l.Node != "" {
			w.node(l.Node).link = l.BytesPerSec
		} else {
			w.uplinks[l.Rack] = l.BytesPerSec
		}
	}
	return w
}

func (w *Reader) node(name traces.Node) *node {
	n := w.nodes[name]
	if n == nil {
		n = &node{NodeFacts: traces.NodeFacts{Node: name, Worker: name != ""}}
		w.nodes[name] = n
		w.names = append(w.names, n)
	}
	return n
}

func (w *Reader) job(id traces.JobID) *job {
	j := w.jobs[id]
	if j == nil {
		j = &job{id: id, ended: -never}
		w.jobs[id] = j
		w.order = append(w.order, j)
	}
	return j
}

func (w *Reader) task(id traces.Task) *task {
	if w.tasks[id] == nil {
		w.tasks[id] = &task{scheduled: never}
	}
	return w.tasks[id]
}

// Add takes the next event into account. The events must come in the order of a finished
// trace. Add keeps none of them.
func (w *Reader) Add(e traces.Event) {
	now := at(e.At())
	w.last = max(w.last, now)
	switch e := e.(type) {
	case *traces.NodeUp, *traces.NodeDown, *traces.NodeCapacity, *traces.NodeSpeed:
		w.changed(e, now)
	case *traces.JobSubmitted:
		j := w.job(e.Job)
		j.name, j.submitted, j.maps, j.slowStart = cmp.Or(e.Workload, e.Name), now, e.Maps, e.SlowStart
		if o := w.header.Origin; j.slowStart == 0 && (o == traces.Imported || o == traces.Recovered) {
			j.slowStart = 0.05 // Hadoop's default
		}
		j.bytes, j.vcores = [2]int64{e.MapMemoryBytes, e.ReduceMemoryBytes}, [2]int32{e.MapVCores, e.ReduceVCores}
	case *traces.JobStarted:
		j := w.job(e.Job)
		j.later = j.later || len(j.masters) == 0 && e.AMAttempt > 1
		w.masterEnds(j, now)
		m := &attempt{job: j, node: w.node(e.AMNode), master: true, need: state.Amounts{e.AMMemoryBytes}, start: now, from: now, end: -never}
		j.masters, w.takers = append(j.masters, m), append(w.takers, m)
	case *traces.JobFinished:
		j := w.job(e.Job)
		j.ended, j.outcome = now, e.Outcome
		w.masterEnds(j, now)
	case *traces.TaskScheduled:
		t := w.task(e.Task)
		t.scheduled = max(t.scheduled, now)
	case *traces.AttemptStarted:
		w.started(e, now)
	case *traces.AttemptFinished:
		w.ended(e, now)
	case *traces.BlockReplica:
		w.copied = w.copied || e.Block == w.block
		w.block = e.Block
	case *traces.Decision:
		w.decided[e.ID] = now
	case *traces.Actuation:
		if t, ok := w.decided[e.Decision]; ok && e.Bound.Job != "" {
			w.bound[e.Bound] = t
		}
		delete(w.decided, e.Decision)
	default:
		if e.Kind().IsSpark() {
			w.spark(e)
		}
	}
}

// masterEnds ends the time in which the ApplicationMaster of a job takes room.
func (w *Reader) masterEnds(j *job, now traces.Time) {
	if n := len(j.masters); n > 0 {
		j.masters[n-1].end = min(j.masters[n-1].end, now)
	}
}

func (w *Reader) started(e *traces.AttemptStarted, now traces.Time) *attempt {
	if w.attempts[e.Attempt] != nil {
		return nil // it starts again, which cannot be
	}
	t, n := w.task(e.Attempt.Task), w.node(e.Node)
	a := &attempt{
		id: e.Attempt, job: w.job(e.Attempt.Job), node: n, level: cmp.Or(e.ReplicaLocality, e.SplitLocality), speculative: e.Speculative,
		start: now, bytes: -1,
	}
	n.Rack = cmp.Or(n.Rack, e.Rack)
	t.tries, w.ends, w.attempts[e.Attempt] = append(t.tries, a), append(w.ends, a), a
	return a
}

func (w *Reader) ended(e *traces.AttemptFinished, now traces.Time) {
	a := w.attempts[e.Attempt]
	if a == nil && e.Unlaunched {
		since := now
		if t, ok := w.bound[e.Attempt]; ok {
			since = t
		}
		a = w.started(&traces.AttemptStarted{Attempt: e.Attempt, Node: e.Node, SplitLocality: e.SplitLocality}, since)
		a.unlaunched = true
	}
	if a == nil || a.ended {
		return
	}
	a.end, a.ended, a.outcome, a.text, a.cpuMs, a.bytes = now, true, e.Outcome, e.Error, e.Counters.CPUMs, e.Counters.HDFSReadBytes
	if a.id.Kind == traces.Reduce {
		a.bytes, a.written, a.shuffled = e.Counters.ShuffleBytes, e.Counters.HDFSWrittenBytes, at(e.ShuffleDone)
	}
}

// finish sorts what was read, and returns the job that ended last; nil: none did.
func (w *Reader) finish() (last *job) {
	w.begin = w.last
	for _, j := range w.order {
		w.begin = min(w.begin, j.submitted)
		if j.app != nil {
			j.app.measure()
		}
		if j.ended == -never {
			continue
		}
		if last == nil || j.ended > last.ended {
			last = j
		}
		if len(j.masters) > 0 {
			if took := j.masters[0].start - j.submitted; took >= 0 && (w.least == 0 || took < w.least) {
				w.least = took
			}
		}
	}
	if last == nil || last.ended < w.begin {
		return nil
	}
	for _, a := range w.ends {
		if !a.ended {
			a.end = max(a.start, w.last)
		}
	}
	w.takers = append(w.takers, w.ends...)
	slices.SortStableFunc(w.takers, func(a, b *attempt) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start)) })
	w.ends = slices.DeleteFunc(slices.Clone(w.takers), func(a *attempt) bool { return !a.isAttempt() })
	for _, a := range w.ends {
		if j, kind := a.job, a.id.Kind&1; a.ended {
			j.ends, j.ran[kind] = append(j.ends, a), append(j.ran[kind], a)
			if a.outcome == traces.Succeeded && kind == traces.Map {
				j.mapEnds = append(j.mapEnds, a)
			}
		}
	}
	for _, a := range w.ends {
		w.ask(a)
	}
	w.fill()
	w.measure()
	return last
}

// upTo returns the last attempt of a list, ordered by end, that ended at t or before.
func upTo(list []*attempt, t traces.Time) *attempt {
	if i := after(list, t); i > 0 {
		return list[i-1]
	}
	return nil
}

// after returns how many attempts of a list, ordered by end, ended at t or before.
func after(list []*attempt, t traces.Time) int {
	return sort.Search(len(list), func(i int) bool { return list[i].end > t })
}

// reason is why an attempt could not be asked for before.
type reason uint8

const (
	askedByMaster  reason = iota // its ApplicationMaster had to be up
	askedLater                   // the trace says that it was asked for later
	askedSlowStart               // so many maps had to be done: attempt.before ended as the last of them
	askedAgain                   // the attempt before it had to end
	askedLost                    // the output of attempt.before was lost with its node
	askedBeside                  // it is a speculative attempt beside attempt.before
	askedNewMaster               // a later ApplicationMaster had to be up
)

// ask finds out when an attempt was asked for, and why not before.
func (w *Reader) ask(a *attempt) {
	j, t := a.job, w.task(a.id.Task)
	a.asked = j.submitted
	later := func(t traces.Time, why reason, before *attempt) {
		if t > a.asked && t <= a.start {
			a.asked, a.why, a.before = t, why, before
		}
	}
	for i, m := range j.masters {
		why := askedByMaster
		if i > 0 || j.later {
			why = askedNewMaster
		}
		later(m.start, why, nil)
	}
	later(t.scheduled, askedLater, nil)
	if a.id.Kind == traces.Reduce {
		if m := upTo(j.mapEnds, t.scheduled); a.why == askedLater && m != nil {
			a.why, a.before = askedSlowStart, m // the trace says when so many maps were done
		}
		k := int(math.Ceil(max(0, min(j.slowStart, 1)) * float64(max(0, j.maps))))
		if k > 0 && k <= len(j.mapEnds) {
			later(j.mapEnds[k-1].end, askedSlowStart, j.mapEnds[k-1])
		}
	}
	for _, b := range t.tries {
		switch {
		case b == a:
		case a.speculative && b.start < a.start && b.end > a.start:
			a.asked, a.why, a.before = b.start, askedBeside, b
			return
		case !b.ended || b.end > a.start:
		case b.outcome == traces.Succeeded && !a.speculative:
			later(max(b.node.lostIn(b.end, a.start), b.end+1), askedLost, b)
		default:
			later(b.end, askedAgain, b)
		}
	}
}
