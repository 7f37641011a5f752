package sched

import (
	"math/rand/v2"
	"slices"

	"heddle/harness/state"
)

// planned plans each map's node before the job starts, at random, and starts
// maps nowhere else.
//
// Rule. Plan: the maps in random order, each on a random node that is up, all
// equally likely. On a heartbeat, jobs by priority, then submission: a map that
// failed before; else the lowest-numbered map whose split names the node, or
// none that is up; else a reduce, once none of the job's maps waits.
//
// Source. None: it is for seeing how exactly a plan is carried out, and the
// lower bound of plans.
//
// Parameters.
//
//	seed  (1)  of its random numbers (PCG)
//
// Differs from other models in that a job whose splits were not rewritten gets
// its maps where their input is, and only there. Reduces wait for the maps,
// since they could fill a node that maps are planned on, and wait there for
// those.
type planned struct{ seed uint64 }

var plannedInfo = Info{
	Name: "planned", Summary: "plans each job's maps before it starts, each on a node at random, and starts them nowhere else",
	Source: "none: for seeing how exactly a plan is carried out",
	Params: []Param{
		{Name: "seed", Type: Int, Default: "1", Doc: "of its random numbers"},
	},
	build: func(a args) (Model, error) { return &planned{seed: uint64(a.int("seed"))}, nil },
}

func (m *planned) Name() string { return "planned" }

func (m *planned) firstOnly() {}

func (m *planned) PlanJob(v *state.View, id state.JobID) (SplitPlan, bool) {
	var up []state.NodeID
	for n := range state.NodeID(v.Nodes()) {
		if v.Up(n) {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil, false
	}
	rng := rand.New(rand.NewPCG(m.seed, uint64(id)))
	plan := make(SplitPlan, v.Tasks(id, state.Map))
	for i, t := range rng.Perm(len(plan)) {
		plan[i] = PlannedSplit{Split: state.TaskID(t), Node: up[rng.IntN(len(up))]}
	}
	return plan, true
}

func (m *planned) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	look := walkPlanned
	if v.NodesUp() == v.Nodes() && !v.AnyRerun() && !v.AnyUnhosted() {
		look = nextPlanned
	}
	if d, ok := look(v, free[:1]); ok {
		return append(out, d)
	}
	return out
}

// walkPlanned is the first that may start, of all jobs.
func walkPlanned(v *state.View, free []state.NodeID) (Decision, bool) {
	for jobs := fifoOrder(v); ; {
		id, ok := jobs.next()
		if !ok {
			return Decision{}, false
		}
		if d, ok := asPlanned(v, id, free); ok {
			return d, true
		}
	}
}

// nextPlanned comes to the same where every map that waits has its node, and that
// is up: most heartbeats of a large cluster are of nodes that no map waits for.
func nextPlanned(v *state.View, free []state.NodeID) (next Decision, found bool) {
	v.EachNamed(free[0], func(id state.JobID) bool {
		next, found = asPlanned(v, id, free)
		return !found
	})
	for _, id := range v.WaitingJobs(state.Reduce) {
		if found {
			if p, q := v.Priority(id), v.Priority(next.Job); p < q || p == q && id > next.Job {
				break
			}
		}
		if v.Waiting(id, state.Map) > 0 {
			continue
		}
		if d, ok := asPlanned(v, id, free); ok {
			return d, true
		}
	}
	return next, found
}

// asPlanned is what of a job with a plan may start on one of the nodes: a map
// that failed before; a map whose split names the node, or none that is up; a
// reduce, once none of the maps waits: it could fill a node that maps are planned
// on, and wait there for those.
func asPlanned(v *state.View, id state.JobID, free []state.NodeID) (Decision, bool) {
	if v.Waiting(id, state.Map) == 0 {
		c, ok := unplaced(v, id, free[0])
		return c.On(free[0]), ok
	}
	for _, n := range free {
		if !v.Fits(n, id, state.Map) {
			continue
		}
		t, branch := v.WouldBind(id, n)
		if branch == state.BindRerun {
			return Decision{Job: id, Kind: state.Map, Node: n, Task: t, Reason: Rerun}, true
		}
		up := func(host state.NodeID) bool { return v.Up(host) }
		if branch == state.BindNode || !slices.ContainsFunc(v.SplitHosts(id, t), up) {
			return Decision{Job: id, Kind: state.Map, Node: n, Task: t, Reason: Plan}, true
		}
	}
	return Decision{}, false
}
