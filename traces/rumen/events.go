package rumen

import (
	"cmp"
	"fmt"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

var (
	noTime       mend.Kind = "a job without any time: left out (job)"
	noSubmit     mend.Kind = "a job without a time of submission: taken as submitted at its first other time"
	lateSubmit   mend.Kind = "a job submitted after a task of its own starts: taken as submitted with that"
	noJobEnd     mend.Kind = "a job with an outcome and no end: taken as ending with its last task"
	taskEndFirst mend.Kind = "a task that ends before it starts: taken as ending at its start"
	jobEndFirst  mend.Kind = "a job that ends before it is submitted: taken as ending at its submission"
	lateTask     mend.Kind = "a task that starts after an attempt of its own: taken as starting with it"
	noTaskEnd    mend.Kind = "a task with an outcome and no end: taken as ending with its last attempt"
	noTryEnd     mend.Kind = "an attempt with an outcome and no end: taken as ending with its task"
	emptyTry     mend.Kind = "an attempt without times and outcome: left out (part)"
	undated      mend.Kind = "a time before 1973 in a job with dates: taken as unknown"
	hugeTotal    mend.Kind = "a number of tasks over the limit: taken as the number of those listed"
)

// events returns the events of the current job. Their times are those of the
// file. A map's split locality is computed from its host and the hosts of its
// split.
func (r *reader) events() ([]traces.Event, error) {
	c := converter{reader: r, id: traces.JobID(r.job.ID), clocks: format.Clocks{}}
	c.convert()
	return c.list, c.err
}

// converter converts one job of a Rumen file into events of a trace.
type converter struct {
	*reader
	id     traces.JobID
	submit millis
	clocks format.Clocks
	list   []traces.Event
	err    error // error for the first defect of the job; set only if the import is strict and accepts no defect
}

func (c *converter) add(e traces.Event) { c.list = append(c.list, e) }

func (m millis) time() traces.Time { return traces.Time(m) * 1e6 }

func (c *converter) mend(kind mend.Kind, about string) {
	if c.err == nil {
		c.err = c.in.Mend(kind, about)
	}
}

func (c *converter) convert() {
	j := &c.job
	c.submit = j.Submit
	if c.submit >= datedMs {
		c.dropUndated()
	}
	first := c.earliest()
	switch {
	case c.submit < 0 && first < 0:
		c.mend(noTime, j.ID)
		return
	case c.submit < 0:
		c.mend(noSubmit, j.ID)
		c.submit = first
	case first >= 0 && first < c.submit:
		c.mend(lateSubmit, j.ID)
		c.submit = first
	}
	for _, tasks := range [...][]task{j.Maps, j.Reduces} {
		for i := range tasks {
			for k := range tasks[i].Attempts {
				a := &tasks[i].Attempts[k]
				c.clocks.See(a.host(), int64(a.Start), int64(a.Finish), int64(a.Shuffled), int64(a.Sorted))
			}
		}
	}
	c.jobStart()
	for i := range j.Maps {
		c.task(&j.Maps[i], traces.Map)
	}
	for i := range j.Reduces {
		c.task(&j.Reduces[i], traces.Reduce)
	}
	if j.Finish >= 0 || j.Outcome != outcome(traces.Unfinished) {
		c.jobEnd()
	}
}

// datedMs is a time in 1973, in ms since 1970. If a job's submission time is
// greater, its times count from 1970; otherwise they count from some other
// start.
const datedMs = 1e11

// times passes all times of the job, its tasks and its attempts to the given
// function, except the job's submission time.
func (j *job) times(each func(*millis)) {
	each(&j.Launch)
	each(&j.Finish)
	for _, tasks := range [...][]task{j.Maps, j.Reduces} {
		for i := range tasks {
			t := &tasks[i]
			each(&t.Start)
			each(&t.Finish)
			for k := range t.Attempts {
				a := &t.Attempts[k]
				each(&a.Start)
				each(&a.Finish)
				each(&a.Shuffled)
				each(&a.Sorted)
			}
		}
	}
}

// dropUndated removes times before 1973 from a job whose times count from 1970.
// Some files have 0 for an unknown time.
func (c *converter) dropUndated() {
	c.job.times(func(ms *millis) {
		if *ms >= 0 && *ms < datedMs {
			c.mend(undated, fmt.Sprintf("%s: %d", c.job.ID, *ms))
			*ms = unknown
		}
	})
}

// earliest returns the earliest start time of the job, its tasks and its
// attempts. If no start is known, it returns the job's end time, which may be
// unknown too.
func (c *converter) earliest() millis {
	first := c.job.Launch
	take := func(ms millis) {
		if ms >= 0 && (first < 0 || ms < first) {
			first = ms
		}
	}
	for _, tasks := range [...][]task{c.job.Maps, c.job.Reduces} {
		for i := range tasks {
			take(tasks[i].Start)
			for k := range tasks[i].Attempts {
				take(tasks[i].Attempts[k].Start)
			}
		}
	}
	if first < 0 {
		take(c.job.Finish)
	}
	return first
}

func (c *converter) jobStart() {
	j := &c.job
	p := &j.Properties
	e := &traces.JobSubmitted{
		T: c.submit.time(), Job: c.id, Name: j.Name, User: j.User, Queue: j.Queue, Priority: format.Priority(j.Priority),
		Maps: c.total("totalMaps", j.TotalMaps, len(j.Maps)), Reduces: c.total("totalReduces", j.TotalReduces, len(j.Reduces)),
	}
	format.Properties(e, p.MapMB, p.ReduceMB, p.MapVCores, p.ReduceVCores, p.SlowStart)
	c.add(e)
	if j.Finish < 0 && j.Outcome != outcome(traces.Unfinished) {
		c.mend(noJobEnd, j.ID)
	}
	if j.Launch >= 0 {
		c.add(&traces.JobStarted{T: j.Launch.time(), Job: c.id})
	}
}

func (c *converter) total(key string, n number, listed int) int32 {
	switch {
	case n < 0:
		return int32(listed)
	case n >= maxIndex:
		c.mend(hugeTotal, fmt.Sprintf("%s %s %d", c.job.ID, key, n))
		return int32(listed)
	}
	return int32(n)
}

func (c *converter) jobEnd() {
	j := &c.job
	end := j.Finish
	if end < 0 {
		end = c.submit
		for _, tasks := range [...][]task{j.Maps, j.Reduces} {
			for i := range tasks {
				end = max(end, tasks[i].Finish)
			}
		}
	}
	if end < c.submit {
		c.mend(jobEndFirst, j.ID)
		end = c.submit
	}
	c.add(traces.Uncounted(end.time(), c.id, traces.Outcome(j.Outcome)))
}

func (c *converter) task(t *task, kind traces.TaskKind) {
	id := traces.Task{Job: c.id, Kind: kind, Index: t.ID.index}
	start, end := t.Start, t.Finish
	lastEnd := millis(unknown)
	winner := int32(-1)
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Start >= 0 && (start < 0 || a.Start < start) {
			start = a.Start
		}
		lastEnd = max(lastEnd, a.Finish)
		if a.Outcome == outcome(traces.Succeeded) {
			winner = a.ID.number
		}
	}
	if start < 0 {
		start = max(c.job.Launch, c.submit)
	}
	if t.Start >= 0 && start != t.Start {
		c.mend(lateTask, id.String())
	}
	if end < 0 && t.Outcome != outcome(traces.Unfinished) {
		c.mend(noTaskEnd, id.String())
		end = max(start, lastEnd)
	}
	if end >= 0 && end < start {
		c.mend(taskEndFirst, id.String())
		end = start
	}
	s := &traces.TaskScheduled{T: start.time(), Task: id}
	for _, h := range t.Hosts {
		s.SplitHosts = append(s.SplitHosts, traces.Node(h.Name))
	}
	if kind == traces.Map {
		s.LengthBytes = int64(max(t.InputBytes, 0))
	}
	c.add(s)
	for i := range t.Attempts {
		c.attempt(t, &t.Attempts[i], id, cmp.Or(max(end, 0), start))
	}
	if end >= 0 {
		f := &traces.TaskFinished{T: end.time(), Task: id, Outcome: traces.Outcome(t.Outcome), Winner: -1}
		if f.Outcome == traces.Succeeded {
			f.Winner = winner
		}
		c.add(f)
	}
}

