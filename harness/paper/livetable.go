package paper

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/fidelity"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// fill adds a row to the table for each workload and scheduler model. Models
// are in the given order; others come after them. The metrics are those that the paper
// has columns of.
func (t *LiveTable) fill(predicted *fidelity.Report, order []string, metrics []measure.Metric) {
	none := CellOf(stats.Mean(nil))
	var workloads, models []string
	for _, m := range t.trials {
		if !slices.Contains(workloads, m.Workload) {
			workloads = append(workloads, m.Workload)
		}
		if !slices.Contains(models, m.Model) {
			models = append(models, m.Model)
		}
	}
	slices.SortStableFunc(models, func(a, b string) int { return place(order, a) - place(order, b) })
	for _, workload := range workloads {
		for _, model := range models {
			list := t.of(workload, model)
			if len(list) == 0 {
				continue
			}
			rate := func(of func(*measured) stats.Share) Cell {
				// A repeat in which no map read blocks has no cache rate, and
				// one in which no decision was made has no adherence. Such
				// repeats are left out of the mean.
				known := slices.DeleteFunc(each(list, of), func(s stats.Share) bool { return s.Of == 0 })
				return CellOf(stats.MeanShare(known))
			}
			mean := func(of func(*measured) float64) Cell {
				return CellOf(meanOfRuns(slices.DeleteFunc(each(list, of), math.IsNaN)))
			}
			row := LiveRow{
				Workload: workload, Model: model, Runs: len(list), SavesPct: none, PredictedS: none, ErrorPct: none,
				CompletionS:  mean(func(m *measured) float64 { return m.seconds }),
				TurnaroundS:  mean(func(m *measured) float64 { return m.turnaround }),
				MasterS:      mean(func(m *measured) float64 { return m.master }),
				DecisionMs:   mean(func(m *measured) float64 { return m.decisionMs }),
				CachePct:     rate(func(m *measured) stats.Share { return m.cache }),
				LocalPct:     rate(func(m *measured) stats.Share { return m.local }),
				AdherencePct: rate(func(m *measured) stats.Share { return m.adherence }),
			}
			notes := map[string][]float64{} // a repeat that did not note a figure says nothing of it
			for _, m := range list {
				for name, x := range m.Trial.Notes {
					notes[name] = append(notes[name], x)
				}
			}
			for name, xs := range notes {
				if row.Notes == nil {
					row.Notes = map[string]Cell{}
				}
				row.Notes[name] = CellOf(meanOfRuns(xs))
			}
			for _, x := range metrics {
				if row.Metrics == nil {
					row.Metrics = map[string]Cell{}
				}
				row.Metrics[x.Name] = mean(func(m *measured) float64 { return x.Of(m.figures) })
			}
			if model != models[0] {
				row.SavesPct = CellOf(t.Saved(workload, models[0], model))
			}
			row.predict(predicted)
			t.Rows = append(t.Rows, row)
		}
	}
}

// predict adds to a row of the table the mean of the completion times that
// replays predict for the row's workload and scheduler model.
func (r *LiveRow) predict(p *fidelity.Report) {
	if p == nil {
		return
	}
	for _, own := range p.Own {
		if own.Workload != r.Workload || own.Model != r.Model {
			continue
		}
		var seconds []float64
		for _, t := range own.Trials {
			seconds = append(seconds, t.PredictedMs/1000)
		}
		r.PredictedS = CellOf(stats.Mean(seconds))
		r.ErrorPct = Cell{own.MeanAbsErrorPct, own.CI95Pct}
		for _, m := range own.Metrics {
			if r.Replayed == nil {
				r.Replayed = map[string]Cell{}
			}
			nan := compare.Number(math.NaN())
			r.Replayed[m.Metric] = Cell{m.Predicted, compare.Interval{float64(nan), float64(nan)}}
		}
	}
}

// Remarks returns what is to be said below the table: where the input was, what
// the models note of themselves, and what the paper's explanation says.
func (t *LiveTable) Remarks() []string {
	var list []string
	for _, workload := range slices.Sorted(maps.Keys(t.Splits)) {
		var nodes []string
		for _, n := range slices.Sorted(maps.Keys(t.Splits[workload])) {
			nodes = append(nodes, fmt.Sprintf("%s %d", n, t.Splits[workload][n]))
		}
		if len(nodes) > 0 {
			list = append(list, fmt.Sprintf("maps of %s with their block on a node: %s", workload, strings.Join(nodes, ", ")))
		}
	}
	for _, r := range t.Rows {
		var notes []string
		for _, name := range slices.Sorted(maps.Keys(r.Notes)) {
			notes = append(notes, name+" "+r.Notes[name].String())
		}
		if len(notes) > 0 {
			list = append(list, fmt.Sprintf("%s, %s at the end of a trial: %s", r.Workload, r.Model, strings.Join(notes, ", ")))
		}
	}
	return append(list, t.Notes...)
}

// Scaled returns plus + times·x of a mean x over so many runs.
func (c Cell) Scaled(plus, times float64, runs int) stats.Estimate {
	a, b := plus+float64(times*c.CI95[0]), plus+float64(times*c.CI95[1])
	return stats.Estimate{Value: plus + float64(times*float64(c.Value)), Lo: min(a, b), Hi: max(a, b), N: runs}
}

// Over is the mean of a figure over workloads; of one workload, that over its runs.
func Over(workloads []stats.Estimate) stats.Estimate {
	if len(workloads) == 1 {
		return workloads[0]
	}
	var xs []float64
	for _, e := range workloads {
		xs = append(xs, e.Value)
	}
	return stats.Mean(xs)
}

// Less is by how much a figure of two models is less for the second, over the workloads of
// both. Of one workload, the two intervals are of runs that have nothing to do with each other.
func Less(a, b []stats.Estimate, figure func(stats.Estimate) stats.Estimate) stats.Estimate {
	var by []stats.Estimate
	for i := range min(len(a), len(b)) {
		x, y := figure(a[i]), figure(b[i])
		half := math.Hypot((x.Hi-x.Lo)/2, (y.Hi-y.Lo)/2)
		by = append(by, stats.Estimate{Value: x.Value - y.Value, Lo: x.Value - y.Value - half, Hi: x.Value - y.Value + half, N: min(x.N, y.N)})
	}
	return Over(by)
}
