// Package byjob reads a trace job by job: each job comes together with all its
// events.
//
// It reads the trace file twice. The first time it counts the events of each
// job, so that the second time it knows which event is a job's last. It keeps a
// job in memory until that job, and all jobs that began before it, have ended.
package byjob

import (
	"cmp"
	"encoding/binary"
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
	if err := read(path, without, func(id traces.JobID, _ traces.Event) bool {
		left[id]++
		return true
	}); err != nil {
		return err
	}
	jobs := map[traces.JobID]*stored{}
	var order []*stored
	names := numbers{of: map[string]uint64{}}
	body := traces.Encoder{Number: names.number}
	return read(path, without, func(id traces.JobID, e traces.Event) bool {
		j := jobs[id]
		if j == nil {
			j = &stored{id: id}
			jobs[id] = j
			order = append(order, j)
		}
		j.add(e, &body)
		left[id]--
		for len(order) > 0 && left[order[0].id] == 0 {
			j := order[0]
			order = order[1:]
			delete(jobs, j.id)
			if !yield(j.job(names.list), nil) {
				return false
			}
		}
		return true
	})
}

// stored is a job that is not complete yet. Its events so far are stored as in a trace file,
// which takes a tenth of their memory: long jobs have others wait behind them.
type stored struct {
	id     traces.JobID
	events []byte // of each its kind, the number of bytes of its fields, and its fields
	last   traces.Time
}

func (j *stored) add(e traces.Event, body *traces.Encoder) {
	body.Stored, body.Since = body.Stored[:0], j.last
	body.Event(e)
	j.last = e.At()
	j.events = binary.AppendUvarint(append(j.events, byte(e.Kind())), uint64(len(body.Stored)))
	j.events = append(j.events, body.Stored...)
}

// part is an event of a task, with the number of the attempt if it is of one.
type part struct {
	task   traces.Task
	number int32
	event  traces.Event
}

// job returns the job with all its events. Of two of a kind it has the later one.
func (j *stored) job(names []string) *Job {
	job := &Job{ID: j.id}
	var parts []part
	d := traces.Decoder{Text: string(j.events), Names: names}
	for d.At < len(d.Text) {
		e := traces.New(traces.Kind(d.Text[d.At]))
		d.At, d.End = d.At+1, len(d.Text)
		size := int(d.Uint())
		d.End = d.At + size
		d.Event(e)
		d.At = d.End
		switch e := e.(type) {
		case *traces.JobSubmitted:
			job.Submitted = e
		case *traces.JobStarted:
			job.Started = e
		case *traces.JobFinished:
			job.Finished = e
		case *traces.TaskScheduled:
			parts = append(parts, part{e.Task, 0, e})
		case *traces.TaskFinished:
			parts = append(parts, part{e.Task, 0, e})
		case *traces.AttemptStarted:
			parts = append(parts, part{e.Attempt.Task, e.Attempt.Number, e})
		case *traces.AttemptFinished:
			parts = append(parts, part{e.Attempt.Task, e.Attempt.Number, e})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.task.Kind, b.task.Kind), cmp.Compare(a.task.Index, b.task.Index), cmp.Compare(a.number, b.number))
	})
	for _, p := range parts {
		job.add(p)
	}
	return job
}

// add adds the next event of the job's last task or of one behind it.
func (j *Job) add(p part) {
	if n := len(j.Tasks); n == 0 || j.Tasks[n-1].ID != p.task {
		j.Tasks = append(j.Tasks, &Task{ID: p.task})
	}
	t := j.Tasks[len(j.Tasks)-1]
	switch e := p.event.(type) {
	case *traces.TaskScheduled:
		t.Scheduled = e
	case *traces.TaskFinished:
		t.Finished = e
	case *traces.AttemptStarted:
		t.attempt(e.Attempt).Started = e
	case *traces.AttemptFinished:
		t.attempt(e.Attempt).Finished = e
	}
}

func (t *Task) attempt(id traces.Attempt) *Attempt {
	if n := len(t.Attempts); n == 0 || t.Attempts[n-1].ID != id {
		t.Attempts = append(t.Attempts, &Attempt{ID: id})
	}
	return t.Attempts[len(t.Attempts)-1]
}

// numbers gives names numbers from 1.
type numbers struct {
	of   map[string]uint64
	list []string
}

func (n *numbers) number(name string) uint64 {
	if name == "" {
		return 0
	}
	number, ok := n.of[name]
	if !ok {
		n.list = append(n.list, name)
		number = uint64(len(n.list))
		n.of[name] = number
	}
	return number
}

// read passes each event that belongs to a job, with the job's id, to the given
// function, until that function returns false or the trace ends.
func read(path string, without []traces.Kind, more func(traces.JobID, traces.Event) bool) error {
	in, err := tracefile.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Skip(traces.KindNodeSample, traces.KindBlockReplica, traces.KindBlockCached, traces.KindActuation, traces.KindHeartbeat)
	in.Skip(without...)
	for e := range in.All() {
		if e.Kind().IsSpark() {
			return fmt.Errorf("gather jobs: %w", traces.ErrSpark)
		}
		if id := traces.JobOf(e); id != "" && !more(id, e) {
			return nil
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("gather jobs: %w", err)
	}
	return nil
}
