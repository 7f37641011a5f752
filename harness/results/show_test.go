package results

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/runs"
)

// TestWarnings: a text is there once, with the trials that have it.
func TestWarnings(t *testing.T) {
	got := Warnings([]Trial{
		{Name: "r01", Warnings: []string{"uncalibrated", "slow", "slow"}},
		{Name: "r02", Warnings: []string{"lost a node", "uncalibrated"}},
		{Name: "r03", Warnings: []string{"uncalibrated", "slow"}},
	})
	want := []string{"all 3 trials: uncalibrated", "2 of 3 trials, r01 first: slow", "r02: lost a node"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShowOthers shows a run of two trials. What other programs used of the machine
// was measured in one of them.
func TestShowOthers(t *testing.T) {
	used := 1.254
	s := Shown{
		Manifest: runs.Manifest{Trials: []runs.TrialRecord{{Name: "a", State: runs.TrialDone}, {Name: "b", State: runs.TrialDone}}},
		Results:  []Trial{{Name: "a", OthersCores: &used, Warnings: []string{"other programs used 1.25 cores"}}, {Name: "b"}},
	}
	var out bytes.Buffer
	mustDo(t, doc.WriteText(&out, s.Doc(), false))
	for _, want := range []string{
		`(?m)^trial .*makespan +cores of others +warnings$`, `(?m)^a +done .* 0 s +1\.25 +1$`, `(?m)^b +done .* 0 s +- +0$`,
		`(?m)^warning: a: other programs used 1\.25 cores$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}
