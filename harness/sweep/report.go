package sweep

import (
	"fmt"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/stats"
	"heddle/traces/printable"
)

// Report is what a sweep gave. Other programs may rely on its JSON keys.
type Report struct {
	Sweep   string `json:"sweep"`
	Sample  string `json:"sample"`
	Replays int    `json:"replays"`
	// Done is how many replays have a result.
	Done     int           `json:"done"`
	Digest   string        `json:"digest"` // of all results, in whatever order they were computed
	Settings []SettingMean `json:"settings"`
	Answers  *Answers      `json:"answers,omitempty"` // nil until all replays have a result
	Warnings []string      `json:"warnings,omitempty"`

	metrics []measure.Metric
	axes    []string
	several bool // whether there are several traces
}

// SettingMean has the figures of a setting on a trace, over all seeds.
type SettingMean struct {
	Trace  string            `json:"trace"`
	Model  string            `json:"model"` // its label
	Values map[string]string `json:"values"`
	Seeds  int               `json:"seeds"`
	// Schedules is the number of different schedules among the seeds, which count once.
	Schedules int    `json:"schedules"`
	Metrics   []Mean `json:"metrics"`
	Held      []Held `json:"thresholds,omitempty"`
}

// Mean is the mean of a metric with its 95 % interval.
type Mean struct {
	Metric string           `json:"metric"`
	Mean   compare.Number   `json:"mean"`
	CI95   compare.Interval `json:"ci95"`
}

// NewReport returns the report on the rows of a plan. The rows may be incomplete.
func NewReport(p *Plan, rows *Rows) (*Report, error) {
	trials, err := rows.Trials(p)
	if err != nil {
		return nil, err
	}
	return report(p, trials, rows.Digest(p))
}

// ReportOf returns the report on a finished sweep, from its table of results.
func ReportOf(p *Plan, trials []results.Trial) (*Report, error) {
	rows := newRows()
	for i := range p.Replays {
		r := &p.Replays[i]
		if i >= len(trials) || trials[i].Name != p.trialName(r) {
			return nil, fmt.Errorf("read results: %w: the table of results has no row of %s, which the plan has", runs.ErrDamaged, p.trialName(r))
		}
		row, err := newRow(r.Key, trials[i])
		if err != nil {
			return nil, err
		}
		if _, err := rows.Add(row); err != nil {
			return nil, err
		}
	}
	return NewReport(p, rows)
}

func report(p *Plan, trials []results.Trial, digest string) (*Report, error) {
	metrics, err := measure.Find(p.Metrics)
	if err != nil {
		return nil, err
	}
	x := &Report{
		Sweep: p.Name, Sample: p.Sample, Replays: len(p.Replays), Done: len(trials), Digest: digest, Settings: []SettingMean{},
		metrics: metrics, axes: p.Axes, several: len(p.Traces) > 1,
	}
	g := newGrid(p, trials, metrics[0], compare.Met)
	for t := range p.Traces {
		for i := range p.Settings {
			s := &p.Settings[i]
			list := g.of[[2]int{t, i}]
			if len(list) == 0 {
				continue
			}
			m := SettingMean{Trace: p.Traces[t].Label, Model: s.Model.Label, Values: s.Values, Seeds: len(list), Held: g.held[[2]int{t, i}]}
			list = distinct(list)
			m.Schedules = len(list)
			for _, metric := range metrics {
				e := stats.Mean(valuesOf(metric, list))
				m.Metrics = append(m.Metrics, Mean{metric.Name, compare.Number(e.Value), compare.Interval{e.Lo, e.Hi}})
			}
			x.Settings = append(x.Settings, m)
		}
	}
	if x.Warnings = warnings(trials); x.Done == x.Replays {
		x.Answers = g.answer(metrics)
	}
	return x, nil
}

// group returns the trials of each trace and setting, in the order of repeats.
func (p *Plan) group(trials []results.Trial) map[[2]int][]*results.Trial {
	at := map[string][2]int{}
	for i := range p.Replays {
		r := &p.Replays[i]
		at[p.trialName(r)] = [2]int{r.Trace, r.Setting}
	}
	of := map[[2]int][]*results.Trial{}
	for i := range trials {
		k := at[trials[i].Name]
		of[k] = append(of[k], &trials[i])
	}
	return of
}

// distinct returns the first trial of each schedule: equal ones are one observation.
func distinct(list []*results.Trial) (some []*results.Trial) {
	seen := map[string]bool{}
	for _, t := range list {
		if !seen[t.Figures.ScheduleDigest] {
			seen[t.Figures.ScheduleDigest] = true
			some = append(some, t)
		}
	}
	return some
}

func valuesOf(m measure.Metric, list []*results.Trial) []float64 {
	values := make([]float64, len(list))
	for i, t := range list {
		values[i] = m.Of(t.Figures)
	}
	return values
}

// warnings returns the warnings of trials, each once.
func warnings(trials []results.Trial) (list []string) {
	for i := range trials {
		for _, w := range trials[i].Warnings {
			if !slices.Contains(list, w) && len(list) < mostWarnings {
				list = append(list, w)
			}
		}
	}
	return list
}

// mostWarnings is how many warnings of replays a report has; the run folder has all.
const mostWarnings = 20

// mostRows is how many settings the table for people has. JSON has all.
const mostRows = 40

// Doc returns the report for people.
func (x *Report) Doc() doc.Doc {
	t := &doc.Table{Name: "settings", Sorted: true}
	if x.several {
		t.Columns = append(t.Columns, "trace")
	}
	t.Columns = append(t.Columns, "model")
	t.Columns = append(t.Columns, x.axes...)
	t.Columns = append(t.Columns, "seeds")
	for _, m := range x.metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	if len(x.Settings) > 0 {
		for _, h := range x.Settings[0].Held {
			t.Columns = append(t.Columns, h.Threshold)
		}
	}
	list := x.Settings
	if len(list) > mostRows {
		list = list[:mostRows]
	}
	for _, s := range list {
		var row []any
		if x.several {
			row = append(row, s.Trace)
		}
		row = append(row, s.Model)
		for _, axis := range x.axes {
			value, ok := s.Values[axis]
			if !ok {
				value = "-"
			}
			row = append(row, value)
		}
		row = append(row, s.Seeds)
		for k, m := range s.Metrics {
			row = append(row, doc.Estimate(m.Mean, m.CI95[0], m.CI95[1], x.metrics[k].Unit))
		}
		for _, h := range s.Held {
			row = append(row, h.cell())
		}
		t.Add(row...)
	}
	d := doc.Doc{t}
	if x.Answers != nil && x.Answers.Thresholds != "" {
		d = doc.Doc{doc.Lead(x.Answers.Thresholds), t}
	}
	if n := len(x.Settings) - len(list); n > 0 {
		d = append(d, doc.Notes{printable.Count(n, "more setting") + "; --json prints all of them, and the run folder has all replays"})
	}
	d = append(d, doc.Facts{{Name: "replays", Value: counted(x.Done, x.Replays)}, {Name: "digest", Value: x.Digest}})
	if x.Answers != nil {
		d = append(d, x.Answers.doc(x.metrics)...)
	}
	if len(x.Warnings) > 0 {
		d = append(d, doc.Warnings(x.Warnings))
	}
	return d
}

func counted(done, all int) string {
	if done == all {
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%d of %d", done, all)
}
