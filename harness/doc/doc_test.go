package doc_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/traces/errtest"
)

// sample has each kind of part and cell, and names that mean something to a
// terminal, to Markdown, to a spreadsheet or to a browser.
func sample() doc.Doc {
	times := &doc.Table{Name: "times", Columns: []string{"model", "makespan", "n", "vs yarn"}}
	times.Add(doc.Words("yarn"), doc.Estimate(45.5, 45.314, 59.03, "s"), doc.Count(6))
	times.Add(doc.Words("yarn-cached"), doc.Estimate(137.204, 132.9, 1044.49, "s"), doc.Count(12),
		doc.Difference(-22.46, -27.2, -17.5, "%").After("p<0.001").In(doc.Good))
	times.Add(doc.Words("a|b <script>"), doc.Estimate(3.2, math.Inf(-1), math.Inf(1), "s"), doc.Count(1),
		doc.Difference(4, math.Inf(-1), math.Inf(1), "%"))
	times.Add(doc.Words("nothing"), doc.Number(math.NaN(), "s"), doc.Count(0))
	phases := &doc.Table{Name: "phases", Columns: []string{"phase", "median", "done", "change"}}
	phases.Add(doc.Words("map, \"read\""), doc.Duration(35.24), doc.Fixed(99.5, 1, "%"), doc.Signed(0.2, 1, "points"))
	phases.Add(doc.Words("节点"), doc.Duration(754_321), doc.Fixed(100, 1, "%"), doc.Signed(-12, 1, "points").In(doc.Bad))
	facts := &doc.Table{Name: "facts", Columns: []string{"", ""}}
	facts.Add(doc.Words("read"), doc.Bytes(68_366_643))
	facts.Add(doc.Words("honoured"), doc.Share(38, 40).After("[77.4, 99.1]"))
	facts.Add(doc.Words("vs yarn"), doc.Difference(0.4, -1, 1.8, "%").As("~"))
	return doc.Doc{
		doc.Heading("Two tables"), doc.Text("Medians with their 95 % interval. " + strings.Repeat("Long texts are broken into lines. ", 4)),
		times,
		doc.Notes{"drifts", "few repeats", "drifts", "drifts"},
		phases,
		doc.Warnings{"<not> calibrated"},
		facts,
		doc.List{"one", "<b>two</b>"},
		&doc.Table{Columns: []string{"no rows, therefore not written"}},
	}
}

func TestFormats(t *testing.T) {
	for _, format := range doc.Formats {
		var out bytes.Buffer
		mustDo(t, doc.Write(&out, format, sample(), false))
		golden.Check(t, filepath.Join("testdata", format+".txt"), out.Bytes())
	}
	errtest.Has(t, doc.Write(&bytes.Buffer{}, "pdf", nil, false), "markdown")
}

// TestHostileNames has names that a terminal would obey, or that look like lines of
// their own.
func TestHostileNames(t *testing.T) {
	const name = "a\nheddle: forged\x1b[2J\u202e"
	d := doc.Doc{
		doc.Heading(name), doc.Text(name),
		doc.List{name},
		&doc.Table{Columns: []string{name}, Rows: [][]doc.Cell{{doc.Words(name)}}},
		doc.Notes{name},
	}
	for _, colour := range []bool{false, true} {
		var out bytes.Buffer
		mustDo(t, doc.WriteText(&out, d, colour))
		if text := out.String(); strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\nheddle:") {
			t.Errorf("colour %v: a terminal would obey\n%q", colour, text)
		}
	}
}

// TestColour has the terminal's codes only around cells with a tone, and columns as
// wide as without them.
func TestColour(t *testing.T) {
	var plain, coloured bytes.Buffer
	mustDo(t, doc.WriteText(&plain, sample(), false))
	mustDo(t, doc.WriteText(&coloured, sample(), true))
	if !strings.Contains(coloured.String(), "\x1b[32m-22.5 %\x1b[0m") {
		t.Errorf("the good cell has no colour:\n%q", coloured.String())
	}
	stripped := coloured.String()
	for _, code := range []string{"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[90m", "\x1b[0m"} {
		stripped = strings.ReplaceAll(stripped, code, "")
	}
	if d := cmp.Diff(plain.String(), stripped); d != "" {
		t.Errorf("colours change the layout:\n%s", d)
	}
}

