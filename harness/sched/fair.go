package sched

import (
	"heddle/harness/state"
	"heddle/traces"
)

// fair gives queues, and the jobs in them, equal shares. Jobs can be made to
// wait for locality.
//
// Rule. On a heartbeat, queues go in this order, and in each queue its jobs:
//
//	below their minimum share first, by used/minimum (of queues only);
//	then by used/weight; ties by submission, queues by first use
//
// used counts reserved containers too. With policy fair it is memory, with drf
// the dominant share max(memory/cluster's, cores/cluster's). Serving the job
// with the lowest used/weight first leads to max-min shares. The first job
// that may start something on the node does.
//
// A job has a level, up to which its maps may start: at first node-local only.
// The counter opp counts the nodes offered to the job since it got that level.
// When opp > nodes·nodeThreshold the level becomes rack and opp is set to 0.
// When opp > nodes·rackThreshold the level becomes off-rack. When the job
// starts a map nearer than its level, the level goes back to the level of that
// map. A threshold of -1 means no wait. Re-runs, reduces and jobs whose splits
// name no host do not wait.
//
// Source. Hadoop 3.4 FairScheduler: FairSharePolicy, DominantResourceFairness
// and the locality thresholds (yarn.scheduler.fair.locality.threshold.node and
// .rack). Example with policy drf, 100 GB and 10 cores: job A uses 10 GB and 5
// cores with weight 2, job B 30 GB and 1 core with weight 1. A (0.25) goes
// before B (0.3).
//
// Parameters.
//
//	policy           fair or drf (fair)
//	weights          queue=weight,… ()       queues not named weigh 1; jobs in them have weights of their own
//	minShares        queue=MB,… ()           of policy fair, memory that a queue is to have first
//	nodeThreshold    share of nodes (-1)     0 to 1, or -1
//	rackThreshold    share of nodes (-1)     0 to 1, or -1
//	maxPerHeartbeat  containers (0)          that a node gets per heartbeat; 0: all it can hold
//
// Differs. Queues have no children. YARN as shipped gives one container per
// heartbeat (assignmultiple false), which is maxPerHeartbeat 1 here.
// Preemption, queue limits and the limit on ApplicationMasters are left out.
// Ties between jobs go by submission, not by start of the application and
// name.
type fair struct {
	Reasoning
	Policy          string             `values:"fair,drf" text:"shares of memory, or of each one's dominant resource"`
	Weights         map[string]float64 `unit:"weight" min:"1e-6" text:"of queues, queue=weight,…; not named: 1"`
	MinShares       map[string]float64 `unit:"MB" text:"that queues have first, queue=MB,…, with policy fair"`
	NodeThreshold   float64            `default:"-1" unit:"share of nodes" min:"-1" max:"1" text:"nodes offered before rack-local maps; -1: no wait"`
	RackThreshold   float64            `default:"-1" unit:"share of nodes" min:"-1" max:"1" text:"nodes offered after that before any map; -1: no wait"`
	MaxPerHeartbeat int                `unit:"containers" text:"that a node gets per heartbeat; 0: all it can hold; YARN as it ships: 1"`

	queues         []fairQueue
	levels         PerJob[levelled]
	order          shares
	sinceHeartbeat heartbeatCount
}

type fairQueue struct{ weight, minShare float64 }

// levelled is the farthest locality level at which a job may start maps, with
// the number of nodes offered to the job since it got that level.
type levelled struct {
	opportunities int64
	level         uint8 // locality level: 0 node-local, 1 rack-local, 2 off-rack
}

var fairInfo = Info{
	Name:    "fair",
	Use:     ForClusters,
	Summary: "gives queues, and jobs in them, max-min shares; waits for locality if asked to",
	Source:  "Hadoop 3.4 FairScheduler: fair share and dominant resource fairness",
	Params:  ParamsOf[fair](),
	Build:   func(a Args) (Model, error) { return PerNode{new(ValuesOf[fair](a))}, nil },
}

func (m *fair) Name() string { return "fair" }

