package stats

import "math"

// Share says how many of a number of tasks, blocks or decisions have a
// property: 3 of 6 maps. Keep a rate as a Share until you estimate its mean.
// Functions for times do not accept a Share, so no rate gets an interval beyond
// 0 to 100 %.
type Share struct{ Part, Of int64 }

// Percent returns the share in percent. It is NaN if the whole is 0.
func (s Share) Percent() float64 {
	if s.Of == 0 {
		return math.NaN()
	}
	return 100 * float64(s.Part) / float64(s.Of)
}

// Plus returns the share of both wholes taken together: 3 of 6 plus 1 of 4 is 4
// of 10.
func (s Share) Plus(o Share) Share { return Share{s.Part + o.Part, s.Of + o.Of} }

// MeanShare returns the share of all runs together, in percent. Its interval is
// always within 0 to 100, and is bounded from two runs on.
//
// Runs are independent of each other; the tasks of one run are not. So the
// standard error comes from the differences between runs (the ratio estimator
// of cluster samples). The interval is Wilson's score interval with this error
// and Student's quantile: it contains all shares s for which
//
//	(mean - s)^2 <= t^2 * error^2 * s(1-s) / (mean(1-mean))
//
// (Dean and Pagano, Evaluating confidence interval methods for binomial
// proportions in clustered surveys, J. Survey Statistics and Methodology 3,
// 2015.) TestShareCoverage compares this interval with three others. Of each two
// numbers, the first is how many of 100 intervals, each from five runs, contain
// the true share. The second is their mean width in percentage points:
//
//	the share of a run          this one     Student's    of logits    Gaffke's
//	beta(8, 2)                  94.9  26.4   93.0  27.2   95.2  27.4    100  52.5
//	beta(30, 2)                 93.9   9.9   91.9   9.3   94.2  10.4    100  51.0
//	k of 6, each with 0.5       95.5  42.3   95.3  48.1   95.5  44.0    100  55.0
//	k of 6, each with 0.97      96.2  20.1   60.3   9.6   96.2  25.8     99  52.3
//	k of 100, each with 0.99    96.7   2.8   95.1   2.0   96.7   3.2     98  51.4
//	3 of 6, 2 in every tenth     100  19.0   40.7   7.9    100  19.0    100  51.4
//	k of 6, beta(9, 1)          90.0  33.4   90.9  25.3   90.3  40.1    100  55.2
//
// Student's interval, cut to 0 to 100, is too narrow near 0 and 100. Gaffke's
// holds for any distribution, and is therefore as wide as half the range. That
// of logits contains the true share as often as this one, but is wider. In the
// last row most runs are perfect and a few are far off: there only Gaffke's
// contains the true share often enough. From ten runs on, 92.7 or more of 100
// intervals of this kind contain the true share in all cases.
//
// If all runs have the same share, the error is zero; yet few runs at 100 % do
// not prove 100 %. The interval then follows the rule of three: in N tasks
// without an exception, exceptions have a probability of at most 1-0.05^(1/N),
// about 3/N. This assumes independent tasks, since no run shows otherwise. It
// also keeps the interval short for a simulated share that cannot vary: 50 of
// 100 maps in each of 5 runs give [49.4, 50.6].
func MeanShare(runs []Share) Estimate {
	if e, ok := usableShares(runs); !ok {
		return e
	}
	all := sum(runs)
	e := unbounded(all.Percent(), len(runs))
	if len(runs) < 2 {
		e.warnf("need at least 2 runs for an interval of a share, have 1")
		return e
	}
	n := float64(len(runs))
	squares := 0.0
	for _, r := range runs {
		// more is by how many this run's count of tasks with the property
		// exceeds the number expected from the run's size. It is computed in
		// whole numbers first, so that runs with the same share get exactly 0.
		more := float64(r.Part*all.Of-all.Part*r.Of) / float64(all.Of)
		squares += more * more
	}
	if squares == 0 {
		margin := ruleOfThree(1-Level, all.Of)
		e.Lo, e.Hi = max(0, e.Value-margin), min(100, e.Value+margin)
		return e
	}
	se := 100 * math.Sqrt(squares*n/(n-1)) / float64(all.Of)
	e.Lo, e.Hi = score(e.Value, tQuantile(n-1)*se, 0, 100)
	return e
}

