package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/measure"
)

// mostJobs is how many rows the table of jobs has. A file beside it has all.
const mostJobs = 1200

// jobs is the table of the jobs of a trial of each workload and model: of the median one.
func (p *page) jobs() doc.Doc {
	var labels [][]string
	var list []*measure.Figures
	add := func(f *measure.Figures, workload, model, repeat string) {
		labels, list = append(labels, []string{workload, model, repeat}), append(list, f)
	}
	if p.compared != nil {
		for _, w := range p.compared.Workloads() {
			for _, m := range p.compared.AllModels() {
				if t, ok := p.compared.Median(w, m); ok && len(t.Figures.JobList) > 0 && !p.given(t) {
					add(t.Figures, w, m, fmt.Sprint(t.Repeat))
				}
			}
		}
	}
	for _, t := range p.traces {
		add(t.figures, t.workload, t.name, cmp.Or(t.repeat, "-"))
	}
	if len(list) == 0 {
		return nil
	}
	columns, text := []string{"workload", "model", "repeat"}, "The jobs of each model's median trial. A click on a column's name sorts by it."
	if p.compared == nil {
		columns, text = []string{"trace"}, "A click on a column's name sorts by it."
		for i := range labels {
			labels[i] = labels[i][1:2]
		}
	}
	text += slowest(labels, list, map[bool]string{true: "of", false: "under"}[p.compared == nil])
	table, left := measure.Jobs(columns, labels, list, mostJobs)
	d := doc.Doc{doc.Heading("Jobs"), doc.Text(strings.TrimSpace(text + " " + narrow(table))), table}
	if left > 0 {
		d = append(d, doc.Notes{fmt.Sprintf("%d more jobs are left out: of those that ran, the ones that took the shortest time", left)})
	}
	return d
}

// slowest says which job took the longest time, and how much of it it waited. where is the
// word before its trace or model.
func slowest(labels [][]string, list []*measure.Figures, where string) string {
	var most *measure.Job
	under, jobs := "", 0
	for i, f := range list {
		for _, j := range f.JobList {
			if jobs++; f.List == nil && (most == nil || j.CompletionMs > most.CompletionMs) {
				most, under = j, labels[i][min(1, len(labels[i])-1)]
			}
		}
	}
	if most == nil || most.CompletionMs < 0 || jobs < 2 {
		return ""
	}
	text := fmt.Sprintf(" The slowest is %s %s %s: it took %s", most.ID, where, under, doc.DurationText(most.CompletionMs))
	if waitMs, ok := most.WaitMs(); ok {
		text += fmt.Sprintf(", of which it waited %s for its first task", doc.DurationText(waitMs))
	}
	return text + "."
}

// narrow takes the columns out of a table that have the same in all of its rows, and
// returns a sentence with what they have. The first column stays, and so does one by which
// readers look for the slowest job.
func narrow(t *doc.Table) string {
	if len(t.Rows) < 2 {
		return ""
	}
	var same, unknown []string
	var kept []int
	for k, name := range t.Columns {
		value := t.Rows[0][k].String()
		switch {
		case k == 0 || name == "took" || slices.ContainsFunc(t.Rows, func(row []doc.Cell) bool { return row[k].String() != value }):
			kept = append(kept, k)
		case value == "-":
			unknown = append(unknown, name)
		default:
			same = append(same, name+" "+cmp.Or(value, "(no name)"))
		}
	}
	pick := func(row []doc.Cell) (list []doc.Cell) {
		for _, k := range kept {
			list = append(list, row[k])
		}
		return list
	}
	var columns []string
	for _, k := range kept {
		columns = append(columns, t.Columns[k])
	}
	t.Columns = columns
	for i, row := range t.Rows {
		t.Rows[i] = pick(row)
	}
	text := ""
	if len(same) > 0 {
		text = "All have: " + strings.Join(same, ", ") + "."
	}
	if len(unknown) > 0 {
		text += " Of none is known: " + strings.Join(unknown, ", ") + "."
	}
	return strings.TrimSpace(text)
}
