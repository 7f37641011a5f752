package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/measure"
	"heddle/harness/nearest"
)

// Thresholds are the thresholds of an experiment.
type Thresholds struct {
	// ByMetric has a list of thresholds for each metric that is limited, of those
	// in measure.Metrics.
	ByMetric metricThresholds `yaml:",inline"`
	// CannotTell says whether a check fails if the trials do not show on which side
	// of a limit the value is: CannotTellFail, the default, or CannotTellPass.
	CannotTell string `yaml:"cannotTell,omitempty" text:"Whether a check fails if the trials are too few to tell: fail, or pass." values:"fail,pass"`

	// Named are those of a file that lists them with their metrics, while it is read.
	Named limits `yaml:"-"`
}

type metricThresholds map[string]thresholds

// thresholds is a list in a file, or one text instead.
type thresholds []Threshold

func (thresholds) orOne() string { return "a limit such as < 60" }

// limits is such a list of thresholds that begin with their metric.
type limits []Limit

func (limits) orOne() string { return "a limit such as makespan < 60" }

// Limit is a threshold with a metric in front of < or >. In a sweep, End may be a time of day before which
// the last job of each day is to end, as in "end of nightly < 06:00"; Metric is then one of the same jobs.
type Limit struct {
	Name   string // of the metric, as written
	Metric measure.Metric
	End    time.Time
	Threshold
}

func (l Limit) String() string { return l.Name + " " + l.Text }

// MarshalText returns the limit as it is written in a file.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func (t *Thresholds) list() any { return &t.Named }

// UnmarshalText parses a limit.
func (l *Limit) UnmarshalText(data []byte) error {
	text := strings.TrimSpace(string(data))
	i := max(0, strings.IndexAny(text, "<>"))
	l.Name = strings.TrimSpace(text[:i])
	name := ends.ReplaceAllString(l.Name, "jobCompletion")
	found, err := measure.Find([]string{name})
	switch {
	case err != nil && strings.Contains(name, " of "):
		return fmt.Errorf("read threshold %q: %w", text, err)
	case len(found) != 1:
		return fmt.Errorf("read threshold %q: %q is no metric; want a limit such as makespan < 60", text, l.Name)
	}
	if err = l.Threshold.UnmarshalText([]byte(text[i:])); err != nil {
		return err
	}
	l.Metric = found[0]
	if l.seconds(l.Metric); name == l.Name {
		return nil
	}
	for _, zone := range []string{"", "Z"} {
		if l.End, err = time.Parse("15:04Z07:00", l.Other+zone); err == nil {
			return nil
		}
	}
	return fmt.Errorf("read threshold %q: want a time of day such as < 06:00, in UTC, or < 06:00+02:00", text)
}

// ends begins a limit for the end of jobs.
var ends = regexp.MustCompile(`^end\b`)

// keys returns the names of all metrics, with what a schema says of each.
func (metricThresholds) keys() map[string]string {
	texts := map[string]string{}
	for _, m := range measure.Metrics() {
		texts[m.Name] = strings.ToUpper(m.Text[:1]) + m.Text[1:]
		if m.Unit != "" {
			texts[m.Name] += ", in " + m.Unit
		}
		texts[m.Name] += "."
	}
	texts[measure.NotePrefix+anyName] = "A figure that the scheduler model notes, such as notes.rightPct."
	return texts
}

// Values of Thresholds.CannotTell.
const (
	CannotTellFail = "fail"
	CannotTellPass = "pass"
)

// Metrics returns the metrics that are limited, by name.
func (t *Thresholds) Metrics() []measure.Metric {
	if len(t.ByMetric) == 0 {
		return nil // for no names Find returns the usual metrics
	}
	list, _ := measure.Find(slices.Sorted(maps.Keys(t.ByMetric))) // an unknown name cannot be here, since decode refuses it
	return list
}

// Len returns the number of thresholds.
func (t *Thresholds) Len() int {
	n := 0
	for _, list := range t.ByMetric {
		n += len(list)
	}
	return n
}

