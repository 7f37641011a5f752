package sched

import "heddle/harness/state"

// fifo serves jobs in the order they came.
//
// Rule. On a heartbeat, jobs by priority, then submission. The first that has
// anything the node can hold gets it: a re-run or a reduce, else the map whose
// data is nearest, by node, then rack, then any. No waiting for locality and no
// look at caches. A job whose container does not fit is passed over.
//
// Source. Hadoop 3.4 FifoScheduler (applications in submit order; per
// application and priority node-local requests, then rack, then off-switch, as
// many as fit, no delay). With offRackPerHeartbeat 1 it is nearer to the
// JobQueueTaskScheduler of Hadoop 1.2, which stops giving maps to a tracker
// after one that is not local.
//
// Parameters.
//
//	offRackPerHeartbeat  maps (0)  after so many off-rack ones a node gets no
//	                               more maps in a heartbeat; 0: no limit
//
// Differs. Hadoop 1.2's load cap, its padding for failures and its one reduce
// per heartbeat are left out; here node room is the only bound. YARN's stops a
// node below the minimum allocation, which is the driver's to say
// (State.SetSmallest).
type fifo struct {
	offRackPerHeartbeat int
	beat                beat
}

var fifoInfo = Info{
	Name: "fifo", Summary: "serves jobs in the order they came, with the nearest map, and does not wait",
	Source: "Hadoop 3.4 FifoScheduler; Hadoop 1.2 JobQueueTaskScheduler",
	Params: []Param{
		{Name: "offRackPerHeartbeat", Type: Int, Default: "0", Unit: "maps", Doc: "off-rack ones after which a node gets no more in a heartbeat; 0: no limit; Hadoop 1.2: 1"},
	},
	build: func(a args) (Model, error) {
		return PerNode{&fifo{offRackPerHeartbeat: int(a.int("offRackPerHeartbeat"))}}, nil
	},
}

func (m *fifo) Name() string { return "fifo" }

func (m *fifo) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	m.beat.see(v, n)
	enough := m.beat.reached(m.offRackPerHeartbeat, Off)
	for jobs := fifoOrder(v); ; {
		id, ok := jobs.next()
		if !ok {
			return Pick{}, false
		}
		d, ok := unplaced(v, id, n)
		if !ok && !enough && wantsMap(v, id, n) {
			t, level := v.Nearest(id, n, state.LevelNode, state.LevelOff)
			d, ok = mapAt(id, t, level), true
		}
		if ok {
			m.beat.chose(d.Reason)
			return d, true
		}
	}
}
