// Package perfetto writes a trace as a timeline in Chrome's trace-event JSON,
// which the Perfetto UI and chrome://tracing can show. heddle does not read this
// format.
//
// In the timeline, each node is a process and each attempt a slice (a bar) in
// it. Attempts that ran at the same time are in different rows. The node's
// metrics are counters. Each job has a row. The scheduler model's decisions
// have one row, with arrows to the attempts that they started.
package perfetto

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/format"
)

// Format describes the timeline to package exchange.
var Format = format.Format{
	Name:  "perfetto",
	About: "a timeline for the Perfetto UI",
	Write: func(e *format.Export) ([]string, error) { return nil, write(e.Out, e.Header, e.Events) },
}

// Process numbers in the timeline. Nodes have the numbers from firstNodePID on.
const (
	jobsPID = 1 + iota
	decisionsPID
	firstNodePID
)

// write writes the timeline of a trace. The events must be in the order of a
// finished trace.
func write(out io.Writer, h traces.Header, events iter.Seq[traces.Event]) error {
	w := &writer{
		buf: bufio.NewWriterSize(out, 1<<16), nodes: map[traces.Node]*node{}, running: map[traces.Attempt]*running{},
		jobs: map[traces.JobID]*job{}, decided: map[int64]traces.Time{},
	}
	origin, err := jsontext.AppendQuote(nil, h.Origin)
	if err != nil {
		return fmt.Errorf("write timeline: origin %q: %w", h.Origin, err)
	}
	fmt.Fprintf(w.buf, `{"displayTimeUnit":"ms","otherData":{"origin":%s},"traceEvents":[`, origin)
	w.process(jobsPID, "jobs", 0)
	w.process(decisionsPID, "decisions", 1)
	for _, n := range h.Cluster.Nodes {
		w.node(n.Node, n.Rack)
	}
	last, first := traces.Time(0), true
	for e := range events {
		if first {
			w.from, first = min(0, e.At()), false
		}
		last = max(last, e.At())
		w.event(e)
	}
	w.unfinished(last)
	w.buf.WriteString("\n]}\n")
	if err := cmp.Or(w.err, w.buf.Flush()); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	return nil
}

type writer struct {
	buf     *bufio.Writer
	before  string // text to write before the next timeline event: a comma, or nothing before the first event
	err     error
	nodes   map[traces.Node]*node
	running map[traces.Attempt]*running
	jobs    map[traces.JobID]*job
	decided map[int64]traces.Time
	spans   int64       // parts of applications of Spark
	waiting int         // tasks of which no attempt has started, of all jobs that run
	from    traces.Time // time 0 of the timeline: of the first event, if that is before the trace's time 0, as viewers refuse negative times
}

type node struct {
	pid int
	// until, for each row of an executor of Spark, is when its last task ends.
	until []traces.Time
	busy  []bool // for each row of the node in the timeline: true while an attempt uses the row
}

type running struct {
	node  *node
	row   int
	since traces.Time
	start traces.AttemptStarted
}

type job struct {
	id      int64
	name    string
	open    bool
	waiting int                  // tasks of which no attempt has started
	started map[traces.Task]bool // tasks of which one has
}

// traceEvent is an event of the timeline, in Chrome's trace-event format.
type traceEvent struct {
	Phase    string  `json:"ph"`
	PID      int     `json:"pid"`
	TID      int     `json:"tid"`
	At       micros  `json:"ts"`
	Duration *micros `json:"dur,omitempty"`
	Category string  `json:"cat,omitempty"`
	ID       int64   `json:"id,omitzero"`
	Name     string  `json:"name"`
	Binding  string  `json:"bp,omitempty"`
	Scope    string  `json:"s,omitempty"`
	Args     args    `json:"args,omitempty"`
}

type args map[string]any

// micros is a time. It is written as microseconds with three decimals.
type micros traces.Time

// MarshalJSON writes the time in microseconds.
func (m micros) MarshalJSON() ([]byte, error) {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	if n%1000 == 0 {
		return fmt.Appendf(nil, "%s%d", sign, n/1000), nil
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, n/1000, n%1000), nil
}

func (w *writer) put(e traceEvent) {
	w.buf.WriteString(w.before + "\n")
	w.before = ","
	if e.Phase != "M" {
		e.At = max(0, e.At-micros(w.from))
	}
	if err := json.MarshalWrite(w.buf, e, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)); w.err == nil {
		w.err = err
	}
}

func (w *writer) process(pid int, name string, order int) {
	w.put(traceEvent{Phase: "M", PID: pid, Name: "process_name", Args: args{"name": name}})
	w.put(traceEvent{Phase: "M", PID: pid, Name: "process_sort_index", Args: args{"sort_index": order}})
}

