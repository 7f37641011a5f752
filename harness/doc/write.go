package doc

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"heddle/traces/printable"
)

// Formats are the names of the forms in which [Write] writes a document.
var Formats = []string{"text", "markdown", "csv", "html"}

// Write writes a document in the named format. With colour set, text shows tones
// by the terminal's colours. Control characters in what the document says are
// escaped, so that a terminal does not obey them.
func Write(out io.Writer, format string, d Doc, colour bool) error {
	switch format {
	case "text", "":
		return WriteText(out, d, colour)
	case "markdown":
		return WriteMarkdown(out, d)
	case "csv":
		return WriteCSV(out, d)
	case "html":
		return WriteHTML(out, d)
	}
	return fmt.Errorf("write document: unknown format %q; want %s", format, strings.Join(Formats, ", "))
}

// width is the length of lines into which texts are broken.
const width = 100

// WriteText writes a document as text. With colour set, tones show as a terminal's colours.
func WriteText(out io.Writer, d Doc, colour bool) error {
	w := bufio.NewWriter(out)
	afterHeading := false
	for i, p := range d.tables() {
		word, texts, are := remarks(p)
		if i > 0 && !are && !afterHeading {
			fmt.Fprintln(w)
		}
		afterHeading = false
		switch p := p.(type) {
		case Heading:
			fmt.Fprintln(w, printable.Line(string(p)))
			afterHeading = true
		case Subheading:
			fmt.Fprintln(w, printable.Line(string(p)))
			afterHeading = true
		case Text:
			Wrap(w, "", string(p))
		case List:
			for _, text := range p {
				Wrap(w, "- ", text)
			}
		case *Table:
			fmt.Fprintln(w, p.text(colour))
		}
		for _, text := range texts {
			Wrap(w, word+": ", text)
		}
	}
	return w.Flush()
}

// Wrap writes a text in lines of limited length. A line feed in it is escaped, since
// it is that of a name. The first line begins with the
// text first, and the others are indented by as much.
func Wrap(w io.Writer, first, text string) {
	indent := strings.Repeat(" ", places(first))
	line, fresh := first, true
	for _, word := range strings.Split(printable.Line(text), " ") {
		if !fresh && places(line)+1+places(word) > width {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line, fresh = indent, true
		}
		if !fresh {
			line += " "
		}
		line, fresh = line+word, false
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// places returns how many places a text takes on a terminal, where characters of some
// scripts take two.
func places(s string) int { return text.StringWidth(s) }

var tones = map[Tone]text.Colors{
	Good: {text.FgGreen}, Fair: {text.FgCyan}, Bad: {text.FgRed}, Opposite: {text.FgMagenta}, Notable: {text.FgYellow},
	Faint: {text.FgHiBlack},
}

// text lays the table out in columns, two spaces apart.
func (t *Table) text(colour bool) string {
	w := table.NewWriter()
	w.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: "  "}, Options: table.OptionsNoBordersAndSeparators})
	w.SuppressTrailingSpaces()
	numbers, rests := t.split()
	var head table.Row
	var configs []table.ColumnConfig
	column := func(name string, right bool) {
		head = append(head, printable.Line(name))
		c := table.ColumnConfig{Number: len(head)}
		if right {
			c.Align, c.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, c)
	}
	for k, name := range t.Columns {
		column(name, numbers[k])
		if rests[k] {
			column("", false)
		}
	}
	w.SetColumnConfigs(configs)
	if !t.headless() {
		w.AppendRow(head)
	}
	for _, row := range t.Rows {
		var cells table.Row
		add := func(c Cell, s string) {
			s = printable.Line(s) // before the colours, which are control characters too
			if colour && c.tone != "" && s != "" {
				s = tones[c.tone].Sprint(s)
			}
			cells = append(cells, s)
		}
		for k := range t.Columns {
			c := cell(row, k)
			add(c, c.main())
			if rests[k] {
				add(c, c.rest())
			}
		}
		w.AppendRow(cells)
	}
	return w.Render()
}

// WriteMarkdown writes a document as Markdown.
func WriteMarkdown(out io.Writer, d Doc) error {
	w := bufio.NewWriter(out)
	for i, p := range d.tables() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		switch p := p.(type) {
		case Heading:
			fmt.Fprintf(w, "## %s\n", oneLine(string(p)))
		case Subheading:
			fmt.Fprintf(w, "### %s\n", oneLine(string(p)))
		case Text:
			fmt.Fprintln(w, oneLine(string(p)))
		case List:
			for _, text := range p {
				fmt.Fprintf(w, "- %s\n", oneLine(text))
			}
		case *Table:
			p.markdown(w)
		}
		word, texts, _ := remarks(p)
		for _, text := range texts {
			fmt.Fprintf(w, "- %s: %s\n", word, oneLine(text))
		}
	}
	return w.Flush()
}

