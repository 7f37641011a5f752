package config

import (
	"fmt"
	"math/rand/v2"
)

// Trial is one run of one workload under one model.
type Trial struct {
	// Name is the trial's own and stays the same: "r02-wordcount-yarn".
	Name string
	// Repeat counts from 1.
	Repeat   int
	Workload Workload
	Model    Model
}

// TrialName is the name of a workload's trial under a model; repeats count from 1.
func TrialName(repeat int, workload, model string) string {
	return fmt.Sprintf("r%02d-%s-%s", repeat, workload, model)
}

// SplitsOf is what ApplicationMasters are to see in a trial, as Experiment.Splits.
func (e *Experiment) SplitsOf(t Trial) string {
	if t.Model.Model == ModelYARN && t.Model.Splits == SplitsPlan {
		return SplitsAsSubmitted
	}
	return t.Model.Splits
}

// ActuatorOf is what carries decisions out in a trial, as Experiment.Actuator.
func (e *Experiment) ActuatorOf(t Trial) string {
	if t.Model.Model == ModelYARN {
		return ActuatorNone
	}
	return e.Actuator
}

// Trials are all runs of e in the order in which they are to be done: repeat
// by repeat, so that a run that ends early has tried everything equally often,
// and models in turn, so that none always goes first. The order depends on
// nothing but e; with more repeats the first ones stay as they are.
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

// modelOrder is the order of models for workload w in repeat r. Each round of
// as many repeats as there are models has an order of its own by the seed and
// rotates it, so that every model comes first once a round.
func (e *Experiment) modelOrder(r, w int) []int {
	k := len(e.Models)
	if k == 0 {
		return nil
	}
	round, turn := r/k, r%k
	order := rand.New(rand.NewPCG(e.Seed, uint64(w)<<32|uint64(round))).Perm(k)
	return append(order[turn:], order[:turn]...)
}
