// Package byjob gathers a trace's events job by job, for those who write or
// draw whole jobs. It reads a trace twice, to know when a job's last event has
// come, and keeps the jobs under way.
package byjob

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"heddle/traces"
	"heddle/traces/tracefile"
)

// Job is a job with all its events; those that the trace lacks are nil.
type Job struct {
	ID        traces.JobID
	Submitted *traces.JobSubmitted
	Started   *traces.JobStarted // the last ApplicationMaster's
	Finished  *traces.JobFinished
	Tasks     []*Task // maps first, by index
}

// Task is a task with all its events.
type Task struct {
	ID        traces.Task
	Scheduled *traces.TaskScheduled
	Finished  *traces.TaskFinished
	Attempts  []*Attempt // by number
}

// Attempt is an attempt with all its events.
type Attempt struct {
	ID       traces.Attempt
	Started  *traces.AttemptStarted
	Finished *traces.AttemptFinished
}

// Jobs reads the jobs of a trace in the order of their first events. An error
// is the last thing that comes.
func Jobs(path string) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		if err := gather(path, yield); err != nil {
			yield(nil, err)
		}
	}
}

func gather(path string, yield func(*Job, error) bool) error {
	left, err := count(path)
	if err != nil {
		return err
	}
	in, err := tracefile.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	g := gatherer{jobs: map[traces.JobID]*gathered{}}
	for e := range in.All() {
		id := traces.JobOf(e)
		if id == "" {
			continue
		}
		g.add(id, e)
		if left[id]--; left[id] > 0 {
			continue
		}
		delete(left, id)
		g.jobs[id].whole = true
		for len(g.order) > 0 && g.order[0].whole {
			j := g.order[0]
			g.order = g.order[1:]
			delete(g.jobs, j.ID)
			if !yield(j.sorted(), nil) {
				return nil
			}
		}
	}
	return in.Err()
}

// count counts each job's events.
func count(path string) (map[traces.JobID]int, error) {
	in, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	n := map[traces.JobID]int{}
	for e := range in.All() {
		if id := traces.JobOf(e); id != "" {
			n[id]++
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("gather jobs: %w", err)
	}
	return n, nil
}

type gatherer struct {
	jobs  map[traces.JobID]*gathered
	order []*gathered
}

type gathered struct {
	Job
	whole    bool
	tasks    map[traces.Task]*Task
	attempts map[traces.Attempt]*Attempt
}

// add takes in an event, which the reader will use again.
func (g *gatherer) add(id traces.JobID, e traces.Event) {
	j := g.jobs[id]
	if j == nil {
		j = &gathered{Job: Job{ID: id}, tasks: map[traces.Task]*Task{}, attempts: map[traces.Attempt]*Attempt{}}
		g.jobs[id] = j
		g.order = append(g.order, j)
	}
	switch e := e.(type) {
	case *traces.JobSubmitted:
		j.Submitted = clone(e)
	case *traces.JobStarted:
		j.Started = clone(e)
	case *traces.JobFinished:
		j.Finished = clone(e)
	case *traces.TaskScheduled:
		s := clone(e)
		s.SplitHosts, s.Blocks = slices.Clone(e.SplitHosts), slices.Clone(e.Blocks)
		j.task(e.Task).Scheduled = s
	case *traces.TaskFinished:
		j.task(e.Task).Finished = clone(e)
	case *traces.AttemptStarted:
		j.attempt(e.Attempt).Started = clone(e)
	case *traces.AttemptFinished:
		j.attempt(e.Attempt).Finished = clone(e)
	}
}

func clone[T any](e *T) *T {
	c := *e
	return &c
}

func (j *gathered) task(id traces.Task) *Task {
	t := j.tasks[id]
	if t == nil {
		t = &Task{ID: id}
		j.tasks[id] = t
		j.Tasks = append(j.Tasks, t)
	}
	return t
}

func (j *gathered) attempt(id traces.Attempt) *Attempt {
	a := j.attempts[id]
	if a == nil {
		a = &Attempt{ID: id}
		j.attempts[id] = a
		t := j.task(id.Task)
		t.Attempts = append(t.Attempts, a)
	}
	return a
}

func (j *gathered) sorted() *Job {
	slices.SortFunc(j.Tasks, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.ID.Kind, b.ID.Kind), cmp.Compare(a.ID.Index, b.ID.Index))
	})
	for _, t := range j.Tasks {
		slices.SortFunc(t.Attempts, func(a, b *Attempt) int { return cmp.Compare(a.ID.Number, b.ID.Number) })
	}
	return &j.Job
}
