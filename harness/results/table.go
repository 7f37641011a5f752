package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"heddle/harness/runs"
)

// measuresFile is the name of the table of results, for a run with many short
// trials. The table takes the place of the trials' folders. Each line is one
// Trial with its figures.
const measuresFile = "measures.jsonl"

// WriteTable writes the results of a run to one table. Each must have its figures.
func WriteTable(run *runs.Run, results []Trial) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	for i := range results {
		if err := out.Encode(&results[i]); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	return run.WriteFile(measuresFile, b.Bytes())
}

func hasTable(run *runs.Run) bool {
	return slices.ContainsFunc(run.Manifest().Files, func(f runs.File) bool { return f.Name == measuresFile })
}

func readTable(run *runs.Run) ([]Trial, error) {
	data, err := run.ReadFile(measuresFile)
	if err != nil {
		return nil, err
	}
	var results []Trial
	seen := map[string]bool{}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		bad := func(err error) ([]Trial, error) {
			return nil, fmt.Errorf("read results: %w: %s: line %d: %w", runs.ErrDamaged, filepath.Join(run.Dir, measuresFile), i+1, err)
		}
		var r Trial
		if err := json.Unmarshal(line, &r); err != nil {
			return bad(err)
		}
		if err := r.check(r.Name); err != nil {
			return bad(err)
		}
		if seen[r.Name] {
			return bad(fmt.Errorf("trial %s occurs twice", r.Name))
		}
		if r.Figures == nil {
			return bad(errors.New("no figures"))
		}
		seen[r.Name] = true
		results = append(results, r)
	}
	return results, nil
}
