package compare

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"heddle/harness/runs"
	"heddle/traces/printable"
)

// WriteText prints a table for each workload and metric. A table has one row
// for each scheduler model. Its other columns say how the model differs from
// one other model each. Tables of many models have only the first such column.
// "~" means that a difference is not significant. Warnings that hold for all tables are printed once, at the end.
func (r *Report) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	tables := slices.Clone(r.Tables)
	if r.joins() {
		tables = append(tables, r.Table)
	}
	notes := slices.Clone(r.general)
	for _, note := range r.Tables[0].Warnings {
		if !slices.ContainsFunc(tables, func(t Table) bool { return !slices.Contains(t.Warnings, note) }) {
			notes = append(notes, note)
		}
	}
	for _, t := range tables {
		t.Warnings = slices.DeleteFunc(slices.Clone(t.Warnings), func(note string) bool { return slices.Contains(notes, note) })
		t.writeText(w)
		fmt.Fprintln(w)
	}
	writeSteering(w, r.Steering)
	if len(r.Thresholds) > 0 {
		WriteThresholds(w, r.Thresholds)
		fmt.Fprintln(w)
	}
	writeNotes(w, notes)
	if len(notes) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, legend)
	return w.Flush()
}

// legend stands below all tables.
const legend = `Medians with their 95 % interval; differences of the row from the column with theirs. p is of the t-test:
paired by repeat, Welch's for models that no run has both; times by their logarithms. p and the intervals of
differences hold for all pairs of a table together (Bonferroni).
~: no difference is shown, the interval contains 0. [?]: too few trials for an interval.`

// maxColumns is the largest number of models with which a table compares the
// others. In a larger table each model is compared with the first one only.
const maxColumns = 5

// joins reports whether the report's first table is about several workloads
// together.
func (r *Report) joins() bool {
	return slices.ContainsFunc(r.Tables, func(t Table) bool { return t.Workload != r.Tables[0].Workload })
}

func (t Table) writeText(w *bufio.Writer) {
	name := t.Workload
	if name == "" {
		name = "all workloads of a repeat"
	}
	if t.Class != "" {
		name += ", " + t.Class
	}
	if len(t.Models) == 0 {
		printable.Fprintf(w, "%s: %s is not known\n", name, t.Metric)
		return
	}
	if t.zero {
		fmt.Fprintf(w, "%s: %s is 0%s in all trials\n", name, t.Metric, unitOf(t.Unit))
		return
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	noise := slices.ContainsFunc(t.Models, func(m Model) bool { return !math.IsNaN(float64(m.NoisePct)) })
	printable.Fprintf(tabs, "%s\t%s\t\tn", name, t.Metric)
	if noise {
		fmt.Fprint(tabs, "\tnoise floor")
	}
	columns := t.Models[:len(t.Models)-1]
	if len(columns) > maxColumns {
		columns = columns[:1]
	}
	for _, m := range columns {
		printable.Fprintf(tabs, "\tvs %s", m.Model)
	}
	fmt.Fprintln(tabs)
	for i, m := range t.Models {
		printable.Fprintf(tabs, "  %s\t%s\t%s\t%d", m.Model, figure(float64(m.Median))+unitOf(t.Unit), m.CI95, m.Runs)
		if noise {
			printable.Fprintf(tabs, "\t%s", percent(float64(m.NoisePct)))
		}
		for _, a := range columns[:min(i, len(columns))] {
			p := t.Pairs[slices.IndexFunc(t.Pairs, func(p Pair) bool { return p.A == a.Model && p.B == m.Model })]
			printable.Fprintf(tabs, "\t%s", p.text(t.Unit))
		}
		fmt.Fprintln(tabs)
	}
	tabs.Flush()
	if len(columns) < len(t.Models)-1 {
		printable.Fprintf(w, "note: the table has %d models, so each is compared with %s; --json has all pairs\n", len(t.Models), columns[0].Model)
	}
	writeNotes(w, t.Warnings)
}

// The method text formats the difference between two models like "-13.4%
// [-16.1, -10.5] p=0.002", with "~" if it is not significant.
func (p Pair) text(unit string) string {
	if !p.CI95Pct.Bounded() {
		return "~"
	}
	diff := "~"
	if p.Significant() {
		diff = fmt.Sprintf("%+.1f%s", float64(p.DiffPct), map[string]string{"s": "%", "x": "%", "%": " points"}[unit])
	}
	return fmt.Sprintf("%s [%+.1f, %+.1f] %s", diff, p.CI95Pct[0], p.CI95Pct[1], pText(float64(p.P)))
}

func pText(p float64) string {
	if p < 0.001 {
		return "p<0.001"
	}
	return fmt.Sprintf("p=%.3f", p)
}

// String formats the interval like "[37.2, 39.1]", or says that it has no
// bounds.
func (i Interval) String() string {
	if !i.Bounded() {
		return "[?]"
	}
	return "[" + figure(i[0]) + ", " + figure(i[1]) + "]"
}

// figure returns the number x as text with four significant digits.
func figure(x float64) string {
	switch {
	case x >= 1000 || x <= -1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.1f", x)
	case x >= 10 || x <= -10:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// percent formats a percentage like "4.2%". It returns "" if x is NaN.
func percent(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.1f%%", x)
}

func unitOf(unit string) string {
	if unit == "%" || unit == "" {
		return unit
	}
	return " " + unit
}

func writeNotes(w *bufio.Writer, notes []string) {
	for _, n := range notes {
		printable.Fprintf(w, "note: %s\n", n)
	}
}

// WriteBenchmarks prints every trial as a line of the Go benchmark format, for
// benchstat and similar tools: benchstat -col model FILE.
func (r *Report) WriteBenchmarks(out io.Writer) error {
	w := bufio.NewWriter(out)
	metrics, err := metricsOf(nil)
	if err != nil {
		return err
	}
	units := map[string]string{}
	for _, m := range metrics {
		units[m.Name] = m.Name + map[string]string{"s": "-sec", "%": "-%"}[m.Unit]
		printable.Fprintf(w, "Unit %s better=%s assume=nothing\n", units[m.Name], m.Better)
	}
	for _, note := range r.general {
		if strings.HasPrefix(note, runs.NotVerified) {
			printable.Fprintf(w, "warning: %s\n", note)
		}
	}
	var folder, model string
	for _, t := range r.trials {
		if t.folder != folder || t.model != model {
			folder, model = t.folder, t.model
			printable.Fprintf(w, "run: %s\nmodel: %s\n", folder, model)
		}
		printable.Fprintf(w, "Benchmark%s 1", benchmarkName(t.workload))
		for _, m := range metrics {
			if v := m.of(t); !math.IsNaN(v) {
				printable.Fprintf(w, " %.9g %s", v, units[m.Name])
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// benchmarkName returns the workload's name with an upper-case first letter,
// which the Go benchmark format requires.
func benchmarkName(workload string) string {
	for i, r := range workload {
		return string(unicode.ToUpper(r)) + workload[i+utf8.RuneLen(r):]
	}
	return ""
}
