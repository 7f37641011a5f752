package doc

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"heddle/traces/printable"
)

// Chart is a figure as data: a line for each row, with a point and its interval in
// each column. Only pages draw it; the other forms have its numbers in tables.
type Chart struct {
	Name, Title string
	Unit        string
	X           string // what differs between the columns, such as "block size"
	Columns     []string
	Rows        []ChartRow
}

// ChartRow is one line of a chart.
type ChartRow struct {
	Name   string
	Points []Point // one for each column
}

// Point is a value with the bounds of its interval. The bounds are infinite if
// there are none, and a value that is infinite or not a number is not drawn.
type Point struct{ Value, Lo, Hi float64 }

func (*Chart) part() {}

// bounded reports whether the point's interval can be drawn.
func (p Point) bounded() bool { return drawn(p.Lo) && drawn(p.Hi) }

// drawn reports whether a number has a place on an axis: it is a number, and so far
// from the largest that spans can be computed.
func drawn(x float64) bool { return math.Abs(x) < 1e300 }

// WriteSVG draws a chart as a picture for a file of its own.
func WriteSVG(out io.Writer, c *Chart) error {
	_, err := io.WriteString(out, strings.Replace(c.svg(), "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)+"\n")
	return err
}

// Sizes of a chart in the units of the SVG image.
const (
	chartWidth, chartHeight = 720.0, 300.0
	leftMargin, baseline    = 50.0, 260.0
	plotWidth, plotHeight   = 500.0, 240.0
)

// The colours of the lines in a chart, one for each row. Most
// colour-blind readers can distinguish them too.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222", "#999999", "#7a5195", "#b5cf6b", "#8c564b", "#2f4b7c"}

// svg returns the chart as an SVG image.
func (c *Chart) svg() string {
	low, high := 0.0, 0.0
	for _, row := range c.Rows {
		for _, p := range row.Points {
			if x := p.Value; drawn(x) {
				low, high = min(low, x), max(high, x)
			}
			if p.bounded() {
				low, high = min(low, p.Lo), max(high, p.Hi)
			}
		}
	}
	if high-low < 1e-300 { // all values are 0, or as good as
		high = 1
	}
	step := niceStep(high - low)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	y := func(v float64) float64 { return baseline - plotHeight*(v-low)/(high-low) }
	x := func(column, row int) float64 {
		each := plotWidth / float64(len(c.Columns))
		aside := (float64(row) - float64(len(c.Rows)-1)/2) * min(6, each/float64(2*len(c.Rows)))
		return leftMargin + each*(float64(column)+0.5) + aside
	}
	var s strings.Builder
	esc := func(name string) string { return template.HTMLEscapeString(printable.Line(name)) }
	fmt.Fprintf(&s, `<svg viewBox="0 0 %g %g" width="%g" role="img" font-size="11" font-family="sans-serif"><title>%s</title>`, chartWidth, chartHeight, chartWidth, esc(c.Title))
	for v := low; v <= high+step/2; v += step {
		fmt.Fprintf(&s, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`,
			leftMargin, leftMargin+plotWidth, y(v), y(v), leftMargin-5, y(v)+4, math.Round(v/step)*step)
	}
	for k, column := range c.Columns {
		fmt.Fprintf(&s, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, leftMargin+plotWidth/float64(len(c.Columns))*(float64(k)+0.5), baseline+16, esc(column))
	}
	fmt.Fprintf(&s, `<text x="%g" y="%g" text-anchor="middle">%s</text>`, leftMargin+plotWidth/2, baseline+34, esc(c.X))
	for i, row := range c.Rows {
		colour := colours[i%len(colours)]
		var points []string
		for k, p := range row.Points {
			v := p.Value
			if !drawn(v) {
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(k, i), y(v)))
			if p.bounded() {
				fmt.Fprintf(&s, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/>`, x(k, i), x(k, i), y(p.Lo), y(p.Hi), colour)
			}
			fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(k, i), y(v), colour)
		}
		fmt.Fprintf(&s, `<polyline points="%s" fill="none" stroke="%s" stroke-opacity=".6"/>`, strings.Join(points, " "), colour)
		fmt.Fprintf(&s, `<rect x="%g" y="%d" width="10" height="10" fill="%s"/><text x="%g" y="%d">%s</text>`, leftMargin+plotWidth+12, 20+16*i, colour, leftMargin+plotWidth+27, 29+16*i, esc(row.Name))
	}
	s.WriteString("</svg>")
	return s.String()
}

// niceStep returns the distance between a chart's grid lines: 1, 2 or 5 times a
// power of ten.
func niceStep(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{1, 2, 5} {
		if span/(m*power) <= 6 {
			return m * power
		}
	}
	return 10 * power
}
