package compare

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// Steering says what became of a scheduler model's decisions, in all its trials
// together.
type Steering struct {
	Model     string `json:"model"`
	Trials    int    `json:"trials"`
	Decisions int    `json:"decisions"`
	// Honoured is the number of decisions for which a container of the decided
	// job and kind (map or reduce) started on the decided node, and no further
	// container of that job and kind started in its place or beside it.
	Honoured int `json:"honoured"`
	// Unused is the number of decisions whose container ran no task.
	Unused int `json:"unused,omitempty"`
	// HonouredCI95Pct is the interval of the share of honoured decisions. It
	// comes from the differences between trials and is null for a single trial.
	HonouredCI95Pct Interval `json:"honouredCi95Pct"`
	// P50Ms and P95Ms are the median and the 95th percentile, in ms, of the
	// time from an honoured decision until its container was first seen. They
	// are null if no trial has a trace.
	P50Ms Number `json:"p50Ms"`
	P95Ms Number `json:"p95Ms"`
	// Branches has one entry for each rule by which an ApplicationMaster
	// chooses the map for a container, in the order in which it tries the
	// rules. It counts the maps for which heddle expected this rule.
	Branches []measure.Branch `json:"branches"`
	// Misses lists the decisions that were not honoured, and those whose
	// container ran another map than predicted.
	Misses []Miss `json:"misses"`

	simulated bool          // whether all its trials are simulated
	latencies []float64     // times in ms from each honoured decision to the start of its container
	shares    []stats.Share // for each trial, the share of its decisions that were honoured
}

// Miss is one scheduling decision of a trial that did not come out as decided
// or predicted.
type Miss struct {
	Trial string `json:"trial"`
	measure.Miss
}

// add adds what became of the decisions in one trial to the counts.
func (s *Steering) add(t trial) {
	d := t.decisions
	s.simulated = t.simulated && (s.simulated || s.Trials == 0)
	s.Trials++
	s.Decisions += d.Made
	s.Honoured += d.Honoured
	s.Unused += d.Unused
	s.latencies = append(s.latencies, d.Latencies().Ms()...)
	s.shares = append(s.shares, stats.Share{Part: int64(d.Honoured), Of: int64(d.Made)})
	for _, b := range d.Branches {
		i := slices.IndexFunc(s.Branches, func(sum measure.Branch) bool { return sum.Branch == b.Branch })
		if i < 0 {
			s.Branches = append(s.Branches, b)
		} else {
			s.Branches[i].Maps += b.Maps
			s.Branches[i].Predicted += b.Predicted
		}
	}
	for _, m := range d.Misses {
		s.Misses = append(s.Misses, Miss{t.name, m})
	}
}

// steering returns an entry for each scheduler model that decided where tasks
// run: first the cluster's own scheduler, then the other models by name. If
// there are several, a last entry is for all of them together.
func steering(trials []trial) []Steering {
	list := []Steering{}
	all := Steering{Model: "all"}
	for _, model := range modelsOf(trials) {
		s := Steering{Model: model}
		for _, t := range distinct(under(trials, model)) {
			if t.decisions != nil && t.decisions.Made > 0 {
				s.add(t)
				all.add(t)
			}
		}
		if s.Decisions == 0 {
			continue
		}
		list = append(list, s)
	}
	if len(list) > 1 {
		list = append(list, all)
	}
	for i := range list {
		s := &list[i]
		honoured := stats.MeanShare(s.shares)
		s.HonouredCI95Pct = Interval{honoured.Lo, honoured.Hi}
		s.P50Ms, s.P95Ms = Number(stats.Quantile(s.latencies, 0.5)), Number(stats.Quantile(s.latencies, 0.95))
		slices.SortFunc(s.Branches, measure.InOrder)
		s.Branches, s.Misses = append([]measure.Branch{}, s.Branches...), append([]Miss{}, s.Misses...)
	}
	return list
}

// certain reports whether steering was simulated and every decision came out as
// decided and predicted. That is what a simulation does where nothing fails.
func (s *Steering) certain() bool {
	return s.simulated && s.Honoured == s.Decisions && len(s.Misses) == 0 &&
		!slices.ContainsFunc(s.Branches, func(b measure.Branch) bool { return b.Predicted != b.Maps })
}

// predictions returns for how many maps heddle said which one a container would run, and
// how many of these it ran.
func (s *Steering) predictions() (maps, predicted int) {
	for _, b := range s.Branches {
		maps, predicted = maps+b.Maps, predicted+b.Predicted
	}
	return maps, predicted
}

// otherwise returns how many decisions were not honoured or whose container ran another
// map than predicted. Misses may have fewer of them, since a trial keeps only so many.
func (s *Steering) otherwise() int {
	maps, predicted := s.predictions()
	return s.Decisions - s.Honoured + maps - predicted
}

// steeringParts returns a table with a row for each scheduler model, and below it
// the decisions that did not come out as decided or predicted. It returns nothing
// if simulations, where nothing failed, are all there is.
func steeringParts(list []Steering) doc.Doc {
	if !slices.ContainsFunc(list, func(s Steering) bool { return !s.certain() }) {
		return nil
	}
	x := doc.NewTable("steering", "model", "trials", "decisions", "honoured", "unused", "to the container, median", "p95",
		"maps as predicted", "by the expected rule")
	for i := range list {
		s := &list[i]
		var branches []string
		maps, predicted := s.predictions()
		for _, b := range s.Branches {
			branches = append(branches, b.Branch+" "+doc.Share(b.Predicted, b.Maps).String())
		}
		x.Add(s.Model, s.Trials, s.Decisions,
			doc.Estimate(100*float64(s.Honoured)/float64(max(s.Decisions, 1)), s.HonouredCI95Pct[0], s.HonouredCI95Pct[1], "%"), s.Unused,
			doc.Duration(s.P50Ms), doc.Duration(s.P95Ms), doc.Share(predicted, maps), strings.Join(branches, ", "))
	}
	var misses doc.List
	for _, m := range list[len(list)-1].Misses {
		text := fmt.Sprintf("%s: decision %d, a %s of %s on %s: %s", m.Trial, m.Decision, m.What, m.Job, m.Node, m.Outcome)
		if m.Cause != "" {
			text += ": " + m.Cause
		}
		misses = append(misses, text)
	}
	return doc.Doc{doc.Heading("steering"), x, misses}
}
