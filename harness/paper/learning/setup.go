package learning

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/paper"
	"heddle/harness/paper/learning/model"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// testbed is the paper's cluster with runs of one job, one after the other.
type testbed struct {
	Job      string         `set:"job"`
	Maps     int            `set:"maps"`     // of a run; 0: as many as fill the time
	Hours    float64        `set:"hours"`    // that a run is to fill
	TaskTime units.Duration `set:"taskTime"` // of a map alone on its node
	Times    string         `set:"times" of:"fixed stretched"`
	Noise    float64        `set:"noise"`  // of a task's load each time the kernel looks, share of it
	Target   float64        `set:"target"` // load a CPU
	Runs     int            `set:"runs"`
	State    string         `set:"state" of:"keep fresh"` // over runs
	Hints    string         `set:"hints" of:"given equal shuffled"`
	SlowAt   units.Duration `set:"slowAt"` // when one node becomes half as fast; 0: never
}

// standard is a run of two hours with tasks of 60 s, of which the first 600 s do not
// count.
var standard = testbed{Job: "WordCount", Hours: 2, TaskTime: units.Duration(time.Minute), Times: "fixed", Noise: .15, Target: 1, Runs: 1, State: "keep", Hints: "given"}

const (
	nodes, cores  = 7, 4
	beatMs        = 5000
	warmMs        = 600_000
	nativeSlots   = 5
	slotsOfAll    = 100 // of a node, for models without slots
	blockOfScores = 250 // decisions
)

// kind is a type of job: the hints of Table 2 and the tasks a node of Figure 11.
type kind struct {
	name  string
	hints state.Hints
	tasks float64 // published, at a load of 4: so a task's load is 4 divided by it
}

var kinds = []kind{
	{"TextWriter", state.Hints{CPU: 3, Memory: 5, Disk: 5, Network: 3}, 2.03},
	{"WordCount", state.Hints{CPU: 5, Memory: 6, Disk: 8, Network: 5}, 2.31},
	{"WordCount+10ms", state.Hints{CPU: 1, Memory: 6, Disk: 6, Network: 4}, 10.52},
	{"URLGet", state.Hints{CPU: 3, Memory: 4, Disk: 6, Network: 7}, 8.35},
	{"URLToDisk", state.Hints{CPU: 3, Memory: 5, Disk: 7, Network: 8}, 5.09},
	{"CPUActivity", state.Hints{CPU: 10, Memory: 5, Disk: 5, Network: 3}, 3.17},
}

