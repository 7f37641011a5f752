package doc

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/traces/printable"
)

// Sizes of a chart in the units of the SVG image. The image grows below the plot for
// long names of columns, and to the right for those of rows.
const (
	leftMargin, topMargin = 56.0, 20.0
	plotWidth, plotHeight = 560.0, 240.0
	baseline              = topMargin + plotHeight
	letter                = 6.0 // about the width of a letter
)

// colours of rows. Most colour-blind readers can distinguish them too, and shapes of
// points repeat only where the colours do not.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"}

const shapes = 4 // of points

// canvas is an SVG image that is being drawn.
type canvas struct{ strings.Builder }

func (s *canvas) add(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// escaped returns a text as it may stand in an image.
func escaped(text string) string { return template.HTMLEscapeString(printable.Line(text)) }

// short returns a text of at most so many letters.
func short(text string, most int) string {
	if r := []rune(text); len(r) > most && most > 1 {
		return string(r[:most-1]) + "…"
	}
	return text
}

func (s *canvas) text(x, y float64, anchor, text string) {
	s.add(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escaped(text))
}

func (s *canvas) line(x1, y1, x2, y2 float64, stroke string) {
	s.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x1, y1, x2, y2, stroke)
}

// point draws the point of a row: with the same colour, rows have different shapes.
func (s *canvas) point(x, y float64, row int) {
	colour := colours[row%len(colours)]
	switch row / len(colours) % shapes {
	case 0:
		s.add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, colour)
	case 1:
		s.add(`<rect x="%.1f" y="%.1f" width="6" height="6" fill="%s"/>`, x-3, y-3, colour)
	case 2:
		s.add(`<path d="M%.1f %.1fl4 7h-8z" fill="%s"/>`, x, y-4, colour)
	default:
		s.add(`<path d="M%.1f %.1fv8m-4 -4h8" stroke="%s" stroke-width="2"/>`, x, y-4, colour)
	}
}

// diamond marks a published number.
func (s *canvas) diamond(x, y float64, colour string) {
	s.add(`<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" fill="white" fill-opacity=".7" stroke="%s" stroke-width="1.5"/>`, x, y-5, colour)
}

