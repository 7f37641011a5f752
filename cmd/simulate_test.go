package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/results"
)

// TestSimulatedTrialOfNoPlan takes up a simulated run whose manifest names a trial
// that the experiment does not have.
func TestSimulatedTrialOfNoPlan(t *testing.T) {
	dir := t.TempDir()
	if _, code, err := heddle("run", "--simulate", "--runs", dir, "--run-name", "s", "../harness/config/testdata/first.yaml"); code != 0 {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "s", "manifest.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(`"state": "finished"`, `"state": "failed"`, "r03-wordcount-yarn", "r09-wordcount-yarn").Replace(string(text))
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, code, err := heddle("run", "--simulate", "--unverified", "--resume", filepath.Join(dir, "s"))
	if code == 0 || !strings.Contains(err.Error(), "trial r09-wordcount-yarn is not in the experiment") {
		t.Errorf("code %d, %v", code, err)
	}
}

// TestJobRows: the jobs of a trial are listed one by one if they are few, and
// counted by outcome if they are many.
func TestJobRows(t *testing.T) {
	jobs := []results.Job{{ID: "job_1", Outcome: "succeeded", CompletionMs: 1500}, {ID: "job_2", Outcome: "failed", CompletionMs: 300}}
	rows := func() (list []string) {
		table := &doc.Table{}
		jobRows(table, &results.Trial{Jobs: jobs})
		for _, row := range table.Rows {
			list = append(list, fmt.Sprint(row[1:4]))
		}
		return list
	}
	if got, want := rows(), []string{"[job_1 succeeded 1.500 s]", "[job_2 failed 0.300 s]"}; !slices.Equal(got, want) {
		t.Errorf("rows of two jobs: %q, want %q", got, want)
	}
	for range mostJobRows {
		jobs = append(jobs, results.Job{Outcome: "succeeded", CompletionMs: 2800})
	}
	if got, want := rows(), []string{"[1 job failed 0.300 s on average]", "[13 jobs succeeded 2.700 s on average]"}; !slices.Equal(got, want) {
		t.Errorf("rows of %d jobs: %q, want %q", len(jobs), got, want)
	}
}
