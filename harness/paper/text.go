package paper

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// WriteText prints each figure or table with the published numbers, then the
// verdicts on the claims, and how the paper was read.
func (r *Report) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s\n%s\n", r.Title, r.Source)
	if r.Live == nil {
		fmt.Fprintf(w, "reading: %s; %d seeds from %d; means with their 95 %% interval over seeds\n", r.Reading, r.Seeds, r.Seed)
	}
	if r.Summary != "" {
		fmt.Fprintln(w)
		wrap(w, "", r.Summary)
	}
	for _, f := range r.Figures {
		fmt.Fprintln(w)
		f.writeText(w)
	}
	if r.Live != nil {
		fmt.Fprintln(w)
		r.Live.writeText(w)
	}
	if len(r.Criteria) > 0 {
		fmt.Fprintf(w, "\nwhat the paper claims\n")
	}
	for i := range r.Criteria {
		r.Criteria[i].writeText(w)
	}
	if r.Live == nil {
		fmt.Fprintf(w, "\nhow the paper is read here; --set NAME=VALUE changes it\n")
		for _, a := range r.Axes {
			wrap(w, "  "+a.Name+"="+a.Taken+": ", a.text())
		}
		fmt.Fprintf(w, "\nthe set-up\n")
		for _, f := range r.Facts {
			text := f.Is
			if f.Why != "" {
				text += " (" + f.Why + ")"
			}
			wrap(w, "  "+f.Item+": ", text)
		}
	}
	return w.Flush()
}

// text says what an axis is, where its value is from and which others there are.
func (a *AxisTaken) text() string {
	text := a.About
	if a.Mark != "" {
		text += "; " + string(a.Mark)
	}
	if a.Why != "" {
		text += ": " + a.Why
	}
	var others []string
	for _, v := range a.Values {
		if v.Value != a.Taken {
			others = append(others, fmt.Sprintf("%s (%s)", v.Value, v.Mark))
		}
	}
	if len(others) > 0 {
		text += "; or " + strings.Join(others, ", ")
	}
	if a.Sets != "" {
		text += "; sets " + a.Sets
	}
	return text
}

func (f *Figure) writeText(w *bufio.Writer) {
	fmt.Fprintf(w, "%s  %s%s\n", f.ID, f.Title, inUnit(f.Unit))
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tabs, "  \t%s\n", strings.Join(f.Columns, "\t"))
	for _, row := range f.Rows {
		fmt.Fprintf(tabs, "  %s", row.Name)
		for _, c := range row.Cells {
			fmt.Fprintf(tabs, "\t%s", c)
		}
		fmt.Fprintln(tabs)
	}
	tabs.Flush()
	if len(f.Beside) > 0 {
		fmt.Fprintln(w)
		fmt.Fprintf(tabs, "  stated by the paper\t\tpublished\tours\n")
		for _, q := range f.Beside {
			fmt.Fprintf(tabs, "  %s\t%s\t%s\t%s %s\n", q.What, q.Label, q.Published, q.Cell, q.Unit)
		}
		tabs.Flush()
	}
	for _, n := range f.Notes {
		wrap(w, "  note: ", n)
	}
}

func (c *Criterion) writeText(w *bufio.Writer) {
	fmt.Fprintf(w, "  %-4s%-13s ours %s %s; published %s\n", c.ID, c.Verdict, Cell{c.Ours, c.CI95}, c.Unit, c.Published)
	wrap(w, "      ", c.Text)
	wrap(w, "      found: ", c.Note)
	if len(c.Controls) > 0 {
		var list []string
		for _, x := range c.Controls {
			list = append(list, fmt.Sprintf("%s %s, %s", x.Control, x.Verdict, Cell{x.Ours, x.CI95}))
		}
		wrap(w, "      in its place: ", strings.Join(list, "; "))
	}
	if c.Bar != nil {
		wrap(w, "      the bar: ", c.Bar.text())
	}
	if c.NeedsNoMethod() {
		fmt.Fprintln(w, "      it does not need the method")
	}
}

// text says what the claimant gains over the best of the schedulers that anybody
// could use.
func (b *Bar) text() string {
	text := fmt.Sprintf("%s, the best there, %s %s, asked at least %s", b.What, Cell{b.Ours, b.CI95}, b.Unit, number(b.Least))
	if b.Verdict == Holds {
		return text + " (beaten)"
	}
	return text + " (not beaten)"
}

// verdictColors are the terminal's codes for the colour of each verdict.
var verdictColors = map[Verdict]string{Holds: "32", Direction: "36", Fails: "31", Reversed: "35", Ceiling: "33", NotTestable: "90"}

// short are the verdicts as the cells of a matrix have them.
var short = map[Verdict]string{Holds: "holds", Direction: "dir", Fails: "fails", Reversed: "rev", Ceiling: "ceil", NotTestable: "n/t"}

