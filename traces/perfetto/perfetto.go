// Package perfetto writes a trace as a timeline in Chrome's trace-event JSON,
// which the Perfetto UI and chrome://tracing open: a process a node with a slice
// an attempt, as many rows as ran at once, and counters of the node's metrics; a
// row a job; a row of the model's decisions, with an arrow to the attempt that
// each became. Nothing reads it back.
package perfetto

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"heddle/traces"
	"heddle/traces/internal/members"
)

// Processes of the timeline; nodes follow.
const (
	jobsPID = 1 + iota
	decisionsPID
	firstNodePID
)

// Write writes the timeline of a run's events, which are in order.
func Write(out io.Writer, h traces.Header, events iter.Seq[traces.Event]) error {
	w := &writer{
		buf: bufio.NewWriterSize(out, 1<<16), nodes: map[traces.Node]*node{}, running: map[traces.Attempt]running{},
		jobs: map[traces.JobID]job{}, decided: map[int64]traces.Time{},
	}
	w.buf.WriteString(`{"displayTimeUnit":"ms","otherData":{"origin":` + string(members.AppendText(nil, string(h.Origin))) + `},"traceEvents":[`)
	w.process(jobsPID, "jobs", 0)
	w.process(decisionsPID, "decisions", 1)
	for _, n := range h.Cluster.Nodes {
		w.node(n.Node, n.Rack)
	}
	last := traces.Time(0)
	for e := range events {
		last = max(last, e.At())
		w.event(e)
	}
	w.unfinished(last)
	w.buf.WriteString("\n]}\n")
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	return nil
}

type writer struct {
	buf     *bufio.Writer
	line    []byte
	started bool
	nodes   map[traces.Node]*node
	running map[traces.Attempt]running
	jobs    map[traces.JobID]job
	decided map[int64]traces.Time
}

type node struct {
	pid  int
	busy []bool // rows
}

type running struct {
	node  *node
	row   int
	since traces.Time
	start traces.AttemptStarted
}

type job struct {
	id   int
	name string
	open bool
}

// object begins a trace event.
func (w *writer) object(phase string, pid, tid int, t traces.Time) members.Object {
	o := members.Begin(w.line[:0], "")
	o.Text("ph", phase)
	o.Int("pid", int64(pid))
	o.Int("tid", int64(tid))
	if phase != "M" {
		o.Key("ts")
		o.To = micros(o.To, t)
	}
	return o
}

// micros is a time in microseconds, the format's unit, to the nanosecond.
func micros(to []byte, t traces.Time) []byte {
	n := uint64(t)
	if t < 0 {
		to, n = append(to, '-'), -n
	}
	to = strconv.AppendUint(to, n/1000, 10)
	if rest := n % 1000; rest != 0 {
		to = fmt.Appendf(to, ".%03d", rest)
	}
	return to
}

func (w *writer) put(o members.Object) {
	if w.started {
		w.buf.WriteString(",")
	}
	w.started = true
	w.buf.WriteString("\n")
	w.line = o.End()
	w.buf.Write(w.line)
}

// args appends the event's arguments.
func args(o *members.Object, add func(a *members.Object)) {
	o.Key("args")
	a := members.Begin(o.To, "")
	add(&a)
	o.To = a.End()
}

func (w *writer) process(pid int, name string, order int) {
	o := w.object("M", pid, 0, 0)
	o.Text("name", "process_name")
	args(&o, func(a *members.Object) { a.Text("name", name) })
	w.put(o)
	o = w.object("M", pid, 0, 0)
	o.Text("name", "process_sort_index")
	args(&o, func(a *members.Object) { a.Int("sort_index", int64(order)) })
	w.put(o)
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
		w.finished(e.Job, e.T, e.Outcome.String())
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
	case *traces.Note:
		w.mark(jobsPID, e.T, e.Text)
	}
}

func (w *writer) mark(pid int, t traces.Time, text string) {
	o := w.object("i", pid, 0, t)
	o.Text("name", text)
	o.Text("s", "p")
	w.put(o)
}

// submitted begins a job's row.
func (w *writer) submitted(e *traces.JobSubmitted) {
	name := string(e.Job)
	if e.Name != "" {
		name += " " + e.Name
	}
	j := job{id: len(w.jobs) + 1, name: name, open: true}
	w.jobs[e.Job] = j
	o := w.object("b", jobsPID, 0, e.T)
	o.Text("cat", "job")
	o.Int("id", int64(j.id))
	o.Text("name", j.name)
	args(&o, func(a *members.Object) {
		a.Text("user", e.User)
		a.Text("queue", e.Queue)
		a.Int("maps", int64(e.Maps))
		a.Int("reduces", int64(e.Reduces))
	})
	w.put(o)
}

func (w *writer) finished(id traces.JobID, t traces.Time, outcome string) {
	j := w.jobs[id]
	if !j.open {
		return
	}
	j.open = false
	w.jobs[id] = j
	o := w.object("e", jobsPID, 0, t)
	o.Text("cat", "job")
	o.Int("id", int64(j.id))
	o.Text("name", j.name)
	args(&o, func(a *members.Object) { a.Text("outcome", outcome) })
	w.put(o)
}

