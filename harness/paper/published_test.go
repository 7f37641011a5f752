package paper

import (
	"math"
	"strings"
	"testing"
)

const header = "figure,row,column,value,unit,from\n"

// TestReadNumbers reads numbers of each kind, and refuses files with a fault, whose line it
// names.
func TestReadNumbers(t *testing.T) {
	n, err := readNumbers("f.csv", strings.NewReader(header+`fig1,Mine,"time saved, 5 jobs",47.8,%,printed: as -47.8
fig1,Mine,"time saved, 5 jobs",47.9,%,derived: 100 (1 - 2 / 3)
fig1,Mine,10 jobs,23,%,printed
fig1,Mine,10 jobs,23.0,%,derived: so
fig1,Mine,15 jobs,8.6,%,derived: so
fig1,Mine,20 jobs,rises most,in words,printed
fig1,Mine,25 jobs,32,%,wrong: a copy of the row above
`))
	check(t, err)
	got := n.Text("fig1", "Mine", "time saved, 5 jobs", "10 jobs", "15 jobs", "20 jobs", "25 jobs", "30 jobs")
	if want := "47.8 (recomputed 47.9), 23, 8.6 (derived), rises most, ?, ?"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if a, b := n.Value("fig1", "Mine", "time saved, 5 jobs"), n.Value("fig1", "Mine", "15 jobs"); a != 47.8 || b != 8.6 {
		t.Errorf("%v and %v, want the printed 47.8, and the derived 8.6 of which nothing is printed", a, b)
	}
	if a, b := n.Value("fig1", "Mine", "20 jobs"), n.Value("fig1", "Mine", "25 jobs"); !math.IsNaN(a) || !math.IsNaN(b) {
		t.Errorf("a word is %v, a misprint %v, want no values", a, b)
	}
	if points := n.points("fig1", "Mine", []string{"10 jobs", "30 jobs"}); len(points) != 2 || points[0] != 23 ||
		!math.IsNaN(float64(points[1])) {
		t.Errorf("points %v, want 23 and nothing", points)
	}
	if points := n.points("fig1", "Other", []string{"10 jobs"}); points != nil {
		t.Errorf("points %v of a row that the paper does not state", points)
	}
	for text, want := range map[string]string{
		"":                                 "f.csv: no numbers",
		header:                             "f.csv: no numbers",
		"figure,row\n":                     "f.csv: record on line 1: wrong number of fields",
		"figure,row,col,value,unit,from\n": `f.csv:1: the first line is "figure,row,col,value,unit,from": want "figure,row,column,value,unit,from"`,
		header + "a,b,c,1,%\n":             "f.csv: record on line 2: wrong number of fields",
		header + "a,b,c,1,%,guessed\n":     `f.csv:2: from "guessed": want printed, derived or wrong`,
		header + "a,b,c,1,%,derived\n":     `f.csv:2: from "derived": want "derived: " and how or why`,
		header + "a,b,c,one,%,printed\n":   `f.csv:2: value "one": want a number, or the unit "in words"`,
		header + "a,b,c,NaN,%,printed\n":   `f.csv:2: value "NaN": want a number, or the unit "in words"`,
		header + "a,b,,1,%,printed\n":      "f.csv:2: figure, row, column and value must not be empty",
		header + "a,b,c,1,%,printed\na,b,d,1,%,printed\na,b,c,2,%,printed\n": "f.csv:4: the same number is in line 2",
		header + strings.Repeat("x", numbersMaxBytes):                        "f.csv: more than 1048576 bytes",
	} {
		if _, err := readNumbers("f.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// TestPoints has a figure know the published value of each of its cells, by row and column.
func TestPoints(t *testing.T) {
	p := fake()
	p.Numbers = Numbers{{Figure: "fig1", Row: "Mine", Column: "12 maps", Text: "55", Value: 55, Unit: "%", Origin: IsPrinted}}
	r, err := p.Run(t.Context(), Options{Parts: []string{"fig1"}, Seed: 1, Seeds: 2})
	check(t, err)
	for _, row := range r.Figures[0].Rows {
		if row.Name != "Mine" && row.Published != nil {
			t.Errorf("%s has the published values %v", row.Name, row.Published)
		}
		if row.Name == "Mine" && (len(row.Published) != 2 || !math.IsNaN(float64(row.Published[0])) || row.Published[1] != 55) {
			t.Errorf("Mine has the published values %v, want none and 55", row.Published)
		}
	}
}
