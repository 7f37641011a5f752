package paper

import (
	"math"
	"slices"
	"strings"

	"heddle/harness/stats"
)

// Kind says how a figure's data is to be drawn.
type Kind string

// Kinds of figures. Line and Bars have a cell for each column of a design; of Bars
// the columns are categories, which no line joins. Series and CDF have a row for
// each scheduler in each column of the design. Figure.At says where their cells are
// on the x axis: Series shows values inside a run, such as the load over time; CDF
// shows the share of values that are not above x, in percent.
const (
	Line   Kind = "line"
	Bars   Kind = "bars"
	Series Kind = "series"
	CDF    Kind = "cdf"
	Points Kind = "points" // a Line whose columns are the few points of the first scheduler's series in the first column
)

// Point is a value of a series: Y at the time or index X.
type Point = stats.Point

// gridPoints is the number of points at which a series or a distribution is shown.
const gridPoints = 61

// follow fills a figure of kind Series or CDF: on one grid for all its rows, with
// the mean over seeds at each point.
func (f *Figure) follow(p *Part, g *Grid) {
	columns := f.Columns
	f.X, f.Columns = p.X, nil
	var names []string
	var runs [][]func(float64) float64 // a function for each seed of each row
	from, to := math.Inf(-1), math.Inf(1)
	if p.Kind == CDF {
		from, to = to, from
	}
	for _, label := range p.Schedulers {
		for k, trials := range g.at(label, nil) {
			name, row := label, []func(float64) float64{}
			if len(columns) > 1 {
				name += ", " + columns[k]
			}
			for i := range trials {
				if points := trials[i].Series[p.Of]; p.Kind == Series && len(points) > 0 {
					from, to = max(from, points[0].X), min(to, points[len(points)-1].X)
					row = append(row, func(x float64) float64 { return valueAt(points, x) })
				}
				if sorted := slices.Sorted(slices.Values(trials[i].Samples[p.Of])); p.Kind == CDF && len(sorted) > 0 {
					from, to = min(from, sorted[0]), max(to, sorted[len(sorted)-1])
					row = append(row, func(x float64) float64 { return 100 * shareUpTo(sorted, x) })
				}
			}
			names, runs = append(names, name), append(runs, row)
		}
	}
	if !(from <= to) || math.IsInf(from, 0) || math.IsInf(to, 0) {
		f.Notes = append(slices.Clone(f.Notes), "No point is in the series of all seeds.")
		return
	}
	for i := range gridPoints {
		x := from + (to-from)*float64(i)/(gridPoints-1)
		f.At, f.Columns = append(f.At, x), append(f.Columns, strings.TrimSuffix(number(x), ".00"))
	}
	for i, name := range names {
		row := FigureRow{Name: name}
		for _, x := range f.At {
			row.Cells = append(row.Cells, CellOf(stats.Mean(each(runs[i], func(at *func(float64) float64) float64 { return (*at)(x) }))))
		}
		f.Rows = append(f.Rows, row)
	}
}

// valueAt returns the value of a series at x, on a straight line between its points.
func valueAt(points []Point, x float64) float64 {
	i, _ := slices.BinarySearchFunc(points, x, func(p Point, x float64) int {
		if p.X < x {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return points[0].Y
	case i == len(points):
		return points[i-1].Y
	}
	a, b := points[i-1], points[i]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}

// shareUpTo returns the share of sorted values that are not above x.
func shareUpTo(sorted []float64, x float64) float64 {
	i, _ := slices.BinarySearchFunc(sorted, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	return float64(i) / float64(len(sorted))
}
