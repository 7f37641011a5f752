package cmd

import (
	"bytes"
	"regexp"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// TestRunsShowOthers shows a run of two trials. What other programs used of the machine
// was measured in one of them.
func TestRunsShowOthers(t *testing.T) {
	used := 1.254
	s := shown{
		Manifest: runs.Manifest{Trials: []runs.TrialRecord{{Name: "a", State: runs.TrialDone}, {Name: "b", State: runs.TrialDone}}},
		Results:  []results.Trial{{Name: "a", OthersCores: &used, Warnings: []string{"other programs used 1.25 cores"}}, {Name: "b"}},
	}
	var out bytes.Buffer
	if err := doc.WriteText(&out, s.doc(), false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^trial .*makespan +cores of others +warnings$`, `(?m)^a +done .* 0 s +1\.25 +1$`, `(?m)^b +done .* 0 s +- +0$`,
		`(?m)^warning: a: other programs used 1\.25 cores$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}
