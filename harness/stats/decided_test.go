package stats

import (
	"math"
	"testing"
)

func TestDecided(t *testing.T) {
	var x Decided
	for _, d := range []struct {
		accepted, bad bool
		times         int
	}{{true, false, 6}, {true, true, 2}, {false, true, 1}, {false, false, 1}} {
		for range d.times {
			x.Add(d.accepted, d.bad)
		}
	}
	if x.Count() != 10 || x.All() != 70 { // 6 accepted good ones and 1 refused bad one
		t.Errorf("%v %% of %v are right, want 70 of 10", x.All(), x.Count())
	}
	if none := (&Decided{}).All(); !math.IsNaN(none) {
		t.Errorf("of no decisions %v %% are right, want no number", none)
	}
}
