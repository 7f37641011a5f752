package compare

import (
	"bufio"
	"fmt"
	"slices"
	"text/tabwriter"

	"heddle/harness/measure"
	"heddle/harness/stats"
	"heddle/traces/printable"
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
		for _, t := range distinct(trials) {
			if t.model == model && t.decisions != nil && t.decisions.Made > 0 {
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

// writeSteering prints a row for each scheduler model, and then the decisions
// that did not come out as decided or predicted. It prints nothing if
// simulations, where nothing failed, are all there is.
func writeSteering(w *bufio.Writer, list []Steering) {
	if !slices.ContainsFunc(list, func(s Steering) bool { return !s.certain() }) {
		return
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tabs, "steering\ttrials\tdecisions\thonoured\tto the container: p50\tp95\tmaps as predicted")
	for _, s := range list {
		honoured := share(s.Honoured, s.Decisions)
		if s.HonouredCI95Pct.Bounded() {
			honoured += " " + s.HonouredCI95Pct.String()
		}
		if s.Unused > 0 {
			honoured += fmt.Sprintf(", %d unused", s.Unused)
		}
		p50, p95 := "-", "-"
		if len(s.latencies) > 0 { // only trials with a trace have times of decisions
			p50, p95 = figure(float64(s.P50Ms))+" ms", figure(float64(s.P95Ms))+" ms"
		}
		printable.Fprintf(tabs, "  %s\t%d\t%d\t%s\t%s\t%s\t", s.Model, s.Trials, s.Decisions, honoured, p50, p95)
		for i, b := range s.Branches {
			if i > 0 {
				fmt.Fprint(tabs, ", ")
			}
			printable.Fprintf(tabs, "%s %s", b.Branch, share(b.Predicted, b.Maps))
		}
		fmt.Fprintln(tabs)
	}
	tabs.Flush()
	for _, m := range list[len(list)-1].Misses {
		printable.Fprintf(w, "%s: decision %d, a %s of %s on %s: %s", m.Trial, m.Decision, m.What, m.Job, m.Node, m.Outcome)
		if m.Cause != "" {
			printable.Fprintf(w, ": %s", m.Cause)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// The function share formats a part of a whole like "349 of 350 (99.7%)".
func share(part, all int) string {
	return fmt.Sprintf("%d of %d (%s%%)", part, all, figure(100*float64(part)/float64(max(all, 1))))
}
