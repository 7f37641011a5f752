package doc

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Forest compares effects with no effect and with what was asked for, one below the
// other. The effects may have different units: each row then has a scale of its own,
// and all rows have "no effect" at the same place.
type Forest struct {
	Name, Title string
	// Shared says that all rows have the unit and scale of the first, with "no effect"
	// at 0. Better says at its ends what lies there, such as "fifo is faster".
	Shared bool
	// What names the effects, and Ours the figures, in the head of the table; by default
	// "effect" and "ours, 95 %".
	What, Ours string
	// DotText says what the dots of the rows are.
	DotText string
	Rows    []ForestRow
}

// ForestRow is one effect. Asked, Published and the values of Room are not numbers if
// there is none.
type ForestRow struct {
	Group            string // what stands above this row and the next ones of the same group
	Name, Unit       string
	About            string // what the row's effect, or its group's, is
	Ours             Point
	None             float64 // the value of no effect, such as 0, or 1 of a ratio
	Asked, Published float64
	Most             float64 // end of what is asked, if above Asked: then None is in the middle
	Room             Point   // the largest effect that there can be
	// Dots are the single values of which Ours is made, such as those of each pair of
	// repeats.
	Dots []float64
	// Band is how far from None values lie by chance; 0 if that is not known.
	Band    float64
	Verdict string
	// Text says the effect in words; by default it is made of Ours.
	Text string
	Tone Tone
}

func (*Forest) part() {}

// none is the place of "no effect" in a forest whose rows have scales of their own, as
// a share of the width: there is more room for what is asked for, at the right.
const none = 0.35

// strip is the scale of one row in a forest plot, in percent of its width.
type strip func(v float64) (place float64, beyond int)

// forest writes a forest as a table with a picture in each row, whose size follows
// that of the page. Everything is in the table in words too.
func (h *hypertext) forest(t *Forest) {
	h.add(`<div class="scroll" tabindex="0" role="group" aria-label="%s"><table class="forest"><caption>%[1]s</caption><thead><tr><th `+
		`scope="col">%s</th><td class="strip">`,
		escaped(t.Title), escaped(cmp.Or(t.What, "effect")))
	t.head(&h.canvas)
	h.add(`</td><th scope="col">%s</th></tr></thead>`+"\n<tbody>", escaped(cmp.Or(t.Ours, "ours, 95 %")))
	shared := t.axis()
	for i := range t.Rows {
		r := &t.Rows[i]
		about := r.about()
		if r.Group != "" && (i == 0 || t.Rows[i-1].Group != r.Group) {
			h.add(`<tr class="group"><th colspan="3" scope="colgroup">%s%s</th></tr>`+"\n", escaped(r.Group), about)
		}
		if r.Group != "" {
			about = ""
		}
		place := r.scale()
		if t.Shared {
			place = func(v float64) (float64, int) { return within(100 * shared.share(v)) }
		}
		text := r.Text
		if text == "" {
			text = strings.TrimPrefix(r.Verdict+": ", ": ") + Estimate(r.Ours.Value, r.Ours.Lo, r.Ours.Hi, r.Unit).Short().InWords()
		}
		h.add(`<tr><th scope="row">%s%s</th><td class="strip">`, escaped(r.Name), about)
		h.strip(r, place, 320, 26)
		h.add(`</td><td class="%s">%s</td></tr>`+"\n", escaped(string(r.Tone)), joined(text))
	}
	h.WriteString("</tbody></table></div>\n")
	t.legend(&h.canvas)
}

func (r *ForestRow) about() string {
	if r.About == "" {
		return ""
	}
	return ` <span class="about">` + escaped(r.About) + `</span>`
}

// within returns a place in percent of the width, and at which edge what lies beyond is.
func within(percent float64) (float64, int) {
	switch {
	case percent < 0:
		return 0, -1
	case percent > 100:
		return 100, 1
	}
	return percent, 0
}

// axis returns the axis of a forest whose rows share one. An interval or dot that lies
// far beyond all effects does not stretch it.
func (t *Forest) axis() axis {
	var list []float64
	most := 0.0
	for i := range t.Rows {
		if r := &t.Rows[i]; drawn(r.Ours.Value) {
			list = append(list, r.Ours.Value, r.Band, -r.Band)
			if drawn(r.Asked) {
				list = append(list, r.Asked)
			}
		}
	}
	for _, v := range list {
		most = max(most, math.Abs(v))
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, v := range append([]float64{r.Ours.Lo, r.Ours.Hi}, r.Dots...) {
			if drawn(v) {
				list = append(list, max(-3*most-1, min(3*most+1, v)))
			}
		}
	}
	return axisOf(list, true)
}

