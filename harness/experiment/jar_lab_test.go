package experiment

import (
	"slices"
	"testing"

	"heddle/harness/lab/labtest"
	"heddle/harness/results"
)

// TestJarOnTheLab runs a jar that heddle knows nothing of, Hadoop's examples, under
// YARN's scheduler and under a model: it is steered as all jobs are, and its output is
// removed. A run that writes elsewhere fails, and what it wrote stays.
func TestJarOnTheLab(t *testing.T) {
	c, clients := lab(t)
	jar := labtest.Examples(t, c.Hadoop.Home)
	run := must(runText(t, c, `
actuator: labels
models: [yarn, fifo]
order: asListed
workloads: [{jar: `+jar+`, label: words, args: [wordcount, "{input}", "{output}"], size: 4MiB, maps: 4,
             settings: {mapreduce.job.reduces: 2}}]
`))
	trials, err := results.List(run)
	if err != nil || len(trials) != 2 {
		t.Fatalf("%d trials, %v; want 2", len(trials), err)
	}
	finished := must(results.Open(run.Dir, false))
	for i := range trials {
		r := &trials[i]
		if !slices.Contains(r.Checked, "where its jobs wrote") {
			t.Errorf("%s: checked %v", r.Name, r.Checked)
		}
		figures, warning, err := finished.Figures(r)
		if err != nil || warning != "" {
			t.Fatalf("%s: %v, %s", r.Name, err, warning)
		}
		if j := figures.JobList; len(j) != 1 || j[0].Maps != 4 || j[0].Reduces != 2 || j[0].Bytes.Input < 4<<20 {
			t.Errorf("%s: jobs %+v; want one of 4 maps and 2 reduces that read 4 MiB", r.Name, j)
		}
		if d := figures.Decisions; r.Model == "fifo" && (d.Made < 6 || d.Honoured != d.Made) {
			t.Errorf("%s: %d of %d decisions honoured; want all, of 6 tasks", r.Name, d.Honoured, d.Made)
		}
	}
	files := must(clients.HDFS.Files(t.Context()))
	if left, err := files.ReadDir("/heddle/jar"); err != nil || len(left) > 0 {
		t.Errorf("in /heddle/jar remain %v, %v; want nothing", left, err)
	}
	const stray = "/user/stray-words"
	t.Cleanup(func() { _ = files.RemoveAll(stray) })
	_, err = runText(t, c, `workloads: [{jar: `+jar+`, label: stray, args: [wordcount, "{input}", `+stray+`], size: 4MiB, maps: 4}]`)
	wantError(t, err, "has written to hdfs "+stray+", which heddle leaves as it is")
	if _, err := files.Stat(stray + "/_SUCCESS"); err != nil {
		t.Errorf("what it wrote there: %v; want it left", err)
	}
}
