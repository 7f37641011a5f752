package config

import (
	"fmt"
	"math/rand/v2"
)

// Trial is one run of one workload under one scheduler model.
type Trial struct {
	// Name identifies the trial in its run, such as "r02-wordcount-yarn" in
	// repeat 2.
	Name string
	// Repeat is the number of the repeat, counted from 1.
	Repeat   int
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
// them. They go repeat by repeat, so that a run that ends early has run
// everything equally often. The order of models changes, so that no model is
// always first. The order depends only on the experiment. With more repeats,
// trials are added at the end.
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

// modelOrder returns the order of the k scheduler models for workload w in
// repeat r. For each group of k repeats, an order is drawn from the seed. Each
// repeat of the group starts it one model later, so that each model is first
// once.
func (e *Experiment) modelOrder(r, w int) []int {
	k := len(e.Models)
	if k == 0 {
		return nil
	}
	round, turn := r/k, r%k
	order := rand.New(rand.NewPCG(e.Seed, uint64(w)<<32|uint64(round))).Perm(k)
	return append(order[turn:], order[:turn]...)
}
