package fidelity

import (
	"math"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// MetricError says how far predictions of a metric are from its measured values,
// over those trials of a workload and model of which both are known.
type MetricError struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Trials int    `json:"trials"`
	// Measured and Predicted are means over trials.
	Measured  compare.Number `json:"measured"`
	Predicted compare.Number `json:"predicted"`
	// ErrorUnit is the unit of the figures below: percent of the measured value
	// for times and multiples, percentage points for shares, else the metric's.
	ErrorUnit string `json:"errorUnit"`
	// Error is the mean of the trials' errors without their sign, and CI95 its 95 %
	// confidence interval. Bias is the error of the predicted mean, with its sign.
	// Noise is the standard deviation of the measured values.
	Error compare.Number   `json:"error"`
	CI95  compare.Interval `json:"ci95"`
	Bias  compare.Number   `json:"bias"`
	Noise compare.Number   `json:"noise"`
}

// metricValue is a metric of one trial: what was measured, and the mean of what its
// replays give.
type metricValue struct{ was, is float64 }

// valuesOf returns the value of each metric in a trial and in its replays. One that
// is not known is NaN.
func valuesOf(metrics []measure.Metric, was *measure.Figures, again []*measure.Figures) []metricValue {
	var list []metricValue
	for _, m := range metrics {
		list = append(list, metricValue{m.Of(was), mean(again, func(f *measure.Figures) float64 { return m.Of(f) })})
	}
	return list
}

func errorOf(m measure.Metric, values []metricValue) MetricError {
	values = slices.DeleteFunc(values, func(v metricValue) bool { return math.IsNaN(v.was) || math.IsNaN(v.is) })
	x := MetricError{Metric: m.Name, Unit: m.Unit, Trials: len(values), ErrorUnit: m.Unit}
	// relative returns a difference from a measured value, in the unit of errors.
	relative := func(difference, _ float64) float64 { return difference }
	switch {
	case m.IsFactor():
		x.ErrorUnit = "%"
		relative = func(difference, was float64) float64 {
			if was == 0 {
				return math.NaN() // nothing is so many percent of nothing
			}
			return 100 * difference / was
		}
	case m.Unit == "%":
		x.ErrorUnit = "points"
	}
	var was, is, off []float64
	for _, v := range values {
		was, is, off = append(was, v.was), append(is, v.is), append(off, math.Abs(relative(v.is-v.was, v.was)))
	}
	wasMean, isMean, e := stats.Mean(was).Value, stats.Mean(is).Value, stats.Mean(off)
	x.Measured, x.Predicted = compare.Number(wasMean), compare.Number(isMean)
	x.Error, x.CI95 = compare.Number(e.Value), compare.Interval{max(0, e.Lo), e.Hi}
	x.Bias, x.Noise = compare.Number(relative(isMean-wasMean, wasMean)), compare.Number(relative(stats.Deviation(was), wasMean))
	return x
}

// metricsTable has a row for each metric that was asked for, of each workload and model.
func (r *Report) metricsTable(was string) *doc.Table {
	t := doc.NewTable("metrics", "workload", "model", "metric", "trials", was, "predicted", "error", "of means", "noise floor")
	for _, own := range r.Own {
		for _, x := range own.Metrics {
			digits := 1
			if x.ErrorUnit == "" { // an index or a count
				digits = 3
			}
			t.Add(own.Workload, own.Model, x.Metric, x.Trials,
				doc.Number(x.Measured, x.Unit), doc.Number(x.Predicted, x.Unit),
				doc.Estimate(x.Error, x.CI95[0], x.CI95[1], x.ErrorUnit).Rounded(digits),
				doc.Signed(x.Bias, digits, x.ErrorUnit), doc.Fixed(x.Noise, digits, x.ErrorUnit))
		}
	}
	return t
}
