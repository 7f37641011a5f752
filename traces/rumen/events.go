package rumen

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
	"heddle/traces/internal/members"
	"heddle/traces/mend"
)

var (
	noTime       = mend.Kind{Wrong: "a job without any time", Done: "left out"}
	noSubmit     = mend.Kind{Wrong: "a job without a time of submission", Done: "taken as submitted at its first other time"}
	lateSubmit   = mend.Kind{Wrong: "a job submitted after a task of its own starts", Done: "taken as submitted with that"}
	noJobEnd     = mend.Kind{Wrong: "a job with an outcome and no end", Done: "taken as ending with its last task"}
	endFirst     = mend.Kind{Wrong: "an attempt that ends before it starts", Done: "taken as ending at its start"}
	taskEndFirst = mend.Kind{Wrong: "a task that ends before it starts", Done: "taken as ending at its start"}
	jobEndFirst  = mend.Kind{Wrong: "a job that ends before it is submitted", Done: "taken as ending at its submission"}
	lateTask     = mend.Kind{Wrong: "a task that starts after an attempt of its own", Done: "taken as starting with it"}
	noTaskEnd    = mend.Kind{Wrong: "a task with an outcome and no end", Done: "taken as ending with its last attempt"}
	noTryEnd     = mend.Kind{Wrong: "an attempt with an outcome and no end", Done: "taken as ending with its task"}
	emptyTry     = mend.Kind{Wrong: "an attempt without times and outcome", Done: "left out"}
	undated      = mend.Kind{Wrong: "a time before 1973 in a job with dates", Done: "taken as unknown"}
	hugeTotal    = mend.Kind{Wrong: "a number of tasks over the limit", Done: "taken as the number of those listed"}
)

