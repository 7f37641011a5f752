package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestRatioByHand has Fieller's interval worked out by hand. Pairs (1,2), (3,2) have means 2
// and 2, variances 2 and 0, no covariance; with t = 12.706 of one degree of freedom, t^2/2 =
// 80.72 times the variance 2 is above the square of the mean, 4: any ratio may be true.
func TestRatioByHand(t *testing.T) {
	if e := PairedRatioOfMeans([]float64{1, 3}, []float64{2, 2}); e.Value != 1 || e.Bounded() {
		t.Errorf("%+v, want 1 without bounds", e)
	}
	// Means 10 and 20, variance of a 1, of b 0: (20-10r)^2 = g r^2 with g = t^2/3, t = 4.30265
	// of two degrees of freedom. So 20-10r = +-2.48414 r, and r = 20/(10+-2.48414).
	e := PairedRatioOfMeans([]float64{9, 10, 11}, []float64{20, 20, 20})
	if math.Abs(e.Lo-20/12.48414) > 1e-4 || math.Abs(e.Hi-20/7.51586) > 1e-4 || e.Value != 2 {
		t.Errorf("%+v, want 2 [%v, %v]", e, 20/12.48414, 20/7.51586)
	}
	for _, x := range []struct{ a, b []float64 }{
		{nil, nil},
		{[]float64{1}, []float64{1}},
		{[]float64{1, 2}, []float64{1}},
		{[]float64{-1, -2}, []float64{1, 2}},
		{[]float64{math.NaN(), 1}, []float64{1, 1}},
	} {
		if e := PairedRatioOfMeans(x.a, x.b); e.Bounded() {
			t.Errorf("%v and %v: %+v, want no bounds", x.a, x.b, e)
		}
	}
	if e := PairedRatioOfMeans([]float64{1, 2, 3}, []float64{0.1, 0.2, 0.3}); math.Abs(e.Value-0.1) > 1e-12 || e.Hi-e.Lo > 1e-9 {
		t.Errorf("proportional pairs: %+v", e)
	}
}

// TestRatioCoverage draws pairs whose means have a known ratio, the lower one well or badly
// told from zero, and counts how often the interval has the ratio in it.
func TestRatioCoverage(t *testing.T) {
	for _, x := range []struct {
		name   string
		n      int
		sd     float64 // of the lower mean 1
		shared float64 // part of it that both of a pair share
	}{
		{"told well, 6 pairs", 6, 0.2, 0},
		{"told well, shared", 6, 0.2, 0.7},
		{"20 pairs", 20, 0.5, 0},
		{"told badly, 6 pairs", 6, 0.8, 0},
		{"told badly, 5 pairs, shared", 5, 0.8, 0.5},
	} {
		most := 1.0
		if x.sd < 0.3 {
			most = 0.96
		}
		covers(t, x.name, 4000, 3, 0.94, most, func(random *rand.Rand) Estimate {
			a, b := make([]float64, x.n), make([]float64, x.n)
			for i := range a {
				both := x.shared * random.NormFloat64()
				own := math.Sqrt(1 - x.shared*x.shared)
				a[i], b[i] = 1+x.sd*(both+own*random.NormFloat64()), 3+x.sd*(both+own*random.NormFloat64())
			}
			e := PairedRatioOfMeans(a, b)
			if math.IsNaN(e.Value) {
				e.Lo, e.Hi = 3, 3 // without a value nothing wrong is said
			}
			return e
		})
	}
}

// TestKthLargest picks the largest, a middle and the smallest of nine effects, which are equal
// or differ, with errors that pairs share, and counts how often its interval has the true one.
func TestKthLargest(t *testing.T) {
	const cells, seeds = 9, 10
	for name, step := range map[string]float64{"all equal": 0, "some apart": 0.3, "far apart": 3} {
		for _, k := range []int{1, 5, 7, 9} {
			covers(t, fmt.Sprintf("%s, number %d", name, k), 300, step*float64(cells-k), 0.94, 1, func(random *rand.Rand) Estimate {
				shared := draws(seeds, random.NormFloat64)
				var list []Comparison
				for c := range cells {
					b := draws(seeds, random.NormFloat64)
					for i := range b {
						b[i] += step*float64(c) + 0.5*shared[i]
					}
					list = append(list, PairedDifference(make([]float64, seeds), b))
				}
				var together []Estimate
				for _, x := range Together(list) {
					together = append(together, x.Estimate)
				}
				return KthLargest(k, together)
			})
		}
	}
	for _, k := range []int{0, 3} {
		if e := KthLargest(k, make([]Estimate, 2)); e.Bounded() || !math.IsNaN(e.Value) {
			t.Errorf("number %d of 2: %+v", k, e)
		}
	}
}
