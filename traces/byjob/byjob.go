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

// Jobs returns the jobs of a trace file in the order of their first events. Events of some
// kinds can be left out. A read error ends the sequence.
func Jobs(path string, without ...traces.Kind) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		if err := gather(path, without, yield); err != nil {
			yield(nil, err)
		}
	}
}

func gather(path string, without []traces.Kind, yield func(*Job, error) bool) error {
	left := map[traces.JobID]int{} // for each job, the number of events that the second reading of the file has still to come to
	if err := read(path, without, false, func(id traces.JobID, _ traces.Event) bool {
		left[id]++
		return true
	}); err != nil {
		return err
	}
	jobs := map[traces.JobID]*gathered{}
	var order []*gathered
	return read(path, without, true, func(id traces.JobID, e traces.Event) bool {
		j := jobs[id]
		if j == nil {
			j = &gathered{Job: Job{ID: id}, tasks: map[uint64]*Task{}, attempts: map[[2]uint64]*Attempt{}}
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
// function, until that function returns false or the trace ends. The function may keep
// events only if keep is true.
func read(path string, without []traces.Kind, keep bool, more func(traces.JobID, traces.Event) bool) error {
	in, err := tracefile.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if keep {
		in.KeepEvents()
	}
	in.Skip(traces.KindNodeSample, traces.KindBlockReplica, traces.KindBlockCached, traces.KindActuation, traces.KindHeartbeat)
	in.Skip(without...)
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
	tasks    map[uint64]*Task       // by their kind and index
	attempts map[[2]uint64]*Attempt // by the same, and their number
}

func keyOf(id traces.Task) uint64 { return uint64(id.Kind)<<32 | uint64(uint32(id.Index)) }

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
	key := keyOf(id)
	t := j.tasks[key]
	if t == nil {
		t = &Task{ID: id}
		j.tasks[key] = t
		j.Tasks = append(j.Tasks, t)
	}
	return t
}

func (j *gathered) attempt(id traces.Attempt) *Attempt {
	key := [2]uint64{keyOf(id.Task), uint64(id.Number)}
	a := j.attempts[key]
	if a == nil {
		a = &Attempt{ID: id}
		j.attempts[key] = a
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
