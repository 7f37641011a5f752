package compare

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/results"
)

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
