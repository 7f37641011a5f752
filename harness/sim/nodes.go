package sim

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// nodes are the worker nodes: their speed, room and heartbeats, what they share
// their disks, links and cores as, and their capacity as it changes.
type nodes struct {
	config *Config
	events *kernel.Events
	state  *state.State
	view   *state.View
	flows  *fluid.System // disks, links and cores that tasks share; nil if none of these has a limit
	core   float64       // what a core that all nodes share computes in a second, in microseconds of a core of speed 1
	list   []node
	lost   state.NodeSet // nodes that are down, whether or not the ResourceManager has noticed this
	busy   state.NodeSet // when node labels give nodes to jobs: nodes that a decision has chosen, whose container has not come yet
	losses []uint32      // by node: how often it was lost
	freed  []int64       // by node, if Costs.FreeMs is above 0: time at which the last attempt ended there
	done   []int64       // by node: number of attempts that succeeded on it, for finding slow nodes
	racks  int32
	ring   kernel.Ring // heartbeats; those of nodes with room matter
	full   bool        // heartbeats of full nodes matter too
	next   int         // index of the next entry in Config.Opportunities
}

// node is what each attempt on a worker node needs of it.
type node struct {
	hash  uint64 // hash of the node's name; it enters the hash of the run's schedule
	slow  int64  // compute time on this node divided by that on a node of speed 1, times 2^16
	rack  int32
	cores bool // the node has a limited number of CPU cores, which its tasks share
}

// begin adds the cluster's nodes. If any disk, link, uplink or CPU has a limit, it also
// adds all of these as resources that tasks share.
func (x *nodes) begin(c *Config, e *kernel.Events, s *state.State, full bool) error {
	all := len(c.Cluster.Nodes)
	*x = nodes{
		config: c, events: e, state: s, view: s.View(), full: full, list: resized(x.list, all),
		lost: state.NewNodeSet(all), busy: state.NewNodeSet(all), losses: resized(x.losses, all), done: resized(x.done, all),
	}
	if c.Costs.FreeMs > 0 {
		x.freed = slices.Repeat([]int64{-int64(c.Costs.FreeMs)}, all)
	}
	limited := c.Cluster.HostCores > 0
	for i := range c.Cluster.Nodes {
		m := &c.Cluster.Nodes[i]
		id, err := s.AddNode(m.Name, m.Rack, m.Capacity)
		if err != nil {
			return err
		}
		if m.Label != "" {
			s.SetNodeLabel(id, m.Label)
		}
		x.list[i] = node{
			hash:  traces.HashName(m.Name),
			rack:  int32(x.view.Rack(id)),
			slow:  slowness(m.Speed),
			cores: m.Cores > 0 || c.Cluster.HostCores > 0,
		}
		limited = limited || m.DiskBytesPerSec > 0 || m.LinkBytesPerSec > 0 || m.MemoryBytesPerSec > 0 || m.Cores > 0
	}
	x.racks = int32(x.view.Racks())
	for _, r := range c.Cluster.Racks {
		limited = limited || r.UplinkBytesPerSec > 0
	}
	if limited {
		x.addFlows()
	}
	interval, async := int64(c.Costs.NodeBeatMs), false
	if c.Costs.AsyncMs > 0 || interval == 0 {
		interval, async = max(1, int64(c.Costs.AsyncMs)), true
	}
	x.ring.Reset(len(x.list), interval, async, c.Shuffled, draw.Stream(c.Seed, "node heartbeat"))
	x.noteAllRoom()
	return nil
}

// shareHost sets the cores that all nodes share, with so many ApplicationMasters up beside
// them.
func (x *nodes) shareHost(nowMs int64, masters int) {
	c := &x.config.Cluster
	cores := c.coresWith(masters)
	crowd := 1
	if c.Contention > 0 {
		crowd = int(min(math.Ceil(mostPerCore*cores), math.MaxInt32))
	}
	x.flows.SetHost(nowMs, crowd, func(attempts int) int64 {
		return int64(x.core * cores / Slowed(c.Contention, float64(attempts)/cores))
	}, int64(x.core))
}

