package measure

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// Decisions says what became of a model's decisions. A decision is honoured
// when its container, and no other, came for the decided job and kind on the
// decided node.
type Decisions struct {
	Made     int `json:"made"`
	Honoured int `json:"honoured"`
	// BindPredicted counts honoured decisions whose container ran the map that
	// the ApplicationMaster was predicted to bind.
	BindPredicted int `json:"bindPredicted"`
	// P50Ms and P95Ms are from the decision to its container, of honoured ones; 0
	// where there are none.
	P50Ms float64 `json:"p50Ms"`
	P95Ms float64 `json:"p95Ms"`
	// Branches count predictions by the rule of late binding that was to choose
	// the map, in the order in which the ApplicationMaster tries them.
	Branches []Branch `json:"branches,omitempty"`
	// Misses are decisions that were not honoured and maps that were not those
	// predicted, by decision; the first maxMisses of them.
	Misses []Miss `json:"misses,omitempty"`

	latencies Durations
}

// Latencies are the times from decision to container, of honoured decisions.
func (d *Decisions) Latencies() *Durations { return &d.latencies }

// Branch is one rule of late binding.
type Branch struct {
	Branch    string `json:"branch"`    // rerun, node, rack or any
	Maps      int    `json:"maps"`      // bound where a prediction was made
	Predicted int    `json:"predicted"` // of these, the predicted ones
}

// Miss is one decision that did not come out as meant.
type Miss struct {
	Decision int64           `json:"decision"`
	Job      traces.JobID    `json:"job"`
	What     traces.TaskKind `json:"what"`
	Node     traces.Node     `json:"node"`
	// Outcome is the actuation's, "bound otherwise" for another map than the
	// predicted one, "none" where the run ended before an outcome.
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// maxMisses bounds the list of a run in which steering does not work at all.
const maxMisses = 10_000

// branchOrder is that of the rules of late binding.
var branchOrder = []string{"rerun", "node", "rack", "any"}

// InOrder compares branches by when the ApplicationMaster tries them.
func InOrder(a, b Branch) int {
	return cmp.Compare(slices.Index(branchOrder, a.Branch), slices.Index(branchOrder, b.Branch))
}

// decided takes in a decision.
func (c *Collector) decided(e *traces.Decision) {
	d := *e
	c.undecided[e.ID] = &d
	c.figures.Decisions.Made++
}

// actuated takes in what became of a decision.
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

// end fills in what is known once the run is over.
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