// Threshold is a limit for what the trials of one scheduler model show, such as
// "fifo < yarn * 1.1". It is about one metric, such as the completion time; see
// Thresholds.
type Threshold struct {
	// Text is the threshold as written in the experiment file.
	Text string
	// Model is the label of the scheduler model that is limited, "fifo" in
	// "fifo < yarn".
	Model string
	// Below is true for "<" (the model's value must be below the limit), and
	// false for ">".
	Below bool
	// Other is the label of the model with which Model is compared, "yarn" in
	// "fifo < yarn". If it is empty, the limit is a number.
	Other string
	// Limit is the number in the threshold. With Other, it is the factor for a
	// time or multiple (1 if there is none), and else what is added, such as the
	// percentage points of a share. Without Other, it is the limit itself in the
	// metric's unit.
	Limit float64

	item           int    // place in the file's list
	operator, unit string // parts of the threshold's text: operator is "*", "+", "-" or empty; unit is "s", "%", "x" or empty
}

// thresholdForms says which forms of a threshold are allowed. It ends the
// messages about a threshold that cannot be read.
const thresholdForms = "want a limit such as < 60, which is for each model, or MODEL < 60, " +
	"or MODEL < MODEL * 1.1 for a time, or MODEL > MODEL + 5 for a share in percent"

// maxThresholds is the largest number of thresholds in one experiment.
const maxThresholds = 100

// maxLimit is the largest number in a threshold.
const maxLimit = 1e9

// MarshalText returns the threshold as it is written in the experiment file.
func (t Threshold) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

// spaced has spaces around the signs that are in no name of a model.
var spaced = strings.NewReplacer("<", " < ", ">", " > ")

// UnmarshalText parses the text of a threshold. Model is empty if the text begins with
// < or >. The other signs have spaces around them, because names of models may contain a
// hyphen.
func (t *Threshold) UnmarshalText(data []byte) error {
	*t = Threshold{Text: string(data)}
	parts := strings.Fields(spaced.Replace(t.Text))
	if len(parts) > 0 && (parts[0] == "<" || parts[0] == ">") {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 && len(parts) != 5 || parts[1] != "<" && parts[1] != ">" || parts[2][0] == '=' {
		return fmt.Errorf("read threshold %q: %s", t.Text, thresholdForms)
	}
	t.Model, t.Below = parts[0], parts[1] == "<"
	limit := parts[2]
	if len(parts) == 5 {
		t.Other, t.operator, limit = parts[2], parts[3], parts[4]
		if !slices.Contains([]string{"*", "+", "-"}, t.operator) {
			return fmt.Errorf("read threshold %q: %q: want *, + or -", t.Text, t.operator)
		}
	}
	number := strings.TrimRight(limit, "s%x")
	unit := limit[len(number):]
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && value >= 0 && value <= maxLimit && len(unit) <= 1:
		t.Limit, t.unit = value, unit
	case err == nil || t.Other != "":
		return fmt.Errorf("read threshold %q: %q: want a number from 0 to 1e9", t.Text, limit)
	default:
		t.Other = limit
	}
	if t.operator == "-" {
		t.Limit = -t.Limit
	}
	return nil
}

// fillThresholds reads what a threshold means by its metric: a limit such as 90s or
// 2m of a time, unless a model has that label, and the factor 1 where two models are
// compared by a ratio and the experiment file gives no factor. One without a model is for
// each model but the one that it names.
func (e *Experiment) fillThresholds() {
	for _, t := range e.Thresholds.Named {
		if e.Thresholds.ByMetric == nil {
			e.Thresholds.ByMetric = metricThresholds{}
		}
		e.Thresholds.ByMetric[t.Metric.Name] = append(e.Thresholds.ByMetric[t.Metric.Name], t.Threshold)
	}
	e.Thresholds.Named = nil
	labelled := func(name string) bool {
		return slices.ContainsFunc(e.Models, func(m Model) bool { return m.Label == name })
	}
	for _, m := range e.Thresholds.Metrics() {
		var list thresholds
		for i, t := range e.Thresholds.ByMetric[m.Name] {
			t.item = i
			for _, of := range e.Models {
				if t.Model == "" && t.Text != "" && of.Label != t.Other {
					one := t
					one.Model, one.Text = of.Label, of.Label+" "+strings.TrimSpace(t.Text)
					list = append(list, one)
				}
			}
			if t.Model != "" || t.Text == "" {
				list = append(list, t)
			}
		}
		e.Thresholds.ByMetric[m.Name] = list
		for i := range list {
			t := &list[i]
			if t.Other == "" || t.operator != "" {
				continue
			}
			if (labelled(t.Other) || !t.seconds(m)) && m.IsFactor() {
				t.Limit = 1
			}
		}
	}
}

