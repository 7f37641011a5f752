// Package replay runs the jobs of a trace again in virtual time: submitted at the same
// times and with their input at the same places, under any model, on the same or another
// cluster.
//
// Tasks take as long as in the trace (recorded durations), or as long as a calibration
// says for the place where they run in the replay (modelled durations). Each use of
// random numbers has a stream of its own, so two models with the same seed see the same
// durations and the same blocks. With recorded durations, tasks repeat their failed,
// killed and speculative attempts, and nodes are lost when they were lost in the trace.
//
// Reading traces is the package recorded's, and what things cost is the package
// calibration's. This one writes nothing, and does not know how runs are stored.
//
// Words:
//
//	stand-in    a workload whose costs serve for one that was not measured
//	list        a trace that lists jobs without tasks; rules in its header say how to
//	            make the tasks
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
	"heddle/harness/option"
	"heddle/harness/queues"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/traces"
)

// Config describes one replay: the trace, the scheduler model and what is changed.
type Config struct {
	Trace *recorded.Trace
	// Model is the scheduler model that decides where tasks run, with its settings. Its
	// Splits have no effect: they are the Behaviour's.
	Model config.Model
	// Behaviour is how the cluster behaves. What it leaves out is as its fields say; its
	// Capacity, if given, is from the first submission on, in place of the trace's changes.
	config.Behaviour
	Seed   uint64
	Change recorded.Change
	// Calibration has the cluster's costs; nil: they are fitted to Trace.
	Calibration *calibration.Calibration
	// Modelled gives tasks the computing times of Calibration; otherwise they take
	// their recorded durations.
	Modelled bool
	// Workload names a workload of Calibration whose costs serve for workloads that
	// Calibration lacks; "" for none. Jobs that use these costs write as many bytes
	// as recorded.
	Workload string
	// Work has, by job, what each task reads, writes and computes, for jobs of
	// which this is known in advance. Modelled durations of these jobs need no
	// costs of a workload. It may be nil.
	Work map[traces.JobID]JobWork
	// Repeats lets replays with different seeds differ as repeats of a measured trial
	// do: in the order in which nodes register, in how long ApplicationMasters take to
	// start and to end, and in the computing times of attempts. It needs modelled
	// durations.
	Repeats bool
	// After has the jobs of Trace that are submitted once another job has ended, each
	// with the id of that job, which stands before it in Trace. They do not arrive at
	// their recorded times.
	After map[traces.JobID]traces.JobID
	// Begin, if not nil, is called with the scheduler model before it decides, to give
	// it what it learnt before. The model may be asked what it has learnt once Run has
	// returned.
	Begin func(sched.Model) error
	// Interrupted, if not nil, is called now and then; if it returns an error, the
	// simulation stops.
	Interrupted func() error
	// Progress, if not nil, is called now and then with the number of tasks that have
	// succeeded, of those that Tasks returns.
	Progress func(done int64)
	// Follow offers nodes to the scheduler model only at the times of the trace's
	// heartbeats. It needs recorded durations.
	Follow bool
	// Record is called with each event of the simulated run, in order of time; it may
	// be nil.
	Record func(traces.Event)
	// WithoutEvents takes the figures of Outcomes without events, in a third of the time.
	// Figures that need events are then missing, see measure.Simulate. Figures of a job list
	// are always taken so, unless Record is set.
	WithoutEvents bool
	// Sanity has Outcomes and Each also replay what was recorded, once for all replays of a trace,
	// and say how far off that is.
	Sanity bool
	// Reasons makes decisions among the events that Record gets say what the model saw.
	Reasons bool
}

// JobWork is what each task of a job reads, writes and computes. Maps has an entry
// for each map, and Reduces one for each reduce.
type JobWork struct {
	Maps, Reduces []sim.Work
	Shares        []int64 // how map output is divided among the reduces, see state.JobSpec.ReduceShares
}

// Run runs a replay. It returns the simulation's result and the header of the
// simulated run's trace.
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

// Calibrate fits a calibration to traces, which should be from one cluster. The argument
// cluster has what is known of it besides, and fetches is as in Config.
func Calibrate(list []*recorded.Trace, cluster recorded.Change, fetches string) (*calibration.Calibration, error) {
	return calibration.Fit(list, cluster, fetches, again)
}

