// Package model contains the schedulers of the paper on Reverse-Adaptive: reverse,
// adaptive, and edf to compare them with.
//
// Words:
//
//	goal      the time until which a job should have ended; its deadline
//	need      the slots that a job must have now to meet its goal
//	forecast  how many slots other load will leave at each time
//	cycle     the time from one plan to the next
//	target    the slots that a plan gives to a job
package model

import (
	"math"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// edf serves the job with the earliest deadline first.
//
// Rule. On a heartbeat, re-runs and reduces go first, as with the other models
// here. Then the job with the earliest deadline that has a waiting map gets the
// node, with the map whose input is nearest. Jobs without a deadline come last;
// equal deadlines go in order of submission.
//
// Source. Liu and Layland, Scheduling Algorithms for Multiprogramming in a
// Hard-Real-Time Environment, JACM 20(1), 1973. Running tasks are not preempted.
type edf struct{ lookout }

// EDFInfo describes the model edf.
var EDFInfo = sched.Info{
	Name:    "edf",
	Use:     sched.ForDeadlines,
	Summary: "serves the job with the earliest deadline first",
	Source:  "Liu and Layland, JACM 20(1), 1973; without preemption",
	Params:  sched.ParamsOf[cycle](),
	Build: func(a sched.Args) (sched.Model, error) {
		return sched.PerNode{NodeModel: &edf{lookout{cycleMs: sched.ValuesOf[cycle](a).ms(), picked: state.None}}}, nil
	},
}

func (*edf) Name() string { return "edf" }

// Tick looks whether the deadlines can be met with the slots of now.
func (m *edf) Tick(v *state.View) { m.look(v, now(v, v.Active()[0])) }

// now is the forecast that the slots of now last for ever, of the size of a job's maps.
func now(v *state.View, id state.JobID) *forecast {
	return constant(float64(slotsOf(v, v.ContainerSize(id, state.Map))))
}

// PredictEnd implements sched.Predictor: jobs that are due before take the slots of now
// first.
func (m *edf) PredictEnd(v *state.View, id state.JobID) (int64, bool) {
	if m.all.count == 0 {
		return 0, false // the time of a map is not known
	}
	work := 0.0
	for _, other := range v.Active() {
		if !sooner(v, id, other) {
			work += m.left(v, other)
		}
	}
	at, f := float64(v.Now())/1e9, now(v, id)
	end := f.end(at, work)
	if pendingMaps(v, id) > v.Running(id, state.Map) {
		end = max(end, at+m.mean(id))
	}
	return int64(min(end, 1e9) * 1e9), !math.IsInf(end, 1)
}

func (m *edf) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	return m.serve(v, n, earliest)
}

// earliest returns the job with the earliest deadline that the node can serve.
func earliest(v *state.View, n state.NodeID) state.JobID {
	best := state.JobID(state.None)
	for _, id := range v.WaitingJobs(state.Map) {
		if sched.WantsMap(v, id, n) && (best == state.None || sooner(v, id, best)) {
			best = id
		}
	}
	return best
}

// sooner says whether job a is due before job b, or came first.
func sooner(v *state.View, a, b state.JobID) bool {
	x, y := v.Deadline(a), v.Deadline(b)
	return x < y || x == y && a < b
}

// serve picks a map that must run again or a reduce, and else, of the next job, the map whose input is
// nearest to the node.
func (l *lookout) serve(v *state.View, n state.NodeID, next func(*state.View, state.NodeID) state.JobID) (sched.Pick, bool) {
	p, ok := rerunOrReduce(v, n)
	if l.picked = p.Job; ok {
		return p, true
	}
	if l.picked = next(v, n); l.picked == state.None {
		return p, false
	}
	t, level := v.Nearest(l.picked, n, state.LevelNode, state.LevelOff)
	return sched.MapPick(l.picked, t, level), true
}

// rerunOrReduce returns a map that must run again, or the reduce of the job whose
// reduces have the lowest utility.
func rerunOrReduce(v *state.View, n state.NodeID) (sched.Pick, bool) {
	if v.AnyRerun() {
		for _, id := range v.WaitingJobs(state.Map) {
			if p, ok := sched.RerunOrReduce(v.Only(state.Map), id, n); ok {
				return p, true
			}
		}
	}
	best, least := state.JobID(state.None), 0.0
	for _, id := range v.WaitingJobs(state.Reduce) {
		if !v.Fits(n, id, state.Reduce) {
			continue
		}
		pending := float64(v.Tasks(id, state.Reduce) - v.Done(id, state.Reduce)) // all are needed
		if u := utility(float64(v.Running(id, state.Reduce)), pending, pending); best == state.None || u < least {
			best, least = id, u
		}
	}
	if best == state.None {
		return sched.Pick{}, false
	}
	return sched.RerunOrReduce(v.Only(state.Reduce), best, n)
}
