package paper

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText prints each figure or table with the published numbers and the
// verdicts on its claims, and then a summary of the verdicts.
func (r *Report) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s\n%s\n", r.Title, r.Source)
	if r.Live == nil {
		fmt.Fprintf(w, "%d seeds from %d; means with their 95 %% interval over seeds\n", r.Seeds, r.Seed)
	}
	for _, f := range r.Figures {
		fmt.Fprintln(w)
		f.writeText(w)
	}
	if r.Live != nil {
		fmt.Fprintln(w)
		r.Live.writeText(w)
	}
	writeCriteria(w, "what the paper claims", r.Criteria)
	writeCriteria(w, "what we find", r.Findings)
	if r.Live == nil {
		writeChoices(w, "the set-up", r.Setup)
		writeChoices(w, "what the paper leaves open", r.Open)
	}
	return w.Flush()
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
			fmt.Fprintf(tabs, "  %s\t%s\t%s\t%s %s\n", q.What, q.Model, q.Published, q.Value, q.Unit)
		}
		tabs.Flush()
	}
	for _, n := range f.Notes {
		wrap(w, "  note: ", n)
	}
}

func writeCriteria(w *bufio.Writer, title string, list []Criterion) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range list {
		ours := Value{c.Ours, c.CI95}
		fmt.Fprintf(w, "  %-4s%-13s ours %s %s", c.ID, c.Verdict, ours, c.Unit)
		if c.Published != "-" {
			fmt.Fprintf(w, "; published %s", c.Published)
		}
		fmt.Fprintln(w)
		wrap(w, "      ", c.Text)
		wrap(w, "      why: ", c.Note)
	}
}

func writeChoices(w *bufio.Writer, title string, list []Choice) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range list {
		text := c.Taken
		if c.Why != "" {
			text += " (" + c.Why + ")"
		}
		wrap(w, fmt.Sprintf("  %s: ", c.Item), text)
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
