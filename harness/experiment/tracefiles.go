package experiment

import (
	"fmt"
	"maps"
	"path/filepath"

	"heddle/harness/config"
	"heddle/harness/runs"
	"heddle/traces/tracefile"
)

// Keys of the manifest's settings that say which trace file a workload ran. The
// workload's label follows.
const (
	tracePathKey = "trace."
	traceHashKey = "traceSHA256."
)

// traceSettings returns the settings of a new run with, for each workload of a
// trace, the absolute path of the trace file and its SHA-256. The run folder
// has no copy of a trace.
func traceSettings(e *config.Experiment, settings map[string]string) (map[string]string, error) {
	all := maps.Clone(settings)
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if w.Trace == "" {
			continue
		}
		file, err := filepath.Abs(w.Trace)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Label, err)
		}
		sum, err := tracefile.SHA256(file)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Label, err)
		}
		if all == nil {
			all = map[string]string{}
		}
		all[tracePathKey+w.Label], all[traceHashKey+w.Label] = file, sum
	}
	return all, nil
}

// FindTraces sets the paths of the traces in the experiment of a run that is
// resumed, as the run recorded them: relative paths in the run's copy of the
// experiment file do not start from the run folder. It fails if a trace has
// changed since.
func FindTraces(e *config.Experiment, m runs.Manifest) error {
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if w.Trace == "" {
			continue
		}
		file := m.Settings[tracePathKey+w.Label]
		if file == "" {
			return fmt.Errorf("resume: the run did not record where the trace of workload %s is", w.Label)
		}
		sum, err := tracefile.SHA256(file)
		if err != nil {
			return fmt.Errorf("resume: workload %s: %w; put the trace back", w.Label, err)
		}
		if sum != m.Settings[traceHashKey+w.Label] {
			return fmt.Errorf("resume: %w: workload %s: the trace %s has changed since the run began; put the old one back, or start a new run", runs.ErrDamaged, w.Label, file)
		}
		w.Trace = file
	}
	return nil
}