// attempt adds the events of an attempt of the task t. The argument fallback is
// the end time of an attempt that has an outcome but no end in the file.
func (c *converter) attempt(t *task, a *attempt, of traces.Task, fallback millis) {
	id := traces.Attempt{Task: of, Number: a.ID.number}
	if a.Start < 0 && a.Finish < 0 && a.Outcome == outcome(traces.Unfinished) {
		c.mend(emptyTry, id.String())
		return
	}
	if a.Host.Name == "" {
		a.Host = host(a.Location)
	}
	if a.Outcome == outcome(traces.Succeeded) && a.Start < 0 {
		c.mend(format.NoStart, id.String())
		if a.Start = t.Start; a.Start < 0 {
			a.Start = a.Finish
		}
	}
	if j := &c.job; a.Outcome == j.Outcome && j.Outcome == outcome(traces.Succeeded) && j.Finish >= 0 && a.Finish > j.Finish {
		c.mend(format.JobEndFirst, id.String())
	}
	level, node := c.level(t, a, of.Kind), traces.Node(a.Host.Name)
	if a.Start >= 0 {
		c.add(&traces.AttemptStarted{
			T: a.Start.time(), Attempt: id, Node: node, Rack: a.Host.Rack, SplitLocality: level, SampleAgeNs: -1,
		})
	}
	end := c.end(a, id, fallback)
	if end < 0 {
		return
	}
	if c.clocks.Fit(a.host(), int64(a.Start), int64(end), (*int64)(&a.Shuffled), (*int64)(&a.Sorted)) {
		c.mend(format.PhasesOutside, id.String())
	}
	f := &traces.AttemptFinished{
		T: end.time(), Attempt: id, Outcome: traces.Outcome(a.Outcome), Unlaunched: a.Start < 0, Counters: traces.NoCounters,
		ShuffleDone: max(a.Shuffled, 0).time(), SortDone: max(a.Sorted, 0).time(),
	}
	for _, p := range a.counters(of.Kind, &f.Counters) {
		*p[1] = *p[0]
	}
	if f.Counters.HDFSReadBytes < 0 {
		f.Counters.HDFSReadBytes = int64(a.MapInputBytes) // of other file systems, Rumen has only this
	}
	if f.Unlaunched {
		f.Node, f.SplitLocality = node, level
	}
	c.add(f)
}

