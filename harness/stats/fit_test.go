package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPercentileRanks holds the bounds against the binomial distribution, worked out
// by adding up: they are the nearest ranks that are missed in at most 2.5 % each.
func TestPercentileRanks(t *testing.T) {
	for _, c := range []struct {
		n      int
		q      float64
		lo, hi float64 // ranks; 0 and n+1: none
	}{
		{10, 0.5, 2, 9},      // P(B<=1) = 11/1024 = .0107, P(B<=2) = 56/1024 = .055
		{6, 0.5, 1, 6},       // P(B=0) = 1/64 = .0156
		{5, 0.5, 0, 6},       // P(B=0) = 1/32 = .031
		{40, 0.9, 32, 40},    // P(B<=31) = .0155, P(B<=32) = .0419; P(B=40) = .9^40 = .0148, P(B>=39) = .0805
		{35, 0.9, 28, 36},    // P(B<=27) = .0200, P(B<=28) = .0552; P(B=35) = .9^35 = .02503, just too much
		{100, 0.99, 97, 101}, // .99^100 = .366; P(B<=96) = .0184, P(B<=95) = .0034, P(B<=97) = .0794
	} {
		xs := make([]float64, c.n)
		for i := range xs {
			xs[i] = float64(c.n - i) // its rank
		}
		want := [2]float64{c.lo, c.hi}
		if c.lo == 0 {
			want[0] = math.Inf(-1)
		}
		if int(c.hi) == c.n+1 {
			want[1] = math.Inf(1)
		}
		if e := Percentile(xs, c.q); e.Lo != want[0] || e.Hi != want[1] || e.Value != Quantile(xs, c.q) {
			t.Errorf("percentile at %g of %d: %g [%g, %g], want ranks %v", c.q, c.n, e.Value, e.Lo, e.Hi, want)
		}
	}
	for _, q := range []float64{0, 1, -1, math.NaN()} {
		if e := Percentile([]float64{1, 2}, q); !math.IsNaN(e.Value) || e.Bounded() || len(e.Warnings) != 1 {
			t.Errorf("percentile at %g: %+v", q, e)
		}
	}
}

// TestVarianceRatioKnown has tables' quantiles of F: 6.39 at 4 and 4 degrees of freedom
// (5 % above), 9.60 (2.5 % above), and 4 times the variance in scaled values.
func TestVarianceRatioKnown(t *testing.T) {
	near(t, "F(.95; 4, 4)", fQuantile(0.95, 4, 4), 6.388, 0.001)
	near(t, "F(.975; 4, 4)", fQuantile(0.975, 4, 4), 9.605, 0.001)
	near(t, "F(.975; 9, 5)", fQuantile(0.975, 9, 5), 6.681, 0.001)
	near(t, "F at its quantile", fCDF(fQuantile(0.3, 7, 3), 7, 3), 0.3, 1e-12)
	a := []float64{1, 2, 3, 4, 5}
	c := VarianceRatio(a, scaled(a, 2))
	interval(t, "twice as far apart", c.Estimate, 4, 4/9.605, 4*9.605, 0.01)
	if c.P < 0.1 || c.P > 0.25 {
		t.Errorf("p %g of a ratio of 4 with 5 values each", c.P)
	}
	for name, of := range map[string]func(a, b []float64) Comparison{"F": VarianceRatio, "jackknife": RobustVarianceRatio} {
		if same := of(a, a); math.Abs(same.Value-1) > 1e-12 || math.Abs(same.P-1) > 1e-9 {
			t.Errorf("%s: a sample against itself: %+v", name, same.Estimate)
		}
		for _, x := range [][2][]float64{{a, {3, 3, 3, 3}}, {a, {1}}, {nil, a}, {{1, 2, math.NaN()}, a}} {
			if c := of(x[0], x[1]); c.Bounded() || !math.IsNaN(c.P) || len(c.Warnings) == 0 {
				t.Errorf("%s of %v: %+v", name, x, c)
			}
		}
	}
	if c := RobustVarianceRatio(a, []float64{1, 1, 1, 9}); c.Bounded() {
		t.Errorf("all but one value equal: %+v", c)
	}
}