// addFlows adds the disks, links, uplinks and cores.
func (x *nodes) addFlows() {
	rackOf := make([]state.RackID, len(x.list))
	for n := range rackOf {
		rackOf[n] = state.RackID(x.list[n].rack)
	}
	x.flows = fluid.New(rackOf)
	x.flows.MemorySends = x.config.NodeFetches
	c := &x.config.Cluster
	if c.HostCores > 0 {
		x.core = 1e6 * c.hostSpeed()
		x.shareHost(0, 0)
	}
	for i := range c.Nodes {
		m, n := &c.Nodes[i], int32(i)
		x.flows.SetRate(0, fluid.Disk, n, m.DiskBytesPerSec, 0)
		x.flows.SetRate(0, fluid.Memory, n, m.MemoryBytesPerSec, 0)
		x.flows.SetRate(0, fluid.LinkIn, n, m.LinkBytesPerSec, 0)
		x.flows.SetRate(0, fluid.LinkOut, n, m.LinkBytesPerSec, 0)
		x.setCores(state.NodeID(i))
	}
	for _, m := range c.Racks {
		for r := range x.racks {
			if x.view.RackName(state.RackID(r)) == m.Name {
				x.flows.SetRate(0, fluid.UplinkIn, r, m.UplinkBytesPerSec, 0)
				x.flows.SetRate(0, fluid.UplinkOut, r, m.UplinkBytesPerSec, 0)
			}
		}
	}
}

// setCores sets how much computing all tasks together may do on a node in a
// second. The cores of a slow node compute less in a second.
func (x *nodes) setCores(n state.NodeID) {
	if m := &x.list[n]; m.cores && x.flows != nil {
		core, cores := int64(1e6)<<16/m.slow, x.config.Cluster.Nodes[n].Cores
		if cores == 0 {
			cores = 1 << 12 // the node's cores are not limited: so many that each attempt has a core of its own
		}
		x.flows.SetRate(x.events.Now, fluid.Cores, int32(n), int64(float64(core)*cores), core)
	}
}

// slowness returns 1/speed, times 2^16. Compute times on a node of this speed
// are multiplied by 1/speed.
func slowness(speed float64) int64 {
	if !(speed > 0) {
		return 1 << 16
	}
	return max(1, int64(math.Round(min(1/speed, 1e6)*(1<<16))))
}

// on returns how many milliseconds a computation takes on node n, if the same
// computation takes ms milliseconds on a node of speed 1. It is kernel.MaxAheadMs at most.
func (n *node) on(ms int64) int64 {
	if ms > kernel.MaxAheadMs<<16/n.slow {
		return kernel.MaxAheadMs
	}
	return (ms*n.slow + 1<<15) >> 16
}

// launchMs returns how long a container on node n takes from the choice of its task to the
// start of the attempt. It is taken to be in the place of the attempt that ended there last.
func (x *nodes) launchMs(n state.NodeID) int32 {
	ms := x.config.Costs.LaunchMs
	if x.freed != nil {
		ms += int32(max(0, x.freed[n]+int64(x.config.Costs.FreeMs)-x.events.Now))
	}
	return ms
}

// noteRoom records whether node n has room for a container. Heartbeats of a
// node without room are not simulated, unless the scheduler model hears them.
func (x *nodes) noteRoom(n state.NodeID) {
	x.ring.Set(int32(n), !x.lost.Has(n) && (x.full || x.view.HasRoom(n) && !x.busy.Has(n)))
}

func (x *nodes) noteAllRoom() {
	for n := range x.list {
		x.noteRoom(state.NodeID(n))
	}
}

// nextBeat returns the node of the next NodeManager heartbeat that can change
// something, and the time of this heartbeat. If wanted is false, no task or ApplicationMaster waits for a
// container, and none can.
func (x *nodes) nextBeat(wanted bool) (state.NodeID, int64) {
	if list := x.config.Opportunities; list != nil {
		if x.next == len(list) {
			return state.None, kernel.Never
		}
		return list[x.next].Node, max(list[x.next].AtMs, x.events.Now)
	}
	if !wanted {
		return state.None, kernel.Never
	}
	n, at := x.ring.Next(x.events.Now)
	return state.NodeID(n), at
}

// reports returns when node n next reports to the ResourceManager.
func (x *nodes) reports(n state.NodeID) int64 {
	if x.config.Costs.AsyncMs == 0 && x.config.Opportunities == nil {
		return x.ring.After(int32(n), x.events.Now)
	}
	const apart = 7919 // so that nodes do not report together
	every := int64(x.config.Costs.NodeBeatMs)
	return x.events.Now + every - (x.events.Now+apart*int64(n))%every
}

