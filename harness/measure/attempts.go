package measure

import (
	"cmp"
	"math"
	"strings"

	"heddle/traces"
)

func (c *Collector) scheduled(e *traces.TaskScheduled) {
	j, live := c.alive(e.Task.Job)
	if e.Task.Kind == traces.Map {
		j.Maps++
		live.turn.mapsLeft++
		c.turned(j, live)
	} else {
		j.Reduces++
	}
	live.waiting[taskOf(e.Task)] = e.T
	if c.figures.Plan != nil && e.Task.Kind == traces.Map && len(e.SplitHosts) == 1 {
		if live.planned == nil {
			live.planned = map[task]traces.Node{}
		}
		live.planned[taskOf(e.Task)] = e.SplitHosts[0]
	}
}

func (c *Collector) started(e *traces.AttemptStarted) {
	j, live := c.alive(e.Attempt.Job)
	n := c.node(e.Node)
	if n.Attempts++; !c.begun {
		c.begun, c.ran[0] = true, e.T
	}
	if e.Rack != "" {
		n.Rack = e.Rack
	}
	c.startedAfter(n, e.T)
	wait := phaseReduceWait
	if e.Attempt.Kind == traces.Map {
		wait = phaseMapWait
		j.launchedMaps++
		j.SplitLocality.add(e.SplitLocality)
	} else {
		j.launchedReds++
	}
	j.ranFrom(e.T)
	x := taskOf(e.Attempt.Task)
	if since, ok := live.waiting[x]; ok {
		since = min(max(since, j.started), e.T) // before its master was up, nobody asked for a container
		c.phases[wait].Add(e.T - since)
		if wait == phaseMapWait {
			j.MapWaitMs += ms(e.T - since)
		}
		delete(live.waiting, x)
	}
	if c.schedule.AddEnded(e) { // its end was recorded before
		return
	}
	load := c.loads.Started(e.Node, e.T, j.Name, e.Attempt.Kind)
	a := attemptOf(e.Attempt)
	if _, again := live.running[a]; !again {
		c.runs(j, live, e.Attempt.Kind, n, 1)
	}
	live.running[a] = start{t: e.T, node: n, replica: e.ReplicaLocality, load: load}
}

func (c *Collector) finished(e *traces.AttemptFinished) {
	j, live := c.alive(e.Attempt.Job)
	kind := e.Attempt.Kind
	isMap := e.Attempt.Kind == traces.Map
	if e.Unlaunched && isMap {
		j.SplitLocality.add(e.SplitLocality)
	}
	a := attemptOf(e.Attempt)
	s, ran := live.running[a]
	delete(live.running, a)
	if !ran {
		c.schedule.Add(e)
	} else {
		c.schedule.Include(j.hash(a, s, e.T))
		c.runs(j, live, kind, s.node, -1)
		c.used(j, kind, s, e.T)
		c.loads.Ended(s.node.Node, s.load, s.t, e.T, e.Counters.CPUMs)
	}
	// the job's end was recorded before that of its last attempt, so its lists can be freed only now
	if j.hadoop != nil && len(live.running) == 0 {
		defer j.rest()
	}
	switch e.Outcome {
	case traces.Failed:
		j.Attempts.Failed++
		j.FirstError = cmp.Or(j.FirstError, e.Error)
		return
	case traces.Killed:
		lived := traces.Time(0)
		if ran {
			lived = max(0, e.T-s.t)
		}
		c.killed(j, lived, strings.HasPrefix(e.Error, traces.KilledByYARN))
		return
	case traces.Unfinished:
		return
	}
	j.Attempts.OK++
	j.Bytes.add(e.Counters.HDFSReadBytes, e.Counters.ShuffleBytes, e.Counters.HDFSWrittenBytes)
	if isMap {
		addTo(&j.Records.MapInput, e.Counters.InputRecords)
		addTo(&j.Records.MapOutput, e.Counters.OutputRecords)
	} else {
		addTo(&j.Records.ReduceOutput, e.Counters.OutputRecords)
	}
	if isMap {
		if e.Counters.CPUMs > 0 {
			c.figures.mapCPUMs, c.figures.mapCPUs = c.figures.mapCPUMs+float64(e.Counters.CPUMs), c.figures.mapCPUs+1
		}
		c.mapped(j, s.replica, e.Counters.HDFSReadBytes, e.T)
		c.asPlanned(live, taskOf(e.Attempt.Task), s.node)
	}
	if !ran {
		return
	}
	c.useful(j, kind, s.t, e.T)
	if isMap {
		c.mapDone(j, live, s.node)
		addTo(&j.MapTime, e.T-s.t)
		if e.Counters.MapOutputBytes > 0 {
			if live.put == nil {
				live.put = map[*Node]int64{}
			}
			live.put[s.node] = traces.AddCount(live.put[s.node], e.Counters.MapOutputBytes)
		}
		if e.MapDone != 0 {
			done := within(e.MapDone, s.t, e.T)
			c.phases[phaseMapRead].Add(done - s.t)
			c.phases[phaseMapMerge].Add(e.T - done)
		}
		return
	}
	c.reduced(j, live, s, e)
}

