package calibration

import (
	"errors"
	"fmt"
	"math"
	"time"

	"heddle/harness/config"
	"heddle/harness/loadfit"
	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
)

// Replay runs a trace again under the model that it was recorded with, with computing
// times of the calibration, and returns the trace of that.
type Replay func(*recorded.Trace, *Calibration, uint64) (*recorded.Trace, error)

// Fit fits a Calibration to traces, which should be from one cluster. From the
// argument cluster, it takes the rates, the machine's cores and the heartbeat
// interval of ApplicationMasters, where the traces do not give them.
//
// The computing time of an attempt is its duration, without the time that its input
// alone takes on the known links and disks. Attempts on a node share its cores
// evenly, as in the simulator: an attempt that has half a core for one second has
// computed for half a second. The shared cores are those that are known, unless the
// traces tell otherwise, see fitSharing.
// Each trace is then replayed, and the fit is corrected until attempts take as long
// as in the trace.
//
// Fit does not use values that a trace's header marks as made up, nor means
// that are not credible. A warning then says so, and the simulator's default stays.
func Fit(list []*recorded.Trace, cluster recorded.Change, fetches string, again Replay) (*Calibration, error) {
	c, err := calibrateCosts(list, cluster)
	if err != nil {
		return nil, err
	}
	c.Fetches = fetches
	c.fitSharing(list, cluster.HostCores)
	fits := c.fitRates(list, &cluster)
	c.fitTaskStart(list)
	c.fitWorkloads(list)
	// an infinite misfit means that a replay failed; the calibration's warnings say why
	if misfit := c.correct(list, fits, again); !math.IsInf(misfit, 1) {
		c.MisfitPct = 100 * misfit
	}
	c.keepCPU(list)
	return c, nil
}

// FitOne fits a Calibration to one trace alone, for replays of the same trace.
// Replays with recorded durations need only Hadoop's own costs, such as JVM starts. If
// the trace has too many tasks to be replayed several times, as the other fits need, or
// applications of Spark, which they do not know, only these costs are fitted.
func FitOne(t *recorded.Trace, modelled bool, again Replay) (*Calibration, error) {
	if modelled && !workloadCost.measuredIn(t) {
		return nil, fmt.Errorf("calibrate: trace %s: the durations of its tasks were made up, so nothing can be fitted to them; replay it "+
			"with recorded durations, or with a calibration fitted to measured runs", t.Name)
	}
	if !modelled && (t.Tasks() > correctable || len(t.ExecutorAskMs) > 0) {
		return calibrateCosts([]*recorded.Trace{t}, recorded.Change{})
	}
	return Fit([]*recorded.Trace{t}, recorded.Change{}, "", again)
}

// calibrateCosts returns a Calibration with Hadoop's own costs, such as JVM starts,
// which do not depend on the workload. It also has the rates and cores that the
// argument cluster gives.
func calibrateCosts(list []*recorded.Trace, cluster recorded.Change) (*Calibration, error) {
	c := &Calibration{
		Format: calibrationFormat, LinkBytesPerSec: int64(cluster.Link.Rate),
		UplinkBytesPerSec: int64(cluster.Uplink.Rate), DiskBytesPerSec: int64(cluster.Disk.Rate),
		AMBeatMs: whole(time.Duration(cluster.AMHeartbeat).Seconds() * 1000),
	}
	if len(list) == 0 {
		return nil, errors.New("calibrate: no trace is given")
	}
	for _, t := range list {
		c.Traces = append(c.Traces, t.Name)
		c.AMMemoryMB = max(c.AMMemoryMB, t.AMMemoryMB())
	}
	c.Warnings = madeUp(list)
	c.fitCosts(list)
	var loads loadfit.Fit
	for _, t := range loadCost.measured(list) {
		loads.Add(&t.Loads)
	}
	c.Load = loads.Loads()
	return c, nil
}

// fitCosts fits those costs of Hadoop itself, such as JVM starts, that do not depend
// on the workload.
func (c *Calibration) fitCosts(list []*recorded.Trace) {
	var start, finish, turn, label []float64
	for _, t := range amStartCost.measured(list) {
		start = append(start, amStarts(t)...)
	}
	for _, t := range finishCost.measured(list) {
		for _, j := range t.Jobs {
			if end := j.LastEnd(); end > 0 && j.Finished >= end {
				finish = append(finish, float64(j.Finished-end)/1e6)
			}
		}
	}
	waits := 0.0
	for _, t := range labelCost.measured(list) {
		if t.Header.Actuator == config.ActuatorLabels && t.Header.Origin == traces.Measured {
			for _, d := range t.Decisions {
				label = append(label, float64(d.GrantedAt-d.T)/1e6)
			}
		}
	}
	able := turnoverCost.measured(list)
	for _, t := range able {
		turn = append(turn, t.Turnovers()...)
	}
	for _, f := range []struct {
		figure  *Figure
		cost    *cost
		samples []float64
	}{{&c.AMStart, &amStartCost, start}, {&c.Finish, &finishCost, finish}, {&c.Turnover, &turnoverCost, turn}, {&c.Label, &labelCost, label}} {
		var refused string
		if *f.figure, refused = f.cost.fit(f.samples); refused != "" {
			c.Warnings = append(c.Warnings, refused)
		}
	}
	for _, t := range able {
		waits += c.waits(t) / float64(len(able))
	}
	c.LaunchMs = max(0, c.Turnover.Value-waits)
	if c.Label.Samples > 0 {
		for i := range spreadPoints {
			c.LabelQuantiles = append(c.LabelQuantiles, whole(stats.Quantile(label, float64(i)/(spreadPoints-1))))
		}
	}
}

