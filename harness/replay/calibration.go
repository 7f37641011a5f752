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

// Calibration is what measured traces say about the costs of tasks and of
// Hadoop's machinery. Times are in milliseconds. What an attempt computes is
// the time that it would take alone on its node.
type Calibration struct {
	Format int `json:"format"`
	// Traces are the names of the traces that it was fitted to.
	Traces []string `json:"traces"`
	// Sharing is how many cores the attempts on a node share, as a part of the
	// cores that the trace gives the node. 0: attempts do not slow each other
	// down.
	Sharing float64 `json:"sharing"`
	// HostCores is how many cores the attempts on all nodes share, instead of
	// Sharing; 0: only attempts on the same node share. It is tried if the
	// nodes are known to be on one machine.
	HostCores float64 `json:"hostCores,omitempty"`
	// SharingSpread is, for each Sharing and HostCores tried, the coefficient
	// of variation of what maps compute.
	SharingSpread map[string]float64 `json:"sharingSpread"`
	// MisfitPct is the error of replays in the mean time of a trace's maps, as
	// the root mean square over traces; 0 if none was replayed.
	MisfitPct float64 `json:"misfitPct"`

	// These are the rates that no trace tells and the ApplicationMasters'
	// heartbeat interval; 0 if not known.
	LinkBytesPerSec   int64 `json:"linkBytesPerSec,omitempty"`
	UplinkBytesPerSec int64 `json:"uplinkBytesPerSec,omitempty"`
	DiskBytesPerSec   int64 `json:"diskBytesPerSec,omitempty"`
	AMBeatMs          int32 `json:"amHeartbeatMs,omitempty"`
	// FittedRates names the rates that were fitted, not given.
	FittedRates []string `json:"fittedRates,omitempty"`

	// AMStart is the time from submission to the ApplicationMaster's first
	// request. Finish is from the end of the last task to the end of the job.
	// Turnover is from an attempt's end to the start of the next in its room,
	// while tasks wait.
	AMStart  Figure `json:"amStartMs"`
	Finish   Figure `json:"finishMs"`
	Turnover Figure `json:"turnoverMs"`
	// TaskStart is how long an attempt runs before it takes any input: the
	// start of its JVM. It shows in the reduces, some of which have started
	// when the last map ends and some have not.
	TaskStart Figure `json:"taskStartMs"`
	// LaunchMs is the part of Turnover that the simulator does not model
	// otherwise: freeing the room, and launching.
	LaunchMs float64 `json:"launchMs"`
	// Label is the time from a decision to its container under labels, with
	// quantiles at equal distances from the shortest to the longest.
	Label          Figure  `json:"labelMs"`
	LabelQuantiles []int32 `json:"labelQuantilesMs,omitempty"`

	Workloads []Workload `json:"workloads"`
	Warnings  []string   `json:"warnings,omitempty"`
}

// calibrationFormat is the version of the file format. Higher ones are refused.
const calibrationFormat = 1

// Figure is a fitted mean.
type Figure struct {
	Value float64 `json:"value"`
	// Samples is the number of measurements; 0 means that the value is a
	// default.
	Samples int `json:"samples"`
	// Error is the mean distance of measurements from the value.
	Error float64 `json:"error"`
}

// Workload is what the tasks of one kind of job cost.
type Workload struct {
	Workload string `json:"workload"`
	Jobs     int    `json:"jobs"`
	// MapOutputPerByte is the bytes that reduces fetch for each byte of input.
	// ReduceOutputPerByte is the bytes written for each byte fetched.
	MapOutputPerByte    float64 `json:"mapOutputPerByte"`
	ReduceOutputPerByte float64 `json:"reduceOutputPerByte"`
	Map                 Phase   `json:"map"`
	// Reduce is what a reduce computes after it has started and the last map is
	// done.
	Reduce Phase `json:"reduce"`
}

// Phase is what an attempt computes: a fixed time plus a time for each MiB.
type Phase struct {
	Samples   int     `json:"samples"`
	FixedMs   float64 `json:"fixedMs"`
	MsPerMiB  float64 `json:"msPerMiB"`
	ErrorPct  float64 `json:"errorPct"`  // mean distance of attempts from the fit
	SharedPct float64 `json:"sharedPct"` // how much longer they took because they shared cores
	// Spread are quantiles, at equal distances from the least to the most, of
	// what attempts computed divided by the fit. Their mean is 1.
	Spread []float64 `json:"spread"`
	// Levels is, by locality, how long maps took compared with maps whose input
	// was on the node: the median of ratios.
	Levels map[string]Figure `json:"levels,omitempty"`
	// Corrected is the factor by which the fit was corrected until replays of
	// the calibration's own traces took as long as the traces.
	Corrected float64 `json:"corrected"`
}