// tick formats a number of an axis.
func tick(v float64) string {
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// svg returns the chart as an SVG image.
func (c *Chart) svg() string {
	var values, stated []float64
	for _, row := range c.Rows {
		for _, p := range row.Points {
			if values = append(values, p.Value); p.bounded() {
				values = append(values, p.Lo, p.Hi)
			}
		}
		stated = append(stated, row.Published...)
	}
	f := frame{Chart: c, y: axisOf(slices.Concat(values, stated), true)}
	published := slices.ContainsFunc(stated, drawn)
	if f.stated = f.y; published && farApart(values, stated) {
		f.y, f.stated, f.apart = axisOf(values, true), axisOf(stated, true), true
	}
	if c.curves() {
		f.x = axisOf(c.At, false)
	}
	longest := 0
	for _, row := range c.Rows {
		longest = max(longest, len([]rune(row.Name)))
	}
	if published {
		longest = max(longest, len("published, axis at the right"))
	}
	legend := math.Min(float64(min(longest, mostLegend))*letter+36, 300)
	if f.apart {
		legend += rightMargin
	}
	below := f.names()
	width, height := leftMargin+plotWidth+legend, math.Max(baseline+below+22, topMargin+16*float64(len(c.Rows)+2))
	f.add(`<svg viewBox="0 0 %.0f %.0f" width="%.0f" role="img" font-size="11" font-family="sans-serif" fill="#222"><title>%s</title>`, width, height, width, escaped(c.Title))
	f.grid(below)
	for i := range c.Rows {
		switch c.Kind {
		case Bars:
			f.bars(i)
		case Curves, Steps:
			f.curve(i)
		default:
			f.points(i)
		}
	}
	f.legend(published)
	f.WriteString("</svg>")
	return f.String()
}

const (
	mostLegend  = 44   // letters of a name in the legend
	rightMargin = 44.0 // for the numbers of an axis at the right
)

// farApart reports whether published numbers are so much larger or smaller than ours
// that one of them could not be read on the axis of the other.
func farApart(ours, stated []float64) bool {
	most := func(list []float64) (largest float64) {
		for _, x := range list {
			if drawn(x) {
				largest = max(largest, math.Abs(x))
			}
		}
		return largest
	}
	a, b := most(ours), most(stated)
	return a > 0 && b > 0 && (a > 3*b || b > 3*a)
}

// curves reports whether the columns have places on an axis of numbers.
func (c *Chart) curves() bool {
	return (c.Kind == Curves || c.Kind == Steps) && len(c.At) == len(c.Columns) && !slices.ContainsFunc(c.At, func(x float64) bool { return !drawn(x) })
}

// frame is a chart with its axes on a canvas.
type frame struct {
	canvas
	*Chart
	y, x axis // x is for curves alone
	// stated is the axis of published numbers: that of ours, or if these are far apart
	// one of its own at the right.
	stated axis
	apart  bool
}

// top returns the height of a value in the image.
func (f *frame) top(v float64) float64 { return baseline - plotHeight*f.y.share(v) }

// column returns the middle of column k in the image.
func (f *frame) column(k int) float64 {
	if f.curves() {
		return leftMargin + plotWidth*f.x.share(f.At[k])
	}
	return leftMargin + plotWidth/float64(len(f.Columns))*(float64(k)+0.5)
}

// names returns how much room the names of the columns need below the plot.
func (f *frame) names() float64 {
	if f.slanted() {
		longest := 0
		for _, name := range f.Columns {
			longest = max(longest, len([]rune(short(name, mostColumn))))
		}
		return 14 + float64(longest)*letter*0.6
	}
	return 18
}

const mostColumn = 30 // letters of a column's name

// slanted reports whether the columns' names are too long to stand side by side.
func (f *frame) slanted() bool {
	each := plotWidth / float64(max(1, len(f.Columns)))
	for _, name := range f.Columns {
		if !f.curves() && float64(len([]rune(name)))*letter > each-6 {
			return true
		}
	}
	return false
}

// grid draws the axes with their numbers and names.
func (f *frame) grid(below float64) {
	for _, v := range f.y.ticks() {
		f.line(leftMargin, f.top(v), leftMargin+plotWidth, f.top(v), "#ddd")
		f.text(leftMargin-5, f.top(v)+4, "end", tick(v))
	}
	f.line(leftMargin, f.top(max(f.y.low, min(0, f.y.high))), leftMargin+plotWidth, f.top(max(f.y.low, min(0, f.y.high))), "#888")
	if f.curves() {
		for _, v := range f.x.ticks() {
			x := leftMargin + plotWidth*f.x.share(v)
			f.line(x, baseline, x, baseline+4, "#888")
			f.text(x, baseline+16, "middle", tick(v))
		}
	} else {
		for k, name := range f.Columns {
			if f.slanted() {
				f.add(`<text transform="translate(%.1f %.1f) rotate(-35)" text-anchor="end">%s</text>`, f.column(k)+4, baseline+12, escaped(short(name, mostColumn)))
			} else {
				f.text(f.column(k), baseline+16, "middle", name)
			}
		}
	}
	f.text(leftMargin+plotWidth/2, baseline+below+16, "middle", f.X)
	if f.apart {
		for _, v := range f.stated.ticks() {
			f.add(`<text x="%.1f" y="%.1f" fill="#777">%s</text>`, leftMargin+plotWidth+6, baseline-plotHeight*f.stated.share(v)+4, tick(v))
		}
	}
}

// aside returns how far row i is beside the middle of its column, so that intervals
// do not hide each other.
func (f *frame) aside(i int, each float64) float64 {
	return (float64(i) - float64(len(f.Rows)-1)/2) * each
}

func (f *frame) interval(x float64, p Point, stroke string) {
	if p.bounded() {
		f.line(x, f.top(p.Lo), x, f.top(p.Hi), stroke)
	}
}

// points draws row i as points with their intervals, joined by a line.
func (f *frame) points(i int) {
	colour, row := colours[i%len(colours)], &f.Rows[i]
	each := min(6, plotWidth/float64(2*max(1, len(f.Columns))*len(f.Rows)))
	var line []string
	for k, p := range row.Points[:min(len(row.Points), len(f.Columns))] {
		if x := f.column(k) + f.aside(i, each); drawn(p.Value) {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x, f.top(p.Value)))
			f.interval(x, p, colour)
			f.point(x, f.top(p.Value), i)
		}
	}
	f.add(`<polyline points="%s" fill="none" stroke="%s" stroke-opacity=".6"%s/>`, strings.Join(line, " "), colour, dash(i))
	f.published(i, each)
}

