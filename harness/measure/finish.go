package measure

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// Figures returns the figures of all events added so far. A task attempt that
// has not ended counts as running until the last event. Add must not be called
// after Figures.
func (c *Collector) Figures() *Figures {
	f := &c.figures
	begin, end := c.last, c.first
	var completion Completion
	for _, j := range f.JobList {
		f.Maps += j.Maps
		f.Reduces += j.Reduces
		f.Attempts.OK += j.Attempts.OK
		f.Attempts.Failed += j.Attempts.Failed
		f.Attempts.Killed += j.Attempts.Killed
		f.SplitLocality.Node += j.SplitLocality.Node
		f.SplitLocality.Rack += j.SplitLocality.Rack
		f.SplitLocality.Off += j.SplitLocality.Off
		f.SplitLocality.Unknown += j.SplitLocality.Unknown
		f.Fetched.add(j.Fetched)
		f.Bytes.add(j.Bytes.Input, j.Bytes.Shuffle, j.Bytes.Output)
		j.compare()
		begin = min(begin, j.submitted)
		if j.hadoop != nil {
			end = max(end, j.hadoop.T)
		}
		completion.Add(j.Outcome == traces.Succeeded, j.CompletionMs)
		c.close(j)
		if j.Spark != nil {
			for i := range j.Spark.Stages {
				x := &j.Spark.Stages[i]
				x.MedianMs, x.MaxMs, x.took = x.took.PercentileMs(50), x.took.PercentileMs(100), nil
			}
		}
	}
	f.Jobs = len(f.JobList)
	f.DurationMs, f.MakespanMs = ms(c.last-c.first), ms(max(0, end-begin))
	f.NotSucceeded = completion.Others
	f.StarvedMs = ms(c.starved.sum)
	if completion.Succeeded > 0 {
		f.MeanCompletionMs = completion.MeanMs()
	}
	for _, n := range f.Nodes {
		if c.last > c.first {
			n.MeanRunning = float64(n.busy) / float64(c.last-c.first)
		}
		n.CPUCores = -1
		if n.samples > 0 {
			n.CPUCores = n.cpu / float64(n.samples)
		}
	}
	f.CoreUsePct = coreUse(f.Nodes)
	f.perNode(c.ran[1] - c.ran[0])
	f.Load = c.loads.Loads()
	f.endSlowed()
	f.BoundMs, f.Estimates, f.Predictions = c.bound(begin), estimates(f.JobList), predictions(f.JobList)
	slices.SortFunc(f.Nodes, func(a, b *Node) int { return cmp.Compare(a.Node, b.Node) })
	f.UtilisationPct = -1
	offered := float64(c.workerMiB) * ms(end-begin)
	if c.offered.changed {
		offered = c.offered.mibMs
	}
	if c.sizesKnown && offered > 0 {
		f.UtilisationPct = 100 * float64(c.usedMiBMs) / offered
	}
	for i := range c.phases {
		if d := &c.phases[i]; d.Count() > 0 {
			f.Phases = append(f.Phases, Phase{phaseNames[i], d.Count(), d.MeanMs(), d.PercentileMs(50), d.PercentileMs(95), !d.Exact()})
		}
	}
	f.maps, f.reduceRests = &c.phases[phaseMap], &c.reduceMs
	f.Decisions.end(c.undecided)
	f.ScheduleDigest = c.schedule.Digest().String()
	if c.digest != nil {
		f.TraceDigest = c.digest.String()
	}
	f.Classify(SizeClasses())
	return f
}

// bound returns a lower bound of the makespan in ms (see Figures.BoundMs).
func (c *Collector) bound(begin traces.Time) float64 {
	least := 0.0
	if c.sizesKnown && c.workerMiB > 0 {
		least = float64(c.usefulMiBMs) / float64(c.workerMiB)
	}
	for _, j := range c.figures.JobList {
		if j.longestMap+j.longestRest > 0 {
			least = max(least, ms(j.submitted-begin+j.longestMap+j.longestRest))
		}
	}
	return least
}

