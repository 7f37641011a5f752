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

// Finished are the complete trials of a run, to be read. Their results and
// traces are as they were recorded.
type Finished struct {
	*runs.Run
	// Results are in the plan's order.
	Results []Result

	models map[string]string // what the traces under a label say is the model
}

// Read reads the results of the run in folder dir. Results and traces that are
// not as recorded are an error, or warnings of the run if it is to be read
// unverified.
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
	return &Finished{Run: run, Results: results, models: map[string]string{}}, nil
}

// TracePath is where the trial's trace is.
func (f *Finished) TracePath(r *Result) string { return filepath.Join(f.TrialDir(r.Trial), traceFile) }

// Figures are what the trial's trace comes to, or came to if it was not kept. Of a
// trace that is damaged they are of what comes before that, with a warning.
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
	var damage *tracefile.DamageError
	if err := trace.Err(); errors.As(err, &damage) {
		warning = fmt.Sprintf("%v: what the trace has before that is used", err)
	} else if err != nil {
		return nil, "", err
	}
	return m, warning, f.checkTrace(r, trace.Header(), m)
}

// checkTrace says whether a trace can be that of the trial, by its header and its
// jobs.
func (f *Finished) checkTrace(r *Result, h traces.Header, m *measure.Figures) error {
	foreign := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s is of another trial: %s", runs.ErrDamaged, f.TracePath(r), fmt.Sprintf(format, args...))
	}
	if seed := cmp.Or(r.Seed, f.Manifest().Seed); h.Seed != seed {
		return foreign("its seed is %d, that of the run %d", h.Seed, seed)
	}
	if model, ok := f.models[r.Model]; ok && h.Model != model {
		return foreign("its model is %q, other traces under %q have %q", h.Model, r.Model, model)
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

// Results are the results of a run's complete trials, in the plan's order, or those
// in its table. The files are verified.
func Results(run *runs.Run) ([]Result, error) {
	if hasTable(run) {
		return readTable(run)
	}
	if err := run.Verify(resultFile); err != nil {
		return nil, err
	}
	var results []Result
	for _, t := range run.Manifest().Trials {
		if t.State != runs.TrialDone {
			continue
		}
		var r Result
		if err := run.ReadTrialJSON(t.Name, resultFile, &r); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read result: %w; only runs of an experiment have results", err)
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

// check says what in the result of the trial in folder name cannot be.
func (r *Result) check(name string) error {
	if r.Trial != name {
		return fmt.Errorf("trial: %q, but the folder is of trial %s", r.Trial, name)
	}
	if is := config.TrialName(r.Repeat, r.Workload, r.Model); is != name {
		return fmt.Errorf("repeat, workload and model: %d, %q and %q are those of trial %q", r.Repeat, r.Workload, r.Model, is)
	}
	if r.MakespanMs < 0 {
		return fmt.Errorf("makespanMs: %d is negative", r.MakespanMs)
	}
	if r.InputBytes < 0 {
		return fmt.Errorf("inputBytes: %d is negative", r.InputBytes)
	}
	seen := map[traces.JobID]bool{}
	for i, j := range r.Jobs {
		if j.CompletionMs < 0 {
			return fmt.Errorf("jobs[%d].completionMs: %d is negative", i, j.CompletionMs)
		}
		if seen[j.ID] {
			return fmt.Errorf("jobs[%d].id: %s is there twice", i, j.ID)
		}
		seen[j.ID] = true
	}
	return nil
}

// writeSummary puts all results into one file.
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
