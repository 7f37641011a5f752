package config

import (
	"fmt"
	"math/rand/v2"
)

// Trial is one run of one workload under one scheduler model.
type Trial struct {
	// Name identifies the trial in its run, such as "r02-wordcount-yarn" in
	// repeat 2, or "w02-wordcount-yarn" for the second warm-up.
	Name string
	// Repeat is the number of the repeat, or of the warm-up, counted from 1.
	Repeat   int
	Warmup   bool
	Workload Workload
	Model    Model
}

// TrialName returns the name of the trial of a workload under a model. Repeats
// count from 1.
func TrialName(repeat int, workload, model string) string {
	return fmt.Sprintf("r%02d-%s-%s", repeat, workload, model)
}

// SplitsOf returns the trial's value of Splits: that of its model, or else of
// the experiment.
func (e *Experiment) SplitsOf(t Trial) string {
	if t.Model.Model == ModelYARN && t.Model.Splits == SplitsPlan {
		return SplitsAsSubmitted
	}
	return t.Model.Splits
}

// ActuatorOf returns the trial's value of Actuator, which says how decisions
// take effect.
func (e *Experiment) ActuatorOf(t Trial) string {
	if t.Model.Model == ModelYARN {
		return ActuatorNone
	}
	return e.Actuator
}

// Trials returns all trials of the experiment in the order in which to run
// them. After the warm-ups they go repeat by repeat, so that a run that ends
// early has run everything equally often, and trials that are compared run
// shortly after each other. The order depends only on the experiment. With more
// repeats, trials are added at the end.
func (e *Experiment) Trials() []Trial {
	trials := e.warmups()
	for r := range e.Repeats {
		for w, workload := range e.Workloads {
			for _, m := range e.modelOrder(r, w) {
				trials = append(trials, Trial{
					Name:   TrialName(r+1, workload.Label, e.Models[m].Label),
					Repeat: r + 1, Workload: workload, Model: e.Models[m],
				})
			}
		}
	}
	return trials
}

// warmups returns the trials to run before the first repeat. All trials share
// most of what is cold at first, such as connections and code that the daemons'
// Java has not compiled. A workload has a part of its own: its input is written
// before its first trial. So has a model: steering moves node labels. So the
// warm-ups take the workloads in turn, and after each round the next model.
func (e *Experiment) warmups() []Trial {
	if len(e.Workloads) == 0 || len(e.Models) == 0 {
		return nil
	}
	var trials []Trial
	for i := range e.Warmups {
		w, round := i%len(e.Workloads), i/len(e.Workloads)
		workload, model := e.Workloads[w], e.Models[(w+round)%len(e.Models)]
		trials = append(trials, Trial{
			Name:   fmt.Sprintf("w%02d-%s-%s", i+1, workload.Label, model.Label),
			Repeat: i + 1, Warmup: true, Workload: workload, Model: model,
		})
	}
	return trials
}

// modelOrder returns the order of the k models for workload w in repeat r.
//
// In random order each k repeats share an order drawn from the seed, and rotate
// it, so that each model has each place once in k repeats. In one fixed order,
// what a trial leaves to the next one, such as a warm cache, and a cluster that
// becomes slower would always hit the same model: no number of repeats shows
// that, and more of them only make the wrong difference look surer.
func (e *Experiment) modelOrder(r, w int) []int {
	k := len(e.Models)
	if k == 0 {
		return nil
	}
	if e.Order == OrderAsListed {
		order := make([]int, k)
		for i := range order {
			order[i] = i
		}
		return order
	}
	round, turn := r/k, r%k
	order := rand.New(rand.NewPCG(e.Seed, uint64(w)<<32|uint64(round))).Perm(k)
	return append(order[turn:], order[:turn]...)
}
