package sim

import (
	"errors"
	"fmt"
	"math"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// node is a simulated worker node.
type node struct {
	hash  uint64 // hash of the node's name; it enters the hash of the run's schedule
	slow  int64  // compute time on this node divided by that on a node of speed 1, times 2^16
	rack  int32
	cores bool // the node has a limited number of CPU cores, which its tasks share
	busy  bool // when node labels give nodes to jobs: a decision has chosen this node, and the decision's container has not come yet
	lost  bool // the node is down, whether or not the ResourceManager has noticed this
	gen   uint32
	done  int64 // number of attempts that succeeded on this node, for finding slow nodes
}

// begin checks the configuration and prepares a simulated run.
func (s *Sim) begin(c *Config, r *Result) error {
	s.Config, s.r = *c, r
	*r = Result{Jobs: r.Jobs[:0]}
	if err := s.check(); err != nil {
		return err
	}
	if s.Model == nil {
		m, err := sched.New("capacity", nil)
		if err != nil {
			return err
		}
		s.Model = m
	}
	if err := s.beginHearing(); err != nil {
		return err
	}
	s.carry = s.carryOut
	s.state = state.New()
	s.state.SetLateBinding(s.Actuator != Ideal)
	s.view = s.state.View()
	s.beginSight()
	if s.MinAllocation != (state.Resource{}) {
		s.state.SetSmallest(s.MinAllocation)
	}
	s.state.SetSlots(s.MapSlots, s.ReduceSlots)
	s.running, s.opportunity = 0, 0
	s.streams.compute, s.streams.label = draw.Stream(s.Seed, "compute time"), draw.Stream(s.Seed, "label latency")
	s.streams.read, s.streams.fetch = draw.Stream(s.Seed, "replica read"), draw.Stream(s.Seed, "rack fetched from")
	s.streams.fail, s.streams.spread = draw.Stream(s.Seed, "attempt fails"), draw.Stream(s.Seed, "task compute")
	s.events.Reset(evFault)
	s.queued = s.queued[:0]
	s.attempts, s.idle = s.attempts[:0], s.idle[:0]
	s.grants, s.spareGrant = append(s.grants[:0], grant{}), 0
	s.groups, s.spareGroups = append(s.groups[:0], group{}), s.spareGroups[:0]
	s.offers.Group = s.carryGroup
	s.fetches, s.nodeFetches, s.spareFetch = s.fetches[:0], s.nodeFetches[:0], s.spareFetch[:0]
	s.lostNodes = 0
	if err := s.addNodes(); err != nil {
		return err
	}
	s.events.Flows = s.shared
	s.tellNetwork()
	interval, async := int64(s.Costs.NodeBeatMs), false
	if s.Costs.AsyncMs > 0 || interval == 0 {
		interval, async = max(1, int64(s.Costs.AsyncMs)), true
	}
	s.ring.Reset(len(s.nodes), interval, async, s.Shuffled, draw.Stream(s.Seed, "node heartbeat"))
	for n := range s.nodes {
		s.noteRoom(state.NodeID(n))
	}
	s.mastersMB = 0
	s.failing, s.losesNodes, s.wanted = 0, false, s.wanted[:0]
	for i := range s.Faults {
		s.losesNodes = s.losesNodes || s.Faults[i].What == NodeDown
		s.events.Push(s.Faults[i].AtMs, evFault, uint32(i), 0)
	}
	if err := s.beginCapacity(); err != nil {
		return err
	}
	s.caches.begin(s.state, s.Cluster.Nodes, s.CacheReads)
	s.splits.begin(&s.Config, s.state)
	s.jobs.begin(s.view, &s.Costs, s.racks, s.losesNodes)
	return s.arrivals.begin(s.Source, &s.events, &s.jobs)
}

func (s *Sim) check() error {
	switch {
	case s.Source == nil:
		return errors.New("Config.Source is nil: there are no jobs")
	case len(s.Cluster.Nodes) == 0:
		return errors.New("the cluster has no nodes")
	case s.NodeFetches && len(s.Cluster.Nodes) > MaxFetchNodes:
		return fmt.Errorf("fetches from nodes: the cluster has %d nodes, at most %d are possible; have reduces fetch from racks", len(s.Cluster.Nodes), MaxFetchNodes)
	case s.SampleMs < 0:
		return fmt.Errorf("SampleMs is %d: it must be 0 or more", s.SampleMs)
	case s.MapSlots < 0 || s.ReduceSlots < 0:
		return fmt.Errorf("%d map slots and %d reduce slots a node: neither may be negative", s.MapSlots, s.ReduceSlots)
	}
	at, nodes := int64(0), len(s.Cluster.Nodes)
	for i, f := range s.Faults {
		switch {
		case f.AtMs > kernel.MaxAheadMs:
			return fmt.Errorf("fault %d: its time, %d ms, is after the latest possible, %d ms", i, f.AtMs, int64(kernel.MaxAheadMs))
		case f.AtMs < 0:
			return fmt.Errorf("fault %d: its time, %d ms, is negative", i, f.AtMs)
		case f.AtMs < at:
			return fmt.Errorf("fault %d: its time, %d ms, is before that of fault %d, %d ms", i, f.AtMs, i-1, at)
		case f.What != AttemptsFail && (f.Node < 0 || int(f.Node) >= nodes):
			return fmt.Errorf("fault %d: node %d: the cluster has nodes 0 to %d", i, f.Node, nodes-1)
		}
		at = f.AtMs
	}
	at = 0
	for i, o := range s.Opportunities {
		switch {
		case o.AtMs < 0:
			return fmt.Errorf("opportunity %d: its time, %d ms, is negative", i, o.AtMs)
		case o.AtMs < at:
			return fmt.Errorf("opportunity %d: its time, %d ms, is before that of opportunity %d, %d ms", i, o.AtMs, i-1, at)
		case o.Node < 0 || int(o.Node) >= nodes:
			return fmt.Errorf("opportunity %d: node %d: the cluster has nodes 0 to %d", i, o.Node, nodes-1)
		}
		at = o.AtMs
	}
	c := &s.Costs
	for _, x := range []struct {
		name string
		ms   int32
	}{
		{"NodeBeatMs", c.NodeBeatMs},
		{"AsyncMs", c.AsyncMs},
		{"AMBeatMs", c.AMBeatMs},
		{"SubmitMs", c.SubmitMs},
		{"AMStartMs", c.AMStartMs},
		{"LaunchMs", c.LaunchMs},
		{"TaskStartMs", c.TaskStartMs},
		{"CommitMs", c.CommitMs},
		{"FetchMs", c.FetchMs},
		{"FinishMs", c.FinishMs},
		{"NodeExpiryMs", c.NodeExpiryMs},
	} {
		if x.ms < 0 {
			return fmt.Errorf("cost %s is %d: it must be 0 or more", x.name, x.ms)
		}
	}
	for i, ms := range c.LabelMs {
		if ms < 0 {
			return fmt.Errorf("cost LabelMs has %d at %d: it must be 0 or more", ms, i)
		}
	}
	return nil
}

// addNodes adds the cluster's nodes. If any disk, link, uplink or CPU has a
// limit, it also adds all of these as resources that tasks share.
func (s *Sim) addNodes() error {
	s.nodes = resized(s.nodes, len(s.Cluster.Nodes))
	limited := s.Cluster.HostCores > 0
	for i := range s.Cluster.Nodes {
		x := &s.Cluster.Nodes[i]
		id, err := s.state.AddNode(x.Name, x.Rack, x.Capacity)
		if err != nil {
			return err
		}
		s.nodes[i] = node{hash: traces.HashName(x.Name), rack: int32(s.view.Rack(id)), slow: slowness(x.Speed), cores: x.Cores > 0 || s.Cluster.HostCores > 0}
		limited = limited || x.DiskBytesPerSec > 0 || x.LinkBytesPerSec > 0 || x.MemoryBytesPerSec > 0 || x.Cores > 0
	}
	s.racks = int32(s.view.Racks())
	for _, r := range s.Cluster.Racks {
		limited = limited || r.UplinkBytesPerSec > 0
	}
	s.shared = nil
	if !limited {
		return nil
	}
	rackOf := make([]state.RackID, len(s.nodes))
	for n := range rackOf {
		rackOf[n] = state.RackID(s.nodes[n].rack)
	}
	s.shared = fluid.New(rackOf)
	if host := s.Cluster.HostCores; host > 0 {
		s.shared.SetRate(0, fluid.Host, 0, int64(1e6*host), 1e6)
	}
	for i := range s.Cluster.Nodes {
		x, n := &s.Cluster.Nodes[i], int32(i)
		s.shared.SetRate(0, fluid.Disk, n, x.DiskBytesPerSec, 0)
		s.shared.SetRate(0, fluid.Memory, n, x.MemoryBytesPerSec, 0)
		s.shared.SetRate(0, fluid.LinkIn, n, x.LinkBytesPerSec, 0)
		s.shared.SetRate(0, fluid.LinkOut, n, x.LinkBytesPerSec, 0)
		s.setCores(state.NodeID(i))
	}
	for i := range s.Cluster.Racks {
		x := &s.Cluster.Racks[i]
		for r := range s.racks {
			if s.view.RackName(state.RackID(r)) == x.Name {
				s.shared.SetRate(0, fluid.UplinkIn, r, x.UplinkBytesPerSec, 0)
				s.shared.SetRate(0, fluid.UplinkOut, r, x.UplinkBytesPerSec, 0)
			}
		}
	}
	return nil
}

// setCores sets how much computing all tasks together may do on a node in a
// second. The cores of a slow node compute less in a second.
func (s *Sim) setCores(n state.NodeID) {
	if x := &s.nodes[n]; x.cores {
		core, cores := int64(1e6)<<16/x.slow, s.Cluster.Nodes[n].Cores
		if cores == 0 {
			cores = 1 << 12 // the node's cores are not limited: so many that each attempt has a core of its own
		}
		s.shared.SetRate(s.events.Now, fluid.Cores, int32(n), int64(float64(core)*cores), core)
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

// noteRoom records whether node n has room for a container. Heartbeats of a
// node without room are not simulated, unless the scheduler model hears them.
func (s *Sim) noteRoom(n state.NodeID) {
	x := &s.nodes[n]
	s.ring.Set(int32(n), !x.lost && (s.hears.full || s.view.HasRoom(n) && !x.busy))
}
