package explain

import (
	"testing"

	"heddle/traces/tracefile"
)

// loaded returns a trace of testdata.
func loaded(t *testing.T, name string) *run {
	t.Helper()
	h, events, err := tracefile.ReadFile("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return &run{h, events}
}

// TestOverLinks has a job of a real lab with links of 1 MB/s, in round numbers: both maps of a node read from another
// one, and the reduce writes as much as it fetched, to two nodes. The node is not slow, and the links are full.
func TestOverLinks(t *testing.T) {
	x := loaded(t, "overlinks").explained(t)
	if l := x.Lines[0]; l.Cause != link || l.Seconds < Ns(50e9) || l.Seconds > Ns(80e9) {
		t.Errorf("first of %v is %s, %v: %s", x.Makespan, l.Cause, l.Seconds, l.Sentence)
	}
	for _, l := range x.Lines {
		if l.Cause == slowNode {
			t.Errorf("%v: %s", l.Seconds, l.Sentence)
		}
	}
}