func (m *fair) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	if m.sinceHeartbeat.round(v, n); m.sinceHeartbeat.reached(m.MaxPerHeartbeat, Node, Rack, Off, Rerun, Reduces) {
		return Pick{}, false
	}
	m.know(v)
	m.Begin(traces.WaitOffers)
	m.order.start(v)
	for {
		id, ok := m.order.next()
		if !ok {
			return Pick{}, false
		}
		d, ok := RerunOrReduce(v, id, n)
		if !ok && WantsMap(v, id, n) {
			d, ok = m.chooseMap(v, id, n)
		}
		if ok {
			m.sinceHeartbeat.chose(d.Reason)
			return d, true
		}
		if m.Keeps() {
			m.tellPassed(v, id, n)
		}
	}
}

// chooseMap returns the waiting map of the job that is nearest to its input on
// node n, among those that the job may start now.
func (m *fair) chooseMap(v *state.View, id state.JobID, n state.NodeID) (Pick, bool) {
	if m.NodeThreshold < 0 || m.RackThreshold < 0 || v.Locations(id) == 0 {
		t, level := v.Nearest(id, n, state.LevelNode, state.LevelOff)
		return MapPick(id, t, level), true
	}
	job := m.levels.Of(id)
	job.opportunities++
	offered := job.opportunities
	thresholds := [2]float64{m.NodeThreshold, m.RackThreshold}
	if job.level < 2 && float64(job.opportunities) > float64(v.ClusterNodes())*thresholds[job.level] {
		*job = levelled{level: job.level + 1}
	}
	t, level := v.Nearest(id, n, state.LevelNode, state.LevelNode+state.Level(job.level))
	if t == state.None {
		return Pick{}, false
	}
	if m.Keeps() {
		m.tell(v, offered-1, job.level, level)
	}
	if at := uint8(level - state.LevelNode); at < job.level {
		*job = levelled{level: at}
	}
	return MapPick(id, t, level), true
}

// tellPassed keeps why nothing of the job starts on node n.
func (m *fair) tellPassed(v *state.View, id state.JobID, n state.NodeID) {
	if WantsMap(v, id, n) {
		m.PassOver(id, traces.PassedWaits, m.levels.Of(id).opportunities)
	} else {
		m.PassOver(id, traces.PassedNoRoom, 0)
	}
}

// tell keeps how many offered nodes the job has let pass, this one not counted, since it got
// the level that it had when it was asked, and the limit for a map at this level.
func (m *fair) tell(v *state.View, passed int64, allowed uint8, level state.Level) {
	threshold := m.NodeThreshold
	if level == state.LevelOff {
		threshold = m.RackThreshold
	}
	m.Wait(passed, int64(float64(v.ClusterNodes())*threshold), state.LevelNode+state.Level(allowed))
}

// The method know reads the configured weights of queues that were created
// since the method's last call.
func (m *fair) know(v *state.View) {
	if m.order.key == nil {
		m.order.key = func(v *state.View, id state.JobID) float64 { return m.used(v, v.Used(id)) / v.Weight(id) }
		m.order.ofQueue = m.queueKey
	}
	for q := state.QueueID(len(m.queues)); int(q) < v.Queues(); q++ {
		weight, ok := m.Weights[v.QueueName(q)]
		if !ok {
			weight = 1
		}
		m.queues = append(m.queues, fairQueue{weight, m.MinShares[v.QueueName(q)]})
	}
}

func (m *fair) queueKey(v *state.View, q state.QueueID) queueKey {
	used, x := m.used(v, v.QueueUsed(q)), m.queues[q]
	if used < x.minShare {
		return queueKey{ratio: used / x.minShare}
	}
	return queueKey{served: true, ratio: used / x.weight}
}

// used converts the resources that a queue or job uses to the number that the
// fair policy compares: memory, or the dominant share.
func (m *fair) used(v *state.View, r state.Resource) float64 {
	if m.Policy == "fair" {
		return float64(r.MemoryMB)
	}
	larger, _ := (&amounts{total: v.Total()}).shares(r)
	return larger
}