// CalibrateOne fits a calibration to one trace, for replays of the same trace.
func CalibrateOne(t *recorded.Trace, modelled bool) (*calibration.Calibration, error) {
	if err := t.HasTasks(); err != nil {
		return nil, err
	}
	return calibration.FitOne(t, modelled, again)
}

// again replays a trace under the scheduler model that it was recorded with, and
// returns the simulated run's trace. It is a calibration.Replay.
func again(t *recorded.Trace, costs *calibration.Calibration, seed uint64) (*recorded.Trace, error) {
	return simulate(&Config{Trace: t, Model: t.OwnModel(), Behaviour: t.OwnBehaviour(), Seed: seed, Calibration: costs, Modelled: true})
}

func simulate(c *Config) (*recorded.Trace, error) {
	x, h, err := c.prepare()
	if err != nil {
		return nil, err
	}
	var failed error
	t, err := recorded.New(c.Trace.Name, h, func(yield func(traces.Event) bool) {
		x.Record = func(e traces.Event) { yield(e) }
		_, failed = sim.Run(x)
	})
	if failed != nil {
		return nil, c.failed(failed)
	}
	return t, err
}

// prepare makes the simulator's configuration for a replay: cluster, costs, jobs and
// faults.
func (c *Config) prepare() (*sim.Config, traces.Header, error) {
	h := c.header()
	if err := c.check(&h); err != nil {
		return nil, h, err
	}
	if c.Calibration == nil {
		fitted, err := CalibrateOne(c.Trace, c.Modelled)
		if err != nil {
			return nil, h, err
		}
		withIt := *c
		withIt.Calibration = fitted
		c = &withIt
	}
	if c.Workload != "" && c.Calibration.Of(c.Workload) == nil {
		return nil, h, fmt.Errorf("replay: workload %q is not in the calibration; it has %s", c.Workload, c.Calibration.Names())
	}
	machines, err := c.Trace.Machines(&c.Change)
	if err != nil {
		return nil, h, err
	}
	known := facts(c.Trace, &machines)
	c.limit(&machines)
	if c.Change.Others > 0 && !(c.Modelled && len(c.Change.Cores) == 0 && machines.HostCores > 0) {
		return nil, h, fmt.Errorf("replay: %v cores of others have no effect: the calibration knows of no cores that all nodes share; "+
			"fit it to runs on a cluster whose file has hostCores, or say how many they are (heddle replay --set host-cores=NUMBER)",
			c.Change.Others)
	}
	x := &sim.Config{
		Cluster: machines, Shuffled: c.Repeats, Seed: c.Seed, Costs: c.costs(h.Actuator),
		Record: c.Record, Reasons: c.reasons(), Interrupted: c.Interrupted,
	}
	x.Loads, x.IdleLoad = c.Calibration.Loads()
	if err := c.decide(x, &h); err != nil {
		return nil, h, err
	}
	if err := c.addJobs(x, &h); err != nil {
		return nil, h, err
	}
	c.tellProgress(x)
	if mb, err := strconv.Atoi(c.Trace.Header.Settings["yarn.scheduler.minimum-allocation-mb"]); err == nil && mb > 0 {
		x.MinAllocation.MemoryMB, x.MinAllocation.VCores = int32(min(mb, math.MaxInt32)), 1
	}
	c.byQueues(x)
	h.Cluster = facts(c.Trace, &x.Cluster)
	// The trace has the cores that the nodes have. Which of them tasks share is a figure of
	// the calibration: a replay of this trace with the same calibration would apply it twice.
	h.Cluster.HostCores, h.Cluster.OthersCores = cmp.Or(c.Change.HostCores, c.Trace.Header.Cluster.HostCores), c.Change.Others
	for i := range known.Nodes {
		h.Cluster.Nodes[i].Cores = known.Nodes[i].Cores
	}
	return x, h, nil
}

