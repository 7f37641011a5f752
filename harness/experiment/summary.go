package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"heddle/harness/runs"
)

// Results are the results of a run's complete trials, in the plan's order.
func Results(run *runs.Run) ([]Result, error) {
	var results []Result
	for _, t := range run.Manifest().Trials {
		if t.State != runs.TrialDone {
			continue
		}
		file := filepath.Join(run.TrialDir(t.Name), "result.json")
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		var r Result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("read result %s: %w", file, err)
		}
		results = append(results, r)
	}
	return results, nil
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
