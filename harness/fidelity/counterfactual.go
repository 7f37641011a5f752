package fidelity

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// counterfactuals predicts, for each workload and each ordered pair of
// scheduler models, how long jobs take under the second model. The predictions
// are made from runs under the first model only.
func counterfactuals(groups [][]measured, o Options) ([]Counterfactual, error) {
	type pair struct{ from, to []measured }
	var pairs []pair
	for _, from := range groups {
		for _, to := range groups {
			// compare only trials on the same cluster: trials on one cluster do
			// not tell how another differs
			if from[0].workload == to[0].workload && from[0].model != to[0].model && from[0].Header.Cluster.Name == to[0].Header.Cluster.Name {
				pairs = append(pairs, pair{from, to})
			}
		}
	}
	list := make([]Counterfactual, len(pairs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range pairs {
		g.Go(func() (err error) {
			list[i], err = counterfactual(p.from, p.to, o)
			return err
		})
	}
	return list, g.Wait()
}

func counterfactual(from, to []measured, o Options) (Counterfactual, error) {
	x := Counterfactual{Workload: from[0].workload, From: from[0].model, To: to[0].model}
	f, err := calibrate(from, o)
	if err != nil {
		return x, err
	}
	var under [2][]*measure.Figures
	for k, like := range []*measured{&from[0], &to[0]} {
		for _, t := range from {
			again, err := predict(t.Trace, like, f.calibration, 0, o)
			if err != nil {
				return x, err
			}
			under[k] = append(under[k], again...)
		}
	}
	a, b := completions(from), completions(to)
	wasA, wasB := stats.Mean(a).Value, stats.Mean(b).Value
	isA, isB := completion(under[0]), completion(under[1])
	x.ErrorPct = compare.Number(max(percent(isB, wasB), -percent(isB, wasB)))
	x.PredictedDiffPct, x.MeasuredDiffPct = compare.Number(percent(isB, isA)), compare.Number(percent(wasB, wasA))
	x.WinnerRight = (isB < isA) == (wasB < wasA)
	p := stats.Ratio(a, b).P
	x.MeasuredP = compare.Number(p)
	x.Undecided = !(p < 1-stats.Level)
	return x, nil
}

// completions returns, for each trial, the mean time in ms of its jobs from
// submission to end.
func completions(list []measured) []float64 {
	var ms []float64
	for _, x := range list {
		ms = append(ms, x.figures.MeanCompletionMs)
	}
	return ms
}
