package experiment

import (
	"path/filepath"
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/runs"
)

// About is a summary of a run. Its JSON keys are stable.
type About struct {
	Name      string     `json:"name"` // name of the run folder
	Folder    string     `json:"folder"`
	World     string     `json:"world"` // the run's world: "cluster" or runs.WorldSimulated
	State     runs.State `json:"state"`
	Error     string     `json:"error,omitempty"`
	Trials    int        `json:"trials"`
	Done      int        `json:"done"`
	Models    []string   `json:"models"` // labels of the models; a capture has none
	Workloads []string   `json:"workloads"`
	Started   time.Time  `json:"started"`
	Bytes     int64      `json:"bytes"`
}

// Describe returns the summary of a run. If its experiment or its table cannot
// be read, it returns an error and the other fields.
func Describe(run *runs.Run) (About, error) {
	m := run.Manifest()
	a := About{
		Folder: run.Dir, World: m.World, State: m.State, Error: m.Error, Trials: len(m.Trials),
		Models: []string{}, Workloads: []string{}, Started: m.Started, Bytes: run.Bytes(),
	}
	if dir, err := filepath.Abs(run.Dir); err == nil {
		a.Folder = dir
	}
	a.Name = filepath.Base(a.Folder)
	if a.World == "" {
		a.World = "cluster"
	}
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
	const file = "experiment.yaml"
	if !slices.ContainsFunc(m.Files, func(f runs.File) bool { return f.Name == file }) {
		return a, nil
	}
	source, err := run.ReadFile(file)
	if err != nil {
		return a, err
	}
	e, err := config.ParseExperiment(filepath.Join(run.Dir, file), source)
	if err != nil {
		return a, err
	}
	for _, t := range e.Trials() {
		a.add(t.Workload.Label, t.Model.Label)
	}
	slices.Sort(a.Models) // sort the models, whose order differs between trials
	return a, nil
}

// Size returns Bytes as text with a unit.
func (a *About) Size() string { return units.Size(a.Bytes).Rounded() }

func (a *About) add(workload, model string) {
	if !slices.Contains(a.Workloads, workload) {
		a.Workloads = append(a.Workloads, workload)
	}
	if !slices.Contains(a.Models, model) {
		a.Models = append(a.Models, model)
	}
}
