package config

import "testing"

// TestJobFailures has the defaults of the key jobFailures: a trace has many jobs,
// and one that fails is a result; a named workload is measured by its job alone.
func TestJobFailures(t *testing.T) {
	for _, x := range []struct {
		entry string
		count bool
	}{
		{"{trace: day.tsv}", true},
		{"{trace: day.tsv, jobFailures: count}", true},
		{"{trace: day.tsv, jobFailures: end}", false},
		{"{name: wordcount, profile: tiny}", false},
		{"{name: wordcount, profile: tiny, jobs: 3, jobFailures: count}", true},
		{"{name: streaming, size: 1MiB, jobFailures: end}", false},
		{"{name: scan, visits: 1000, jobFailures: count}", true},
	} {
		e, err := ParseExperiment("e.yaml", []byte("workloads:\n  - "+x.entry+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.entry, err)
		} else if got := e.Workloads[0].CountsFailures(); got != x.count {
			t.Errorf("%s: counts failed jobs: %v, want %v", x.entry, got, x.count)
		}
	}
	grid, err := ParseExperiment("e.yaml", []byte("workloads:\n  - {name: sort, profile: tiny, jobFailures: [count, end]}\n"))
	if err != nil || len(grid.Workloads) != 2 || !grid.Workloads[0].CountsFailures() || grid.Workloads[1].CountsFailures() {
		t.Errorf("a list of both: %+v, %v", grid, err)
	}
}
