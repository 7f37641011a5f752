package fidelity

import (
	"math"
	"testing"

	"heddle/harness/compare"
	"heddle/harness/measure"
)

func metricsNamed(t *testing.T, names ...string) []measure.Metric {
	t.Helper()
	list := must(measure.Find(names))
	return list
}

// TestErrorOfByHand has the errors of metrics of each unit worked out by hand.
func TestErrorOfByHand(t *testing.T) {
	nan := math.NaN()
	for _, x := range []struct {
		metric                                  string
		values                                  []metricValue
		trials                                  int
		unit                                    string
		measured, predicted, error, bias, noise float64
	}{
		// Errors of 10, 5 and 0 %; of means 220 against 200; a deviation of 100 of 200.
		{"jobCompletion", []metricValue{{100, 110}, {200, 190}, {300, 300}}, 3, "%", 200, 200, 5, 0, 50},
		{"makespan", []metricValue{{100, 120}, {300, 330}}, 2, "%", 200, 225, 15, 12.5, 100 * math.Sqrt(20000) / 200},
		// Shares differ by points, not by percent.
		{"nodeLocal", []metricValue{{50, 55}, {100, 95}}, 2, "points", 75, 75, 5, 0, math.Sqrt(1250)},
		// A trial without the metric says nothing about it.
		{"waiting", []metricValue{{nan, 5}, {10, nan}, {10, 9}, {20, 21}}, 2, "%", 15, 15, 7.5, 0, 100 * math.Sqrt(50) / 15},
		{"fairness", []metricValue{{0.5, 0.75}, {1, 0.75}}, 2, "", 0.75, 0.75, 0.25, 0, math.Sqrt(0.125)},
		// Nothing is so many percent of nothing.
		{"waiting", []metricValue{{0, 1}, {2, 2}}, 2, "%", 1, 1.5, nan, 50, 100 * math.Sqrt(2)},
		{"waiting", []metricValue{{nan, 1}}, 0, "%", nan, nan, nan, nan, nan},
	} {
		got := errorOf(metricsNamed(t, x.metric)[0], x.values)
		if got.Trials != x.trials || got.ErrorUnit != x.unit {
			t.Errorf("%s: %d trials in %q, want %d in %q", x.metric, got.Trials, got.ErrorUnit, x.trials, x.unit)
		}
		for _, y := range []struct {
			name string
			got  compare.Number
			want float64
		}{
			{"measured", got.Measured, x.measured},
			{"predicted", got.Predicted, x.predicted},
			{"error", got.Error, x.error},
			{"bias", got.Bias, x.bias},
			{"noise", got.Noise, x.noise},
		} {
			if g := float64(y.got); math.Abs(g-y.want) > 1e-9 || math.IsNaN(g) != math.IsNaN(y.want) {
				t.Errorf("%s of %v: %s is %v, want %v", x.metric, x.values, y.name, g, y.want)
			}
		}
	}
}

// TestMetricsAgree has the errors of any metric be those that every report has of
// completion time and makespan.
func TestMetricsAgree(t *testing.T) {
	r := must(Of("testdata/run", Options{Seeds: 2, Metrics: metricsNamed(t, "jobCompletion", "makespan", "all")}))
	for _, own := range r.Own {
		if want := 2 + len(measure.Metrics()); len(own.Metrics) != want {
			t.Fatalf("%s: %d metrics, want %d", own.Model, len(own.Metrics), want)
		}
		completion, makespan := own.Metrics[0], own.Metrics[1]
		for _, x := range []struct {
			name      string
			got, want compare.Number
		}{
			{"error", completion.Error, own.MeanAbsErrorPct},
			{"bias", completion.Bias, own.BiasPct},
			{"noise", completion.Noise, own.NoisePct},
			{"measured", 1000 * completion.Measured, own.MeasuredMs},
			{"predicted", 1000 * completion.Predicted, own.PredictedMs},
			{"bound", compare.Number(completion.CI95[1]), compare.Number(own.CI95Pct[1])},
			{"makespan", makespan.Error, own.MakespanErrorPct},
		} {
			if math.Abs(float64(x.got-x.want)) > 1e-6*math.Abs(float64(x.want)) {
				t.Errorf("%s, %s: %v, and %v elsewhere in the report", own.Model, x.name, x.got, x.want)
			}
		}
	}
}
