package results

import (
	"encoding/json"
	"fmt"

	"heddle/harness/runs"
)

// Write writes a trial's result to the trial's folder.
func Write(folder *runs.Active, t *Trial) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return folder.WriteFile(resultFile, append(data, '\n'))
}

// WriteSummary writes the results of all trials to the file summary.json.
func WriteSummary(run *runs.Run) error {
	results, err := List(run)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return run.WriteFile("summary.json", append(data, '\n'))
}