// head draws the numbers of the axis, or where no effect is.
func (t *Forest) head(s *canvas) {
	s.WriteString(`<svg width="320" height="18" aria-hidden="true" font-size="11" fill="#1f2328">`)
	if !t.Shared {
		s.add(`<text x="%.0f%%" y="13" text-anchor="middle">no effect</text>`, 100*none)
	} else {
		a := t.axis()
		for _, v := range a.ticks() {
			x, anchor := 100*a.share(v), "middle"
			if x < 4 {
				anchor = "start"
			} else if x > 96 {
				anchor = "end"
			}
			text := tick(v)
			if v > 0 {
				text = "+" + text
			}
			if v == 0 {
				text += " " + t.Rows[0].Unit
			}
			s.add(`<text x="%.2f%%" y="13" text-anchor="%s">%s</text>`, x, anchor, escaped(text))
		}
	}
	s.WriteString(`</svg>`)
}

// strip draws a row: a band of chance, what there is room for, single values as dots,
// the interval as a bar, what is asked as a line, what is published as a diamond. Its
// height is that of the table's row, and its marks stand around the middle.
func (s *canvas) strip(r *ForestRow, place strip, width, height int) {
	x := func(v float64) float64 { p, _ := place(v); return p }
	s.add(`<svg width="%d" height="%d" aria-hidden="true">`, width, height)
	if r.Band > 0 {
		from, to := x(r.None-r.Band), x(r.None+r.Band)
		s.add(`<rect class="band" x="%.2f%%" width="%.2f%%" height="100%%" fill="#7d8590" fill-opacity=".22"/>`, from, to-from)
	}
	if drawn(r.None) {
		s.add(`<line class="axis" x1="%.2f%%" y1="0" x2="%.2f%%" y2="100%%" stroke="#7d8590"/>`, x(r.None), x(r.None))
	}
	s.WriteString(`<svg y="50%" overflow="visible">`)
	span := func(from, to float64, class, look string, thick float64) {
		a, b := x(min(from, to)), x(max(from, to))
		s.add(`<rect class="%s" x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f" %s/>`, class, a, -thick/2, b-a, thick, look)
	}
	if drawn(r.Room.Value) {
		span(r.None, r.Room.Value, "band", `fill="#7d8590" fill-opacity=".4"`, 5)
	}
	tone := "t-" + cmp.Or(string(r.Tone), "plain")
	colour := toneColours[r.Tone]
	for k, v := range r.Dots {
		if drawn(v) && len(r.Dots) > 1 { // one dot is the value itself
			s.add(`<circle class="%s" cx="%.2f%%" cy="%d" r="2.2" fill="%s" fill-opacity=".45"/>`, tone, x(v), (k%3-1)*5, colour)
		}
	}
	if r.Ours.bounded() {
		span(r.Ours.Lo, r.Ours.Hi, tone, `fill="`+colour+`"`, 2.4)
		for _, v := range []float64{r.Ours.Lo, r.Ours.Hi} {
			if p, beyond := place(v); beyond != 0 {
				s.add(`<svg x="%.2f%%" overflow="visible"><path class="%s" d="M%d -5v10l%d -5z" fill="%s"/></svg>`, p, tone, -8*beyond, 8*beyond,
					colour)
			} else if r.degenerate() {
				s.add(`<line class="%s" x1="%.2f%%" y1="-8" x2="%.2f%%" y2="8" stroke="%s" stroke-width="2.4"/>`, tone, p, p, colour)
			}
		}
	}
	for _, v := range r.asked() {
		s.add(`<line class="inks" x1="%.2f%%" y1="-10" x2="%.2f%%" y2="10" stroke="#1f2328" stroke-width="1.6"/>`, x(v), x(v))
	}
	if drawn(r.Published) {
		s.add(`<svg x="%.2f%%" overflow="visible">`, x(r.Published))
		s.diamond(0, 0, inkStroke)
		s.WriteString(`</svg>`)
	}
	if drawn(r.Ours.Value) {
		if r.Ours.bounded() {
			s.add(`<circle class="%s" cx="%.2f%%" r="4.6" fill="%s"/>`, tone, x(r.Ours.Value), colour)
		} else { // hollow: it has no interval
			s.add(`<circle class="%s hollow" cx="%.2f%%" r="4.2" fill="#ffffff" stroke="%s" stroke-width="1.8"/>`, tone, x(r.Ours.Value), colour)
		}
	}
	s.WriteString(`</svg></svg>`)
}

