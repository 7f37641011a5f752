package doc

import (
	"slices"
	"testing"
)

// TestAlikeWarnings has warnings that differ in numbers alone: three are one, two are not, and
// digits within a name are no number.
func TestAlikeWarnings(t *testing.T) {
	got := alike([]string{"others used 0.5 of the 2 cores", "r1 is slow", "others used 0.25 of the 2 cores", "r2 is slow", "r3 is slow", "job 1 ended", "others used 1 of the 2 cores", "job 2 ended"})
	want := []string{"others used 0.25 to 1 of the 2 cores (3 times)", "r1 is slow", "r2 is slow", "r3 is slow", "job 1 ended", "job 2 ended"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