func (t *Table) markdown(w io.Writer) {
	numbers, _ := t.split()
	row := func(each func(k int) string) {
		for k := range t.Columns {
			fmt.Fprintf(w, "| %s ", inCell.Replace(oneLine(each(k))))
		}
		fmt.Fprintln(w, "|")
	}
	row(func(k int) string { return t.Columns[k] })
	row(func(k int) string {
		if numbers[k] {
			return "---:"
		}
		return "---"
	})
	for _, cells := range t.Rows {
		row(func(k int) string { return cell(cells, k).String() })
	}
}

// inCell keeps a text in its cell: a pipe would end it, unless a backslash stands before
// the pipe, which itself must not be escaped by another one.
var inCell = strings.NewReplacer(`\`, `\\`, "|", `\|`)

// oneLine returns the text in one line, without what Markdown would take for HTML, and
// what a terminal would obey.
func oneLine(text string) string {
	return strings.NewReplacer("<", "&lt;", "&", "&amp;").Replace(printable.Line(strings.Join(strings.Fields(text), " ")))
}

// WriteCSV writes the document's tables as CSV, without its texts and notes.
// Several tables stand below each other with an empty line between them; the first
// column then has the table's name. A column with intervals becomes three: value, lower and
// upper bound. Numbers are plain, and units stand in the columns' names, or in a
// column of their own if they differ. "-" among numbers is an empty cell. A text that a
// spreadsheet would take for a formula has a quote before it.
func WriteCSV(out io.Writer, d Doc) error {
	var tables []*Table
	for _, p := range d.tables() {
		if t, ok := p.(*Table); ok {
			tables = append(tables, t)
		}
	}
	w := csv.NewWriter(out)
	for i, t := range tables {
		if i > 0 {
			w.Flush()
			if _, err := io.WriteString(out, "\n"); err != nil {
				return err
			}
		}
		for _, row := range t.csv(len(tables) > 1) {
			_ = w.Write(row) // a failed write is not checked here, since w.Error returns it at the end
		}
	}
	w.Flush()
	return w.Error()
}

func (t *Table) csv(named bool) [][]string {
	rows := make([][]string, 1+len(t.Rows)) // the first is the head
	if named {
		for i := range rows {
			rows[i] = []string{printable.Cell(t.Name)}
		}
		rows[0] = []string{"table"}
	}
	for k := range t.Columns {
		names, of := t.csvColumn(k)
		rows[0] = append(rows[0], names...)
		for i, row := range t.Rows {
			rows[i+1] = append(rows[i+1], of(cell(row, k))...)
		}
	}
	if t.headless() {
		return rows[1:]
	}
	return rows
}

// csvColumn returns the names of the columns that column k becomes, and what these have of
// a cell.
func (t *Table) csvColumn(k int) (names []string, of func(Cell) []string) {
	if t.headless() { // no name to say the unit
		return nil, func(c Cell) []string {
			if c.isWord {
				return []string{printable.Cell(c.String())}
			}
			return []string{c.String()}
		}
	}
	unit, figures, mixed, intervals, afters := t.contents(k)
	name := printable.Cell(t.Columns[k])
	if unit = strings.TrimSuffix(" ("+unit+")", " ()"); mixed {
		unit = ""
	}
	names = []string{name + unit}
	if mixed {
		names = append(names, name+" unit")
	}
	if intervals {
		names = append(names, name+" lo"+unit, name+" hi"+unit)
	}
	if afters {
		names = append(names, name+" note")
	}
	return names, func(c Cell) []string {
		if figures && c.isWord && c.words == "-" {
			c = Words("")
		}
		list := []string{c.plain()}
		if mixed {
			list = append(list, c.unit)
		}
		if intervals {
			list = append(list, c.plainBounds()...)
		}
		if afters {
			list = append(list, printable.Cell(c.after))
		}
		return list
	}
}

// contents returns the unit of the numbers of column k, and whether it has numbers, of different
// units, with intervals, with words behind them.
func (t *Table) contents(k int) (unit string, figures, mixed, intervals, afters bool) {
	first := true
	for _, row := range t.Rows {
		c := cell(row, k)
		figures, intervals, afters = figures || c.isNumber(), intervals || c.interval, afters || c.after != ""
		if c.isNumber() && !math.IsNaN(c.value) {
			mixed = mixed || !first && c.unit != unit
			unit, first = c.unit, false
		}
	}
	return unit, figures, mixed, intervals, afters
}

// plainBounds returns the bounds of the cell's interval, empty if it has none.
func (c Cell) plainBounds() []string {
	if c.interval && c.bounded {
		return []string{plain(c.lo), plain(c.hi)}
	}
	return []string{"", ""}
}

// cell returns a cell of a row, empty if the row is too short.
func cell(row []Cell, k int) Cell {
	if k < len(row) {
		return row[k]
	}
	return Words("")
}

// plain returns the cell's value without unit and interval, for other programs.
func (c Cell) plain() string {
	if c.isWord {
		return printable.Cell(c.words)
	}
	return plain(c.value)
}

// plain formats x with all its digits, and as an empty text if it is not a number.
func plain(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