// degenerate reports whether the interval has no width, so that it says nothing.
func (r *ForestRow) degenerate() bool { return r.Ours.bounded() && r.Ours.Lo == r.Ours.Hi }

// asked returns the ends of what is asked: one, or two.
func (r *ForestRow) asked() []float64 {
	switch {
	case !drawn(r.Asked):
		return nil
	case r.Most > r.Asked:
		return []float64{r.Asked, r.Most}
	}
	return []float64{r.Asked}
}

// scale returns where a value of the row is, for a forest whose rows have scales of
// their own. What lies far beyond the plot is drawn at its edge.
func (r *ForestRow) scale() strip {
	const left, right = 100 * none, 100 * (1 - none)
	most := 0.0 // the largest of all distances from no effect, each as a share of the room on its side
	for _, v := range append(r.asked(), r.Ours.Value, r.Ours.Lo, r.Ours.Hi, r.Published) {
		if d := v - r.None; drawn(v) && d > 0 {
			most = max(most, d/right)
		} else if drawn(v) {
			most = max(most, -d/left)
		}
	}
	most = cmp.Or(most, 1) * 1.06
	return func(v float64) (float64, int) { return within(left + (v-r.None)/most) }
}

// legend says what the marks of a forest are, of those that it has.
func (t *Forest) legend(s *canvas) {
	nan, inf := math.NaN(), math.Inf(1)
	s.WriteString(`<p class="legend">`)
	mark := func(text string, change func(sample *ForestRow), has func(r *ForestRow) bool) {
		if !slices.ContainsFunc(t.Rows, func(r ForestRow) bool { return has(&r) }) {
			return
		}
		r := ForestRow{Ours: Point{nan, nan, nan}, None: nan, Asked: nan, Published: nan, Room: Point{Value: nan}}
		change(&r)
		s.WriteString(`<span class="mark">`)
		s.strip(&r, func(v float64) (float64, int) { return 50 + 40*v, 0 }, 26, 16)
		s.add(`%s</span> `, escaped(text))
	}
	mark("value and 95 % interval", func(r *ForestRow) { r.Ours = Point{0, -1, 1} }, func(*ForestRow) bool { return true })
	mark("too few repeats for an interval", func(r *ForestRow) { r.Ours = Point{0, -inf, inf} },
		func(r *ForestRow) bool { return drawn(r.Ours.Value) && !r.Ours.bounded() })
	mark("all values equal: the interval says nothing", func(r *ForestRow) { r.Ours = Point{} }, (*ForestRow).degenerate)
	mark(t.DotText, func(r *ForestRow) { r.Dots = []float64{-0.7, 0, 0.7} }, func(r *ForestRow) bool { return len(r.Dots) > 1 })
	mark("asked for", func(r *ForestRow) { r.Asked = 0 }, func(r *ForestRow) bool { return len(r.asked()) > 0 })
	mark("published", func(r *ForestRow) { r.Published = 0 }, func(r *ForestRow) bool { return drawn(r.Published) })
	mark("the most there is room for", func(r *ForestRow) { r.None, r.Room.Value = -1, 1 },
		func(r *ForestRow) bool { return drawn(r.Room.Value) })
	mark("repeats differ by so much among themselves", func(r *ForestRow) { r.None, r.Band = 0, 1 },
		func(r *ForestRow) bool { return r.Band > 0 })
	if !t.Shared {
		s.WriteString(`<span class="mark">each row has its own scale</span>`)
	}
	s.WriteString("</p>\n")
}

// toneColours are the colours of tones in pictures on a light page.
var toneColours = map[Tone]string{
	Good: "#0a6b2d", Fair: "#0b5f77", Bad: "#a32020", Opposite: "#7a1fa2", Notable: "#7d5200",
	Faint: "#5c6570", "": "#1f2328",
}