// amStarts returns the time, in ms, from each job's submission until its
// ApplicationMaster was up.
func amStarts(t *recorded.Trace) (ms []float64) {
	for _, j := range t.Jobs {
		if j.Started > j.T {
			ms = append(ms, float64(j.Started-j.T)/1e6)
		}
	}
	return ms
}

// firstStarts returns the time, in ms, from when an ApplicationMaster was up until its job's
// first attempt started, for each job that had the cluster for itself until then.
func firstStarts(t *recorded.Trace) (ms []float64) {
	before := traces.Time(0) // by when the jobs before had ended
	for i, j := range t.Jobs {
		first := j.FirstStart()
		if j.Started > 0 && first >= j.Started && before <= j.T && (i+1 == len(t.Jobs) || t.Jobs[i+1].T >= first) {
			ms = append(ms, float64(first-j.Started)/1e6)
		}
		if before = max(before, j.Finished); j.Finished == 0 {
			break
		}
	}
	return ms
}

// The method waits returns the mean time, in ms, that passes between two attempts in
// the same container room because of intervals that the simulator computes itself: the
// NodeManager's heartbeat, the change of a node's label, and the ApplicationMaster's
// heartbeat.
func (c *Calibration) waits(t *recorded.Trace) float64 {
	node, am, async := c.beats(t, t.Header.Actuator)
	ms := float64(am) / 2
	if async > 0 {
		ms += float64(async) / 2
	} else {
		ms += float64(node) / 2
	}
	if t.Header.Actuator == config.ActuatorLabels {
		ms += c.Label.Value
	}
	return ms
}

// The function figure returns the mean of the samples, the number of samples, and
// their mean distance from the mean.
func figure(xs []float64) Figure {
	f := Figure{Samples: len(xs)}
	for _, x := range xs {
		f.Value += x / float64(len(xs))
	}
	for _, x := range xs {
		f.Error += math.Abs(x-f.Value) / float64(len(xs))
	}
	return f
}

func median(xs []float64) float64 { return stats.Quantile(xs, 0.5) }

const spreadPoints = 21

// startStepMs is the step, in ms, between the JVM start times that the fit tries.
const startStepMs = 100

// longestStartMs is the longest JVM start time, in ms, that the fit tries.
const longestStartMs = 30_000

// fitTaskStart fits how long the JVM of an attempt takes to start. Hadoop's counters of
// CPU time begin once the JVM has started, so that this is what a map computed by the
// clock and not by its counter. The median of the workload with the least counts, up to
// mostStartMs: maps may also have waited for a disk that nobody knows, or slept, and such
// waits do not belong to every attempt.
//
// Without counters, it is the time that makes a workload's reduces most alike in their
// remaining time. The remaining time counts from the end of the JVM's start or of the
// job's last map, whichever is later. Either is at most as long as the shortest attempt.
func (c *Calibration) fitTaskStart(list []*recorded.Trace) {
	list = taskStartCost.measured(list)
	if c.TaskStart = c.startByCounters(list); c.TaskStart.Samples == 0 {
		c.TaskStart = startByReduces(list)
	}
}

// mostStartMs is the longest start, in ms of a core, that counters tell. On a lab all
// containers took 1.4 to 1.6 s.
const mostStartMs = 3000

func (c *Calibration) startByCounters(list []*recorded.Trace) (least Figure) {
	shortest := math.Inf(1)
	starts := map[string][]float64{}
	for _, t := range list {
		shortest = min(shortest, t.ShortestMs())
		for _, s := range computed(t, c.shared(), 0, c.readMs(t)) {
			if s.kind == traces.Map && s.cpuMs > 0 {
				starts[s.workload] = append(starts[s.workload], max(0, s.ms-s.cpuMs))
			}
		}
	}
	for _, name := range sortedKeys(starts) {
		of := starts[name]
		if ms := median(of); len(of) >= 4 && (least.Samples == 0 || ms < least.Value) {
			least = Figure{Value: min(ms, shortest, mostStartMs), Samples: len(of), Error: stats.Deviation(of)}
		}
	}
	return least
}

func startByReduces(list []*recorded.Trace) (start Figure) {
	type reduce struct{ leadMs, tookMs float64 }
	of := map[string][]reduce{}
	most, n := math.Inf(1), 0
	for _, t := range list {
		most = min(most, t.ShortestMs())
		for _, j := range t.Jobs {
			last := j.LastMap()
			for i := range j.Tasks[traces.Reduce] {
				if a := j.Tasks[traces.Reduce][i].Won; a != nil && a.End > max(a.Start, last) && last > 0 {
					lead := max(0, float64(last-a.Start)/1e6)
					of[j.Kind()] = append(of[j.Kind()], reduce{lead, float64(a.End-max(a.Start, last)) / 1e6})
					n++
				}
			}
		}
	}
	if n < 4 {
		return start
	}
	least := math.Inf(1)
	for ms := 0.0; ms <= min(most, longestStartMs); ms += startStepMs {
		rest := 0.0
		for _, name := range sortedKeys(of) {
			var left []float64
			for _, r := range of[name] {
				left = append(left, r.tookMs-max(0, ms-r.leadMs))
			}
			mean := stats.Mean(left).Value
			for _, x := range left {
				rest += (x - mean) * (x - mean)
			}
		}
		if rest < 0.98*least {
			least = rest
			start = Figure{Value: ms, Samples: n, Error: math.Sqrt(rest / float64(n))}
		}
	}
	return start
}
