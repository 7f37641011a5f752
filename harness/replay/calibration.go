package replay

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/sim"
	"heddle/traces"
)

// Calibration is what measured traces say about the costs of tasks and of Hadoop
// itself, such as JVM starts. Times are in milliseconds. The computing time of an
// attempt is what it would take alone on its node.
type Calibration struct {
	Format int `json:"format"`
	// Traces are the names of the traces that the calibration was fitted to.
	Traces []string `json:"traces"`
	// Sharing is how many cores the attempts on a node share, as a fraction of the
	// node's cores in the trace. 0 means that attempts do not slow each other down.
	Sharing float64 `json:"sharing"`
	// HostCores is how many cores the attempts on all nodes share; the field Sharing
	// is then ignored. 0 means that attempts share cores only with others on their
	// node. It is fitted if the nodes are known to be on one machine.
	HostCores float64 `json:"hostCores,omitempty"`
	// SharingSpread is the coefficient of variation of the maps' computing times, for
	// each way of sharing cores (value of Sharing or HostCores) that was tried.
	SharingSpread map[string]float64 `json:"sharingSpread"`
	// MisfitPct is the error of replays in the mean map time of the fitted traces,
	// as the root mean square over traces, in percent; 0 if no trace was replayed.
	MisfitPct float64 `json:"misfitPct"`

	// Rates of disks and links, and the heartbeat interval of ApplicationMasters, if
	// no trace gives them; 0 means unknown.
	LinkBytesPerSec   int64 `json:"linkBytesPerSec,omitempty"`
	UplinkBytesPerSec int64 `json:"uplinkBytesPerSec,omitempty"`
	DiskBytesPerSec   int64 `json:"diskBytesPerSec,omitempty"`
	AMBeatMs          int32 `json:"amHeartbeatMs,omitempty"`
	// FittedRates names the rates of disks and links that were fitted; the other
	// rates were given.
	FittedRates []string `json:"fittedRates,omitempty"`

	// AMStart is the time from a job's submission to its ApplicationMaster's first
	// container request. Finish is the time from the end of the last task to the end
	// of the job. Turnover is the time from an attempt's end until another attempt
	// starts with the memory and cores of the ended one, while tasks wait.
	AMStart  Figure `json:"amStartMs"`
	Finish   Figure `json:"finishMs"`
	Turnover Figure `json:"turnoverMs"`
	// TaskStart is how long the JVM of an attempt takes to start, before the attempt
	// reads any input. It is fitted to reduces: the time that they take after their
	// job's last map contains the JVM's start only if they were launched after that
	// map.
	TaskStart Figure `json:"taskStartMs"`
	// LaunchMs is the time, in ms, to free the memory and cores of an ended container
	// and to launch the next one there. It is the part of Turnover that the simulator
	// does not compute itself.
	LaunchMs float64 `json:"launchMs"`
	// Label is the time from a scheduling decision to its container, if decisions are
	// carried out by node labels. LabelQuantiles are evenly spaced quantiles of this
	// time, from the shortest to the longest.
	Label          Figure  `json:"labelMs"`
	LabelQuantiles []int32 `json:"labelQuantilesMs,omitempty"`

	Workloads []Workload `json:"workloads"`
	Warnings  []string   `json:"warnings,omitempty"`
}

// calibrationFormat is the version of the calibration file. Files of a higher
// version are refused.
const calibrationFormat = 1

// Figure is a mean that was fitted to measurements, with their number.
type Figure struct {
	Value float64 `json:"value"`
	// Samples is the number of measured values; 0 means that Value is a default.
	Samples int `json:"samples"`
	// Error is the mean distance of the measured values from their mean, which is
	// Value.
	Error float64 `json:"error"`
}

// Workload has the costs of the tasks of one kind of job, such as sort.
type Workload struct {
	Workload string `json:"workload"`
	Jobs     int    `json:"jobs"`
	// MapOutputPerByte is how many bytes the reduces fetch for each byte that the
	// maps read. ReduceOutputPerByte is how many bytes the reduces write for each
	// byte that they fetch.
	MapOutputPerByte    float64 `json:"mapOutputPerByte"`
	ReduceOutputPerByte float64 `json:"reduceOutputPerByte"`
	Map                 Phase   `json:"map"`
	// Reduce is the computing time of a reduce, without the start of its JVM and the
	// wait for the last map.
	Reduce Phase `json:"reduce"`
}

