package sim

import (
	"errors"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

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
	s.state = state.New()
	s.state.SetLateBinding(s.Actuator != Ideal)
	s.view = s.state.View()
	if s.MinAllocation != (state.Resource{}) {
		s.state.SetSmallest(s.MinAllocation)
	}
	s.state.SetSlots(s.MapSlots, s.ReduceSlots)
	s.draws = drawsOf(s.Seed)
	s.events.Reset(evFault)
	s.recorder.begin(&s.Config, &s.events, s.state, &s.jobs)
	if err := s.hears.begin(&s.Config, s.view, &s.recorder); err != nil {
		return err
	}
	s.load = loadOf(&s.base)
	if err := s.nodes.begin(&s.Config, &s.events, s.state, s.hears.full); err != nil {
		return err
	}
	s.events.Flows = s.nodes.flows
	s.caches.begin(s.state, s.Cluster.Nodes, s.CacheReads)
	s.masters.begin(&s.base)
	s.attempts.begin(&s.base, &s.masters, &s.caches, s.load)
	s.containers.begin(&s.base, &s.masters, &s.attempts)
	s.speculation.begin(&s.base, &s.attempts)
	s.carry, s.offers.Group = s.containers.carryOut, s.containers.carryGroup
	losesNodes := false
	for i := range s.Faults {
		losesNodes = losesNodes || s.Faults[i].What == NodeDown
		s.events.Push(s.Faults[i].AtMs, evFault, uint32(i), 0)
	}
	if err := s.nodes.beginCapacity(); err != nil {
		return err
	}
	s.nodes.tell(s.Model)
	s.clocks = clocks{events: &s.events}
	if s.hears.ticker != nil {
		s.clocks.each[clockModel].periodMs = s.hears.ticker.PeriodMs()
	}
	if s.load != nil {
		s.clocks.each[clockLoad].periodMs, s.clocks.each[clockSample].periodMs = loadPeriodMs, s.SampleMs
	}
	s.splits.begin(&s.Config, s.state)
	s.jobs.begin(s.view, &s.Costs, s.nodes.racks, losesNodes)
	return s.arrivals.begin(s.Source, &s.events, &s.jobs)
}

func (c *Config) check() error {
	switch {
	case c.Source == nil:
		return errors.New("Config.Source is nil: there are no jobs")
	case len(c.Cluster.Nodes) == 0:
		return errors.New("the cluster has no nodes")
	case c.NodeFetches && len(c.Cluster.Nodes) > MaxFetchNodes:
		return fmt.Errorf("fetches from nodes: the cluster has %d nodes, at most %d are possible; have reduces fetch from racks", len(c.Cluster.Nodes), MaxFetchNodes)
	case c.SampleMs < 0:
		return fmt.Errorf("SampleMs is %d: it must be 0 or more", c.SampleMs)
	case c.MapSlots < 0 || c.ReduceSlots < 0:
		return fmt.Errorf("%d map slots and %d reduce slots a node: neither may be negative", c.MapSlots, c.ReduceSlots)
	}
	at, nodes := int64(0), len(c.Cluster.Nodes)
	for i, f := range c.Faults {
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
	for i, o := range c.Opportunities {
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
	for _, x := range []struct {
		name string
		ms   int32
	}{
		{"NodeBeatMs", c.Costs.NodeBeatMs},
		{"AsyncMs", c.Costs.AsyncMs},
		{"AMBeatMs", c.Costs.AMBeatMs},
		{"SubmitMs", c.Costs.SubmitMs},
		{"AMStartMs", c.Costs.AMStartMs},
		{"LaunchMs", c.Costs.LaunchMs},
		{"TaskStartMs", c.Costs.TaskStartMs},
		{"CommitMs", c.Costs.CommitMs},
		{"FetchMs", c.Costs.FetchMs},
		{"FinishMs", c.Costs.FinishMs},
		{"NodeExpiryMs", c.Costs.NodeExpiryMs},
	} {
		if x.ms < 0 {
			return fmt.Errorf("cost %s is %d: it must be 0 or more", x.name, x.ms)
		}
	}
	for i, ms := range c.Costs.LabelMs {
		if ms < 0 {
			return fmt.Errorf("cost LabelMs has %d at %d: it must be 0 or more", ms, i)
		}
	}
	return nil
}
