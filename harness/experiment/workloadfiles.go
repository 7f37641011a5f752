package experiment

import (
	"fmt"
	"maps"
	"path/filepath"

	"heddle/harness/config"
	"heddle/harness/runs"
	"heddle/traces/tracefile"
)

// workloadFile is a file on this machine that a workload needs. The manifest's settings
// have its absolute path under the kind and the workload's label, as in trace.day, and
// its SHA-256, as in traceSHA256.day. The run folder has no copy of it.
type workloadFile struct {
	kind, label string
	path        *string
}

func (f *workloadFile) pathKey() string { return f.kind + "." + f.label }
func (f *workloadFile) hashKey() string { return f.kind + "SHA256." + f.label }

// workloadFiles returns the files that an experiment's workloads need.
func workloadFiles(e *config.Experiment) (list []workloadFile) {
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if w.Trace != "" {
			list = append(list, workloadFile{"trace", w.Label, &w.Trace})
		}
		if w.Jar != "" {
			list = append(list, workloadFile{"jar", w.Label, &w.Jar})
		}
	}
	return list
}

// fileSettings returns the settings of a new run with those of the files of its
// workloads.
func fileSettings(e *config.Experiment, settings map[string]string) (map[string]string, error) {
	all := map[string]string{}
	maps.Copy(all, settings)
	for _, f := range workloadFiles(e) {
		file, err := filepath.Abs(*f.path)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", f.label, err)
		}
		sum, err := tracefile.SHA256(file)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", f.label, err)
		}
		all[f.pathKey()], all[f.hashKey()] = file, sum
	}
	return all, nil
}

// FindFiles sets the paths of the files in the experiment of a run that is resumed, as
// the run recorded them: relative paths in the run's copy of the experiment file do not
// start from the run folder. It fails if a file has changed since. It also sets the number
// of reduces that the run chose for workloads that name none.
func FindFiles(e *config.Experiment, m runs.Manifest) error {
	keepReduces(e, m)
	for _, f := range workloadFiles(e) {
		file := m.Settings[f.pathKey()]
		if file == "" {
			return fmt.Errorf("resume: the run did not record where the %s of workload %s is", f.kind, f.label)
		}
		sum, err := tracefile.SHA256(file)
		if err != nil {
			return fmt.Errorf("resume: workload %s: %w; put the %s back", f.label, err, f.kind)
		}
		if sum != m.Settings[f.hashKey()] {
			return fmt.Errorf("resume: %w: workload %s: the %s %s has changed since the run began; put the old one back, or start a new run",
				runs.ErrDamaged, f.label, f.kind, file)
		}
		*f.path = file
	}
	return nil
}