// Phase is the computing time of a workload's maps or reduces: a fixed time plus a
// time for each MiB.
type Phase struct {
	Samples   int     `json:"samples"`
	FixedMs   float64 `json:"fixedMs"`
	MsPerMiB  float64 `json:"msPerMiB"`
	ErrorPct  float64 `json:"errorPct"`  // mean difference, in percent, between attempts' computing times and the fitted line
	SharedPct float64 `json:"sharedPct"` // by how many percent attempts took longer because they shared cores with others
	// Spread has the quantiles, evenly spaced from minimum to maximum, of the ratio
	// of attempts' computing times to the fitted time. The ratio's mean is 1.
	Spread []float64 `json:"spread"`
	// Levels is, by locality level, how much longer maps took than maps whose input
	// was on their node: the ratio of medians.
	Levels map[string]Figure `json:"levels,omitempty"`
	// Corrected is the factor by which the fitted times were corrected, so that
	// replays of the calibration's traces take as long as those traces.
	Corrected float64 `json:"corrected"`
}

// Uncalibrated returns a Calibration for workloads that were not measured. Hadoop's
// own costs, such as the start of a JVM, have the simulator's defaults. Tasks share
// the cores of their node if the cluster says how many it has. Computing times differ
// by a typical spread if a workload has none.
func Uncalibrated(c traces.ClusterFacts, workloads ...Workload) *Calibration {
	x := &Calibration{
		Format: calibrationFormat, HostCores: c.HostCores, TaskStart: Figure{Value: float64(sim.DefaultCosts().TaskStartMs)},
		Workloads: slices.Clone(workloads), Warnings: []string{"nothing was measured: these are typical costs"},
	}
	if x.HostCores == 0 {
		x.Sharing = 1
	}
	for i := range x.Workloads {
		for _, p := range []*Phase{&x.Workloads[i].Map, &x.Workloads[i].Reduce} {
			if p.Spread == nil {
				p.Spread = typicalSpread()
			}
		}
	}
	return x
}

// The method at returns the computing time, in ms, of an attempt that reads this
// number of bytes.
func (p *Phase) at(bytes int64) float64 { return p.FixedMs + p.MsPerMiB*float64(bytes)/(1<<20) }

// The method wholeMs returns the computing time of an attempt as at does, in whole ms.
func (p *Phase) wholeMs(bytes int64) int32 {
	return int32(min(max(1, math.Round(p.at(bytes))), math.MaxInt32/2))
}

// The method ratios returns Spread in the simulator's form.
func (p *Phase) ratios() []sim.Ratio { return ratios(p.Spread) }

func ratios(quantiles []float64) []sim.Ratio {
	var list []sim.Ratio
	for _, q := range quantiles {
		list = append(list, sim.Ratio(min(max(0, math.Round(q*float64(sim.RatioOne))), math.MaxUint32)))
	}
	return list
}

func (c *Calibration) workload(name string) *Workload {
	for i := range c.Workloads {
		if c.Workloads[i].Workload == name {
			return &c.Workloads[i]
		}
	}
	return nil
}