// end returns when an attempt ended, and -1 if it did not.
func (c *converter) end(a *attempt, id traces.Attempt, fallback millis) millis {
	end := a.Finish
	if end < 0 && a.Outcome != outcome(traces.Unfinished) {
		c.mend(noTryEnd, id.String())
		end = max(fallback, a.Start)
	}
	if end >= 0 && end < a.Start {
		c.mend(format.EndFirst, id.String())
		end = a.Start
	}
	return end
}

// host returns the name of the attempt's host.
func (a *attempt) host() string { return cmp.Or(a.Host.Name, a.Location.Name) }

// counters returns pairs of pointers: the first points to a counter of the
// attempt in Rumen's file, the second to the same counter of a trace.
func (a *attempt) counters(kind traces.TaskKind, c *traces.Counters) [][2]*int64 {
	records, written := &a.MapInputRecords, &a.MapOutputRecords
	if kind == traces.Reduce {
		records, written = &a.ReduceInputRecords, &a.ReduceOutputRecords
	}
	pairs := [][2]*int64{
		{(*int64)(&a.HDFSBytesRead), &c.HDFSReadBytes},
		{(*int64)(&a.HDFSBytesWritten), &c.HDFSWrittenBytes},
		{(*int64)(&a.FileBytesRead), &c.FileReadBytes},
		{(*int64)(&a.FileBytesWritten), &c.FileWrittenBytes},
		{(*int64)(&a.ReduceShuffleBytes), &c.ShuffleBytes},
		{(*int64)(&a.MapOutputBytes), &c.MapOutputBytes},
		{(*int64)(records), &c.InputRecords},
		{(*int64)(written), &c.OutputRecords},
		{(*int64)(&a.SpilledRecords), &c.SpilledRecords},
	}
	if a.Usage != nil {
		pairs = append(pairs, [2]*int64{(*int64)(&a.Usage.CPUMs), &c.CPUMs}, [2]*int64{(*int64)(&a.Usage.PhysicalBytes), &c.PhysicalBytes})
	}
	return pairs
}

// level returns the split locality of a map's attempt, and LevelUnknown for a
// reduce.
func (c *converter) level(t *task, a *attempt, kind traces.TaskKind) traces.Level {
	if kind != traces.Map || a.Host.Name == "" || len(t.Hosts) == 0 {
		return traces.LevelUnknown
	}
	return format.SplitLevel(location(a.Host), t.Hosts, func(h location) string { return h.Name }, c.rack)
}

// rack returns a host's rack. If the location does not name the rack, another
// place in the input files may have named it.
func (c *converter) rack(h location) string { return cmp.Or(h.Rack, c.Racks.Of(h.Name)) }
