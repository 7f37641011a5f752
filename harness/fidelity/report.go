package fidelity

import (
	"math"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// Report says how far simulated replays are from the measured trials of a run.
// Other programs may rely on its JSON keys.
type Report struct {
	Own            []Own            `json:"own"`
	Counterfactual []Counterfactual `json:"counterfactual"`
	Warnings       []string         `json:"warnings"`
	// Simulated says that the run's own trials are simulated. What the report
	// calls measured is then simulated too.
	Simulated bool `json:"simulated,omitempty"`

	replays bool // the trials are replays of a trace, and what was measured is its recording
}

// Own contains the errors of simulated replays of one workload. Each trial is
// replayed under its own scheduler model. Errors are in percent of the measured
// value.
type Own struct {
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Runs     int    `json:"runs"`
	// These are errors of the jobs' mean completion time, in percent.
	// MeanAbsErrorPct is the mean, over trials, of the absolute error. CI95Pct
	// is its 95 % confidence interval. BiasPct is the mean error with its sign,
	// in percent of the mean measured time.
	MeanAbsErrorPct compare.Number   `json:"meanAbsErrorPct"`
	CI95Pct         compare.Interval `json:"ci95Pct"`
	BiasPct         compare.Number   `json:"biasPct"`
	BiasCI95Pct     compare.Interval `json:"biasCI95Pct"`
	// NoisePct says how much the measured trials differ among themselves, in
	// percent: their standard deviation divided by their mean.
	NoisePct    compare.Number `json:"noisePct"`
	MeasuredMs  compare.Number `json:"measuredMs"`
	PredictedMs compare.Number `json:"predictedMs"`
	// MakespanErrorPct is the absolute error of the makespan, in percent. The Distances are means over trials.
	MakespanErrorPct compare.Number `json:"makespanErrorPct"`
	Distances
	Trials []Prediction `json:"trials"`
	// Metrics has the errors of Options.Metrics, in their order.
	Metrics []MetricError `json:"metrics,omitempty"`

	jobs []float64 // errors of single jobs in percent, for replays of a trace
}

// Distances say how far predicted tasks are from measured ones. MapDistancePct and ReduceDistancePct are Wasserstein
// distances between their durations, in percent of the measured mean. MapKS and ReduceKS are Kolmogorov-Smirnov distances
// between the same durations. LocalityPoints is the largest difference, in percentage points, between the shares of maps
// at a locality level, such as node or rack; null if the trace does not say where maps' blocks were.
type Distances struct {
	MapDistancePct    compare.Number `json:"mapDistancePct"`
	MapKS             compare.Number `json:"mapKS"`
	ReduceDistancePct compare.Number `json:"reduceDistancePct"`
	ReduceKS          compare.Number `json:"reduceKS"`
	LocalityPoints    compare.Number `json:"localityPoints"`
}

func (d *Distances) all() []*compare.Number {
	return []*compare.Number{&d.MapDistancePct, &d.MapKS, &d.ReduceDistancePct, &d.ReduceKS, &d.LocalityPoints}
}

// Prediction contains the measured completion time of one trial and the time
// that replays predict.
type Prediction struct {
	Trial string `json:"trial"`
	// CalibratedOn are the names of the trials from which the replays'
	// calibration was made.
	CalibratedOn     []string `json:"calibratedOn"`
	MeasuredMs       float64  `json:"measuredMs"`
	PredictedMs      float64  `json:"predictedMs"`
	ErrorPct         float64  `json:"errorPct"` // error of the predicted time in percent of the measured time, with its sign
	MakespanErrorPct float64  `json:"makespanErrorPct"`
	Distances

	metrics []metricValue // of Options.Metrics, in their order
}

// Counterfactual is the prediction of a workload's times under one scheduler
// model from runs under another model.
type Counterfactual struct {
	Workload string `json:"workload"`
	From     string `json:"from"`
	To       string `json:"to"`
	// ErrorPct is the absolute error of the predicted mean completion time,
	// over all trials together, in percent of the measured one.
	ErrorPct compare.Number `json:"errorPct"`
	// WinnerRight says whether the model that was predicted to be faster was
	// faster. Undecided says that the measured times do not show which model is
	// faster. Then a right prediction is luck.
	WinnerRight bool `json:"winnerRight"`
	Undecided   bool `json:"undecided"`
	// PredictedDiffPct and MeasuredDiffPct say by how many percent jobs take
	// longer under model To than under model From.
	PredictedDiffPct compare.Number `json:"predictedDiffPct"`
	MeasuredDiffPct  compare.Number `json:"measuredDiffPct"`
	MeasuredP        compare.Number `json:"measuredP"`
}

// sum sets the errors of a workload's replays to the mean of the errors of its
// trials.
func (w *Own) sum(metrics []measure.Metric) {
	column := func(of func(t *Prediction) float64) (xs []float64) {
		for i := range w.Trials {
			xs = append(xs, of(&w.Trials[i]))
		}
		return xs
	}
	mean := func(of func(t *Prediction) float64) compare.Number {
		return compare.Number(stats.Mean(column(of)).Value)
	}
	was := column(func(t *Prediction) float64 { return t.MeasuredMs })
	e := stats.Mean(column(func(t *Prediction) float64 { return math.Abs(t.ErrorPct) }))
	bias := stats.Mean(column(func(t *Prediction) float64 { return t.PredictedMs - t.MeasuredMs }))
	all := stats.Mean(was).Value
	w.MeanAbsErrorPct, w.CI95Pct = compare.Number(e.Value), compare.Interval{max(0, e.Lo), e.Hi}
	w.BiasPct, w.BiasCI95Pct = compare.Number(100*bias.Value/all), compare.Interval{100 * bias.Lo / all, 100 * bias.Hi / all}
	w.NoisePct = compare.Number(100 * stats.Spread(was))
	w.MeasuredMs, w.PredictedMs = compare.Number(all), mean(func(t *Prediction) float64 { return t.PredictedMs })
	w.MakespanErrorPct = mean(func(t *Prediction) float64 { return math.Abs(t.MakespanErrorPct) })
	for i, to := range w.Distances.all() {
		*to = mean(func(t *Prediction) float64 { return float64(*t.Distances.all()[i]) })
	}
	for k, m := range metrics {
		var values []metricValue
		for _, t := range w.Trials {
			values = append(values, t.metrics[k])
		}
		w.Metrics = append(w.Metrics, errorOf(m, values))
	}
}

// Worst returns the workload and scheduler model whose replays have the largest
// mean error.
func (r *Report) Worst() Own {
	return slices.MaxFunc(r.Own, func(a, b Own) int {
		if float64(a.MeanAbsErrorPct) < float64(b.MeanAbsErrorPct) {
			return -1
		}
		return 1
	})
}