func kindOf(name string) (int, error) {
	for i := range kinds {
		if kinds[i].name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("job %q: there are TextWriter, WordCount, WordCount+10ms, URLGet, URLToDisk, CPUActivity", name)
}

// With returns the testbed with one property changed.
func (x testbed) With(name, value string) (paper.Setting, error) {
	err := paper.SetField(&x, name, value)
	if err == nil {
		_, err = kindOf(x.Job)
	}
	if err == nil && (x.Maps > 100_000 || x.Hours <= 0 || x.Hours > 24 || x.TaskTime < units.Duration(time.Second) || x.TaskTime > units.Duration(time.Hour) ||
		x.Noise > .3 || x.Target < .1 || x.Target > 10 || x.Runs < 1 || x.Runs > 20 || x.SlowAt < 0) {
		err = fmt.Errorf("out of range")
	}
	return x, err
}

// own are parameters of schedulers that are this package's: slots a node (a number, or
// "nearest" to the published tasks), and properties of the testbed for one scheduler.
var own = []string{"slots", "hints", "state"}

// split takes the own parameters off a scheduler's.
func (x testbed) split(s paper.Scheduler) (testbed, sched.Params, string, error) {
	p, slots := maps.Clone(s.Params), ""
	for _, name := range own {
		value, ok := p[name]
		delete(p, name)
		switch {
		case !ok:
		case name == "slots":
			if n, err := strconv.Atoi(value); value != "nearest" && (err != nil || n < 1 || n > slotsOfAll) {
				return x, nil, "", fmt.Errorf("slots %q: want nearest, or 1 to %d", value, slotsOfAll)
			}
			slots = value
		default:
			changed, err := x.With(name, value)
			if err != nil {
				return x, nil, "", fmt.Errorf("%s: %w", name, err)
			}
			x = changed.(testbed)
		}
	}
	return x, p, slots, nil
}

// Check makes the scheduler's model.
func (x testbed) Check(s paper.Scheduler) error {
	_, p, _, err := x.split(s)
	if err == nil {
		_, err = sched.New(s.Model, p)
	}
	return err
}

// Simulate runs the job as often as the testbed says. The notes are those of the last
// run, and the minutes of each.
func (x testbed) Simulate(ctx context.Context, s paper.Scheduler, seed uint64) (paper.Simulation, error) {
	x, p, slots, err := x.split(s)
	out := paper.Simulation{Notes: map[string]float64{}, Series: map[string][]paper.Point{}}
	if err != nil {
		return out, err
	}
	if p == nil {
		p = sched.Params{}
	}
	if info := infoOf(s.Model); info != nil {
		p["cpus"], p["target"] = strconv.Itoa(cores), strconv.FormatFloat(x.Target, 'g', -1, 64)
		if has(info, "seed") {
			p["seed"] = strconv.FormatUint(seed>>33, 10)
		}
	}
	var learnt []byte
	for run := range x.Runs {
		m, err := sched.New(s.Model, p)
		if err != nil {
			return out, err
		}
		_, learns := sched.As[sched.Learner](m)
		if learns && learnt != nil {
			if err := sched.LoadState(m, learnt); err != nil {
				return out, err
			}
		}
		w := newMeter(&x, m, draw.Stream(seed, "load").At(uint64(run)))
		c := x.config(w, slots, draw.Stream(seed, "tasks").At(uint64(run)))
		c.Interrupted, c.Seed = ctx.Err, seed
		r, err := sim.Run(c)
		if err != nil {
			return out, err
		}
		maps.Copy(out.Notes, r.Notes)
		w.note(&out, r.MakespanMs, run+1)
		if learns && x.State == "keep" {
			if learnt, err = sched.SaveState(m, p); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func infoOf(name string) *sched.Info {
	for _, info := range []*sched.Info{&model.Info, &model.RuleInfo} {
		if info.Name == name {
			return info
		}
	}
	return nil
}

func has(info *sched.Info, param string) bool {
	for i := range info.Params {
		if info.Params[i].Name == param {
			return true
		}
	}
	return false
}

// config has the cluster and the job: maps that sleep for their time, or that share a
// node's cores so that a node above a load of 4 stretches them. No task waits for data.
func (x testbed) config(m sched.Model, slots string, key draw.Key) *sim.Config {
	k := &kinds[must(kindOf(x.Job))]
	c := &sim.Config{Model: m, Actuator: sim.Ideal, Costs: sim.NoCosts()}
	c.Costs.NodeBeatMs = beatMs
	size := state.Resource{MemoryMB: 40, VCores: 1}
	for n := range nodes {
		node := sim.Node{Name: fmt.Sprint("worker", n+1), Rack: "rack", Capacity: size.Times(2 * slotsOfAll)}
		if x.Times == "stretched" {
			node.Cores = k.tasks // each task wants a core of 4/tasks: at `tasks` of them the load is 4
		}
		c.Cluster.Nodes = append(c.Cluster.Nodes, node)
	}
	if x.SlowAt > 0 {
		c.Faults = []sim.Fault{{AtMs: time.Duration(x.SlowAt).Milliseconds(), What: sim.NodeSlow, Node: 0, Speed: .5}}
	}
	switch slots {
	case "":
	case "nearest":
		c.MapSlots, c.ReduceSlots = max(1, int32(math.Round(k.tasks*x.Target))), 1
	default:
		c.MapSlots, c.ReduceSlots = int32(must(strconv.Atoi(slots))), 1
	}
	j := sim.Job{}
	j.Name, j.MapSize, j.ReduceSize, j.Maps = x.Job, size, size, int32(x.Maps)
	taskMs := time.Duration(x.TaskTime).Milliseconds()
	if x.Maps == 0 {
		j.Maps = int32(nodes * math.Min(k.tasks*x.Target, float64(taskMs)/beatMs) * x.Hours * 3.6e6 / float64(taskMs))
	}
	j.Hints = [2]state.Hints{x.hints(), x.hints()}
	for i := range uint64(j.Maps) {
		ms := int32(float64(taskMs) * (.95 + .1*key.At(i).Fraction()))
		w := sim.Work{FixedMs: ms}
		if x.Times == "stretched" || x.SlowAt > 0 {
			w = sim.Work{ComputeMs: ms}
		}
		j.MapWork = append(j.MapWork, w)
	}
	c.Source = &sim.Jobs{List: []sim.Job{j}}
	return c
}

// must is for what With and split have checked.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func (x testbed) hints() state.Hints {
	at := must(kindOf(x.Job))
	switch x.Hints {
	case "equal":
		return state.Hints{CPU: 5, Memory: 5, Disk: 5, Network: 5}
	case "shuffled":
		at = (at + 2) % len(kinds)
	}
	return kinds[at].hints
}
