package sched

import (
	"math/rand/v2"
	"slices"

	"heddle/harness/state"
)

// planned draws each map's node at random before the job starts, and starts the
// map nowhere else.
//
// Rule. Plan: the maps in random order, each on a random node that is up, all
// equally likely. On a heartbeat, jobs go by priority, then submission. A job
// starts a re-run; else the lowest-numbered map whose split names the node, or
// names no node that is up; else a reduce, if none of the job's maps waits.
//
// Source. None. The model shows how exactly a plan is carried out, and how bad
// a plan can be.
//
// Parameters.
//
//	seed  (1)  of its random numbers (PCG)
//
// Differs. The maps of a job whose splits were not rewritten start only where
// their input is. Reduces wait for the maps: otherwise they could fill a node
// that maps are planned on, and then wait there for these maps.
type planned struct {
	Seed uint64 `default:"1" text:"of its random numbers"`
}

var plannedInfo = Info{
	Name:    "planned",
	Use:     ForControl,
	Summary: "plans each job's maps before it starts, each on a node at random, and starts them nowhere else",
	Source:  "none: for seeing how exactly a plan is carried out",
	Params:  ParamsOf[planned](),
	Build:   func(a Args) (Model, error) { return new(ValuesOf[planned](a)), nil },
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
	rng := rand.New(rand.NewPCG(m.Seed, uint64(id)))
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

// walkPlanned goes through the jobs in FIFO order and returns the first
// decision that their plans and the free nodes allow.
func walkPlanned(v *state.View, free []state.NodeID) (Decision, bool) {
	for jobs := FIFOOrder(v); ; {
		id, ok := jobs.Next()
		if !ok {
			return Decision{}, false
		}
		if d, ok := AsPlanned(v, id, free); ok {
			return d, true
		}
	}
}

// nextPlanned returns the same decision as walkPlanned, but faster: it looks
// only at jobs whose splits name the node that reported. It works only if the
// planned node of each waiting map is up.
func nextPlanned(v *state.View, free []state.NodeID) (next Decision, found bool) {
	v.EachNamed(free[0], func(id state.JobID) bool {
		next, found = AsPlanned(v, id, free)
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
		if d, ok := AsPlanned(v, id, free); ok {
			return d, true
		}
	}
	return next, found
}

// AsPlanned returns the decision for a job whose splits were rewritten to a
// JobPlanner's plan, so that each names its planned node alone. A map
// to run again comes first. Then comes a map whose split names the node that
// reported, or only nodes that are down. A reduce comes last, when no map
// waits.
func AsPlanned(v *state.View, id state.JobID, free []state.NodeID) (Decision, bool) {
	if v.Waiting(id, state.Map) == 0 {
		c, ok := RerunOrReduce(v, id, free[0])
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