// check returns an error if what is asked for cannot be, or has no effect, whatever the
// calibration and the nodes are.
func (c *Config) check(h *traces.Header) error {
	const model = "give a calibration (--calibration) to model durations"
	if err := c.Trace.HasTasks(); err != nil {
		return err
	}
	if err := cmp.Or(c.Behaviour.Check(), c.Change.Check()); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	switch x := &c.Change; {
	case !c.computes() && (x.Disk.Given || x.Link.Given || x.Uplink.Given || len(x.Cores) > 0 || x.Others > 0):
		return errors.New("replay: rates and cores have no effect on recorded durations; " + model)
	case c.Workload != "" && !c.Modelled:
		return fmt.Errorf("replay: workload %s has no effect on recorded durations; %s", c.Workload, model)
	case c.Repeats && !c.Modelled:
		return errors.New("replay: recorded durations do not differ between repeats; " + model)
	case (h.MapSlots == 0) != (h.ReduceSlots == 0):
		return fmt.Errorf("replay: %d map slots and %d reduce slots a node: tasks of one kind would wait for ever; give the number of both",
			h.MapSlots, h.ReduceSlots)
	}
	return nil
}

// decide sets the model and what becomes of its decisions.
func (c *Config) decide(x *sim.Config, h *traces.Header) (err error) {
	x.MapSlots, x.ReduceSlots = h.MapSlots, h.ReduceSlots
	if x.Actuator, err = valueOf(actuators, "actuator", h.Actuator); err != nil {
		return err
	}
	if x.Splits, err = valueOf(splitKinds, "splits", h.Splits); err != nil {
		return err
	}
	if x.Model, err = c.scheduler(); err == nil && c.Begin != nil {
		err = c.Begin(x.Model)
	}
	return err
}

// addJobs sets the jobs, and what happens to the nodes meanwhile.
func (c *Config) addJobs(x *sim.Config, h *traces.Header) (err error) {
	settings := recorded.Settings{Trace: c.Trace, Change: c.Change, Seed: c.Seed, After: c.After, KeepReads: c.CachePolicy == config.CacheLRU}
	if p, ok := sched.As[sched.Preempter](x.Model); ok {
		settings.Preempts = p.PreemptMs() > 0
	}
	if x.Actuator == sim.Native {
		_, settings.Masters = sched.As[sched.Masters](x.Model)
	}
	if c.Modelled {
		settings.Costs = modelled{c}
	}
	source := recorded.NewSource(settings, &x.Cluster)
	if err := c.checkCosts(); err != nil {
		return err
	}
	x.Capacity = source.Capacity()
	x.Capacity.Telling = c.Trace.Header.Told
	if c.Capacity.Given() {
		if x.Capacity, err = c.Capacity.Timetable(facts(c.Trace, &x.Cluster).Nodes); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		x.Capacity.FromMs = c.Trace.FirstMs()
	}
	h.Told = x.Capacity.Telling
	x.Source = source
	if c.Follow {
		if x.Source, err = source.Follow(x); err != nil {
			return err
		}
	}
	return c.addFaults(x, source)
}

// The method computes reports whether tasks have computing times and share cores,
// disks and links. If not, tasks take their recorded durations.
func (c *Config) computes() bool { return c.Modelled || len(c.Trace.List) > 0 }

// reasons reports whether decisions say what the model saw.
func (c *Config) reasons() bool { return c.Reasons && c.Record != nil }

// header returns the header of the simulated run's trace.
func (c *Config) header() traces.Header {
	old := &c.Trace.Header
	h := traces.Header{
		Format: traces.FormatVersion, Origin: traces.Simulated, StartUnixNs: old.StartUnixNs, Writer: "heddle",
		Model: c.Model.Model, Params: c.Model.Params, Seed: c.Seed, Software: old.Software, Settings: old.Settings, Inputs: old.Inputs,
		Actuator: cmp.Or(c.Actuator, config.ActuatorLabels), Splits: cmp.Or(c.Splits, config.SplitsAsSubmitted),
		Synthetic: slices.Clone(old.Synthetic), Mended: old.Mended, Reasons: c.reasons(),
	}
	if (c.Model.Model == config.ModelYARN || c.Model.FollowsQueues()) && c.Actuator == "" {
		h.Actuator = config.ActuatorNone
	}
	if c.Model.Model != config.ModelYARN {
		h.MapSlots, h.ReduceSlots = cmp.Or(int32(c.MapSlots), old.MapSlots), cmp.Or(int32(c.ReduceSlots), old.ReduceSlots)
	}
	for made, is := range map[string]bool{"durations": c.Modelled, "replicas": c.Change.PlacesBlocks(), "schedule": true} {
		if is && !slices.Contains(h.Synthetic, made) {
			h.Synthetic = append(h.Synthetic, made)
		}
	}
	slices.Sort(h.Synthetic)
	return h
}

