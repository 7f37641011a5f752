package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
	line := func(r *rand.Rand) Line {
		points := make([]Point, 6)
		for i := range points {
			x := 10 * r.Float64()
			points[i] = Point{x, 3 + 2*x + r.NormFloat64()}
		}
		return LineOf(points)
	}
	covers(t, "slope", 4000, 2, 0.94, 0.96, func(r *rand.Rand) Estimate { return line(r).Slope })
	covers(t, "intercept", 4000, 3, 0.94, 0.96, func(r *rand.Rand) Estimate { return line(r).Intercept })
}
