package sls

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/internal/members"
)

// Left says what an export had to leave out, since SLS takes neither jobs
// without tasks nor tasks without a duration.
type Left struct {
	Jobs  int
	Tasks int
	// Attempts that did not win: SLS runs each task once.
	Attempts int
}

// Write writes jobs as SLS reads them, an object a line, each task with its
// duration and with the times it is from, and a job's type under both keys that
// versions look at. A task's attempt is the one that succeeded, or the last.
//
// SLS needs a host for each container: one of its split's, where the trace has
// no other, and otherwise one of the cluster's in turn.
func Write(out io.Writer, h traces.Header, jobs iter.Seq2[*byjob.Job, error]) (Left, error) {
	w := writer{racks: map[traces.Node]string{}}
	for _, n := range h.Cluster.Nodes {
		w.racks[n.Node] = n.Rack
		if n.Worker {
			w.nodes = append(w.nodes, n.Node)
		}
	}
	buf := bufio.NewWriter(out)
	var line []byte
	for job, err := range jobs {
		if err != nil {
			return w.left, err
		}
		if line = w.job(line[:0], job); len(line) == 0 {
			w.left.Jobs++
			continue
		}
		if _, err := buf.Write(append(line, '\n')); err != nil {
			return w.left, fmt.Errorf("write %s: %w", job.ID, err)
		}
	}
	if err := buf.Flush(); err != nil {
		return w.left, fmt.Errorf("write jobs: %w", err)
	}
	return w.left, nil
}

type writer struct {
	racks map[traces.Node]string
	nodes []traces.Node
	turn  int
	left  Left
	job1  *traces.JobSubmitted
}

// given is what an import of this form kept.
func given(s *traces.Source) string {
	if s == nil || s.Form != "sls" {
		return ""
	}
	return s.Members
}

// job appends a job's object, nothing for one without tasks.
func (w *writer) job(to []byte, j *byjob.Job) []byte {
	s := j.Submitted
	if s == nil {
		s = &traces.JobSubmitted{}
		for _, t := range j.Tasks {
			if t.Scheduled != nil {
				s.T = t.Scheduled.T
				break
			}
		}
	}
	w.job1 = s
	own := given(j.Source)
	o := members.Begin(to, own)
	kind := "mapreduce"
	for _, m := range members.Split(own) {
		if m.Key == `"am.type"` && json.Unmarshal([]byte(m.Value), &kind) != nil {
			kind = "mapreduce" // not a text: no import wrote it
		}
	}
	o.Text("am.type", kind)
	o.Text("yarn.sls.am.type", kind)
	o.Int("job.start.ms", max(s.T.Milliseconds(), 0))
	if j.Finished != nil {
		o.Int("job.end.ms", max(j.Finished.T.Milliseconds(), 0))
	}
	queue := s.Queue
	if queue == "" {
		queue = "default"
	}
	o.Text("job.queue.name", queue)
	o.Text("job.id", string(j.ID))
	if s.User != "" {
		o.Text("job.user", s.User)
	}
	if s.MapLabel != "" {
		o.Text("job.label.expression", s.MapLabel)
	}
	o.Key("job.tasks")
	o.To = append(o.To, '[')
	tasks := 0
	for _, t := range j.Tasks {
		a := last(t)
		if a == nil {
			w.left.Tasks++
			continue
		}
		w.left.Attempts += len(t.Attempts) - 1
		if tasks++; tasks > 1 {
			o.To = append(o.To, ',')
		}
		o.To = w.task(o.To, t, a)
	}
	o.To = append(o.To, ']')
	if tasks == 0 {
		return nil
	}
	return o.End()
}

// last is the attempt that succeeded, or the last that has both its times.
func last(t *byjob.Task) *byjob.Attempt {
	var found *byjob.Attempt
	for _, a := range t.Attempts {
		if a.Started == nil || a.Finished == nil {
			continue
		}
		if found = a; a.Finished.Outcome == traces.Succeeded {
			return a
		}
	}
	return found
}

func (w *writer) task(to []byte, t *byjob.Task, a *byjob.Attempt) []byte {
	own := given(t.Source)
	o := members.Begin(to, own)
	start := a.Started.T.Milliseconds()
	end := max(a.Finished.T.Milliseconds(), start+1) // SLS refuses durations of 0
	o.Text("container.host", w.host(t, a))
	if o.Key("container.start.ms") {
		o.To = fmt.Append(o.To, start)
		o.Int("container.end.ms", end)
	}
	o.Int("container.duration.ms", end-start)
	memory, vcores := w.job1.MapMemoryBytes, w.job1.MapVCores
	kind := "map"
	if t.ID.Kind == traces.Reduce {
		kind, memory, vcores = "reduce", w.job1.ReduceMemoryBytes, w.job1.ReduceVCores
	}
	o.Int("container.priority", usualPriority(t.ID.Kind))
	o.Text("container.type", kind)
	if memory > 0 {
		o.Int("container.memory-mb", memory>>20)
	}
	if vcores > 0 {
		o.Int("container.vcores", int64(vcores))
	}
	return o.End()
}

// host is "/rack/host" of a task.
func (w *writer) host(t *byjob.Task, a *byjob.Attempt) string {
	node, rack := a.Started.Node, a.Started.Rack
	switch {
	case node != "":
	case t.Scheduled != nil && len(t.Scheduled.SplitHosts) > 0:
		node = t.Scheduled.SplitHosts[0]
	case len(w.nodes) > 0:
		node = w.nodes[w.turn%len(w.nodes)]
		w.turn++
	default:
		node = "node1"
	}
	if rack == "" {
		rack = w.racks[node]
	}
	return rackOf(rack) + "/" + string(node)
}
