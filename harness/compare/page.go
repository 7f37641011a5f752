package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces/printable"
)

// These methods return the parts of a comparison, for a page that has other parts too.
// Doc returns all of it for a terminal.

// General returns the warnings about the whole comparison, and those of its first table.
func (r *Report) General() []string {
	list := slices.Clone(r.general)
	for _, note := range r.Table.Warnings {
		if !slices.Contains(list, note) {
			list = append(list, note)
		}
	}
	return list
}

// mostAcross is how many models an overview has as columns. With more they are its rows.
const mostAcross = 6

// Overview returns a table of a workload with the means of all metrics and models, and
// their intervals. Metrics that are 0 everywhere are left out.
func (r *Report) Overview(workload string) *doc.Table {
	tables := slices.DeleteFunc(r.of(workload), func(t Table) bool { return len(t.Models) == 0 || t.zero })
	models := modelsOf(only(r.trials, workload))
	x := &doc.Table{Name: workload + ", means"}
	cell := func(t Table, model string) any {
		i := slices.IndexFunc(t.Models, func(m Model) bool { return m.Model == model })
		if i < 0 {
			return "-"
		}
		return t.Models[i].cell(t.Unit)
	}
	if len(models) > mostAcross {
		x.Columns = []string{"model"}
		for _, t := range tables {
			x.Columns = append(x.Columns, t.Metric)
		}
		for _, model := range models {
			x.Add(append([]any{model}, mapped(tables, func(t Table) any { return cell(t, model) })...)...)
		}
		return x
	}
	x.Columns = append([]string{"mean of the trials"}, models...)
	for _, t := range tables {
		x.Add(append([]any{t.Metric}, mapped(models, func(model string) any { return cell(t, model) })...)...)
	}
	trials := []any{"trials"}
	for _, model := range models {
		trials = append(trials, len(under(only(r.trials, workload), model)))
	}
	x.Add(trials...)
	return x
}

// of returns the tables of a workload.
func (r *Report) of(workload string) []Table {
	return slices.DeleteFunc(slices.Clone(r.Tables), func(t Table) bool { return t.Workload != workload })
}

// Numbers returns the tables of a workload, as Doc has them.
func (r *Report) Numbers(workload string) (d doc.Doc) {
	general := r.General()
	for _, t := range r.of(workload) {
		t.Warnings = slices.DeleteFunc(slices.Clone(t.Warnings), func(note string) bool { return slices.Contains(general, note) })
		d = append(d, t.parts()...)
	}
	return append(d, legend)
}

// Joined returns the table of all workloads of a repeat together, nothing if there is one.
func (r *Report) Joined() doc.Doc {
	if !r.joins() {
		return nil
	}
	t := r.Table
	t.Warnings = nil
	return t.parts()
}

