package doc_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/harness/doc"
)

// drawn returns the picture of a chart.
func drawn(t *testing.T, c *doc.Chart) string {
	t.Helper()
	var out strings.Builder
	mustDo(t, doc.WriteSVG(&out, c))
	return out.String()
}

// divided returns the legend of a picture, and what is drawn below it.
func divided(svg string) (legend, plot string) {
	_, rest, _ := strings.Cut(svg, `<g class="legend">`)
	legend, plot, _ = strings.Cut(rest, "</g>")
	return legend, plot
}

// TestBarsAreNotJoined: programs have no order, so no line leads from one to the next.
func TestBarsAreNotJoined(t *testing.T) {
	c := &doc.Chart{Columns: []string{"Sort", "Join"}, Rows: []doc.ChartRow{{Name: "a", Points: []doc.Point{{Value: 1}, {Value: 2}}}}}
	if got := drawn(t, c); !strings.Contains(got, "<polyline") {
		t.Errorf("sizes in their order are not joined:\n%s", got)
	}
	c.Kind = doc.Bars
	got := drawn(t, c)
	if strings.Contains(got, "<polyline") {
		t.Errorf("programs are joined:\n%s", got)
	}
	// On an axis from 0 to 2 in a plot of 240, a bar of 1 is 120 high, and one of 2 twice that.
	for _, height := range []string{`height="120.0"`, `height="240.0"`} {
		if !strings.Contains(got, height) {
			t.Errorf("no bar has %s:\n%s", height, got)
		}
	}
}

// TestPublishedIsDrawn has a diamond for each published number, and for no other.
func TestPublishedIsDrawn(t *testing.T) {
	c := &doc.Chart{
		Columns: []string{"a", "b"},
		Rows:    []doc.ChartRow{{Name: "x", Points: []doc.Point{{Value: 1}, {Value: 2}}, Published: []float64{math.NaN(), 4}}},
	}
	legend, plot := divided(drawn(t, c))
	if n := strings.Count(plot, "l5 5l-5 5"); n != 1 {
		t.Errorf("%d diamonds, want 1, for the one published number", n)
	}
	if !strings.Contains(legend, "published") {
		t.Errorf("the legend does not say what a diamond is:\n%s", legend)
	}
}

// TestRowsDiffer has no two of 56 rows look alike in the legend: those that share one of
// colour, dashes and shape differ in the others. Some colours are near to each other, so the
// first eight rows share no dashes and no shape.
func TestRowsDiffer(t *testing.T) {
	c := &doc.Chart{Columns: []string{"a", "b"}}
	for i := range 56 {
		c.Rows = append(c.Rows, doc.ChartRow{Name: fmt.Sprint(i), Points: []doc.Point{{Value: 1}, {Value: 2}}})
	}
	legend, _ := divided(drawn(t, c))
	colour := regexp.MustCompile(` (class|stroke|fill)="(k[fs]\d+|#\w+)"`)
	place := regexp.MustCompile(` (x|y|x1|x2|y1|y2|cx|cy)="[^"]*"|M[0-9.]+ [0-9.]+`)
	var looks [][3]string // colour, dashes, shape
	for _, entry := range strings.SplitAfter(legend, "</text>")[:56] {
		entry = place.ReplaceAllString(strings.Split(entry, "<text")[0], "")
		line, shape, _ := strings.Cut(colour.ReplaceAllString(entry, ""), "/>")
		looks = append(looks, [3]string{colour.FindAllString(entry, 2)[1], line, shape})
	}
	for i, a := range looks {
		for k, b := range looks[:i] {
			shared := 0
			for part := range a {
				if a[part] == b[part] {
					shared++
				}
			}
			if shared > 1 || i < 8 && (a[1] == b[1] || a[2] == b[2]) {
				t.Errorf("rows %d and %d look alike: %q and %q", k, i, b, a)
			}
		}
	}
}

// TestColumnsDoNotOverlap has long names of columns slanted, so that they can be read.
func TestColumnsDoNotOverlap(t *testing.T) {
	c := &doc.Chart{Rows: []doc.ChartRow{{Name: "x"}}}
	for i := range 9 {
		c.Columns = append(c.Columns, fmt.Sprintf("%d maps, 15 jobs", i))
		c.Rows[0].Points = append(c.Rows[0].Points, doc.Point{Value: float64(i)})
	}
	if got := strings.Count(drawn(t, c), "rotate("); got != 9 {
		t.Errorf("%d of 9 names are slanted: they are 15 letters wide in columns of 62 units", got)
	}
	c.Columns = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	if got := strings.Count(drawn(t, c), "rotate("); got != 0 {
		t.Errorf("%d of 9 short names are slanted", got)
	}
}

// TestForest has more of what is asked for at the right of "no effect", whatever its unit,
// and tells the mark of the verdict in words too.
func TestForest(t *testing.T) {
	nan := math.NaN()
	f := &doc.Forest{Title: "effects", Rows: []doc.ForestRow{
		{
			Name: "C2", Unit: "%", Ours: doc.Point{Value: 5, Lo: 4, Hi: 6}, Asked: 9, Published: 26.5, Room: doc.Point{Value: 10, Lo: 9, Hi: 11},
			Verdict: "direction", Tone: doc.Fair,
		},
		{
			Name: "C5", Unit: "times", None: 1, Ours: doc.Point{Value: 0.5, Lo: 0.4, Hi: 0.6}, Asked: 1.5, Published: nan,
			Room: doc.Point{Value: nan}, Verdict: "reversed", Tone: doc.Opposite,
		},
	}}
	var out strings.Builder
	mustDo(t, doc.WritePage(&out, doc.Doc{doc.Heading("t"), f}))
	rows, _, _ := strings.Cut(out.String(), `<p class="legend">`)
	var at []float64
	for _, m := range regexp.MustCompile(`<circle class="t-[a-z]+" cx="([0-9.]+)%" r="4.6"`).FindAllStringSubmatch(rows, -1) {
		var x float64
		fmt.Sscan(m[1], &x)
		at = append(at, x)
	}
	var zero float64
	fmt.Sscan(regexp.MustCompile(`<line class="axis" x1="([0-9.]+)%"`).FindStringSubmatch(out.String())[1], &zero)
	if len(at) != 2 || at[0] <= zero || at[1] >= zero {
		t.Errorf("effects at %v, want one right and one left of no effect at %g", at, zero)
	}
	for _, want := range []string{"direction: 5.00\u00a0%", "reversed: 0.50 times"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q in words", want)
		}
	}
}

// TestLongTitles has titles stand in lines that an image has room for.
func TestLongTitles(t *testing.T) {
	for title, want := range map[string][]string{
		"":      nil,
		"short": {"short"},
		"the completion times of jobs under all models of the paper, by the number of their maps": {"the completion times of jobs under all models of the paper,", "by the number of their maps"},
		strings.Repeat("x", 70):         {strings.Repeat("x", 59) + "…"},
		strings.Repeat("x", 70) + " ab": {strings.Repeat("x", 59) + "…", "ab"},
		strings.Repeat("word ", 40):     {strings.TrimSpace(strings.Repeat("word ", 12)), strings.Repeat("word ", 11) + "word…"},
	} {
		svg := drawn(t, &doc.Chart{Title: title, Columns: []string{"a"}, Rows: []doc.ChartRow{{Name: "row", Points: []doc.Point{{Value: 1}}}}})
		var got []string
		for _, m := range regexp.MustCompile(`class="title"[^>]*>([^<]*)`).FindAllStringSubmatch(svg, -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is in lines %q, want %q", title, got, want)
		}
	}
}