// dash returns how the line of row i is broken, where its colour is that of an
// earlier row.
func dash(i int) string {
	if i < len(colours) {
		return ""
	}
	return fmt.Sprintf(` stroke-dasharray="%d 3"`, 2+3*(i/len(colours)%shapes))
}

// bars draws row i as a bar in each column.
func (f *frame) bars(i int) {
	colour, row := colours[i%len(colours)], &f.Rows[i]
	each := plotWidth * 0.8 / float64(max(1, len(f.Columns))*len(f.Rows))
	zero := f.top(max(f.y.low, min(0, f.y.high)))
	for k, p := range row.Points[:min(len(row.Points), len(f.Columns))] {
		if !drawn(p.Value) {
			continue
		}
		x, y := f.column(k)+f.aside(i, each), f.top(p.Value)
		f.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity=".75"/>`, x-each*0.45, min(y, zero), each*0.9, math.Abs(y-zero), colour)
		f.interval(x, p, "#222")
		if i >= len(colours) {
			f.point(x, y, i)
		}
	}
	f.published(i, each)
}

// curve draws row i as a line with a band for its interval.
func (f *frame) curve(i int) {
	colour, row := colours[i%len(colours)], &f.Rows[i]
	var line, upper, lower []string
	before := math.NaN()
	for k, p := range row.Points[:min(len(row.Points), len(f.Columns))] {
		if !drawn(p.Value) {
			continue
		}
		x := f.column(k)
		if f.Kind == Steps && drawn(before) {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x, f.top(before)))
		}
		line, before = append(line, fmt.Sprintf("%.1f,%.1f", x, f.top(p.Value))), p.Value
		if p.bounded() {
			upper, lower = append(upper, fmt.Sprintf("%.1f,%.1f", x, f.top(p.Hi))), append([]string{fmt.Sprintf("%.1f,%.1f", x, f.top(p.Lo))}, lower...)
		}
	}
	f.add(`<polygon points="%s" fill="%s" fill-opacity=".15"/>`, strings.Join(append(upper, lower...), " "), colour)
	f.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`, strings.Join(line, " "), colour, dash(i))
	f.published(i, 0)
}

// published marks the numbers that are stated for row i.
func (f *frame) published(i int, each float64) {
	for k, v := range f.Rows[i].Published {
		if k < len(f.Columns) && drawn(v) {
			f.diamond(f.column(k)+f.aside(i, each), baseline-plotHeight*f.stated.share(v), colours[i%len(colours)])
		}
	}
}

// legend draws the names of the rows at the right of the plot.
func (f *frame) legend(published bool) {
	x, what := leftMargin+plotWidth+14, "published"
	if f.apart {
		x, what = x+rightMargin, "published, axis at the right"
	}
	f.WriteString(`<g class="legend">`)
	defer f.WriteString("</g>")
	for i, row := range f.Rows {
		y := topMargin + 8 + 16*float64(i)
		if f.Kind == Bars && i < len(colours) {
			f.add(`<rect x="%.1f" y="%.1f" width="10" height="10" fill="%s" fill-opacity=".75"/>`, x-5, y-5, colours[i])
		} else {
			f.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>`, x-6, y, x+6, y, colours[i%len(colours)], dash(i))
			f.point(x, y, i)
		}
		f.text(x+12, y+4, "start", short(row.Name, mostLegend))
	}
	if published {
		y := topMargin + 8 + 16*float64(len(f.Rows))
		f.diamond(x, y, "#222")
		f.text(x+12, y+4, "start", what)
	}
}
