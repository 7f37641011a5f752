package model

import (
	"math"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// planner is what reverse and adaptive have in common: a plan each cycle, and
// the hand-out of slots by it.
//
// Rule. Each cycle, for each job with pending maps (not ended):
//
//	work   = pending maps · mean time of the job's maps that have ended
//	need   = by walk or required; without a deadline 0; at most its pending maps
//	target = all slots are dealt one by one, each to the job with the lowest
//	         utility (ties: larger need, then older)
//
// On a heartbeat of a node with room, re-runs and reduces go first. Then the job
// gets the node whose target exceeds its running maps most. If no target does,
// it is the job with the lowest utility. The map is the one whose input is nearest.
// Nothing is preempted. The mean time is that of all maps of the run if none of
// the job has ended, and the parameter firstMap if none at all has.
//
// Source. Narayan et al., Adaptive MapReduce Scheduling in Shared Environments,
// IJERT ICESMART 2015, which gives the algorithm in words. Need without
// look-ahead and utility are from memory of Polo et al. (RAS, Middleware 2011).
//
// Differs. The node of a slot follows from where the input is, and not from the
// plan. Slots of one size: that of the first job's maps.
type planner struct {
	lookout
	predictions
	name string
	common
	stale       bool   // a job came or ended since the last plan
	sees, tasks string // the parameters forecast and tasks
	need        func(now float64)
	table       *state.Timetable

	foreseen *forecast // the timetable's, once it was made
	ahead    *forecast
	demands  []Demand // of the last plan
	targets  sched.PerJob[target]

	plans, infeasible int
	asked, carried    int64 // slots of plans, and those that their jobs had at the next plan
}

// target is what the last plan says of a job.
type target struct {
	slots        int32
	need         float64
	predicted    [len(definitions)]float64
	predictedAt  float64
	hasPredicted bool
}

func (m *planner) Name() string { return m.name }

// Foresee implements sched.Foreseer.
func (m *planner) Foresee(t *state.Timetable) { m.table = t }

// Observe implements sched.Observer.
func (m *planner) Observe(v *state.View, e sched.Event) {
	m.lookout.Observe(v, e)
	switch e.What {
	case sched.JobSubmitted:
		m.stale = true
	case sched.TaskEnded:
		if 2*v.Done(e.Job, state.Map) >= v.Tasks(e.Job, state.Map) && !v.Ended(e.Job) {
			m.predict(v, e.Job)
		}
	case sched.JobEnded:
		m.stale = true
		m.holdPrediction(v, e.Job)
	}
}

// Tick makes a plan.
func (m *planner) Tick(v *state.View) {
	m.stale = false
	m.holdAgainst(v)
	m.demands = m.demands[:0]
	for _, id := range v.Active() {
		pending := pendingMaps(v, id)
		if pending == 0 {
			continue
		}
		d := Demand{job: id, Goal: math.Inf(1), work: m.work(v, id), pending: float64(pending), age: int32(len(m.demands))}
		if at := v.Deadline(id); at != state.NoDeadline && !(m.Past == "none" && at <= v.Now()) {
			d.Goal = float64(at) / 1e9
		}
		m.demands = append(m.demands, d)
	}
	if len(m.demands) == 0 {
		return
	}
	m.ahead = m.see(v)
	m.look(v, m.ahead)
	m.need(float64(v.Now()) / 1e9)
	slots, needed := slotsOf(v, m.size(v)), 0.0
	dealt := slots
	if m.From == "running" {
		dealt = freeSlots(v, m.size(v))
	}
	for i := range m.demands {
		d := &m.demands[i]
		d.need = min(d.need, d.pending)
		needed += d.need
		if m.From == "running" {
			d.alloc = float64(v.Running(d.job, state.Map))
		}
	}
	if m.plans++; needed > float64(slots)+sameGoal {
		m.infeasible++
	}
	deal(m.demands, dealt)
	for i := range m.demands {
		d := &m.demands[i]
		t := m.targets.Of(d.job)
		t.slots, t.need = int32(d.alloc), d.need
	}
}

// work returns the job's work for a plan, in slot-seconds.
func (m *planner) work(v *state.View, id state.JobID) float64 {
	pending := pendingMaps(v, id)
	switch m.Pending {
	case "waiting":
		pending -= v.Running(id, state.Map)
	case "elapsed":
		return m.left(v, id)
	}
	return float64(pending) * m.mean(id)
}

// holdAgainst counts how much of the last plan was carried out: the slots of its jobs, as far as
// these have maps for them, and those that they have now.
func (m *planner) holdAgainst(v *state.View) {
	for i := range m.demands {
		if id := m.demands[i].job; !v.Ended(id) {
			slots := min(m.targets.Of(id).slots, pendingMaps(v, id))
			m.asked, m.carried = m.asked+int64(slots), m.carried+int64(min(slots, v.Running(id, state.Map)))
		}
	}
}

// pendingMaps returns how many of the job's maps have not succeeded.
func pendingMaps(v *state.View, id state.JobID) int32 {
	return v.Tasks(id, state.Map) - v.Done(id, state.Map)
}

func (m *planner) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	if m.Replan == "jobs" && m.stale {
		m.Tick(v)
	}
	return m.serve(v, n, m.next)
}

// next returns the job that the node should serve with a map.
func (m *planner) next(v *state.View, n state.NodeID) state.JobID {
	best, most := state.JobID(state.None), int32(0)
	for _, id := range v.WaitingJobs(state.Map) {
		if d := m.targets.Of(id).slots - v.Running(id, state.Map); d > most && sched.WantsMap(v, id, n) {
			best, most = id, d
		}
	}
	if best == state.None {
		return m.lowest(v, n)
	}
	return best
}

// lowest returns the job with the lowest utility that the node can serve.
func (m *planner) lowest(v *state.View, n state.NodeID) state.JobID {
	best, least := state.JobID(state.None), Demand{}
	for i, id := range v.WaitingJobs(state.Map) {
		if !sched.WantsMap(v, id, n) {
			continue
		}
		c := Demand{
			need: m.targets.Of(id).need, pending: float64(pendingMaps(v, id)), alloc: float64(v.Running(id, state.Map)), age: int32(i),
		}
		if c.rate(); best == state.None || c.before(&least) {
			best, least = id, c
		}
	}
	return best
}

// Notes implements sched.Noter.
func (m *planner) Notes() map[string]float64 {
	notes := m.lookout.Notes()
	notes["plans"], notes["infeasiblePlans"] = float64(m.plans), float64(m.infeasible)
	if m.asked > 0 {
		notes["planCarriedPct"] = 100 * float64(m.carried) / float64(m.asked)
	}
	m.note(notes)
	return notes
}
