// Package byjob reads a trace job by job: each job comes together with all its
// events.
//
// It reads the trace file twice. The first time it counts the events of each
// job, so that the second time it knows which event is a job's last. It keeps a
// job in memory until that job, and all jobs that began before it, have ended.
package byjob

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"heddle/traces"
	"heddle/traces/tracefile"
)

// Job is a job with its events. A pointer to an event is nil if the trace does
// not have the event.
type Job struct {
	ID        traces.JobID
	Submitted *traces.JobSubmitted
	Started   *traces.JobStarted // JobStarted event of the job's last ApplicationMaster, or nil
	Finished  *traces.JobFinished
	Tasks     []*Task // all tasks of the job: maps first, then reduces, both sorted by index
}

// Task is a task with its events. An event that the trace does not have is nil.
type Task struct {
	ID        traces.Task
	Scheduled *traces.TaskScheduled
	Finished  *traces.TaskFinished
	Attempts  []*Attempt // all attempts of the task, sorted by attempt number
}

// Attempt is an attempt with its events. An event that the trace does not have
// is nil.
type Attempt struct {
	ID       traces.Attempt
	Started  *traces.AttemptStarted
	Finished *traces.AttemptFinished
}

// Jobs returns the jobs of a trace file in the order of their first events. A
// read error ends the sequence.
func Jobs(path string) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		if err := gather(path, yield); err != nil {
			yield(nil, err)
		}
	}
}

func gather(path string, yield func(*Job, error) bool) error {
	left := map[traces.JobID]int{} // for each job, the number of events that the second reading of the file has still to come to
	if err := read(path, func(id traces.JobID, _ traces.Event) bool {
		left[id]++
		return true
	}); err != nil {
		return err
	}
	jobs := map[traces.JobID]*gathered{}
	var order []*gathered
	return read(path, func(id traces.JobID, e traces.Event) bool {
		j := jobs[id]
		if j == nil {
			j = &gathered{Job: Job{ID: id}, tasks: map[traces.Task]*Task{}, attempts: map[traces.Attempt]*Attempt{}}
			jobs[id] = j
			order = append(order, j)
		}
		j.add(e)
		left[id]--
		for len(order) > 0 && left[order[0].ID] == 0 {
			j := order[0]
			order = order[1:]
			delete(jobs, j.ID)
			if !yield(j.sorted(), nil) {
				return false
			}
		}
		return true
	})
}

// read passes each event that belongs to a job, with the job's id, to the given
// function, until that function returns false or the trace ends.
func read(path string, more func(traces.JobID, traces.Event) bool) error {
	in, err := tracefile.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	in.KeepEvents()
	for e := range in.All() {
		if id := traces.JobOf(e); id != "" && !more(id, e) {
			return nil
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("gather jobs: %w", err)
	}
	return nil
}

// gathered is a job that is not complete yet: some of its events were read,
// others are still to come.
type gathered struct {
	Job
	tasks    map[traces.Task]*Task
	attempts map[traces.Attempt]*Attempt
}

func (j *gathered) add(e traces.Event) {
	switch e := e.(type) {
	case *traces.JobSubmitted:
		j.Submitted = e
	case *traces.JobStarted:
		j.Started = e
	case *traces.JobFinished:
		j.Finished = e
	case *traces.TaskScheduled:
		j.task(e.Task).Scheduled = e
	case *traces.TaskFinished:
		j.task(e.Task).Finished = e
	case *traces.AttemptStarted:
		j.attempt(e.Attempt).Started = e
	case *traces.AttemptFinished:
		j.attempt(e.Attempt).Finished = e
	}
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
