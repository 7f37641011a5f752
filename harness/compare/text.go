package compare

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"heddle/harness/doc"
	"heddle/harness/runs"
	"heddle/harness/stats"
	"heddle/traces/printable"
)

// Doc returns the comparison for people to read: a table for each workload and
// metric, with one row for each scheduler model. Its last columns say how the model
// differs from one other model each; tables of many models have only the first of
// these columns. Warnings that hold for all tables stand at the end.
func (r *Report) Doc() doc.Doc {
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
	var d doc.Doc
	for i, t := range tables {
		if i == 0 || t.name() != tables[i-1].name() {
			d = append(d, doc.Heading(t.name()))
		}
		t.Warnings = slices.DeleteFunc(slices.Clone(t.Warnings), func(note string) bool { return slices.Contains(notes, note) })
		d = append(d, t.parts()...)
	}
	for _, part := range steeringParts(r.Steering) {
		if misses, is := part.(doc.List); is && len(misses) > mostMissesAsText {
			more := len(misses) - mostMissesAsText
			part = append(slices.Clone(misses[:mostMissesAsText]), fmt.Sprintf("and %d more; --json has all", more))
		}
		d = append(d, part)
	}
	return append(d, ThresholdTable(r.Thresholds), legend, doc.Notes(notes), doc.Lead(r.Headline()))
}

// mostMissesAsText is how many decisions that came out otherwise a text lists.
const mostMissesAsText = 12

// legend stands below all tables.
const legend doc.Text = "Means of n trials (of times, geometric) with their 95 % interval; differences of the row from the column with " +
	"theirs. " + CannotTell + ": as large a difference, p, comes by chance in 5 of 100 such comparisons or more; " + JustShown +
	": in 1 to 5 of 100, or of fewer than 6 repeats; " + Shown + ": in fewer. p is of the t-test, paired by repeat, Welch's for models " +
	"that no run has both; times by their logarithms. It holds for all pairs of a table together (Bonferroni)."

// Shown to Equal are what the trials say about a difference.
const (
	Shown      = "shown"
	JustShown  = "just shown"
	CannotTell = "cannot tell"
	Equal      = "equal"
)

// shownFrom is the p-value below which a difference is shown, and not just so.
const shownFrom = 0.01

// Says returns what the trials say about the difference.
func (p Pair) Says() string {
	switch {
	case p.CI95Pct == Interval{} && p.DiffPct == 0:
		return Equal
	case !p.CI95Pct.Bounded() || !p.Significant():
		return CannotTell
	case p.P < shownFrom && p.Runs >= stats.MinRanks: // with fewer, all rests on a normal distribution
		return Shown
	}
	return JustShown
}

// maxColumns is the largest number of models with which a table compares the
// others. In a larger table each model is compared with the first one only.
const maxColumns = 5

// joins reports whether the report's first table is about several workloads
// together.
func (r *Report) joins() bool {
	return len(r.unlikeWork) == 0 && slices.ContainsFunc(r.Tables, func(t Table) bool { return t.Workload != r.Tables[0].Workload })
}

func (t Table) name() string {
	name := cmp.Or(t.Workload, "all workloads of a repeat")
	if t.Class != "" {
		name += ", " + t.Class
	}
	return name
}

func (t Table) parts() doc.Doc {
	if len(t.Models) == 0 {
		return doc.Doc{doc.Text(t.Metric + " is not known")}
	}
	if t.zero {
		return doc.Doc{doc.Text(t.Metric + " is " + doc.Number(0, t.Unit).String() + " in all trials")}
	}
	x := doc.NewTable(t.name()+", "+t.Metric, "model", t.Metric, "n")
	noise := slices.ContainsFunc(t.Models, func(m Model) bool { return !math.IsNaN(float64(m.NoisePct)) })
	if noise {
		x.Columns = append(x.Columns, "noise floor")
	}
	first := max(0, slices.IndexFunc(t.Models, func(m Model) bool { return !isRecording(m.Model) }))
	columns := t.Models[first:max(first, len(t.Models)-1)]
	if len(columns) > maxColumns {
		columns = columns[:1]
	}
	for _, m := range columns {
		x.Columns = append(x.Columns, "vs "+m.Model)
	}
	for i, m := range t.Models {
		row := []any{m.Model, m.cell(t.Unit), m.Runs}
		if noise {
			row = append(row, doc.Fixed(m.NoisePct, 1, "%"))
		}
		for _, a := range columns[:max(0, min(i-first, len(columns)))] {
			p := t.Pairs[slices.IndexFunc(t.Pairs, func(p Pair) bool { return p.A == a.Model && p.B == m.Model })]
			row = append(row, p.cell(t.Unit))
		}
		x.Add(row...)
	}
	d := doc.Doc{x}
	if len(columns) < len(t.Models)-1-first {
		d = append(d, doc.Notes{fmt.Sprintf("the table has %d models, so each is compared with %s; --json has all pairs", len(t.Models),
			columns[0].Model)})
	}
	return append(d, doc.Notes(t.Warnings))
}

// cell returns the model's mean with its interval.
func (m *Model) cell(unit string) doc.Cell {
	return doc.Estimate(m.Mean, m.MeanCI95[0], m.MeanCI95[1], unit)
}

// cell returns the difference between two models like "-13.4 % [-16.1, -10.5]
// shown, p=0.002", or "cannot tell" in place of the number.
func (p Pair) cell(unit string) doc.Cell {
	c := doc.Difference(p.DiffPct, p.CI95Pct[0], p.CI95Pct[1], differenceUnit(unit))
	says := p.Says()
	switch {
	case !p.CI95Pct.Bounded() || says == Equal:
		return c.As(says)
	case says == CannotTell:
		return c.As(says).After(pText(p.P))
	}
	return c.After(says + ", " + pText(p.P))
}

func pText(p Number) string {
	if p < 0.001 {
		return "p<0.001"
	}
	return fmt.Sprintf("p=%.3f", p)
}

// Tone returns the tone in which a verdict is told.
func (v Verdict) Tone() doc.Tone {
	return map[Verdict]doc.Tone{Met: doc.Good, Missed: doc.Bad, Unclear: doc.Notable}[v]
}

// ThresholdTable returns a table with a row for each threshold and workload.
func ThresholdTable(list []Threshold) *doc.Table {
	x := doc.NewTable("thresholds", "threshold", "metric", "workload", "verdict", "figure", "value", "n")
	for _, t := range list {
		x.Add(t.Text, t.Metric, t.Workload, doc.Words(string(t.Verdict)).In(t.Verdict.Tone()), t.Figure,
			t.value(), t.Runs)
	}
	return x
}

// value returns what was found, and why it tells nothing if it does not.
func (t *Threshold) value() doc.Cell {
	value := doc.Estimate(t.Value, t.CI95[0], t.CI95[1], t.unit)
	switch {
	case math.IsNaN(float64(t.Value)):
		return value.After("no finished trial has it")
	case t.Verdict != Unclear:
		return value
	case !t.CI95.Bounded():
		return value.After("too few repeats to tell")
	}
	return value.After("too few repeats to tell, the interval holds " + doc.Number(t.Limit, "").String())
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
