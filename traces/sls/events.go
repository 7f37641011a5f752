package sls

import (
	"fmt"

	"heddle/traces"
	"heddle/traces/internal/members"
)

// Events gives add the events of the job at hand, and of its copies. Where the
// file has no time for a container, it starts when the job does. It ends at
// add's first error.
//
// A container's host is taken for where its attempt ran, and for the one host
// of its split.
func (r *Reader) Events(add func(traces.Event) error) error {
	c := converter{Reader: r, add: add}
	for range r.job.Count {
		id := r.job.ID
		if id == "" {
			id = fmt.Sprintf("job_0_%04d", len(r.seen)+1)
		}
		if r.job.Count == 1 {
			id = r.unique(id)
		} else {
			id = r.copyID(id)
		}
		if r.err != nil {
			return r.err
		}
		if c.job(traces.JobID(id)); c.err != nil {
			return c.err
		}
	}
	return nil
}

// copyID is an id for one of several copies of a job; SLS makes up their ids.
func (r *Reader) copyID(id string) string {
	again := id
	for r.seen[again] > 0 {
		r.seen[id]++
		again = fmt.Sprintf("%s.%d", id, r.seen[id])
	}
	r.seen[again]++
	return again
}

// Scheduled is true once a container's start had to be made up.
func (r *Reader) Scheduled() bool { return r.madeUp }

type converter struct {
	*Reader
	add func(traces.Event) error
	err error
}

func (c *converter) emit(e traces.Event) {
	if c.err == nil {
		c.err = c.add(e)
	}
}

func nanos(ms int64) traces.Time { return traces.Time(ms * 1e6) }

func (c *converter) job(id traces.JobID) {
	j := &c.Reader.job
	s := &traces.JobSubmitted{T: nanos(j.StartMs), Job: id, User: j.User, Queue: j.Queue, MapLabel: j.Label, ReduceLabel: j.Label}
	for i := range j.Tasks {
		t := &j.Tasks[i]
		count, memory, vcores := &s.Maps, &s.MapMemoryBytes, &s.MapVCores
		if t.Kind == traces.Reduce {
			count, memory, vcores = &s.Reduces, &s.ReduceMemoryBytes, &s.ReduceVCores
		}
		*count += int32(t.Count)
		*memory = max(*memory, t.MemoryMB<<20)
		*vcores = max(*vcores, int32(t.VCores))
	}
	c.emit(s)
	own := append([]byte(nil), j.Members...)
	end := j.StartMs
	next := [2]int32{}
	for i := range j.Tasks {
		t := &j.Tasks[i]
		for range t.Count {
			task := traces.Task{Job: id, Kind: t.Kind, Index: next[t.Kind]}
			next[t.Kind]++
			end = max(end, c.task(t, task, s))
		}
	}
	if j.EndMs >= j.StartMs && j.EndMs >= 0 {
		end = j.EndMs
	} else {
		own = append(members.AppendKey(own, "job.end.ms"), "null"...)
	}
	if len(own) > 0 {
		c.emit(&traces.Source{T: s.T, Form: "sls", About: traces.Attempt{Task: traces.Task{Job: id, Index: -1}, Number: -1}, Members: string(own)})
	}
	c.emit(&traces.JobFinished{
		T: nanos(end), Job: id, Outcome: traces.Succeeded, Counters: traces.NoCounters,
		DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1,
	})
}

// task adds a task with its one attempt, and gives its end.
func (c *converter) task(t *Task, id traces.Task, s *traces.JobSubmitted) int64 {
	own := append([]byte(nil), t.Members...)
	asked := c.Reader.job.StartMs + t.DelayMs
	start := t.StartMs
	if start < 0 {
		c.madeUp = true
		start = asked
		own = append(members.AppendKey(own, "container.start.ms"), "null"...)
	}
	memory, vcores := s.MapMemoryBytes, s.MapVCores
	if id.Kind == traces.Reduce {
		memory, vcores = s.ReduceMemoryBytes, s.ReduceVCores
	}
	own = size(own, "container.memory-mb", t.MemoryMB, memory>>20)
	own = size(own, "container.vcores", t.VCores, int64(vcores))
	if t.DelayMs > 0 {
		own = members.AppendInt(own, "container.request.delay", t.DelayMs)
	}
	end := start + t.DurationMs
	e := &traces.TaskScheduled{T: nanos(min(asked, start)), Task: id}
	level := traces.LevelUnknown
	if t.Host != "" && id.Kind == traces.Map {
		e.SplitHosts = []traces.Node{traces.Node(t.Host)}
		level = traces.LevelNode
	}
	attempt := traces.Attempt{Task: id}
	c.emit(e)
	if len(own) > 0 {
		c.emit(&traces.Source{T: e.T, Form: "sls", About: traces.Attempt{Task: id, Number: -1}, Members: string(own)})
	}
	c.emit(&traces.AttemptStarted{T: nanos(start), Attempt: attempt, Node: traces.Node(t.Host), Rack: t.Rack, SplitLocality: level, SampleAgeNs: -1})
	c.emit(&traces.AttemptFinished{T: nanos(end), Attempt: attempt, Outcome: traces.Succeeded, Counters: traces.NoCounters})
	c.emit(&traces.TaskFinished{T: nanos(end), Task: id, Outcome: traces.Succeeded})
	return end
}

// size notes a container's size where it is not its job's.
func size(own []byte, key string, has, job int64) []byte {
	switch {
	case has == job || has < 0 && job == 0:
		return own
	case has < 0:
		return append(members.AppendKey(own, key), "null"...)
	}
	return members.AppendInt(own, key, has)
}
