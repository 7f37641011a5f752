package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/nearest"
)

// Thresholds are the thresholds of an experiment. There is a list for each
// metric of "heddle compare".
type Thresholds struct {
	Makespan       []Threshold `yaml:"makespan,omitempty"`
	JobCompletion  []Threshold `yaml:"jobCompletion,omitempty"`
	CacheLocal     []Threshold `yaml:"cacheLocal,omitempty"`
	NodeLocal      []Threshold `yaml:"nodeLocal,omitempty"`
	MapDuration    []Threshold `yaml:"mapDuration,omitempty"`
	ReduceDuration []Threshold `yaml:"reduceDuration,omitempty"`
	// Untold says whether a check fails if the trials do not show on which side
	// of a limit the value is: UntoldFail, the default, or UntoldPass.
	Untold string `yaml:"untold,omitempty"`
}

// Values of Thresholds.Untold.
const (
	UntoldFail = "fail"
	UntoldPass = "pass"
)

// Of returns the thresholds for a metric.
func (t *Thresholds) Of(metric string) []Threshold {
	switch metric {
	case "makespan":
		return t.Makespan
	case "jobCompletion":
		return t.JobCompletion
	case "cacheLocal":
		return t.CacheLocal
	case "nodeLocal":
		return t.NodeLocal
	case "mapDuration":
		return t.MapDuration
	case "reduceDuration":
		return t.ReduceDuration
	}
	return nil
}

// Metrics returns the metrics that thresholds may be about, by name.
func Metrics() []string { return slices.Sorted(maps.Keys(metricUnits)) }

// Len returns the number of thresholds.
func (t *Thresholds) Len() int {
	n := 0
	for metric := range metricUnits {
		n += len(t.Of(metric))
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
	// time (1 if there is none), or the percentage points to add for a share.
	// Without Other, it is the limit itself in the metric's unit.
	Limit float64

	operator, unit string // parts of the threshold's text: operator is "*", "+", "-" or empty; unit is "s", "%" or empty
}

// thresholdForms says which forms of a threshold are allowed. It ends the
// messages about a threshold that cannot be read.
const thresholdForms = "want MODEL < MODEL * 1.1 for a time, MODEL > MODEL + 5 for a share in percent, or MODEL < 60, with spaces between the parts"

// maxThresholds is the largest number of thresholds in one experiment.
const maxThresholds = 100

// metricUnits has the metrics that thresholds may be about, with their units.
// They are the metrics of "heddle compare".
var metricUnits = map[string]string{
	"makespan": "s", "jobCompletion": "s", "mapDuration": "s", "reduceDuration": "s",
	"cacheLocal": "%", "nodeLocal": "%",
}

// MetricUnits returns the unit of each metric that a threshold may be about: "s"
// for a time and "%" for a share.
func MetricUnits() map[string]string { return maps.Clone(metricUnits) }

// MarshalText returns the threshold as it is written in the experiment file.
func (t Threshold) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

// UnmarshalText parses the text of a threshold. The parts of the text have
// spaces between them, because names of models may contain a hyphen.
func (t *Threshold) UnmarshalText(data []byte) error {
	*t = Threshold{Text: string(data)}
	parts := strings.Fields(t.Text)
	if len(parts) != 3 && len(parts) != 5 || parts[1] != "<" && parts[1] != ">" {
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
	number := strings.TrimRight(limit, "s%")
	t.unit = limit[len(number):]
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && value >= 0 && value <= 1e9 && len(t.unit) <= 1:
		t.Limit = value
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

// fillThresholds sets the factor of thresholds about times to 1 where the
// experiment file gives none.
func (e *Experiment) fillThresholds() {
	for _, metric := range Metrics() {
		list := e.Thresholds.Of(metric)
		for i := range list {
			if t := &list[i]; metricUnits[metric] == "s" && t.Other != "" && t.operator == "" {
				t.Limit = 1
			}
		}
	}
}

func (e *Experiment) thresholdProblems(p *problems) {
	var models []string
	known := map[string]bool{"": true} // "" is allowed as a model: a threshold that compares with a number has it
	for _, m := range e.Models {
		models, known[m.Label] = append(models, m.Label), true
	}
	oneOf(p, "thresholds.untold", e.Thresholds.Untold, UntoldFail, UntoldPass)
	if all := e.Thresholds.Len(); all > maxThresholds {
		p.addf("thresholds", "%d thresholds; want at most %d", all, maxThresholds)
		return
	}
	for _, metric := range Metrics() {
		list := e.Thresholds.Of(metric)
		for i := range list {
			t, path := &list[i], fmt.Sprintf("thresholds.%s[%d]", metric, i)
			t.problems(p, path, metric, metricUnits[metric])
			for _, model := range []string{t.Model, t.Other} {
				if !known[model] {
					p.addf(path, "%q: the experiment has no model labelled %q; %s", t.Text, model, nearest.Hint(model, models))
				}
			}
		}
	}
}

func (t *Threshold) problems(p *problems, path, metric, unit string) {
	time := unit == "s"
	switch {
	case t.Text == "":
		p.addf(path, "empty; %s", thresholdForms)
	case t.Other == t.Model:
		p.addf(path, "%q: it compares %s with itself; want another model", t.Text, t.Model)
	case t.unit != "" && (t.Other == "" && t.unit != unit || t.Other != "" && (time || t.unit != "%")):
		p.addf(path, "%q: unit %q: want %s for %s", t.Text, t.unit, map[bool]string{true: "a factor without unit, or seconds (s)", false: "percent (%)"}[time], metric)
	case time && (t.operator == "+" || t.operator == "-"):
		p.addf(path, "%q: times are compared by their ratio; want a factor, such as %s * 1.1", t.Text, t.Other)
	case time && t.operator == "*" && t.Limit == 0:
		p.addf(path, "%q: want a factor above 0", t.Text)
	case !time && t.operator == "*":
		p.addf(path, "%q: shares are compared by their difference; want percentage points, such as %s + 5", t.Text, t.Other)
	case !time && (t.Limit > 100 || t.Limit < -100):
		p.addf(path, "%q: want at most 100 percent", t.Text)
	}
}
