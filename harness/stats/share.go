package stats

import "math"

// Share is how many of a number of tasks, blocks or decisions have a property:
// 3 of 6 maps. A rate is kept as a Share until it is estimated: a function for
// times does not take it, so no rate gets an interval that leaves 0 to 100 %.
type Share struct{ Part, Of int64 }

// Percent is the share in percent; NaN where it is a share of nothing.
func (s Share) Percent() float64 {
	if s.Of == 0 {
		return math.NaN()
	}
	return 100 * float64(s.Part) / float64(s.Of)
}

// Plus is the share of both wholes together.
func (s Share) Plus(o Share) Share { return Share{s.Part + o.Part, s.Of + o.Of} }

// MeanShare is the share of all runs together, in percent, with an interval that
// is always within 0 to 100. It is bounded from two runs on.
//
// Runs are independent of each other, the tasks of a run are not. The standard
// error therefore comes from the differences between runs (the ratio estimator
// of cluster samples), and the interval is Wilson's score interval with that
// error and Student's quantile: it holds all shares s for which
//
//	(mean - s)^2 <= t^2 * error^2 * s(1-s) / (mean(1-mean))
//
// (Dean and Pagano, Evaluating confidence interval methods for binomial
// proportions in clustered surveys, J. Survey Statistics and Methodology 3,
// 2015.) The test TestShareCoverage compares it with others; of 100 intervals from
// five runs so many hold the true share, and are so many points wide on average:
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
// Student's, cut to 0 to 100, is too sure near the ends. Gaffke's holds for any
// distribution, for which it takes half the range. That of logits is as good and
// wider. The last row is what none but Gaffke's can do: most runs are perfect and
// a few are far off. From ten runs on, this one holds 92.7 or more in all cases.
//
// Where all runs have the same share, they show no error, but few runs at 100 %
// do not prove 100 %. The interval then is that of the rule of three: in N tasks
// without an exception, exceptions have a probability of at most 1-0.05^(1/N),
// about 3/N. This takes tasks as independent, since no run says otherwise, and
// keeps the interval of a simulated share that cannot vary short: 50 of 100 maps
// in each of 5 runs is [49.4, 50.6].
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
		// What the run has more than its size has it expect. In integers, so that
		// runs of the same share have exactly none.
		more := float64(r.Part*all.Of-all.Part*r.Of) / float64(all.Of)
		squares += more * more
	}
	if squares == 0 {
		margin := ruleOfThree(all.Of)
		e.Lo, e.Hi = max(0, e.Value-margin), min(100, e.Value+margin)
		return e
	}
	se := 100 * math.Sqrt(squares*n/(n-1)) / float64(all.Of)
	e.Lo, e.Hi = score(e.Value, tQuantile(n-1)*se, 0, 100)
	return e
}

// PairedShareDifference is the mean of b[i]-a[i] in points, for the shares of two
// models in the same repeats. Its interval is that of [MeanShare] for values from
// -100 to 100, and its p-value is that of the test which the interval inverts.
// Of differences that are all equal and not zero, only their number says
// something: they have an interval from [MinRanks] pairs on.
func PairedShareDifference(a, b []Share) Comparison {
	if len(a) != len(b) {
		return unequalPairs(len(a), len(b))
	}
	for _, runs := range [][]Share{a, b} {
		if e, ok := usableShares(runs); !ok {
			return Comparison{e, math.NaN()}
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
	return c.ofShares(mean, math.Sqrt(variance/n), n-1, ruleOfThree(min(sum(a).Of, sum(b).Of)))
}

// ShareDifference is the mean of b less that of a in points, for runs that are
// not paired, as [PairedShareDifference] with Welch's degrees of freedom.
func ShareDifference(a, b []Share) Comparison {
	for _, runs := range [][]Share{a, b} {
		if e, ok := usableShares(runs); !ok {
			return Comparison{e, math.NaN()}
		}
	}
	x, y := percents(a), percents(b)
	c := Difference(x, y)
	if len(a) < 2 || len(b) < 2 {
		return c
	}
	mean, se, freedom := welch(x, y)
	return c.ofShares(mean, se, freedom, ruleOfThree(sum(a).Of)+ruleOfThree(sum(b).Of))
}

// ofShares puts the interval and p-value of a difference of shares in place of
// Student's. If measurements do not stray from the difference, margin is how far
// the true one may be from it.
func (c Comparison) ofShares(difference, se, freedom, margin float64) Comparison {
	switch {
	case se > 0:
		// The error is that where the difference is as measured. Were there none,
		// it would be larger.
		none := math.Sqrt(1 - difference/100*difference/100)
		c.Lo, c.Hi = score(difference, tQuantile(freedom)*se, -100, 100)
		c.P = tTwoSided(difference*none/se, freedom)
	case c.Bounded():
		c.Lo, c.Hi = max(-100, difference-margin), min(100, difference+margin)
		if c.Lo <= 0 && c.Hi >= 0 {
			c.P = 1
		}
	}
	return c
}

// score is Wilson's interval of a mean between least and most, whose interval by
// Student is the mean plus and minus margin.
func score(mean, margin, least, most float64) (lo, hi float64) {
	width := most - least
	m := (mean - least) / width
	spread := margin / width * margin / width / (m * (1 - m))
	centre := (m + spread/2) / (1 + spread)
	half := math.Sqrt(spread*m*(1-m)+spread*spread/4) / (1 + spread)
	return max(least, least+width*(centre-half)), min(most, least+width*(centre+half))
}

// ruleOfThree is how many percent of tasks may be exceptions where there was none
// among so many.
func ruleOfThree(tasks int64) float64 {
	return 100 * (1 - math.Pow(1-Level, 1/float64(tasks)))
}

// points is by how much b is above a. Equal differences of runs of the same size
// are equal to the last bit.
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

// usableShares says whether runs are shares of something.
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
