package fidelity

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/measure"
)

// mostDots is how many errors of single jobs a report keeps of a workload and model.
const mostDots = 200

// OfReplays compares the replays of traces with what the traces themselves have recorded,
// where both are among the trials of a run. Nothing is replayed for it. There is one
// recording of a trace, so that nobody knows how much repeats of it would differ.
func OfReplays(trials []compare.Chosen, metrics []measure.Metric) (*Report, error) {
	r := &Report{Own: []Own{}, Counterfactual: []Counterfactual{}, Warnings: []string{}, replays: true}
	type group struct{ workload, model string }
	was := map[string]*measure.Figures{}
	values := map[group][][]metricValue{}
	for _, x := range trials {
		if x.Recorded() {
			was[x.Workload] = x.Figures
		}
	}
	for _, x := range trials {
		if x.Recorded() || !x.Simulated || was[x.Workload] == nil {
			continue
		}
		f := x.Figures
		w := was[x.Workload]
		i := slices.IndexFunc(r.Own, func(o Own) bool { return o.Workload == x.Workload && o.Model == x.Model })
		if i < 0 {
			i = len(r.Own)
			r.Own = append(r.Own, Own{Workload: x.Workload, Model: x.Model, jobs: jobErrors(w, f)})
		}
		own, again := &r.Own[i], []*measure.Figures{f}
		t := Prediction{Trial: x.Name, MeasuredMs: w.MeanCompletionMs, PredictedMs: f.MeanCompletionMs}
		t.ErrorPct, t.MakespanErrorPct = percent(t.PredictedMs, t.MeasuredMs), percent(f.MakespanMs, w.MakespanMs)
		t.MapDistancePct, t.MapKS = distance(w, again, (*measure.Figures).MapDurations)
		t.ReduceDistancePct, t.ReduceKS = distance(w, again, (*measure.Figures).ReduceRests)
		t.LocalityPoints = localityPoints(w, again)
		own.Runs, own.Trials = own.Runs+1, append(own.Trials, t)
		values[group{x.Workload, x.Model}] = append(values[group{x.Workload, x.Model}], valuesOf(metrics, w, again))
	}
	if len(r.Own) == 0 {
		return nil, fmt.Errorf("%w: no recorded trace is among the trials", ErrNothing)
	}
	for i := range r.Own {
		own := &r.Own[i]
		own.sum()
		own.NoisePct = compare.Number(math.NaN())
		for k, m := range metrics {
			var of []metricValue
			for _, v := range values[group{own.Workload, own.Model}] {
				of = append(of, v[k])
			}
			x := errorOf(m, of)
			if x.Trials > 0 {
				x.Noise = compare.Number(math.NaN())
				own.Metrics = append(own.Metrics, x)
			}
		}
	}
	return r, nil
}

// jobErrors returns the errors of single jobs' completion times in percent, ascending: of
// many jobs some that are spread evenly over all.
func jobErrors(was, is *measure.Figures) (list []float64) {
	took := map[string]float64{}
	for _, j := range was.JobList {
		if j.CompletionMs > 0 {
			took[string(j.ID)] = j.CompletionMs
		}
	}
	for _, j := range is.JobList {
		if ms := took[string(j.ID)]; ms > 0 && j.CompletionMs >= 0 {
			list = append(list, percent(j.CompletionMs, ms))
		}
	}
	slices.Sort(list)
	if n := len(list); n > mostDots {
		for i := range mostDots {
			list[i] = list[i*(n-1)/(mostDots-1)]
		}
		list = list[:mostDots]
	}
	return list
}
