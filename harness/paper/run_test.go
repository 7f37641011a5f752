package paper

import (
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/results"
)

// TestLeftOut has a run folder take whole readings only, as long as their rows fit: a
// matrix that is larger still ends with its verdicts, and says what it left out.
func TestLeftOut(t *testing.T) {
	two := []Simulation{{Stages: []*measure.Figures{{}}}, {Stages: []*measure.Figures{{}}}}
	reading := func(name string) *Data {
		return &Data{
			reading: Reading{Name: name}, bench: &bench{seeds: []uint64{1, 2}},
			seen: &[]seen{{"design", "column", Scheduler{Label: "fifo"}, two}},
		}
	}
	k := Kept{Trials: make([]results.Trial, results.MostRows-3)}
	for _, name := range []string{"fits", "does not", "nor this"} {
		k.keep(reading(name), true)
	}
	if len(k.Trials) != results.MostRows-1 || !slices.Equal(k.LeftOut, []string{"does not", "nor this"}) {
		t.Errorf("%d rows and %q left out; want %d rows, with two more readings of two rows left out", len(k.Trials), k.LeftOut,
			results.MostRows-1)
	}
}