// The method facts returns the nodes and links of the simulated cluster, in the form
// of a trace header.
func facts(t *recorded.Trace, x *sim.Machines) traces.ClusterFacts {
	out := traces.ClusterFacts{Name: t.Header.Cluster.Name, Queue: t.Header.Cluster.Queue, AMMemoryBytes: int64(x.MastersMB) << 20}
	for _, n := range x.Nodes {
		out.Nodes = append(out.Nodes, traces.NodeFacts{
			Node: traces.Node(n.Name), Rack: n.Rack, MemoryBytes: int64(n.Capacity.MemoryMB) << 20, VCores: n.Capacity.VCores,
			CacheBytes: n.CacheBytes, Cores: n.Cores, Worker: true, Label: n.Label,
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

// What the simulator calls actuators, splits and rules of speculation.
var (
	speculations = map[string]sim.Speculation{config.SpeculationHadoop: sim.HadoopSpeculation, config.SpeculationLATE: sim.LATE}
	actuators    = map[string]sim.Actuator{config.ActuatorNone: sim.Native, config.ActuatorLabels: sim.Labels, config.ActuatorIdeal: sim.Ideal}
	splitKinds   = map[string]sim.Splits{
		config.SplitsAsSubmitted: sim.AsSubmitted, config.SplitsCachedOnly: sim.CachedOnly, config.SplitsPlan: sim.Planned,
	}
)

// valueOf returns what a word of a trace's header stands for.
func valueOf[T any](words map[string]T, what, word string) (T, error) {
	x, ok := words[word]
	if !ok {
		return x, fmt.Errorf("replay: %s %w", what, option.OneOf(word, slices.Sorted(maps.Keys(words))))
	}
	return x, nil
}

// yarnParams maps settings of YARN's schedulers to parameters of heddle's models
// capacity and fair that have the same meaning.
var yarnParams = map[string][2]string{
	"yarn.scheduler.capacity.node-locality-delay":            {"capacity", "nodeLocalityDelay"},
	"yarn.scheduler.capacity.rack-locality-additional-delay": {"capacity", "rackLocalityAdditionalDelay"},
	"yarn.scheduler.fair.locality.threshold.node":            {"fair", "nodeThreshold"},
	"yarn.scheduler.fair.locality.threshold.rack":            {"fair", "rackThreshold"},
}

const schedulerSetting = "yarn.resourcemanager.scheduler.class"

// The method scheduler makes the scheduler model of the replay. The simulated
// scheduler of the recorded cluster gets the settings in the trace.
func (c *Config) scheduler() (sched.Model, error) {
	if c.Model.Model != config.ModelYARN {
		return c.Model.Scheduler(c.Seed)
	}
	if c.Actuator != "" && c.Actuator != config.ActuatorNone {
		return nil, fmt.Errorf("replay: model %s is the cluster's own scheduler: its actuator can only be %s",
			config.ModelYARN, config.ActuatorNone)
	}
	settings := c.Trace.Header.Settings
	name := "capacity"
	if strings.HasSuffix(settings[schedulerSetting], "FairScheduler") {
		name = "fair"
	}
	params := sched.Params{}
	if name == "capacity" && settings[queues.Prefix+"root.queues"] != "" {
		var text strings.Builder
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			if _, ours := queues.Cut(key); ours {
				text.WriteString(key + "=" + settings[key] + "\n")
			}
		}
		return sched.New(name, sched.Params{"queues": text.String()})
	}
	for _, key := range slices.Sorted(maps.Keys(yarnParams)) {
		if of := yarnParams[key]; of[0] == name && settings[key] != "" {
			params[of[1]] = settings[key]
		}
	}
	if name == "capacity" && settings[queues.Prefix+"schedule-asynchronously.enable"] == "true" {
		params["maxPerHeartbeat"] = "1" // each time that a node's turn comes
	}
	m, err := sched.New(name, params)
	if err != nil {
		return nil, fmt.Errorf("replay: trace %s: the cluster settings in its header: %w", c.Trace.Name, err)
	}
	return m, nil
}
