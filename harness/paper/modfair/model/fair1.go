package model

import (
	"heddle/harness/sched"
	"heddle/harness/state"
)

// fair1 shares the slots of a cluster between pools of jobs, and has jobs wait
// for locality, as the Fair Scheduler of Hadoop 1 does.
//
// Rule. Every updateMs, and when a job comes, each pool's demand is counted: its
// unfinished tasks of a kind, at most its maximum. On a heartbeat of a node, as
// long as something starts:
//
//	maps stop when the node's map slots are taken, when all demanded maps run, or
//	  when the node runs ceil(slots · min(1, demand/map slots of the cluster));
//	  reduces likewise
//	both may start: a map if the node runs no more maps than reduces, else a reduce
//	pools: below min(minimum, demand) first, by running/minimum; then by
//	  running/weight; ties by name
//	a pool that runs its maximum is passed over; in the others, jobs go by
//	  running/weight (inPool fair) or by priority and submission (fifo)
//	the first job with a task that may start at its level starts it
//
// A job's level is the farthest from their input at which its maps may start:
//
//	last map was node-local:  node; rack after nodeDelay; any after nodeDelay + rackDelay
//	last map was rack-local:  rack; any after rackDelay
//	last map was off-rack:    any
//
// A job starts as if its last map was node-local. wait is set to 0 when the job
// starts a map. A job that was asked for a map in a heartbeat and started none
// waits until the next heartbeat of any node that has a free slot: this time is
// added to its wait. Maps that failed, and jobs whose splits name no host, do
// not wait.
//
// Source. Hadoop 1.2.1, contrib fairscheduler: FairScheduler.assignTasks,
// updateLocalityWaitTimes, getAllowedLocalityLevel, update;
// SchedulingAlgorithms.FairShareComparator and FifoComparator;
// PoolSchedulable.assignTask, updateDemand; JobSchedulable.assignTask;
// CapBasedLoadManager.getCap. Example of the cap: 18 maps for 32 slots, 4 a node:
// ceil(4 · 18/32) = 3 a node.
//
// Parameters. A pool is named in an experiment, or it is the job's queue. In the
// tables, * stands for all pools that are not named.
//
//	minMaps, minReduces   pool=slots,… ()  that a pool is to have first
//	maxMaps, maxReduces   pool=slots,… ()  that a pool uses at most; not named: no limit
//	weights               pool=weight,… () not named: 1
//	inPool                fair or fifo (fair)  order of the jobs in a pool
//	nodeDelayMs           ms (-1)  before maps start off their node
//	rackDelayMs           ms (-1)  further, before maps start off their rack
//	updateMs              ms (500) between counts of the demand
//
// A delay of -1 is 1.5 heartbeats of a TaskTracker, which are max(300 ms, nodes ·
// 10 ms), and at most 15 s.
//
// Differs. Preemption is off, as in Hadoop by default; without it, the fair
// shares that Hadoop also computes decide nothing and are left out. So are
// limits on running jobs, speculative attempts, and the choice to start one task
// a heartbeat (assignmultiple false). Without slots, a node has as many as the
// smallest containers it can hold.
type fair1 struct {
	fair1Params
	changed *mechanisms

	beat       heartbeat
	lastBeat   int64         // time of the last heartbeat of any node, in ns
	slots      [2]int64      // by kind of task: of all nodes that are up
	rejected   [2]bool       // by kind of task: nothing more of it starts in this heartbeat
	visited    []state.JobID // jobs asked for a map in this heartbeat
	nextUpdate int64         // in ns
	jobsSeen   int           // number of jobs submitted when update was last called
	pools      []*pool       // by state.PoolID
	shared     *pool         // sharedPool of modfair
	jobs       sched.PerJob[fairJob]
	poolOrder  []*pool
	jobOrder   []state.JobID
}

// patience is how long a job has waited for a local map. With modfair's owner=pool, a
// pool has one instead of its jobs.
type patience struct {
	wait              int64       // in ns, since the last map started; counts only time for which the job was passed over
	last              state.Level // level of the last map; 0 before the first, which counts as node-local
	visited, launched bool        // in this heartbeat: was asked for a map, has started one
}

// pass notes that so many ns have passed since the last heartbeat of any node.
func (p *patience) pass(ns int64) {
	if p.visited && !p.launched {
		p.wait += ns
	}
	p.visited, p.launched = false, false
}

// start notes that a map has started.
func (p *patience) start(level state.Level) {
	p.launched, p.wait, p.last = true, 0, level
}

