package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"heddle/harness/sched/qlearn"
)

// Info is what there is to know of a model before it is made.
type Info struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"` // one line
	Source  string  `json:"source"`  // where the rule is from
	Params  []Param `json:"params"`

	build func(a args) (Model, error)
}

// Param is a parameter of a model.
type Param struct {
	Name    string `json:"name"`
	Type    Type   `json:"type"`
	Default string `json:"default"`
	Unit    string `json:"unit,omitempty"`
	// Min and Max bound numbers; Max 0 is no bound above.
	Min float64 `json:"min"`
	Max float64 `json:"max,omitempty"`
	// Choices are the values of a Choice.
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`
}

// Params are values of parameters by name, as text; those left out have their
// default.
type Params map[string]string

// New makes the model with a name. An unknown model or parameter, or a value
// that is not in range, is an error that says what there is.
func New(name string, p Params) (Model, error) {
	models := List()
	i := slices.IndexFunc(models, func(m Info) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no model %q; there are %s", name, join(models, func(m Info) string { return m.Name }))
	}
	a, err := models[i].parse(p)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	m, err := models[i].build(a)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, nil
}

// List is all models, by name.
func List() []Info {
	skips := func(name, def, doc string) Param {
		return Param{Name: name, Type: Int, Default: def, Unit: "skips", Min: -1, Doc: doc + "; -1: as many as nodes are up"}
	}
	threshold := func(name, doc string) Param {
		return Param{Name: name, Type: Float, Default: "-1", Unit: "share of nodes", Min: -1, Max: 1, Doc: doc + "; -1: no wait"}
	}
	weight := func(name, def string) Param {
		return Param{Name: name, Type: Int, Default: def, Unit: "weight", Max: 1e6, Doc: "of a map started at this level"}
	}
	return []Info{
		{
			Name: "acl", Summary: "waits for a node that caches the input, the longer the more is cached, then for one that stores it",
			Source: "Kwak et al., CCGrid 2016 (abstract); C and D after Ghazali et al., J. Cloud Computing 11:45 (2022)",
			Params: []Param{
				{Name: "c", Type: Float, Default: "3", Unit: "skips", Doc: "C: skips for a cache-local node, times the cached share of the waiting input"},
				skips("d", "-1", "D: further skips before a map starts off its node"),
			},
			build: func(a args) (Model, error) {
				return PerNode{&acl{c: a.float("c"), d: a.int("d")}}, nil
			},
		},
		{
			Name: "capacity", Summary: "guarantees queues shares and waits for locality as YARN's Capacity scheduler",
			Source: "Hadoop 3.4 CapacityScheduler, RegularContainerAllocator",
			Params: []Param{
				{Name: "capacities", Type: Table, Unit: "percent", Max: 100, Doc: "guaranteed to queues, queue=percent,…; queues not named share the rest"},
				{Name: "maxCapacities", Type: Table, Unit: "percent", Max: 100, Doc: "that queues use at most, queue=percent,…; not named: 100"},
				{Name: "order", Type: Choice, Default: "fifo", Choices: []string{"fifo", "fair"}, Doc: "of jobs in a queue: by priority and submission, or by memory used"},
				{Name: "nodeLocalityDelay", Type: Int, Default: "40", Unit: "nodes", Min: -1, Doc: "missed before rack-local maps, at most the nodes that are up; -1: no wait at all"},
				{Name: "rackLocalityAdditionalDelay", Type: Int, Default: "-1", Unit: "nodes", Min: -1, Doc: "missed besides before off-rack maps; -1: by the number of waiting maps and places asked for"},
				{Name: "rackLocalityFullReset", Type: Bool, Default: "true", Doc: "a rack-local map starts the count of missed nodes anew"},
				{Name: "offSwitchPerHeartbeat", Type: Int, Default: "1", Unit: "containers", Doc: "off-rack ones, re-runs and reduces among them, after which a node gets nothing more in a heartbeat; 0: no limit"},
			},
			build: func(a args) (Model, error) {
				sum := 0.0
				for _, percent := range a.table("capacities") {
					sum += percent
				}
				if sum > 100 {
					return nil, fmt.Errorf("capacities: %v percent in all, want at most 100", sum)
				}
				return PerNode{&capacity{
					capacities: a.table("capacities"), maxCapacities: a.table("maxCapacities"), fairOrder: a.text("order") == "fair",
					nodeLocalityDelay: a.int("nodeLocalityDelay"), rackLocalityAdditionalDelay: a.int("rackLocalityAdditionalDelay"),
					rackLocalityFullReset: a.bool("rackLocalityFullReset"), offSwitchPerHeartbeat: int(a.int("offSwitchPerHeartbeat")),
				}}, nil
			},
		},
		{
			Name: "clqlmrs", Summary: "places maps where a table learnt before the job starts says cache hits pay most",
			Source: "Ghazali et al., CLQLMRS, J. Cloud Computing 11:45 (2022)",
			Params: []Param{
				{Name: "update", Type: Choice, Default: "sarsa", Choices: []string{"sarsa", "q"}, Doc: "towards the next action that is taken (the paper's formula), or the best (its title)"},
				{Name: "reward", Type: Choice, Default: "step", Choices: []string{"step", "cumulative"}, Doc: "weight of the class, or that times the episode's maps of the class (the paper's prose)"},
				{Name: "table", Type: Choice, Default: "task", Choices: []string{"task", "class"}, Doc: "of actions: a map and a node, or their class, which any job can use"},
				{Name: "episode", Type: Choice, Default: "job", Choices: []string{"job", "wave"}, Doc: "ends when no map is left, or when no slot is free (the paper)"},
				{Name: "alpha", Type: Float, Default: "0.1", Unit: "share", Max: 1, Doc: "learning rate"},
				{Name: "gamma", Type: Float, Default: "0.95", Unit: "share", Max: 1, Doc: "discount of later rewards"},
				{Name: "epsilon", Type: Float, Default: "1", Unit: "share", Max: 1, Doc: "of random actions in training, at first"},
				{Name: "decay", Type: Float, Default: "0.999", Unit: "factor", Max: 1, Doc: "of epsilon, every so many episodes"},
				{Name: "decayEvery", Type: Int, Default: "10", Unit: "episodes", Min: 1, Doc: "between decays"},
				{Name: "minEpsilon", Type: Float, Default: "0.01", Unit: "share", Max: 1, Doc: "at which training ends; not in the paper"},
				{Name: "episodes", Type: Int, Default: "50000", Unit: "episodes", Min: 1, Max: 1e7, Doc: "of training a job, at most; not in the paper"},
				{Name: "steps", Type: Int, Default: "12000000", Unit: "maps", Min: 1, Doc: "placed in training a job, at most: large jobs have fewer episodes; not in the paper"},
				{Name: "pairs", Type: Int, Default: "1000000", Unit: "pairs", Max: 1e8, Doc: "of map and node that a table may have, at 48 bytes; larger jobs go by class"},
				{Name: "retrain", Type: Float, Default: "0.1", Unit: "share of maps", Doc: "whose cached copies come or go before a job is trained anew"},
				{Name: "seed", Type: Int, Default: "1", Doc: "of training's random numbers"},
			},
			build: func(a args) (Model, error) {
				return &cacheLearner{
					rule: qlearn.Rule{
						QLearning: a.text("update") == "q", Cumulative: a.text("reward") == "cumulative",
						ByClass: a.text("table") == "class", OneWave: a.text("episode") == "wave",
						Alpha: a.float("alpha"), Gamma: a.float("gamma"),
						Epsilon: a.float("epsilon"), Decay: a.float("decay"), DecayEvery: int(a.int("decayEvery")), MinEpsilon: a.float("minEpsilon"),
						Episodes: int(a.int("episodes")), Steps: int(a.int("steps")),
					},
					seed: uint64(a.int("seed")), pairs: int(a.int("pairs")), retrain: a.float("retrain"),
				}, nil
			},
		},
		{
			Name: "delay", Summary: "has a job wait for a node, then a rack, with its data",
			Source: "Zaharia et al., Delay Scheduling, EuroSys 2010",
			Params: []Param{
				{Name: "form", Type: Choice, Default: "skips", Choices: []string{"skips", "time"}, Doc: "how waiting is counted"},
				{Name: "order", Type: Choice, Default: "fifo", Choices: []string{"fifo", "fair"}, Doc: "of jobs: by priority and submission, or by running tasks"},
				skips("nodeSkips", "-1", "D1, before rack-local maps, with form skips"),
				skips("rackSkips", "-1", "D2, before any map, with form skips"),
				{Name: "nodeWait", Type: Duration, Default: "5s", Doc: "D1 with form time"},
				{Name: "rackWait", Type: Duration, Default: "5s", Doc: "D2 with form time"},
			},
			build: func(a args) (Model, error) {
				return PerNode{&delay{
					byTime: a.text("form") == "time", fair: a.text("order") == "fair", fewest: shares{key: running, together: true},
					nodeSkips: a.int("nodeSkips"), rackSkips: a.int("rackSkips"), nodeWait: a.int("nodeWait"), rackWait: a.int("rackWait"),
				}}, nil
			},
		},
		{
			Name: "fair", Summary: "gives queues, and jobs in them, max-min shares; waits for locality if asked to",
			Source: "Hadoop 3.4 FairScheduler: fair share and dominant resource fairness",
			Params: []Param{
				{Name: "policy", Type: Choice, Default: "fair", Choices: []string{"fair", "drf"}, Doc: "shares of memory, or of each one's dominant resource"},
				{Name: "weights", Type: Table, Unit: "weight", Min: 1e-6, Doc: "of queues, queue=weight,…; not named: 1"},
				{Name: "minShares", Type: Table, Unit: "MB", Doc: "that queues have first, queue=MB,…, with policy fair"},
				threshold("nodeThreshold", "nodes offered before rack-local maps"),
				threshold("rackThreshold", "nodes offered after that before any map"),
				{Name: "maxPerHeartbeat", Type: Int, Default: "0", Unit: "containers", Doc: "that a node gets per heartbeat; 0: all it can hold; YARN as it ships: 1"},
			},
			build: func(a args) (Model, error) {
				return PerNode{&fair{
					drf: a.text("policy") == "drf", weights: a.table("weights"), minShares: a.table("minShares"),
					nodeThreshold: a.float("nodeThreshold"), rackThreshold: a.float("rackThreshold"), maxPerHeartbeat: int(a.int("maxPerHeartbeat")),
				}}, nil
			},
		},
		{
			Name: "fifo", Summary: "serves jobs in the order they came, with the nearest map, and does not wait",
			Source: "Hadoop 3.4 FifoScheduler; Hadoop 1.2 JobQueueTaskScheduler",
			Params: []Param{
				{Name: "offRackPerHeartbeat", Type: Int, Default: "0", Unit: "maps", Doc: "off-rack ones after which a node gets no more in a heartbeat; 0: no limit; Hadoop 1.2: 1"},
			},
			build: func(a args) (Model, error) {
				return PerNode{&fifo{offRackPerHeartbeat: int(a.int("offRackPerHeartbeat"))}}, nil
			},
		},
		{
			Name: "matching", Summary: "fills all free slots at once so that locality is best: the upper bound of a round",
			Source: "maximum-weight bipartite matching; Zhang, Li, Zhao, PDCAT 2016 (abstract)",
			Params: []Param{
				weight("cache", "4"), weight("node", "3"), weight("rack", "2"), weight("off", "1"),
				{Name: "slots", Type: Int, Default: "64", Unit: "slots", Min: 1, Max: 4096, Doc: "matched at most per round; cost grows with its square"},
			},
			build: func(a args) (Model, error) {
				return &matching{weights: [4]int64{a.int("cache"), a.int("node"), a.int("rack"), a.int("off")}, slots: int(a.int("slots"))}, nil
			},
		},
		{
			Name: "planned", Summary: "plans each job's maps before it starts, each on a node at random, and starts them nowhere else",
			Source: "none: for seeing how exactly a plan is carried out",
			Params: []Param{
				{Name: "seed", Type: Int, Default: "1", Doc: "of its random numbers"},
			},
			build: func(a args) (Model, error) { return &planned{seed: uint64(a.int("seed"))}, nil },
		},
		{
			Name: "random", Summary: "starts any waiting task anywhere",
			Source: "the baseline of Tan, Meng, Zhang, INFOCOM 2013",
			Params: []Param{
				{Name: "seed", Type: Int, Default: "1", Doc: "of its random numbers"},
			},
			build: func(a args) (Model, error) {
				return PerNode{&random{rng: rand.New(rand.NewPCG(uint64(a.int("seed")), 0))}}, nil
			},
		},
	}
}

func join[T any](list []T, name func(T) string) string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = name(x)
	}
	return strings.Join(names, ", ")
}

// args are the values of all parameters of a model, as parse left them.
type args map[string]any

func (a args) int(name string) int64                { return a[name].(int64) }
func (a args) float(name string) float64            { return a[name].(float64) }
func (a args) bool(name string) bool                { return a[name].(bool) }
func (a args) text(name string) string              { return a[name].(string) }
func (a args) table(name string) map[string]float64 { return a[name].(map[string]float64) }

// parse gives every parameter its value.
func (m *Info) parse(p Params) (args, error) {
	var unknown []string
	for name := range p {
		if !slices.ContainsFunc(m.Params, func(x Param) bool { return x.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		return nil, fmt.Errorf("no parameter %q; there are %s", unknown[0], join(m.Params, func(x Param) string { return x.Name }))
	}
	a := args{}
	for _, x := range m.Params {
		text, ok := p[x.Name]
		if !ok {
			text = x.Default
		}
		value, err := x.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
		a[x.Name] = value
	}
	return a, nil
}
