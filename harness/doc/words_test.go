package doc

import (
	"strings"
	"testing"

	"heddle/traces/errtest"
)

// TestGlossary has a page explain the words that it uses, and no others, and lead to them.
func TestGlossary(t *testing.T) {
	table := &Table{Name: "t", Columns: []string{"model", "noise floor"}}
	table.Add(Words("makespan"), Count(1))
	var out strings.Builder
	errtest.None(t, WritePage(&out, Doc{
		Heading("page"), Text("It is not told."), table, Heading("Words"),
		Glossary{{"unused", "x"}, {"not told", "y"}, {"Noise floor", "z"}, {"makespan", "<b>"}},
	}))
	page := out.String()
	for want, times := range map[string]int{
		"<dt>unused</dt>": 0, `<div id="w2"><dt>not told</dt><dd>y</dd></div>`: 1,
		`<th scope="col" class="number"><a class="term" href="#w3" title="z">noise floor</a></th>`: 1, `<div id="w3">`: 1,
		`<a class="term" href="#w4" title="&lt;b&gt;">makespan</a></th>`: 1, "<dd>&lt;b&gt;</dd>": 1,
	} {
		if got := strings.Count(page, want); got != times {
			t.Errorf("%q is %d times in the page, want %d", want, got, times)
		}
	}
}

// TestWholeWords has numbers stay with their units, and single words whole, if they are no
// longer than names and hashes are.
func TestWholeWords(t *testing.T) {
	for text, want := range map[string]string{
		"took 5.8 % of 12 MiB [1.5, 2] in 3 steps": "took 5.8\u00a0% of 12\u00a0MiB [1.5,\u00a02] in 3 steps",
		"3 seconds of 4 s":                         "3 seconds of 4\u00a0s",
	} {
		if got := joined(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for words, want := range map[string]string{
		"r05-wordcount-yarn": "whole", strings.Repeat("a", 64): "whole token",
		strings.Repeat("a", 10_000): "", "two words": "", strings.Repeat("words ", 10): "long",
	} {
		if got := Words(words).width(false); got != want {
			t.Errorf("%.20q is %q, want %q", words, got, want)
		}
	}
}

// TestNothingKnown has a page leave out a column of which nothing is known.
func TestNothingKnown(t *testing.T) {
	x := &Table{Columns: []string{"node", "cores", "maps"}}
	x.Add(Words("a"), Words("-"), Count(1))
	x.Add(Words("b"), Words("-"))
	if got := x.known(); len(got.Columns) != 2 || got.Rows[0][1].String() != "1" || len(got.Rows[1]) != 1 || len(x.Columns) != 3 {
		t.Errorf("%q %q", got.Columns, got.Rows)
	}
}
