package compare

import (
	"math"
	"slices"

	"heddle/harness/measure"
	"heddle/harness/stats"
)

// metric is a metric as models are compared by it. Its value in a repeat may be
// that of several workloads together, or that of one class of a workload's jobs.
type metric struct {
	measure.Metric
	by, class string // as in measure.JobClass; empty for all jobs
}

// The method of returns the metric's value of a trial, NaN if there is none.
func (m metric) of(t trial) float64 {
	if m.by == "" {
		return m.Of(t.figures...)
	}
	return m.OfClass(m.classOf(t))
}

// mean returns the mean of the metric's values in the trials, of which difference is the
// difference: the geometric mean where a change acts as a factor, such as of times.
func (m metric) mean(trials []trial) stats.Estimate {
	values := valuesOf(m, trials)
	switch {
	case m.IsShare():
		return stats.MeanShare(mapped(trials, func(t trial) stats.Share { return m.Share(t.figures...) }))
	case !m.IsFactor() || slices.ContainsFunc(values, func(v float64) bool { return v <= 0 }):
		return stats.Mean(values)
	}
	e := stats.Mean(mapped(values, math.Log))
	if e.Value = math.Exp(e.Value); e.N > 1 {
		e.Lo, e.Hi = math.Exp(e.Lo), math.Exp(e.Hi)
	}
	return e
}

// difference compares the metric's values in the trials bs with those in the
// trials as. It is the ratio of values where a change acts as a factor, such as of
// times, and otherwise their difference.
func (m metric) difference(as, bs []trial, paired bool) stats.Comparison {
	if m.IsShare() {
		shares := func(trials []trial) []stats.Share {
			return mapped(trials, func(t trial) stats.Share { return m.Share(t.figures...) })
		}
		if paired {
			return stats.PairedShareDifference(shares(as), shares(bs))
		}
		return stats.ShareDifference(shares(as), shares(bs))
	}
	compare, pairs := stats.Difference, stats.PairedDifference
	if m.IsFactor() {
		compare, pairs = stats.Ratio, stats.PairedRatio
	}
	if paired {
		compare = pairs
	}
	return compare(valuesOf(m, as), valuesOf(m, bs))
}

// apart returns by how much the metric's value in trial b is above that in trial a, in
// the unit of Pair.DiffPct.
func (m metric) apart(a, b trial) float64 {
	if m.IsFactor() {
		return 100 * (m.of(b)/m.of(a) - 1)
	}
	return m.of(b) - m.of(a)
}

// inPercent returns a difference of the metric and its interval: in percent where it
// is a ratio, otherwise in the metric's unit, such as percentage points.
func (m metric) inPercent(c stats.Comparison) (Number, Interval) {
	if !m.IsFactor() {
		return Number(c.Value), Interval{c.Lo, c.Hi}
	}
	return Number(100 * (c.Value - 1)), Interval{100 * (c.Lo - 1), 100 * (c.Hi - 1)}
}

// adjust sets the p-values and intervals of a table's pairs that hold for all of
// them together, because a table with many pairs of models would else show a
// difference by chance. differences[i] is that of pairs[i].
func adjust(m metric, pairs []Pair, differences []stats.Comparison) {
	ranks := stats.Bonferroni(mapped(pairs, func(p Pair) float64 { return float64(p.PRanks) }))
	for i, c := range stats.Together(differences) {
		_, pairs[i].CI95Pct = m.inPercent(c)
		pairs[i].P, pairs[i].PRanks = Number(c.P), Number(ranks[i])
	}
}

// metricsOf returns the metrics with the given names, by default the usual ones.
func metricsOf(names []string) ([]metric, error) {
	list, err := measure.Find(names)
	return mapped(list, func(m measure.Metric) metric { return metric{Metric: m} }), err
}