func (w *writer) node(name traces.Node, rack string) *node {
	n := w.nodes[name]
	if n == nil {
		n = &node{pid: firstNodePID + len(w.nodes)}
		w.nodes[name] = n
		label := rack + "/" + string(name)
		if name == "" {
			label = "no host"
		}
		w.process(n.pid, label, n.pid)
	}
	return n
}

func (w *writer) event(e traces.Event) {
	switch e := e.(type) {
	case *traces.JobSubmitted:
		w.submitted(e)
	case *traces.JobFinished:
		w.finished(e.Job, e.T, e.Outcome)
	case *traces.AttemptStarted:
		w.start(e)
	case *traces.AttemptFinished:
		w.end(e)
	case *traces.NodeSample:
		w.sample(e)
	case *traces.Decision:
		w.decision(e)
	case *traces.Actuation:
		w.actuation(e)
	case *traces.NodeDown:
		w.mark(w.node(e.Node, "").pid, e.T, "down: "+e.Reason)
	case *traces.NodeLabel:
		w.mark(w.node(e.Node, "").pid, e.T, "label "+e.Label)
	case *traces.NodeCapacity:
		w.mark(w.node(e.Node, "").pid, e.T, fmt.Sprintf("capacity %d MiB", e.MemoryBytes>>20))
	case *traces.NodeSpeed:
		w.mark(w.node(e.Node, "").pid, e.T, fmt.Sprintf("speed %g", e.Speed))
	case *traces.JobPredicted:
		w.mark(jobsPID, e.T, fmt.Sprintf("%s expected to end in %.1f s", e.Job, float64(e.End-e.T)/1e9))
	case *traces.Note:
		w.mark(jobsPID, e.T, e.Text)
	default:
		if e.Kind().IsSpark() {
			w.spark(e)
		}
	}
}

func (w *writer) mark(pid int, t traces.Time, text string) {
	w.put(traceEvent{Phase: "i", PID: pid, At: micros(t), Name: text, Scope: "p"})
}

// submitted begins the row of a job in the timeline, when the job is submitted.
func (w *writer) submitted(e *traces.JobSubmitted) {
	name := string(e.Job)
	if e.Name != "" {
		name += " " + e.Name
	}
	j := &job{id: int64(len(w.jobs) + 1), name: name, open: true, waiting: int(e.Maps) + int(e.Reduces), started: map[traces.Task]bool{}}
	w.jobs[e.Job] = j
	w.waiting += j.waiting
	w.count(e.T)
	w.put(traceEvent{
		Phase: "b", PID: jobsPID, At: micros(e.T), Category: "job", ID: j.id, Name: name,
		Args: args{"user": e.User, "queue": e.Queue, "maps": e.Maps, "reduces": e.Reduces},
	})
}

func (w *writer) finished(id traces.JobID, t traces.Time, outcome traces.Outcome) {
	if j := w.jobs[id]; j != nil && j.open {
		j.open = false
		w.waiting, j.waiting, j.started = w.waiting-j.waiting, 0, nil
		w.count(t)
		w.put(traceEvent{Phase: "e", PID: jobsPID, At: micros(t), Category: "job", ID: j.id, Name: j.name, Args: args{"outcome": outcome}})
	}
}

// The method start gives an attempt the first free row in the timeline of its
// node.
func (w *writer) start(e *traces.AttemptStarted) {
	n := w.node(e.Node, e.Rack)
	row := slices.Index(n.busy, false)
	if row < 0 {
		row = len(n.busy)
		n.busy = append(n.busy, true)
	}
	n.busy[row] = true
	w.running[e.Attempt] = &running{node: n, row: row, since: e.T, start: *e}
	if j := w.jobs[e.Attempt.Job]; j != nil && j.waiting > 0 && !j.started[e.Attempt.Task] {
		j.started[e.Attempt.Task] = true
		j.waiting--
		w.waiting--
	}
	w.count(e.T)
}

// count writes how many tasks run and wait, as counters of all jobs.
func (w *writer) count(t traces.Time) {
	w.put(traceEvent{Phase: "C", PID: jobsPID, At: micros(t), Name: "tasks", Args: args{"running": len(w.running), "waiting": w.waiting}})
}

func (w *writer) end(e *traces.AttemptFinished) {
	r, ok := w.running[e.Attempt]
	if !ok {
		return
	}
	delete(w.running, e.Attempt)
	w.count(e.T)
	r.node.busy[r.row] = false
	w.slice(r, e.T, e)
	if e.Attempt.Kind == traces.Reduce {
		w.phase(r, "shuffle", r.since, e.ShuffleDone, e.T)
		w.phase(r, "sort", e.ShuffleDone, e.SortDone, e.T)
	} else {
		w.phase(r, "read and map", r.since, e.MapDone, e.T)
	}
}

