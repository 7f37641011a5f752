package compare

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/config"
	"heddle/harness/results"
)

// Threshold says whether a threshold of an experiment holds in one workload.
type Threshold struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Text     string `json:"threshold"` // the threshold's text in the experiment file
	// Verdict is Met if the whole 95 % confidence interval is within the limit,
	// Missed if none of it is, and otherwise Unclear.
	Verdict Verdict `json:"verdict"`
	// Figure names what the threshold limits. It is the mean of one model,
	// the ratio of the times or multiples of two models ("fifo / yarn"), or the
	// difference of what else they have ("acl - yarn"), such as the percentage
	// points between shares.
	Figure string   `json:"figure"`
	Value  Number   `json:"value"`
	CI95   Interval `json:"ci95"`
	Limit  float64  `json:"limit"`
	// Runs is the number of trials. If two models are compared, it is the
	// number of pairs of trials.
	Runs int `json:"runs"`

	unit         string
	below        bool
	model, other string // those that are compared, as the experiment names them
}

// Verdict says what the trials show about a threshold: whether it is met.
type Verdict string

// Verdicts about a threshold in an experiment file.
const (
	Met     Verdict = "met"
	Missed  Verdict = "missed"
	Unclear Verdict = CannotTell // the trials are too few, or the value is too near the limit, to say
)

// thresholds checks the thresholds in the experiment file of a run. Several runs
// have none. If apart is true, the names of models in trials begin with the run's.
func (r *Report) thresholds(opened []*results.Run, apart bool, workloads []string, trials []trial) error {
	if len(opened) != 1 {
		return nil
	}
	e, err := results.Experiment(opened[0].Run, "thresholds")
	if err != nil {
		return fmt.Errorf("compare: read thresholds: %w", err)
	}
	if e == nil {
		return nil
	}
	nameOf := func(model string) string { return model }
	if apart {
		nameOf = func(model string) string { return trials[0].folder + "/" + model }
	}
	r.CannotTell = e.Thresholds.CannotTell
	for _, listed := range e.Thresholds.Metrics() {
		m := metric{Metric: listed}
		for _, limit := range e.Thresholds.ByMetric[m.Name] {
			for _, workload := range workloads {
				of := func(model string) []trial {
					return slices.DeleteFunc(under(only(trials, workload), nameOf(model)), func(t trial) bool { return math.IsNaN(m.of(t)) })
				}
				t := newThreshold(m, limit, of)
				t.Workload = workload
				r.Thresholds = append(r.Thresholds, t)
			}
		}
	}
	return nil
}

// newThreshold checks a threshold against the trials of a workload. The
// function of returns the trials of a model that have a value of the metric.
func newThreshold(m metric, limit config.Threshold, of func(model string) []trial) Threshold {
	t := Threshold{
		Metric: m.Name, Text: limit.Text, Limit: limit.Limit, below: limit.Below, model: limit.Model, other: limit.Other,
		Value: Number(math.NaN()), CI95: Interval{math.Inf(-1), math.Inf(1)}, Verdict: Unclear,
	}
	as, bs := of(limit.Other), of(limit.Model)
	switch {
	case limit.Other == "":
		t.Figure, t.unit = limit.Model, m.Unit
		if len(bs) > 0 {
			e := m.mean(distinct(bs))
			t.Value, t.CI95, t.Runs = Number(e.Value), Interval{e.Lo, e.Hi}, e.N
		}
	case m.IsFactor():
		t.Figure = limit.Model + " / " + limit.Other
	case m.Unit == "%":
		t.Figure, t.unit = limit.Model+" - "+limit.Other, "points"
	default:
		t.Figure = limit.Model + " - " + limit.Other
	}
	if limit.Other != "" && len(as) > 0 && len(bs) > 0 {
		p, c := newPair(m, as, bs, &warnings{})
		t.Value, t.CI95, t.Runs = Number(c.Value), Interval{c.Lo, c.Hi}, p.Runs
	}
	t.Verdict = Judge(t.below, t.Limit, t.Value, t.CI95)
	return t
}

// Judge returns what a value with its interval shows about a limit that it is to be below, or above.
func Judge(below bool, limit float64, value Number, ci95 Interval) Verdict {
	within, beyond := ci95[1] < limit, ci95[0] >= limit
	if !below {
		within, beyond = ci95[0] > limit, ci95[1] <= limit
	}
	switch {
	case math.IsNaN(float64(value)):
	case within:
		return Met
	case beyond:
		return Missed
	}
	return Unclear
}

// Unmet returns an error if a threshold is missed, or cannot be told and cannotTell is
// not config.CannotTellPass. The error says how many are.
func Unmet(list []Threshold, cannotTell string) error {
	count := map[Verdict]int{}
	for _, t := range list {
		count[t.Verdict]++
	}
	if cannotTell == config.CannotTellPass {
		count[Unclear] = 0
	}
	const hint = "; more repeats may tell, and 'cannotTell: pass' among the thresholds lets them pass"
	switch missed, unclear := count[Missed], count[Unclear]; {
	case missed == 0 && unclear == 0:
		return nil
	case unclear == 0:
		return fmt.Errorf("%d of %d thresholds missed", missed, len(list))
	case missed == 0:
		return fmt.Errorf("of %d thresholds, %d that the repeats cannot tell%s", len(list), unclear, hint)
	default:
		return fmt.Errorf("%d of %d thresholds missed, and %d that the repeats cannot tell%s", missed, len(list), unclear, hint)
	}
}