// start takes the first free row of the attempt's node.
func (w *writer) start(e *traces.AttemptStarted) {
	n := w.node(e.Node, e.Rack)
	row := slices.Index(n.busy, false)
	if row < 0 {
		row = len(n.busy)
		n.busy = append(n.busy, true)
	}
	n.busy[row] = true
	w.running[e.Attempt] = running{node: n, row: row, since: e.T, start: *e}
}

func (w *writer) end(e *traces.AttemptFinished) {
	r, ok := w.running[e.Attempt]
	if !ok {
		return
	}
	delete(w.running, e.Attempt)
	r.node.busy[r.row] = false
	w.slice(r, e.T, e)
	if e.Attempt.Kind == traces.Reduce {
		w.phase(r, "shuffle", r.since, e.ShuffleDone, e.T)
		w.phase(r, "sort", e.ShuffleDone, e.SortDone, e.T)
	} else {
		w.phase(r, "read and map", r.since, e.MapDone, e.T)
	}
}

// slice writes an attempt, e nil for one that is still running.
func (w *writer) slice(r running, end traces.Time, e *traces.AttemptFinished) {
	o := w.object("X", r.node.pid, r.row+1, r.since)
	o.Key("dur")
	o.To = micros(o.To, max(end-r.since, 0))
	o.Text("cat", r.start.Attempt.Kind.String())
	o.Text("name", r.start.Attempt.String())
	args(&o, func(a *members.Object) {
		a.Text("job", string(r.start.Attempt.Job))
		a.Text("splitLocality", r.start.SplitLocality.String())
		a.Text("replicaLocality", r.start.ReplicaLocality.String())
		if r.start.Speculative {
			a.Text("speculative", "yes")
		}
		if e == nil {
			a.Text("outcome", traces.Unfinished.String())
			return
		}
		a.Text("outcome", e.Outcome.String())
		for _, v := range []struct {
			name string
			n    int64
		}{
			{"hdfsReadBytes", e.Counters.HDFSReadBytes},
			{"shuffleBytes", e.Counters.ShuffleBytes},
			{"hdfsWrittenBytes", e.Counters.HDFSWrittenBytes},
			{"cpuMs", e.Counters.CPUMs},
		} {
			if v.n >= 0 {
				a.Int(v.name, v.n)
			}
		}
		if e.Error != "" {
			a.Text("error", e.Error)
		}
	})
	w.put(o)
}

// phase writes a slice inside an attempt's, where the trace has its times.
func (w *writer) phase(r running, name string, from, to, end traces.Time) {
	if from == 0 && r.since != 0 || to <= from || from < r.since || to > end {
		return
	}
	o := w.object("X", r.node.pid, r.row+1, from)
	o.Key("dur")
	o.To = micros(o.To, to-from)
	o.Text("cat", "phase")
	o.Text("name", name)
	w.put(o)
}

func (w *writer) sample(e *traces.NodeSample) {
	pid := w.node(e.Node, "").pid
	counter := func(name, unit string, v float64) {
		if !(v >= 0) || math.IsInf(v, 0) { // JSON has no NaN
			return
		}
		o := w.object("C", pid, 0, e.T)
		o.Text("name", name)
		args(&o, func(a *members.Object) {
			a.Key(unit)
			a.To = strconv.AppendFloat(a.To, v, 'g', -1, 64)
		})
		w.put(o)
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
	o := w.object("X", decisionsPID, 1, e.T)
	o.Int("dur", 1)
	o.Text("cat", "decision")
	o.Text("name", e.What.String()+" of "+string(e.Job)+" to "+string(e.Node))
	args(&o, func(a *members.Object) {
		a.Int("id", e.ID)
		a.Int("task", int64(e.TaskIndex))
		a.Int("predicted", int64(e.BindIndex))
		a.Text("reason", e.Reason)
	})
	w.put(o)
}

// actuation draws the arrow from a decision to the attempt it became.
func (w *writer) actuation(e *traces.Actuation) {
	d, known := w.decided[e.Decision]
	delete(w.decided, e.Decision)
	r, runs := w.running[e.Bound]
	if !known || !runs {
		w.mark(decisionsPID, e.T, e.Outcome)
		return
	}
	o := w.object("s", decisionsPID, 1, d)
	o.Text("cat", "decision")
	o.Text("name", e.Outcome)
	o.Int("id", e.Decision)
	w.put(o)
	o = w.object("f", r.node.pid, r.row+1, max(r.since, d))
	o.Text("cat", "decision")
	o.Text("name", e.Outcome)
	o.Int("id", e.Decision)
	o.Text("bp", "e")
	w.put(o)
}

// unfinished ends at the trace's end what has no end of its own.
func (w *writer) unfinished(last traces.Time) {
	var open []traces.Attempt
	for a := range w.running {
		open = append(open, a)
	}
	slices.SortFunc(open, func(a, b traces.Attempt) int { return compare(w.running[a], w.running[b]) })
	for _, a := range open {
		w.slice(w.running[a], last, nil)
	}
	var jobs []traces.JobID
	for id, j := range w.jobs {
		if j.open {
			jobs = append(jobs, id)
		}
	}
	slices.SortFunc(jobs, func(a, b traces.JobID) int { return w.jobs[a].id - w.jobs[b].id })
	for _, id := range jobs {
		w.finished(id, last, traces.Unfinished.String())
	}
}

func compare(a, b running) int {
	if a.node.pid != b.node.pid {
		return a.node.pid - b.node.pid
	}
	return a.row - b.row
}