// priorities are Hadoop's, as YARN numbers them from 1.
var priorities = []string{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"}

// Events turns the job at hand into trace events; a T is the time since 1970,
// or whatever the trace counts from. Split locality is told from a map's host
// and its split's hosts. The Reader should KeepRest.
func (r *Reader) Events() ([]traces.Event, error) {
	c := converter{Reader: r, id: traces.JobID(r.job.ID)}
	err := c.convert()
	return c.events, err
}

type converter struct {
	*Reader
	id      traces.JobID
	submit  int64
	members []byte
	events  []traces.Event
	err     error
}

func (c *converter) add(e traces.Event) { c.events = append(c.events, e) }

func nanos(ms int64) traces.Time { return traces.Time(ms * 1e6) }

func (c *converter) mend(kind mend.Kind, about string) {
	if c.err == nil {
		c.err = c.log.Add(kind, at(c.job.Offset), about)
	}
}

// member notes what an export would not find out itself.
func (c *converter) member(key string, value int64) {
	c.members = members.AppendInt(c.members, key, value)
}

// source ends the members of a job, task or attempt.
func (c *converter) source(t traces.Time, about traces.Attempt, rest []byte) {
	if c.members = members.Join(c.members, rest); len(c.members) > 0 {
		c.add(&traces.Source{T: t, Form: "rumen", About: about, Members: string(c.members)})
	}
	c.members = c.members[:0]
}

func (c *converter) convert() error {
	j := &c.job
	c.submit = j.SubmitMs
	if c.submit >= datedMs {
		c.dropUndated()
	}
	first := c.earliest()
	switch {
	case c.submit < 0 && first < 0:
		c.mend(noTime, j.ID)
		return c.err
	case c.submit < 0:
		c.mend(noSubmit, j.ID)
		c.submit = first
	case first >= 0 && first < c.submit:
		c.mend(lateSubmit, j.ID)
		c.submit = first
	}
	if c.submit != j.SubmitMs {
		c.member("submitTime", j.SubmitMs)
	}
	c.jobStart()
	for i := range j.Maps {
		c.task(&j.Maps[i], traces.Map)
	}
	for i := range j.Reduces {
		c.task(&j.Reduces[i], traces.Reduce)
	}
	if j.FinishMs >= 0 || j.Outcome != traces.Unfinished {
		c.jobEnd()
	}
	return c.err
}

// datedMs is where times are taken for dates: 1973.
const datedMs = 1e11

// dropUndated takes times that are no dates, such as 0 for none, out of a job
// that has dates.
func (c *converter) dropUndated() {
	j := &c.job
	drop := func(ms *int64) {
		if *ms >= 0 && *ms < datedMs {
			c.mend(undated, fmt.Sprintf("%s: %d", j.ID, *ms))
			*ms = Unknown
		}
	}
	drop(&j.LaunchMs)
	drop(&j.FinishMs)
	for _, tasks := range [][]Task{j.Maps, j.Reduces} {
		for i := range tasks {
			t := &tasks[i]
			drop(&t.StartMs)
			drop(&t.FinishMs)
			for k := range t.Attempts {
				a := &t.Attempts[k]
				drop(&a.StartMs)
				drop(&a.FinishMs)
				drop(&a.ShuffleMs)
				drop(&a.SortMs)
			}
		}
	}
}

// earliest is the first time of the job's, Unknown where there is none.
func (c *converter) earliest() int64 {
	first := int64(Unknown)
	take := func(ms int64) {
		if ms >= 0 && (first < 0 || ms < first) {
			first = ms
		}
	}
	take(c.job.LaunchMs)
	for _, tasks := range [][]Task{c.job.Maps, c.job.Reduces} {
		for i := range tasks {
			take(tasks[i].StartMs)
			for k := range tasks[i].Attempts {
				take(tasks[i].Attempts[k].StartMs)
			}
		}
	}
	if first < 0 {
		take(c.job.FinishMs)
	}
	return first
}

func (c *converter) jobStart() {
	j := &c.job
	e := &traces.JobSubmitted{
		T: nanos(c.submit), Job: c.id, Name: j.Name, User: j.User, Queue: j.Queue,
		Maps: c.total("totalMaps", j.TotalMaps, len(j.Maps)), Reduces: c.total("totalReduces", j.TotalReduces, len(j.Reduces)),
		Priority: int32(slices.Index(priorities, j.Priority) + 1),
	}
	if e.Priority == 0 && j.Priority != "" {
		c.members = members.AppendString(c.members, "priority", j.Priority)
	}
	c.add(e)
	if j.FinishMs < 0 && j.Outcome != traces.Unfinished {
		c.mend(noJobEnd, j.ID)
		c.member("finishTime", Unknown)
	}
	c.source(e.T, traces.Attempt{Task: traces.Task{Job: c.id, Index: -1}, Number: -1}, j.Rest)
	if j.LaunchMs >= 0 {
		c.add(&traces.JobStarted{T: nanos(j.LaunchMs), Job: c.id})
	}
}

func (c *converter) total(key string, n int64, listed int) int32 {
	if n >= 0 && n < maxIndex {
		return int32(n)
	}
	if n >= 0 {
		c.mend(hugeTotal, fmt.Sprintf("%s %s %d", c.job.ID, key, n))
	} else {
		c.member(key, Unknown)
	}
	return int32(listed)
}

func (c *converter) jobEnd() {
	j := &c.job
	end := j.FinishMs
	if end < 0 {
		end = c.submit
		for _, tasks := range [][]Task{j.Maps, j.Reduces} {
			for i := range tasks {
				end = max(end, tasks[i].FinishMs)
			}
		}
	}
	if end < c.submit {
		c.mend(jobEndFirst, j.ID)
		end = c.submit
	}
	c.add(&traces.JobFinished{
		T: nanos(end), Job: c.id, Outcome: j.Outcome, Counters: traces.NoCounters,
		DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1,
	})
}

func (c *converter) task(t *Task, kind traces.TaskKind) {
	id := traces.Task{Job: c.id, Kind: kind, Index: t.Index}
	start, end := t.StartMs, t.FinishMs
	for i := range t.Attempts {
		if s := t.Attempts[i].StartMs; s >= 0 && (start < 0 || s < start) {
			start = s
		}
	}
	if start < 0 {
		start = max(c.job.LaunchMs, c.submit)
	}
	if start != t.StartMs {
		if t.StartMs >= 0 {
			c.mend(lateTask, id.String())
		}
		c.member("startTime", t.StartMs)
	}
	if end < 0 && t.Outcome != traces.Unfinished {
		c.mend(noTaskEnd, id.String())
		c.member("finishTime", Unknown)
		end = start
		for i := range t.Attempts {
			end = max(end, t.Attempts[i].FinishMs)
		}
	}
	if end >= 0 && end < start {
		c.mend(taskEndFirst, id.String())
		end = start
	}
	s := &traces.TaskScheduled{T: nanos(start), Task: id}
	for _, h := range t.Hosts {
		s.SplitHosts = append(s.SplitHosts, traces.Node(c.hosts[h].Name))
	}
	if kind == traces.Map {
		s.LengthBytes = max(t.InputBytes, 0)
	}
	c.add(s)

	winner := int32(-1)
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Outcome == traces.Succeeded {
			winner = a.Number
		}
	}
	own := totalsOf(t, winner, kind)
	for i, v := range own {
		if has := *t.total(i); has != v {
			c.member(totalNames[i], has)
		}
	}
	c.source(s.T, traces.Attempt{Task: id, Number: -1}, t.Rest)
	for i := range t.Attempts {
		c.attempt(t, &t.Attempts[i], id, cmp.Or(max(end, 0), start))
	}
	if end >= 0 {
		f := &traces.TaskFinished{T: nanos(end), Task: id, Outcome: t.Outcome, Winner: -1}
		if t.Outcome == traces.Succeeded {
			f.Winner = winner
		}
		c.add(f)
	}
}

