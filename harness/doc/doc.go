// Package doc is the form in which commands hand over results that people read:
// a document of headings, texts, tables, notes and pictures. [WriteText] writes it for
// a terminal, [WriteMarkdown], [WriteCSV] and [WriteHTML] for other places, and
// [WritePage] as a page of its own. So all commands print numbers, units and intervals
// alike.
//
// Pictures are drawn here, as SVG: they need no network and no library, can be printed
// and saved, follow light and dark, and have their numbers beside them for readers who
// do not see them. No module of Go is known that embeds a library of charts and is well
// kept, so the page has a small script of its own, which shows the numbers of a chart
// below the pointer, sorts and filters tables and saves pictures. Without it, everything
// is there.
//
// The package computes no figure: it gets values and formats them. It writes no
// JSON either: the keys of JSON are promises of the commands, and follow their
// reports and not their tables.
package doc

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Doc is a document: its parts in the order in which they are read.
type Doc []Part

// Part is a part of a document: words, a *[Table], or what only pages show, such as a
// *[Chart].
type Part interface{ part() }

// Heading is the title of the parts that follow it.
type Heading string

// Subheading is the title of some of the parts below a heading.
type Subheading string

// Lead is the sentence that says what came out.
type Lead string

// Text is a paragraph. Writers break its lines where they need to.
type Text string

// List is a list of short texts.
type List []string

// Command is a command line that a reader can repeat: its words.
type Command []string

// Notes are remarks that stand below what they are about. Equal notes are written
// once, with how often they were given.
type Notes []string

// Warnings are like [Notes], and say why a result may not be as it looks.
type Warnings []string

// Facts are a few short properties, each with its name.
type Facts []Fact

// Fact is one of the Facts.
type Fact struct{ Name, Value string }

// Glossary explains words. A page has those that it uses at its end, and links to them from
// the names of columns, rows and facts. Other forms leave it out.
type Glossary []Term

// Term is one of the words of a Glossary.
type Term struct{ Name, Text string }

// Fold are parts that a page shows when a reader asks for them.
type Fold struct {
	Title string
	Parts Doc
}

// Table is a table. Each row has a cell for each column, or fewer. A table whose
// columns have no names is written without a head: its first column says what the
// second has.
type Table struct {
	// Name tells the rows of several tables apart in a CSV file. It may be empty.
	Name    string
	Columns []string
	Rows    [][]Cell
	// Sorted says that readers of a page can sort and search the rows.
	Sorted bool
	// Heat says that the tone of a cell is its background, so that many cells are seen at
	// once. Only pages show such a table; there has to be one beside it.
	Heat bool
	// Says says that the last column has sentences without which the others are not
	// understood. Pages have it second, where no screen cuts it off.
	Says bool
}

func (Heading) part()    {}
func (Subheading) part() {}
func (Lead) part()       {}
func (Text) part()       {}
func (List) part()       {}
func (Command) part()    {}
func (Notes) part()      {}
func (Warnings) part()   {}
func (Facts) part()      {}
func (Glossary) part()   {}
func (*Fold) part()      {}
func (*Table) part()     {}

// NewTable returns a table without rows.
func NewTable(name string, columns ...string) *Table { return &Table{Name: name, Columns: columns} }

// Add appends a row to the table: of each value a [Cell] as [CellOf] makes it.
func (t *Table) Add(values ...any) {
	row := make([]Cell, len(values))
	for i, v := range values {
		row[i] = CellOf(v)
	}
	t.Rows = append(t.Rows, row)
}

// filled returns the document without parts that are empty.
func (d Doc) filled() Doc { return slices.DeleteFunc(slices.Clone(d), empty) }

func empty(p Part) bool {
	switch p := p.(type) {
	case *Table:
		return len(p.Rows) == 0
	case Text:
		return p == ""
	case Lead:
		return p == ""
	case List:
		return len(p) == 0
	case Command:
		return len(p) == 0
	case Facts:
		return len(p) == 0
	case *Fold:
		return len(p.Parts.filled()) == 0
	case Files:
		return len(p) == 0
	case *Chart:
		return len(p.Rows) == 0
	case *Forest:
		return len(p.Rows) == 0
	}
	_, texts, are := remarks(p)
	return are && len(texts) == 0
}

// tables returns the document without what only pages show, and without headings of
// nothing else: what is folded is in its place, and facts are a table.
func (d Doc) tables() Doc {
	list := d.unfolded()
	var kept Doc
	level := func(i int) int { // of a heading: a lower one stands below it
		if i < len(list) {
			switch list[i].(type) {
			case Heading:
				return 1
			case Subheading:
				return 2
			}
			return 3
		}
		return 0
	}
	for i, p := range list {
		below := i + 1
		for level(i) < 3 && level(below) < 3 && level(below) > level(i) { // a heading below may have something
			below++
		}
		if i == 0 || level(i) == 3 || level(below) == 3 { // the first is the title
			kept = append(kept, p)
		}
	}
	return kept
}

