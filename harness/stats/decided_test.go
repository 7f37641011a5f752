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
	// 7 of 10 are right, 6 of 8 that accepted; 1 of 3 bad ones refused, 6 of 7 good ones accepted.
	if x.Count() != 10 || x.All() != 70 || x.Accepted() != 75 || math.Abs(x.Balanced()-(100./3+600./7)/2) > 1e-9 {
		t.Errorf("%v of %v, %v of those accepted, balanced %v", x.All(), x.Count(), x.Accepted(), x.Balanced())
	}
	var none, good, bad Decided
	good.Add(true, false)
	bad.Add(false, true)
	if !math.IsNaN(none.All()) || !math.IsNaN(none.Balanced()) || !math.IsNaN(bad.Accepted()) || good.Balanced() != 100 || bad.Balanced() != 100 {
		t.Errorf("none %v %v, bad %v, balanced %v and %v", none.All(), none.Balanced(), bad.Accepted(), good.Balanced(), bad.Balanced())
	}
}
