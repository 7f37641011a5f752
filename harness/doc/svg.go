package doc

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/traces/printable"
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

// palette has the colours of rows, on a light and on a dark page. They mean nothing else on
// a page: neither a locality nor good or bad news. Dashes and shapes tell rows apart too,
// for people who do not tell colours apart.
var palette = [][2]string{{"#30363d", "#dfe4ea"}, {"#00938a", "#2fc4b8"}, {"#7d8a00", "#bccb3a"}, {"#9aa5b1", "#737e8a"}, {"#006b64", "#b8f7f0"}, {"#4d5400", "#858f2a"}, {"#7ed0c8", "#2a8a82"}}

// Looks of rows that are a locality of maps, which has the same colour wherever it is.
const (
	LookCache = iota + 1001
	LookNode
	LookRack
	LookOff
)

// levels has the colours of localities. Near ones are blue, far ones are not.
var levels = [][2]string{{"#0f4c86", "#2b78c2"}, {"#4b9fe0", "#84bff3"}, {"#f3b93c", "#ffd267"}, {"#c4451f", "#e4663c"}}

// colour returns the class and the colour of a row on a light page.
func colour(look int) (class, hex string) {
	if k := look + 1 - LookCache; k >= 0 {
		return fmt.Sprintf("l%d", k+1), levels[k][0]
	}
	k := look % len(palette)
	return fmt.Sprint(k + 1), palette[k][0]
}

// colours calls f with the class of each colour and what it is on a light and on a dark page.
func colours(f func(class, light, dark string)) {
	for k, p := range palette {
		f(fmt.Sprint(k+1), p[0], p[1])
	}
	for k, p := range levels {
		f(fmt.Sprintf("l%d", k+1), p[0], p[1])
	}
}

// dashes of lines.
var dashes = []string{"", "8 4", "2 3", "10 3 2 3", "5 2", "14 4", "6 2 2 2 2 2", "1 4", "12 2 2 2", "3 6", "9 9"}

// shapes is how many there are of points. The numbers of colours, dashes and shapes have no
// common divisor, so that rows which share one of them differ in the two others.
const shapes = 8

// canvas is an SVG image that is being drawn. Colours are attributes, so that every
// program shows them; a page changes them through the classes.
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

func letters(text string) float64 { return float64(len([]rune(text))) * letter }

func (s *canvas) text(x, y float64, anchor, text string) {
	s.add(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escaped(text))
}

// line draws a line of the frame: class is grid or axis.
func (s *canvas) line(x1, y1, x2, y2 float64, class string) {
	stroke := map[string]string{"grid": "#d9dde3", "axis": "#7d8590"}[class]
	s.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, class, x1, y1, x2, y2, stroke)
}

// fill and stroke return the attributes of a row's colour.
func fill(look int) string {
	class, hex := colour(look)
	return fmt.Sprintf(`class="kf%s" fill="%s"`, class, hex)
}

func stroke(look int) string {
	class, hex := colour(look)
	return fmt.Sprintf(`class="ks%s" stroke="%s"`, class, hex)
}

// point draws the point of a row.
// With a column, it says what it stands for when a reader points at the column.
func (s *canvas) point(x, y float64, look int, says string) {
	const open = ` fill="none" stroke-width="1.8"`
	switch look % shapes {
	case 0:
		s.add(`<circle %s cx="%.1f" cy="%.1f" r="3.6"%s/>`, fill(look), x, y, says)
	case 1:
		s.add(`<rect %s x="%.1f" y="%.1f" width="6.6" height="6.6"%s/>`, fill(look), x-3.3, y-3.3, says)
	case 2:
		s.add(`<path %s d="M%.1f %.1fl4.4 7.6h-8.8z"%s/>`, fill(look), x, y-4.6, says)
	case 3:
		s.add(`<path %s d="M%.1f %.1fv9m-4.5 -4.5h9" stroke-width="2.4"%s/>`, stroke(look), x, y-4.5, says)
	case 4:
		s.add(`<circle %s cx="%.1f" cy="%.1f" r="3.6"%s%s/>`, stroke(look), x, y, open, says)
	case 5:
		s.add(`<path %s d="M%.1f %.1fl4.4 -7.6h-8.8z"%s/>`, fill(look), x, y+4.6, says)
	case 6:
		s.add(`<rect %s x="%.1f" y="%.1f" width="6.6" height="6.6"%s%s/>`, stroke(look), x-3.3, y-3.3, open, says)
	default:
		s.add(`<path %s d="M%.1f %.1fl7 7m0 -7l-7 7" stroke-width="2.4"%s/>`, stroke(look), x-3.5, y-3.5, says)
	}
}

