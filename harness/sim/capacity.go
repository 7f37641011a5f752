package sim

import (
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// beginCapacity checks the timetable of the nodes' capacity, and schedules its
// first change.
func (s *Sim) beginCapacity() error {
	if err := s.Capacity.Check(); err != nil {
		return err
	}
	for i, c := range s.Capacity.Changes {
		if s.view.NodeNamed(c.Node) == state.None {
			return fmt.Errorf("capacity change %d: the cluster has no node %q", i, c.Node)
		}
	}
	if f, ok := sched.As[sched.Foreseer](s.Model); ok {
		if told := s.Capacity.Told(s.Seed, func(node string) state.Resource { return s.view.Capacity(s.view.NodeNamed(node)) }); told != nil {
			f.Foresee(told)
		}
	}
	s.nextChange(0)
	return nil
}

// nextChange schedules change number i of the timetable.
func (s *Sim) nextChange(i int) {
	if c, ok := s.Capacity.Change(i); ok {
		kind := evCapacity
		if s.Capacity.EveryMs > 0 {
			kind = evCapacityAgain
		}
		s.events.Push(c.AtMs, kind, uint32(i), 0)
	}
}

// changeCapacity carries out change number i of the timetable. Containers on
// the node stay, even if they use more than it has from now on. The node then
// has no room until enough of them have ended.
func (s *Sim) changeCapacity(i int) {
	c, _ := s.Capacity.Change(i)
	n := s.view.NodeNamed(c.Node)
	s.state.SetCapacity(n, c.Left)
	s.noteRoom(n)
	if s.Record != nil {
		s.Record(&traces.NodeCapacity{T: s.at(), Node: s.nodeName(n), MemoryBytes: int64(c.Left.MemoryMB) << 20, VCores: c.Left.VCores})
	}
	s.nextChange(i + 1)
}
