package sim

import "heddle/harness/cluster"

// fault has something go wrong.
func (s *Sim) fault(f *Fault) {
	switch f.What {
	case NodeSlow:
		s.nodes[f.Node].slow = slowness(f.Speed)
		if s.shared != nil {
			s.setCores(f.Node)
		}
	}
}

// expire is when the loss of a node is noticed.
func (s *Sim) expire(n cluster.NodeID, gen uint32) {}

// speculate looks for attempts of a job that are slow.
func (s *Sim) speculate(slot int32) {}
