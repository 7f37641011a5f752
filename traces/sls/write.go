package sls

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/format"
)

// write writes a line with a JSON object for each job. A task gets the times of
// its attempt that succeeded, or else of its last attempt. The notes say what is
// left out: SLS runs each task once, and it refuses jobs without tasks and tasks
// without a duration.
func write(e *format.Export) (notes []string, err error) {
	w := writer{racks: e.Header.Cluster.Racks()}
	for _, n := range e.Header.Cluster.Nodes {
		if n.Worker {
			w.nodes = append(w.nodes, n.Node)
		}
	}
	out := jsontext.NewEncoder(e.Out, jsontext.AllowInvalidUTF8(true))
	for job, err := range byjob.Jobs(e.Path) {
		if err != nil {
			return nil, err
		}
		o := w.job(job)
		if len(o.Tasks) == 0 {
			w.leftJobs++
			continue
		}
		if err := json.MarshalEncode(out, o); err != nil {
			return nil, fmt.Errorf("write %s: %w", job.ID, err)
		}
	}
	for _, left := range []struct {
		n    int
		what string
	}{
		{w.leftJobs, "jobs without a task that ran"},
		{w.leftTasks, "tasks without an attempt that started and ended"},
		{w.leftAttempts, "attempts beside the one that counts: SLS runs a task once"},
	} {
		if left.n > 0 {
			notes = append(notes, fmt.Sprintf("left out %d %s", left.n, left.what))
		}
	}
	return notes, nil
}

type writer struct {
	racks                             map[traces.Node]string
	nodes                             []traces.Node
	turn                              int // number of containers so far whose node is not known; they get the cluster's nodes in turn
	leftJobs, leftTasks, leftAttempts int
}

func ms(t traces.Time) millis { return millis(max(t.Milliseconds(), 0)) }

func (w *writer) job(j *byjob.Job) *job {
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
	o := &job{
		Type: "mapreduce", OldType: "mapreduce", StartMs: ms(s.T), Queue: cmp.Or(s.Queue, "default"),
		ID: string(j.ID), User: s.User, Label: s.MapLabel,
	}
	if j.Finished != nil {
		o.EndMs = ms(j.Finished.T)
	}
	for _, t := range j.Tasks {
		a := last(t)
		if a == nil {
			w.leftTasks++
			continue
		}
		w.leftAttempts += len(t.Attempts) - 1
		o.Tasks = append(o.Tasks, w.task(s, t, a))
	}
	return o
}

// last returns the attempt of a task that is written to the file: the one that
// succeeded. If none succeeded, it returns the last attempt with a start and an
// end, or nil.
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

func (w *writer) task(s *traces.JobSubmitted, t *byjob.Task, a *byjob.Attempt) task {
	start := a.Started.T.Milliseconds()
	end := max(a.Finished.T.Milliseconds(), start+1) // at least 1 ms, since SLS refuses tasks with a duration of 0
	o := task{
		Host: w.host(t, a), StartMs: millis(start), EndMs: millis(end), DurationMs: lengthMs(end - start),
		Priority: priorities[t.ID.Kind%2], Type: kinds[t.ID.Kind%2],
		MemoryMB: megabytes(s.MapMemoryBytes >> 20), VCores: cores(s.MapVCores),
	}
	if t.ID.Kind == traces.Reduce {
		o.MemoryMB, o.VCores = megabytes(s.ReduceMemoryBytes>>20), cores(s.ReduceVCores)
	}
	if t.Scheduled != nil {
		o.DelayMs = lengthMs(max(ms(t.Scheduled.T)-ms(s.T), 0))
	}
	return o
}

// host returns the path "/rack/host" of a task's container, since SLS requires
// one. If the node of the attempt is not known, it takes the first host of the
// task's split, or else the cluster's nodes in turn.
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
	return rackOf(cmp.Or(rack, w.racks[node])) + "/" + string(node)
}
