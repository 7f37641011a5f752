// Package stats says how sure a figure from repeated measurements is: a
// sample's centre with its 95 % interval, differences between two samples,
// paired or not, distances between distributions, drift.
//
// Every answer carries warnings as values. Too few measurements give an answer
// without bounds that says so, never a panic and never a number that looks
// surer than it is. The package is pure: what is random takes the caller's
// stream, and the order of a sample matters only to [DriftOf] and [WarmUp].
//
// Left out: plots, regression, analysis of variance, streaming estimates.
package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Level is the confidence level of every interval, and 1-Level what a p-value
// is held against.
const Level = 0.95

// MinMedian is how many measurements the interval of a median needs at [Level]:
// with fewer, not even the whole range of the sample holds the median so often.
const MinMedian = 6

// Estimate is a figure with its interval at [Level].
type Estimate struct {
	// Value is NaN where the sample does not allow one.
	Value float64
	// Lo and Hi are infinite where the sample sets no bound.
	Lo, Hi float64
	// N is how many measurements it rests on.
	N int
	// Warnings say what stands between the figure and belief in it.
	Warnings []string
}

// Bounded says whether the interval says anything.
func (e Estimate) Bounded() bool {
	return !math.IsInf(e.Lo, 0) && !math.IsInf(e.Hi, 0) && !math.IsNaN(e.Value)
}

func (e *Estimate) warnf(format string, args ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
}

// unbounded is an estimate that is only a value, or not even that.
func unbounded(value float64, n int) Estimate {
	return Estimate{Value: value, Lo: math.Inf(-1), Hi: math.Inf(1), N: n}
}

// Median is the median of xs with the interval between two order statistics,
// the shortest, which holds for any distribution. It is bounded from
// [MinMedian] on.
func Median(xs []float64) Estimate {
	if e, ok := usable(xs, 1); !ok {
		return e
	}
	// Sorts what it is given.
	s := benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
	m := benchmath.AssumeNothing.Summary(s, Level)
	e := Estimate{Value: m.Center, Lo: m.Lo, Hi: m.Hi, N: len(xs)}
	if !e.Bounded() {
		e.Lo, e.Hi = math.Inf(-1), math.Inf(1)
		e.warnf("need at least %d measurements for an interval of the median, have %d", MinMedian, len(xs))
	}
	return e
}

// Mean is the mean of xs with Student's interval, which is for measurements
// that are about normally distributed, such as times. For rates see [MeanShare].
// It is bounded from two on.
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

// Quantile is the value below which the share q of xs lies, interpolated
// between neighbours (Hyndman and Fan's type 7, as R and NumPy do by default).
// NaN for an empty sample or a q outside of 0 to 1.
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

// Spread is the sample standard deviation of xs over its mean: how much
// repeats of the same thing differ. NaN where there are fewer than two.
func Spread(xs []float64) float64 {
	mean, variance := moments(xs)
	return math.Sqrt(variance) / math.Abs(mean)
}

// usable says whether xs holds enough finite numbers; else the estimate that
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

// moments are the mean and the variance by n-1, NaN for n < 2. Sums go from the
// smallest on, so that the order of a sample does not show.
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
	if slices.Min(xs) == slices.Max(xs) { // what rounding makes of them is no spread
		return xs[0], 0
	}
	for _, x := range sorted {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / (n - 1)
}

// tQuantile is the factor of a two-sided interval by Student's distribution.
func tQuantile(freedom float64) float64 {
	return stats.InvCDF(stats.TDist{V: freedom})((1 + Level) / 2)
}

// tTwoSided is the p-value of t.
func tTwoSided(t, freedom float64) float64 {
	return 2 * stats.TDist{V: freedom}.CDF(-math.Abs(t))
}
