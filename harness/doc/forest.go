package doc

import (
	"math"
	"strings"
)

// Sizes of a forest plot in the units of the SVG image.
const (
	forestNames, forestPlot, forestText = 330.0, 340.0, 300.0
	forestRow                           = 22.0
	forestTop                           = 30.0
)

// toneColours are the colours of tones in pictures.
var toneColours = map[Tone]string{Good: "#0a6b2d", Fair: "#0b5f77", Bad: "#aa1111", Opposite: "#7a1fa2", Notable: "#8a5a00", Faint: "#666666", "": "#222222"}

// svg returns the forest plot as an SVG image: to the right of the line is more of
// what is asked for. What is asked is a bar across the row, what is published a
// diamond, and what there is room for a grey bar from no effect on.
func (t *Forest) svg() string {
	var s canvas
	width, height := forestNames+forestPlot+forestText, forestTop+forestRow*float64(len(t.Rows))+8
	s.add(`<svg viewBox="0 0 %.0f %.0f" width="%.0f" role="img" font-size="11" font-family="sans-serif" fill="#222"><title>%s</title>`, width, height, width, escaped(t.Title))
	zero := forestNames + forestPlot*0.35
	s.text(zero, 11, "middle", "no effect")
	s.legend(zero + 70)
	s.line(zero, 16, zero, height-6, "#888")
	for i := range t.Rows {
		r := &t.Rows[i]
		y := forestTop + forestRow*(float64(i)+0.5)
		if i%2 == 0 {
			s.add(`<rect x="0" y="%.1f" width="%.0f" height="%.1f" fill="#888" fill-opacity=".06"/>`, y-forestRow/2, width, forestRow)
		}
		s.add(`<text x="0" y="%.1f">%s<title>%s</title></text>`, y+4, escaped(short(r.Name, int(forestNames/letter)+4)), escaped(r.Name))
		x := r.scale(zero)
		if drawn(r.Room.Value) {
			s.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="4" fill="#888" fill-opacity=".35"/>`, min(zero, x(r.Room.Value)), y-2, math.Abs(x(r.Room.Value)-zero))
		}
		colour := toneColours[r.Tone]
		if r.Ours.bounded() {
			s.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2"/>`, x(r.Ours.Lo), y, x(r.Ours.Hi), y, colour)
		}
		for _, asked := range r.asked() {
			s.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#222" stroke-width="1.5"/>`, x(asked), y-8, x(asked), y+8)
		}
		if drawn(r.Published) {
			s.diamond(x(r.Published), y, "#222")
		}
		if drawn(r.Ours.Value) {
			s.add(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, x(r.Ours.Value), y, colour)
		}
		s.add(`<text x="%.1f" y="%.1f" fill="%s">%s</text>`, forestNames+forestPlot+10, y+4, colour, escaped(strings.TrimPrefix(r.Verdict+": ", ": ")+Estimate(r.Ours.Value, r.Ours.Lo, r.Ours.Hi, r.Unit).Short().String()))
	}
	s.WriteString("</svg>")
	return s.String()
}

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

// scale returns where a value of the row is in the image. What lies far beyond the
// plot is drawn at its edge.
func (r *ForestRow) scale(zero float64) func(float64) float64 {
	left, right := zero-forestNames, forestNames+forestPlot-zero
	most := 0.0 // the largest of all distances from no effect, each as a share of the room on its side
	for _, v := range append(r.asked(), r.Ours.Value, r.Ours.Lo, r.Ours.Hi, r.Published) {
		if d := v - r.None; drawn(v) && d > 0 {
			most = max(most, d/right)
		} else if drawn(v) {
			most = max(most, -d/left)
		}
	}
	if most == 0 {
		most = 1
	}
	most *= 1.08
	return func(v float64) float64 {
		return zero + max(-left, min(right, (v-r.None)/most))
	}
}

// legend says what the marks of a forest plot are.
func (s *canvas) legend(x float64) {
	s.add(`<circle cx="%.1f" cy="7" r="4"/><line x1="%.1f" y1="7" x2="%.1f" y2="7" stroke="#222" stroke-width="2"/>`, x, x-9, x+9)
	s.text(x+13, 11, "start", "ours, 95 %")
	s.add(`<line x1="%.1f" y1="0" x2="%.1f" y2="14" stroke="#222" stroke-width="1.5"/>`, x+82, x+82)
	s.text(x+88, 11, "start", "asked")
	s.diamond(x+132, 7, "#222")
	s.text(x+141, 11, "start", "published")
	s.add(`<rect x="%.1f" y="5" width="16" height="4" fill="#888" fill-opacity=".35"/>`, x+200)
	s.text(x+220, 11, "start", "room")
	s.text(x+262, 11, "start", "each row has its own scale")
}
