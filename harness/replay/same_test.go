package replay

import (
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/traces"
)

// TestSameJobs: where a job succeeds in some rows only, means are of the others.
func TestSameJobs(t *testing.T) {
	row := func(model string, lastMs float64, last traces.Outcome) Outcome {
		f := &measure.Figures{Model: model, Jobs: 2, JobList: []*measure.Job{
			{ID: "a", Outcome: traces.Succeeded, CompletionMs: 10_000}, {ID: "b", Outcome: last, CompletionMs: lastMs},
		}}
		c := measure.Completion{}
		for _, j := range f.JobList {
			c.Add(j.Outcome == traces.Succeeded, j.CompletionMs)
		}
		f.SetCompletion(c)
		return Outcome{Figures: f, Trace: "t"}
	}
	for _, x := range []struct {
		replayed traces.Outcome
		want     []string
		said     bool
	}{
		{traces.Succeeded, []string{"30.00 s", "20.00 s"}, false},
		{traces.Failed, []string{"10.00 s", "10.00 s"}, true},
	} {
		var b strings.Builder
		mustDo(t, doc.WriteText(&b, Doc([]Outcome{row(config.ModelRecorded, 50_000, traces.Succeeded), row("yarn", 30_000, x.replayed)}, nil),
			false))
		lines := strings.Split(b.String(), "\n")
		for i, want := range x.want {
			if !strings.Contains(lines[i+1], want) {
				t.Errorf("%q has no mean of %s", lines[i+1], want)
			}
		}
		if strings.Contains(b.String(), "Mean completion is of the 1 job that succeeded in all rows") != x.said {
			t.Errorf("it is said that means are of fewer jobs: want %t in\n%s", x.said, b.String())
		}
	}
}
