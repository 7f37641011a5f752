package stats

import (
	"cmp"
	"math"
	"slices"
)

// PairedRatioOfMeans returns the mean of b divided by the mean of a, for pairs of
// measurements, with Fieller's interval: it contains all ratios r for which the
// paired t-test does not tell the mean of b[i]-r*a[i] from zero. If the mean of a
// is not shown to be above zero, any ratio may be true: the interval then has no
// bounds. Without a positive mean of a there is no value either.
//
// Unlike [PairedRatio], it takes values that are zero or negative, such as how much
// a rate rose, and weighs pairs by their size. TestRatioCoverage compares its
// interval with that of the delta method.
func PairedRatioOfMeans(a, b []float64) Estimate {
	if c, ok := usablePairs(a, b); !ok {
		return c.Estimate
	}
	below, varA := moments(a)
	above, varB := moments(b)
	n := float64(len(a))
	e := unbounded(math.NaN(), len(a))
	if below <= 0 {
		e.warnf("a ratio needs a mean above zero below the line")
		return e
	}
	e.Value = above / below
	if len(a) < 2 {
		e.warnf("need at least 2 pairs for an interval of a ratio, have 1")
		return e
	}
	rest := 0.0 // squares of how far pairs stray from the ratio
	covariance := 0.0
	for i := range a {
		off := b[i] - e.Value*a[i]
		rest += off * off
		covariance += (a[i] - below) * (b[i] - above) / (n - 1)
	}
	if rest <= 1e-24*above*above*n { // proportional, but for rounding
		e.Lo, e.Hi = e.Value, e.Value
		return e
	}
	// (above - r*below)^2 = g*(varB - 2*r*covariance + r^2*varA) is a quadratic
	// equation in r. Its solutions are the bounds.
	t := tQuantile(n - 1)
	g := t * t / n
	square := below*below - g*varA
	if square <= 0 {
		e.warnf("the mean below the line is not told from zero, so the ratio has no bounds")
		return e
	}
	half := above*below - g*covariance
	root := math.Sqrt(max(0, half*half-square*(above*above-g*varB)))
	e.Lo, e.Hi = (half-root)/square, (half+root)/square
	return e
}

// KthLargest returns the k-th largest (from 1 on) of several estimates, with an
// interval that knows that it was picked. The estimates' intervals must hold
// together, as those of [Together] do: then no more than k-1 of the true values lie
// above the k-th largest of the upper bounds, and at least k lie above the k-th
// largest of the lower bounds. It is NaN if there are fewer than k estimates.
func KthLargest(k int, together []Estimate) Estimate {
	e := unbounded(math.NaN(), 0)
	if k < 1 || k > len(together) {
		return e
	}
	kth := func(of func(*Estimate) float64) float64 {
		xs := make([]float64, len(together))
		for i := range together {
			xs[i] = of(&together[i])
		}
		slices.SortFunc(xs, func(a, b float64) int { return cmp.Compare(b, a) })
		return xs[k-1]
	}
	e.Value = kth(func(e *Estimate) float64 { return e.Value })
	e.Lo, e.Hi = kth(func(e *Estimate) float64 { return e.Lo }), kth(func(e *Estimate) float64 { return e.Hi })
	for i := range together {
		e.N = max(e.N, together[i].N)
		if math.IsNaN(together[i].Value) {
			return unbounded(math.NaN(), e.N)
		}
	}
	return e
}