// beatPassed says that the heartbeat that nextBeat returned has come.
func (x *nodes) beatPassed() {
	if x.config.Opportunities != nil {
		x.next++
	} else {
		x.ring.Passed()
	}
}

// slow changes the speed of a node, for what starts there from now on and for what shares
// its cores.
func (x *nodes) slow(n state.NodeID, speed float64) {
	x.list[n].slow = slowness(speed)
	x.setCores(n)
}

// lose notes that a node is down, whether or not the ResourceManager has noticed it.
func (x *nodes) lose(n state.NodeID) {
	x.lost.Add(n)
	x.losses[n]++
	x.noteRoom(n)
}

// comeBack notes that a node is up again.
func (x *nodes) comeBack(n state.NodeID) {
	x.lost.Remove(n)
	x.state.NodeUp(n)
	x.noteRoom(n)
}

// level returns how near node n is to the nearest of the given hosts: the same
// node, the same rack or farther.
func (x *nodes) level(hosts []state.NodeID, n state.NodeID) state.Level {
	if slices.Contains(hosts, n) {
		return state.LevelNode
	}
	for _, h := range hosts {
		if x.list[h].rack == x.list[n].rack {
			return state.LevelRack
		}
	}
	return state.LevelOff
}

// isSlow reports whether node n is among the quarter of the nodes with the
// fewest successful attempts. Nodes with equally many are all in it or none is,
// so that no node is slow while all have done the same.
func (x *nodes) isSlow(n state.NodeID) bool {
	notMore := 0
	for i, done := range x.done {
		if i != int(n) && done <= x.done[n] {
			notMore++
		}
	}
	return notMore*100 < latePercent*len(x.done) && x.done[n] > 0
}

// rateBetween returns the rate of the slowest link or uplink between two nodes in
// bytes/s, 0 if none has a limit.
func (x *nodes) rateBetween(from, to state.NodeID) int64 {
	a, b := x.view.Rack(from), x.view.Rack(to)
	c := &x.config.Cluster
	rates := []int64{c.Nodes[from].LinkBytesPerSec, c.Nodes[to].LinkBytesPerSec}
	for _, r := range c.Racks {
		if a != b && (r.Name == x.view.RackName(a) || r.Name == x.view.RackName(b)) {
			rates = append(rates, r.UplinkBytesPerSec)
		}
	}
	slowest := int64(0)
	for _, rate := range rates {
		if rate > 0 && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	return slowest
}

// tell gives a model the rates of links, if some have a limit and it wants them, and the capacity
// to come.
func (x *nodes) tell(m sched.Model) {
	c := &x.config.Cluster
	if h, ok := sched.As[sched.HearsNetwork](m); ok && (slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.LinkBytesPerSec > 0 }) ||
		slices.ContainsFunc(c.Racks, func(r Rack) bool { return r.UplinkBytesPerSec > 0 })) {
		h.Network(x.rateBetween)
	}
	if f, ok := sched.As[sched.Foreseer](m); ok {
		told := x.config.Capacity.Told(x.config.Seed, func(node string) state.Resource { return x.view.Capacity(x.view.NodeNamed(node)) })
		if told != nil {
			f.Foresee(told)
		}
	}
}

// beginCapacity checks the timetable of the nodes' capacity, and schedules its
// first change.
func (x *nodes) beginCapacity() error {
	table := &x.config.Capacity
	if err := table.Check(); err != nil {
		return err
	}
	for i, c := range table.Changes {
		if x.view.NodeNamed(c.Node) == state.None {
			return fmt.Errorf("capacity change %d: the cluster has no node %q", i, c.Node)
		}
	}
	x.awaitChange(0)
	return nil
}

// awaitChange schedules change number i of the timetable.
func (x *nodes) awaitChange(i int) {
	if c, ok := x.config.Capacity.Change(i); ok {
		kind := evCapacity
		if x.config.Capacity.EveryMs > 0 {
			kind = evCapacityAgain
		}
		x.events.Push(c.AtMs, kind, uint32(i), 0)
	}
}

// changeCapacity carries out change number i of the timetable, and returns it. Containers on
// the node stay, even if they use more than it has from now on. The node then
// has no room until enough of them have ended.
func (x *nodes) changeCapacity(i int) (state.NodeID, state.Resource) {
	c, _ := x.config.Capacity.Change(i)
	n := x.view.NodeNamed(c.Node)
	x.state.SetCapacity(n, c.Left)
	x.noteRoom(n)
	x.awaitChange(i + 1)
	return n, c.Left
}
