package doc_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"heddle/harness/doc"
)

// TestCells has each kind of cell in words, as text and Markdown have it, and plain,
// as CSV has it.
func TestCells(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []struct {
		cell        doc.Cell
		text, plain string
	}{
		{doc.Number(0, "s"), "0 s", "0"},
		{doc.Number(-0.00001, "s"), "0 s", "-1e-05"},
		{doc.Number(1.23456, "s"), "1.235 s", "1.23456"},
		{doc.Number(0.123456, "s"), "0.123 s", "0.123456"},
		{doc.Number(12.3456, "s"), "12.35 s", "12.3456"},
		{doc.Number(999.96, "s"), "1000 s", "999.96"},
		{doc.Number(99.995, "%"), "100.0 %", "99.995"},
		{doc.Number(123456.7, "s"), "123457 s", "123456.7"},
		{doc.Number(-45.678, "s"), "-45.68 s", "-45.678"},
		{doc.Number(nan, "s"), "-", ""},
		{doc.Number(3.14159, ""), "3.142", "3.14159"},
		{doc.Number(3.14159, "x").Short(), "3.14 x", "3.14159"},
		{doc.Number(3.14159, "x").Rounded(1), "3.1 x", "3.14159"},
		{doc.Count(1234567), "1234567", "1234567"},
		{doc.Count(uint64(7)), "7", "7"},
		{doc.Fixed(2, 2, "s"), "2.00 s", "2"},
		{doc.Signed(2, 1, "points"), "+2.0 points", "2"},
		{doc.Signed(0.04, 1, "%"), "0 %", "0.04"},
		{doc.Signed(-2, 1, "points"), "-2.0 points", "-2"},
		{doc.Duration(754_321), "12m34s", "754.321"},
		{doc.Share(349, 350), "349 of 350", "99.71428571428571"},
		{doc.Share(0, 0), "0 of 0", "0"},
		{doc.Estimate(45.5, 45.314, 59.03, "s"), "45.50 s [45.31, 59.03]", "45.5"},
		{doc.Estimate(45.5, -inf, inf, "s"), "45.50 s", "45.5"},
		{doc.Estimate(45.5, nan, nan, "s"), "45.50 s", "45.5"},
		{doc.Estimate(nan, 1, 2, "s"), "-", ""},
		{doc.Difference(-22.46, -27.2, -17.5, "%").After("p<0.001"), "-22.5 % [-27.2, -17.5] p<0.001", "-22.46"},
		{doc.Difference(0.4, -1, 1.8, "%").As("~"), "~ [-1.0, +1.8]", "0.4"},
		{doc.Difference(4, -99.4, 13608.3, "%").As("~").After("p=1.000"), "~ [-99.4, > +999] p=1.000", "4"},
		{doc.Words(""), "", ""},
		{doc.Wordsf("%d%%", 5), "5%", "5%"},
	} {
		if got := x.cell.String(); got != x.text {
			t.Errorf("text %q, want %q", got, x.text)
		}
		var out strings.Builder
		mustDo(t, doc.WriteCSV(&out, doc.Doc{&doc.Table{Columns: []string{"x"}, Rows: [][]doc.Cell{{x.cell}}}}))
		rows, err := csv.NewReader(strings.NewReader(out.String() + "\n")).ReadAll()
		got := ""
		if len(rows) > 1 {
			got = rows[1][0]
		}
		if err != nil || got != x.plain {
			t.Errorf("%s: plain %q, %v; want %q", x.text, got, err, x.plain)
		}
	}
}

// TestNumberKeepsItsSize has a shown number be within half a unit of its last digit of
// the number, and have four digits if it is from 1 to 10,000.
func TestNumberKeepsItsSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e9, 1e9).Draw(t, "x") * math.Pow10(rapid.IntRange(-9, 0).Draw(t, "power"))
		text := doc.Number(x, "").String()
		back, err := strconv.ParseFloat(text, 64)
		_, decimals, _ := strings.Cut(text, ".")
		last := math.Pow10(-len(decimals))
		if text == "0" {
			last = 1e-3
		}
		if err != nil || math.Abs(back-x) > last/2*(1+1e-6) {
			t.Fatalf("%v is shown as %s: off by more than half of %v", x, text, last)
		}
		if digits := len(strings.Trim(strings.ReplaceAll(text, ".", ""), "-")); math.Abs(x) >= 1 && math.Abs(x) < 9999 && digits != 4 {
			t.Fatalf("%v is shown as %s: %d digits, want 4", x, text, digits)
		}
	})
}

// table draws a table with cells of any kind, some rows shorter than others.
func table(t *rapid.T) *doc.Table {
	x := &doc.Table{}
	for k := range rapid.IntRange(1, 5).Draw(t, "columns") {
		x.Columns = append(x.Columns, fmt.Sprintf("column %d", k))
	}
	words := rapid.StringOfN(rapid.RuneFrom([]rune("ab|<>&\"'`\\ \n\té世🙂-")), 0, 12, -1)
	for range rapid.IntRange(1, 6).Draw(t, "rows") {
		var row []any
		for range rapid.IntRange(0, len(x.Columns)).Draw(t, "cells") {
			v := rapid.Float64Range(-1e4, 1e4).Draw(t, "value")
			row = append(row, rapid.SampledFrom([]doc.Cell{
				doc.Words(words.Draw(t, "words")), doc.Number(v, "s"), doc.Estimate(v, v-1, v+1, "s"), doc.Estimate(v, math.Inf(-1), math.Inf(1), "%"),
				doc.Difference(v, v-2, v+2, "%").After(words.Draw(t, "after")), doc.Count(7), doc.Number(math.NaN(), "s"),
			}).Draw(t, "cell"))
		}
		x.Add(row...)
	}
	return x
}

