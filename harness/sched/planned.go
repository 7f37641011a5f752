package sched

import (
	"math/rand/v2"

	"heddle/harness/cluster"
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
type planned struct {
	seed  uint64
	vain  []vain // by node
	moved []cluster.JobID
}

// vain is that of all jobs none had anything for a node that had so much room.
// Where maps wait for one node each, that is what most heartbeats come to, and a
// large cluster has many: until the node has more room, or one is lost, only jobs
// that have changed since are looked at.
type vain struct {
	known bool
	room  cluster.Resource
	since uint64 // see View.Changes
}

func (m *planned) Name() string { return "planned" }

func (m *planned) firstOnly() {}

func (m *planned) PlanJob(v *cluster.View, id cluster.JobID) (SplitPlan, bool) {
	var up []cluster.NodeID
	for n := range cluster.NodeID(v.Nodes()) {
		if v.Up(n) {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil, false
	}
	rng := rand.New(rand.NewPCG(m.seed, uint64(id)))
	plan := make(SplitPlan, v.Tasks(id, cluster.Map))
	for i, t := range rng.Perm(len(plan)) {
		plan[i] = PlannedSplit{Split: cluster.TaskID(t), Node: up[rng.IntN(len(up))]}
	}
	return plan, true
}

func (m *planned) Round(v *cluster.View, free []cluster.NodeID, out []Decision) []Decision {
	n := free[0]
	for int(n) >= len(m.vain) {
		m.vain = append(m.vain, vain{})
	}
	x := &m.vain[n]
	moved, now, ok := v.Changes(x.since, m.moved[:0])
	m.moved = moved
	whole := v.NodesUp() == v.Nodes()
	var d Decision
	if ok && whole && x.known && x.room.Holds(v.Free(n)) {
		d, ok = firstPlanned(v, moved, free[:1])
	} else {
		d, ok = walkPlanned(v, free[:1])
	}
	if ok {
		return append(out, d)
	}
	*x = vain{whole, v.Free(n), now}
	return out
}

func walkPlanned(v *cluster.View, free []cluster.NodeID) (Decision, bool) {
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

// firstPlanned is what of these jobs, in any order, a walk would come to first.
func firstPlanned(v *cluster.View, jobs []cluster.JobID, free []cluster.NodeID) (first Decision, found bool) {
	for _, id := range jobs {
		if found {
			if p, q := v.Priority(id), v.Priority(first.Job); p < q || p == q && id >= first.Job {
				continue
			}
		}
		if v.Waiting(id, cluster.Map)+v.Waiting(id, cluster.Reduce) == 0 {
			continue
		}
		if d, ok := asPlanned(v, id, free); ok {
			first, found = d, true
		}
	}
	return first, found
}