// diamond marks a published number.
func (s *canvas) diamond(x, y float64, look string) {
	s.add(`<path class="pub %s d="M%.1f %.1fl5 5l-5 5l-5 -5z" fill="#ffffff" fill-opacity=".8" stroke-width="1.6"/>`, strings.TrimPrefix(look, `class="`), x, y-5)
}

const inkStroke = `class="inks" stroke="#1f2328"`

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

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// WriteSVG draws a chart as a picture for a file of its own. Its colours follow the
// reader's system between light and dark.
func WriteSVG(out io.Writer, c *Chart) error {
	svg := c.svg()
	from, body, _ := strings.Cut(svg, ">")
	_, err := fmt.Fprintf(out, `%s xmlns="http://www.w3.org/2000/svg"><title>%s</title><desc>%s</desc><style>%s</style><rect class="paper" width="100%%" height="100%%" fill="#ffffff"/>%s`+"\n",
		from, escaped(c.Title), escaped(c.says()), ownStyle(), body)
	return err
}

// ownStyle returns the style sheet of a picture in a file of its own.
func ownStyle() string {
	var s strings.Builder
	s.WriteString("@media(prefers-color-scheme:dark){.paper{fill:#0f1419}svg,text{fill:#e6e9ee}.grid{stroke:#2f3640}.axis{stroke:#9aa4b0}.inks{stroke:#e6e9ee}.pub{fill:#0f1419}")
	colours(func(class, _, dark string) {
		fmt.Fprintf(&s, ".kf%s{fill:%s}.ks%s{stroke:%s}", class, dark, class, dark)
	})
	return s.String() + "}"
}

// pageColours returns the part of a page's style sheet that has the rows' colours, also as
// variables such as --c1 for what a page embeds.
func pageColours() string {
	var s strings.Builder
	colours(func(class, light, dark string) {
		name := "--" + class // such as --l1 of a locality
		if class[0] != 'l' {
			name = "--c" + class
		}
		fmt.Fprintf(&s, ":root{%s:light-dark(%s,%s)}.kf%s{fill:var(%s)}.ks%s{stroke:var(%s)}\n", name, light, dark, class, name, class, name)
	})
	return s.String()
}

