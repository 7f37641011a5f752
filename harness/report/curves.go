package report

import (
	"fmt"
	"math"
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
		var values []float64
		for _, r := range repeats {
			for _, ms := range r.At(level).Ms() {
				values = append(values, ms/1000)
			}
		}
		if c := compare.NewCurve(workload, level.String(), "times of maps", "s", values); len(c.Values) > 0 {
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

// shown are the percentages of which the table beside a chart has the values.
var shown = []float64{0, 10, 25, 50, 75, 90, 95, 99, 100}

// chart draws the distributions of one property.
func chart(title string, curves []compare.Curve, look func(string) int) *doc.Chart {
	c := &doc.Chart{
		Name: title, Title: title, Y: "share", Unit: "%", X: curves[0].Unit, Kind: doc.Steps,
		Text: "Each curve has the values of all repeats.",
	}
	c.Numbers = doc.NewTable(title, "", "values")
	for _, p := range shown {
		c.Numbers.Columns = append(c.Numbers.Columns, named(p))
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, x := range curves {
		row := doc.ChartRow{Name: x.Model, Look: look(x.Model), At: x.Values}
		for _, p := range x.Percents {
			row.Points = append(row.Points, doc.Point{Value: p, Lo: math.Inf(-1), Hi: math.Inf(1)})
		}
		least, most = min(least, x.Values[0]), max(most, x.Values[len(x.Values)-1])
		cells := []any{x.Model, x.Count}
		for _, p := range shown {
			i := slices.Index(x.Percents, p)
			cells = append(cells, doc.Known(i >= 0, doc.Number(x.Values[max(i, 0)], x.Unit)))
		}
		c.Numbers.Add(cells...)
		c.Rows = append(c.Rows, row)
		if len(x.Percents) < len(shown) {
			c.Text = "Only some percentiles are known: the run keeps figures and no traces."
		}
	}
	c.Log = least > 0 && most > mostLinear*least
	return c
}

// mostLinear is how many times larger than the smallest value the largest may be on an
// axis that is not logarithmic.
const mostLinear = 60

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
