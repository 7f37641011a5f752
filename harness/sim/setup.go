package sim

import (
	"cmp"
	"errors"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// begin checks the configuration and prepares a simulated run.
func (s *Sim) begin(c *Config, r *Result) error {
	if err := s.base.begin(c, r); err != nil {
		return err
	}
	s.load, s.starvedTo = loadOf(&s.base), 0
	s.clocks = clocks{events: &s.events}
	if s.hears.ticker != nil {
		s.clocks.each[clockModel].periodMs = s.hears.ticker.PeriodMs()
	}
	if s.load != nil {
		s.clocks.each[clockLoad].periodMs, s.clocks.each[clockSample].periodMs = loadPeriodMs, s.SampleMs
	}
	s.preemption = preemption{}
	if s.preemption.by, _ = sched.As[sched.Preempter](s.Model); s.preemption.by != nil && s.Actuator == Native {
		s.clocks.each[clockPreempt].periodMs = s.preemption.by.PreemptMs()
	}
	s.caches.begin(s.state, s.Cluster.Nodes, s.CacheReads)
	s.splits.begin(&s.Config, s.state)
	s.masters.begin(&s.base)
	s.attempts.begin(&s.base, &s.masters, &s.caches, s.load)
	s.containers.begin(&s.base, &s.masters, &s.attempts)
	s.speculation.begin(&s.base, &s.attempts)
	s.carry, s.offers.Group = s.containers.carryOut, s.containers.carryGroup
	return s.arrivals.begin(s.Source, &s.events, &s.jobs)
}

// begin checks the configuration. It prepares the cluster, an empty table of jobs and what
// the faults and the timetable of capacity say.
func (b *base) begin(c *Config, r *Result) error {
	b.Config, b.r = *c, r
	*r = Result{Jobs: r.Jobs[:0]}
	if err := b.check(); err != nil {
		return err
	}
	if b.Model == nil {
		m, err := sched.New("capacity", nil)
		if err != nil {
			return err
		}
		b.Model = m
	}
	b.state = state.New()
	b.state.SetLateBinding(b.Actuator != Ideal)
	b.view = b.state.View()
	if b.Actuator == Native {
		b.state.SetBeside(b.Cluster.Masters)
	}
	if b.MinAllocation != (state.Resource{}) {
		b.state.SetSmallest(b.MinAllocation)
	}
	b.state.SetSlots(b.MapSlots, b.ReduceSlots)
	b.draws = drawsOf(b.Seed)
	b.events.Reset(evFault, evRead)
	b.recorder.begin(&b.Config, &b.events, b.state, &b.jobs)
	if err := b.hears.begin(&b.Config, b.view, &b.recorder); err != nil {
		return err
	}
	if err := b.nodes.begin(&b.Config, &b.events, b.state, b.hears.full); err != nil {
		return err
	}
	b.events.Flows = b.nodes.flows
	losesNodes := false
	for i := range b.Faults {
		losesNodes = losesNodes || b.Faults[i].What == NodeDown
		b.events.Push(b.Faults[i].AtMs, evFault, uint32(i), 0)
	}
	if err := b.nodes.beginCapacity(); err != nil {
		return err
	}
	b.nodes.tell(b.Model)
	b.jobs.begin(b.view, &b.Costs, b.nodes.racks, losesNodes)
	return nil
}

func (c *Config) check() error {
	switch {
	case c.Source == nil:
		return errors.New("Config.Source is nil: there are no jobs")
	case len(c.Cluster.Nodes) == 0:
		return errors.New("the cluster has no nodes")
	case c.NodeFetches && len(c.Cluster.Nodes) > MaxFetchNodes:
		return fmt.Errorf(
			"fetches from nodes: the cluster has %d nodes, at most %d are possible; have reduces fetch from racks",
			len(c.Cluster.Nodes),
			MaxFetchNodes,
		)
	case c.SampleMs < 0:
		return fmt.Errorf("SampleMs is %d: it must be 0 or more", c.SampleMs)
	case c.MapSlots < 0 || c.ReduceSlots < 0:
		return fmt.Errorf("%d map slots and %d reduce slots a node: neither may be negative", c.MapSlots, c.ReduceSlots)
	}
	return cmp.Or(c.checkFaults(), c.checkOpportunities(), c.Costs.check())
}

func (c *Config) checkFaults() error {
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
	return nil
}

func (c *Config) checkOpportunities() error {
	at, nodes := int64(0), len(c.Cluster.Nodes)
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
	return nil
}

func (c *Costs) check() error {
	for _, x := range []struct {
		name string
		cost int32
	}{
		{"NodeBeatMs", c.NodeBeatMs},
		{"AsyncMs", c.AsyncMs},
		{"AMBeatMs", c.AMBeatMs},
		{"SubmitMs", c.SubmitMs},
		{"AMStartMs", c.AMStartMs},
		{"AMBesideMB", c.AMBesideMB},
		{"LaunchMs", c.LaunchMs},
		{"FreeMs", c.FreeMs},
		{"TaskStartMs", c.TaskStartMs},
		{"CommitMs", c.CommitMs},
		{"FetchMs", c.FetchMs},
		{"FinishMs", c.FinishMs},
		{"NodeExpiryMs", c.NodeExpiryMs},
	} {
		if x.cost < 0 {
			return fmt.Errorf("cost %s is %d: it must be 0 or more", x.name, x.cost)
		}
	}
	for i, ms := range c.LabelMs {
		if ms < 0 {
			return fmt.Errorf("cost LabelMs has %d at %d: it must be 0 or more", ms, i)
		}
	}
	return nil
}