func (c *Calibration) names() string {
	var names []string
	for _, w := range c.Workloads {
		names = append(names, strconv.Quote(w.Workload))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// limit sets the cores, disks and links that tasks share in the simulation. The
// number of cores is the calibrated one. Rates come from the calibration if neither
// the trace nor the Change gives one. If tasks take their recorded durations, these
// already contain the effect of shared cores.
func (c *Calibration) limit(x *sim.Machines, of *Config) {
	rates := of.Modelled || len(of.Trace.List) == 0 // without a calibration, the rates of disks and links for a job list are in the list's rules
	for i := range x.Nodes {
		n := &x.Nodes[i]
		if rates && !of.Change.Link.Given && n.LinkBytesPerSec == 0 {
			n.LinkBytesPerSec = c.LinkBytesPerSec
		}
		if rates && !of.Change.Disk.Given && n.DiskBytesPerSec == 0 {
			n.DiskBytesPerSec = c.DiskBytesPerSec
		}
	}
	for i := range x.Racks {
		if r := &x.Racks[i]; rates && !of.Change.Uplink.Given && r.UplinkBytesPerSec == 0 {
			r.UplinkBytesPerSec = c.UplinkBytesPerSec
		}
	}
	if of.Modelled && len(of.Change.Cores) == 0 {
		x.HostCores = c.HostCores
	}
	for i := range x.Nodes {
		if len(of.Change.Cores) > 0 && of.computes() {
			continue // keep the number of cores that the replay's Change gives for this node
		}
		if of.Modelled {
			x.Nodes[i].Cores = c.Sharing * coresOf(x.Nodes[i].Cores)
		} else {
			x.Nodes[i].Cores = 0
		}
	}
}

// coresOf returns the node's cores, or 1 if the trace does not give them.
func coresOf(cores float64) float64 {
	if cores > 0 {
		return cores
	}
	return 1
}

// costs returns the simulator's costs: those that were fitted, and defaults for the
// others.
func (c *Config) costs(actuator string) sim.Costs {
	x, f := sim.DefaultCosts(), c.Calibration
	x.NodeBeatMs, x.AMBeatMs, x.AsyncMs = f.beats(c.Trace, actuator)
	if beat := time.Duration(c.Change.NMHeartbeat); beat > 0 {
		x.NodeBeatMs = whole(beat.Seconds() * 1000)
	}
	if beat := time.Duration(c.Change.AMHeartbeat); beat > 0 {
		x.AMBeatMs = whole(beat.Seconds() * 1000)
	}
	if f.AMStart.Samples > 0 {
		x.SubmitMs, x.AMStartMs = 0, whole(f.AMStart.Value)
	}
	if f.Finish.Samples > 0 {
		x.FinishMs = whole(f.Finish.Value)
	}
	if len(f.LabelQuantiles) > 0 {
		x.LabelMs = f.LabelQuantiles
	}
	if f.Turnover.Samples > 0 {
		x.LaunchMs = whole(f.LaunchMs)
	}
	if c.Modelled {
		// These costs are 0 because the fitted computing times of attempts already
		// contain them.
		x.TaskStartMs, x.CommitMs, x.FetchMs = whole(f.TaskStart.Value), 0, 0
	} else if c.computes() { // these costs are 0 because the times that the job list's rules give already contain them
		x.TaskStartMs, x.CommitMs, x.FetchMs = 0, 0, 0
	} else { // the JVM's start takes no extra time here, because recorded durations contain it
		x.TaskStartMs = 0
	}
	return x
}

func whole(ms float64) int32 { return int32(min(max(0, math.Round(ms)), math.MaxInt32/4)) }

// Names of Hadoop settings that give the intervals of heartbeats and of asynchronous
// scheduling.
const (
	nodeBeatSetting  = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"
	amBeatSetting    = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"
	asyncSetting     = "yarn.scheduler.capacity.schedule-asynchronously.enable"
	asyncBeatSetting = "yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms"
)

// beats returns the heartbeat intervals of the trace's NodeManagers and
// ApplicationMasters, and the interval of asynchronous scheduling. If the trace
// lacks the ApplicationMasters' interval, it is Hadoop's default of one second, or
// less if attempts follow each other faster.
func (c *Calibration) beats(t *Trace, actuator string) (node, am, async int32) {
	d := sim.DefaultCosts()
	node, am = setting(t, nodeBeatSetting, d.NodeBeatMs), setting(t, amBeatSetting, c.AMBeatMs)
	if am == 0 {
		am = d.AMBeatMs
		if c.Turnover.Samples > 0 {
			am = min(am, whole(c.Turnover.Value/2))
		}
	}
	if actuator == ActuatorNone && t.Header.Settings[asyncSetting] == "true" {
		async = setting(t, asyncBeatSetting, 5)
	}
	return node, am, async
}

// longestBeat is the longest heartbeat interval that is accepted. Hadoop counts a
// node that sends no heartbeat for so long as lost.
const longestBeat = 10 * time.Minute

func setting(t *Trace, name string, otherwise int32) int32 {
	if v, err := strconv.ParseInt(t.Header.Settings[name], 10, 32); err == nil && v > 0 && v <= longestBeat.Milliseconds() {
		return int32(v)
	}
	return otherwise
}

var levelNames = [...]traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelRack, traces.LevelOff}
