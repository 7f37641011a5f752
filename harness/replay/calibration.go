package replay

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/nearest"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/traces"
)

// Calibration is what measured traces say that things cost. Times are
// milliseconds; what an attempt computes is in time that it would take alone on
// its node.
type Calibration struct {
	Format int `json:"format"`
	// Traces are those it was fitted to.
	Traces []string `json:"traces"`
	// Sharing is how many cores the attempts on a node share, as a part of the
	// cores that the trace says it has; 0: they do not slow each other down.
	Sharing float64 `json:"sharing"`
	// HostCores is how many cores the attempts on all nodes share, in place of
	// Sharing; 0: those on a node alone. It is tried where the nodes are known to
	// be on one machine.
	HostCores float64 `json:"hostCores,omitempty"`
	// SharingSpread is the coefficient of variation of what maps compute under
	// each Sharing and HostCores that was tried.
	SharingSpread map[string]float64 `json:"sharingSpread"`
	// MisfitPct is by how much replays miss the mean time of a trace's maps, in the
	// root mean square over traces; 0 where none was replayed.
	MisfitPct float64 `json:"misfitPct"`

	// Rates that the traces did not tell, and an ApplicationMaster's heartbeat; 0:
	// not known either.
	LinkBytesPerSec   int64 `json:"linkBytesPerSec,omitempty"`
	UplinkBytesPerSec int64 `json:"uplinkBytesPerSec,omitempty"`
	DiskBytesPerSec   int64 `json:"diskBytesPerSec,omitempty"`
	AMBeatMs          int32 `json:"amHeartbeatMs,omitempty"`
	// FittedRates names those of the rates that were fitted.
	FittedRates []string `json:"fittedRates,omitempty"`

	// AMStart is from submission to the ApplicationMaster's first request, Finish
	// from the last task's end to the job's. Turnover is from an attempt's end to
	// the start of the next in its place, while tasks wait.
	AMStart  Figure `json:"amStartMs"`
	Finish   Figure `json:"finishMs"`
	Turnover Figure `json:"turnoverMs"`
	// TaskStart is what an attempt does before it takes any input, the start of its
	// JVM: told by reduces, which have it behind them when the last map ends, or not.
	TaskStart Figure `json:"taskStartMs"`
	// LaunchMs is what of Turnover the simulator does not have by itself: the
	// release of the room and the launch.
	LaunchMs float64 `json:"launchMs"`
	// Label is from a decision to its container, with quantiles at even distances
	// from the least to the longest.
	Label          Figure  `json:"labelMs"`
	LabelQuantiles []int32 `json:"labelQuantilesMs,omitempty"`

	Workloads []Workload `json:"workloads"`
	Warnings  []string   `json:"warnings,omitempty"`
}

// calibrationFormat is that of files; a higher one is refused.
const calibrationFormat = 1

// Figure is a fitted mean.
type Figure struct {
	Value float64 `json:"value"`
	// Samples is how many measurements it rests on, 0: it is a default.
	Samples int `json:"samples"`
	// Error is how far measurements are from it on average.
	Error float64 `json:"error"`
}

// Workload is what the tasks of one kind of job cost.
type Workload struct {
	Workload string `json:"workload"`
	Jobs     int    `json:"jobs"`
	// MapOutputPerByte is fetched by reduces for each byte of input,
	// ReduceOutputPerByte written for each byte fetched.
	MapOutputPerByte    float64 `json:"mapOutputPerByte"`
	ReduceOutputPerByte float64 `json:"reduceOutputPerByte"`
	Map                 Phase   `json:"map"`
	// Reduce is from when a reduce has started and the last map is done.
	Reduce Phase `json:"reduce"`
}

// Phase is what an attempt computes: Fixed and so much for each MiB.
type Phase struct {
	Samples   int     `json:"samples"`
	FixedMs   float64 `json:"fixedMs"`
	MsPerMiB  float64 `json:"msPerMiB"`
	ErrorPct  float64 `json:"errorPct"`  // how far attempts are from it on average
	SharedPct float64 `json:"sharedPct"` // how much longer they took for want of cores
	// Spread is the quantiles, at even distances from the least to the most, of
	// what attempts computed against the fit; their mean is 1.
	Spread []float64 `json:"spread"`
	// Levels is what maps took against those with their input on the node, by
	// locality: the median of ratios.
	Levels map[string]Figure `json:"levels,omitempty"`
	// Corrected is by how much replays of the calibration's own traces had to be
	// corrected until their attempts took as long, as a factor.
	Corrected float64 `json:"corrected"`
}

// Uncalibrated is what workloads cost where nothing was measured: the times of
// the cluster's own machinery are the simulator's defaults, and nodes' cores are
// shared where the cluster says how many they are.
func Uncalibrated(c traces.ClusterFacts, workloads ...Workload) *Calibration {
	x := &Calibration{
		Format: calibrationFormat, HostCores: c.HostCores, TaskStart: Figure{Value: float64(sim.DefaultCosts().TaskStartMs)},
		Workloads: workloads, Warnings: []string{"nothing was measured: these are typical costs"},
	}
	if x.HostCores == 0 {
		x.Sharing = 1
	}
	return x
}

// at is the time that the phase takes with so many bytes.
func (p *Phase) at(bytes int64) float64 { return p.FixedMs + p.MsPerMiB*float64(bytes)/(1<<20) }

// draw is what an attempt computes, in whole milliseconds.
func (p *Phase) draw(bytes int64, key draw.Key) int32 {
	ms := p.at(bytes) * quantile(p.Spread, key.Fraction())
	return int32(min(max(1, math.Round(ms)), math.MaxInt32/2))
}

