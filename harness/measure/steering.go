package measure

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/traces"
)

// Decisions counts what became of a scheduler model's decisions. Each decision
// sends one container to a node. It is honoured if a container of the decided
// job and kind (map or reduce) started on this node, and no other container did
// in its place.
type Decisions struct {
	Made     int `json:"made"`
	Honoured int `json:"honoured"`
	// Unused counts the decisions whose container came and vanished without having
	// run a task. They are not honoured.
	Unused int `json:"unused,omitempty"`
	// BindPredicted counts the honoured decisions whose container ran the map
	// that heddle had predicted with View.WouldBind. The ApplicationMaster
	// chooses the map that a container runs.
	BindPredicted int `json:"bindPredicted"`
	// P50Ms and P95Ms are the median and the 95th percentile, in ms, of the
	// time from an honoured decision to the start of its container. They are 0
	// if no decision was honoured.
	P50Ms float64 `json:"p50Ms"`
	P95Ms float64 `json:"p95Ms"`
	// Branches counts predictions of which map a container gets. The
	// ApplicationMaster chooses the map by the first of its rules that fits.
	// There is one entry for each rule, in the order in which the
	// ApplicationMaster tries them.
	Branches []Branch `json:"branches,omitempty"`
	// Misses lists, by decision number, decisions that were not honoured, and
	// those whose container ran another map than predicted. It has at most
	// maxMisses entries.
	Misses []Miss `json:"misses,omitempty"`

	latencies Durations
}

// Latencies returns, for each honoured decision, the time from the decision to
// the start of its container.
func (d *Decisions) Latencies() *Durations { return &d.latencies }

// Branch counts predictions for one of the rules by which an ApplicationMaster
// chooses the map for a container.
type Branch struct {
	Branch    string `json:"branch"`    // name of the rule: rerun (a failed map), node, rack or any
	Maps      int    `json:"maps"`      // number of maps that the ApplicationMaster chose by this rule and for which there was a prediction
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
	// before anything was known.
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// maxMisses is the largest length of Decisions.Misses. If no decision were
// carried out as intended, the list would otherwise grow as long as the trace.
const maxMisses = 10_000

// branchOrder is the order in which an ApplicationMaster tries its rules for
// choosing the map that a container runs.
var branchOrder = []string{"rerun", "node", "rack", "any"}

// InOrder compares the names of two rules by which an ApplicationMaster chooses
// the map for a container. It is for sorting the rules in the order in which
// the ApplicationMaster tries them.
func InOrder(a, b Branch) int {
	return cmp.Compare(slices.Index(branchOrder, a.Branch), slices.Index(branchOrder, b.Branch))
}

// steered reports whether the scheduler model's decisions placed the tasks. If
// not, a simulated trace still has decisions: those of the simulated cluster's
// own scheduler, which heddle did not steer.
func (c *Collector) steered() bool { return c.figures.Actuator != actuatorNone }

// actuatorNone is the value of traces.Header.Actuator if the cluster's own
// scheduler decided alone.
const actuatorNone = "none"

// decided counts a new decision of the scheduler model.
func (c *Collector) decided(e *traces.Decision) {
	c.undecided[e.ID] = new(*e)
	c.figures.Decisions.Made++
}

// actuated counts the outcome of an earlier decision of the scheduler model.
func (c *Collector) actuated(e *traces.Actuation) {
	d := c.undecided[e.Decision]
	if d == nil {
		return
	}
	delete(c.undecided, e.Decision)
	s := &c.figures.Decisions
	if e.Outcome == "unused" {
		s.Unused++
	}
	if e.Outcome != "honoured" {
		s.miss(d, e.Outcome, e.Cause)
		return
	}
	s.Honoured++
	s.latencies.Add(e.GrantedAt - d.T)
	if d.What != traces.Map || d.BindIndex < 0 || e.Bound.Job == "" || d.BindBranch == "any" {
		return // of off-rack maps, one is as good as another
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

// The function end completes the counts of decisions after the trace's last
// event. Decisions without an outcome get the outcome "none".
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
