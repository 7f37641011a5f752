package doc_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/net/html"

	"heddle/harness/doc"
)

// hostileNames are names that a server, a trace or another user can give.
var hostileNames = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</td></tr></table>", "&lt;b&gt;", "a|b", `a\|b`, `\`, `end\`, "`x|y`",
	"![x](http://evil/y)", "\x1b[31mred\x1b[0m", "\x1b]0;title\a",
	"\u202egnp.exe", "one\r\ntwo", "\x00", "\xff\xfe", "=1+1", "节点|世", "<!--", "--- | ---", "x\u2028y", "javascript:alert(1)",
}

// everywhere has a name wherever a document can have one.
func everywhere(name string) doc.Doc {
	t := &doc.Table{Name: name, Columns: []string{name, "value"}}
	t.Add(doc.Words(name).In(doc.Bad), doc.Estimate(1, 0, 2, name).After(name))
	t.Add(doc.Number(2, "s").As(name), doc.Words(name))
	c := &doc.Chart{
		Name: name, Title: name, Unit: name, X: name, Columns: []string{name, "b"},
		Rows: []doc.ChartRow{{Name: name, Points: []doc.Point{{Value: 1}, {Value: 2}}}},
	}
	f := &doc.Forest{Title: name, Rows: []doc.ForestRow{{
		Name: name, Unit: name, Verdict: name, Tone: doc.Good,
		Ours: doc.Point{Value: 1, Lo: 0, Hi: 2}, Published: 3,
	}}}
	h := &doc.Table{Heat: true, Columns: []string{name, "b"}, Rows: [][]doc.Cell{{doc.Words(name), doc.Words(name).In(doc.Bad).Detail(name)}}}
	return doc.Doc{doc.Heading(name), doc.Text(name), t, doc.List{name}, doc.Notes{name}, doc.Warnings{name}, c, f, h}
}

// TestNothingIsObeyed has no name be obeyed in any form that is printed: none by a
// terminal, and none by a browser, which sees the tags of the form alone.
func TestNothingIsObeyed(t *testing.T) {
	tags := func(page string) string {
		var list []string
		for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
			switch kind := tokens.Next(); kind {
			case html.ErrorToken:
				return strings.Join(list, " ")
			case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
				name, _ := tokens.TagName()
				list = append(list, fmt.Sprint(kind, " ", string(name)))
			}
		}
	}
	write := func(format, name string) string {
		var out bytes.Buffer
		err := doc.Write(&out, format, everywhere(name), true)
		if format == "page" {
			out.Reset()
			err = doc.WritePage(&out, everywhere(name))
		}
		if err != nil && format != "page" {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, name := range hostileNames {
		for _, format := range []string{"markdown", "html"} {
			for _, r := range write(format, name) {
				if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
					t.Errorf("%s of %q: a terminal would obey %q", format, name, r)
					break
				}
			}
		}
		for _, format := range []string{"html", "page"} {
			if got, want := tags(write(format, name)), tags(write(format, "plain")); got != want {
				t.Errorf("%s of %q has the tags %s, want those of any name: %s", format, name, got, want)
			}
		}
		if m := write("markdown", name); strings.Contains(strings.ReplaceAll(m, "&lt;", ""), "<") {
			t.Errorf("Markdown of %q has HTML:\n%s", name, m)
		}
	}
}

// cells splits a row of a table as GitHub does: at pipes that no backslash escapes.
func cells(row string) (list []string) {
	cell, escaped := "", false
	for _, r := range row {
		switch {
		case escaped:
			cell, escaped = cell+string(r), false
		case r == '\\':
			escaped = true
		case r == '|':
			list, cell = append(list, strings.TrimSpace(cell)), ""
		default:
			cell += string(r)
		}
	}
	return append(list, strings.TrimSpace(cell))
}

// TestMarkdownCells has a name in a table's cell be that cell, whatever it is.
func TestMarkdownCells(t *testing.T) {
	for _, name := range hostileNames {
		if strings.ContainsFunc(name, func(r rune) bool {
			return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl) || r == unicode.ReplacementChar
		}) {
			continue // these are escaped, see TestNothingIsObeyed
		}
		table := &doc.Table{Columns: []string{name, "value"}, Rows: [][]doc.Cell{{doc.Words(name), doc.Words("x")}}}
		var out strings.Builder
		mustDo(t, doc.WriteMarkdown(&out, doc.Doc{table}))
		lines := strings.Split(out.String(), "\n")
		for _, line := range []string{lines[0], lines[2]} {
			got := cells(line)
			for i := range got {
				got[i] = html.UnescapeString(got[i])
			}
			if len(got) != 4 || got[1] != name {
				t.Errorf("%q in a table is %q, of the cells %q", name, line, got)
			}
		}
	}
}

// TestWideCharacters has columns begin at the same place on a terminal, where characters
// of some scripts take two places, and lines be no longer than others.
func TestWideCharacters(t *testing.T) {
	table := &doc.Table{Columns: []string{"name", "value"}}
	for _, name := range []string{"a", "节点", "ノード名前", "é", "plain and long"} {
		table.Add(doc.Words(name), doc.Words("x"))
	}
	var out strings.Builder
	mustDo(t, doc.WriteText(&out, doc.Doc{table, doc.Notes{strings.Repeat("节点世界 ", 40)}}, false))
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if before, _, ok := strings.Cut(line, "x"); i > 0 && ok && text.StringWidth(before) != len("plain and long  ") {
			t.Errorf("%q: its second column begins after %d places, want %d", line, text.StringWidth(before), len("plain and long  "))
		}
		if n := text.StringWidth(line); n > 100 {
			t.Errorf("a line takes %d places: %q", n, line)
		}
	}
}

// TestChartsOfAnything has a picture be well formed and without numbers that are none,
// whatever its points are.
func TestChartsOfAnything(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, points := range map[string][]doc.Point{
		"endless": {{Value: inf}, {Value: -inf}}, "no number": {{Value: nan}, {Value: nan, Lo: nan, Hi: nan}},
		"half an interval":    {{Value: 1, Lo: -inf, Hi: 2}, {Value: 2, Lo: 1, Hi: nan}},
		"one of them endless": {{Value: 5, Lo: 4, Hi: 6}, {Value: inf, Lo: 1, Hi: 2}},
		"huge":                {{Value: math.MaxFloat64}, {Value: -math.MaxFloat64}}, "tiny": {{Value: 5e-324}, {Value: 0}}, "none": nil,
		"turned round": {{Value: 1, Lo: 2, Hi: 0}, {}},
	} {
		for i, x := range hostileNames {
			var out strings.Builder
			kind := doc.ChartKind(i % 4)
			c := &doc.Chart{
				Title: x, X: x, Kind: kind, At: []float64{1, math.NaN()}, Columns: []string{x, "b"},
				Rows: []doc.ChartRow{{Name: x, Points: points, Published: []float64{math.NaN(), math.Inf(1), 3}}},
			}
			mustDo(t, doc.WriteSVG(&out, c))
			if err := xml.Unmarshal([]byte(out.String()), new(struct{ XMLName xml.Name })); err != nil {
				t.Errorf("%s, %q: %v", name, x, err)
			}
			if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
				t.Errorf("%s: a number that is none:\n%s", name, out.String())
				break
			}
		}
	}
}