// quantile is the value of share q in quantiles at even distances, 1 where there
// are none.
func quantile(at []float64, q float64) float64 {
	if len(at) == 0 {
		return 1
	}
	x := q * float64(len(at)-1)
	i := min(int(x), len(at)-1)
	if i+1 == len(at) {
		return at[i]
	}
	return at[i] + (x-float64(i))*(at[i+1]-at[i])
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

// limit has the machines share what they are known to: cores as calibrated, and
// rates that neither the trace nor the change has. Recorded times have the cores
// in them.
func (c *Calibration) limit(x *sim.Machines, of *Config) {
	rates := of.Modelled || len(of.Trace.List) == 0 // those of a list are in its rules
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
			continue // as given
		}
		if of.Modelled {
			x.Nodes[i].Cores = c.Sharing * coresOf(x.Nodes[i].Cores)
		} else {
			x.Nodes[i].Cores = 0
		}
	}
}

// coresOf are a node's cores, one where the trace does not say.
func coresOf(cores float64) float64 {
	if cores > 0 {
		return cores
	}
	return 1
}

// costs are the simulator's, with what was fitted in place of its defaults.
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
		// The others are in what attempts are fitted to compute.
		x.TaskStartMs, x.CommitMs, x.FetchMs = whole(f.TaskStart.Value), 0, 0
	} else if c.computes() { // all are in what rules say
		x.TaskStartMs, x.CommitMs, x.FetchMs = 0, 0, 0
	} else { // in what they took
		x.TaskStartMs = 0
	}
	return x
}

func whole(ms float64) int32 { return int32(min(max(0, math.Round(ms)), math.MaxInt32/4)) }

// Settings that say how often daemons report.
const (
	nodeBeatSetting  = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"
	amBeatSetting    = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"
	asyncSetting     = "yarn.scheduler.capacity.schedule-asynchronously.enable"
	asyncBeatSetting = "yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms"
)

// beats are the intervals of a trace's daemons. An ApplicationMaster's that is
// not told is Hadoop's second, or less where the next attempt starts earlier.
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

// longestBeat is that of a daemon's heartbeat: Hadoop takes a node for lost that
// is silent for as long.
const longestBeat = 10 * time.Minute

func setting(t *Trace, name string, otherwise int32) int32 {
	if v, err := strconv.ParseInt(t.Header.Settings[name], 10, 32); err == nil && v > 0 && v <= longestBeat.Milliseconds() {
		return int32(v)
	}
	return otherwise
}

// WriteFile stores the calibration as JSON.
func (c *Calibration) WriteFile(path string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write calibration %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write calibration: %w", err)
	}
	return nil
}

// ReadCalibration reads what WriteFile wrote.
func ReadCalibration(path string) (*Calibration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	c := new(Calibration)
	err = json.Unmarshal(data, c)
	if err == nil {
		err = c.knows()
	}
	if err == nil {
		err = checkKeys(data, reflect.TypeFor[Calibration](), "")
	}
	if err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", path, err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", path, err)
	}
	return c, nil
}

// knows refuses a file of another format.
func (c *Calibration) knows() error {
	if c.Format < 1 || c.Format > calibrationFormat {
		return fmt.Errorf("format %d: this heddle knows up to %d; is it a calibration, by heddle replay --calibrate?", c.Format, calibrationFormat)
	}
	return nil
}

// checkKeys refuses JSON with a key that t does not have, or without one that
// WriteFile always writes: a misspelt key would silently stand for 0. at is where
// the value stands in the file.
func checkKeys(data []byte, t reflect.Type, at string) error {
	switch t.Kind() {
	case reflect.Slice:
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for i, element := range list {
			if err := checkKeys(element, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		var values map[string]json.RawMessage
		if err := json.Unmarshal(data, &values); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for _, key := range sortedKeys(values) {
			if err := checkKeys(values[key], t.Elem(), at+"."+key); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return checkFields(data, t, at)
	default:
		if string(data) == "null" {
			return fmt.Errorf("%s: null: want a value", at)
		}
	}
	return nil
}

func checkFields(data []byte, t reflect.Type, at string) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if at != "" {
		at += "."
	}
	fields := map[string]reflect.Type{}
	var missing []string
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
		if _, ok := values[name]; !ok && options != "omitempty" {
			missing = append(missing, name)
		}
	}
	for _, key := range sortedKeys(values) {
		field, ok := fields[key]
		if !ok {
			return fmt.Errorf("unknown key %q; %s", at+key, nearest.Hint(key, sortedKeys(fields)))
		}
		if err := checkKeys(values[key], field, at+key); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("key %q is missing; heddle replay --calibrate writes all that are needed", at+missing[0])
	}
	return nil
}

// check refuses what no calibration has: a figure that is negative, not finite
// or too large to be a time.
func (c *Calibration) check() error {
	figures := []float64{
		float64(c.LinkBytesPerSec), float64(c.UplinkBytesPerSec), float64(c.DiskBytesPerSec), float64(c.AMBeatMs), c.Sharing, c.HostCores, c.AMStart.Value, c.Finish.Value, c.Turnover.Value, c.TaskStart.Value, c.LaunchMs,
	}
	for _, q := range c.LabelQuantiles {
		figures = append(figures, float64(q))
	}
	for _, w := range c.Workloads {
		figures = append(figures, w.MapOutputPerByte, w.ReduceOutputPerByte)
		for _, p := range []Phase{w.Map, w.Reduce} {
			figures = append(append(figures, p.FixedMs, p.MsPerMiB), p.Spread...)
		}
	}
	for _, x := range figures {
		if !(x >= 0 && x < 1e12) {
			return fmt.Errorf("a figure of %v: want 0 or more", x)
		}
	}
	return nil
}

var levelNames = [...]traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelRack, traces.LevelOff}
