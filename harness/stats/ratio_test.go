package stats

import (
	"math"
	"math/rand/v2"
	"slices"
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
	for _, x := range []struct{ a, b []float64 }{{nil, nil}, {[]float64{1}, []float64{1}}, {[]float64{1, 2}, []float64{1}}, {[]float64{-1, -2}, []float64{1, 2}}, {[]float64{math.NaN(), 1}, []float64{1, 1}}} {
		if e := PairedRatioOfMeans(x.a, x.b); e.Bounded() {
			t.Errorf("%v and %v: %+v, want no bounds", x.a, x.b, e)
		}
	}
	if e := PairedRatioOfMeans([]float64{1, 2, 3}, []float64{0.1, 0.2, 0.3}); math.Abs(e.Value-0.1) > 1e-12 || e.Hi-e.Lo > 1e-9 {
		t.Errorf("proportional pairs: %+v", e)
	}
}

// TestRatioCoverage draws pairs whose means have a known ratio, the lower one well or badly
// told from zero, and counts how often each interval has the ratio in it. The delta method,
// which was used before, misses it if the lower mean is badly told from zero.
func TestRatioCoverage(t *testing.T) {
	delta := func(a, b []float64) Estimate {
		below, _ := moments(a)
		above, _ := moments(b)
		rest := make([]float64, len(a))
		for i := range a {
			rest[i] = (b[i] - above/below*a[i]) / below
		}
		e := Mean(rest)
		e.Value, e.Lo, e.Hi = above/below, above/below+e.Lo-e.Value, above/below+e.Hi-e.Value
		return e
	}
	for _, x := range []struct {
		name   string
		n      int
		sd     float64 // of the lower mean 1
		shared float64 // part of it that both of a pair share
	}{{"told well, 6 pairs", 6, 0.2, 0}, {"told well, shared", 6, 0.2, 0.7}, {"20 pairs", 20, 0.5, 0}, {"told badly, 6 pairs", 6, 0.8, 0}, {"told badly, 5 pairs, shared", 5, 0.8, 0.5}} {
		random := rand.New(rand.NewPCG(5, uint64(x.n)))
		const draws = 4000
		hits, by := 0, 0
		for range draws {
			a, b := make([]float64, x.n), make([]float64, x.n)
			for i := range a {
				both := x.shared * random.NormFloat64()
				own := math.Sqrt(1 - x.shared*x.shared)
				a[i], b[i] = 1+x.sd*(both+own*random.NormFloat64()), 3+x.sd*(both+own*random.NormFloat64())
			}
			if e := PairedRatioOfMeans(a, b); math.IsNaN(e.Value) || e.Lo <= 3 && 3 <= e.Hi {
				hits++ // without a value nothing wrong is said
			}
			if e := delta(a, b); e.Lo <= 3 && 3 <= e.Hi {
				by++
			}
		}
		share, other := float64(hits)/draws, float64(by)/draws
		t.Logf("%-28s Fieller %.3f, delta method %.3f", x.name, share, other)
		if share < 0.94 || share > 1 || x.sd < 0.3 && share > 0.96 {
			t.Errorf("%s: %.3f of the intervals have the ratio in them, want .95", x.name, share)
		}
	}
}

// TestKthLargest picks the largest, a middle and the smallest of nine effects, which are equal
// or differ, with errors that pairs share, and counts how often its interval has the true one.
// The interval of the one picked by its value, taken as it is, misses it far more often.
func TestKthLargest(t *testing.T) {
	const cells, seeds, draws = 9, 10, 300
	for name, step := range map[string]float64{"all equal": 0, "some apart": 0.3, "far apart": 3} {
		for _, k := range []int{1, 5, 7, 9} {
			random := rand.New(rand.NewPCG(7, uint64(k)))
			truths := make([]float64, cells)
			for c := range truths {
				truths[c] = step * float64(c)
			}
			slices.Sort(truths)
			want, hits, naive := truths[cells-k], 0, 0
			for range draws {
				shared := make([]float64, seeds)
				for i := range shared {
					shared[i] = 0.5 * random.NormFloat64()
				}
				var list []Comparison
				for c := range cells {
					a, b := make([]float64, seeds), make([]float64, seeds)
					for i := range a {
						b[i] = truths[c] + shared[i] + random.NormFloat64()
					}
					list = append(list, PairedDifference(a, b))
				}
				var together []Estimate
				for _, x := range Together(list) {
					together = append(together, x.Estimate)
				}
				e := KthLargest(k, together)
				if e.Lo <= want && want <= e.Hi {
					hits++
				}
				i := slices.IndexFunc(list, func(x Comparison) bool { return x.Value == e.Value })
				if list[i].Lo <= want && want <= list[i].Hi {
					naive++
				}
			}
			t.Logf("%s, number %d: %.3f, by its own interval %.3f", name, k, float64(hits)/draws, float64(naive)/draws)
			if share := float64(hits) / draws; share < 0.94 {
				t.Errorf("%s: %.3f of the intervals of number %d have it in them, want .95 or more", name, share, k)
			}
		}
	}
	for _, k := range []int{0, 3} {
		if e := KthLargest(k, make([]Estimate, 2)); e.Bounded() || !math.IsNaN(e.Value) {
			t.Errorf("number %d of 2: %+v", k, e)
		}
	}
}
