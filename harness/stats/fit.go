package stats

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/mathx"
)

// Percentile returns [Quantile], with an interval whose bounds are two of the values
// of xs. Like that of [Median], it is right for any distribution: how many of n values
// lie below the true quantile has a binomial distribution. Each bound is missed with
// probability (1-Level)/2 at most. A bound is infinite if n is too small for it.
func Percentile(xs []float64, q float64) Estimate {
	e, ok := usable(xs, 1)
	if !ok {
		return e
	}
	if !(q > 0 && q < 1) {
		e.warnf("want the share of values below a percentile to be between 0 and 1, have %g", q)
		return e
	}
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	e.Value = quantileOfSorted(sorted, q)
	// Value number k from below is above the true quantile if fewer than k values are
	// below that, and it is below the quantile if k or more are.
	if k := sort.Search(n, func(i int) bool { return 1-atLeast(i+1, n, q) > (1-Level)/2 }); k > 0 {
		e.Lo = sorted[k-1]
	}
	if k := sort.Search(n, func(i int) bool { return atLeast(i+1, n, q) <= (1-Level)/2 }); k < n {
		e.Hi = sorted[k]
	}
	if !e.Bounded() {
		e.warnf("too few measurements for an interval of percentile %g, have %d", 100*q, n)
	}
	return e
}

// atLeast returns the probability that k or more of n events happen, each with
// probability q. k is 1 or more.
func atLeast(k, n int, q float64) float64 { return mathx.BetaInc(q, float64(k), float64(n-k+1)) }

// VarianceRatio returns the variance of b divided by that of a, for unpaired samples,
// with the confidence interval and p-value of the F test. It assumes normal
// distributions, and is wrong for others however large the samples are: of 100
// intervals from exponential values, 70 contain the true ratio. See
// [RobustVarianceRatio].
func VarianceRatio(a, b []float64) Comparison {
	if c, ok := usableVariances(a, b, 2); !ok {
		return c
	}
	_, varA := moments(a)
	_, varB := moments(b)
	dA, dB := float64(len(a)-1), float64(len(b)-1)
	c := Comparison{Estimate: Estimate{Value: varB / varA, N: len(a) + len(b)}}
	below := fCDF(c.Value, dB, dA)
	c.P = 2 * min(below, 1-below)
	c.interval = func(alpha float64) (lo, hi float64) {
		return c.Value / fQuantile(1-alpha/2, dB, dA), c.Value / fQuantile(alpha/2, dB, dA)
	}
	return c.atLevel()
}

// RobustVarianceRatio is like [VarianceRatio], for any distribution with a fourth
// moment. It leaves out one value after the other, and sees how the logarithm of the
// variance changes (Miller's jackknife, Ann. Math. Statist. 39, 1968); the logarithms
// are compared by Welch's t-test.
func RobustVarianceRatio(a, b []float64) Comparison {
	if c, ok := usableVariances(a, b, 3); !ok {
		return c
	}
	return exponential(Difference(pseudoLogs(a), pseudoLogs(b)))
}

// pseudoLogs returns the jackknife's values of the logarithm of the variance of xs.
func pseudoLogs(xs []float64) []float64 {
	_, all := moments(xs)
	n := float64(len(xs))
	list := make([]float64, len(xs))
	for i := range xs {
		_, without := moments(slices.Concat(xs[:i], xs[i+1:]))
		list[i] = n*math.Log(all) - (n-1)*math.Log(without)
	}
	return list
}

func usableVariances(a, b []float64, least int) (Comparison, bool) {
	for _, xs := range [][]float64{a, b} {
		e, ok := usable(xs, least)
		if !ok {
			return noComparison(e), false
		}
		if _, variance := moments(xs); !(variance > 0) {
			e.warnf("all %d measurements are equal, so there is no ratio of variances", len(xs))
			return noComparison(e), false
		}
	}
	return Comparison{}, true
}

// fCDF is the distribution function of Fisher's F with d and e degrees of freedom.
func fCDF(x, d, e float64) float64 { return mathx.BetaInc(d*x/(d*x+e), d/2, e/2) }

// fQuantile is the inverse of fCDF, by bisection.
func fQuantile(p, d, e float64) float64 {
	lo, hi := 0.0, 1.0 // of d*x/(d*x+e)
	for range 100 {
		if mid := (lo + hi) / 2; mathx.BetaInc(mid, d/2, e/2) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return e / d * lo / (1 - lo)
}

// Point is a value Y that was measured at X.
type Point struct{ X, Y float64 }

// Line is a straight line through points, by least squares.
type Line struct {
	// Slope and Intercept have Student's intervals, which assume that points scatter
	// about the line normally and equally everywhere. They are bounded from three
	// points on.
	Slope, Intercept Estimate
	// R2 is the share of the variance of Y that the line explains. It says little with
	// few points: anything that rises gives a large one.
	R2 float64
	// LeftOut are the distances in Y of each point from the line through the others: how
	// well a line predicts. They are nil if such a line is not known for each point.
	LeftOut []float64
}

// LineOf returns the line through points.
func LineOf(points []Point) Line {
	nan := unbounded(math.NaN(), len(points))
	l := Line{Slope: nan, Intercept: nan, R2: math.NaN()}
	xs, ys := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		xs[i], ys[i] = p.X, p.Y
	}
	for _, list := range [][]float64{xs, ys} {
		if e, ok := usable(list, 2); !ok {
			l.Slope, l.Intercept = e, e
			return l
		}
	}
	n := float64(len(points))
	meanX, varX := moments(xs)
	meanY, varY := moments(ys)
	if varX == 0 {
		l.Slope.warnf("all points have the same X, so there is no slope")
		return l
	}
	covariance := 0.0
	for _, p := range points {
		covariance += (p.X - meanX) * (p.Y - meanY) / (n - 1)
	}
	l.Slope.Value = covariance / varX
	l.Intercept.Value = meanY - l.Slope.Value*meanX
	if varY > 0 {
		l.R2 = covariance * covariance / (varX * varY)
	}
	rest, alone := 0.0, false // alone: without that point all others have the same X
	for _, p := range points {
		r := p.Y - l.Intercept.Value - l.Slope.Value*p.X
		rest += r * r
		// A point draws the line to itself by this share of its distance.
		leverage := 1/n + (p.X-meanX)*(p.X-meanX)/((n-1)*varX)
		alone = alone || leverage > 1-1e-9
		l.LeftOut = append(l.LeftOut, r/(1-leverage))
	}
	if alone {
		l.LeftOut = nil
	}
	if n < 3 {
		l.Slope.warnf("need at least 3 points for an interval of the slope, have 2")
		return l
	}
	t := tQuantile(n - 2)
	margin := t * math.Sqrt(rest/(n-2)/((n-1)*varX))
	l.Slope.Lo, l.Slope.Hi = l.Slope.Value-margin, l.Slope.Value+margin
	margin = t * math.Sqrt(rest/(n-2)*(1/n+meanX*meanX/((n-1)*varX)))
	l.Intercept.Lo, l.Intercept.Hi = l.Intercept.Value-margin, l.Intercept.Value+margin
	return l
}

// PowerLaw returns the line through the logarithms of points: Y grows as X to the
// power of its slope. All coordinates must be above zero.
func PowerLaw(points []Point) Line {
	logs := make([]Point, len(points))
	for i, p := range points {
		logs[i] = Point{math.Log(p.X), math.Log(p.Y)}
	}
	return LineOf(logs)
}