// says returns what the chart is in words.
func (c *Chart) says() string {
	what := map[ChartKind]string{Lines: "Lines", Bars: "Bars", Curves: "Curves", Steps: "Distributions"}[c.Kind]
	var names []string
	for i := range c.Rows {
		if !c.Rows[i].Thin {
			names = append(names, c.Rows[i].Name)
		}
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
}

// svg returns the chart as an SVG image.
func (c *Chart) svg() string {
	f := newFrame(c)
	legend := f.legendPlaces()
	title := titleLines(c.Title)
	f.top = 20 + titleRow*float64(len(title))
	if n := len(legend); n > 0 {
		f.top += legend[n-1].y + legendRow + 8
	}
	below := f.names()
	height := f.bottom() + below + 10
	if c.X != "" {
		height += 16
	}
	f.add(`<svg class="plot" viewBox="0 0 %.0f %.0f" width="%.0f" role="img" aria-label="%s" font-size="12.5" font-family="system-ui,sans-serif" fill="#1f2328"%s>`,
		imageWidth, height, imageWidth, escaped(strings.TrimSuffix(c.Title, ".")+". "+c.says()), f.scales())
	for i, line := range title {
		f.add(`<text class="title" x="0" y="%.0f" font-size="14" font-weight="600">%s</text>`, 15+titleRow*float64(i), escaped(line))
	}
	f.grid(below)
	for _, thin := range []bool{true, false} { // thin rows first, behind the others
		for i := range c.Rows {
			if c.Rows[i].Thin == thin {
				f.row(i)
			}
		}
	}
	f.legend(legend)
	f.WriteString("</svg>")
	return f.String()
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
	return plot + fmt.Sprintf(` data-x="%.1f %.1f %g %g"%s data-y="%.1f %.1f %g %g" data-steps="%t" data-xname="%s" data-unit="%s"`, f.left, f.left+f.width, f.x.low, f.x.high, log,
		f.bottom(), f.top, f.y.low, f.y.high, f.Kind == Steps, escaped(f.X), escaped(f.Unit))
}

// names returns how much room the names of the columns need below the plot.
func (f *frame) names() float64 {
	if f.slanted() {
		longest := 0.0
		for _, name := range f.Columns {
			longest = max(longest, letters(short(name, mostColumn)))
		}
		return 16 + longest*0.6
	}
	return 18
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
func (f *frame) grid(below float64) {
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
				f.add(`<text transform="translate(%.1f %.1f) rotate(-35)" text-anchor="end">%s</text>`, f.column(k)+4, f.bottom()+14, escaped(short(name, mostColumn)))
			} else {
				f.text(f.column(k), f.bottom()+17, "middle", name)
			}
		}
	}
	f.text(f.left+f.width/2, f.bottom()+below+18, "middle", f.X)
}

// row draws a row of the chart.
func (f *frame) row(i int) {
	f.add(`<g class="row" data-name="%s">`, escaped(f.Rows[i].Name))
	switch f.Kind {
	case Bars:
		f.bars(i)
	case Curves, Steps:
		f.curve(i)
	default:
		f.points(i)
	}
	f.WriteString("</g>")
}

// aside returns how far row i is beside the middle of its column, so that intervals
// do not hide each other.
func (f *frame) aside(i int, each float64) float64 {
	return (float64(i) - float64(len(f.Rows)-1)/2) * each
}

func (f *frame) interval(x float64, p Point, look string) {
	if p.bounded() {
		f.add(`<line %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke-width="1.4"/>`, look, x, f.height(p.Lo), x, f.height(p.Hi))
	}
}

// tells returns the attributes by which a point says what it stands for.
func (f *frame) tells(k int, p Point) string {
	return fmt.Sprintf(` data-column="%d" data-says="%s"`, k, escaped(p.cell(f.Unit).String()))
}

// dash returns how a row's line is broken.
func (f *frame) dash(look int) string {
	if d := dashes[look%len(dashes)]; d != "" {
		return ` stroke-dasharray="` + d + `"`
	}
	return ""
}

// points draws row i as points with their intervals, joined by a line.
func (f *frame) points(i int) {
	look, row := f.look(i), &f.Rows[i]
	each := min(8, f.width*0.8/float64(max(1, len(f.Columns))*len(f.Rows)))
	var line []string
	for k, p := range row.Points[:min(len(row.Points), len(f.Columns))] {
		if x := f.column(k) + f.aside(i, each); drawn(p.Value) {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x, f.height(p.Value)))
			f.interval(x, p, stroke(look))
			f.point(x, f.height(p.Value), look, f.tells(k, p))
		}
	}
	f.add(`<polyline %s points="%s" fill="none" stroke-opacity=".6"%s/>`, stroke(look), strings.Join(line, " "), f.dash(look))
	f.stateds(i, each)
}

// bars draws row i as a bar in each column.
func (f *frame) bars(i int) {
	look, row := f.look(i), &f.Rows[i]
	each := f.width * 0.8 / float64(max(1, len(f.Columns))*len(f.Rows))
	zero := f.height(max(f.y.low, min(0, f.y.high)))
	for k, p := range row.Points[:min(len(row.Points), len(f.Columns))] {
		if !drawn(p.Value) {
			continue
		}
		x, y := f.column(k)+f.aside(i, each), f.height(p.Value)
		f.add(`<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill-opacity=".8"%s/>`, fill(look), x-each*0.45, min(y, zero), each*0.9, math.Abs(y-zero), f.tells(k, p))
		f.interval(x, p, inkStroke)
		if look >= len(palette) {
			f.point(x, y, look, "")
		}
	}
	f.stateds(i, each)
}

