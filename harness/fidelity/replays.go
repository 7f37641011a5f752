package fidelity

import (
	"fmt"
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
	was := map[string]*measure.Figures{}
	for _, x := range trials {
		if x.Recorded() {
			was[x.Workload] = x.Figures
		}
	}
	for _, x := range trials {
		if x.Recorded() || !x.Simulated || was[x.Workload] == nil {
			continue
		}
		i := slices.IndexFunc(r.Own, func(o Own) bool { return o.Workload == x.Workload && o.Model == x.Model })
		if i < 0 {
			i = len(r.Own)
			r.Own = append(r.Own, Own{Workload: x.Workload, Model: x.Model, jobs: jobErrors(was[x.Workload], x.Figures)})
		}
		own := &r.Own[i]
		own.Runs, own.Trials = own.Runs+1, append(own.Trials, predictionOf(x.Name, was[x.Workload], []*measure.Figures{x.Figures}, metrics))
	}
	if len(r.Own) == 0 {
		return nil, fmt.Errorf("%w: no recorded trace is among the trials", ErrNothing)
	}
	for i := range r.Own {
		own := &r.Own[i]
		own.sum(metrics)
		own.NoisePct = unknown
		own.Metrics = slices.DeleteFunc(own.Metrics, func(x MetricError) bool { return x.Trials == 0 })
		for k := range own.Metrics {
			own.Metrics[k].Noise = unknown
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