// Settings says what the jobs of each workload are, by the keys of the runs' experiments.
func (r *Report) Settings() (list doc.Facts) {
	for _, run := range r.runs {
		e, err := results.Experiment(run.Run, "")
		if err != nil || e == nil {
			continue
		}
		for i := range e.Workloads {
			d := describeWorkload(run, &e.Workloads[i])
			delete(d, "name")
			var texts []string
			for _, k := range slices.Sorted(maps.Keys(d)) {
				texts = append(texts, k+" "+d[k])
			}
			f := doc.Fact{Name: e.Workloads[i].Label, Value: printable.First(mostKeys, texts)}
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// mostMisses is how many decisions that came out otherwise a page lists.
const mostMisses = 50

// SteeringDoc returns what became of the models' decisions. Decisions that came out
// otherwise are folded, and only the first of them are listed.
func (r *Report) SteeringDoc() (d doc.Doc) {
	for _, part := range steeringParts(r.Steering) {
		if list, is := part.(doc.List); is && len(list) > 0 {
			title := fmt.Sprintf("%d that came out otherwise", r.Steering[len(r.Steering)-1].otherwise())
			if len(list) > mostMisses {
				title += fmt.Sprintf(", the first %d", mostMisses)
			}
			part = &doc.Fold{Title: title, Parts: doc.Doc{list[:min(len(list), mostMisses)]}}
		}
		d = append(d, part)
	}
	if len(d) > 0 {
		d = append(d, terms)
	}
	return d
}

// terms says what the columns of SteeringDoc mean.
const terms = doc.Text("A decision sends a container to a node. It is honoured if a container of the decided job and kind started " +
	"there, and none in its place. " +
	"The job's ApplicationMaster then chooses the map that the container runs: by its rules a map that failed before (rerun), one with a " +
	"block on the node, one with a block on the rack, or any. " +
	"Heddle predicts which map it takes, and by which rule. A map as predicted is the very one; another one may have the same locality. " +
	"Counts by rule are of the rule that was expected, not of where maps then ran. " +
	"Otherwise are decisions that were not honoured, and honoured ones whose container ran another map.")

// mostAllPairs is up to how many models of a table have each pair of them drawn. Of more
// models, each is compared with the first.
const mostAllPairs = 3

// Forests returns the differences between the models of a workload as pictures: one for
// those in percent, one for those in points, one for each other unit.
func (r *Report) Forests(workload string) (d doc.Doc) {
	byUnit := map[string]*doc.Forest{}
	for _, t := range r.of(workload) {
		if t.zero {
			continue
		}
		list, err := measure.Find([]string{t.Metric})
		if err != nil || len(t.Pairs) == 0 {
			continue
		}
		unit := differenceUnit(t.Unit)
		f := byUnit[unit]
		if f == nil {
			f = &doc.Forest{
				Name: "differences", Title: workload + ": differences in " + cmp.Or(unit, "the metric's unit"), Shared: true,
				What: "which against which", Ours: "difference, 95 %",
				DotText: "a pair of repeats",
			}
			if len(t.Models) == 2 {
				f.What = t.Models[1].Model + " against " + t.Models[0].Model
			}
			byUnit[unit] = f
			d = append(d, f)
		}
		for i := range t.Pairs {
			p := &t.Pairs[i]
			// a recording is no model; fidelity compares its replays with it
			if isRecording(p.A) || isRecording(p.B) {
				continue
			}
			if len(t.Models) <= mostAllPairs || p.A == t.Models[0].Model {
				row := r.forestRow(workload, &list[0], p, unit)
				if len(t.Models) == 2 { // the head says which these are
					row.Group, row.Name = "", row.Group
				}
				f.Rows = append(f.Rows, row)
			}
		}
	}
	return d
}

func (r *Report) forestRow(workload string, m *measure.Metric, p *Pair, unit string) doc.ForestRow {
	row := doc.ForestRow{
		Group: m.Name, About: m.Text, Name: p.B + " against " + p.A, Unit: unit,
		Ours: doc.Point{Value: float64(p.DiffPct), Lo: p.CI95Pct[0], Hi: p.CI95Pct[1]}, Asked: math.NaN(), Published: math.NaN(),
		Room: doc.Point{Value: math.NaN()},
		Dots: p.each, Tone: doc.Faint, Text: p.words(unit),
	}
	if m.Better != "" {
		row.About += fmt.Sprintf("; %s is better", m.Better)
	}
	if m.Better != "" && p.Significant() && p.CI95Pct.Bounded() {
		row.Tone, row.Text = doc.Bad, row.Text+", worse"
		if (p.DiffPct < 0) == (m.Better == measure.Lower) {
			row.Tone, row.Text = doc.Good, strings.TrimSuffix(row.Text, ", worse")+", better"
		}
	}
	for _, t := range r.Thresholds {
		if t.Workload == workload && t.Metric == m.Name && t.model == p.B && t.other == p.A {
			row.Asked = t.Limit
			if m.IsFactor() {
				row.Asked = 100 * (t.Limit - 1)
			}
		}
	}
	return row
}

// words returns the difference in words: unlike in a table's cell, its value is there
// also where the trials cannot tell it from 0.
func (p *Pair) words(unit string) string {
	c := doc.Difference(p.DiffPct, p.CI95Pct[0], p.CI95Pct[1], unit)
	switch {
	case !p.CI95Pct.Bounded():
		return c.After(printable.Count(p.Runs, "pair")).InWords()
	case p.CI95Pct[0] == p.CI95Pct[1]:
		return doc.Signed(p.DiffPct, 1, unit).String() + ", all pairs equal"
	}
	return c.After(p.Says() + ", " + pText(p.P)).String()
}

// Trials returns a table with a row for each trial and a column for each metric.
func (r *Report) Trials() *doc.Table {
	metrics, _ := metricsOf([]string{"all"}) // the name is known
	x := &doc.Table{Name: "trials", Columns: []string{"run", "trial", "workload", "model", "repeat", "where"}, Sorted: true}
	var known []metric
	for _, m := range metrics {
		if slices.ContainsFunc(r.trials, func(t trial) bool { return !math.IsNaN(m.of(t)) }) {
			known = append(known, m)
			x.Columns = append(x.Columns, m.Name)
		}
	}
	for _, t := range r.trials {
		where := "cluster"
		if t.simulated {
			where = "simulated"
		}
		row := []any{
			t.folder, t.name, t.workload, t.model, t.repeat,
			where,
		}
		for _, m := range known {
			row = append(row, doc.Number(m.of(t), m.Unit))
		}
		x.Add(row...)
	}
	return x
}

// Chosen is a trial of a comparison.
type Chosen struct {
	Run                   *results.Run
	Name, Workload, Model string
	Repeat                int
	Simulated             bool
	Figures               *measure.Figures // of its first stage
}

// Recorded reports whether the trial is a trace itself, beside its replays.
func (c *Chosen) Recorded() bool {
	return c.Figures.Model == config.ModelRecorded || isRecording(c.Model)
}

// TracePath returns the path of the trial's trace, "" if the run keeps figures only.
func (c *Chosen) TracePath() string {
	i := slices.IndexFunc(c.Run.Trials, func(t results.Trial) bool { return t.Name == c.Name })
	if i < 0 || c.Run.Trials[i].Figures != nil {
		return ""
	}
	return c.Run.TracePath(&c.Run.Trials[i])
}

// Median returns the trial of a workload and model whose value of the report's first
// metric is the median of its repeats: of two, the earlier one.
func (r *Report) Median(workload, model string) (Chosen, bool) {
	list, _ := metricsOf([]string{r.Metric})
	of := under(only(r.trials, workload), model)
	if len(of) == 0 || len(list) == 0 {
		return Chosen{}, false
	}
	slices.SortStableFunc(of, func(a, b trial) int { return cmp.Compare(list[0].of(a), list[0].of(b)) })
	return r.chosen(of[(len(of)-1)/2]), true
}

func (r *Report) chosen(t trial) Chosen {
	return Chosen{r.runs[t.run], t.name, t.workload, t.model, t.repeat, t.simulated, t.figures[0]}
}

// AllTrials returns all trials, in the order in which the runs have them.
func (r *Report) AllTrials() []Chosen { return mapped(r.trials, r.chosen) }

// Runs returns the runs that are compared.
func (r *Report) Runs() []*results.Run { return r.runs }

// Clearest returns the workload and the two models that differ most clearly by the
// report's first metric. Without any difference they are the first two of the first
// workload. A trace itself, beside its replays, is taken if there is one model only.
// second is empty if there is nothing else.
func (r *Report) Clearest() (workload, first, second string) {
	least := math.Inf(1)
	for _, t := range r.Tables {
		if t.Metric != r.Metric || len(t.Models) == 0 {
			continue
		}
		if workload == "" {
			workload, first = t.Workload, t.Models[0].Model
		}
		for i := range t.Pairs {
			p := &t.Pairs[i]
			trace := isRecording(p.A) || isRecording(p.B)
			if second == "" || !trace && (float64(p.P) < least || isRecording(first) || isRecording(second)) {
				workload, first, second = t.Workload, p.A, p.B
				if !trace && !math.IsNaN(float64(p.P)) {
					least = float64(p.P)
				}
			}
		}
	}
	return workload, first, second
}