// curve draws row i as a line with a band for its interval.
func (f *frame) curve(i int) {
	look, row := f.look(i), &f.Rows[i]
	var line, upper, lower []string
	before := math.NaN()
	for k, p := range row.Points {
		x, ok := f.place(row, k)
		if !ok || !drawn(p.Value) {
			continue
		}
		if f.Kind == Steps && drawn(before) && before != p.Value {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x, f.height(before)))
		}
		line, before = append(line, fmt.Sprintf("%.1f,%.1f", x, f.height(p.Value))), p.Value
		if p.bounded() {
			upper, lower = append(upper, fmt.Sprintf("%.1f,%.1f", x, f.height(p.Hi))), append(lower, fmt.Sprintf("%.1f,%.1f", x, f.height(p.Lo)))
		}
	}
	if len(upper) > 0 {
		slices.Reverse(lower)
		f.add(`<polygon %s points="%s" fill-opacity=".15"/>`, fill(look), strings.Join(append(upper, lower...), " "))
	}
	if row.Thin {
		f.add(`<polyline %s points="%s" fill="none" stroke-opacity=".3"/>`, stroke(look), strings.Join(line, " "))
		return
	}
	f.add(`<polyline %s points="%s" fill="none" stroke-width="2.2"%s/>`, stroke(look), strings.Join(line, " "), f.dash(look))
	f.stateds(i, 0)
}

// stateds marks the numbers that are stated for row i.
func (f *frame) stateds(i int, each float64) {
	for k, v := range f.Rows[i].Published {
		if x, ok := f.place(&f.Rows[i], k); ok && drawn(v) {
			f.diamond(x+f.aside(i, each), f.height(v), stroke(f.look(i)))
		}
	}
}

// legendPlace is where an entry of the legend stands, and what it says.
type legendPlace struct {
	row  int // -1 for what the diamonds are
	x, y float64
	text string
}

// legendPlaces sets the names of the rows side by side, in as many lines as they need.
func (f *frame) legendPlaces() (list []legendPlace) {
	x, y := 0.0, 0.0
	add := func(row int, text string) {
		width := legendMarker + letters(text)*1.2 + 14
		if x > 0 && x+width > imageWidth {
			x, y = 0, y+legendRow
		}
		list = append(list, legendPlace{row, x, y, text})
		x += width
	}
	for i := range f.Rows {
		if !f.Rows[i].Thin && f.Rows[i].Name != "" {
			add(i, short(f.Rows[i].Name, mostLegend))
		}
	}
	if f.published {
		add(-1, "published")
	}
	return list
}

// legend draws the names of the rows above the plot.
func (f *frame) legend(places []legendPlace) {
	f.WriteString(`<g class="legend">`)
	defer f.WriteString("</g>")
	top := 12.0
	if n := len(titleLines(f.Title)); n > 0 {
		top += 2 + titleRow*float64(n)
	}
	for _, p := range places {
		y := top + p.y
		look := 0
		if p.row >= 0 {
			look = f.look(p.row)
		}
		switch {
		case p.row < 0:
			f.diamond(p.x+12, y, inkStroke)
		case f.Kind == Bars && look < len(palette):
			f.add(`<rect %s x="%.1f" y="%.1f" width="12" height="12" fill-opacity=".8"/>`, fill(look), p.x+6, y-6)
		default:
			f.add(`<line %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke-width="2.2"%s/>`, stroke(look), p.x, y, p.x+24, y, f.dash(look))
			if !f.curves() {
				f.point(p.x+12, y, look, "")
			}
		}
		f.text(p.x+legendMarker, y+4, "start", p.text)
	}
}
