package results

import (
	"bytes"
	"fmt"
	"path/filepath"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/runs"
)

// Experiment reads the experiment file of a run. It returns nil if the run has
// none, or if the file lacks the given word, such as a key that is asked for: then a
// file that this version of heddle cannot read does no harm.
func Experiment(run *runs.Run, with string) (*config.Experiment, error) {
	const file = "experiment.yaml"
	if _, ok := run.File(file); !ok {
		return nil, nil
	}
	source, err := run.ReadFile(file)
	if err != nil || !bytes.Contains(source, []byte(with)) {
		return nil, err
	}
	return config.ParseExperiment(filepath.Join(run.Dir, file), source)
}

// sizeClasses returns the size classes that a run's experiment names, nil if it
// names none.
func sizeClasses(run *runs.Run) ([]measure.SizeClass, error) {
	e, err := Experiment(run, "sizeClasses")
	if err != nil {
		return nil, fmt.Errorf("read size classes: %w", err)
	}
	if e == nil || len(e.SizeClasses) == 0 {
		return nil, nil
	}
	return e.SizeClasses.Measured(), nil
}

// Classify divides the jobs of a trace into the size classes of the experiment in
// whose run folder the trace is. Other traces keep the usual classes.
func Classify(path string, f *measure.Figures) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("read size classes: %w", err)
	}
	dir := RunOf(path)
	if dir == "" {
		return nil
	}
	run, err := runs.Open(dir)
	if err != nil {
		return fmt.Errorf("read size classes: %w", err)
	}
	sizes, err := sizeClasses(run)
	if sizes != nil {
		f.Classify(sizes)
	}
	return err
}