// seconds reads a limit of a time that has a unit such as 2m, and reports whether it is one.
func (t *Threshold) seconds(m measure.Metric) bool {
	d, err := time.ParseDuration(t.Other)
	ok := err == nil && d >= 0 && m.Unit == "s"
	if ok {
		t.Other, t.Limit, t.unit = "", d.Seconds(), "s"
	}
	return ok
}

func (e *Experiment) thresholdProblems(p *problems) {
	var models []string
	known := map[string]bool{"": true} // "" is allowed as a model: a threshold that compares with a number has it
	for _, m := range e.Models {
		models, known[m.Label] = append(models, m.Label), true
	}
	p.keys(e.Thresholds, "thresholds")
	if all := e.Thresholds.Len(); all > maxThresholds {
		p.addf("thresholds", "%d thresholds; want at most %d", all, maxThresholds)
		return
	}
	for _, m := range e.Thresholds.Metrics() {
		list := e.Thresholds.ByMetric[m.Name]
		for i := range list {
			t, path := &list[i], fmt.Sprintf("thresholds.%s[%d]", m.Name, list[i].item)
			t.problems(p, path, m)
			for _, model := range []string{t.Model, t.Other} {
				if !known[model] {
					p.addf(path, "%q: the experiment has no model labelled %q; %s", t.Text, model, nearest.Hint(model, models))
				}
			}
		}
	}
}

// thresholdUnits says of the metrics of a unit what they are called, which limits
// they take, and how two models are compared by them.
var thresholdUnits = map[string]struct{ are, limit, difference string }{
	"s": {"times", "a factor without unit, or seconds (s)", ""},
	"x": {"multiples", "a factor, or a number without unit", ""},
	"%": {"shares", "percent (%)", "percentage points"},
	"":  {"such numbers", "a number without unit", "a number to add"},
}

func (t *Threshold) problems(p *problems, path string, m measure.Metric) {
	unit, factor := thresholdUnits[m.Unit], m.IsFactor()
	switch {
	case t.Text == "":
		p.addf(path, "empty; %s", thresholdForms)
	case t.Other == t.Model:
		p.addf(path, "%q: it compares %s with itself; want another model", t.Text, t.Model)
	case t.unit != "" && (t.unit != m.Unit || t.Other != "" && factor):
		p.addf(path, "%q: unit %q: want %s for %s", t.Text, t.unit, unit.limit, m.Name)
	case factor && (t.operator == "+" || t.operator == "-"):
		p.addf(path, "%q: %s are compared by their ratio; want a factor, such as %s * 1.1", t.Text, unit.are, t.start())
	case factor && t.operator == "*" && t.Limit == 0:
		p.addf(path, "%q: want a factor above 0", t.Text)
	case !factor && t.operator == "*":
		p.addf(path, "%q: %s are compared by their difference; want %s, such as %s + 5", t.Text, unit.are, unit.difference, t.start())
	case m.Unit == "%" && !m.Signed && (t.Limit > 100 || t.Limit < -100):
		p.addf(path, "%q: want at most 100 percent", t.Text)
	case t.Limit > maxLimit:
		p.addf(path, "%q: want a number from 0 to %g", t.Text, float64(maxLimit))
	}
}

// start returns the two models of a threshold with the sign between them.
func (t *Threshold) start() string {
	if t.Below {
		return t.Model + " < " + t.Other
	}
	return t.Model + " > " + t.Other
}