// TestFormulasInCSV has a spreadsheet take no text for a formula, and leave numbers alone.
func TestFormulasInCSV(t *testing.T) {
	table := &doc.Table{Columns: []string{"=head", "x"}}
	for _, text := range []string{"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "-5", "+1.5", "-", "plain"} {
		table.Add(doc.Words(text), doc.Count(-3))
	}
	var out strings.Builder
	mustDo(t, doc.WriteCSV(&out, doc.Doc{table}))
	want := "'=head,x\n'=cmd|' /C calc'!A0,-3\n'+1+1,-3\n'-2+3,-3\n'@SUM(A1),-3\n'\tx,-3\n-5,-3\n+1.5,-3\n-,-3\nplain,-3\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestUnitsInCSV: numbers of different units in a column keep theirs.
func TestUnitsInCSV(t *testing.T) {
	table := &doc.Table{Columns: []string{"what", "asked", "got"}}
	table.Add(doc.Words("input"), doc.Bytes(8<<20), doc.Words("-"))
	table.Add(doc.Words("arrivals"), doc.Count(2), doc.Duration(1500))
	table.Add(doc.Words("locality"), doc.Number(math.NaN(), ""), doc.Duration(math.NaN()))
	var out strings.Builder
	mustDo(t, doc.WriteCSV(&out, doc.Doc{table}))
	const want = "what,asked,asked unit,got (s)\ninput,8388608,B,\narrivals,2,,1.5\nlocality,,,\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestChartOfZeros: without anything to measure by, the grid is that of 0 to 1.
func TestChartOfZeros(t *testing.T) {
	var out bytes.Buffer
	c := &doc.Chart{Columns: []string{"a", "b"}, Rows: []doc.ChartRow{{Name: "none", Points: []doc.Point{{}, {Value: math.NaN()}}}}}
	mustDo(t, doc.WriteSVG(&out, c))
	if svg := out.String(); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || !strings.Contains(svg, ` 286.0m-3.6`) {
		t.Errorf("want the point on the axis, got\n%s", svg)
	}
}

func TestDurationText(t *testing.T) {
	for _, x := range []struct {
		ms   float64
		want string
	}{
		{0, "0 s"},
		{35.24, "35.2 ms"},
		{999.9, "999.9 ms"},
		{999.96, "1.00 s"},
		{6980, "6.98 s"},
		{59_994, "59.99 s"},
		{60_000, "1m0s"},
		{86_438_550, "24h0m39s"},
		{math.NaN(), "-"},
	} {
		if got := doc.DurationText(x.ms); got != x.want {
			t.Errorf("%v ms: %q, want %q", x.ms, got, x.want)
		}
	}
}

// TestTables holds for random tables: what a reader of the CSV gets back is what
// was put in, and all rows of the terminal's table end numbers in one column.
func TestTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &doc.Table{Columns: []string{"name", "value", "count"}}
		n := rapid.IntRange(1, 20).Draw(t, "rows")
		var names []string
		var values []float64
		for range n {
			name := rapid.StringMatching(`[a-z,"|<>& é][a-z,"|<>& é-]{0,11}`).Draw(t, "name")
			value := rapid.Float64Range(-1e7, 1e7).Draw(t, "value")
			names, values = append(names, name), append(values, value)
			table.Add(doc.Words(name), doc.Number(value, "s"), doc.Count(rapid.IntRange(0, 1e6).Draw(t, "count")))
		}
		var out bytes.Buffer
		if err := doc.WriteCSV(&out, doc.Doc{table}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != n+1 {
			t.Fatalf("%d rows, error %v", len(rows), err)
		}
		for i, row := range rows[1:] {
			if value, err := strconv.ParseFloat(row[1], 64); row[0] != names[i] || err != nil || value != values[i] {
				t.Fatalf("row %d: %q, want %q and %v", i, row, names[i], values[i])
			}
		}
		out.Reset()
		if err := doc.WriteText(&out, doc.Doc{table}, false); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		for _, line := range lines[1:] { // counts stand last, so that aligned right they end with the line
			if utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[1]) {
				t.Fatalf("lines of different length:\n%s", out.String())
			}
		}
	})
}

var mustDo = errtest.None
