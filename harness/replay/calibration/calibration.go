// Package calibration says what the tasks of workloads and Hadoop itself cost: fitted to
// recorded traces, read from a file, or, for what was not measured, assumed.
//
// The first fit is corrected by replays of the same traces, until attempts take as long
// as recorded; the caller gives the function that replays. The package simulates
// nothing and knows no scheduler model.
//
// Words:
//
//	turnover    time from an attempt's end to the next start of a task in the room that
//	            it left, while tasks wait
//	sharing     which cores the attempts of a node, or of all nodes, share
//	figure      a fitted mean with its number of samples and its error
//	phase       computing time of an attempt: a fixed time plus a time for each MiB
//	level       how near a map's input is: cache, node, rack or off
package calibration

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/config"
	"heddle/harness/loadfit"
	"heddle/harness/replay/recorded"
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
	// NodeCores is how many cores a node has where nobody says it: the most that one has in
	// the traces; 0: they do not tell.
	NodeCores float64 `json:"nodeCores,omitempty"`
	// Fetches says from where reduces fetched map output in the replays that corrected the
	// fit, as in config.Experiment. Replays with the calibration fetch alike.
	Fetches string `json:"fetches,omitempty"`
	// HostCores is how many cores the attempts on all nodes share; the field Sharing
	// is then ignored. 0 means that attempts share cores only with others on their
	// node. It is what the workers were measured to use of the machine's cores while
	// they had work for more, since masters and other programs use the rest.
	HostCores float64 `json:"hostCores,omitempty"`
	// Contention is by which part the computing of attempts takes longer for each further
	// one on a core of HostCores, see sim.Slowed. It is known from labs, not fitted: the
	// attempts of one run nearly all share cores with as many others.
	Contention float64 `json:"contention,omitempty"`
	// MasterCores is how many of HostCores each further ApplicationMaster takes while it is up,
	// and MastersUp how many were up when HostCores were measured. MasterCores is known from
	// labs, not fitted.
	MasterCores float64 `json:"amCores,omitempty"`
	MastersUp   float64 `json:"amsUp,omitempty"`
	// OthersCores is how many of the machine's cores other programs used on average while
	// the traces were recorded.
	OthersCores float64 `json:"othersCores,omitempty"`
	// SharingGuessed is true if attempts share other cores than what is known of the
	// cluster says, because the traces tell that this is likelier.
	SharingGuessed bool `json:"sharingGuessed,omitempty"`
	// SharingSpread is the coefficient of variation of the maps' computing times, for
	// each way of sharing cores (value of Sharing or HostCores) that was tried.
	SharingSpread map[string]float64 `json:"sharingSpread"`
	// MisfitPct is the error of replays in the mean map time of the fitted traces,
	// as the root mean square over replays, in percent; 0 if no trace was replayed.
	MisfitPct float64 `json:"misfitPct"`

	// Noise says how much runs differ for reasons that a replay does not know; nil if no
	// trace was replayed.
	Noise *Noise `json:"noise,omitempty"`

	// Rates of disks and links, and the heartbeat interval of ApplicationMasters, if
	// no trace gives them; 0 means unknown.
	LinkBytesPerSec   int64 `json:"linkBytesPerSec,omitempty"`
	UplinkBytesPerSec int64 `json:"uplinkBytesPerSec,omitempty"`
	DiskBytesPerSec   int64 `json:"diskBytesPerSec,omitempty"`
	AMBeatMs          int32 `json:"amHeartbeatMs,omitempty"`
	// FittedRates names the rates of disks and links that were fitted; the other
	// rates were given.
	FittedRates []string `json:"fittedRates,omitempty"`

	// AMMemoryMB is the memory, in MB, that an ApplicationMaster takes on nodes for
	// ApplicationMasters alone; 0 if no trace tells.
	AMMemoryMB int64 `json:"amMemoryMB,omitempty"`
	// AMStart is the time from a job's submission to its ApplicationMaster's first
	// container request. Finish is the time from the end of the last task to the end
	// of the job. Turnover is the time from an attempt's end until another attempt
	// starts with the memory and cores of the ended one, while tasks wait.
	AMStart  Figure `json:"amStartMs"`
	Finish   Figure `json:"finishMs"`
	Turnover Figure `json:"turnoverMs"`
	// TaskStart is how long the JVM of an attempt takes to start, before the attempt
	// reads any input: what maps compute beside their CPU time by Hadoop's counters, or,
	// without counters, what reduces tell, see fitTaskStart.
	TaskStart Figure `json:"taskStartMs"`
	// LaunchMs is the time, in ms, to launch a container, and FreeMs that to free the memory
	// and cores of an ended one first. Together they are the part of Turnover that the
	// simulator does not compute itself. The first attempts of jobs tell LaunchMs, since there
	// nothing has to be freed; without any, it is all of that time.
	LaunchMs float64 `json:"launchMs"`
	FreeMs   float64 `json:"freeMs,omitempty"`
	// Label is the time from a scheduling decision to its container, if decisions are
	// carried out by node labels. LabelQuantiles are evenly spaced quantiles of this
	// time, from the shortest to the longest.
	Label          Figure  `json:"labelMs"`
	LabelQuantiles []int32 `json:"labelQuantilesMs,omitempty"`

	Workloads []Workload `json:"workloads"`
	// CPU is, by workload, the CPU time of the maps of the traces, by which Speed compares the
	// processors of other runs.
	CPU map[string][]MapCost `json:"mapCPU,omitempty"`
	// Load is what tasks add to the load average of their node; nil if no trace tells.
	Load     *loadfit.Loads `json:"load,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
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
	Samples  int     `json:"samples"`
	FixedMs  float64 `json:"fixedMs"`
	MsPerMiB float64 `json:"msPerMiB"`
	// SleepMs is a time in which a task uses no core, added to the others. It is known
	// of synthetic tasks that sleep; no fit sets it.
	SleepMs   float64 `json:"sleepMs,omitempty"`
	ErrorPct  float64 `json:"errorPct"`  // mean difference, in percent, between attempts' computing times and the fitted line
	SharedPct float64 `json:"sharedPct"` // by how many percent attempts took longer because they shared cores with others
	// Spread has the quantiles, evenly spaced from minimum to maximum, of the ratio
	// of attempts' computing times to the fitted time. The ratio's mean is 1.
	Spread []float64 `json:"spread"`
	// SpreadMiB, above 0, is what each attempt read whose ratio is in Spread, if all read
	// about the same. Attempts that read more then deviate by as many ms, since the JVM's
	// start and waits for cores make them differ, and not the bytes.
	SpreadMiB float64 `json:"spreadMiB,omitempty"`
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
		if n := c.Nodes; !slices.ContainsFunc(n, func(n traces.NodeFacts) bool { return n.Cores > 0 }) && len(n) > 0 {
			x.Sharing = float64(max(1, n[0].VCores)) // nobody said how many cores: as many as containers, which then wait for none
		}
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
func (p *Phase) at(bytes int64) float64 {
	return p.FixedMs + p.SleepMs + p.MsPerMiB*float64(bytes)/(1<<20)
}

// CoresPercent returns the share of a core that an attempt uses meanwhile, as
// sim.Work has it. It is 1 at least.
func (p *Phase) CoresPercent(bytes int64) uint8 {
	if p.SleepMs <= 0 {
		return 0 // a whole core
	}
	return uint8(max(1, math.Round(100*(1-p.SleepMs/p.at(bytes)))))
}

// WholeMs returns the computing time of an attempt as at does, in whole ms.
func (p *Phase) WholeMs(bytes int64) int32 {
	return int32(min(max(1, math.Round(p.at(bytes))), math.MaxInt32/2))
}

// Ratios returns Spread in the simulator's form, for attempts that read so many bytes.
func (p *Phase) Ratios(bytes int64) []sim.Ratio {
	if at, was := p.at(bytes), p.at(int64(p.SpreadMiB*(1<<20))); p.SpreadMiB > 0 && at > 0 && was > 0 {
		return ratios(narrowed(p.Spread, was/at))
	}
	return ratios(p.Spread)
}

// TypicalRatios returns the ratios of attempts of which nothing was measured.
func TypicalRatios() []sim.Ratio { return ratios(typicalSpread()) }

func ratios(quantiles []float64) []sim.Ratio {
	var list []sim.Ratio
	for _, q := range quantiles {
		list = append(list, sim.Ratio(min(max(0, math.Round(q*float64(sim.RatioOne))), math.MaxUint32)))
	}
	return list
}

// Loads returns what the tasks of workloads add to the load of their node, and the load of
// an idle one, as the simulator has it.
func (c *Calibration) Loads() (loads map[string][2]float64, idle float64) {
	if c.Load == nil {
		return nil, 0
	}
	loads = map[string][2]float64{}
	for _, x := range c.Load.Tasks {
		of := loads[x.Workload]
		of[traces.Map], of[traces.Reduce] = c.Load.Of(x.Workload, traces.Map), c.Load.Of(x.Workload, traces.Reduce)
		loads[x.Workload] = of
	}
	return loads, c.Load.Idle
}

// Of returns the costs of a workload; nil if there are none.
func (c *Calibration) Of(name string) *Workload {
	for i := range c.Workloads {
		if c.Workloads[i].Workload == name {
			return &c.Workloads[i]
		}
	}
	return nil
}

// Names lists the workloads for people.
func (c *Calibration) Names() string {
	var names []string
	for _, w := range c.Workloads {
		names = append(names, strconv.Quote(w.Workload))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Cores returns how many cores the attempts on a node share that has this many.
func (c *Calibration) Cores(has float64) float64 {
	return c.Sharing * coresOf(cmp.Or(has, c.NodeCores))
}

// coresOf returns the node's cores, or 1 if the trace does not give them.
func coresOf(cores float64) float64 {
	if cores > 0 {
		return cores
	}
	return 1
}

// Costs returns the simulator's costs for a replay of the trace: those that were
// fitted, and defaults for the others.
func (c *Calibration) Costs(t *recorded.Trace, actuator string) sim.Costs {
	x := sim.DefaultCosts()
	x.NodeBeatMs, x.AMBeatMs, x.AsyncMs = c.beats(t, actuator)
	if c.AMStart.Samples > 0 {
		x.SubmitMs, x.AMStartMs = 0, whole(c.AMStart.Value)
	}
	if c.Finish.Samples > 0 {
		x.FinishMs = whole(c.Finish.Value)
	}
	if len(c.LabelQuantiles) > 0 {
		x.LabelMs = c.LabelQuantiles
	}
	if c.Turnover.Samples > 0 {
		x.LaunchMs, x.FreeMs = whole(c.LaunchMs), whole(c.FreeMs)
	}
	x.TaskStartMs = whole(c.TaskStart.Value)
	x.AMBesideMB = int32(c.AMMemoryMB)
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
// less if enough attempts follow each other faster.
func (c *Calibration) beats(t *recorded.Trace, actuator string) (node, am, async int32) {
	d := sim.DefaultCosts()
	node, am = setting(t, nodeBeatSetting, d.NodeBeatMs), setting(t, amBeatSetting, c.AMBeatMs)
	if am == 0 {
		am = d.AMBeatMs
		if half := whole(c.Turnover.Value / 2); c.Turnover.Samples >= fewestTurnovers && half >= leastBeatMs {
			am = min(am, half)
		}
	}
	if actuator == config.ActuatorNone && t.Header.Settings[asyncSetting] == "true" {
		async = setting(t, asyncBeatSetting, 5)
	}
	return node, am, async
}

// A heartbeat interval that no trace gives is told by so many attempts or more, and is not shorter:
// starts that follow ends at once are rounded or made up. With JVMs that are kept, Hadoop 1 takes 20 ms.
const fewestTurnovers, leastBeatMs = 10, 5

func setting(t *recorded.Trace, name string, otherwise int32) int32 {
	if v, err := strconv.ParseInt(t.Header.Settings[name], 10, 32); err == nil && v > 0 && v <= recorded.LongestBeat.Milliseconds() {
		return int32(v)
	}
	return otherwise
}

var levelNames = [...]traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelRack, traces.LevelOff}

// typicalTaskSpread is the standard deviation of a task's computing time, as a part of
// its mean, if no calibration says how much times differ between attempts. With it,
// simulated repeats of fidelity.yaml differ about as much as measured ones do.
const typicalTaskSpread = 0.25

// typicalSpread has the quantiles of a normal distribution around 1, cut off at two
// standard deviations, in the form of Phase.Spread.
func typicalSpread() []float64 {
	upper := []float64{0.126, 0.253, 0.385, 0.524, 0.674, 0.842, 1.036, 1.282, 1.645, 2} // in standard deviations, at 55, 60 … 100 %
	list := make([]float64, 2*len(upper)+1)
	list[len(upper)] = 1
	for i, z := range upper {
		list[len(upper)+1+i], list[len(upper)-1-i] = 1+z*typicalTaskSpread, 1-z*typicalTaskSpread
	}
	return list
}
