package report

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
)

// mapCurves are the distributions of map times under one model, one for each locality.
type mapCurves struct {
	workload, model string
	curves          []compare.Curve
}

// addMaps keeps the distributions of the map times of a model's trials.
func (p *page) addMaps(workload, model string, repeats []*measure.MapTimes) {
	m := mapCurves{workload: workload, model: model}
	for _, level := range levels {
		var values [][]float64
		for _, r := range repeats {
			list := r.At(level).Ms()
			for i := range list {
				list[i] /= 1000
			}
			values = append(values, list)
		}
		if c := compare.NewCurve(workload, level.String(), "times of maps", "s", values); len(c.Median) > 0 {
			m.curves = append(m.curves, c)
		}
	}
	if len(m.curves) > 0 {
		p.maps = append(p.maps, m)
	}
}

// mostMapCharts is how many charts of map times a page has.
const mostMapCharts = 12

// distributions has the charts of distributions: of jobs for each workload, with a curve
// for each model, and of map times for each model, with a curve for each locality.
func (p *page) distributions() doc.Doc {
	var workloads []string
	for _, c := range p.curves {
		if !slices.Contains(workloads, c.Workload) {
			workloads = append(workloads, c.Workload)
		}
	}
	var d doc.Doc
	for _, w := range workloads {
		if len(workloads) > 1 {
			d = append(d, doc.Subheading(w))
		}
		for _, property := range append(measure.JobProperties(), measure.SizeProperties()...) {
			of := slices.DeleteFunc(slices.Clone(p.curves), func(c compare.Curve) bool { return c.Workload != w || c.What != property.Title })
			if len(of) > 0 {
				d = append(d, chart(capital(property.Title), of, func(model string) int { return slices.Index(p.models, model) + 1 }))
			}
		}
		for i, m := range p.maps {
			if m.workload == w && i < mostMapCharts {
				d = append(d, chart("Times of maps under "+m.model+", by locality", m.curves, lookOf))
			}
		}
	}
	if len(d) == 0 {
		return nil
	}
	if n := len(p.maps); n > mostMapCharts {
		d = append(d, doc.Notes{fmt.Sprintf("map times of %d more models and workloads are left out", n-mostMapCharts)})
	}
	return append(doc.Doc{doc.Heading("Distributions")}, d...)
}

// lookOf gives each locality the colour that it has in the timeline.
func lookOf(level string) int {
	return map[string]int{"cache": doc.LookCache, "node": doc.LookNode, "rack": doc.LookRack, "off": doc.LookOff}[level]
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// mostThin is how many repeats of a model a chart draws.
const mostThin = 12

// shown are the percentages of which the table beside a chart has the values.
var shown = []float64{0, 10, 25, 50, 75, 90, 95, 99, 100}

// chart draws the distributions of one property: the median over repeats as a thick line,
// and the repeats as thin ones.
func chart(title string, curves []compare.Curve, look func(string) int) *doc.Chart {
	c := &doc.Chart{Name: title, Title: title, Y: "share", Unit: "%", X: curves[0].Unit, Kind: doc.Steps}
	numbers := &doc.Table{Name: title, Columns: []string{"", "values"}}
	for _, p := range shown {
		numbers.Columns = append(numbers.Columns, named(p))
	}
	least, most := curves[0].Median[0], curves[0].Median[0]
	pooled, repeats, some, parts := 0, 0, false, false
	for _, x := range curves {
		row := doc.ChartRow{Name: x.Model, Look: look(x.Model)}
		var cells []doc.Cell
		for i, v := range x.Median {
			row.At, row.Points = append(row.At, v), append(row.Points, point(x.Percents[i]))
			least, most = min(least, v), max(most, v)
		}
		for _, p := range shown {
			if i := slices.Index(x.Percents, p); i >= 0 {
				cells = append(cells, doc.Number(x.Median[i], x.Unit))
			} else {
				cells = append(cells, doc.Words("-"))
			}
		}
		numbers.Add(append([]doc.Cell{doc.Words(x.Model), doc.Count(x.Count)}, cells...)...)
		if x.Pooled {
			pooled++
		}
		parts = parts || len(x.Percents) < len(shown)
		if len(x.Repeats) > 1 {
			repeats, some = max(repeats, len(x.Repeats)), some || len(x.Repeats) > mostThin
			for _, list := range x.Repeats[:min(len(x.Repeats), mostThin)] {
				c.Rows = append(c.Rows, thin(&x, list, row.Look))
			}
		}
		c.Rows = append(c.Rows, row)
	}
	c.Numbers, c.Log = numbers, least > 0 && most > mostLinear*least
	switch {
	case repeats > 1:
		c.Text = fmt.Sprintf("Thick: the median of up to %d repeats. Thin: single repeats.", repeats)
		if some {
			c.Text = fmt.Sprintf("Thick: the median of up to %d repeats. Thin: the first %d of them.", repeats, mostThin)
		}
	case pooled > 0:
		c.Text = "Each trial has one value: a curve has those of all repeats."
	}
	if parts {
		c.Text = strings.TrimSpace(c.Text + " Only some percentiles are known: the run keeps figures and no traces.")
	}
	return c
}

// mostLinear is how many times larger than the smallest value the largest may be on an
// axis that is not logarithmic.
const mostLinear = 60

// thin draws one repeat, with half of the points.
func thin(x *compare.Curve, values []float64, look int) doc.ChartRow {
	row := doc.ChartRow{Name: x.Model, Look: look, Thin: true}
	for i, v := range values {
		if i%2 == 0 || len(values) < len(shown) {
			row.At, row.Points = append(row.At, v), append(row.Points, point(x.Percents[i]))
		}
	}
	return row
}

func named(percent float64) string {
	switch percent {
	case 0:
		return "least"
	case 50:
		return "median"
	case 100:
		return "most"
	}
	return fmt.Sprintf("%g %%", percent)
}