// Uncalibrated returns a Calibration for workloads that were not measured.
// Hadoop's machinery takes the simulator's defaults. Nodes share their cores if
// the cluster says how many they have.
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

// at returns how long the phase takes for a number of bytes read, in ms.
func (p *Phase) at(bytes int64) float64 { return p.FixedMs + p.MsPerMiB*float64(bytes)/(1<<20) }

// draw returns how long an attempt computes, in whole milliseconds, drawn from
// the spread.
func (p *Phase) draw(bytes int64, key draw.Key) int32 {
	ms := p.at(bytes) * quantile(p.Spread, key.Fraction())
	return int32(min(max(1, math.Round(ms)), math.MaxInt32/2))
}

// quantile returns the value of share q, interpolated between quantiles at
// equal distances; 1 if there are none.
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

// limit sets which cores, disks and links the nodes share. Cores are as
// calibrated. Rates are the calibration's where neither the trace nor the
// change has one. Recorded durations contain the sharing of cores already.
func (c *Calibration) limit(x *sim.Machines, of *Config) {
	rates := of.Modelled || len(of.Trace.List) == 0 // rates of a list are in its rules
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
			continue // keep the rate that the trace or the change gives
		}
		if of.Modelled {
			x.Nodes[i].Cores = c.Sharing * coresOf(x.Nodes[i].Cores)
		} else {
			x.Nodes[i].Cores = 0
		}
	}
}

// coresOf returns a node's cores, 1 if the trace does not say.
func coresOf(cores float64) float64 {
	if cores > 0 {
		return cores
	}
	return 1
}

// costs returns the simulator's costs, with the fitted ones in place of
// defaults.
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
		// The other costs are contained in what attempts are fitted to compute.
		x.TaskStartMs, x.CommitMs, x.FetchMs = whole(f.TaskStart.Value), 0, 0
	} else if c.computes() { // all costs are contained in what the list's rules say
		x.TaskStartMs, x.CommitMs, x.FetchMs = 0, 0, 0
	} else { // all costs are contained in the recorded durations
		x.TaskStartMs = 0
	}
	return x
}

func whole(ms float64) int32 { return int32(min(max(0, math.Round(ms)), math.MaxInt32/4)) }

// Hadoop settings that say how often daemons send heartbeats.
const (
	nodeBeatSetting  = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"
	amBeatSetting    = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"
	asyncSetting     = "yarn.scheduler.capacity.schedule-asynchronously.enable"
	asyncBeatSetting = "yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms"
)

// beats returns the heartbeat intervals of a trace's daemons. If the trace does
// not tell that of the ApplicationMaster, it is one second as in Hadoop, or
// less if the next attempt starts earlier.
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

// longestBeat is the longest heartbeat interval. Hadoop counts a node that is
// silent for so long as lost.
const longestBeat = 10 * time.Minute

func setting(t *Trace, name string, otherwise int32) int32 {
	if v, err := strconv.ParseInt(t.Header.Settings[name], 10, 32); err == nil && v > 0 && v <= longestBeat.Milliseconds() {
		return int32(v)
	}
	return otherwise
}

// WriteFile writes the calibration to a file, as JSON.
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

// ReadCalibration reads a file that WriteFile wrote.
func ReadCalibration(path string) (*Calibration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	c := new(Calibration)
	err = json.Unmarshal(data, c)
	if err == nil {
		err = c.checkFormat()
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

// checkFormat refuses a file of a newer format.
func (c *Calibration) checkFormat() error {
	if c.Format < 1 || c.Format > calibrationFormat {
		return fmt.Errorf("format %d: this heddle reads formats up to %d; was the file written by heddle replay --calibrate?", c.Format, calibrationFormat)
	}
	return nil
}

// checkKeys refuses JSON with a key that t does not have, because a misspelt
// key would silently mean 0. It also refuses JSON without a key that WriteFile
// always writes. at is the position of the value in the file, for messages.
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
			return fmt.Errorf("%s: null is not allowed here", at)
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

// check refuses figures that are negative, not finite, or too large for a time.
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
			return fmt.Errorf("figure %v: it must be 0 or more", x)
		}
	}
	return nil
}

var levelNames = [...]traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelRack, traces.LevelOff}