// TestLineKnown has lines worked out by hand.
func TestLineKnown(t *testing.T) {
	// Through (0,0), (1,2), (2,1): slope 1/2, intercept 1/2; distances -1/2, 1, -1/2, so
	// a deviation of sqrt(1.5); the slope's error is sqrt(1.5/2) and t(1) is 12.706.
	l := LineOf([]Point{{0, 0}, {1, 2}, {2, 1}})
	margin := 12.7062 * math.Sqrt(0.75)
	interval(t, "slope", l.Slope, 0.5, 0.5-margin, 0.5+margin, 0.001)
	near(t, "intercept", l.Intercept.Value, 0.5, 1e-12)
	near(t, "R2", l.R2, 0.25, 1e-12)
	// Without the first point the line is 3-x, which is 3 off; without the second x/2,
	// 1.5 off; without the third 2x, 3 off.
	for i, want := range []float64{-3, 1.5, -3} {
		near(t, "distance of a point that is left out", l.LeftOut[i], want, 1e-12)
	}
	exact := LineOf([]Point{{1, 5}, {2, 7}, {4, 11}, {8, 19}})
	interval(t, "exact slope", exact.Slope, 2, 2, 2, 1e-6)
	interval(t, "exact intercept", exact.Intercept, 3, 3, 3, 1e-6)
	power := PowerLaw([]Point{{1, 3}, {2, 12}, {3, 27}, {10, 300}})
	interval(t, "power", power.Slope, 2, 2, 2, 1e-6)
	for _, points := range [][]Point{nil, {{1, 1}}, {{1, 1}, {2, 2}}, {{1, 1}, {1, 2}, {1, 3}}, {{0, math.NaN()}, {1, 1}, {2, 2}}} {
		if l := LineOf(points); l.Slope.Bounded() || len(l.Slope.Warnings) == 0 {
			t.Errorf("line of %v: %+v", points, l)
		}
	}
	if l := LineOf([]Point{{0, 1}, {0, 2}, {1, 5}}); l.LeftOut != nil {
		t.Errorf("the line without the only other X: %g", l.LeftOut)
	}
}

// TestFitCoverage counts how often intervals hold the true value, in samples of known
// distributions.
func TestFitCoverage(t *testing.T) {
	normal := func(r *rand.Rand, n int, deviation float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 10 + deviation*r.NormFloat64()
		}
		return xs
	}
	skewed := func(r *rand.Rand, n int, scale float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = scale * r.ExpFloat64()
		}
		return xs
	}
	line := func(r *rand.Rand, noise func() float64) []Point {
		points := make([]Point, 6)
		for i := range points {
			x := 10 * r.Float64()
			points[i] = Point{x, 3 + 2*x + noise()}
		}
		return points
	}
	for _, c := range []struct {
		name        string
		truth       float64
		least, most float64
		estimate    func(r *rand.Rand) Estimate
	}{
		// P(B<=48) = .0146 and P(B>=59) = .0138 by the binomial: 97.2 %.
		{"percentile 90 of 60", math.Log(10), 0.963, 0.981, func(r *rand.Rand) Estimate { return Percentile(skewed(r, 60, 1), 0.9) }},
		{"percentile 25 of 200", math.Log(4.0 / 3), 0.945, 0.97, func(r *rand.Rand) Estimate { return Percentile(skewed(r, 200, 1), 0.25) }},
		{"variance ratio", 4, 0.94, 0.96, func(r *rand.Rand) Estimate { return VarianceRatio(normal(r, 6, 1), normal(r, 12, 2)).Estimate }},
		{"variance ratio of skewed values", 4, 0.6, 0.8, func(r *rand.Rand) Estimate { return VarianceRatio(skewed(r, 40, 1), skewed(r, 40, 2)).Estimate }},
		{"robust variance ratio", 4, 0.93, 0.97, func(r *rand.Rand) Estimate {
			return RobustVarianceRatio(normal(r, 20, 1), normal(r, 20, 2)).Estimate
		}},
		{"robust variance ratio of skewed values", 4, 0.88, 0.97, func(r *rand.Rand) Estimate {
			return RobustVarianceRatio(skewed(r, 40, 1), skewed(r, 40, 2)).Estimate
		}},
		{"slope", 2, 0.94, 0.96, func(r *rand.Rand) Estimate { return LineOf(line(r, r.NormFloat64)).Slope }},
		{"intercept", 3, 0.94, 0.96, func(r *rand.Rand) Estimate { return LineOf(line(r, r.NormFloat64)).Intercept }},
		{"exponent", 1.5, 0.94, 0.96, func(r *rand.Rand) Estimate {
			points := make([]Point, 6)
			for i := range points {
				x := 1 + 99*r.Float64()
				points[i] = Point{x, 7 * math.Pow(x, 1.5) * math.Exp(0.2*r.NormFloat64())}
			}
			return PowerLaw(points).Slope
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(20, 26))
			const times = 4000
			held := 0
			for range times {
				if e := c.estimate(random); e.Lo <= c.truth && c.truth <= e.Hi {
					held++
				}
			}
			if share := float64(held) / times; share < c.least || share > c.most {
				t.Errorf("%.3f of the intervals hold the true value, want %.3f to %.3f", share, c.least, c.most)
			}
		})
	}
}
