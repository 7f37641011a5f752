package paper

import (
	"fmt"
	"maps"
	"math"
	"time"

	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// Kept is what a run folder keeps of what was simulated for a paper: a row for each
// scheduler in each column of a design with each seed. Seeds are repeats.
type Kept struct {
	Trials []results.Trial
	// LeftOut are the readings whose rows would have been more than a run folder holds.
	LeftOut []string
	setups  map[string]map[string]string // by workload, the values that its reading has
	paper   string
	seed    uint64
}

// keep adds what was simulated in a reading. If there are several readings, each has
// workloads of its own, so that schedulers are compared within a reading.
func (k *Kept) keep(d *Data, several bool) {
	if k.setups == nil {
		k.setups = map[string]map[string]string{}
	}
	rows := 0
	for x, i := range d.all() {
		if len(x.trials[i].Stages) > 0 { // a stand-in for the simulator gives no figures
			rows++
		}
	}
	if len(k.Trials)+rows > results.MostRows {
		k.LeftOut = append(k.LeftOut, d.reading.Name)
		return
	}
	for x, i := range d.all() {
		s, workload := &x.trials[i], x.design+" "+x.column
		if several {
			workload = d.reading.Name + ", " + workload
		}
		if len(s.Stages) == 0 {
			continue
		}
		k.setups[workload] = d.values
		params := maps.Clone(x.scheduler.Params)
		maps.Copy(params, x.scheduler.Set)
		t := results.Trial{
			Name: config.TrialName(i+1, workload, x.scheduler.Label), Workload: workload, Model: x.scheduler.Label, Params: params,
			Reading: d.reading.Name, Repeat: i + 1, Seed: d.bench.seeds[i], Notes: s.notes(), Figures: s.Stages[0], Later: s.Stages[1:],
		}
		for _, f := range s.Stages {
			t.InputBytes += f.Bytes.Input
			t.MakespanMs += int64(math.Round(f.MakespanMs))
		}
		k.Trials = append(k.Trials, t)
	}
}

// notes are what the model and the setting note of a simulation, how many maps have their
// block in the cache of some node, and what training took.
func (s *Simulation) notes() map[string]float64 {
	notes := map[string]float64{"cachedAnywhere": float64(s.Cached)}
	maps.Copy(notes, s.Notes)
	maps.DeleteFunc(
		notes,
		func(_ string, x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) },
	) // what a scheduler does not have, such as decisions
	if s.Trained > 0 {
		notes["placedInTraining"], notes["trainingMs"] = float64(s.Trained), s.TrainingMs
	}
	return notes
}

// Write makes a run folder below root, with one table of all rows, of simulations that began
// at a time. Its name is the time and the paper if none is given.
func (k *Kept) Write(root, name string, command []string, began time.Time) (*runs.Run, error) {
	run, err := results.Keep(
		root,
		name,
		"paper-"+k.paper,
		runs.Manifest{Started: began, Command: command, World: runs.WorldSimulated, Seed: k.seed, Clusters: k.setups},
		k.Trials,
	)
	if err != nil {
		return nil, fmt.Errorf("keep simulations: %w", err)
	}
	return run, nil
}
