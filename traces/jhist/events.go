package jhist

import (
	"cmp"
	"slices"

	"heddle/traces"
)

// Events converts a job into events of a trace, in the order of a finished
// trace. The argument startUnixNs is the time, in ns since 1970, that becomes
// Time 0. A history file has no cache levels, blocks, files and container
// sizes; these stay unknown, empty or 0.
//
// Attempts that never got a container are left out. The same is true for set-up
// and clean-up tasks of Hadoop 0.23, and for tasks and attempts whose ids do not
// have Hadoop's form.
func Events(j *Job, startUnixNs int64) []traces.Event {
	c := converter{job: j, id: traces.JobID(j.ID), start: startUnixNs, racks: j.Racks()}
	c.jobStart()
	for _, t := range j.Tasks {
		c.task(t)
	}
	c.jobEnd()
	traces.Sort(c.events)
	return c.events
}

type converter struct {
	job    *Job
	id     traces.JobID
	start  int64
	racks  map[string]string
	events []traces.Event
}

func (c *converter) add(e traces.Event) { c.events = append(c.events, e) }

// time converts a time of the history file, in ms since 1970, to a time of the
// trace. A time of 0 means "no time" and stays 0.
func (c *converter) time(ms int64) traces.Time {
	if ms <= 0 {
		return 0
	}
	return traces.Time(ms*1e6 - c.start)
}

func (c *converter) jobStart() {
	j := c.job
	c.add(&traces.JobSubmitted{
		T: c.time(cmp.Or(j.SubmitMs, j.LaunchMs)), Job: c.id, Name: j.Name, User: j.User, Queue: j.Queue, Priority: j.Priority,
		Maps: j.Maps, Reduces: j.Reduces,
	})
	if j.LaunchMs == 0 {
		return
	}
	e := &traces.JobStarted{T: c.time(j.LaunchMs), Job: c.id, AMAttempt: int32(len(j.AMHosts))}
	if n := len(j.AMHosts); n > 0 {
		e.AMNode = traces.Node(j.AMHosts[n-1])
	}
	c.add(e)
}

func (c *converter) jobEnd() {
	j := c.job
	if j.FinishMs == 0 {
		return
	}
	c.add(&traces.JobFinished{
		T: c.time(j.FinishMs), Job: c.id, Outcome: j.Outcome, Diagnostics: j.Diagnostics, Counters: j.Counters,
		DataLocalMaps: j.DataLocalMaps, RackLocalMaps: j.RackLocalMaps, OtherLocalMaps: j.OtherLocalMaps,
		LaunchedMaps: j.LaunchedMaps, LaunchedReds: j.LaunchedReduces,
	})
}

func (c *converter) task(t *Task) {
	id, err := traces.ParseTask(t.ID)
	if err != nil || id.Index >= maxIndex || t.Type != "MAP" && t.Type != "REDUCE" {
		return
	}
	// The start time of a task may be missing, for example in the history file of
	// a second ApplicationMaster. The earliest time of an attempt replaces it.
	start := t.StartMs
	for _, a := range t.Attempts {
		if at := cmp.Or(a.StartMs, a.FinishMs); start == 0 || at != 0 && at < start {
			start = at
		}
	}
	start = cmp.Or(start, t.FinishMs, c.job.LaunchMs)
	s := &traces.TaskScheduled{T: c.time(start), Task: id}
	for _, h := range t.SplitHosts {
		s.SplitHosts = append(s.SplitHosts, traces.Node(h))
	}
	c.add(s)

	// This end is only for attempts without an end time. A killed attempt may end
	// after its task, and even after the job.
	end := cmp.Or(t.FinishMs, c.job.FinishMs, start)
	for _, a := range t.Attempts {
		c.attempt(t, a, end)
	}
	if t.Status == "" {
		return
	}
	f := &traces.TaskFinished{T: c.time(end), Task: id, Outcome: outcome(t.Status), Winner: -1}
	if w, err := traces.ParseAttempt(t.Winner); err == nil && w.Number < maxIndex {
		f.Winner = w.Number
	} else if i := slices.IndexFunc(t.Attempts, func(a *Attempt) bool { return a.Status == "SUCCEEDED" }); i >= 0 &&
		f.Outcome == traces.Succeeded {
		if w, err := traces.ParseAttempt(t.Attempts[i].ID); err == nil && w.Number < maxIndex {
			f.Winner = w.Number // files of Hadoop 0.23 do not name the winner: take the first attempt that succeeded
		}
	}
	c.add(f)
}

// attempt adds the events of a task attempt to the trace. The argument fallback
// is the end time of an attempt whose end is not in the file.
func (c *converter) attempt(t *Task, a *Attempt, fallback int64) {
	id, err := traces.ParseAttempt(a.ID)
	if err != nil || max(id.Index, id.Number) >= maxIndex || a.Host == "" {
		return
	}
	level := c.job.Level(t, a, c.racks)
	if a.StartMs != 0 {
		c.add(&traces.AttemptStarted{
			T: c.time(a.StartMs), Attempt: id, Node: traces.Node(a.Host), Rack: cmp.Or(a.Rack, c.racks[a.Host]), Container: a.Container,
			SplitLocality: level, SampleAgeNs: -1, Speculative: a.Avataar == "SPECULATIVE",
		})
	}
	if a.Status == "" {
		return
	}
	f := &traces.AttemptFinished{
		T: c.time(max(cmp.Or(a.FinishMs, fallback), a.StartMs)), Attempt: id, Outcome: outcome(a.Status), Unlaunched: a.StartMs == 0,
		MapDone: c.time(a.MapFinishMs), ShuffleDone: c.time(a.ShuffleFinishMs), SortDone: c.time(a.SortFinishMs),
		Error: a.Error, Counters: a.Counters,
	}
	if f.Unlaunched {
		f.Node, f.SplitLocality = traces.Node(a.Host), level
	}
	c.add(f)
}

func outcome(status string) traces.Outcome {
	switch status {
	case "SUCCEEDED":
		return traces.Succeeded
	case "FAILED":
		return traces.Failed
	case "KILLED":
		return traces.Killed
	}
	return traces.Unfinished
}
