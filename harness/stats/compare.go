package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/mathx"
	"golang.org/x/perf/benchmath"
)

// Comparison says by how much sample b differs from sample a. It has a
// confidence interval of the difference. P is the p-value of the hypothesis
// that the samples do not differ; it is NaN if nothing can be said. P is below
// 1-Level exactly when the interval excludes "no difference".
type Comparison struct {
	Estimate
	P float64

	// interval returns the confidence interval at level 1-alpha. It excludes
	// "no difference" exactly when P is below alpha. It is nil if there is no
	// p-value.
	interval func(alpha float64) (lo, hi float64)
}

// noComparison returns a comparison that has the given estimate, if any, and
// can say nothing about a difference.
func noComparison(e Estimate) Comparison { return Comparison{Estimate: e, P: math.NaN()} }

// atLevel sets the comparison's interval at [Level].
func (c Comparison) atLevel() Comparison {
	c.Lo, c.Hi = c.interval(1 - Level)
	return c
}

// Together adjusts comparisons that are made together by Bonferroni's method:
// of n comparisons, each p-value is multiplied by n, and each interval is at
// the level 1-(1-Level)/n. All intervals together then contain the true
// differences with probability [Level] or more, and each adjusted p-value is
// below 1-Level exactly when the adjusted interval excludes "no difference".
// Comparisons without a p-value do not count and stay as they are.
//
// Holm's method has smaller p-values. But the intervals that agree with it say
// of most differences only their sign, not their size.
func Together(list []Comparison) []Comparison {
	n := 0.0
	for _, c := range list {
		if c.interval != nil {
			n++
		}
	}
	adjusted := slices.Clone(list)
	for i, c := range list {
		if c.interval != nil {
			adjusted[i].P = min(1, n*c.P)
			adjusted[i].Lo, adjusted[i].Hi = c.interval((1 - Level) / n)
		}
	}
	return adjusted
}

// Bonferroni multiplies the p-values of tests that are made together by their
// number. NaN values stay NaN and do not count as tests.
func Bonferroni(ps []float64) []float64 {
	n := 0.0
	for _, p := range ps {
		if !math.IsNaN(p) {
			n++
		}
	}
	adjusted := make([]float64, len(ps))
	for i, p := range ps {
		adjusted[i] = min(1, n*p)
	}
	return adjusted
}

// MinRanks is the smallest number of pairs with which a rank test can give a
// p-value below 1-Level. With fewer pairs there is only the t-test, which is
// right only if values have a normal distribution.
const MinRanks = 6

// PairedDifference returns the mean of b[i]-a[i], with the confidence interval
// and p-value of the paired t-test. Influences that both values of a pair
// share, such as the seed or the time of day, cancel.
func PairedDifference(a, b []float64) Comparison {
	if c, ok := usablePairs(a, b); !ok {
		return c
	}
	return fromZero(Differences(a, b))
}

// Differences returns b[i]-a[i]. Both samples have as many values.
func Differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range d {
		d[i] = b[i] - a[i]
	}
	return d
}

// PairedRatio returns the geometric mean of b[i]/a[i], with the confidence
// interval and p-value of the paired t-test of the logarithms. Use it for times
// and sizes, where a change acts as a factor. All values must be above zero.
func PairedRatio(a, b []float64) Comparison {
	if c, ok := usablePairs(a, b); !ok {
		return c
	}
	d := make([]float64, len(a))
	for i := range d {
		if a[i] <= 0 || b[i] <= 0 {
			return notPositive(len(a))
		}
		d[i] = math.Log(b[i] / a[i])
	}
	return exponential(fromZero(d))
}

// Difference returns the mean of b minus the mean of a, for unpaired samples,
// with the confidence interval and p-value of Welch's t-test.
func Difference(a, b []float64) Comparison {
	for _, xs := range [][]float64{a, b} {
		if e, ok := usable(xs, 2); !ok {
			return noComparison(e)
		}
	}
	difference, se, freedom := welch(a, b)
	n := len(a) + len(b)
	// If the samples do not overlap, only two of all ways to divide the values
	// into two samples separate them so clearly. This gives the p-value.
	return withError(difference, se, freedom, n, 2/mathx.Choose(n, len(a)))
}