// coreUse returns the percentage of the workers' cores that were busy, -1 if it
// is not known of any worker.
func coreUse(nodes []*Node) float64 {
	busy, cores := 0.0, 0.0
	for _, n := range nodes {
		if n.worker && n.samples > 0 && n.cores > 0 {
			busy, cores = busy+n.CPUCores, cores+n.cores
		}
	}
	if cores == 0 {
		return -1
	}
	return 100 * busy / cores
}

// loadAt is a load average.
type loadAt struct {
	t    traces.Time
	load float64
}

// averaged takes a load average from the first attempt on into account.
func (n *Node) averaged(x loadAt) {
	if n.loads == 0 {
		n.ends[0] = x
	}
	n.load, n.loads, n.ends[1] = n.load+x.load, n.loads+1, x
}

// perNode sets the metrics of workers. A load average L of one minute follows the number a
// of tasks that run or wait for a core or disk, as dL/dt = (a - L)/60 s. So the mean of a is
// that of L plus 60 s times what L has grown by, over the time.
func (f *Figures) perNode(span traces.Time) {
	workers, tasks, load, loads, runnable, sampled := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for _, n := range f.Nodes {
		if !n.worker {
			continue
		}
		workers, tasks, load, loads = workers+1, tasks+float64(n.busy), load+n.load, loads+n.loads
		if sec := float64(n.ends[1].t-n.ends[0].t) / 1e9; sec > 0 {
			sampled++
			runnable += n.load/n.loads + 60*(n.ends[1].load-n.ends[0].load)/sec
		}
	}
	f.nodeTasks, f.nodeLoad, f.nodeRunnable = tasks/workers/float64(span), load/loads, runnable/sampled
}

// inputRead counts bytes that a successful map read, with the level of its input.
func (f *Figures) inputRead(level traces.Level, bytes int64) {
	if bytes <= 0 {
		return
	}
	if f.InputByLevel == nil {
		f.InputByLevel = &ByLevel{}
	}
	addTo(f.InputByLevel.at(level), bytes)
}

// close adds the durations of those attempts of the job that have not ended, up
// to the trace's last event.
func (c *Collector) close(j *Job) {
	if j.live == nil {
		return
	}
	for a, s := range j.live.running {
		// Only whole numbers are added up here, so Go's random order of the map
		// does not change the result.
		c.used(j, a.kind(), s, c.last)
		c.schedule.Include(j.hash(a, s, traces.NoEnd))
	}
}

// compare checks the figures computed from a trace: it compares sums over the
// job's attempts with Hadoop's own counters of the job. Hadoop counts bytes of
// successful attempts only, but locality of all attempts that got a container.
func (j *Job) compare() {
	j.CompletionMs = -1
	if j.hadoop == nil {
		return
	}
	j.Outcome, j.CompletionMs = j.hadoop.Outcome, ms(j.hadoop.T)-j.SubmitMs
	for _, v := range []struct {
		name         string
		hadoop, ours int64
	}{
		{"DATA_LOCAL_MAPS", j.hadoop.DataLocalMaps, int64(j.SplitLocality.Node)},
		{"RACK_LOCAL_MAPS", j.hadoop.RackLocalMaps, int64(j.SplitLocality.Rack)},
		{"OTHER_LOCAL_MAPS", j.hadoop.OtherLocalMaps, int64(j.SplitLocality.Off)},
		{"TOTAL_LAUNCHED_MAPS", j.hadoop.LaunchedMaps, j.launchedMaps},
		{"TOTAL_LAUNCHED_REDUCES", j.hadoop.LaunchedReds, j.launchedReds},
		{"HDFS_BYTES_READ", j.hadoop.Counters.HDFSReadBytes, j.Bytes.Input},
		{"HDFS_BYTES_WRITTEN", j.hadoop.Counters.HDFSWrittenBytes, j.Bytes.Output},
		{"REDUCE_SHUFFLE_BYTES", j.hadoop.Counters.ShuffleBytes, j.Bytes.Shuffle},
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
