package report

import (
	"cmp"
	"fmt"

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
	d := doc.Doc{doc.Heading("Jobs"), doc.Text(text), table}
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
