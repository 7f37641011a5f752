package export

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces/errtest"
)

// TestTrials: each figure of each trial is in the table, to the last digit.
func TestTrials(t *testing.T) {
	run, err := results.Open("../fidelity/testdata/run", false)
	mustDo(t, err)
	path := filepath.Join(t.TempDir(), "trials.csv")
	if warnings, err := Write([]*results.Run{run}, Trials, path); err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	text := errtest.Must(os.ReadFile(path))
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(lines) != 1+len(run.Trials) {
		t.Fatalf("%d lines, %v; want one of names and %d of trials", len(lines), err, len(run.Trials))
	}
	first := len(trialColumns)
	for i, m := range measure.Metrics() {
		name := lines[0][first+i]
		if bare, unit, _ := strings.Cut(name, "_"); bare != m.Name || unit != map[string]string{"s": "s", "%": "pct"}[m.Unit] {
			t.Errorf("column %d is %s, want metric %s in %q", first+i, name, m.Name, m.Unit)
		}
		for j := range run.Trials {
			r := &run.Trials[j]
			figures, _, err := run.Figures(r)
			mustDo(t, err)
			want, got := m.Of(r.WithTimes(figures)), lines[1+j][first+i]
			if x, err := strconv.ParseFloat(got, 64); !(math.IsNaN(want) && got == "" || err == nil && x == want) {
				t.Errorf("%s of %s is %q, want %v", name, r.Name, got, want)
			}
		}
	}
	if len(lines[0]) != first+len(measure.Metrics())+len(readingColumns) || len(lines[0]) != len(Columns(Trials)) {
		t.Errorf("%d columns, %d explained; want %d", len(lines[0]), len(Columns(Trials)), first+len(measure.Metrics())+len(readingColumns))
	}
}
