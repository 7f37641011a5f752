package learning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/option"
	"heddle/harness/paper"
	"heddle/harness/paper/learning/model"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// testbed is the paper's cluster with runs of jobs, one after the other.
type testbed struct {
	Job      string         `flag:"job"`                        // names: "A then B and C", or mixed: short jobs of all types
	Window   string         `flag:"window" values:"run,steady"` // 160 maps, or hours without the first 10 minutes
	Maps     int            `flag:"maps" min:"0" max:"100000"`  // of a run; 0: as many as can start
	Reduces  int            `flag:"reduces" min:"0" max:"1000"` // of each job
	Hours    float64        `flag:"hours" min:".25" max:"24"`   // of a steady run
	TaskTime units.Duration `flag:"taskTime" min:"1s" max:"1h"` // of a map alone on its node
	Times    string         `flag:"times" values:"fixed,stretched"`
	Noise    float64        `flag:"noise" min:"0" max:".3"`   // of a task's load each time the kernel looks, share of it
	Target   float64        `flag:"target" min:".1" max:"10"` // load a CPU
	Runs     int            `flag:"runs" min:"1" max:"20"`
	State    string         `flag:"state" values:"keep,fresh"` // over runs
	Slots    string         `flag:"slots"`                     // of a node: none, nearest to the published tasks, or a number
	Hints    string         `flag:"hints" values:"given,equal,shuffled"`
	// of load-rule to assign a task: its parameter, or what starts the published tasks at the target
	Chance string  `flag:"chance" values:"given,matched"`
	Judged int     `flag:"judged" min:"0"`           // heartbeats after which learning judges a decision; 0: as its parameter says
	Grep   float64 `flag:"grep" min:".1" max:"100"`  // tasks of Grep on a node at a load of 4
	Tie    string  `flag:"tie" values:"given,other"` // class of equal products: as learning's parameter says, or the other
}

// standard is a run of 160 tasks of 60 s.
var standard = testbed{
	Job:      "WordCount",
	Window:   "run",
	Hours:    2,
	TaskTime: units.Duration(time.Minute),
	Times:    "fixed",
	Noise:    .15,
	Target:   1,
	Runs:     1,
	State:    "keep",
	Slots:    "none",
	Hints:    "given",
	Chance:   "given",
	Grep:     2.31,
	Tie:      "given",
}

const (
	nodes, cores  = 7, 4
	beatMs        = 5000
	warmMs        = 600_000
	nativeSlots   = 5
	mostSlots     = 11
	slotsOfAll    = 100        // of a node, for models without slots
	blockOfScores = 250        // decisions
	wholeRun      = 160        // maps of 10 GB in blocks of 64 MB
	longestMs     = 14_400_000 // of a run with a number of maps: a classifier that calls all bad never ends it
	mixed         = "mixed"
)

// kind is a type of job: the hints of Figure 7 and the tasks a node of Figure 11.
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

// job is a job of a run.
type job struct {
	kind
	submitMs int64
	after    int // index of the job after whose end it is submitted, -1: none
	maps     int
}

// kindOf returns a type of job. Figure 7 has no hints for Grep.
func (x *testbed) kindOf(name string) (kind, error) {
	if name == "Grep" {
		return kind{name: name, tasks: x.Grep}, nil
	}
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return kinds[i], nil
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return kind{}, fmt.Errorf("job %q: there are %s, Grep, and %s alone", name, strings.Join(names, ", "), mixed)
}

