package doc

import (
	"math"
	"slices"
)

// Chart is a figure as data: a row of points for each thing that is compared. Only
// pages draw it; the other forms have its numbers in tables.
type Chart struct {
	Name, Title string
	Unit        string
	Y           string // what the points are, such as "share of jobs"; it may be empty
	X           string // what differs between the columns, such as "block size"
	Kind        ChartKind
	Columns     []string
	// At has the place of each column on the horizontal axis, for Curves and Steps.
	At []float64
	// Log says that the horizontal axis is logarithmic.
	Log  bool
	Rows []ChartRow
	// Text stands below the picture and says how to read it.
	Text string
	// Numbers has the chart's numbers as a table, for readers who do not see pictures.
	// Without it, one is made of the rows, unless Tabled says that the document has
	// such a table beside the chart.
	Numbers *Table
	Tabled  bool
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
	Points []Point // one for each column, or for each place of At
	// At has the places of the row's points, if they are not those of the chart's
	// columns.
	At []float64
	// Published are the numbers that somebody else states, one for each column; one that
	// is not a number is not stated. There may be none.
	Published []float64
	// Look numbers, from 1, the colours, dashes and shapes that rows can have, so that
	// the same thing looks the same in all charts of a document. 0 means the row's own
	// number.
	Look int
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

// look returns the number, from 0, of how row i looks.
func (c *Chart) look(i int) int {
	if l := c.Rows[i].Look; l > 0 {
		return l - 1
	}
	return i
}

// at returns the places of a row's points on the horizontal axis.
func (c *Chart) at(row *ChartRow) []float64 {
	if row.At != nil {
		return row.At
	}
	return c.At
}

// curves reports whether the columns have places on an axis of numbers.
func (c *Chart) curves() bool { return c.Kind == Curves || c.Kind == Steps }

// numbers returns the table that says in numbers what the chart shows.
func (c *Chart) numbers() *Table {
	if c.Numbers != nil || c.Tabled || c.curves() {
		return c.Numbers
	}
	t := &Table{Name: c.Name, Columns: append([]string{c.X}, c.Columns...)}
	for i := range c.Rows {
		row := &c.Rows[i]
		cells := []Cell{Words(row.Name)}
		for _, p := range row.Points {
			cells = append(cells, p.cell(c.Unit))
		}
		t.Rows = append(t.Rows, cells)
		if len(row.Published) == 0 {
			continue
		}
		cells = []Cell{Words(row.Name + ", published")}
		for _, v := range row.Published {
			cells = append(cells, Number(v, c.Unit).Short())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// cell returns the point as a cell of a table.
func (p Point) cell(unit string) Cell {
	if !p.bounded() || p.Lo == p.Hi {
		return Number(p.Value, unit).Short()
	}
	return Estimate(p.Value, p.Lo, p.Hi, unit).Short()
}

// axis is a scale of numbers from low to high, with a line at each multiple of step, or
// of logarithms, with lines at 1, 2 and 5 times the powers of ten.
type axis struct {
	low, high, step float64
	log             bool
}

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
	return axis{math.Floor(low/step) * step, math.Ceil(high/step) * step, step, false}
}

// logAxis returns the scale of logarithms that has room for all numbers of a list that
// are above 0.
func logAxis(list []float64) axis {
	list = slices.DeleteFunc(slices.Clone(list), func(x float64) bool { return !drawn(x) || x <= 1e-9 })
	if len(list) == 0 {
		list = []float64{1}
	}
	nice := logTicks(slices.Min(list)/5, slices.Max(list)*5)
	low := nice[0]
	for _, v := range nice {
		if v <= slices.Min(list) {
			low = v
		}
	}
	high := nice[slices.IndexFunc(nice, func(v float64) bool { return v >= slices.Max(list) && v > low })]
	return axis{low: low, high: high, log: true}
}

// logTicks returns 1, 2 and 5 times the powers of ten that lie between two numbers.
func logTicks(from, to float64) (list []float64) {
	for power := math.Pow(10, math.Floor(math.Log10(from))); power <= to; power *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * power; v >= from*(1-1e-9) && v <= to*(1+1e-9) {
				list = append(list, v)
			}
		}
	}
	return list
}

// share returns where x is on the scale, from 0 to 1.
func (a axis) share(x float64) float64 {
	if a.log {
		return math.Log(max(x, a.low)/a.low) / math.Log(a.high/a.low)
	}
	return (x - a.low) / (a.high - a.low)
}

// mostTicks is how many numbers a logarithmic scale has.
const mostTicks = 9

// ticks returns the numbers that are marked on the scale.
func (a axis) ticks() (list []float64) {
	if a.log {
		list = logTicks(a.low, a.high)
		if len(list) <= mostTicks {
			return list
		}
		// powers of ten alone
		list = slices.DeleteFunc(list, func(v float64) bool { l := math.Log10(v); return math.Abs(l-math.Round(l)) > 1e-6 })
		each := (len(list) + mostTicks - 1) / mostTicks
		var some []float64
		for i := 0; i < len(list); i += each {
			some = append(some, list[i])
		}
		return some
	}
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