// killed counts an attempt that was killed.
func (c *Collector) killed(j *Job, lived traces.Time, preempted bool) {
	j.Attempts.Killed++
	c.figures.KilledMs += ms(lived)
	if preempted {
		j.Preempted++
		j.PreemptedMs += ms(lived)
	}
}

// hash returns the schedule digest of one attempt.
func (j *Job) hash(a attempt, s start, end traces.Time) (d traces.ScheduleDigest) {
	d.AddHashed(traces.HashName(string(j.ID)), a.kind(), int32(a[0]), int32(a[1]), traces.HashName(string(s.node.Node)), s.t, end)
	return d
}

// asPlanned counts a map for which the scheduler model planned a node. on is nil if it is not
// known where it ran.
func (c *Collector) asPlanned(live *liveJob, x task, on *Node) {
	n, ok := live.planned[x]
	if !ok {
		return
	}
	c.figures.Plan.Maps++
	if on != nil && on.Node == n {
		c.figures.Plan.OnNode++
	}
	delete(live.planned, x)
}

// reduced counts a reduce that succeeded.
func (c *Collector) reduced(j *Job, live *liveJob, s start, e *traces.AttemptFinished) {
	addTo(&j.ReduceTime, e.T-s.t)
	j.placed(live, s.node, e.Counters.ShuffleBytes)
	if e.ShuffleDone != 0 && e.SortDone != 0 {
		shuffled := within(e.ShuffleDone, s.t, e.T)
		sorted := within(e.SortDone, shuffled, e.T)
		c.phases[phaseShuffle].Add(shuffled - s.t)
		c.figures.shufflesMs += ms(max(0, shuffled-max(s.t, j.lastMap)))
		c.figures.shuffles++
		c.phases[phaseSort].Add(sorted - shuffled)
		c.phases[phaseReduceRun].Add(e.T - sorted)
	}
}

// mapped counts a map that succeeded by where its input was.
func (c *Collector) mapped(j *Job, level traces.Level, bytes int64, end traces.Time) {
	c.figures.Locality.Add(level)
	j.Locality.Add(level)
	c.figures.inputRead(level, bytes)
	j.lastMap = max(j.lastMap, end)
}

// useful counts the time of an attempt that succeeded.
func (c *Collector) useful(j *Job, kind traces.TaskKind, from, to traces.Time) {
	addTo(&c.usefulMiBMs, j.space(kind, to-from))
	if kind == traces.Map {
		j.longestMap = max(j.longestMap, to-from)
		c.phases[phaseMap].Add(to - from)
		return
	}
	c.phases[phaseReduce].Add(to - from)
	rest := to - max(from, min(j.lastMap, to))
	j.longestRest = max(j.longestRest, rest)
	c.reduceMs.Add(rest)
}

// within returns t, or the nearest time from start to end: phases end by the clock of another host
// than their attempt.
func within(t, start, end traces.Time) traces.Time { return max(start, min(t, end)) }

// used adds an attempt's duration to the busy time of its node. It also adds
// the container's memory times the duration to the sum over the cluster.
func (c *Collector) used(j *Job, kind traces.TaskKind, s start, until traces.Time) {
	c.ran[1] = max(c.ran[1], until)
	addTo(&s.node.busy, until-s.t)
	c.sizesKnown = c.sizesKnown && j.containerBytes[kind&1] > 0
	space := j.space(kind, until-s.t)
	addTo(&c.usedMiBMs, space)
	addTo(&j.UsedMiBMs, space)
}

// space returns the memory of a container of the job, in MiB, times a duration in
// ms. It is 0 if the memory is not known.
func (j *Job) space(kind traces.TaskKind, d traces.Time) int64 {
	ms, mib := d.Milliseconds(), j.containerBytes[kind&1]>>20
	if ms <= 0 || mib <= 0 {
		return 0
	}
	return ms * min(mib, math.MaxInt64/ms)
}
