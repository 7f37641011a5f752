package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFailures: reasons that are the same, or the same but for numbers, are one line; others
// stay apart, and no line has a line feed.
func TestFailures(t *testing.T) {
	failed := func(name, why string) TrialRecord {
		return TrialRecord{Name: name, State: TrialFailed, Error: "trial " + name + ": " + why}
	}
	var many []TrialRecord
	for i := range 80 {
		many = append(many, failed(fmt.Sprintf("r%02d-a", i+1), fmt.Sprintf("took %dm", 60+i)))
	}
	for name, c := range map[string]struct {
		trials []TrialRecord
		want   []string
	}{
		"none": {[]TrialRecord{{Name: "a", State: TrialDone}, {Name: "b", State: TrialTodo}, {Name: "c", State: TrialRunning}}, nil},
		"one":  {[]TrialRecord{failed("r01-a", "x\n  y"), {Name: "b", State: TrialDone}}, []string{"trial r01-a failed: x; y"}},
		"same": {
			[]TrialRecord{failed("a", "x 1"), {Name: "b", State: TrialDone}, failed("c", "x 1")},
			[]string{"2 of 3 trials failed: x 1 (a, c)"},
		},
		"alike": {many, []string{"80 of 80 trials failed alike, the first: took 60m (r01-a, r02-a and 78 more)"}},
		"apart": {
			[]TrialRecord{failed("a", "x"), failed("b", "y"), {Name: "c", State: TrialInterrupted}, {Name: "d", State: TrialMissing, Error: "x"}},
			[]string{"trial a failed: x", "trial b failed: y", "trial c interrupted", "trial d missing: x"},
		},
	} {
		if d := cmp.Diff(c.want, Failures(c.trials)); d != "" {
			t.Errorf("%s: want -, got +:\n%s", name, d)
		}
	}
}

// TestErrorLine: a manifest of a run that kept a line for each failed trial is shown in one
// short line.
func TestErrorLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"x\ny":                           "x; y",
		strings.Repeat("trial: x\n", 80): "trial: x; trial: x; trial: x; and 77 more",
	} {
		if got := (&Manifest{Error: text}).ErrorLine(); got != want {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
}
