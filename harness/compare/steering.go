package compare

import (
	"bufio"
	"fmt"
	"slices"
	"text/tabwriter"

	"heddle/harness/stats"
	"heddle/traces"
)

// Steering is what became of a model's decisions in all its trials together.
type Steering struct {
	Model     string `json:"model"`
	Trials    int    `json:"trials"`
	Decisions int    `json:"decisions"`
	// Honoured are those whose container, and no other, came for the decided
	// job and kind on the decided node.
	Honoured int `json:"honoured"`
	// HonouredCI95Pct is of the share of decisions that are honoured, from the
	// differences between trials; null for one trial.
	HonouredCI95Pct Interval `json:"honouredCi95Pct"`
	// P50Ms and P95Ms are from the decision to seeing its container, of honoured
	// ones.
	P50Ms Number `json:"p50Ms"`
	P95Ms Number `json:"p95Ms"`
	// Branches say which map the ApplicationMaster bound, by the rule that was
	// to choose it, in the order in which it looks.
	Branches []Branch `json:"branches"`
	// Misses are the decisions that were not honoured and the maps that were
	// not the predicted ones, one by one.
	Misses []Miss `json:"misses"`

	latencies []float64     // ms
	shares    []stats.Share // of honoured decisions, by trial
}

// Branch is one rule of late binding.
type Branch struct {
	Branch    string `json:"branch"`    // rerun, node, rack or any
	Maps      int    `json:"maps"`      // bound where a prediction was made
	Predicted int    `json:"predicted"` // and were the predicted ones
}

// Miss is one decision that did not come out as meant.
type Miss struct {
	Trial    string          `json:"trial"`
	Decision int64           `json:"decision"`
	Job      traces.JobID    `json:"job"`
	What     traces.TaskKind `json:"what"`
	Node     traces.Node     `json:"node"`
	// Outcome is that of the trace, or "bound otherwise".
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// note takes what a trace says of decisions; made holds those without an
// outcome yet.
func (s *Steering) note(event traces.Event, trial string, made map[int64]*traces.Decision) {
	switch e := event.(type) {
	case *traces.Decision:
		d := *e
		made[e.ID] = &d
		s.Decisions++
	case *traces.Actuation:
		d := made[e.Decision]
		if d == nil {
			return
		}
		delete(made, e.Decision)
		if e.Outcome != "honoured" {
			s.miss(trial, d, e.Outcome, e.Cause)
			return
		}
		s.Honoured++
		s.latencies = append(s.latencies, float64(e.GrantedAt-d.T)/1e6)
		if d.What != traces.Map || d.BindIndex < 0 || e.Bound.Job == "" {
			return
		}
		b := s.branch(d.BindBranch)
		b.Maps++
		if e.Bound.Index == d.BindIndex {
			b.Predicted++
		} else {
			s.miss(trial, d, "bound otherwise", fmt.Sprintf("map %d, not %d (%s)", e.Bound.Index, d.BindIndex, d.BindBranch))
		}
	}
}

// end closes a trial: what has no outcome by now has none.
func (s *Steering) end(trial string, made map[int64]*traces.Decision) {
	for _, d := range made {
		s.miss(trial, d, "none", "the trace ends before its outcome")
	}
	slices.SortFunc(s.Misses, func(a, b Miss) int { return int(a.Decision - b.Decision) })
	s.shares = []stats.Share{{Part: int64(s.Honoured), Of: int64(s.Decisions)}}
}

func (s *Steering) miss(trial string, d *traces.Decision, outcome, cause string) {
	s.Misses = append(s.Misses, Miss{trial, d.ID, d.Job, d.What, d.Node, outcome, cause})
}

func (s *Steering) branch(name string) *Branch {
	i := slices.IndexFunc(s.Branches, func(b Branch) bool { return b.Branch == name })
	if i < 0 {
		i = len(s.Branches)
		s.Branches = append(s.Branches, Branch{Branch: name})
	}
	return &s.Branches[i]
}

func (s *Steering) add(o Steering) {
	s.Trials += o.Trials
	s.Decisions += o.Decisions
	s.Honoured += o.Honoured
	s.latencies = append(s.latencies, o.latencies...)
	s.shares = append(s.shares, o.shares...)
	for _, b := range o.Branches {
		sum := s.branch(b.Branch)
		sum.Maps += b.Maps
		sum.Predicted += b.Predicted
	}
	s.Misses = append(s.Misses, o.Misses...)
}

// steering is of each model that decided anything, in the order of modelsOf,
// and where there are several, of all of them together.
func steering(trials []trial) []Steering {
	list := []Steering{}
	all := Steering{Model: "all"}
	for _, model := range modelsOf(trials) {
		s := Steering{Model: model}
		for _, t := range trials {
			if t.model == model && t.steering.Decisions > 0 {
				s.add(t.steering)
			}
		}
		if s.Decisions == 0 {
			continue
		}
		all.add(s)
		list = append(list, s)
	}
	if len(list) > 1 {
		list = append(list, all)
	}
	rules := []string{"rerun", "node", "rack", "any"}
	for i := range list {
		s := &list[i]
		honoured := stats.MeanShare(s.shares)
		s.HonouredCI95Pct = Interval{honoured.Lo, honoured.Hi}
		s.P50Ms, s.P95Ms = Number(stats.Quantile(s.latencies, 0.5)), Number(stats.Quantile(s.latencies, 0.95))
		slices.SortFunc(s.Branches, func(a, b Branch) int { return slices.Index(rules, a.Branch) - slices.Index(rules, b.Branch) })
		s.Branches, s.Misses = append([]Branch{}, s.Branches...), append([]Miss{}, s.Misses...)
	}
	return list
}

// writeSteering prints a row a model, and below what did not come out as meant.
func writeSteering(w *bufio.Writer, list []Steering) {
	if len(list) == 0 {
		return
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tabs, "steering\ttrials\tdecisions\thonoured\tto the container: p50\tp95\tmaps as predicted")
	for _, s := range list {
		honoured := share(s.Honoured, s.Decisions)
		if s.HonouredCI95Pct.Bounded() {
			honoured += " " + s.HonouredCI95Pct.String()
		}
		fmt.Fprintf(tabs, "  %s\t%d\t%d\t%s\t%s ms\t%s ms\t", s.Model, s.Trials, s.Decisions, honoured, figure(float64(s.P50Ms)), figure(float64(s.P95Ms)))
		for i, b := range s.Branches {
			if i > 0 {
				fmt.Fprint(tabs, ", ")
			}
			fmt.Fprintf(tabs, "%s %s", b.Branch, share(b.Predicted, b.Maps))
		}
		fmt.Fprintln(tabs)
	}
	tabs.Flush()
	for _, m := range list[len(list)-1].Misses {
		fmt.Fprintf(w, "%s: decision %d, a %s of %s on %s: %s", m.Trial, m.Decision, m.What, m.Job, m.Node, m.Outcome)
		if m.Cause != "" {
			fmt.Fprintf(w, ": %s", m.Cause)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// share is "349 of 350 (99.7%)".
func share(part, all int) string {
	return fmt.Sprintf("%d of %d (%s%%)", part, all, figure(100*float64(part)/float64(max(all, 1))))
}
