package sim

import (
	"math"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// simple is a valid configuration of two nodes and a job of two maps and a reduce.
func simple() (*Config, *Job) {
	list := []Job{simpleJob("a", 0, 2, 1, Work{InputBytes: 1 << 20, OutputBytes: 1 << 20, ComputeMs: 1000})}
	return &Config{Cluster: slots(2, 2), Source: &Jobs{List: list}, Costs: DefaultCosts()}, &list[0]
}

// hostile are changes of a valid configuration, with what the error has to say. "" means
// that the run must end as any other does.
var hostile = []struct {
	name   string
	change func(*Config, *Job)
	want   string
}{
	{"no jobs", func(c *Config, _ *Job) { c.Source = nil }, "there are no jobs"},
	{"no nodes", func(c *Config, _ *Job) { c.Cluster.Nodes = nil }, "no nodes"},
	{"a name twice", func(c *Config, _ *Job) { c.Cluster.Nodes[1].Name = "n0" }, "n0"},
	{"a time between samples below 0", func(c *Config, _ *Job) { c.SampleMs = -1 }, "SampleMs is -1"},
	{"more than a core", func(_ *Config, j *Job) { j.MapWork[0].CoresPercent = 101 }, "101 %"},
	{"slots below 0", func(c *Config, _ *Job) { c.MapSlots = -1 }, "-1 map slots"},
	{"a cost below 0", func(c *Config, _ *Job) { c.Costs.LaunchMs = -1 }, "LaunchMs is -1"},
	{"a time of labels below 0", func(c *Config, _ *Job) { c.Actuator, c.Costs.LabelMs = Labels, []int32{-5, 20} }, "LabelMs"},
	{"a fault before the run", func(c *Config, _ *Job) { c.Faults = []Fault{{AtMs: -1}} }, "fault 0: its time, -1 ms, is negative"},
	{"a fault too late", func(c *Config, _ *Job) { c.Faults = []Fault{{AtMs: math.MaxInt64}} }, "latest possible"},
	{
		"faults out of order", func(c *Config, _ *Job) { c.Faults = []Fault{{AtMs: 5}, {AtMs: 4}} },
		"fault 1: its time, 4 ms, is before that of fault 0, 5 ms",
	},
	{"a fault of no node", func(c *Config, _ *Job) { c.Faults = []Fault{{What: NodeDown, Node: 2}} }, "nodes 0 to 1"},
	{"a heartbeat of no node", func(c *Config, _ *Job) { c.Opportunities = []Opportunity{{Node: -1}} }, "opportunity 0: node -1"},
	{
		"heartbeats out of order", func(c *Config, _ *Job) { c.Opportunities = []Opportunity{{AtMs: 7}, {AtMs: 3}} },
		"opportunity 1: its time, 3 ms",
	},
	{"no heartbeat that is left", func(c *Config, _ *Job) { c.Opportunities = []Opportunity{} }, "job \"a\" is stuck: of its 2 maps 2 wait"},
	{"a submission before the run", func(_ *Config, j *Job) { j.SubmitMs = -1 }, "submitted at -1 ms"},
	{"work of no task", func(_ *Config, j *Job) { j.MapWork = nil }, "work is given for 0 maps"},
	{"work of too many tasks", func(_ *Config, j *Job) { j.ReduceWork = make([]Work, 2) }, "work is given for 2 reduces"},
	{"negative work", func(_ *Config, j *Job) { j.MapWork[0].InputBytes = -1 }, "negative number"},
	{"a replica on no node", func(_ *Config, j *Job) { j.Replicas.Add(9); j.Replicas.Add(0) }, "9"},
	{"tasks that fit no node", func(_ *Config, j *Job) { j.MapSize.MemoryMB = 1 << 20 }, "no node can hold its containers"},
	{"a master that fits no node", func(_ *Config, j *Job) { j.AMSize.MemoryMB = 1 << 20 }, "stuck"},
	{"a plan by a model that has none", func(c *Config, _ *Job) { c.Splits = Planned }, ""},
	{"a job without tasks", func(_ *Config, j *Job) { j.Maps, j.Reduces, j.MapWork, j.ReduceWork = 0, 0, nil, nil }, ""},
	{"a job of reduces alone", func(_ *Config, j *Job) { j.Maps, j.MapWork = 0, nil }, ""},
	{"a speed that is no number", func(c *Config, _ *Job) { c.Cluster.Nodes[0].Speed = math.NaN() }, ""},
	{"a speed of nearly nothing", func(c *Config, _ *Job) { c.Cluster.Nodes[0].Speed = 5e-324 }, ""},
	{"a task of a month on such a node", func(c *Config, j *Job) {
		c.Cluster.Nodes, j.MapWork[0].ComputeMs = c.Cluster.Nodes[:1], math.MaxInt32
		c.Cluster.Nodes[0].Speed = 5e-324
	}, ""},
	{"an endless speed", func(c *Config, _ *Job) { c.Cluster.Nodes[0].Speed = math.Inf(1) }, ""},
	{"an endless speed on one core", func(c *Config, _ *Job) { c.Cluster.Nodes[0].Speed, c.Cluster.Nodes[0].Cores = math.Inf(1), 1 }, ""},
	{"a fault's speed that is no number", func(c *Config, _ *Job) { c.Faults = []Fault{{What: NodeSlow, Speed: math.NaN()}} }, ""},
	{"cores that are no number", func(c *Config, _ *Job) { c.Cluster.Nodes[0].Cores = math.NaN() }, ""},
	{"endless cores", func(c *Config, _ *Job) { c.Cluster.Nodes[0].Cores = math.Inf(1) }, ""},
	{"endless cores of the host", func(c *Config, _ *Job) { c.Cluster.HostCores = math.Inf(1) }, ""},
	{"cores of ApplicationMasters that are no number", func(c *Config, _ *Job) {
		c.Cluster.HostCores, c.Cluster.MasterCores, c.Cluster.MastersUp = 2, math.NaN(), math.NaN()
	}, ""},
	{"endless cores of ApplicationMasters", func(c *Config, _ *Job) { c.Cluster.HostCores, c.Cluster.MasterCores = 2, math.Inf(1) }, ""},
	{"fewer than no ApplicationMasters up", func(c *Config, _ *Job) {
		c.Cluster.HostCores, c.Cluster.MasterCores, c.Cluster.MastersUp = 2, 1, -1e300
	}, ""},
	{"a rate below 0", func(c *Config, _ *Job) { c.Cluster.Nodes[0].DiskBytesPerSec = -1 }, ""},
	{"the largest rate", func(c *Config, _ *Job) { c.Cluster.Nodes[0].DiskBytesPerSec = math.MaxInt64 }, ""},
	{"a share that is no number", func(c *Config, _ *Job) { c.Faults = []Fault{{What: AttemptsFail, Share: math.NaN()}} }, ""},
	{"a slow start that is no number", func(_ *Config, j *Job) { j.SlowStart = float32(math.NaN()) }, ""},
	{"a slow start beyond all maps", func(_ *Config, j *Job) { j.SlowStart = 2 }, "reduces start after 2 of its maps"},
	{"a slow start below 0", func(_ *Config, j *Job) { j.SlowStart = -1 }, ""},
	{"shares that are no numbers", func(c *Config, j *Job) {
		c.Costs.RampUp, c.Costs.AMShare = math.NaN(), math.NaN()
		j.AMSize = state.Resource{MemoryMB: 1, VCores: 1}
	}, ""},
	{"the longest work", func(_ *Config, j *Job) { j.MapWork[0].ComputeMs, j.MapWork[0].SpreadPercent = math.MaxInt32, 100 }, ""},
	{"work of less than no time", func(_ *Config, j *Job) { j.MapWork[0].SpreadPercent = 101 }, "at most 100"},
	{"the largest ratio", func(_ *Config, j *Job) {
		j.MapWork[0].ComputeMs, j.Spread[state.Map] = math.MaxInt32, []Ratio{math.MaxUint32}
	}, ""},
	{"the largest input", func(c *Config, j *Job) {
		c.Cluster.Nodes[0].DiskBytesPerSec, c.Cluster.Nodes[1].DiskBytesPerSec = 1e12, 1e12
		j.MapWork[0].InputBytes = math.MaxInt64 / 4
		j.Replicas.Add(0)
		j.Replicas.Add(1)
	}, ""},
	{"blocks of another number of maps", func(c *Config, j *Job) { c.CacheReads, j.Blocks = true, []traces.Block{1} }, ""},
}

// TestHostile has each end soon, without a panic, and be either refused by an error that
// says what is wrong, or run to the end of its job.
func TestHostile(t *testing.T) {
	for _, x := range hostile {
		c, j := simple()
		x.change(c, j)
		left := 1_000_000 / askEvery // what ends takes a few hundred steps
		c.Interrupted = func() error {
			if left--; left < 0 {
				return ErrInterrupted
			}
			return nil
		}
		r, err := func() (r *Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: panic: %v", x.name, p)
				}
			}()
			return Run(c)
		}()
		switch {
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: error %v, want one that says %q", x.name, err, x.want)
		case x.want == "" && err != nil:
			t.Errorf("%s: error %v", x.name, err)
		case x.want == "" && r != nil && (len(r.Jobs) != 1 || r.Jobs[0].EndMs < r.Jobs[0].SubmitMs || r.MakespanMs < 0):
			t.Errorf("%s: %+v, want the end of the job", x.name, r.Jobs)
		}
	}
}

