package compare

import (
	"math"
	"slices"

	"heddle/harness/measure"
	"heddle/harness/stats"
)

// Curve is the distribution of a property, such as the completion time of jobs, in one
// workload under one scheduler model: of all repeats together.
type Curve struct {
	Workload, Model string
	What, Unit      string
	// Percents are shares of values, in percent, and Values[i] the value that Percents[i]
	// of them do not exceed. Of figures without single jobs only some are known.
	Percents, Values []float64
	Count            int // number of values
}

// keptPercents are the percentiles that summaries of figures keep.
var keptPercents = []float64{50, 90, 95, 99, 100}

// NewCurve returns the curve of some values. It has no Values if there are none.
func NewCurve(workload, model, what, unit string, values []float64) Curve {
	c := Curve{Workload: workload, Model: model, What: what, Unit: unit, Count: len(values)}
	slices.Sort(values)
	for p := 0.0; p <= 100 && len(values) > 0; p++ {
		c.Percents, c.Values = append(c.Percents, p), append(c.Values, values[max(1, int(math.Ceil(p/100*float64(len(values)))))-1])
	}
	return c
}

// Curves returns the distributions of properties of jobs: for each workload and
// property, one for each model that has jobs with this property.
func (r *Report) Curves() (list []Curve) {
	for _, workload := range r.Workloads() {
		trials := only(r.trials, workload)
		for _, p := range measure.JobProperties() {
			for _, model := range modelsOf(trials) {
				if c := curveOf(workload, model, p, distinct(under(trials, model))); len(c.Values) > 0 {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// curveOf returns the distribution of a property in the trials of one model. Trials
// whose figures are a summary have only percentiles, of which it has the medians.
func curveOf(workload, model string, p *measure.Property, trials []trial) Curve {
	var values []float64
	kept := make([][]float64, len(keptPercents))
	count := 0
	for _, t := range trials {
		for _, f := range t.figures {
			values = append(values, p.Values(f)...)
		}
		if d := p.Spread(t.figures[0]); d.Count > 0 && len(t.figures) == 1 {
			count += d.Count
			for i, v := range []float64{d.P50, d.P90, d.P95, d.P99, d.Max} {
				kept[i] = append(kept[i], v)
			}
		}
	}
	c := NewCurve(workload, model, p.Title, p.Unit, values)
	if len(values) == 0 && count > 0 {
		c.Count, c.Percents = count, keptPercents
		c.Values = mapped(kept, func(list []float64) float64 { return stats.Quantile(list, 0.5) })
	}
	return c
}

// Workloads returns the names of the workloads, sorted.
func (r *Report) Workloads() []string { return workloadsOf(r.trials) }

func workloadsOf(trials []trial) []string {
	names := mapped(trials, func(t trial) string { return t.workload })
	slices.Sort(names)
	return slices.Compact(names)
}

// AllModels returns the scheduler models of all trials, in the order of tables.
func (r *Report) AllModels() []string { return modelsOf(r.trials) }