// welch returns the difference between the means of the samples a and b, the
// standard error of this difference, and the error's degrees of freedom by
// Welch.
func welch(a, b []float64) (difference, se, freedom float64) {
	meanA, varA := moments(a)
	meanB, varB := moments(b)
	nA, nB := float64(len(a)), float64(len(b))
	seA, seB := varA/nA, varB/nB
	freedom = (seA + seB) * (seA + seB) / (seA*seA/(nA-1) + seB*seB/(nB-1))
	return meanB - meanA, math.Sqrt(seA + seB), freedom
}

// Ratio returns the geometric mean of b divided by that of a, for unpaired
// samples. It is computed as the [Difference] of the logarithms.
func Ratio(a, b []float64) Comparison {
	logs := func(xs []float64) []float64 {
		l := make([]float64, len(xs))
		for i, x := range xs {
			l[i] = math.Log(x)
		}
		return l
	}
	for _, x := range slices.Concat(a, b) {
		if x <= 0 {
			return notPositive(len(a) + len(b))
		}
	}
	return exponential(Difference(logs(a), logs(b)))
}

// fromZero tests whether the true mean of the differences d is zero, for paired
// tests.
func fromZero(d []float64) Comparison {
	e := Mean(d)
	if len(d) < 2 {
		e.Warnings = []string{fmt.Sprintf("need at least 2 pairs for an interval of their difference, %d to check it by ranks; have 1", MinRanks)}
		return noComparison(e)
	}
	_, variance := moments(d)
	// If all differences have the same sign, only two of all ways to choose the
	// signs are so clear. This gives the p-value.
	c := withError(e.Value, math.Sqrt(variance/float64(len(d))), float64(len(d)-1), len(d), math.Ldexp(1, 1-len(d)))
	if len(d) < MinRanks {
		c.warnf("with fewer than %d pairs the interval rests on normally distributed differences alone; have %d", MinRanks, len(d))
	}
	return c
}

// withError returns the comparison for a difference with the given standard
// error and degrees of freedom. If all measurements are equal, the error is
// zero. Then only the number of measurements, n, is evidence, and the p-value
// is byChance: the probability that chance alone makes such a clear difference.
func withError(difference, se, freedom float64, n int, byChance float64) Comparison {
	c := Comparison{Estimate: Estimate{Value: difference, N: n}, P: 1}
	if se > 0 {
		c.P = tTwoSided(difference/se, freedom)
		c.interval = func(alpha float64) (lo, hi float64) {
			margin := tQuantileAt(alpha, freedom) * se
			return difference - margin, difference + margin
		}
		return c.atLevel()
	}
	if difference != 0 {
		c.P = byChance
		c.warnf("no measurement strays from the difference, so only their number, %d, speaks for it", n)
	}
	c.interval = func(alpha float64) (lo, hi float64) {
		if difference != 0 && byChance >= alpha {
			return math.Inf(-1), math.Inf(1)
		}
		return difference, difference
	}
	return c.atLevel()
}

// exponential converts a comparison of logarithms into one of the values: a
// difference of logarithms becomes a ratio.
func exponential(c Comparison) Comparison {
	c.Value = math.Exp(c.Value)
	if c.interval == nil {
		return c
	}
	logs := c.interval
	c.interval = func(alpha float64) (lo, hi float64) {
		lo, hi = logs(alpha)
		if lo, hi = math.Exp(lo), math.Exp(hi); lo == 0 {
			lo = math.Inf(-1) // without a lower bound, keep it so: its exponential would be 0, which looks like a bound
		}
		return lo, hi
	}
	return c.atLevel()
}

func usablePairs(a, b []float64) (Comparison, bool) {
	if len(a) != len(b) {
		return unequalPairs(len(a), len(b)), false
	}
	for _, xs := range [][]float64{a, b} {
		if e, ok := usable(xs, 1); !ok {
			return noComparison(e), false
		}
	}
	return Comparison{}, true
}

func unequalPairs(a, b int) Comparison {
	c := noComparison(unbounded(math.NaN(), min(a, b)))
	c.warnf("%d and %d measurements do not make pairs", a, b)
	return c
}

func notPositive(n int) Comparison {
	c := noComparison(unbounded(math.NaN(), n))
	c.warnf("a ratio needs measurements above zero")
	return c
}

// MannWhitney tests whether the unpaired samples a and b come from the same
// distribution, and returns the two-sided p-value; NaN if there are too few values to say
// anything. It is exact for samples of up to 50 values. With ties (equal values) it is
// exact up to 25 values.
func MannWhitney(a, b []float64) float64 {
	for _, xs := range [][]float64{a, b} {
		if _, ok := usable(xs, 1); !ok {
			return math.NaN()
		}
	}
	sample := func(xs []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
}