// fairJob is what fair1 and modfair remember of a job.
type fairJob struct {
	patience
	prioritySet bool
	priority    jobPriority // as modfair's M5 has set it
	mapLevel    state.Level // level of the job's last map, for M5
	shared      bool        // the job is in modfair's sharedPool
	wasShared   bool        // at some time
}

// fair1Params are the parameters.
type fair1Params struct {
	MinMaps     map[string]float64 `unit:"map slots" text:"that a pool is to have first, pool=slots,…; *: all pools not named"`
	MinReduces  map[string]float64 `unit:"reduce slots" text:"that a pool is to have first, pool=slots,…"`
	MaxMaps     map[string]float64 `unit:"map slots" text:"that a pool uses at most, pool=slots,…; not named: no limit"`
	MaxReduces  map[string]float64 `unit:"reduce slots" text:"that a pool uses at most, pool=slots,…"`
	Weights     map[string]float64 `min:"1e-6" text:"of pools, pool=weight,…; not named: 1"`
	InPool      string             `values:"fair,fifo" text:"order of the jobs in a pool"`
	NodeDelayMs int64              `default:"-1" unit:"ms" min:"-1" max:"1e9" text:"that a job waits before its maps start off their node; -1: 1.5 heartbeats of max(300 ms, nodes · 10 ms)"`
	RackDelayMs int64              `default:"-1" unit:"ms" min:"-1" max:"1e9" text:"that it waits further before they start off their rack; -1: as nodeDelayMs"`
	UpdateMs    int64              `default:"500" unit:"ms" min:"1" max:"1e9" text:"between two counts of the pools' demand"`
}

// Fair1Info describes the model fair1.
var Fair1Info = sched.Info{
	Name:    "fair1",
	Use:     sched.ForClusters,
	Summary: "shares slots between pools and waits for locality, as the Fair Scheduler of Hadoop 1",
	Source:  "Hadoop 1.2.1 FairScheduler",
	Params:  sched.ParamsOf[fair1Params](),
	Build: func(a sched.Args) (sched.Model, error) {
		return sched.PerNode{NodeModel: &fair1{fair1Params: sched.ValuesOf[fair1Params](a)}}, nil
	},
}

func (m *fair1) Name() string {
	if m.changed != nil {
		return "modfair"
	}
	return "fair1"
}

// EveryHeartbeat says that the model sees heartbeats while nothing waits: with
// them, jobs stop waiting, and demands are counted.
func (m *fair1) EveryHeartbeat() {}

// Choose returns one task for the node that reported.
func (m *fair1) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	m.begin(v, n)
	m.count(v)
	for {
		k, ok := m.kind(v, n)
		if !ok {
			return sched.Pick{}, false
		}
		if p, ok := m.chooseOf(v, n, k); ok {
			return p, true
		}
		m.rejected[k] = true
	}
}

// begin notes the time that jobs have waited since the last heartbeat, if this
// is the first question of a heartbeat. It then updates the demands, if it is
// time.
func (m *fair1) begin(v *state.View, n state.NodeID) {
	if m.beat.starts(v, n) {
		since := v.Now() - m.lastBeat
		for _, id := range m.visited {
			m.jobs.Of(id).pass(since)
		}
		for _, p := range m.allPools() {
			p.pass(since)
		}
		m.visited, m.lastBeat, m.rejected = m.visited[:0], v.Now(), [2]bool{}
		for k := range m.slots {
			m.slots[k], _ = clusterSlots(v, state.Kind(k))
		}
	}
	if v.Now() >= m.nextUpdate || v.Jobs() > m.jobsSeen {
		m.update(v)
		interval := m.UpdateMs * 1e6
		m.nextUpdate, m.jobsSeen = (v.Now()/interval+1)*interval, v.Jobs()
	}
}

// update lists the jobs of each pool and counts what they could run.
func (m *fair1) update(v *state.View) {
	for p := state.PoolID(len(m.pools)); int(p) < v.Pools(); p++ {
		m.pools = append(m.pools, m.newPool(v.PoolName(p), p))
	}
	if m.changed != nil {
		m.changed.classify(v, m)
	}
	for _, p := range m.allPools() {
		p.jobs, p.most = p.jobs[:0], p.maximum
	}
	for _, id := range v.Active() {
		p := m.poolOf(v, id)
		p.jobs = append(p.jobs, id)
	}
	m.count(v)
	if m.changed != nil {
		m.changed.divide(m)
	}
	for _, p := range m.allPools() {
		for k := range p.demand {
			p.demand[k] = max(p.running[k], min(p.running[k]+p.pending[k], p.most[k]))
		}
	}
}

