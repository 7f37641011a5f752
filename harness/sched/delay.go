package sched

import (
	"time"

	"heddle/harness/state"
	"heddle/traces"
)

// delay lets a job wait a little for a node that has its input.
//
// Rule. On a heartbeat of node n, for each job in order:
//
//	if it has a node-local map for n          launch; wait = 0, level = node
//	elif it has a rack-local map, and (level >= rack or wait >= D1)
//	                                          launch; wait = 0, level = rack
//	elif level = off, or level = rack and wait >= D2, or wait >= D1 + D2
//	                                          launch any; wait = 0, level = off
//	else                                      skip it; the next job
//
// With form skips, wait is how often the job has been skipped since its last
// launch. With form time, wait is a duration: each heartbeat adds the time
// since the last heartbeat to the wait of every job that was skipped then. The
// job keeps its level until it starts a map nearer to its input: a job that
// has waited D1 + D2 in vain then takes any node at once. Re-runs and reduces
// do not wait.
//
// Source. Zaharia, Borthakur, Sen Sarma, Elmeleegy, Shenker, Stoica, "Delay
// Scheduling", EuroSys 2010: section 3.3 (skips), section 3.4 (levels and
// times), and the long form in the appendix. The order of the two waits is
// quoted from memory. In the paper, D2 is much less than D1. With K maps left,
// R replicas and M nodes a job finds a local slot within D skips with
// probability 1 - (1-K/M)^(R·D).
//
// Parameters.
//
//	form       skips or time (skips)
//	order      fifo: priority, then submission; fair: fewest running tasks first (fifo)
//	nodeSkips  skips (-1)     D1 with form skips; -1: as many as nodes are up
//	rackSkips  skips (-1)     D2 with form skips; -1: as many as nodes are up
//	nodeWait   duration (5s)  D1 with form time
//	rackWait   duration (5s)  D2 with form time
//
// Differs. The paper orders jobs fairly. Here fifo is the default, because the
// models it is compared with are in FIFO order. The paper gives no D; here it
// is the number of nodes, as in YARN's Capacity scheduler on clusters of up to
// 40 nodes.
type delay struct {
	Reasoning
	Form      string        `values:"skips,time" text:"how waiting is counted"`
	Order     string        `values:"fifo,fair" text:"of jobs: by priority and submission, or by running tasks"`
	NodeSkips int64         `default:"-1" unit:"skips" min:"-1" text:"D1, before rack-local maps, with form skips; -1: as many as nodes are up"`
	RackSkips int64         `default:"-1" unit:"skips" min:"-1" text:"D2, before any map, with form skips; -1: as many as nodes are up"`
	NodeWait  time.Duration `default:"5s" text:"D1 with form time"`
	RackWait  time.Duration `default:"5s" text:"D2 with form time"`

	jobs    PerJob[delayed]
	fewest  shares        // the jobs, sorted by number of running tasks; used only with parameter order = fair
	skipped []state.JobID // jobs skipped at the last heartbeat; kept only if parameter form is "time"
	last    int64         // time of the last heartbeat of any node, in nanoseconds
}

type delayed struct {
	wait    int64       // how long the job has waited since its last launch of a task, in skips or nanoseconds
	level   state.Level // locality level of the job's last launch; 0, before the first launch, counts as node-local
	skipped bool
}

var delayInfo = Info{
	Name:    "delay",
	Use:     ForLocality,
	Summary: "has a job wait for a node, then a rack, with its data",
	Source:  "Zaharia et al., Delay Scheduling, EuroSys 2010",
	Params:  ParamsOf[delay](),
	Build: func(a Args) (Model, error) {
		m := ValuesOf[delay](a)
		m.fewest = shares{key: running, together: true}
		return PerNode{&m}, nil
	},
}

func (m *delay) Name() string { return "delay" }

func (m *delay) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	m.Begin(m.unit())
	m.addWait(v.Now())
	d1, d2 := m.waits(v)
	var by *shares
	if m.Order == "fair" {
		by = &m.fewest
	}
	var jobs ordered
	for jobs.begin(v, by); ; {
		id, ok := jobs.next()
		if !ok {
			return Pick{}, false
		}
		if d, ok := RerunOrReduce(v, id, n); ok {
			return d, true
		}
		if !WantsMap(v, id, n) {
			m.PassOver(id, traces.PassedNoRoom, 0)
			continue
		}
		job := m.jobs.Of(id)
		farthest := job.farthest(d1, d2)
		if v.Locations(id) == 0 {
			farthest = state.LevelOff
		}
		if t, level := v.Nearest(id, n, state.LevelNode, farthest); t != state.None {
			if m.Keeps() && v.Locations(id) > 0 {
				m.tell(job, d1, d2, level, farthest)
			}
			*job = delayed{level: level}
			return MapPick(id, t, level), true
		}
		if m.Keeps() {
			m.PassOver(id, traces.PassedWaits, m.counted(job.wait))
		}
		m.skip(id, job)
	}
}

// tell keeps how long the job had waited, and the limit for a map at this level.
func (m *delay) tell(job *delayed, d1, d2 int64, level, farthest state.Level) {
	limit := d1
	switch {
	case level < state.LevelOff:
	case job.level == state.LevelRack:
		limit = d2
	default:
		limit = d1 + d2
	}
	m.Wait(m.counted(job.wait), m.counted(limit), farthest)
}

func (m *delay) unit() traces.WaitUnit {
	if m.Form == "time" {
		return traces.WaitMs
	}
	return traces.WaitSkips
}

// counted returns a wait in the unit of Reasons: skips, or milliseconds.
func (m *delay) counted(wait int64) int64 {
	if m.Form == "time" {
		return wait / 1e6
	}
	return wait
}

func running(v *state.View, id state.JobID) float64 {
	return float64(v.Running(id, state.Map) + v.Running(id, state.Reduce))
}

// waits returns D1 and D2: how long a job waits for a node-local map, and then
// for a rack-local one.
func (m *delay) waits(v *state.View) (d1, d2 int64) {
	if m.Form == "time" {
		return int64(m.NodeWait), int64(m.RackWait)
	}
	d1, d2 = m.NodeSkips, m.RackSkips
	if d1 < 0 {
		d1 = int64(v.NodesUp())
	}
	if d2 < 0 {
		d2 = int64(v.NodesUp())
	}
	return d1, d2
}

// farthest returns the farthest locality level at which the job may start a
// map now.
func (j *delayed) farthest(d1, d2 int64) state.Level {
	switch {
	case j.level == state.LevelOff, j.level == state.LevelRack && j.wait >= d2, j.wait >= d1+d2:
		return state.LevelOff
	case j.level == state.LevelRack, j.wait >= d1:
		return state.LevelRack
	}
	return state.LevelNode
}

func (m *delay) skip(id state.JobID, job *delayed) {
	if m.Form != "time" {
		job.wait++
		return
	}
	if !job.skipped {
		job.skipped = true
		m.skipped = append(m.skipped, id)
	}
}

// addWait adds the time since the last heartbeat to the wait of each job that
// was skipped at that heartbeat.
func (m *delay) addWait(now int64) {
	if now == m.last {
		return
	}
	for _, id := range m.skipped {
		if job := m.jobs.Of(id); job.skipped {
			job.wait += now - m.last
			job.skipped = false
		}
	}
	m.skipped, m.last = m.skipped[:0], now
}
