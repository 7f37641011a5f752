package doc

import (
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

// Chart is a figure as data: a row of points for each thing that is compared, with a
// point in each column. Only pages draw it; the other forms have its numbers in
// tables.
type Chart struct {
	Name, Title string
	Unit        string
	X           string // what differs between the columns, such as "block size"
	Kind        ChartKind
	Columns     []string
	// At has the place of each column on the horizontal axis, for Curves and Steps.
	At   []float64
	Rows []ChartRow
}

// ChartKind says how the points of a chart are drawn.
type ChartKind uint8

// Kinds of chart.
const (
	Lines  ChartKind = iota // columns have an order, such as sizes: a row's points are joined
	Bars                    // columns have none, such as programs: nothing joins them
	Curves                  // many columns with places on an axis: a line with a band for its interval
	Steps                   // like Curves, for shares that jump, such as a distribution
)

// ChartRow is one of the things that a chart compares.
type ChartRow struct {
	Name   string
	Points []Point // one for each column
	// Published are the numbers that somebody else states, one for each column; one that
	// is not a number is not stated. There may be none.
	Published []float64
}

// Point is a value with the bounds of its interval. The bounds are infinite if
// there are none, and a value that is infinite or not a number is not drawn.
type Point struct{ Value, Lo, Hi float64 }

// Forest compares effects with no effect and with what was asked for, one below the
// other. The effects may have different units: each row has a scale of its own, and
// all rows have "no effect" at the same place.
type Forest struct {
	Name, Title string
	Rows        []ForestRow
}

// ForestRow is one effect. Asked, Published and the values of Room are not numbers if
// there is none.
type ForestRow struct {
	Name, Unit       string
	Ours             Point
	None             float64 // the value of no effect, such as 0, or 1 of a ratio
	Asked, Published float64
	Most             float64 // end of what is asked, if above Asked: then None is in the middle
	Room             Point   // the largest effect that there can be
	Verdict          string
	Tone             Tone
}

// Heat is a table of words in which the tone of a cell is its background, so that
// many cells are seen at once. What a cell stands for in full is shown when a reader
// points at it, and is in a table beside.
type Heat struct {
	Name    string
	Columns []string
	Rows    []HeatRow
}

// HeatRow is a row of a Heat. An inner row belongs to the row above it.
type HeatRow struct {
	Name  string
	Inner bool
	Cells []HeatCell
}

// HeatCell is a cell of a Heat.
type HeatCell struct {
	Words, Detail string
	Tone          Tone
}

func (*Chart) part()  {}
func (*Forest) part() {}
func (*Heat) part()   {}

// picture reports whether a part of a document is drawn on pages alone.
func picture(p Part) bool {
	switch p.(type) {
	case *Chart, *Forest, *Heat:
		return true
	}
	return false
}

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

// axis is a scale of numbers from low to high, with a line at each multiple of step.
type axis struct{ low, high, step float64 }

// axisOf returns the scale that has room for all numbers of a list that can be drawn.
// With zero set it begins or ends at 0 if nothing lies beyond.
func axisOf(list []float64, zero bool) axis {
	list = slices.DeleteFunc(slices.Clone(list), func(x float64) bool { return !drawn(x) })
	if zero || len(list) == 0 {
		list = append(list, 0)
	}
	low, high := slices.Min(list), slices.Max(list)
	if high-low < 1e-300 { // all values are the same, or as good as
		high = low + 1
	}
	step := niceStep(high - low)
	return axis{math.Floor(low/step) * step, math.Ceil(high/step) * step, step}
}

// share returns where x is on the scale, from 0 to 1.
func (a axis) share(x float64) float64 { return (x - a.low) / (a.high - a.low) }

// ticks returns the multiples of the step on the scale.
func (a axis) ticks() (list []float64) {
	for v := a.low; v <= a.high+a.step/2; v += a.step {
		list = append(list, math.Round(v/a.step)*a.step)
	}
	return list
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

// html returns the table of a Heat as HTML, with all words escaped.
func (h *Heat) html() template.HTML {
	var out strings.Builder
	_ = heat.Execute(&out, h) // a strings.Builder takes all that is written
	return template.HTML(out.String())
}