// planner plans maps as it is told; without a plan, it has none for the job.
type planner struct {
	sched.Model
	plan sched.SplitPlan
}

func (p *planner) Unwrap() sched.Model { return p.Model }

func (p *planner) PlanJob(*state.View, state.JobID) (sched.SplitPlan, bool) {
	return p.plan, p.plan != nil
}

// TestHostilePlans has a plan be refused that leaves out a map, has one twice, or names
// a map or a node that is not there; and one that is right be followed.
func TestHostilePlans(t *testing.T) {
	for want, plan := range map[string]sched.SplitPlan{
		"it has 1 splits, but the job has 2": {{Split: 0, Node: 0}},
		"split 1 is in it twice":             {{Split: 1, Node: 0}, {Split: 1, Node: 1}},
		"split 2: the job has 2 splits":      {{Split: 2, Node: 0}, {Split: 0, Node: 1}},
		"split -1: the job has 2 splits":     {{Split: -1, Node: 0}, {Split: 0, Node: 1}},
		"on node 2: the cluster has 2 nodes": {{Split: 0, Node: 2}, {Split: 1, Node: 1}},
		"":                                   {{Split: 1, Node: 1}, {Split: 0, Node: 1}},
	} {
		c, j := simple()
		j.Replicas.Add(0)
		j.Replicas.Add(1)
		c.Model, c.Splits, c.Actuator = &planner{newModel(t, "planned"), plan}, Planned, Labels
		r, err := Run(c)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v, want one that says %q", err, want)
		case want == "" && err != nil:
			t.Error(err)
		case want == "" && r.SplitMaps[state.LevelNode] != 2:
			t.Errorf("split localities %v: want both maps on the one node that the plan names", r.SplitMaps)
		}
	}
}
