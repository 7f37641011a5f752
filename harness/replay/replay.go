// Package replay turns a trace into a simulated run: the same jobs, submitted at
// the same times with their input where it was, under any model, on the same
// cluster or another.
//
// Tasks take as long as they did (recorded), or as long as the fit to measured
// traces says that they would where they are placed now (modelled, see
// Calibration). Random numbers have names, so two models on one seed see the
// same durations and the same blocks.
//
// It reads traces and computes; it writes no files, and does not know how runs
// are kept. With recorded durations attempts that failed, were killed or had a
// speculative copy do so again, and nodes are lost when they were.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/traces"
)

// Actuators and splits by name, as headers and flags have them.
const (
	ActuatorNone      = config.ActuatorNone
	ActuatorLabels    = config.ActuatorLabels
	ActuatorIdeal     = "ideal"
	SplitsAsSubmitted = config.SplitsAsSubmitted
	SplitsCachedOnly  = config.SplitsCachedOnly
	SplitsPlan        = config.SplitsPlan
)

// Config is one replay.
type Config struct {
	Trace *Trace
	// Model decides. Its Splits, where empty, are SplitsAsSubmitted.
	Model config.Model
	// Actuator is "" for ActuatorNone under the cluster's own scheduler and
	// ActuatorLabels under others.
	Actuator string
	Seed     uint64
	Change   Change
	// Calibration has the cluster's costs; nil stands for one fitted to Trace.
	Calibration *Calibration
	// Modelled has tasks take what Calibration says instead of what was recorded.
	Modelled bool
	// Workload is one of Calibration's, whose tasks' time stands in for that of
	// jobs of workloads that Calibration lacks, "" for none. Such jobs put out what
	// they did.
	Workload string
	// Faults, Speculation and CachePolicy as in config.Experiment; "" is none and
	// static.
	Faults                   config.Faults
	Speculation, CachePolicy string
	// Interrupted as in sim.Config.
	Interrupted func() error
	// Follow has nodes offered when the trace's heartbeats say, and at no other
	// time, with recorded durations: see followed.
	Follow bool
	// Record is given the simulated run's events, in order; nil: none.
	Record func(traces.Event)
}

// Run carries out a replay and returns the header that its trace has, too.
func Run(c *Config) (*sim.Result, traces.Header, error) {
	x, h, err := c.prepare()
	if err != nil {
		return nil, h, err
	}
	r, err := sim.Run(x)
	if err != nil {
		return nil, h, c.failed(err)
	}
	return r, h, nil
}

// Simulate carries out a replay and returns its trace. Record is not called.
func Simulate(c *Config) (*Trace, error) {
	x, h, err := c.prepare()
	if err != nil {
		return nil, err
	}
	b := newBuilder(c.Trace.Name, h)
	var bad error
	x.Record = func(e traces.Event) {
		if bad == nil {
			bad = b.add(e)
		}
	}
	if _, err := sim.Run(x); err != nil || bad != nil {
		return nil, c.failed(cmp.Or(err, bad))
	}
	return b.finish()
}

// prepare makes the simulator's configuration.
func (c *Config) prepare() (*sim.Config, traces.Header, error) {
	h := c.header()
	if err := c.Change.check(); err != nil {
		return nil, h, fmt.Errorf("replay: %w", err)
	}
	if x := &c.Change; !c.computes() && (x.Disk.Given || x.Link.Given || x.Uplink.Given || len(x.Cores) > 0) {
		return nil, h, errors.New("replay: rates and cores change nothing while tasks take as long as they did; give a calibration, so that they take what they would")
	}
	if c.Calibration == nil {
		fitted, err := c.Trace.Calibrate(c.Modelled)
		if err != nil {
			return nil, h, err
		}
		withIt := *c
		withIt.Calibration = fitted
		c = &withIt
	}
	if c.Workload != "" && !c.Modelled {
		return nil, h, fmt.Errorf("replay: workload %s stands in for none while tasks take as long as they did; give a calibration, so that they take what it says", c.Workload)
	}
	if c.Workload != "" && c.Calibration.workload(c.Workload) == nil {
		return nil, h, fmt.Errorf("replay: no workload %q in the calibration, which has %s", c.Workload, c.Calibration.names())
	}
	machines, err := machines(c.Trace, &c.Change)
	if err != nil {
		return nil, h, err
	}
	c.Calibration.limit(&machines, c)
	x := &sim.Config{Cluster: machines, Seed: c.Seed, Record: c.Record, Interrupted: c.Interrupted, Costs: c.costs(h.Actuator)}
	if x.Actuator, err = actuatorOf(h.Actuator); err != nil {
		return nil, h, err
	}
	if x.Splits, err = splitsOf(h.Splits); err != nil {
		return nil, h, err
	}
	if x.Model, err = c.scheduler(); err != nil {
		return nil, h, err
	}
	maker := newJobMaker(c, &machines)
	if err := maker.check(); err != nil {
		return nil, h, err
	}
	var jobs sim.Source = maker
	if len(c.Trace.List) > 0 {
		jobs = &listed{maker, slices.ContainsFunc(machines.Nodes, func(n sim.Node) bool { return n.LinkBytesPerSec > 0 })}
	}
	if c.Follow {
		if jobs, err = c.follow(x, maker); err != nil {
			return nil, h, err
		}
	}
	if err := c.goWrong(x); err != nil {
		return nil, h, err
	}
	x.Source = newBounds(x, maker, jobs)
	if mb, err := strconv.Atoi(c.Trace.Header.Settings["yarn.scheduler.minimum-allocation-mb"]); err == nil && mb > 0 {
		x.MinAllocation.MemoryMB, x.MinAllocation.VCores = int32(min(mb, math.MaxInt32)), 1
	}
	h.Cluster = facts(c.Trace, &machines)
	return x, h, nil
}

