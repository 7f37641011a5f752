package doc_test

import (
	"math"
	"strings"
	"testing"

	"heddle/harness/doc"
)

// TestDrawings: on a terminal with room, a table has its differences drawn with their
// intervals, and its distributions. Narrow terminals and files have none.
func TestDrawings(t *testing.T) {
	differences := &doc.Table{Columns: []string{"model", "makespan", "vs yarn"}}
	differences.Add(doc.Words("yarn"), doc.Estimate(43.85, 37, 51.57, "s"))
	differences.Add(doc.Words("cached"), doc.Estimate(36, 35, 42, "s"), doc.Difference(-14.9, -20.6, -8.8, "%").After("p=0.002"))
	differences.Add(doc.Words("unlike"), doc.Estimate(36, 35, 42, "s"), doc.Difference(2, -8.5, 10, "%").As("~").After("p=0.110"))
	differences.Add(doc.Words("alike"), doc.Estimate(36, 35, 42, "s"), doc.Difference(-4, -4, -4, "%"))
	differences.Add(doc.Words("wide"), doc.Estimate(36, 35, 42, "s"), doc.Difference(10, -99, 2e6, "%"))
	differences.Add(doc.Words("few"), doc.Number(36, "s"), doc.Difference(10, math.Inf(-1), math.Inf(1), "%").As("~"))
	spreads := &doc.Table{Columns: []string{"phase", "p95", "n"}}
	spreads.Add(doc.Words("map"), doc.Duration(12_000).Spread("1.20 s", []int{1, 0, 50, 100}, "13.0 s"), doc.Count(151))
	spreads.Add(doc.Words("reduce"), doc.Duration(1000), doc.Count(2))
	mixed := &doc.Table{Columns: []string{"model", "vs yarn"}}
	mixed.Add(doc.Words("a"), doc.Difference(1, 0, 2, "%"))
	mixed.Add(doc.Words("b"), doc.Difference(1, 0, 2, "points"))
	for _, c := range []struct {
		name    string
		table   *doc.Table
		columns int
		want    string
	}{
		{"wide", differences, 120, `
model   makespan                  vs yarn                         -59.6          0          +59.6
yarn     43.85 s  [37.00, 51.57]                                                 │
cached   36.00 s  [35.00, 42.00]  -14.9 %  [-20.6, -8.8] p=0.002            ├●─┤ │
unlike   36.00 s  [35.00, 42.00]        ~  [-8.5, +10.0] p=0.110               ├─┼●─┤
alike    36.00 s  [35.00, 42.00]   -4.0 %  [-4.0, -4.0]                         ●│
wide     36.00 s  [35.00, 42.00]  +10.0 %  [-99.0, > +999]        ◂──────────────┼──●───────────▸
few      36.00 s                        ~  [?]                                   │`},
		{"without room", differences, 80, ""},
		{"a file", differences, 0, ""},
		{"units that differ", mixed, 120, ""},
		{"distributions", spreads, 80, `
phase       p95         spread         n
map     12.00 s  1.20 s ▁ ▄█ 13.0 s  151
reduce   1.00 s                        2`},
		{"no room for distributions", spreads, 39, ""},
	} {
		var got, plain strings.Builder
		if err := doc.WriteTerminal(&got, doc.Doc{c.table}, doc.Terminal{Columns: c.columns}); err != nil {
			t.Fatal(err)
		}
		if err := doc.WriteText(&plain, doc.Doc{c.table}, false); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimPrefix(c.want, "\n") + "\n"
		if c.want == "" {
			want = plain.String()
		}
		if got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got.String(), want)
		}
	}
}

// TestDrawingsFit: whatever the numbers and the width of the terminal, drawings make no
// line longer than the terminal.
func TestDrawingsFit(t *testing.T) {
	values := []float64{0, 1e-300, 1, 3, 99, 1e9, 1e299, -1e-9, -2, -50, -1e12}
	for _, x := range values {
		for _, half := range values {
			table := &doc.Table{Columns: []string{"model", "vs yarn"}}
			table.Add(doc.Words("a"), doc.Difference(x, x-math.Abs(half), x+math.Abs(half), "%"))
			table.Add(doc.Words("b"), doc.Difference(1, 0.5, 1.5, "%"))
			var plain strings.Builder
			if err := doc.WriteText(&plain, doc.Doc{table}, false); err != nil {
				t.Fatal(err)
			}
			for columns := 1; columns < 100; columns++ {
				var out strings.Builder
				if err := doc.WriteTerminal(&out, doc.Doc{table}, doc.Terminal{Columns: columns}); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(out.String()) {
					if n := len([]rune(line)) - 1; n > columns && out.String() != plain.String() {
						t.Fatalf("%v ± %v on %d columns: a line of %d:\n%s", x, half, columns, n, out.String())
					}
				}
			}
		}
	}
}