// WriteText prints one table with a row for each reading and a column for each
// claim: the verdict, our figure and its interval. With colour set, a verdict is
// coloured by the terminal's codes. The summary comes first.
func (m *Matrix) WriteText(out io.Writer, colour bool) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s\n%s\n\n", m.Title, m.Source)
	wrap(w, "", m.Summary)
	fmt.Fprintf(w, "\n%d readings, %d seeds from %d. Each cell: verdict, our figure with its 95 %% interval.\n", len(m.Readings), m.Seeds, m.Seed)
	fmt.Fprintf(w, "dir: direction alone; rev: reversed; ceil: ceiling; n/t: not testable; *: another effect of the claim\ndecides; =: a control does as well, so the claim does not need the method.\n\n")
	rows, verdicts := m.table()
	writeTable(w, rows, verdicts, colour)
	fmt.Fprintln(w)
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, c := range m.Claims {
		fmt.Fprintf(tabs, "%s\t%s\t%s\t%s\n", c.ID, m.Readings[0].Criteria[i].Unit, m.counts(&c), c.Text)
	}
	tabs.Flush()
	fmt.Fprintf(w, "\nhow the readings differ from the first\n")
	for i := range m.Readings[1:] {
		wrap(w, "  "+m.Readings[i+1].Reading+": ", m.Readings[i+1].Differs)
	}
	fmt.Fprintf(w, "\nwhat was varied\n")
	for _, a := range m.Axes {
		t := AxisTaken{Axis: a, Taken: a.Values[0].Value, Mark: a.Values[0].Mark, Why: a.Values[0].Why}
		wrap(w, "  "+a.Name+"="+t.Taken+": ", t.text())
	}
	return w.Flush()
}

// counts says how often a claim got each verdict, like "holds 3, fails 22".
func (m *Matrix) counts(c *ClaimCount) string {
	var list []string
	for _, v := range Verdicts {
		if n := c.Verdicts[v]; n > 0 {
			list = append(list, fmt.Sprintf("%s %d", v, n))
		}
	}
	if c.NoMethod > 0 {
		list = append(list, fmt.Sprintf("without the method %d", c.NoMethod))
	}
	return strings.Join(list, ", ")
}

// table returns the cells of the matrix as texts, and the verdict of each cell
// that has one. Below each reading with a name stand its controls.
func (m *Matrix) table() (rows [][]string, verdicts [][]Verdict) {
	add := func(name string) (row *[]string, of *[]Verdict) {
		rows, verdicts = append(rows, []string{name}), append(verdicts, []Verdict{""})
		return &rows[len(rows)-1], &verdicts[len(rows)-1]
	}
	head, none := add("reading")
	for _, c := range m.Claims {
		*head, *none = append(*head, c.ID), append(*none, "")
	}
	for _, x := range m.Measures {
		*head, *none = append(*head, x.Name+" "+x.Unit), append(*none, "")
	}
	for i := range m.Readings {
		r := &m.Readings[i]
		row, of := add(r.Reading)
		for k := range r.Criteria {
			c := &r.Criteria[k]
			text := short[c.Verdict]
			if c.Effects[0].Verdict != c.Verdict {
				text += "*"
			}
			if c.NeedsNoMethod() {
				text += "="
			}
			*row, *of = append(*row, text+" "+Cell{c.Ours, c.CI95}.String()), append(*of, c.Verdict)
		}
		for _, x := range r.Measures {
			*row, *of = append(*row, x.String()), append(*of, "")
		}
		if !slices.Contains(m.named, r.Reading) {
			continue
		}
		for k, control := range m.Controls {
			row, of := add("  " + control + " in its place")
			for j := range r.Criteria {
				if len(r.Criteria[j].Controls) == 0 {
					*row, *of = append(*row, "(not about it)"), append(*of, "")
					continue
				}
				x := r.Criteria[j].Controls[k]
				*row, *of = append(*row, short[x.Verdict]+" "+Cell{x.Ours, x.CI95}.String()), append(*of, x.Verdict)
			}
		}
	}
	return rows, verdicts
}

// writeTable prints rows in columns. It sets colours itself, as codes in the
// text would count for the columns' widths.
func writeTable(w *bufio.Writer, rows [][]string, verdicts [][]Verdict, colour bool) {
	var widths []int
	for _, row := range rows {
		for k, text := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(text))
		}
	}
	for i, row := range rows {
		for k, text := range row {
			pad := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text)+2)
			if k == len(row)-1 {
				pad = ""
			}
			if v := verdicts[i][k]; colour && v != "" {
				text = "\x1b[" + verdictColors[v] + "m" + text + "\x1b[0m"
			}
			fmt.Fprint(w, text, pad)
		}
		fmt.Fprintln(w)
	}
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return ", " + unit
}

const width = 100

// wrap prints a text in lines of limited width. The first line begins with the
// string first. The other lines are indented.
func wrap(w *bufio.Writer, first, text string) {
	indent := strings.Repeat(" ", len(first)-len(strings.TrimLeft(first, " "))+2)
	if first == "" {
		indent = ""
	}
	line := first
	fresh := true
	for _, word := range strings.Fields(text) {
		if !fresh && len(line)+1+len(word) > width {
			fmt.Fprintln(w, line)
			line, fresh = indent, true
		}
		if !fresh {
			line += " "
		}
		line += word
		fresh = false
	}
	fmt.Fprintln(w, line)
}
