package summary

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// collector takes events in and keeps what is under way.
type collector struct {
	info      *Info
	jobs      map[traces.JobID]*Job
	nodes     map[traces.Node]*Node
	waiting   map[traces.Task]traces.Time // scheduled, no attempt yet
	running   map[traces.Attempt]start
	decisions map[int64]decision
	planned   map[traces.Task]traces.Node // nil: splits were not planned
	latencies []traces.Time
	phases    [phaseCount][]traces.Time
	schedule  traces.Schedule
	digest    *traces.TraceDigest
	first     traces.Time
	last      traces.Time
}

type decision struct {
	t         traces.Time
	predicted int32 // map, -1 none
}

type start struct {
	t       traces.Time
	node    traces.Node
	replica traces.Level
}

const (
	phaseMapWait = iota
	phaseMapRead
	phaseMapMerge
	phaseMap
	phaseReduceWait
	phaseShuffle
	phaseSort
	phaseReduceRun
	phaseReduce
	phaseCount
)

var phaseNames = [phaseCount]string{
	"map: wait for container", "map: read and map", "map: merge", "map: whole attempt",
	"reduce: wait for container", "reduce: shuffle", "reduce: sort", "reduce: reduce and write", "reduce: whole attempt",
}

func (c *collector) add(e traces.Event) {
	t := e.At()
	if c.info.Events == 0 {
		c.first, c.last = t, t
	}
	c.first, c.last = min(c.first, t), max(c.last, t)
	c.info.Events++
	c.schedule.Add(e)
	c.digest.Add(e)
	switch e := e.(type) {
	case *traces.NodeUp:
		c.node(e.Node).Rack = e.Rack
	case *traces.NodeSample:
		n := c.node(e.Node)
		if e.CPUUser >= 0 && e.CPUSystem >= 0 {
			n.cpu += e.CPUUser + e.CPUSystem
			n.samples++
		}
	case *traces.JobSubmitted:
		j := c.job(e.Job)
		j.Name, j.SubmitMs = e.Name, ms(e.T)
		if e.Workload != "" {
			j.Name = e.Workload
		}
	case *traces.JobFinished:
		end := *e
		c.job(e.Job).end = &end
	case *traces.TaskScheduled:
		if j := c.job(e.Task.Job); e.Task.Kind == traces.Map {
			j.Maps++
		} else {
			j.Reduces++
		}
		c.waiting[e.Task] = t
		if c.planned != nil && e.Task.Kind == traces.Map && len(e.SplitHosts) == 1 {
			c.planned[e.Task] = e.SplitHosts[0]
		}
	case *traces.AttemptStarted:
		c.started(e)
	case *traces.AttemptFinished:
		c.finished(e)
	case *traces.Decision:
		c.info.Decisions.Made++
		c.decisions[e.ID] = decision{e.T, e.BindIndex}
	case *traces.Actuation:
		if e.Outcome != "honoured" {
			return
		}
		c.info.Decisions.Honoured++
		d, ok := c.decisions[e.Decision]
		if !ok {
			return
		}
		if e.Bound.Job != "" && e.Bound.Index == d.predicted {
			c.info.Decisions.BindPredicted++
		}
		c.latencies = append(c.latencies, max(e.GrantedAt-d.t, 0))
	}
}

func (c *collector) started(e *traces.AttemptStarted) {
	j, n := c.job(e.Attempt.Job), c.node(e.Node)
	n.Attempts++
	if e.Rack != "" {
		n.Rack = e.Rack
	}
	wait := phaseReduceWait
	if e.Attempt.Kind == traces.Map {
		wait = phaseMapWait
		j.launchedMaps++
		j.SplitLocality.add(e.SplitLocality)
	} else {
		j.launchedReds++
	}
	if since, ok := c.waiting[e.Attempt.Task]; ok {
		c.phase(wait, since, e.T)
		delete(c.waiting, e.Attempt.Task)
	}
	c.running[e.Attempt] = start{e.T, e.Node, e.ReplicaLocality}
}

func (c *collector) finished(e *traces.AttemptFinished) {
	j := c.job(e.Attempt.Job)
	isMap := e.Attempt.Kind == traces.Map
	if e.Unlaunched && isMap {
		j.SplitLocality.add(e.SplitLocality)
	}
	s, ran := c.running[e.Attempt]
	delete(c.running, e.Attempt)
	if ran {
		c.node(s.node).ran(s.t, e.T)
	}
	switch e.Outcome {
	case traces.Failed:
		j.Attempts.Failed++
		return
	case traces.Killed:
		j.Attempts.Killed++
		return
	case traces.Unfinished:
		return
	}
	j.Attempts.OK++
	j.Bytes.add(e.Counters.HDFSReadBytes, e.Counters.ShuffleBytes, e.Counters.HDFSWrittenBytes)
	if isMap {
		c.info.Locality.add(s.replica)
	}
	if n, ok := c.planned[e.Attempt.Task]; ok && isMap {
		c.info.Plan.Maps++
		if ran && s.node == n {
			c.info.Plan.OnNode++
		}
		delete(c.planned, e.Attempt.Task)
	}
	if !ran {
		return
	}
	if isMap {
		c.phase(phaseMap, s.t, e.T)
		if e.MapDone != 0 {
			c.phase(phaseMapRead, s.t, e.MapDone)
			c.phase(phaseMapMerge, e.MapDone, e.T)
		}
		return
	}
	c.phase(phaseReduce, s.t, e.T)
	if e.ShuffleDone != 0 && e.SortDone != 0 {
		c.phase(phaseShuffle, s.t, e.ShuffleDone)
		c.phase(phaseSort, e.ShuffleDone, e.SortDone)
		c.phase(phaseReduceRun, e.SortDone, e.T)
	}
}

