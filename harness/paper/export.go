package paper

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"heddle/traces/outfile"
)

// WriteMarkdown prints the comparison with the paper as Markdown tables.
func (r *Report) WriteMarkdown(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "# %s\n\n%s\n", r.Title, r.Source)
	if r.Live != nil {
		fmt.Fprintf(w, "\n## Live: %s\n\n", r.Live.Run)
		rows := r.Live.Table()
		markdown(w, rows[0]...)
		for _, row := range rows[1:] {
			markdownRow(w, row...)
		}
		for _, remark := range r.Live.Remarks() {
			fmt.Fprintf(w, "\n- %s\n", remark)
		}
		for _, warning := range r.Live.Warnings {
			fmt.Fprintf(w, "\n- warning: %s\n", warning)
		}
		return w.Flush()
	}
	fmt.Fprintf(w, "\nReading: %s. %d seeds from %d; means with their 95 %% interval over seeds.\n", r.Reading, r.Seeds, r.Seed)
	if r.Summary != "" {
		fmt.Fprintf(w, "\n%s\n", r.Summary)
	}
	if len(r.Criteria) > 0 {
		fmt.Fprintln(w)
		markdown(w, "", "claim", "published", "ours", "verdict", "needs the method", "found")
		for _, c := range r.Criteria {
			markdownRow(w, c.ID, c.Text, c.Published, Cell{c.Ours, c.CI95}.String()+" "+c.Unit, string(c.Verdict), c.needs(), c.Note)
		}
	}
	for _, f := range r.Figures {
		fmt.Fprintf(w, "\n## %s: %s%s\n\n", f.ID, f.Title, inUnit(f.Unit))
		markdown(w, append([]string{""}, f.Columns...)...)
		for _, row := range f.Rows {
			cells := []string{row.Name}
			for _, c := range row.Cells {
				cells = append(cells, c.String())
			}
			markdownRow(w, cells...)
		}
		if len(f.Beside) > 0 {
			fmt.Fprintln(w)
			markdown(w, "stated by the paper", "scheduler", "published", "ours")
			for _, q := range f.Beside {
				markdownRow(w, q.What, q.Label, q.Published, q.String()+" "+q.Unit)
			}
		}
		for _, n := range f.Notes {
			fmt.Fprintf(w, "\n%s\n", n)
		}
	}
	return w.Flush()
}

func markdown(w *bufio.Writer, head ...string) {
	markdownRow(w, head...)
	fmt.Fprintln(w, strings.Repeat("| --- ", len(head))+"|")
}

func markdownRow(w *bufio.Writer, cells ...string) {
	for _, c := range cells {
		fmt.Fprintf(w, "| %s ", strings.ReplaceAll(strings.ReplaceAll(c, "|", "\\|"), "\n", " "))
	}
	fmt.Fprintln(w, "|")
}

// WriteCSV prints each number of the comparison as one line: our figures and
// the paper's numbers. Each verdict on a claim or finding is a line too.
func (r *Report) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	line := func(part, row, column, unit, published string, v Cell, verdict string) {
		_ = w.Write([]string{part, row, column, unit, published, plain(float64(v.Value)), plain(v.CI95[0]), plain(v.CI95[1]), verdict}) // a failed write is not checked here, since w.Error returns it at the end
	}
	_ = w.Write([]string{"part", "row", "column", "unit", "published", "ours", "lo", "hi", "verdict"})
	for _, f := range r.Figures {
		for _, row := range f.Rows {
			for k, c := range row.Cells {
				line(f.ID, row.Name, f.Columns[k], f.Unit, "", c, "")
			}
		}
		for _, q := range f.Beside {
			line(f.ID, q.Label, q.What, q.Unit, q.Published, q.Cell, "")
		}
	}
	for _, c := range r.Criteria {
		line(c.ID, "", c.Text, c.Unit, c.Published, Cell{c.Ours, c.CI95}, string(c.Verdict))
		for _, x := range c.Controls {
			line(c.ID, x.Control, c.Text, c.Unit, c.Published, Cell{x.Ours, x.CI95}, string(x.Verdict))
		}
		if b := c.Bar; b != nil {
			line(c.ID, "bar: "+b.Best, b.What, b.Unit, "", Cell{b.Ours, b.CI95}, string(b.Verdict))
		}
	}
	if r.Live != nil {
		for i := range r.Live.Rows {
			x := &r.Live.Rows[i]
			for _, c := range liveColumns {
				line("live "+x.Workload, x.Model, c.name, c.unit, "", c.of(x), "")
			}
			for _, name := range slices.Sorted(maps.Keys(x.Notes)) {
				line("live "+x.Workload, x.Model, name, "", "", x.Notes[name], "")
			}
		}
	}
	w.Flush()
	return w.Error()
}

