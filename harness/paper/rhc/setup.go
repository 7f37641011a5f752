package rhc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/option"
	"heddle/harness/paper"
	"heddle/harness/paper/rhc/policy"
)

// monteCarlo is the simulation of section V-B: jobs come, get reduce slots, and hold them
// until their map work is done. Reduce work itself takes no time.
type monteCarlo struct {
	Slots   int     `flag:"slots" min:"10" max:"100000"`
	Jobs    int     `flag:"jobs" min:"1" max:"10000000"`
	Load    float64 `flag:"load" min:"0.00001" max:"0.99999"` // jobs that come in the mean time in which one is served
	Costs   string  `flag:"costs" values:"real,integer,fromZero"`
	Sizes   string  `flag:"sizes" values:"uniform,perReduce,own,even,rare,log"`
	Rare    float64 `flag:"rare" min:"0" max:"1"` // with sizes=rare, probability of a large job
	Reduces string  `flag:"reduces" values:"uniform,ten"`
	Service string  `flag:"service" values:"exponential,withSize,size"`
	Queue   string  `flag:"queue" values:"sharing,fifo,none"`
	List    string  `flag:"list" values:"free,all"`
	Present string  `flag:"present" values:"others,all"`
	Batch   int     `flag:"batch" min:"0"`               // if above 0, jobs stay until so many have come, and then all leave
	Cluster string  `flag:"cluster" values:"none,fig10"` // the cluster that is simulated instead
	Links   string  `flag:"links" values:"uneven,even"`  // of that cluster's nodes
}

var standard = monteCarlo{
	Slots: 1000, Jobs: 50_000, Load: 0.2, Costs: "real", Sizes: "uniform", Rare: 0.1, Reduces: "uniform",
	Service: "exponential", Queue: "sharing", List: "free", Present: "others", Cluster: "none", Links: "uneven",
}

// mostReduces is the largest number of reduce tasks of a job, and largest its data.
const mostReduces, largest = 10, 100

// With returns the simulation with one property changed.
func (x monteCarlo) With(name, value string) (paper.Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	if err == nil && x.Batch*mostReduces > x.Slots {
		err = errors.New("out of range: a batch's jobs would not have slots for all their reduces")
	}
	return x, err
}

// schedulers are the models of this paper, with the parameters that each has. The last is no
// rule.
var schedulers = map[string][]string{
	"rhc": {
		"p",
		"next",
		"tau",
	},
	"known":    nil,
	"coin":     nil,
	"constant": {"p"},
	"lawOfR":   nil,
	"greedy":   nil,
	"random":   nil,
	"optimal":  {"form"},
	"bound":    nil,
}

// parameters are those of all models.
type parameters struct {
	P    string `flag:"p"` // window, known or a probability
	Next string `flag:"next" values:"same,law"`
	Tau  int    `flag:"tau" min:"0"`
	Form string `flag:"form" values:"exact,printed"`
}

// Check returns an error if a scheduler is not one of this paper's.
func (x monteCarlo) Check(s paper.Scheduler) error {
	_, err := x.policy(s, 0)
	return err
}

// policy returns the rule of a scheduler, nil for what is no rule.
func (x monteCarlo) policy(s paper.Scheduler, seed uint64) (policy.Policy, error) {
	known, ok := schedulers[s.Model]
	if !ok {
		return nil, fmt.Errorf("no model %q: there are %s", s.Model, strings.Join(slices.Sorted(maps.Keys(schedulers)), ", "))
	}
	p := parameters{P: "window"}
	for name, value := range s.Params {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("model %s has no parameter %q", s.Model, name)
		}
		if err := option.Set(option.Of(&p), name, value); err != nil {
			return nil, fmt.Errorf("model %s: %s=%s: %w", s.Model, name, value, err)
		}
	}
	law, rule := x.law(), &policy.RHC{Window: p.Tau}
	random := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 3)) }
	switch s.Model {
	case "greedy":
		return policy.Greedy{}, nil
	case "random":
		return policy.Random{Rand: random()}, nil
	case "optimal":
		return policy.NewOptimal(&law, max(1, x.Batch), p.Form == "printed")
	case "bound":
		return nil, nil
	case "coin":
		rule.Blind = random()
	case "known":
		p.P = "known"
	case "lawOfR":
		p.Next = "law"
	}
	if p.Next == "law" {
		rule.Next = law.Next()
	}
	switch p.P {
	case "window":
	case "known":
		rule.Fixed, rule.Mean = x.Load/(1+x.Load), law.Next()[0]
	default:
		var err error
		if rule.Fixed, err = strconv.ParseFloat(p.P, 64); err != nil || !(rule.Fixed > 0) || rule.Fixed > 1 {
			return nil, fmt.Errorf("model %s: p=%s: want window, known, or a probability above 0", s.Model, p.P)
		}
	}
	return rule, nil
}

// law returns the distribution that jobs are drawn from.
func (x monteCarlo) law() policy.Law {
	l := policy.Law{Reduces: slices.Repeat([]float64{1.0 / mostReduces}, mostReduces), PerReduce: x.Sizes == "perReduce" || x.Sizes == "own"}
	if x.Reduces == "ten" {
		l.Reduces = make([]float64, mostReduces)
		l.Reduces[mostReduces-1] = 1
	}
	switch x.Sizes {
	case "even":
		l.Data = []policy.Weighted{{Value: 1, P: 0.5}, {Value: largest, P: 0.5}}
	case "rare":
		l.Data = []policy.Weighted{{Value: 1, P: 1 - x.Rare}, {Value: largest, P: x.Rare}}
	case "log": // in steps, as a stand-in for a law without steps
		const steps = 1000
		for i := range steps {
			l.Data = append(l.Data, policy.Weighted{Value: math.Pow(largest, (float64(i)+0.5)/steps), P: 1.0 / steps})
		}
	default:
		l.Data = policy.Uniform(1, largest)
	}
	return l
}

// costs draws the costs of the slots, in ascending order.
func (x monteCarlo) costs(seed uint64) []float64 {
	random, list := rand.New(rand.NewPCG(seed, 2)), make([]float64, x.Slots)
	for i := range list {
		u := random.Float64()
		switch x.Costs {
		case "integer":
			list[i] = 1 + math.Floor(100*u)
		case "fromZero":
			list[i] = 100 * u
		default:
			list[i] = 1 + 99*u
		}
	}
	slices.Sort(list)
	return list
}

// Simulate gives all jobs slots by one rule. Costs, jobs and the times when they leave are
// the same for all rules. The bound is no rule: it is what no rule can be below.
func (x monteCarlo) Simulate(ctx context.Context, s paper.Scheduler, seed uint64) (paper.Simulation, error) {
	rule, err := x.policy(s, seed)
	switch {
	case err != nil:
		return paper.Simulation{}, err
	case x.Cluster != "none":
		return x.sorts(ctx, s, seed)
	}
	jobs, leave := x.jobs(seed)
	costs := x.costs(seed)
	if err := ctx.Err(); err != nil {
		return paper.Simulation{}, err
	}
	if rule == nil {
		return paper.Simulation{Notes: map[string]float64{"cost": bound(jobs, costs) / float64(len(jobs))}}, ctx.Err()
	}
	notes, err := x.place(rule, jobs, leave, costs)
	if best, ok := rule.(*policy.Optimal); ok && err == nil {
		notes["expected"] = best.Expected(costs) / float64(max(1, x.Batch))
	}
	return paper.Simulation{Notes: notes}, err
}
