package doc

import (
	"fmt"
	"strings"
)

// palette has the colours of rows, on a light and on a dark page. They mean nothing else on
// a page: neither a locality nor good or bad news. Dashes and shapes tell rows apart too,
// for people who do not tell colours apart.
var palette = [][2]string{
	{"#30363d", "#dfe4ea"},
	{"#00938a", "#2fc4b8"},
	{"#7d8a00", "#bccb3a"},
	{"#9aa5b1", "#737e8a"},
	{"#006b64", "#b8f7f0"},
	{"#4d5400", "#858f2a"},
	{"#7ed0c8", "#2a8a82"},
}

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

// disc and square are paths around a place.
const disc, square = "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", "m-3.3 -3.3h6.6v6.6h-6.6z"

// shapes are those of points, as paths around their place: filled, or lines. The numbers of
// colours, dashes and shapes have no common divisor, so that rows which share one of them
// differ in the two others.
var shapes = []struct {
	path string
	line bool
}{
	{disc, false},
	{square, false},
	{"m0 -4.6l4.4 7.6h-8.8z", false},
	{"m0 -4.5v9m-4.5 -4.5h9", true},
	{disc, true},
	{"m0 4.6l4.4 -7.6h-8.8z", false},
	{square, true},
	{"m-3.5 -3.5l7 7m0 -7l-7 7", true},
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
	shape, attributes := shapes[look%len(shapes)], fill(look)
	if shape.line {
		attributes = stroke(look) + ` fill="none" stroke-width="2"`
	}
	s.add(`<path %s d="M%.1f %.1f%s"%s/>`, attributes, x, y, shape.path, says)
}

// diamond marks a published number.
func (s *canvas) diamond(x, y float64, look string) {
	s.add(`<path class="pub %s d="M%.1f %.1fl5 5l-5 5l-5 -5z" fill="#ffffff" fill-opacity=".8" stroke-width="1.6"/>`,
		strings.TrimPrefix(look, `class="`), x, y-5)
}

const inkStroke = `class="inks" stroke="#1f2328"`

// ownStyle returns the style sheet of a picture in a file of its own.
func ownStyle() string {
	var s strings.Builder
	s.WriteString("@media(prefers-color-scheme:dark){.paper{fill:#0f1419}svg,text{fill:#e6e9ee}" +
		".grid{stroke:#2f3640}.axis{stroke:#9aa4b0}.inks{stroke:#e6e9ee}.pub{fill:#0f1419}")
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

// dash returns how a row's line is broken.
func dash(look int) string {
	if d := dashes[look%len(dashes)]; d != "" {
		return ` stroke-dasharray="` + d + `"`
	}
	return ""
}