func (c *collector) finish() *Info {
	info := c.info
	for _, j := range info.JobList {
		info.Maps += j.Maps
		info.Reduces += j.Reduces
		info.Attempts.OK += j.Attempts.OK
		info.Attempts.Failed += j.Attempts.Failed
		info.Attempts.Killed += j.Attempts.Killed
		info.SplitLocality.Node += j.SplitLocality.Node
		info.SplitLocality.Rack += j.SplitLocality.Rack
		info.SplitLocality.Off += j.SplitLocality.Off
		info.SplitLocality.Unknown += j.SplitLocality.Unknown
		info.Bytes.add(j.Bytes.Input, j.Bytes.Shuffle, j.Bytes.Output)
		j.compare()
	}
	info.Jobs = len(info.JobList)
	info.DurationMs = ms(c.last - c.first)
	for _, s := range c.running {
		// Sums of whole numbers: the order of the map does not matter.
		c.node(s.node).ran(s.t, c.last)
	}
	for _, n := range info.Nodes {
		if c.last > c.first {
			n.MeanRunning = float64(n.busy) / float64(c.last-c.first)
		}
		n.CPUCores = -1
		if n.samples > 0 {
			n.CPUCores = n.cpu / float64(n.samples)
		}
	}
	slices.SortFunc(info.Nodes, func(a, b *Node) int { return cmp.Compare(a.Node, b.Node) })
	for i, times := range c.phases {
		if len(times) > 0 {
			slices.Sort(times)
			info.Phases = append(info.Phases, Phase{phaseNames[i], len(times), quantile(times, 50), quantile(times, 95)})
		}
	}
	if len(c.latencies) > 0 {
		slices.Sort(c.latencies)
		info.Decisions.P50Ms, info.Decisions.P95Ms = quantile(c.latencies, 50), quantile(c.latencies, 95)
	}
	info.ScheduleDigest, info.TraceDigest = c.schedule.Digest().String(), c.digest.String()
	return info
}

// compare holds the attempts' sums against Hadoop's counters. Hadoop's totals
// are of the attempts that succeeded, its locality of all that were assigned.
func (j *Job) compare() {
	j.CompletionMs = -1
	if j.end == nil {
		return
	}
	j.Outcome, j.CompletionMs = j.end.Outcome, ms(j.end.T)-j.SubmitMs
	for _, v := range []struct {
		name         string
		hadoop, ours int64
	}{
		{"DATA_LOCAL_MAPS", j.end.DataLocalMaps, int64(j.SplitLocality.Node)},
		{"RACK_LOCAL_MAPS", j.end.RackLocalMaps, int64(j.SplitLocality.Rack)},
		{"OTHER_LOCAL_MAPS", j.end.OtherLocalMaps, int64(j.SplitLocality.Off)},
		{"TOTAL_LAUNCHED_MAPS", j.end.LaunchedMaps, j.launchedMaps},
		{"TOTAL_LAUNCHED_REDUCES", j.end.LaunchedReds, j.launchedReds},
		{"HDFS_BYTES_READ", j.end.Counters.HDFSReadBytes, j.Bytes.Input},
		{"HDFS_BYTES_WRITTEN", j.end.Counters.HDFSWrittenBytes, j.Bytes.Output},
		{"REDUCE_SHUFFLE_BYTES", j.end.Counters.ShuffleBytes, j.Bytes.Shuffle},
	} {
		if v.hadoop < 0 {
			continue
		}
		j.Compared++
		if v.hadoop != v.ours {
			j.Differences = append(j.Differences, fmt.Sprintf("%s %d, attempts %d", v.name, v.hadoop, v.ours))
		}
	}
}

func (c *collector) job(id traces.JobID) *Job {
	j := c.jobs[id]
	if j == nil {
		j = &Job{ID: id}
		c.jobs[id] = j
		c.info.JobList = append(c.info.JobList, j)
	}
	return j
}

func (c *collector) node(name traces.Node) *Node {
	n := c.nodes[name]
	if n == nil {
		n = &Node{Node: name}
		c.nodes[name] = n
		c.info.Nodes = append(c.info.Nodes, n)
	}
	return n
}

// ran takes in that an attempt ran on the node.
func (n *Node) ran(from, to traces.Time) {
	n.busy = traces.Time(traces.AddCount(int64(n.busy), int64(to-from)))
}

func (b *Bytes) add(input, shuffle, output int64) {
	b.Input = traces.AddCount(b.Input, input)
	b.Shuffle = traces.AddCount(b.Shuffle, shuffle)
	b.Output = traces.AddCount(b.Output, output)
}

// phase notes a duration; clocks of two machines may make it negative.
func (c *collector) phase(which int, from, to traces.Time) {
	c.phases[which] = append(c.phases[which], max(to-from, 0))
}

func (l *Locality) add(level traces.Level) {
	switch level {
	case traces.LevelCache:
		l.Cache++
	case traces.LevelNode:
		l.Node++
	case traces.LevelRack:
		l.Rack++
	case traces.LevelOff:
		l.Off++
	default:
		l.Unknown++
	}
}

func (l *SplitLocality) add(level traces.Level) {
	switch level {
	case traces.LevelNode:
		l.Node++
	case traces.LevelRack:
		l.Rack++
	case traces.LevelOff:
		l.Off++
	default:
		l.Unknown++
	}
}

// quantile is the least of the sorted times that percent of them do not exceed.
func quantile(sorted []traces.Time, percent int) float64 {
	return ms(sorted[max((len(sorted)*percent+99)/100-1, 0)])
}

func ms(t traces.Time) float64 { return float64(t) / 1e6 }