// PairedShareDifference returns the mean of b[i]-a[i] in percentage points, for
// two scheduler models in the same repeats. Its interval is computed like that
// of [MeanShare], for values from -100 to 100. Its p-value comes from the
// interval. If all differences are equal and not zero, only their number is
// evidence: the interval is then bounded from [MinRanks] pairs on.
func PairedShareDifference(a, b []Share) Comparison {
	if len(a) != len(b) {
		return unequalPairs(len(a), len(b))
	}
	for _, runs := range [][]Share{a, b} {
		if e, ok := usableShares(runs); !ok {
			return noComparison(e)
		}
	}
	d := make([]float64, len(a))
	for i := range d {
		d[i] = points(a[i], b[i])
	}
	c := fromZero(d)
	if len(d) < 2 {
		return c
	}
	mean, variance := moments(d)
	n := float64(len(d))
	fewest := min(sum(a).Of, sum(b).Of)
	return c.ofShares(mean, math.Sqrt(variance/n), n-1, func(alpha float64) float64 { return ruleOfThree(alpha, fewest) })
}

// ShareDifference returns the mean of the shares b minus the mean of the shares
// a, in percentage points, for unpaired runs. Its interval and p-value are
// computed as by [PairedShareDifference], but with Welch's degrees of freedom.
func ShareDifference(a, b []Share) Comparison {
	for _, runs := range [][]Share{a, b} {
		if e, ok := usableShares(runs); !ok {
			return noComparison(e)
		}
	}
	x, y := percents(a), percents(b)
	c := Difference(x, y)
	if len(a) < 2 || len(b) < 2 {
		return c
	}
	mean, se, freedom := welch(x, y)
	ofA, ofB := sum(a).Of, sum(b).Of
	return c.ofShares(mean, se, freedom, func(alpha float64) float64 { return ruleOfThree(alpha, ofA) + ruleOfThree(alpha, ofB) })
}

// ofShares replaces the interval and p-value of a comparison by those that suit
// a difference of shares. If all measurements are equal, margin is how far the
// true difference may be from the measured one, at level 1-alpha.
func (c Comparison) ofShares(difference, se, freedom float64, margin func(alpha float64) float64) Comparison {
	if se > 0 {
		// The standard error is right if the true difference is the measured
		// one. If there were no difference, the error would be larger.
		none := math.Sqrt(1 - difference/100*difference/100)
		c.P = tTwoSided(difference*none/se, freedom)
		c.interval = func(alpha float64) (lo, hi float64) {
			return score(difference, tQuantileAt(alpha, freedom)*se, -100, 100)
		}
		return c.atLevel()
	}
	equal := c.interval
	c.P = max(c.P, smallestAlpha(func(alpha float64) bool { return margin(alpha) < math.Abs(difference) }))
	c.interval = func(alpha float64) (lo, hi float64) {
		if lo, hi = equal(alpha); math.IsInf(lo, 0) {
			return lo, hi
		}
		return max(-100, difference-margin(alpha)), min(100, difference+margin(alpha))
	}
	return c.atLevel()
}

// smallestAlpha returns the least alpha from 0 to 1 for which the function tells
// is true, if it is true for all larger ones too. It returns 1 if there is none.
func smallestAlpha(tells func(alpha float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; tells(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// score returns Wilson's score interval for a mean whose values lie between
// least and most. The argument margin is half the width of Student's interval
// for the same mean.
func score(mean, margin, least, most float64) (lo, hi float64) {
	width := most - least
	m := (mean - least) / width
	spread := margin / width * margin / width / (m * (1 - m))
	centre := (m + spread/2) / (1 + spread)
	half := math.Sqrt(spread*m*(1-m)+spread*spread/4) / (1 + spread)
	return max(least, least+width*(centre-half)), min(most, least+width*(centre+half))
}

// ruleOfThree returns, in percent, how many of all tasks may lack a property if
// the given number of tasks all had it. This holds at level 1-alpha.
func ruleOfThree(alpha float64, tasks int64) float64 {
	return 100 * (1 - math.Pow(alpha, 1/float64(tasks)))
}

// points returns share b minus share a in percentage points. Runs with equal
// sizes and equal differences give the same floating-point number.
func points(a, b Share) float64 {
	return 100 * float64(b.Part*a.Of-a.Part*b.Of) / float64(a.Of*b.Of)
}

func percents(runs []Share) []float64 {
	xs := make([]float64, len(runs))
	for i, r := range runs {
		xs[i] = r.Percent()
	}
	return xs
}

func sum(runs []Share) (all Share) {
	for _, r := range runs {
		all = all.Plus(r)
	}
	return all
}

// usableShares reports whether there is at least one run, and each run's part
// lies between 0 and its whole. If not, it also returns an estimate without a
// value, whose warning says what is wrong.
func usableShares(runs []Share) (Estimate, bool) {
	e, ok := usable(percents(runs), 1)
	for _, r := range runs {
		if r.Part < 0 || r.Part > r.Of {
			e.warnf("%d of %d is no share", r.Part, r.Of)
			return e, false
		}
	}
	return e, ok
}
