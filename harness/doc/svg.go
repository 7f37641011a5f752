package doc

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sizes of a chart in the units of the SVG image. The image grows above the plot with
// the legend, and below it for long names of columns.
const (
	imageWidth   = 600.0
	plotHeight   = 240.0
	rightMargin  = 14.0
	letter       = 6.6 // about the width of a letter
	legendRow    = 18.0
	mostLegend   = 44 // letters of a row's name
	mostColumn   = 40 // letters of a column's name
	titleRow     = 18.0
	mostTitle    = 60 // letters of a line of the title: they are wider than others
	legendMarker = 30.0
	slantWidth   = 0.82 // how far to the left a slanted name reaches, as a share of its length
)

// canvas is an SVG image that is being drawn. Colours are attributes, so that every
// program shows them; a page changes them through the classes.
type canvas struct{ strings.Builder }

func (s *canvas) add(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// short returns a text of at most so many letters.
func short(text string, most int) string {
	if r := []rune(text); len(r) > most && most > 1 {
		return string(r[:most-1]) + "…"
	}
	return text
}

func letters(text string) float64 { return float64(len([]rune(text))) * letter }

func (s *canvas) text(x, y float64, anchor, text string) {
	s.add(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escaped(text))
}

// line draws a line of the frame: class is grid or axis.
func (s *canvas) line(x1, y1, x2, y2 float64, class string) {
	stroke := map[string]string{"grid": "#d9dde3", "axis": "#7d8590"}[class]
	s.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, class, x1, y1, x2, y2, stroke)
}

