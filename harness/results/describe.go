package results

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/runs"
)

// About is a summary of a run folder, for lists of runs. Other programs may
// rely on its JSON keys.
type About struct {
	Name      string     `json:"name"` // name of the run folder
	Folder    string     `json:"folder"`
	World     string     `json:"world"` // where the trials ran: "cluster" or runs.WorldSimulated
	State     runs.State `json:"state"`
	Error     string     `json:"error,omitempty"`
	Trials    int        `json:"trials"`
	Done      int        `json:"done"`
	Models    []string   `json:"models"` // labels of the scheduler models; empty if heddle captured jobs that it did not start
	Workloads []string   `json:"workloads"`
	Started   time.Time  `json:"started"`
	Bytes     int64      `json:"bytes"`
}

// Describe returns the summary of a run. If it cannot read the run's experiment
// file or table of results, it returns an error together with what it could
// read.
func Describe(run *runs.Run) (About, error) {
	m := run.Manifest()
	a := About{
		Folder: run.Dir, World: m.Place(), State: m.State, Error: m.ErrorLine(), Trials: len(m.Trials),
		Models: []string{}, Workloads: []string{}, Started: m.Started, Bytes: run.Bytes(),
	}
	if dir, err := filepath.Abs(run.Dir); err == nil {
		a.Folder = dir
	}
	a.Name = filepath.Base(a.Folder)
	for _, t := range m.Trials {
		if t.State == runs.TrialDone {
			a.Done++
		}
	}
	if hasTable(run) {
		results, err := readTable(run)
		a.Trials, a.Done = len(results), len(results)
		for _, r := range results {
			a.add(r.Workload, r.Model)
		}
		return a, err
	}
	e, err := Experiment(run, "")
	if err != nil {
		return a, err
	}
	if e == nil { // replays that keep their traces have results and no experiment
		results, err := List(run)
		for _, r := range results {
			a.add(r.Workload, r.Model)
		}
		if errors.Is(err, ErrNone) {
			err = nil
		}
		return a, err
	}
	for _, t := range e.Trials() {
		a.add(t.Workload.Label, t.Model.Label)
	}
	slices.Sort(a.Models) // sort the models by label, because the trials run them in changing order
	return a, nil
}

// Size returns the total length of the run's files as text with a unit.
func (a *About) Size() string { return units.Size(a.Bytes).Rounded() }

func (a *About) add(workload, model string) {
	if !slices.Contains(a.Workloads, workload) {
		a.Workloads = append(a.Workloads, workload)
	}
	if !slices.Contains(a.Models, model) {
		a.Models = append(a.Models, model)
	}
}
