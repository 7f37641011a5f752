package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"heddle/harness/state"
	"heddle/traces"
)

// world is a trace in memory.
type world struct {
	header   *traces.Header
	begin    traces.Time
	last     traces.Time // of the events
	nodes    map[traces.Node]*node
	names    []*node // in the order of the trace
	uplinks  map[string]int64
	jobs     map[traces.JobID]*job
	order    []*job
	attempts map[traces.Attempt]*attempt
	ends     []*attempt // by end
	decided  map[int64]traces.Time
	bound    map[traces.Attempt]traces.Time
	groups   map[group]*sizes
	full     map[state.Amounts][]span
	slows    map[slowKey]traces.Time
	busy     *sharing // of cores that all nodes share
	least    traces.Time
	byCount  bool // sizes are not known: containers are counted
}

type job struct {
	id               traces.JobID
	name             string
	submitted, ended traces.Time
	hasEnd           bool
	outcome          traces.Outcome
	masters          []traces.Time // when ApplicationMasters were up
	later            bool          // the first of them that the trace has is not the job's first
	masterOn         *node
	masterBytes      int64
	bytes            [2]int64 // of containers
	vcores           [2]int32
	maps             int32
	slowStart        float64
	tasks            map[task]*taskInfo
	ends             []*attempt  // by end
	running          [2]*sharing // of maps and reduces
	mapEnds          []*attempt  // those of maps that succeeded
}

type task struct {
	kind  traces.TaskKind
	index int32
}

type taskInfo struct {
	scheduled traces.Time
	tries     []*attempt
}

type attempt struct {
	id          traces.Attempt
	job         *job
	node        *node
	level       traces.Level
	speculative bool
	master      bool // it stands for the ApplicationMaster of its job
	unlaunched  bool // it got a container, from start on if that is known, and never ran
	start, end  traces.Time
	ended       bool
	outcome     traces.Outcome
	bytes       int64 // read or fetched; -1: not known
	cpuMs       int64
	shuffled    traces.Time
	text        string // what Hadoop says of its end
	asked, from traces.Time
	why         reason
	before      *attempt    // why it was asked for, see reason
	took        traces.Time // for a reduce without the wait for maps, and without what it lost by sharing cores
}

// at returns a time that can be added and subtracted.
func at(t traces.Time) traces.Time { return max(-1<<60, min(t, 1<<60)) }

