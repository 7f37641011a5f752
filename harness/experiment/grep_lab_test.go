package experiment

import (
	"cmp"
	"slices"
	"testing"

	"heddle/harness/clients"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces"
)

// TestGrepOnTheLab runs a program of two YARN applications under YARN's scheduler
// and under a model, after a warm-up that no result has. Both applications have the
// trial's tag and labels, run one after the other, and give what Go counts in the
// input.
func TestGrepOnTheLab(t *testing.T) {
	c, clients := lab(t)
	run := must(runText(t, c, `
actuator: labels
models: [yarn, fifo]
order: asListed
workloads: [{name: grep, size: 12MiB, maps: 3, reduces: 2, regex: "[a-z]*ness", settings: {dfs.blocksize: 4194304}}]
warmups: 1
`))
	trials, err := results.List(run)
	if err != nil || len(trials) != 2 {
		t.Fatalf("%d trials, %v; want those of two trials, without the warm-up", len(trials), err)
	}
	finished := must(results.Open(run.Dir, false))
	for i := range trials {
		r := &trials[i]
		if !slices.Contains(r.Checked, "counts of all matches") {
			t.Errorf("%s: checked %v, not the counts", r.Name, r.Checked)
		}
		figures, warning, err := finished.Figures(r)
		if err != nil || warning != "" {
			t.Fatalf("%s: %v, %s", r.Name, err, warning)
		}
		checkSearchAndSort(t, r.Name, figures)
		if d := figures.Decisions; r.Model == "fifo" && (d.Made < 8 || d.Honoured != d.Made) {
			t.Errorf("%s: %d of %d decisions honoured; want all, of 8 tasks", r.Name, d.Honoured, d.Made)
		}
	}
	onlyInputs(t, clients, "Grep")
}

// onlyInputs wants nothing in a workload's folders in HDFS but inputs.
func onlyInputs(t *testing.T, clients *clients.Clients, folder string) {
	t.Helper()
	files := must(clients.HDFS.Files(t.Context()))
	folders := must(files.ReadDir("/heddle/hibench"))
	for _, f := range folders {
		left, err := files.ReadDir("/heddle/hibench/" + f.Name() + "/" + folder)
		if err == nil && len(left) != 2 { // the input and its marker
			t.Errorf("in %s/%s remain %v; want only the input and its marker", f.Name(), folder, left)
		}
	}
}

// checkSearchAndSort expects grep's two jobs, the second after the end of the first.
func checkSearchAndSort(t *testing.T, trial string, f *measure.Figures) {
	t.Helper()
	if len(f.JobList) != 2 {
		t.Fatalf("%s: %d jobs, want 2", trial, len(f.JobList))
	}
	jobs := slices.Clone(f.JobList)
	slices.SortFunc(jobs, func(a, b *measure.Job) int { return cmp.Compare(a.SubmitMs, b.SubmitMs) })
	search, sort := jobs[0], jobs[1]
	if search.Outcome != traces.Succeeded || sort.Outcome != traces.Succeeded || sort.SubmitMs < search.SubmitMs+search.CompletionMs {
		t.Errorf("%s: %+v, then %+v; want the second after the end of the first", trial, search, sort)
	}
}
