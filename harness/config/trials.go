package config

import (
	"fmt"
	"math/rand/v2"
)

// Trial is one run of one workload under one scheduler model.
type Trial struct {
	// Name identifies the trial in its run. "r02-wordcount-yarn" is the trial
	// in repeat 2, and "w02-wordcount-yarn" the second warm-up (unmeasured
	// trial).
	Name string
	// Repeat is the number of the repeat, from 1. In a warm-up (unmeasured
	// trial) it is the number of the warm-up.
	Repeat   int
	Warmup   bool
	Workload Workload
	Model    Model
}

// TrialName returns the name of the trial of a workload under a scheduler model
// in the given repeat. Repeats count from 1.
func TrialName(repeat int, workload, model string) string {
	return fmt.Sprintf("r%02d-%s-%s", repeat, workload, model)
}

// Trials returns all trials of the experiment in the order in which to run
// them: first the warm-ups, then repeat by repeat. So a run that ends early has
// run everything about equally often, and trials that are compared run shortly
// after each other. The order depends only on the experiment. With more
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

// warmups returns the unmeasured trials that run before the first repeat. They
// warm what all trials share, such as connections and code that the daemons'
// JVMs have not compiled yet. They also warm what one workload or one model
// needs first: a workload's input must be written, and a model may have to move
// node labels. So the warm-ups run one workload after the other, and in the
// next round each workload with another model.
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

// modelOrder returns the order of the k scheduler models for workload w in
// repeat r. It returns their indexes.
//
// In random order, each k successive repeats use one order that is drawn from
// the seed, each time rotated by one. So each model has each place once in k
// repeats. With the same order in all repeats, two things would always hit the
// same model: what a trial leaves to the next one, such as a warm cache, and a
// cluster that becomes slower. No number of repeats would show this error.
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
