package measure

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// Decisions counts what became of a scheduler model's decisions. A decision is
// honoured if a container of the decided job and kind (map or reduce) started
// on the decided node, and no other container did.
type Decisions struct {
	Made     int `json:"made"`
	Honoured int `json:"honoured"`
	// BindPredicted counts the honoured decisions whose container ran the map
	// that View.WouldBind had predicted.
	BindPredicted int `json:"bindPredicted"`
	// P50Ms and P95Ms are percentiles of the time from an honoured decision to
	// the start of its container. They are 0 if no decision was honoured.
	P50Ms float64 `json:"p50Ms"`
	P95Ms float64 `json:"p95Ms"`
	// Branches counts the predictions of which map a container gets. They are
	// grouped by the rule by which the ApplicationMaster chooses the map, in
	// the order in which it tries the rules.
	Branches []Branch `json:"branches,omitempty"`
	// Misses lists, by decision number, decisions that were not honoured, and
	// those whose container ran another map than predicted. It has at most
	// maxMisses entries.
	Misses []Miss `json:"misses,omitempty"`

	latencies Durations
}

// Latencies returns the times from honoured decisions to the start of their
// containers.
func (d *Decisions) Latencies() *Durations { return &d.latencies }

// Branch counts predictions for one of the rules by which an ApplicationMaster
// chooses the map for a container.
type Branch struct {
	Branch    string `json:"branch"`    // name of the rule: rerun, node, rack or any
	Maps      int    `json:"maps"`      // maps that the ApplicationMaster chose by this rule, if there was a prediction
	Predicted int    `json:"predicted"` // number of those maps that were predicted correctly
}

// Miss is one scheduling decision that did not come out as decided or
// predicted.
type Miss struct {
	Decision int64           `json:"decision"`
	Job      traces.JobID    `json:"job"`
	What     traces.TaskKind `json:"what"`
	Node     traces.Node     `json:"node"`
	// Outcome is what became of the decision. It is "bound otherwise" if the
	// container ran another map than predicted, and "none" if the run ended
	// first.
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// maxMisses is the largest length of Decisions.Misses. Without it, the list
// would be as long as the trace if no decision was carried out as intended.
const maxMisses = 10_000

// branchOrder is the order in which an ApplicationMaster tries its rules for
// choosing the map that a container runs.
var branchOrder = []string{"rerun", "node", "rack", "any"}

// InOrder compares two rules for choosing a container's map by the order in
// which the ApplicationMaster tries them.
func InOrder(a, b Branch) int {
	return cmp.Compare(slices.Index(branchOrder, a.Branch), slices.Index(branchOrder, b.Branch))
}

// decided counts a decision of the scheduler model, whose outcome is not known
// yet.
func (c *Collector) decided(e *traces.Decision) {
	d := *e
	c.undecided[e.ID] = &d
	c.figures.Decisions.Made++
}

// actuated counts the outcome of an earlier scheduling decision.
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

// end completes the counts of decisions after the trace's last event. Decisions
// that have no outcome yet get the outcome "none".
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