// tick formats a number of an axis.
func tick(v float64) string {
	if v == 0 {
		return "0" // not -0
	}
	if l := math.Log10(v); v > 0 && (l >= 6 || l <= -4) && math.Abs(l-math.Round(l)) < 1e-9 {
		return "10" + superscript.Replace(strconv.Itoa(int(math.Round(l))))
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵",
	"6", "⁶", "7", "⁷", "8", "⁸",
	"9", "⁹")

// WriteSVG draws a chart as a picture for a file of its own. Its colours follow the
// reader's system between light and dark.
func WriteSVG(out io.Writer, c *Chart) error {
	svg := c.svg()
	from, body, _ := strings.Cut(svg, ">")
	_, err := fmt.Fprintf(out, `%s xmlns="http://www.w3.org/2000/svg"><title>%s</title><desc>%s</desc><style>%s</style><rect class="paper" `+
		`width="100%%" height="100%%" fill="#ffffff"/>%s`+"\n",
		from, escaped(c.Title), escaped(c.says()), ownStyle(), body)
	return err
}

// says returns what the chart is in words.
func (c *Chart) says() string {
	what := map[ChartKind]string{Lines: "Lines", Bars: "Bars", Curves: "Curves", Steps: "Distributions"}[c.Kind]
	var names []string
	for i := range c.Rows {
		names = append(names, c.Rows[i].Name)
	}
	text := fmt.Sprintf("%s of %s", what, strings.Join(names, ", "))
	if c.X != "" {
		text += " by " + c.X
	}
	return text + "."
}

// frame is a chart with its scales: that of the points and of the published numbers, and
// that of the columns' places.
type frame struct {
	canvas
	*Chart
	y, x             axis
	published        bool
	left, top, width float64 // of the plot
	below            float64 // room for the names below it
}

// svg returns the chart as an SVG image: its title and legend, and the plot below.
func (c *Chart) svg() string {
	f := newFrame(c)
	var head canvas
	y := 0.0
	for _, line := range titleLines(c.Title) {
		head.add(`<text class="title" x="0" y="%.0f" font-size="14" font-weight="600">%s</text>`, y+15, escaped(line))
		y += titleRow
	}
	f.top = f.legend(&head, y) + 20
	f.grid()
	for i := range c.Rows {
		f.row(i)
	}
	return fmt.Sprintf(`<svg class="plot" viewBox="0 0 %.0f %.0f" width="%.0f" role="img" aria-label="%s" font-size="12.5" `+
		`font-family="system-ui,sans-serif" fill="#1f2328"%s>%s%s</svg>`,
		imageWidth, f.bottom()+f.below+10, imageWidth, escaped(strings.TrimSuffix(c.Title, ".")+". "+c.says()), f.scales(), head.String(),
		f.String())
}

// titleLines returns a title in at most two lines that the image has room for.
func titleLines(title string) (lines []string) {
	if title == "" {
		return nil
	}
	line := ""
	for _, word := range strings.Fields(title) {
		switch longer := strings.TrimSpace(line + " " + word); {
		case len(lines) == 1 || line == "" || len([]rune(longer)) <= mostTitle:
			line = longer
		default:
			lines, line = append(lines, short(line, mostTitle)), word
		}
	}
	return append(lines, short(line, mostTitle))
}

func newFrame(c *Chart) *frame {
	var values, stated, places []float64
	for i := range c.Rows {
		row := &c.Rows[i]
		for _, p := range row.Points {
			if values = append(values, p.Value); p.bounded() {
				values = append(values, p.Lo, p.Hi)
			}
		}
		stated = append(stated, row.Published...)
		places = append(places, c.at(row)...)
	}
	zero := c.Kind == Bars || c.Kind == Steps || !narrow(slices.Concat(values, stated))
	f := &frame{Chart: c, y: axisOf(slices.Concat(values, stated), zero), published: slices.ContainsFunc(stated, drawn)}
	if c.Log {
		f.x = logAxis(places)
	} else if c.curves() {
		f.x = axisOf(places, false)
	}
	widest := 0.0
	for _, v := range f.y.ticks() {
		widest = max(widest, letters(tick(v)))
	}
	f.left = max(30, widest+12)
	f.width = imageWidth - f.left - rightMargin
	if f.slanted() { // the names of the first columns end below them, and begin further left
		right := imageWidth - rightMargin
		for k, name := range f.Columns {
			middle := (float64(k) + 0.5) / float64(len(f.Columns))
			f.left = max(f.left, (letters(short(name, mostColumn))*slantWidth-4-right*middle)/(1-middle))
		}
		f.width = right - f.left
	}
	f.below = 18
	if f.slanted() {
		for _, name := range f.Columns {
			f.below = max(f.below, 16+letters(short(name, mostColumn))*0.6)
		}
	}
	return f
}

// narrow reports whether numbers are so near to each other and so far from 0 that they
// would lie in a small part of an axis from 0.
func narrow(list []float64) bool {
	list = slices.DeleteFunc(slices.Clone(list), func(x float64) bool { return !drawn(x) })
	return len(list) > 0 && slices.Min(list) > slices.Max(list)/2
}

func (f *frame) bottom() float64 { return f.top + plotHeight }

// height returns where a value is in the image.
func (f *frame) height(v float64) float64 { return f.bottom() - plotHeight*f.y.share(v) }

// column returns the middle of column k in the image.
func (f *frame) column(k int) float64 {
	return f.left + f.width/float64(len(f.Columns))*(float64(k)+0.5)
}

// place returns where point k of a row is in the image, false if it has no place.
func (f *frame) place(row *ChartRow, k int) (float64, bool) {
	if !f.curves() {
		return f.column(k), k < len(f.Columns)
	}
	if at := f.at(row); k < len(at) && drawn(at[k]) {
		return f.left + f.width*f.x.share(at[k]), true
	}
	return 0, false
}

// scales returns attributes by which the page's script finds the value at a place.
func (f *frame) scales() string {
	plot := fmt.Sprintf(` data-top="%.1f" data-bottom="%.1f"`, f.top, f.bottom())
	if !f.curves() {
		return plot + fmt.Sprintf(` data-columns="%d" data-left="%.1f" data-width="%.1f"`, len(f.Columns), f.left, f.width)
	}
	log := ""
	if f.x.log {
		log = ` data-log="1"`
	}
	return plot + fmt.Sprintf(` data-x="%.1f %.1f %g %g"%s data-y="%.1f %.1f %g %g" data-steps="%t" data-xname="%s" data-unit="%s"`, f.left,
		f.left+f.width, f.x.low, f.x.high, log,
		f.bottom(), f.top, f.y.low, f.y.high, f.Kind == Steps, escaped(f.X), escaped(f.Unit))
}

// slanted reports whether the columns' names are too long to stand side by side.
func (f *frame) slanted() bool {
	each := f.width / float64(max(1, len(f.Columns)))
	for _, name := range f.Columns {
		if !f.curves() && letters(name) > each-6 {
			return true
		}
	}
	return false
}

// grid draws the axes with their numbers and names.
func (f *frame) grid() {
	for _, v := range f.y.ticks() {
		f.line(f.left, f.height(v), f.left+f.width, f.height(v), "grid")
		f.text(f.left-6, f.height(v)+4, "end", tick(v))
	}
	zero := f.height(max(f.y.low, min(0, f.y.high)))
	f.line(f.left, zero, f.left+f.width, zero, "axis")
	name := f.Unit
	if f.Y != "" {
		name = strings.TrimSuffix(f.Y+", "+f.Unit, ", ")
	}
	if f.y.low > 0 {
		name += fmt.Sprintf(" (the axis begins at %s)", tick(f.y.low))
	}
	f.text(0, f.top-12, "start", strings.TrimSpace(name))
	if f.curves() {
		for _, v := range f.x.ticks() {
			x := f.left + f.width*f.x.share(v)
			f.line(x, f.bottom(), x, f.bottom()+4, "axis")
			anchor := "middle"
			if x+letters(tick(v))/2 > imageWidth {
				anchor = "end"
			}
			f.text(x, f.bottom()+17, anchor, tick(v))
		}
	} else {
		for k, name := range f.Columns {
			if f.slanted() {
				f.add(`<text transform="translate(%.1f %.1f) rotate(-35)" text-anchor="end">%s</text>`, f.column(k)+4, f.bottom()+14,
					escaped(short(name, mostColumn)))
			} else {
				f.text(f.column(k), f.bottom()+17, "middle", name)
			}
		}
	}
	if f.X != "" {
		f.text(f.left+f.width/2, f.bottom()+f.below+18, "middle", f.X)
		f.below += 16
	}
}

// aside returns how far row i is beside the middle of its column, so that intervals
// do not hide each other.
func (f *frame) aside(i int, each float64) float64 {
	return (float64(i) - float64(len(f.Rows)-1)/2) * each
}

// row draws row i: bars, or points joined by a line, or a curve with a band for its
// interval.
func (f *frame) row(i int) {
	look, row := f.look(i), &f.Rows[i]
	f.add(`<g class="row" data-name="%s">`, escaped(row.Name))
	defer f.WriteString("</g>")
	each := f.width * 0.8 / float64(max(1, len(f.Columns))*len(f.Rows))
	switch f.Kind {
	case Lines:
		each = min(8, each)
	case Curves, Steps:
		each = 0
	}
	zero := f.height(max(f.y.low, min(0, f.y.high)))
	var line, upper, lower []string
	before := math.NaN() // where the last step ends
	for k, p := range row.Points {
		x, ok := f.place(row, k)
		if !ok || !drawn(p.Value) {
			continue
		}
		x += f.aside(i, each)
		y, at := f.height(p.Value), func(v float64) string { return fmt.Sprintf("%.1f,%.1f", x, f.height(v)) }
		tells := fmt.Sprintf(` data-column="%d" data-says="%s"`, k, escaped(p.cell(f.Unit).String()))
		switch f.Kind {
		case Bars:
			f.add(`<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill-opacity=".8"%s/>`, fill(look), x-each*0.45, min(y, zero), each*0.9,
				math.Abs(y-zero), tells)
			f.interval(x, p, inkStroke)
			if look >= len(palette) {
				f.point(x, y, look, "")
			}
		case Lines:
			f.interval(x, p, stroke(look))
			f.point(x, y, look, tells)
		case Steps:
			if drawn(before) && before != p.Value {
				line = append(line, at(before))
			}
		}
		line, before = append(line, at(p.Value)), p.Value
		if p.bounded() && f.curves() {
			upper, lower = append(upper, at(p.Hi)), append(lower, at(p.Lo))
		}
	}
	if len(upper) > 0 {
		slices.Reverse(lower)
		f.add(`<polygon %s points="%s" fill-opacity=".15"/>`, fill(look), strings.Join(append(upper, lower...), " "))
	}
	strokes := ` stroke-width="2.2"` + dash(look) // the page's script reads lines that have a width
	if f.Kind == Lines {
		strokes = ` stroke-opacity=".6"` + dash(look)
	}
	if f.Kind != Bars {
		f.add(`<polyline %s points="%s" fill="none"%s/>`, stroke(look), strings.Join(line, " "), strokes)
	}
	f.stateds(i, each)
}

func (f *frame) interval(x float64, p Point, look string) {
	if p.bounded() {
		f.add(`<line %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke-width="1.4"/>`, look, x, f.height(p.Lo), x, f.height(p.Hi))
	}
}

// stateds marks the numbers that are stated for row i.
func (f *frame) stateds(i int, each float64) {
	for k, v := range f.Rows[i].Published {
		if x, ok := f.place(&f.Rows[i], k); ok && drawn(v) {
			f.diamond(x+f.aside(i, each), f.height(v), stroke(f.look(i)))
		}
	}
}

// legend draws the names of the rows side by side, in as many lines as they need, and
// returns where it ends.
func (f *frame) legend(s *canvas, top float64) float64 {
	x, y := 0.0, top+14
	entry := func(text string, draw func()) {
		width := legendMarker + letters(text)*1.2 + 14
		if x > 0 && x+width > imageWidth {
			x, y = 0, y+legendRow
		}
		draw()
		s.text(x+legendMarker, y+4, "start", text)
		x += width
	}
	s.WriteString(`<g class="legend">`)
	for i := range f.Rows {
		if f.Rows[i].Name == "" {
			continue
		}
		entry(short(f.Rows[i].Name, mostLegend), func() {
			look := f.look(i)
			if f.Kind == Bars && look < len(palette) {
				s.add(`<rect %s x="%.1f" y="%.1f" width="12" height="12" fill-opacity=".8"/>`, fill(look), x+6, y-6)
				return
			}
			s.add(`<line %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke-width="2.2"%s/>`, stroke(look), x, y, x+24, y, dash(look))
			if !f.curves() {
				s.point(x+12, y, look, "")
			}
		})
	}
	if f.published {
		entry("published", func() { s.diamond(x+12, y, inkStroke) })
	}
	s.WriteString("</g>")
	if x == 0 {
		return top
	}
	return y + legendRow - 6
}
