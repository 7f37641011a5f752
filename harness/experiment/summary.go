package experiment

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/tracefile"
)

const (
	resultFile = "result.json"
	traceFile  = "trace.heddle"
)

// Finished is a run whose complete trials can be read. Its results and traces
// have been compared with their recorded hashes.
type Finished struct {
	*runs.Run
	// Results are the results of the complete trials, in the planned order of
	// trials.
	Results []Result

	models map[string]string   // for each label of a scheduler model in the experiment, the model's name in the traces
	sizes  []measure.SizeClass // those that the experiment names; nil for the usual ones
}

// Read reads the results of the run in the folder dir. A result or trace that
// differs from its recorded hash is an error. If unverified is true, it is a
// warning instead.
func Read(dir string, unverified bool) (*Finished, error) {
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	run.Unverified = unverified
	if err := run.Verify(resultFile, traceFile); err != nil {
		return nil, err
	}
	results, err := Results(run)
	if err != nil {
		return nil, err
	}
	sizes, err := sizeClasses(run)
	if err != nil {
		return nil, err
	}
	return &Finished{Run: run, Results: results, models: map[string]string{}, sizes: sizes}, nil
}

// TracePath returns the path of the trial's trace file.
func (f *Finished) TracePath(r *Result) string { return filepath.Join(f.TrialDir(r.Trial), traceFile) }

// Figures returns the figures of a trial, such as completion times and
// locality. If the trial's result does not contain them, they are computed from
// the trial's trace. If the trace is damaged, they cover the part before the
// damage, and there is a warning.
func (f *Finished) Figures(r *Result) (m *measure.Figures, warning string, err error) {
	if r.Figures != nil {
		return r.Figures, "", nil
	}
	trace, err := tracefile.Open(f.TracePath(r))
	if err != nil {
		return nil, "", err
	}
	defer trace.Close()
	m = measure.Of(trace.Header(), trace.All())
	if f.sizes != nil {
		m.Classify(f.sizes)
	}
	var damage *tracefile.DamageError
	if err := trace.Err(); errors.As(err, &damage) {
		warning = fmt.Sprintf("%v: only the part of the trace before that is used", err)
	} else if err != nil {
		return nil, "", err
	}
	return m, warning, f.checkTrace(r, trace.Header(), m)
}

// checkTrace returns an error if the header or the jobs of a trace show that it
// belongs to another trial.
func (f *Finished) checkTrace(r *Result, h traces.Header, m *measure.Figures) error {
	foreign := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s belongs to another trial: %s", runs.ErrDamaged, f.TracePath(r), fmt.Sprintf(format, args...))
	}
	if seed := cmp.Or(r.Seed, f.Manifest().Seed); h.Seed != seed {
		return foreign("its seed is %d, but the run's is %d", h.Seed, seed)
	}
	if model, ok := f.models[r.Model]; ok && h.Model != model {
		return foreign("its model is %q, but other traces of %q have %q", h.Model, r.Model, model)
	}
	f.models[r.Model] = h.Model
	known := map[traces.JobID]bool{}
	for _, j := range r.Jobs {
		known[j.ID] = true
	}
	for _, j := range m.JobList {
		if !known[j.ID] {
			return foreign("its job %s is not in %s", j.ID, resultFile)
		}
	}
	return nil
}

// ErrNoResults says that a run has traces and no results of trials, since it is
// no run of an experiment.
var ErrNoResults = errors.New("no results of trials")

// Results returns the results of a run's complete trials, without warm-ups, in
// the order in which the trials were planned. If the run keeps its results in
// one table, they come from the table. Results compares the files that it reads
// with their recorded hashes.
func Results(run *runs.Run) ([]Result, error) {
	if hasTable(run) {
		return readTable(run)
	}
	if err := run.Verify(resultFile); err != nil {
		return nil, err
	}
	var results []Result
	for _, t := range run.Manifest().Trials {
		if t.State != runs.TrialDone || t.Warmup {
			continue
		}
		var r Result
		if err := run.ReadTrialJSON(t.Name, resultFile, &r); errors.Is(err, fs.ErrNotExist) {
			trace := filepath.Join(run.TrialDir(t.Name), traceFile)
			return nil, fmt.Errorf("%w: %s is a capture: it has no models and repeats; 'heddle trace info %s' prints its figures, and 'heddle replay %s' simulates its jobs", ErrNoResults, run.Dir, trace, trace)
		} else if err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		if err := r.check(t.Name); err != nil {
			return nil, fmt.Errorf("read result: %w: %s: %w", runs.ErrDamaged, filepath.Join(run.TrialDir(t.Name), resultFile), err)
		}
		results = append(results, r)
	}
	return results, nil
}

// check returns an error if a result cannot be right, for example if it names
// another trial than the one in whose folder it was.
func (r *Result) check(name string) error {
	if r.Trial != name {
		return fmt.Errorf("trial: %q, but the folder is that of trial %s", r.Trial, name)
	}
	if is := config.TrialName(r.Repeat, r.Workload, r.Model); is != name {
		return fmt.Errorf("repeat %d, workload %q and model %q belong to trial %q", r.Repeat, r.Workload, r.Model, is)
	}
	if r.MakespanMs < 0 {
		return fmt.Errorf("makespanMs: %d: want 0 or more", r.MakespanMs)
	}
	if r.InputBytes < 0 {
		return fmt.Errorf("inputBytes: %d: want 0 or more", r.InputBytes)
	}
	seen := map[traces.JobID]bool{}
	for i, j := range r.Jobs {
		if j.CompletionMs < 0 {
			return fmt.Errorf("jobs[%d].completionMs: %d: want 0 or more", i, j.CompletionMs)
		}
		if seen[j.ID] {
			return fmt.Errorf("jobs[%d].id: %s occurs twice", i, j.ID)
		}
		seen[j.ID] = true
	}
	return nil
}

// writeSummary writes the results of all trials to the file summary.json.
func writeSummary(run *runs.Run) error {
	results, err := Results(run)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return run.WriteFile("summary.json", append(data, '\n'))
}