// needs says in a word whether the claim needs the paper's method.
func (c *Criterion) needs() string {
	switch {
	case !c.AboutMethod:
		return "not about it"
	case c.NeededMethod:
		return "yes"
	case c.NeedsNoMethod():
		return "no"
	}
	return "-"
}

// WriteMarkdown prints the matrix as a Markdown table, below its summary.
func (m *Matrix) WriteMarkdown(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "# %s\n\n%s\n\n%s\n\n%d readings, %d seeds from %d. =: a control does as well.\n\n", m.Title, m.Source, m.Summary, len(m.Readings), m.Seeds, m.Seed)
	rows, _ := m.table()
	markdown(w, rows[0]...)
	for _, row := range rows[1:] {
		markdownRow(w, row...)
	}
	return w.Flush()
}

// WriteCSV prints one line for each reading and claim, and for each control.
func (m *Matrix) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"reading", "claim", "in its place", "verdict", "ours", "lo", "hi", "unit"}) // a failed write is not checked here, since w.Error returns it at the end
	for _, r := range m.Readings {
		for _, c := range r.Criteria {
			_ = w.Write([]string{r.Reading, c.ID, "", string(c.Verdict), plain(float64(c.Ours)), plain(c.CI95[0]), plain(c.CI95[1]), c.Unit})
			for _, x := range c.Controls {
				_ = w.Write([]string{r.Reading, c.ID, x.Control, string(x.Verdict), plain(float64(x.Ours)), plain(x.CI95[0]), plain(x.CI95[1]), c.Unit})
			}
		}
	}
	w.Flush()
	return w.Error()
}

// plain formats a number for other programs; one without a value is "".
func plain(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 8, 64)
}

// WriteRows writes the results of each seed to a file: as Parquet, CSV or JSON,
// by the end of the file's name.
func WriteRows(path string, rows []SeedRow) error {
	write, ok := map[string]func(io.Writer, []SeedRow) error{".parquet": rowsParquet, ".csv": rowsCSV, ".json": rowsJSON}[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("write results of each seed to %s: want a name that ends in .parquet, .csv or .json", path)
	}
	return outfile.Replace(path, func(f *os.File) error { return write(f, rows) })
}

func rowsParquet(out io.Writer, rows []SeedRow) error {
	w := parquet.NewGenericWriter[SeedRow](out)
	if _, err := w.Write(rows); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return w.Close()
}

func rowsJSON(out io.Writer, rows []SeedRow) error { return json.NewEncoder(out).Encode(rows) }

func rowsCSV(out io.Writer, rows []SeedRow) error {
	w := csv.NewWriter(out)
	schema := parquet.SchemaOf(SeedRow{})
	var head []string
	for _, f := range schema.Fields() {
		head = append(head, f.Name())
	}
	_ = w.Write(head) // a failed write is not checked here, since w.Error returns it at the end
	for i := range rows {
		var line []string
		for _, v := range schema.Deconstruct(nil, &rows[i]) {
			line = append(line, v.String())
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}
