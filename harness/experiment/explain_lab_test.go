package experiment

import (
	"testing"

	"heddle/harness/explain"
	"heddle/harness/lab/labtest"
)

// TestExplained has package explain name first what was done to jobs of a lab, and of a job to which
// nothing was done, nothing above 10 % but the cores that all nodes share.
func TestExplained(t *testing.T) {
	labtest.Long(t)
	c, _ := lab(t)
	const head, faults = "name: one\ncoldReads: false\nworkloads:\n  - {name: wordcount, size: 64MiB, maps: 8, ",
		"}\nspeculation: none\nfaults:\n"
	for _, x := range []struct {
		want explain.Cause
		text string
	}{
		{"", head + "reduces: 2}\n"},
		{"slowNode", head + "reduces: 2" + faults + "  - {at: 1s, node: r1n2, what: slow, speed: 0.07}\n"},
		{"nodeLost", head + "reduces: 2" + faults + "  - {at: 12s, node: r1n2, what: down}\n  - {at: 60s, node: r1n2, what: up}\n"},
		{"reducesHold", head + "label: many, reduces: 8, settings: {dfs.blocksize: 4194304, mapreduce.job.reducer.unconditional-preempt.delay.sec: 90}}\n"},
	} {
		run, err := runText(t, c, x.text)
		if err != nil {
			t.Fatalf("%s: %v", x.want, err)
		}
		h, events := readTrace(t, run)
		r := explain.New(&h)
		for _, e := range events {
			r.Add(e)
		}
		found, ok := r.Explain()
		if !ok {
			t.Fatalf("%s: nothing is explained", x.want)
		}
		for _, l := range found.Lines {
			t.Logf("%v, %.0f %%: %s", l.Seconds, l.Share, l.Sentence)
		}
		if first := found.Lines[0]; x.want != "" && first.Cause != x.want || x.want == "" && first.Cause != "cores" && !first.Inherent &&
			first.Share > 10 {
			t.Errorf("first of %v is %s; want %q", found.Makespan, first.Cause, x.want)
		}
	}
}
