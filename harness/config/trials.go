package config

import (
	"fmt"
	"math/rand/v2"
)

// Trial is one run of one workload under one model.
type Trial struct {
	// Name identifies the trial in its run: "r02-wordcount-yarn".
	Name string
	// Repeat is the number of the repeat, counted from 1.
	Repeat   int
	Workload Workload
	Model    Model
}

// TrialName returns the name of a trial. Repeats count from 1.
func TrialName(repeat int, workload, model string) string {
	return fmt.Sprintf("r%02d-%s-%s", repeat, workload, model)
}

// SplitsOf returns the value of Experiment.Splits that applies to a trial.
func (e *Experiment) SplitsOf(t Trial) string {
	if t.Model.Model == ModelYARN && t.Model.Splits == SplitsPlan {
		return SplitsAsSubmitted
	}
	return t.Model.Splits
}

// ActuatorOf returns the value of Experiment.Actuator that applies to a trial.
func (e *Experiment) ActuatorOf(t Trial) string {
	if t.Model.Model == ModelYARN {
		return ActuatorNone
	}
	return e.Actuator
}

// Trials returns all trials of e in the order in which to run them. They go
// repeat by repeat, so that a run that ends early has run everything equally
// often. The order of models changes, so that none is always first. The order
// depends only on e; more repeats add trials at the end.
func (e *Experiment) Trials() []Trial {
	var trials []Trial
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

// modelOrder returns the order of the k models for workload w in repeat r. Each
// k repeats share an order drawn from the seed, and rotate it, so that each
// model is first once in k repeats.
func (e *Experiment) modelOrder(r, w int) []int {
	k := len(e.Models)
	if k == 0 {
		return nil
	}
	round, turn := r/k, r%k
	order := rand.New(rand.NewPCG(e.Seed, uint64(w)<<32|uint64(round))).Perm(k)
	return append(order[turn:], order[:turn]...)
}
