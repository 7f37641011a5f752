package paper

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// WriteMarkdown prints the comparison with the paper as Markdown tables.
func (r *Report) WriteMarkdown(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "# %s\n\n%s\n", r.Title, r.Source)
	if r.Live != nil {
		fmt.Fprintf(w, "\n## Live: %s\n\n", r.Live.Run)
		markdown(w, "workload", "model", "n", "completion s", "saves %", "cache %", "local %", "adherence %", "predicted s", "error %")
		for _, x := range r.Live.Rows {
			markdownRow(w, x.Workload, x.Model, strconv.Itoa(x.Runs), x.CompletionS.String(), x.SavesPct.String(), x.CachePct.String(),
				x.LocalPct.String(), x.AdherencePct.String(), x.PredictedS.String(), x.ErrorPct.String())
		}
		for _, warning := range r.Live.Warnings {
			fmt.Fprintf(w, "\n- warning: %s\n", warning)
		}
		return w.Flush()
	}
	fmt.Fprintf(w, "\n%d seeds from %d; means with their 95 %% interval over seeds.\n", r.Seeds, r.Seed)
	for _, list := range [][]Criterion{r.Criteria, r.Findings} {
		if len(list) == 0 {
			continue
		}
		fmt.Fprintln(w)
		markdown(w, "", "claim", "published", "ours", "verdict", "why")
		for _, c := range list {
			markdownRow(w, c.ID, c.Text, c.Published, Value{c.Ours, c.CI95}.String()+" "+c.Unit, string(c.Verdict), c.Note)
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
			markdown(w, "stated by the paper", "model", "published", "ours")
			for _, q := range f.Beside {
				markdownRow(w, q.What, q.Model, q.Published, q.String()+" "+q.Unit)
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
	line := func(part, row, column, unit, published string, v Value, verdict string) {
		num := func(x float64) string {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return ""
			}
			return strconv.FormatFloat(x, 'g', 8, 64)
		}
		_ = w.Write([]string{part, row, column, unit, published, num(float64(v.Value)), num(v.CI95[0]), num(v.CI95[1]), verdict}) // a failed write is not checked here, since w.Error returns it at the end
	}
	_ = w.Write([]string{"part", "row", "column", "unit", "published", "ours", "lo", "hi", "verdict"})
	for _, f := range r.Figures {
		for _, row := range f.Rows {
			for k, c := range row.Cells {
				line(f.ID, row.Name, f.Columns[k], f.Unit, "", c, "")
			}
		}
		for _, q := range f.Beside {
			line(f.ID, q.Model, q.What, q.Unit, q.Published, q.Value, "")
		}
	}
	for _, list := range [][]Criterion{r.Criteria, r.Findings} {
		for _, c := range list {
			line(c.ID, "", c.Text, c.Unit, c.Published, Value{c.Ours, c.CI95}, string(c.Verdict))
		}
	}
	if r.Live != nil {
		for _, x := range r.Live.Rows {
			for _, v := range []struct {
				column, unit string
				Value
			}{
				{"completion", "s", x.CompletionS},
				{"saves", "%", x.SavesPct},
				{"cache", "%", x.CachePct},
				{"local", "%", x.LocalPct},
				{"adherence", "%", x.AdherencePct},
				{"predicted", "s", x.PredictedS},
				{"error", "%", x.ErrorPct},
			} {
				line("live "+x.Workload, x.Model, v.column, v.unit, "", v.Value, "")
			}
		}
	}
	w.Flush()
	return w.Error()
}
