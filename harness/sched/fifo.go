package sched

import "heddle/harness/state"

// fifo serves jobs in the order in which they came.
//
// Rule. On a heartbeat, jobs go by priority, then submission. The first job
// that has a task which the node can hold gets the node: a re-run or a reduce,
// else the map whose input is nearest, by node, then rack, then any. No job
// waits for locality, and caches are ignored. A job whose container does not
// fit is passed over.
//
// Source. Hadoop 3.4 FifoScheduler: applications in order of submission, and
// for each application and priority node-local requests, then rack, then
// off-switch, as many as fit, without delay. With offRackPerHeartbeat 1 it is
// nearer to the JobQueueTaskScheduler of Hadoop 1.2, which gives a tracker no
// more maps after an off-rack map.
//
// Parameters.
//
//	offRackPerHeartbeat  maps (0)  after so many off-rack ones a node gets no
//	                               more maps in a heartbeat; 0: no limit
//
// Differs. Hadoop 1.2 also limits the load of a tracker, keeps slots free for
// failures, and starts one reduce per heartbeat. Here only the node's free
// memory and cores limit what starts. YARN's FifoScheduler stops when a node
// has less than the minimum allocation. So does a node here, if the minimum was
// set by State.SetSmallest, as it is when heddle steers a cluster.
type fifo struct {
	OffRackPerHeartbeat int `unit:"maps" text:"off-rack ones after which a node gets no more in a heartbeat; 0: no limit; Hadoop 1.2: 1"`

	sinceHeartbeat heartbeatCount
}

var fifoInfo = Info{
	Name:    "fifo",
	Use:     ForClusters,
	Summary: "serves jobs in the order they came, with the nearest map, and does not wait",
	Source:  "Hadoop 3.4 FifoScheduler; Hadoop 1.2 JobQueueTaskScheduler",
	Params:  ParamsOf[fifo](),
	Build:   func(a Args) (Model, error) { return PerNode{new(ValuesOf[fifo](a))}, nil },
}

func (m *fifo) Name() string { return "fifo" }

func (m *fifo) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	m.sinceHeartbeat.round(v, n)
	enough := m.sinceHeartbeat.reached(m.OffRackPerHeartbeat, Off)
	for jobs := FIFOOrder(v); ; {
		id, ok := jobs.Next()
		if !ok {
			return Pick{}, false
		}
		d, ok := RerunOrReduce(v, id, n)
		if !ok && !enough && WantsMap(v, id, n) {
			t, level := v.Nearest(id, n, state.LevelNode, state.LevelOff)
			d, ok = MapPick(id, t, level), true
		}
		if ok {
			m.sinceHeartbeat.chose(d.Reason)
			return d, true
		}
	}
}