var totalNames = [4]string{"inputBytes", "inputRecords", "outputBytes", "outputRecords"}

func (t *Task) total(i int) *int64 {
	return [4]*int64{&t.InputBytes, &t.InputRecords, &t.OutputBytes, &t.OutputRecords}[i]
}

// totalsOf is what a task's input and output are by the attempt that succeeded.
func totalsOf(t *Task, winner int32, kind traces.TaskKind) [4]int64 {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		switch {
		case a.Number != winner:
		case kind == traces.Map:
			return [4]int64{a.HDFSReadBytes, a.MapInputRecords, a.FileWrittenBytes, a.MapOutputRecords}
		default:
			return [4]int64{a.ShuffleBytes, a.ReduceInputRecords, a.HDFSWrittenBytes, a.ReduceOutputRecords}
		}
	}
	return [4]int64{Unknown, Unknown, Unknown, Unknown}
}

// attempt adds an attempt; fallback is the end of one that has an outcome and
// no end.
func (c *converter) attempt(t *Task, a *Attempt, task traces.Task, fallback int64) {
	id := traces.Attempt{Task: task, Number: a.Number}
	if a.StartMs < 0 && a.FinishMs < 0 && a.Outcome == traces.Unfinished {
		c.mend(emptyTry, id.String())
		return
	}
	level := c.level(t, a, task.Kind)
	host := c.hosts[a.Host]
	if host.Name != "" && host.Rack == "" {
		c.members = members.AppendString(c.members, "hostName", host.Name)
	}
	if a.StartMs >= 0 {
		c.add(&traces.AttemptStarted{
			T: nanos(a.StartMs), Attempt: id, Node: traces.Node(host.Name), Rack: host.Rack, SplitLocality: level, SampleAgeNs: -1,
		})
	}
	counters := traces.Counters{
		HDFSReadBytes: a.HDFSReadBytes, HDFSWrittenBytes: a.HDFSWrittenBytes, FileReadBytes: a.FileReadBytes, FileWrittenBytes: a.FileWrittenBytes,
		ShuffleBytes: a.ShuffleBytes, MapOutputBytes: a.MapOutputBytes, InputRecords: a.MapInputRecords, OutputRecords: a.MapOutputRecords,
		SpilledRecords: a.SpilledRecords, CPUMs: a.CPUMs, GCMs: -1, PhysicalBytes: a.PhysicalBytes,
	}
	if task.Kind == traces.Reduce {
		counters.InputRecords, counters.OutputRecords = a.ReduceInputRecords, a.ReduceOutputRecords
		c.other("mapInputRecords", a.MapInputRecords)
		c.other("mapOutputRecords", a.MapOutputRecords)
	} else {
		c.other("reduceInputRecords", a.ReduceInputRecords)
		c.other("reduceOutputRecords", a.ReduceOutputRecords)
	}
	end := a.FinishMs
	if end < 0 && a.Outcome != traces.Unfinished {
		c.mend(noTryEnd, id.String())
		c.member("finishTime", Unknown)
		end = max(fallback, a.StartMs)
	}
	if end >= 0 && end < a.StartMs {
		c.mend(endFirst, id.String())
		end = a.StartMs
	}
	if end >= 0 {
		f := &traces.AttemptFinished{
			T: nanos(end), Attempt: id, Outcome: a.Outcome, Unlaunched: a.StartMs < 0, Counters: counters,
			ShuffleDone: nanos(max(a.ShuffleMs, 0)), SortDone: nanos(max(a.SortMs, 0)),
		}
		if f.Unlaunched {
			f.Node, f.SplitLocality = traces.Node(host.Name), level
		}
		c.add(f)
	}
	c.source(nanos(max(a.StartMs, end, 0)), id, a.Rest)
}

// other notes a count that attempts of the kind do not have.
func (c *converter) other(key string, n int64) {
	if n != Unknown {
		c.member(key, n)
	}
}

// level is a map's split locality by its host and its split's hosts. It is
// unknown where a missing rack decides between rack and off.
func (c *converter) level(t *Task, a *Attempt, kind traces.TaskKind) traces.Level {
	if kind != traces.Map || a.Host == 0 || len(t.Hosts) == 0 {
		return traces.LevelUnknown
	}
	name := c.hosts[a.Host].Name
	if slices.ContainsFunc(t.Hosts, func(h HostID) bool { return c.hosts[h].Name == name }) {
		return traces.LevelNode
	}
	rack, level := c.rack(a.Host), traces.LevelOff
	for _, h := range t.Hosts {
		switch of := c.rack(h); {
		case of == "" || rack == "":
			level = traces.LevelUnknown
		case of == rack:
			return traces.LevelRack
		}
	}
	return level
}

// rack is a host's rack, from elsewhere where the trace names the host alone.
func (c *converter) rack(id HostID) string {
	h := c.hosts[id]
	return cmp.Or(h.Rack, c.Racks.Of(h.Name))
}
