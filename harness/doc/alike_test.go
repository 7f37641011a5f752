package doc

import (
	"fmt"
	"slices"
	"testing"
)

// TestAlikeWarnings has warnings that differ in numbers alone: three are one, two are not, and
// digits within a name are no number.
func TestAlikeWarnings(t *testing.T) {
	got := alike([]string{
		"others used 0.5 of the 2 cores", "r1 is slow", "others used 0.25 of the 2 cores", "r2 is slow", "r3 is slow",
		"job 1 ended", "others used 1 of the 2 cores", "job 2 ended",
	})
	want := []string{"others used 0.25 to 1 of the 2 cores (3 times)", "r1 is slow", "r2 is slow", "r3 is slow", "job 1 ended", "job 2 ended"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestManyForms has a great number of forms, as of a trial whose nodes all fail: going through
// all texts once for each form would take minutes.
func TestManyForms(t *testing.T) {
	const n = 20_000
	var texts, want []string
	for i := range n {
		want = append(want, fmt.Sprintf("node n%d was lost at %d to %d s (3 times)", i, i, 2*n+i))
	}
	for i := range 3 * n {
		texts = append(texts, fmt.Sprintf("node n%d was lost at %d s", i%n, i))
	}
	if got := alike(texts); !slices.Equal(got, want) {
		t.Errorf("%d texts, the first %q", len(got), got[0])
	}
}