// computes says whether tasks compute, and wait for what they share, instead of
// taking as long as they did.
func (c *Config) computes() bool { return c.Modelled || len(c.Trace.List) > 0 }

// header is what the simulated run's trace says of itself.
func (c *Config) header() traces.Header {
	old := &c.Trace.Header
	h := traces.Header{
		Format: traces.FormatVersion, Origin: traces.Simulated, StartUnixNs: old.StartUnixNs, Writer: "heddle",
		Model: c.Model.Model, Params: c.Model.Params, Seed: c.Seed, Software: old.Software, Settings: old.Settings, Inputs: old.Inputs,
		Actuator: cmp.Or(c.Actuator, ActuatorLabels), Splits: cmp.Or(c.Model.Splits, SplitsAsSubmitted),
		Synthetic: slices.Clone(old.Synthetic), Mended: old.Mended,
	}
	if c.Model.Model == config.ModelYARN && c.Actuator == "" {
		h.Actuator = ActuatorNone
	}
	for made, is := range map[string]bool{"durations": c.Modelled, "replicas": c.Change.moves(), "schedule": true} {
		if is && !slices.Contains(h.Synthetic, made) {
			h.Synthetic = append(h.Synthetic, made)
		}
	}
	slices.Sort(h.Synthetic)
	return h
}

// facts are the simulated cluster as headers have it.
func facts(t *Trace, x *sim.Machines) traces.ClusterFacts {
	out := traces.ClusterFacts{Name: t.Header.Cluster.Name, Queue: t.Header.Cluster.Queue}
	for _, n := range x.Nodes {
		out.Nodes = append(out.Nodes, traces.NodeFacts{
			Node: traces.Node(n.Name), Rack: n.Rack, MemoryBytes: int64(n.Capacity.MemoryMB) << 20, VCores: n.Capacity.VCores,
			CacheBytes: n.CacheBytes, Cores: n.Cores, Worker: true,
		})
		if n.DiskBytesPerSec > 0 {
			out.Disks = append(out.Disks, traces.DiskFacts{Node: traces.Node(n.Name), BytesPerSec: n.DiskBytesPerSec})
		}
		if n.LinkBytesPerSec > 0 {
			out.Links = append(out.Links, traces.LinkFacts{Node: traces.Node(n.Name), BytesPerSec: n.LinkBytesPerSec})
		}
	}
	for _, r := range x.Racks {
		if r.UplinkBytesPerSec > 0 {
			out.Links = append(out.Links, traces.LinkFacts{Rack: r.Name, BytesPerSec: r.UplinkBytesPerSec})
		}
	}
	return out
}

func actuatorOf(name string) (sim.Actuator, error) {
	switch name {
	case ActuatorNone:
		return sim.Native, nil
	case ActuatorLabels:
		return sim.Labels, nil
	case ActuatorIdeal:
		return sim.Ideal, nil
	}
	return 0, fmt.Errorf("replay: actuator %q is not one of %s, %s, %s", name, ActuatorNone, ActuatorLabels, ActuatorIdeal)
}

func splitsOf(name string) (sim.Splits, error) {
	switch name {
	case SplitsAsSubmitted:
		return sim.AsSubmitted, nil
	case SplitsCachedOnly:
		return sim.CachedOnly, nil
	case SplitsPlan:
		return sim.Planned, nil
	}
	return 0, fmt.Errorf("replay: splits %q are not one of %s, %s, %s", name, SplitsAsSubmitted, SplitsCachedOnly, SplitsPlan)
}

// yarnParams are the settings of YARN's schedulers that the models of the same
// rule take.
var yarnParams = map[string][2]string{
	"yarn.scheduler.capacity.node-locality-delay":            {"capacity", "nodeLocalityDelay"},
	"yarn.scheduler.capacity.rack-locality-additional-delay": {"capacity", "rackLocalityAdditionalDelay"},
	"yarn.scheduler.fair.locality.threshold.node":            {"fair", "nodeThreshold"},
	"yarn.scheduler.fair.locality.threshold.rack":            {"fair", "rackThreshold"},
}

// scheduler makes the model; the cluster's own is the one of its settings.
func (c *Config) scheduler() (sched.Model, error) {
	if c.Model.Model != config.ModelYARN {
		return c.Model.Scheduler(c.Seed)
	}
	if c.Actuator != "" && c.Actuator != ActuatorNone {
		return nil, fmt.Errorf("replay: model %s is the cluster's own scheduler, with actuator %s only", config.ModelYARN, ActuatorNone)
	}
	settings := c.Trace.Header.Settings
	name := "capacity"
	if strings.HasSuffix(settings["yarn.resourcemanager.scheduler.class"], "FairScheduler") {
		name = "fair"
	}
	params := sched.Params{}
	for _, key := range slices.Sorted(maps.Keys(yarnParams)) {
		if of := yarnParams[key]; of[0] == name && settings[key] != "" {
			params[of[1]] = settings[key]
		}
	}
	m, err := sched.New(name, params)
	if err != nil {
		return nil, fmt.Errorf("replay: trace %s: its cluster's settings: %w", c.Trace.Name, err)
	}
	return m, nil
}
