package measure

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// Decisions counts what became of a model's decisions. A decision is honoured
// when its container came for the decided job and kind on the decided node, and
// no other container came.
type Decisions struct {
	Made     int `json:"made"`
	Honoured int `json:"honoured"`
	// BindPredicted counts the honoured decisions whose container ran the map
	// that View.WouldBind had predicted.
	BindPredicted int `json:"bindPredicted"`
	// P50Ms and P95Ms are percentiles of the time from an honoured decision to
	// its container; 0 without any.
	P50Ms float64 `json:"p50Ms"`
	P95Ms float64 `json:"p95Ms"`
	// Branches counts the predictions by the rule of late binding that was to
	// choose the map, in the order in which the ApplicationMaster tries the
	// rules.
	Branches []Branch `json:"branches,omitempty"`
	// Misses lists decisions that were not honoured and maps that were not the
	// predicted ones, by decision, at most maxMisses.
	Misses []Miss `json:"misses,omitempty"`

	latencies Durations
}

// Latencies returns the times from honoured decisions to their containers.
func (d *Decisions) Latencies() *Durations { return &d.latencies }

// Branch is one rule of late binding.
type Branch struct {
	Branch    string `json:"branch"`    // rerun, node, rack or any
	Maps      int    `json:"maps"`      // maps bound by this rule, with a prediction
	Predicted int    `json:"predicted"` // of these, the predicted ones
}

// Miss is one decision that did not come out as decided or predicted.
type Miss struct {
	Decision int64           `json:"decision"`
	Job      traces.JobID    `json:"job"`
	What     traces.TaskKind `json:"what"`
	Node     traces.Node     `json:"node"`
	// Outcome is the actuation's; "bound otherwise" if another map than the
	// predicted one ran; "none" if the run ended first.
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// maxMisses limits the list in case steering does not work at all.
const maxMisses = 10_000

// branchOrder is the order in which the ApplicationMaster tries the rules.
var branchOrder = []string{"rerun", "node", "rack", "any"}

// InOrder compares branches by the order in which the ApplicationMaster tries
// them.
func InOrder(a, b Branch) int {
	return cmp.Compare(slices.Index(branchOrder, a.Branch), slices.Index(branchOrder, b.Branch))
}

// decided adds a decision of the model.
func (c *Collector) decided(e *traces.Decision) {
	d := *e
	c.undecided[e.ID] = &d
	c.figures.Decisions.Made++
}

// actuated adds the outcome of a decision.
func (c *Collector) actuated(e *traces.Actuation) {
	d := c.undecided[e.Decision]
	if d == nil {
		return
	}
	delete(c.undecided, e.Decision)
	s := &c.figures.Decisions
	if e.Outcome != "honoured" {
		s.miss(d, e.Outcome, e.Cause)
		return
	}
	s.Honoured++
	s.latencies.Add(e.GrantedAt - d.T)
	if d.What != traces.Map || d.BindIndex < 0 || e.Bound.Job == "" {
		return
	}
	b := s.branch(d.BindBranch)
	b.Maps++
	if e.Bound.Index == d.BindIndex {
		b.Predicted++
		s.BindPredicted++
	} else {
		s.miss(d, "bound otherwise", fmt.Sprintf("map %d, not %d (%s)", e.Bound.Index, d.BindIndex, d.BindBranch))
	}
}

// end completes the figures after the last event.
func (d *Decisions) end(undecided map[int64]*traces.Decision) {
	for _, x := range undecided {
		d.miss(x, "none", "the trace ends before its outcome")
	}
	slices.SortFunc(d.Misses, func(a, b Miss) int { return cmp.Compare(a.Decision, b.Decision) })
	d.Misses = d.Misses[:min(len(d.Misses), maxMisses)]
	slices.SortFunc(d.Branches, InOrder)
	d.P50Ms, d.P95Ms = d.latencies.PercentileMs(50), d.latencies.PercentileMs(95)
}

func (d *Decisions) miss(x *traces.Decision, outcome, cause string) {
	if len(d.Misses) < 2*maxMisses {
		d.Misses = append(d.Misses, Miss{x.ID, x.Job, x.What, x.Node, outcome, cause})
	}
}

func (d *Decisions) branch(name string) *Branch {
	i := slices.IndexFunc(d.Branches, func(b Branch) bool { return b.Branch == name })
	if i < 0 {
		i = len(d.Branches)
		d.Branches = append(d.Branches, Branch{Branch: name})
	}
	return &d.Branches[i]
}
