package compare

import (
	"maps"
	"math"
	"slices"

	"heddle/harness/measure"
	"heddle/harness/stats"
)

// Curve is the distribution of a property, such as the completion time of jobs, in one
// workload under one scheduler model.
type Curve struct {
	Workload, Model string
	What, Unit      string
	// Percents are the shares of values, in percent, and Median[i] the value that
	// Percents[i] of them do not exceed: the median over repeats. Repeats has the same of
	// each repeat.
	Percents, Median []float64
	Repeats          [][]float64
	// Pooled says that each repeat has one value only, so that the curve is that of all
	// repeats together.
	Pooled bool
	// Count is the number of values of a repeat, in the mean, or of all if they are pooled.
	Count int
}

// percents are the shares at which distributions are known: all, or those of the
// percentiles that summaries of figures keep.
var (
	percents = func() (list []float64) {
		for p := 0; p <= 100; p++ {
			list = append(list, float64(p))
		}
		return list
	}()
	keptPercents = []float64{50, 90, 95, 99, 100}
)

// NewCurve returns the curve of the values of each repeat. Repeats without values are
// left out.
func NewCurve(workload, model, what, unit string, repeats [][]float64) Curve {
	c := Curve{Workload: workload, Model: model, What: what, Unit: unit, Percents: percents}
	repeats = slices.DeleteFunc(slices.Clone(repeats), func(values []float64) bool { return len(values) == 0 })
	single := func(values []float64) bool { return len(values) > 1 }
	if len(repeats) > 1 && !slices.ContainsFunc(repeats, single) {
		repeats, c.Pooled = [][]float64{slices.Concat(repeats...)}, true
	}
	for _, values := range repeats {
		slices.Sort(values)
		var list []float64
		for _, p := range c.Percents {
			list = append(list, values[max(1, int(math.Ceil(p/100*float64(len(values)))))-1])
		}
		c.Repeats, c.Count = append(c.Repeats, list), c.Count+len(values)
	}
	c.end()
	return c
}

// end sets the median of the repeats.
func (c *Curve) end() {
	if n := len(c.Repeats); n > 0 {
		c.Count /= n
		for i := range c.Percents {
			c.Median = append(c.Median, stats.Quantile(mapped(c.Repeats, func(list []float64) float64 { return list[i] }), 0.5))
		}
	}
	if c.Pooled {
		c.Repeats = nil
	}
}

// Curves returns the distributions of properties of jobs: for each workload and
// property, one for each model that has jobs with this property.
func (r *Report) Curves() (list []Curve) {
	for _, workload := range r.Workloads() {
		trials := only(r.trials, workload)
		for _, p := range measure.JobProperties() {
			for _, model := range modelsOf(trials) {
				of := distinct(slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return t.model != model }))
				if c := curveOf(workload, model, p, of); len(c.Median) > 0 {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// curveOf returns the distribution of a property in the trials of one model. Trials
// whose figures are a summary have only percentiles.
func curveOf(workload, model string, p *measure.Property, trials []trial) Curve {
	var repeats [][]float64
	for _, t := range trials {
		var values []float64
		for _, f := range t.figures {
			values = append(values, p.Values(f)...)
		}
		repeats = append(repeats, values)
	}
	if c := NewCurve(workload, model, p.Title, p.Unit, repeats); len(c.Median) > 0 {
		return c
	}
	c := Curve{Workload: workload, Model: model, What: p.Title, Unit: p.Unit, Percents: keptPercents}
	for _, t := range trials {
		if d := p.Spread(t.figures[0]); d.Count > 0 && len(t.figures) == 1 {
			c.Repeats, c.Count = append(c.Repeats, []float64{d.P50, d.P90, d.P95, d.P99, d.Max}), c.Count+d.Count
		}
	}
	c.end()
	return c
}

// Workloads returns the names of the workloads, sorted.
func (r *Report) Workloads() []string {
	names := map[string]bool{}
	for _, t := range r.trials {
		names[t.workload] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// AllModels returns the scheduler models of all trials, in the order of tables.
func (r *Report) AllModels() []string { return modelsOf(r.trials) }
