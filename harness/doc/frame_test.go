package doc

import (
	"strings"
	"testing"
)

// TestPublishedHasOneAxis has a published number stand on the axis of ours, however far
// it is from them: with an axis of its own, -38 would stand beside -3.
func TestPublishedHasOneAxis(t *testing.T) {
	c := &Chart{
		Unit: "%", Kind: Bars, Columns: []string{"a"},
		Rows: []ChartRow{{Name: "x", Points: []Point{{-3, -3, -3}}, Published: []float64{-38}}},
	}
	// The axis is from 0 at 46 to -40 at 286, and the middle of the diamond 5 below its top.
	if svg := c.svg(); !strings.Contains(svg, `y1="286.0"`) || !strings.Contains(svg, ">-40</text>") ||
		!strings.Contains(svg, "d=\"M308.9 269.0l5 5l-5 5l-5 -5z\"") {
		t.Errorf("no diamond at -38 of an axis to -40 in\n%s", svg)
	}
}

// TestSlantedNames has the slanted names of all columns begin inside of the image.
func TestSlantedNames(t *testing.T) {
	c := &Chart{Kind: Bars, Rows: []ChartRow{{Name: "x"}}}
	for range 9 {
		c.Columns = append(c.Columns, "18 maps, 15 jobs of a pool")
	}
	f := newFrame(c)
	if !f.slanted() {
		t.Fatal("the names stand side by side")
	}
	for k, name := range c.Columns {
		if from := f.column(k) + 4 - letters(name)*slantWidth; from < -0.01 {
			t.Errorf("column %d: its name begins at %g", k, from)
		}
	}
	if f.width < imageWidth/2 {
		t.Errorf("the plot is %g wide", f.width)
	}
}

// TestLongWords has a sentence in a table have a column that is wide enough to read it.
func TestLongWords(t *testing.T) {
	x := &Table{Columns: []string{"a", "b"}}
	x.Add(Words("a"), Words(strings.Repeat("word ", 20)).In(Good))
	x.Add(Words("b"), Words("a word"))
	h := &hypertext{}
	if h.table(x); !strings.Contains(h.String(), `<td class="long good">`) || !strings.Contains(h.String(), `<td>a word</td>`) {
		t.Errorf("no wide column in %s", h.String())
	}
}

// TestSays has a page show the column of sentences second, and text have it last.
func TestSays(t *testing.T) {
	x := &Table{Says: true, Columns: []string{"claim", "verdict", "what it says"}}
	x.Add(Words("C1"), Words("holds"), Words("it is faster"))
	h := &hypertext{}
	h.table(x)
	page, text := h.String(), x.text(false)
	if strings.Index(page, "it is faster") > strings.Index(page, "holds") ||
		strings.Index(text, "it is faster") < strings.Index(text, "holds") {
		t.Errorf("the sentence is not second in\n%s\nor not last in\n%s", page, text)
	}
}
