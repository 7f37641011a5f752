package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// TraceFile is the name of a trial's trace in the folder of the trial.
const TraceFile = "trace.heddle"

const resultFile = "result.json"

// Run is a run whose complete trials can be read. Its results and traces
// have been compared with their recorded hashes.
type Run struct {
	*runs.Run
	// Trials are the results of the complete trials, in the planned order.
	Trials []Trial

	models map[string]string   // for each label of a scheduler model in the experiment, the model's name in the traces
	sizes  []measure.SizeClass // those that the experiment names; nil for the usual ones
}

// Open reads the results of the run in the folder dir. A result or trace that
// differs from its recorded hash is an error. If unverified is true, it is a
// warning instead.
func Open(dir string, unverified bool) (*Run, error) {
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	run.Unverified = unverified
	if err := run.Verify(resultFile, TraceFile); err != nil {
		return nil, err
	}
	results, err := List(run)
	if err != nil {
		return nil, err
	}
	sizes, err := sizeClasses(run)
	if err != nil {
		return nil, err
	}
	return &Run{Run: run, Trials: results, models: map[string]string{}, sizes: sizes}, nil
}

// World says where a trial ran: runs.WorldCluster or runs.WorldSimulated.
func (f *Run) World(r *Trial) string { return cmp.Or(r.World, f.Manifest().World, runs.WorldCluster) }

// TracePath returns the path of the trial's trace file.
func (f *Run) TracePath(r *Trial) string { return filepath.Join(f.TrialDir(r.Name), TraceFile) }

// Figures returns the figures of a trial, such as completion times and
// locality. If the trial's result does not contain them, they are computed from
// the trial's trace. If the trace is damaged, they cover the part before the
// damage, and there is a warning.
func (f *Run) Figures(r *Trial) (m *measure.Figures, warning string, err error) {
	if r.Figures != nil {
		r.Figures.Notes = r.Notes
		return r.Figures, "", nil
	}
	trace, err := tracefile.Open(f.TracePath(r))
	if err != nil {
		return nil, "", err
	}
	defer trace.Close()
	m = measure.Of(trace.Header(), trace.All())
	m.Notes = r.Notes
	if f.sizes != nil {
		m.Classify(f.sizes)
	}
	var damage *tracefile.DamageError
	if err := trace.Err(); errors.As(err, &damage) {
		warning = fmt.Sprintf("%v: only the part of the trace before that is used", err)
	} else if err != nil {
		return nil, "", err
	}
	if r.Model == config.ModelRecorded { // it is of another run
		return m, warning, nil
	}
	return m, warning, f.checkTrace(r, trace.Header(), m)
}

// Stages returns the figures of a trial as Figures does, with the jobs' times of its
// result, and one element for each stage of the trial.
func (f *Run) Stages(r *Trial) (stages []*measure.Figures, warning string, err error) {
	m, warning, err := f.Figures(r)
	if err != nil {
		return nil, "", err
	}
	if len(r.Later) == 0 {
		m = r.WithTimes(m)
	}
	return append([]*measure.Figures{m}, r.Later...), warning, nil
}

// checkTrace returns an error if the header or the jobs of a trace show that it
// belongs to another trial.
func (f *Run) checkTrace(r *Trial, h traces.Header, m *measure.Figures) error {
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

// ErrNone says that a run has traces and no results of trials, since it is
// no run of an experiment.
var ErrNone = errors.New("no results of trials")

// List returns the results of a run's complete trials, without warm-ups, in
// the order in which the trials were planned. If the run keeps its results in
// one table, they come from the table. List compares the files that it reads
// with their recorded hashes.
func List(run *runs.Run) ([]Trial, error) {
	if hasTable(run) {
		return readTable(run)
	}
	if err := run.Verify(resultFile); err != nil {
		return nil, err
	}
	var results []Trial
	for _, t := range run.Manifest().Trials {
		if t.State != runs.TrialDone || t.Warmup {
			continue
		}
		var r Trial
		if err := run.ReadTrialJSON(t.Name, resultFile, &r); errors.Is(err, fs.ErrNotExist) {
			trace := filepath.Join(run.TrialDir(t.Name), TraceFile)
			return nil, fmt.Errorf("%w: %s is a capture: it has no models and repeats; 'heddle trace info %s' prints its figures, and 'heddle "+
				"replay %s' simulates its jobs", ErrNone, run.Dir, trace, trace)
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

// Traces returns the paths of the traces of the run's finished trials.
func Traces(run *runs.Run) (paths []string) {
	for _, t := range run.Manifest().Trials {
		if t.State == runs.TrialDone {
			paths = append(paths, filepath.Join(run.TrialDir(t.Name), TraceFile))
		}
	}
	return paths
}

// RunOf returns the folder of the run that has the trace at path, or "" if it is
// the trace of no run.
func RunOf(path string) string {
	dir := filepath.Dir(filepath.Dir(filepath.Dir(path)))
	if run, err := runs.Open(dir); err == nil && slices.Contains(Traces(run), filepath.Clean(path)) {
		return dir
	}
	return ""
}