func newWorld(h *traces.Header) *world {
	w := &world{
		header: h, nodes: map[traces.Node]*node{}, jobs: map[traces.JobID]*job{}, attempts: map[traces.Attempt]*attempt{},
		decided: map[int64]traces.Time{}, bound: map[traces.Attempt]traces.Time{}, groups: map[group]*sizes{},
		full: map[state.Amounts][]span{}, uplinks: map[string]int64{}, slows: map[slowKey]traces.Time{},
	}
	for i := range h.Cluster.Nodes {
		f := &h.Cluster.Nodes[i]
		n := w.node(f.Node)
		n.rack, n.bytes, n.vcores, n.cores, n.worker = f.Rack, f.MemoryBytes, f.VCores, f.Cores, f.Worker
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

func (w *world) node(name traces.Node) *node {
	n := w.nodes[name]
	if n == nil {
		n = &node{name: name, worker: name != ""}
		w.nodes[name] = n
		w.names = append(w.names, n)
	}
	return n
}

func (w *world) job(id traces.JobID) *job {
	j := w.jobs[id]
	if j == nil {
		j = &job{id: id, tasks: map[task]*taskInfo{}}
		w.jobs[id] = j
		w.order = append(w.order, j)
	}
	return j
}

func (j *job) task(id traces.Task) *taskInfo {
	key := task{id.Kind & 1, id.Index}
	t := j.tasks[key]
	if t == nil {
		t = &taskInfo{scheduled: -1 << 60}
		j.tasks[key] = t
	}
	return t
}

// add takes the next event into account.
func (w *world) add(e traces.Event) {
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
		if len(j.masters) == 0 {
			j.later = e.AMAttempt > 1
		}
		j.masters = append(j.masters, now)
		w.mastered(j, now)
		if e.AMNode != "" {
			j.masterOn, j.masterBytes = w.node(e.AMNode), e.AMMemoryBytes
		}
	case *traces.JobFinished:
		j := w.job(e.Job)
		j.ended, j.hasEnd, j.outcome = now, true, e.Outcome
		w.mastered(j, now)
	case *traces.TaskScheduled:
		t := w.job(e.Task.Job).task(e.Task)
		t.scheduled = max(t.scheduled, now)
	case *traces.AttemptStarted:
		w.started(e, now)
	case *traces.AttemptFinished:
		w.ended(e, now)
	case *traces.Decision:
		w.decided[e.ID] = now
	case *traces.Actuation:
		if t, ok := w.decided[e.Decision]; ok && e.Bound.Job != "" {
			w.bound[e.Bound] = t
		}
		delete(w.decided, e.Decision)
	}
}

func (w *world) started(e *traces.AttemptStarted, now traces.Time) {
	if w.attempts[e.Attempt] != nil {
		return // it starts again, which cannot be
	}
	j := w.job(e.Attempt.Job)
	a := &attempt{id: e.Attempt, job: j, node: w.node(e.Node), level: e.ReplicaLocality, speculative: e.Speculative, start: now, bytes: -1}
	if a.level == traces.LevelUnknown {
		a.level = e.SplitLocality
	}
	if e.Rack != "" && a.node.rack == "" {
		a.node.rack = e.Rack
	}
	t := j.task(e.Attempt.Task)
	t.tries = append(t.tries, a)
	w.attempts[e.Attempt] = a
}

func (w *world) ended(e *traces.AttemptFinished, now traces.Time) {
	a := w.attempts[e.Attempt]
	if a == nil && e.Unlaunched {
		since := now
		if t, ok := w.bound[e.Attempt]; ok {
			since = t
		}
		w.started(&traces.AttemptStarted{Attempt: e.Attempt, Node: e.Node, SplitLocality: e.SplitLocality}, since)
		a = w.attempts[e.Attempt]
		a.unlaunched = true
	}
	if a == nil || a.ended {
		return
	}
	a.end, a.ended, a.outcome, a.text, a.cpuMs, a.bytes = now, true, e.Outcome, e.Error, e.Counters.CPUMs, e.Counters.HDFSReadBytes
	if a.id.Kind == traces.Reduce {
		a.bytes, a.shuffled = e.Counters.ShuffleBytes, at(e.ShuffleDone)
	}
}

// finish sorts what was read, and returns the job that ended last; nil: none did.
func (w *world) finish() *job {
	var last *job
	w.begin = w.last
	for _, j := range w.order {
		w.begin = min(w.begin, j.submitted)
		if j.hasEnd && (last == nil || j.ended > last.ended) {
			last = j
		}
		if j.hasEnd && len(j.masters) > 0 && j.masters[0] >= j.submitted {
			if took := j.masters[0] - j.submitted; w.least == 0 || took < w.least {
				w.least = took
			}
		}
	}
	if last == nil || last.ended < w.begin {
		return nil
	}
	for _, a := range w.attempts {
		if !a.ended {
			a.end = max(a.start, w.last)
		}
		w.ends = append(w.ends, a)
	}
	slices.SortFunc(w.ends, byEnd)
	for _, a := range w.ends {
		if a.ended {
			a.job.ends = append(a.job.ends, a)
		}
		if a.outcome == traces.Succeeded && a.id.Kind == traces.Map {
			a.job.mapEnds = append(a.job.mapEnds, a)
		}
	}
	for _, a := range w.ends {
		a.ask()
	}
	w.rooms()
	w.measure()
	return last
}

func byEnd(a, b *attempt) int {
	return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start), strings.Compare(string(a.id.Job), string(b.id.Job)),
		cmp.Compare(a.id.Kind, b.id.Kind), cmp.Compare(a.id.Index, b.id.Index), cmp.Compare(a.id.Number, b.id.Number))
}

// upTo returns the last attempt of a list, ordered by end, that ended at t or before.
func upTo(list []*attempt, t traces.Time) *attempt {
	i, _ := slices.BinarySearchFunc(list, t+1, func(a *attempt, t traces.Time) int { return cmp.Compare(a.end, t) })
	if i == 0 {
		return nil
	}
	return list[i-1]
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

// slowMaps is how many maps must be done before the job asks for reduces.
func (j *job) slowMaps() int {
	return int(math.Ceil(max(0, min(j.slowStart, 1)) * float64(max(0, j.maps))))
}

// ask finds out when an attempt was asked for, and why not before.
func (a *attempt) ask() {
	j := a.job
	a.asked = j.submitted
	later := func(t traces.Time, why reason, before *attempt) {
		if t > a.asked && t <= a.start {
			a.asked, a.why, a.before = t, why, before
		}
	}
	for i, t := range j.masters {
		why := askedByMaster
		if i > 0 || j.later {
			why = askedNewMaster
		}
		later(t, why, nil)
	}
	info := j.task(a.id.Task)
	later(info.scheduled, askedLater, nil)
	if m := upTo(j.mapEnds, info.scheduled); a.why == askedLater && a.id.Kind == traces.Reduce && m != nil {
		a.why, a.before = askedSlowStart, m // the trace says when so many maps were done
	}
	if k := j.slowMaps(); a.id.Kind == traces.Reduce && k > 0 && k <= len(j.mapEnds) {
		later(j.mapEnds[k-1].end, askedSlowStart, j.mapEnds[k-1])
	}
	a.askBy(info.tries, later)
}

// askBy heeds the other attempts of the task.
func (a *attempt) askBy(tries []*attempt, later func(t traces.Time, why reason, before *attempt)) {
	for _, b := range tries {
		switch {
		case b == a:
		case a.speculative && b.start < a.start && b.end > a.start:
			a.asked, a.why, a.before = b.start, askedBeside, b
			return
		case b.outcome == traces.Succeeded && b.ended && !a.speculative && b.end <= a.start:
			down := b.node.lostIn(b.end, a.start)
			later(max(down, b.end+1), askedLost, b)
		case b.ended && b.end <= a.start:
			later(b.end, askedAgain, b)
		}
	}
}