var unescapedPipe = regexp.MustCompile(`(^|[^\\])(\\\\)*\|`)

// TestFormsOfAnyTable has every form keep the shape of any table: as many rows and
// columns as it has, and no name that gets out of its cell.
func TestFormsOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := table(t)
		write := func(format string) string {
			var out bytes.Buffer
			if err := doc.Write(&out, format, doc.Doc{x}, false); err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(out.Bytes()) {
				t.Fatalf("%s is no UTF-8", format)
			}
			return out.String()
		}
		if lines := strings.Split(strings.TrimSuffix(write("text"), "\n"), "\n"); len(lines) != len(x.Rows)+1 {
			t.Fatalf("text of %d lines, want %d", len(lines), len(x.Rows)+1)
		}
		lines := strings.Split(strings.TrimSuffix(write("markdown"), "\n"), "\n")
		if len(lines) != len(x.Rows)+2 {
			t.Fatalf("Markdown of %d lines, want %d", len(lines), len(x.Rows)+2)
		}
		for _, line := range lines {
			if pipes := len(unescapedPipe.FindAllString(line, -1)); strings.Contains(line, "<") || !strings.Contains(line, `\`) &&
				pipes != len(x.Columns)+1 {
				t.Fatalf("Markdown %q: %d columns, want %d, and no HTML", line, pipes-1, len(x.Columns))
			}
		}
		rows, err := csv.NewReader(strings.NewReader(write("csv"))).ReadAll()
		if err != nil || len(rows) > len(x.Rows)+1 { // an empty line is a row of one empty column, which readers drop
			t.Fatalf("CSV of %d rows, %v; want %d", len(rows), err, len(x.Rows)+1)
		}
		count := map[string]int{}
		for tokens := html.NewTokenizer(strings.NewReader(write("html"))); ; {
			kind := tokens.Next()
			if kind == html.ErrorToken {
				if tokens.Err() != io.EOF {
					t.Fatal(tokens.Err())
				}
				break
			}
			name, _ := tokens.TagName()
			switch kind {
			case html.StartTagToken:
				count[string(name)]++
			case html.EndTagToken:
				count["/"+string(name)]++
			}
		}
		if count["tr"] != len(x.Rows)+1 || count["tr"] != count["/tr"] || count["td"] != count["/td"] || count["b"] > 0 || count["a"] > 0 {
			t.Fatalf("HTML has tags %v, want %d rows and nothing of a name's", count, len(x.Rows)+1)
		}
	})
}

// TestLinesAreShort has texts broken into lines that a terminal can show, without a
// word more or less.
func TestLinesAreShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,30}`), 1, 60).Draw(t, "words")
		first := rapid.SampledFrom([]string{"", "- ", "warning: "}).Draw(t, "first")
		var out strings.Builder
		doc.Wrap(&out, first, strings.Join(words, " "))
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Fatalf("a line of %d characters: %q", n, line)
			}
		}
		if got := strings.Fields(strings.TrimPrefix(out.String(), first)); strings.Join(got, " ") != strings.Join(words, " ") {
			t.Fatalf("%q became %q", words, got)
		}
	})
}

// TestGridOfCharts has a chart's points within its frame, whatever they are.
func TestGridOfCharts(t *testing.T) {
	points, bar := regexp.MustCompile(`[" ][0-9.]+,([0-9.]+)`),
		regexp.MustCompile(`<rect class="kf[0-9]" fill="[^"]*" x="[^"]*" y="([^"]*)" width="[^"]*" height="[^"]*" fill-opacity=".8" data-column`)
	grid := regexp.MustCompile(`<line class="grid" x1="[^"]*" y1="([^"]*)"`)
	rapid.Check(t, func(t *rapid.T) {
		power := math.Pow10(rapid.IntRange(-6, 6).Draw(t, "power"))
		kind := rapid.SampledFrom([]doc.ChartKind{doc.Lines, doc.Bars}).Draw(t, "kind")
		c := &doc.Chart{Columns: []string{"a", "b"}, Kind: kind}
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			var values []doc.Point
			for range c.Columns {
				v := rapid.Float64Range(-100, 100).Draw(t, "value") * power
				values = append(values, doc.Point{Value: v, Lo: v - power, Hi: v + power})
			}
			c.Rows = append(c.Rows, doc.ChartRow{Name: "<row>", Points: values})
		}
		var out strings.Builder
		if err := doc.WriteSVG(&out, c); err != nil {
			t.Fatal(err)
		}
		_, plot := divided(out.String())
		lines := grid.FindAllStringSubmatch(plot, -1)
		bottom, _ := strconv.ParseFloat(lines[0][1], 64)
		top, _ := strconv.ParseFloat(lines[len(lines)-1][1], 64)
		found := points.FindAllStringSubmatch(plot, -1)
		if kind == doc.Bars {
			found = bar.FindAllStringSubmatch(plot, -1)
		}
		for _, m := range found {
			if at, err := strconv.ParseFloat(m[1], 64); err != nil || at < top || at > bottom {
				t.Fatalf("a point at %s, want it from %v to %v", m[1], top, bottom)
			}
		}
		if n := len(lines); len(found) != 2*len(c.Rows) || n < 2 || n > 9 || strings.Contains(out.String(), "<row>") {
			t.Fatalf("%d points and %d lines of the grid:\n%s", len(found), len(lines), out.String())
		}
	})
}