// jobs returns the jobs of a run. Those joined by "and" run side by side, those behind
// "then" after the last one before it, which has as many maps as its part of the hours
// allows. Mixed are jobs of 50 maps and of random types, one each 90 s.
func (x *testbed) jobs(key draw.Key) (list []job, err error) {
	endMs, _ := x.counts()
	if x.Job == mixed {
		for i := range uint64(endMs / 90_000) {
			list = append(list, job{kinds[key.At(i).Below(len(kinds))], int64(i) * 90_000, -1, 50})
		}
		return list, nil
	}
	taskMs := time.Duration(x.TaskTime).Milliseconds()
	phases := strings.Split(x.Job, " then ")
	for i, phase := range phases {
		after := len(list) - 1
		for _, name := range strings.Split(phase, " and ") {
			k, err := x.kindOf(name)
			if err != nil {
				return nil, err
			}
			j := job{k, 0, after, nodes * int(endMs/min(beatMs, taskMs/mostSlots))}
			if i+1 < len(phases) {
				j.maps = int(nodes * math.Min(k.tasks*x.Target, float64(taskMs)/beatMs) * float64(endMs/int64(len(phases))/taskMs))
			}
			if x.Window == "run" || x.Maps > 0 {
				j.maps = cmp.Or(x.Maps, wholeRun)
			}
			list = append(list, j)
		}
	}
	return list, nil
}

// counts returns when a run ends at the latest, and from when on its figures count.
func (x *testbed) counts() (endMs, fromMs int64) {
	if x.Window == "run" || x.Maps > 0 {
		return longestMs, 0
	}
	return int64(x.Hours * 3.6e6), warmMs
}

// With returns the testbed with one property changed.
func (x testbed) With(name, value string) (paper.Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	if err == nil {
		_, bad := x.slotsOf(1)
		_, err = x.jobs(0)
		err = cmp.Or(err, bad)
	}
	return x, err
}

// slotsOf returns how many slots a node has, 0 if their number has no limit.
func (x *testbed) slotsOf(tasks float64) (int32, error) {
	switch x.Slots {
	case "none":
		return 0, nil
	case "nearest":
		return max(1, int32(math.Round(tasks*x.Target))), nil
	}
	n, err := strconv.Atoi(x.Slots)
	if err != nil || n < 1 || n > slotsOfAll {
		return 0, fmt.Errorf("slots %q: want none, nearest, or 1 to %d", x.Slots, slotsOfAll)
	}
	return int32(n), nil
}

// Leaves leaves out what makes no difference: the state over one run, and whose hints the
// jobs have where all are of one type.
func (x testbed) Leaves(property string) bool {
	return property == "state" && x.Runs == 1 || property == "hints" && x.Job != mixed && !strings.Contains(x.Job, " ")
}

// params returns the parameters of a scheduler's model: its own, and those that follow
// from the testbed.
func (x *testbed) params(s paper.Scheduler, seed uint64) sched.Params {
	p := sched.Params{}
	maps.Copy(p, s.Params)
	switch s.Model {
	case model.Info.Name:
		if x.Judged > 0 {
			p["judgeAfter"] = strconv.Itoa(x.Judged)
		}
		if x.Tie == "other" {
			p["tie"] = map[bool]string{true: "good", false: "bad"}[p["tie"] == "bad"]
		}
	case model.RuleInfo.Name:
		p["seed"] = strconv.FormatUint(uint64(draw.Stream(seed, "chance"))>>33, 10)
		if x.Chance == "matched" {
			jobs := must(x.jobs(0))
			starts := jobs[len(jobs)-1].tasks * x.Target * beatMs / float64(time.Duration(x.TaskTime).Milliseconds())
			p["chance"] = strconv.FormatFloat(math.Min(1, starts), 'g', 4, 64)
		}
	default:
		return p
	}
	p["cpus"], p["target"] = strconv.Itoa(cores), strconv.FormatFloat(x.Target, 'g', -1, 64)
	return p
}