// kind returns the kind of task that is to start next on the node, or false if
// nothing more may start there in this heartbeat.
func (m *fair1) kind(v *state.View, n state.NodeID) (state.Kind, bool) {
	for _, k := range kinds {
		running, demand := int64(0), int64(0)
		for _, p := range m.allPools() {
			running += int64(p.running[k])
			demand += int64(p.demand[k])
		}
		taken, slots := v.Taken(n, k), v.Slots(n, k)
		if taken >= slots || running == demand || taken >= loadCap(slots, demand, m.slots[k]) {
			m.rejected[k] = true
		}
	}
	switch {
	case m.rejected[state.Map] && m.rejected[state.Reduce]:
		return state.Map, false
	case m.rejected[state.Map], !m.rejected[state.Reduce] && v.Taken(n, state.Map) > v.Taken(n, state.Reduce):
		return state.Reduce, true
	}
	return state.Map, true
}

// chooseOf goes through pools and jobs until one of them starts a task of kind k
// on the node.
func (m *fair1) chooseOf(v *state.View, n state.NodeID, k state.Kind) (sched.Pick, bool) {
	pools := m.sortPools(k)
	for _, p := range pools {
		if p.running[k] < p.most[k] {
			if t, ok := m.chooseFrom(v, n, k, p); ok {
				return t, true
			}
		}
	}
	if m.changed != nil && m.changed.has[m2] && m.changed.Cap == "borrow" {
		for _, p := range pools {
			if p.running[k] >= p.most[k] {
				if t, ok := m.chooseFrom(v, n, k, p); ok {
					return t, true
				}
			}
		}
	}
	return sched.Pick{}, false
}

func (m *fair1) chooseFrom(v *state.View, n state.NodeID, k state.Kind, p *pool) (sched.Pick, bool) {
	for _, id := range m.sortJobs(v, k, p) {
		if k == state.Reduce {
			if t := v.NextReduce(id); t != state.None && v.Fits(n, id, k) {
				return sched.Pick{Job: id, Task: t, Kind: k, Reason: sched.Reduces}, true
			}
			continue
		}
		if of := m.patienceOf(v, id); !of.visited {
			of.visited = true
			if !m.poolWaits() {
				m.visited = append(m.visited, id)
			}
		}
		if !sched.WantsMap(v, id, n) {
			continue
		}
		if t := v.NextRerun(id); t != state.None {
			m.patienceOf(v, id).start(v.Level(id, t, n))
			return sched.Pick{Job: id, Task: t, Kind: k, Reason: sched.Rerun}, true
		}
		t, level := v.Nearest(id, n, state.LevelNode, m.allowed(v, id))
		if t == state.None {
			continue
		}
		if m.changed != nil {
			id, t, level = m.changed.start(v, n, m, p, id, t, level)
		}
		m.patienceOf(v, id).start(level)
		return sched.MapPick(id, t, level), true
	}
	return sched.Pick{}, false
}

// poolWaits reports whether a pool waits for local maps, and not each of its jobs.
func (m *fair1) poolWaits() bool {
	return m.changed != nil && m.changed.has[m4] && m.changed.Owner == "pool"
}

// patienceOf returns what says at which level the job may start maps.
func (m *fair1) patienceOf(v *state.View, id state.JobID) *patience {
	if m.poolWaits() {
		return &m.poolOf(v, id).patience
	}
	return &m.jobs.Of(id).patience
}

// allowed returns the farthest level at which the job may start a map now.
func (m *fair1) allowed(v *state.View, id state.JobID) state.Level {
	if v.Locations(id) == 0 {
		return state.LevelOff
	}
	node, any := m.delays(v)
	rack := any
	if m.changed == nil || !m.changed.has[m4] || m.changed.RackTimer != "sameStart" {
		any += node
	}
	j := m.patienceOf(v, id)
	switch {
	case j.last == state.LevelOff, j.last == state.LevelRack && j.wait >= rack, j.wait >= any && j.wait >= node:
		return state.LevelOff
	case j.last == state.LevelRack, j.wait >= node:
		return state.LevelRack
	}
	return state.LevelNode
}

// delays returns how long a job waits for a node with its input, and then for
// the rack, in ns.
func (m *fair1) delays(v *state.View) (node, rack int64) {
	if m.changed != nil && m.changed.has[m4] {
		return m.changed.delays()
	}
	const ms = int64(1e6)
	beat := max(300*ms, int64(v.NodesUp())*10*ms)
	automatic := min(15_000*ms, beat+beat/2)
	if node = m.NodeDelayMs * ms; node < 0 {
		node = automatic
	}
	if rack = m.RackDelayMs * ms; rack < 0 {
		rack = node
	}
	return node, rack
}
