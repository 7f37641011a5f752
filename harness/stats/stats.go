// Package stats says how certain a figure from repeated measurements is. It
// gives the centre of a sample with a 95 % interval, differences between two
// samples, paired or unpaired, percentiles, ratios of variances, straight lines,
// distances between distributions, and drift.
//
// Every result carries its warnings as values. Too few measurements give a
// result without bounds and with a warning. They never cause a panic, nor a
// number that looks more certain than it is. The package is pure: it uses no
// clock, files or random numbers. The order of a sample matters only to
// [DriftOf] and [WarmUp].
//
// It leaves out plots, regression on more than one quantity, analysis of variance
// and streaming estimates.
package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Level is the confidence level of every interval. A difference is significant
// if its p-value is below 1-Level.
const Level = 0.95

// MinMedian is the smallest number of measurements for which the median has an
// interval at [Level]. With fewer, even the whole range of the sample contains
// the true median less often than that.
const MinMedian = 6

// Estimate is a value computed from measurements, with its interval at
// confidence [Level].
type Estimate struct {
	// Value is the estimated value. It is NaN if the sample allows no estimate.
	Value float64
	// Lo and Hi are the bounds of the confidence interval. A bound is infinite
	// if the sample is too small to give one.
	Lo, Hi float64
	// N is the number of measurements in the sample.
	N int
	// Warnings say why the estimate may be less certain than its interval
	// suggests.
	Warnings []string
}

// Bounded reports whether both bounds of the estimate's confidence interval are
// known.
func (e Estimate) Bounded() bool {
	return !math.IsInf(e.Lo, 0) && !math.IsInf(e.Hi, 0) && !math.IsNaN(e.Value)
}

func (e *Estimate) warnf(format string, args ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
}

// unbounded returns an estimate whose confidence interval has no bounds. The
// value may be NaN.
func unbounded(value float64, n int) Estimate {
	return Estimate{Value: value, Lo: math.Inf(-1), Hi: math.Inf(1), N: n}
}

// Median returns the median of xs. The bounds of its confidence interval are two
// of the values of xs, as near to each other as [Level] allows. The interval is
// right for any distribution. It is bounded from [MinMedian] measurements on.
func Median(xs []float64) Estimate {
	if e, ok := usable(xs, 1); !ok {
		return e
	}
	// copy xs, because benchmath.NewSample sorts its argument
	s := benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
	m := benchmath.AssumeNothing.Summary(s, Level)
	e := Estimate{Value: m.Center, Lo: m.Lo, Hi: m.Hi, N: len(xs)}
	if !e.Bounded() {
		e.Lo, e.Hi = math.Inf(-1), math.Inf(1)
		e.warnf("need at least %d measurements for an interval of the median, have %d", MinMedian, len(xs))
	}
	return e
}

// Mean returns the mean of xs with Student's interval, which suits measurements
// with a nearly normal distribution, such as times. For rates see [MeanShare].
// It is bounded from two measurements on.
func Mean(xs []float64) Estimate {
	if e, ok := usable(xs, 1); !ok {
		return e
	}
	mean, variance := moments(xs)
	e := unbounded(mean, len(xs))
	if len(xs) < 2 {
		e.warnf("need at least 2 measurements for an interval of the mean, have 1")
		return e
	}
	margin := tQuantile(float64(len(xs)-1)) * math.Sqrt(variance/float64(len(xs)))
	e.Lo, e.Hi = mean-margin, mean+margin
	return e
}

// Quantile returns the value below which the share q of xs lies, interpolated
// between neighbours (Hyndman and Fan's type 7, the default of R and NumPy). It
// is NaN for an empty sample or if q is outside 0 to 1.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	return quantileOfSorted(slices.Sorted(slices.Values(xs)), q)
}

func quantileOfSorted(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Spread says how much the values of xs differ: it returns the sample's standard
// deviation divided by its mean.
// It is NaN for fewer than two values.
func Spread(xs []float64) float64 {
	mean, variance := moments(xs)
	return math.Sqrt(variance) / math.Abs(mean)
}

// Deviation returns the standard deviation of the sample xs (divided by n-1),
// NaN for fewer than two values.
func Deviation(xs []float64) float64 {
	_, variance := moments(xs)
	return math.Sqrt(variance)
}

// usable reports whether xs has at least the given number of values and all are
// finite. If not, it also returns an estimate without a value, whose warning
// says what is wrong.
func usable(xs []float64, least int) (Estimate, bool) {
	e := unbounded(math.NaN(), len(xs))
	if len(xs) < least {
		e.warnf("need at least %d measurements, have %d", least, len(xs))
		return e, false
	}
	odd := 0
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			odd++
		}
	}
	if odd > 0 {
		e.warnf("%d of %d measurements are not finite numbers", odd, len(xs))
	}
	return e, odd == 0
}

// moments returns the mean and the variance (divided by n-1) of xs. The
// variance is NaN for fewer than two values. The values are added in ascending
// order, so that the order of the sample does not change the result.
func moments(xs []float64) (mean, variance float64) {
	sorted := slices.SortedFunc(slices.Values(xs), func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for _, x := range sorted {
		mean += x
	}
	n := float64(len(xs))
	mean /= n
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	if lo, hi := slices.Min(xs), slices.Max(xs); hi-lo <= 1e-12*max(math.Abs(lo), math.Abs(hi)) { // only rounding makes a difference
		return xs[0], 0
	}
	for _, x := range sorted {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / (n - 1)
}

// Margin returns how far an interval at [Level] extends to each side of a value with
// this standard error, by Student's distribution with these degrees of freedom.
func Margin(stderr, freedom float64) float64 { return tQuantile(freedom) * stderr }

// Widening returns how many times as wide an interval at [Level] must be to be one of n
// that hold together (Bonferroni's rule). Without degrees of freedom it is that of the
// normal distribution.
func Widening(n int, freedom float64) float64 {
	if freedom < 1 {
		return math.Erfinv(1-(1-Level)/float64(n)) / math.Erfinv(Level)
	}
	return tQuantileAt((1-Level)/float64(n), freedom) / tQuantile(freedom)
}

// tQuantile returns how many standard errors a two-sided interval at [Level]
// extends to each side, by Student's distribution with the given degrees of
// freedom.
func tQuantile(freedom float64) float64 { return tQuantileAt(1-Level, freedom) }

// tQuantileAt is like tQuantile, for an interval at level 1-alpha.
func tQuantileAt(alpha, freedom float64) float64 {
	return stats.InvCDF(stats.TDist{V: freedom})(1 - alpha/2)
}

// tTwoSided returns the two-sided p-value of Student's t-test for the statistic
// t.
func tTwoSided(t, freedom float64) float64 {
	return 2 * stats.TDist{V: freedom}.CDF(-math.Abs(t))
}
