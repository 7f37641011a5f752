package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"heddle/harness/runs"
)

// measuresFile is the name of the table of results, for a run with many short
// trials. The table takes the place of the trials' folders. Each line is one
// Trial with its figures.
const measuresFile = "measures.jsonl"

// What a table may hold. A matrix of a paper's readings has some ten thousand rows of
// 2 to 5 KB each.
const (
	MostRows     = 100_000 // rows that are written
	mostRowBytes = 1 << 20
)

// Keep makes a run folder below root for trials that have ended, with all their results
// in one table.
func Keep(root, name, what string, m runs.Manifest, trials []Trial) (*runs.Run, error) {
	run, err := runs.New(root, name, what, m)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	err = WriteTable(run, trials)
	return run, errors.Join(err, run.End(err))
}

// WriteTable writes the results of a run to one table. Each must have its figures.
func WriteTable(run *runs.Run, results []Trial) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	if len(results) > MostRows {
		return fmt.Errorf("write table: %d rows, want at most %d", len(results), MostRows)
	}
	for i := range results {
		if err := out.Encode(&results[i]); err != nil {
			return fmt.Errorf("write table: trial %s: %w", results[i].Name, err)
		}
	}
	return run.WriteFile(measuresFile, b.Bytes())
}

func hasTable(run *runs.Run) bool {
	_, ok := run.File(measuresFile)
	return ok
}

func readTable(run *runs.Run) ([]Trial, error) {
	f, err := run.Open(measuresFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, line, err := parseTable(f)
	if err != nil {
		return nil, fmt.Errorf("read results: %w: %s: line %d: %w", runs.ErrDamaged, filepath.Join(run.Dir, measuresFile), line, err)
	}
	if record, _ := run.File(measuresFile); record.Rows != len(list) && record.Rows > 0 { // older runs have no number of rows
		return nil, fmt.Errorf("read results: %w: %s has %d rows, %d were written", runs.ErrDamaged, filepath.Join(run.Dir, measuresFile),
			len(list), record.Rows)
	}
	return list, nil
}

// parseTable reads a table line by line. It returns the number of the last line that
// it read.
func parseTable(in io.Reader) (list []Trial, line int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), mostRowBytes)
	seen := map[string]bool{}
	for lines.Scan() {
		line++
		r, err := parseRow(lines.Bytes())
		switch {
		case err != nil:
			return nil, line, err
		case seen[r.Name]:
			return nil, line, fmt.Errorf("trial %s occurs twice", r.Name)
		}
		seen[r.Name] = true
		list = append(list, r)
	}
	if err := lines.Err(); err != nil {
		return nil, line + 1, err
	}
	if line == 0 {
		return nil, 1, errors.New("no trial")
	}
	return list, line, nil
}

func parseRow(line []byte) (r Trial, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	if r.Figures == nil {
		return r, errors.New("no figures")
	}
	if slices.Contains(r.Later, nil) {
		return r, errors.New("a stage without figures")
	}
	for _, f := range append(r.Later, r.Figures) {
		f.JobList, f.Nodes, f.Estimates, f.Predictions = nil, nil, nil, nil // rows have none
	}
	return r, r.check(r.Name)
}