// Simulate runs the job as often as the testbed says. The notes are those of the last
// run, and the minutes of each.
func (x testbed) Simulate(ctx context.Context, s paper.Scheduler, seed uint64) (paper.Simulation, error) {
	out := paper.Simulation{Notes: map[string]float64{}, Series: map[string][]paper.Point{}}
	p := x.params(s, seed)
	var learnt []byte
	for run := range x.Runs {
		m, err := sched.New(s.Model, p)
		if err == nil && learnt != nil {
			err = sched.LoadState(m, learnt)
		}
		if err != nil {
			return out, err
		}
		key := draw.Stream(seed, "tasks").At(uint64(run))
		jobs := must(x.jobs(key))
		w := newMeter(&x, jobs, m, draw.Stream(seed, "load").At(uint64(run)))
		c := x.config(jobs, w, key)
		c.Interrupted, c.Seed = func() error { return cmp.Or(ctx.Err(), w.over()) }, seed
		r, err := sim.Run(c)
		switch {
		case w.over() != nil && ctx.Err() == nil:
			w.note(&out, w.endMs, run+1)
		case err != nil:
			return out, err
		default:
			w.note(&out, r.MakespanMs, run+1)
		}
		if _, learns := sched.As[sched.Learner](m); learns && x.State == "keep" {
			if learnt, err = sched.SaveState(m, p); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// config has the cluster and the jobs: maps that sleep for their time, or that share a
// node's cores so that a node above a load of 4 stretches them. No task waits for data.
func (x testbed) config(jobs []job, m sched.Model, key draw.Key) *sim.Config {
	c := &sim.Config{Model: m, Actuator: sim.Ideal, Costs: sim.NoCosts(), SampleMs: longestMs}
	c.Costs.NodeBeatMs = beatMs
	size := state.Resource{MemoryMB: 40, VCores: 1}
	tasks := jobs[len(jobs)-1].tasks
	least := slices.MinFunc(jobs, func(a, b job) int { return cmp.Compare(a.tasks, b.tasks) }).tasks
	for n := range nodes {
		node := sim.Node{Name: fmt.Sprint("worker", n+1), Rack: "rack", Capacity: size.Times(2 * slotsOfAll)}
		if x.Times == "stretched" {
			node.Cores = least // a task of the heaviest job wants a core: at `least` of them the load is 4
		}
		c.Cluster.Nodes = append(c.Cluster.Nodes, node)
	}
	endMs, _ := x.counts() // nothing fails then, but a simulation with an event ahead is not stuck
	c.Faults = append(c.Faults, sim.Fault{AtMs: endMs + 2*beatMs, What: sim.AttemptsFail})
	c.MapSlots = must(x.slotsOf(tasks))
	c.ReduceSlots = min(1, c.MapSlots)
	taskMs := float64(time.Duration(x.TaskTime).Milliseconds())
	source := &sim.Jobs{}
	for i := range jobs {
		j := sim.Job{SubmitMs: jobs[i].submitMs}
		if after := jobs[i].after; after >= 0 {
			j.After = traces.JobID(jobName(after, jobs))
		}
		j.Name, j.MapSize, j.ReduceSize, j.Maps, j.Reduces = jobName(i, jobs), size, size, int32(jobs[i].maps), int32(x.Reduces)
		h := jobs[i].hints
		switch key := key.At(uint64(i)).At(1); x.Hints {
		case "equal":
			h = state.Hints{CPU: 5, Memory: 5, Disk: 5, Network: 5}
		case "shuffled":
			h = kinds[key.Below(len(kinds))].hints
		}
		j.Hints = [2]state.Hints{h, h}
		for k := range uint64(j.Maps) {
			ms := int32(taskMs * (.95 + .1*key.At(uint64(i)).At(2).At(k).Fraction()))
			w := sim.Work{FixedMs: ms}
			if x.Times == "stretched" {
				w = sim.Work{ComputeMs: ms, CoresPercent: uint8(math.Round(100 * least / jobs[i].tasks))}
			}
			j.MapWork = append(j.MapWork, w)
		}
		j.ReduceWork = []sim.Work{{FixedMs: int32(taskMs)}}
		source.List = append(source.List, j)
	}
	c.Source = source
	return c
}

func jobName(i int, jobs []job) string { return fmt.Sprint(jobs[i].name, " ", i+1) }

// must is for what With has checked.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
