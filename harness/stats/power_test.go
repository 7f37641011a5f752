package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPairsToTell(t *testing.T) {
	for _, c := range []struct {
		sd, difference float64
		want           int
	}{
		{1, 0.5, 34},
		{1, 1, 10},
		{1, 2, 5}, // R: power.t.test(delta = 0.5, sd = 1, power = 0.8, type = "paired") and so on, rounded up
		{1, -1, 10},
		{0, 1, 2},
		{1, 0, math.MaxInt32},
		{1, 1e-9, math.MaxInt32},
		{math.NaN(), 1, 0},
		{0, 0, 0},
	} {
		if got := PairsToTell(c.sd, c.difference); got != c.want {
			t.Errorf("pairs to tell %v with standard deviation %v: %d, want %d", c.difference, c.sd, got, c.want)
		}
	}
}

// So many pairs show the difference as often as promised, by the test that
// comparisons use.
func TestPairsToTellAreEnough(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const sd, tries = 0.04, 4000
	for _, difference := range []float64{0.02, 0.03, 0.05} {
		n, shown := PairsToTell(sd, difference), 0
		for range tries {
			a, b := make([]float64, n), make([]float64, n)
			for i := range b {
				b[i] = difference + sd*random.NormFloat64()
			}
			if PairedDifference(a, b).P < 1-Level {
				shown++
			}
		}
		if rate := float64(shown) / tries; rate < Power-0.02 || rate > Power+0.1 {
			t.Errorf("%d pairs show a difference of %v in %.3f of the samples, want about %v", n, difference, rate, Power)
		}
	}
}