// unfolded returns the document's words and tables.
func (d Doc) unfolded() (list Doc) {
	for _, p := range d.filled() {
		switch p := p.(type) {
		case *Fold:
			list = append(append(list, Subheading(p.Title)), p.Parts.unfolded()...)
		case Facts:
			t := &Table{Name: "facts", Columns: []string{"", ""}}
			for _, f := range p {
				t.Add(Words(f.Name), Words(f.Value))
			}
			list = append(list, t)
		case Lead:
			list = append(list, Text(p))
		case Command:
			list = append(list, Text(p.line()))
		case Files, Glossary, *Embed, *Chart, *Forest:
		default:
			if t, is := p.(*Table); !is || !t.Heat {
				list = append(list, p)
			}
		}
	}
	return list
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// line returns the command as a shell takes it. A program is named without its folder.
func (c Command) line() string {
	words := slices.Clone(c)
	words[0] = filepath.Base(words[0])
	for i, word := range words {
		if !plainWord.MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// headless reports whether the table's columns have no names.
func (t *Table) headless() bool {
	return !slices.ContainsFunc(t.Columns, func(name string) bool { return name != "" })
}

// remarks returns what notes and warnings say, and the word before each. are is
// false if the part is neither.
func remarks(p Part) (word string, texts []string, are bool) {
	switch p := p.(type) {
	case Notes:
		return "note", once(p), true
	case Warnings:
		return "warning", alike(p), true
	}
	return "", nil, false
}

// once returns the texts without repetitions, in the order of their first
// occurrence.
func once(texts []string) []string {
	var list []string
	count := map[string]int{}
	for _, text := range texts {
		if count[text]++; count[text] == 1 {
			list = append(list, text)
		}
	}
	for i, text := range list {
		if count[text] > 1 {
			list[i] = fmt.Sprintf("%s (%d times)", text, count[text])
		}
	}
	return list
}

// fewAlike is the number of texts below which those that differ in numbers alone stay apart.
const fewAlike = 3

// alike returns the texts as once does. Of texts that differ in their numbers alone there
// is one, with the least and the greatest of each number.
func alike(texts []string) []string {
	var list []*form
	forms, of := map[string]*form{}, make([]*form, len(texts))
	for i, text := range texts {
		words := strings.Split(text, " ")
		key := slices.Clone(words)
		for k, word := range words {
			if _, is := number(word); is {
				key[k] = "\x00"
			}
		}
		name := strings.Join(key, " ")
		f := forms[name]
		if f == nil {
			f = &form{least: words, most: slices.Clone(words)}
			forms[name] = f
			list = append(list, f)
		}
		f.add(words)
		of[i] = f
	}
	for _, f := range list {
		f.text = f.join()
	}
	merged := slices.Clone(texts)
	for i, f := range of {
		if f.count >= fewAlike {
			merged[i] = f.text
		}
	}
	return once(merged)
}

// form is what texts have in common that differ in their numbers alone.
type form struct {
	count       int
	least, most []string // their words: each number the least and the greatest
	text        string
}

func number(word string) (float64, bool) {
	x, err := strconv.ParseFloat(word, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// add counts a text of the form.
func (f *form) add(words []string) {
	f.count++
	for k, word := range words {
		x, is := number(word)
		if !is {
			continue
		}
		if least, _ := number(f.least[k]); x < least {
			f.least[k] = word
		}
		if most, _ := number(f.most[k]); x > most {
			f.most[k] = word
		}
	}
}

// join returns the one text that stands for all of the form.
func (f *form) join() string {
	words := slices.Clone(f.least)
	for k := range words {
		if f.most[k] != f.least[k] {
			words[k] += " to " + f.most[k]
		}
	}
	return strings.Join(words, " ")
}

// split says, for each column, whether it has numbers, which are aligned right, and
// whether its cells have something after their number, for which a terminal's table
// has a column of its own.
func (t *Table) split() (numbers, rests []bool) {
	numbers, rests = make([]bool, len(t.Columns)), make([]bool, len(t.Columns))
	for k := range t.Columns {
		has := func(is func(Cell) bool) bool {
			return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return k < len(row) && is(row[k]) })
		}
		numbers[k] = !has(func(c Cell) bool { return c.isWord && c.words != "" && c.words != "-" })
		rests[k] = has(func(c Cell) bool { return c.rest() != "" })
	}
	return numbers, rests
}