// The method slice writes the slice (a bar) of an attempt in the timeline. The
// argument e is the event of the attempt's end, or nil if the trace has none.
func (w *writer) slice(r *running, end traces.Time, e *traces.AttemptFinished) {
	a := args{
		"job": r.start.Attempt.Job, "splitLocality": r.start.SplitLocality, "replicaLocality": r.start.ReplicaLocality,
		"outcome": traces.Unfinished,
	}
	if r.start.Speculative {
		a["speculative"] = "yes"
	}
	if e != nil {
		a["outcome"] = e.Outcome
		c := &e.Counters
		for name, n := range map[string]int64{
			"hdfsReadBytes": c.HDFSReadBytes, "shuffleBytes": c.ShuffleBytes, "hdfsWrittenBytes": c.HDFSWrittenBytes, "cpuMs": c.CPUMs,
		} {
			if n >= 0 {
				a[name] = n
			}
		}
		if e.Error != "" {
			a["error"] = e.Error
		}
	}
	w.lasting(r, r.since, end, r.start.Attempt.Kind.String(), r.start.Attempt.String(), a)
}

// lasting writes a slice (a bar), from a start time to an end time, into the
// timeline's row of an attempt.
func (w *writer) lasting(r *running, from, to traces.Time, category, name string, a args) {
	duration := micros(max(to-from, 0))
	w.put(traceEvent{
		Phase: "X", PID: r.node.pid, TID: r.row + 1, At: micros(from), Duration: &duration, Category: category, Name: name, Args: a,
	})
}

// phase writes the slice (a bar) of a phase, such as the shuffle, inside the
// slice of an attempt, if the start and the end of the phase are known.
func (w *writer) phase(r *running, name string, from, to, end traces.Time) {
	if from == 0 && r.since != 0 || to <= from || from < r.since || to > end {
		return
	}
	w.lasting(r, from, to, "phase", name, nil)
}

func (w *writer) sample(e *traces.NodeSample) {
	pid := w.node(e.Node, "").pid
	counter := func(name, unit string, v float64) {
		if v >= 0 && !math.IsInf(v, 0) { // metrics that are not known (negative), NaN or infinite are left out: JSON has no NaN and infinity
			w.put(traceEvent{Phase: "C", PID: pid, At: micros(e.T), Name: name, Args: args{unit: v}})
		}
	}
	if e.CPUUser >= 0 && e.CPUSystem >= 0 {
		counter("cores busy", "cores", e.CPUUser+e.CPUSystem)
	}
	counter("disk read", "bytesPerSec", e.DiskReadBytesPerSec)
	counter("network received", "bytesPerSec", e.NetRecvBytesPerSec)
	counter("containers", "running", float64(e.ContainersRunning))
}

func (w *writer) decision(e *traces.Decision) {
	w.decided[e.ID] = e.T
	duration := micros(1000)
	a := args{"id": e.ID, "task": e.TaskIndex, "predicted": e.BindIndex, "reason": e.Reason}
	if seen := e.Seen; seen != nil {
		a["candidates"], a["moreCandidates"] = seen.Candidates, seen.MoreCandidates
		a["passed"], a["morePassed"] = seen.Passed, seen.MorePassed
		if unit := seen.WaitUnit; unit != traces.WaitNone {
			a["waited "+unit.String()], a["limit "+unit.String()] = seen.Waited, seen.Limit
		}
	}
	w.put(traceEvent{
		Phase: "X", PID: decisionsPID, TID: 1, At: micros(e.T), Duration: &duration, Category: "decision",
		Name: e.What.String() + " of " + string(e.Job) + " to " + string(e.Node),
		Args: a,
	})
}

// actuation draws an arrow from a decision to the attempt that the decision
// started.
func (w *writer) actuation(e *traces.Actuation) {
	d, known := w.decided[e.Decision]
	delete(w.decided, e.Decision)
	r := w.running[e.Bound]
	if !known || r == nil {
		w.mark(decisionsPID, e.T, e.Outcome)
		return
	}
	arrow := traceEvent{Phase: "s", PID: decisionsPID, TID: 1, At: micros(d), Category: "decision", ID: e.Decision, Name: e.Outcome}
	w.put(arrow)
	arrow.Phase, arrow.PID, arrow.TID, arrow.At, arrow.Binding = "f", r.node.pid, r.row+1, micros(max(r.since, d)), "e"
	w.put(arrow)
}

// unfinished writes the attempts and jobs whose end is not in the trace. Their
// slices end at the time of the last event of the trace.
func (w *writer) unfinished(last traces.Time) {
	for _, r := range slices.SortedFunc(maps.Values(w.running), func(a, b *running) int {
		return cmp.Or(cmp.Compare(a.node.pid, b.node.pid), cmp.Compare(a.row, b.row))
	}) {
		w.slice(r, last, nil)
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.jobs), func(a, b traces.JobID) int { return cmp.Compare(w.jobs[a].id, w.jobs[b].id) }) {
		w.finished(id, last, traces.Unfinished)
	}
}
