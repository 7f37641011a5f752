package queues

import (
	"heddle/harness/state"
)

// Share is what a queue has of a cluster.
type Share struct {
	Guaranteed, Most state.Resource
	// Part is the guaranteed share of the cluster, from 0 to 1.
	Part float32
	most float32
}

// Shares returns what each queue has of a cluster's nodes with a label, or without one, by
// Queue.Index.
//
// Source: Hadoop 3.4 AbstractCSQueue.updateEffectiveResources in single precision, on which it
// depends how many containers fit.
func (f *File) Shares(total state.Resource, label string) []Share {
	list := make([]Share, f.count)
	list[0] = Share{Guaranteed: total, Most: total, Part: 1, most: 1}
	for q := range f.All() {
		var weights float32
		var asked state.Resource
		for _, c := range q.Children {
			capacity := c.of(label).Capacity
			if capacity.Mode == Weight {
				weights += capacity.Value
			}
			asked = asked.Add(capacity.Absolute)
		}
		for _, c := range q.Children {
			list[c.Index] = c.share(&list[q.Index], total, asked, weights, label)
		}
	}
	return list
}

// share returns what the queue has, whose parent has of. The parent's children ask for so much,
// or have so much weight, together.
func (q *Queue) share(of *Share, total, asked state.Resource, weights float32, label string) (s Share) {
	x := q.of(label)
	capacity, most := x.Capacity, x.MaxCapacity
	if capacity.Mode == Absolute {
		s.Guaranteed = capacity.Absolute
		if has := of.Guaranteed; asked.MemoryMB > has.MemoryMB {
			s.Guaranteed.MemoryMB = int32(float32(s.Guaranteed.MemoryMB) * (float32(has.MemoryMB) / float32(asked.MemoryMB)))
			if asked.VCores > 0 {
				s.Guaranteed.VCores = int32(float32(s.Guaranteed.VCores) * (float32(has.VCores) / float32(asked.VCores)))
			}
		}
		if s.Most = of.Most; most.Mode == Absolute && most.Absolute.MemoryMB < s.Most.MemoryMB {
			s.Most = most.Absolute
		}
		s.Part = float32(s.Guaranteed.MemoryMB) / float32(max(1, total.MemoryMB))
		s.most = float32(s.Most.MemoryMB) / float32(max(1, total.MemoryMB))
		return s
	}
	s.Part = of.Part * (capacity.Value / 100)
	if capacity.Mode == Weight {
		s.Part = 0
		if weights > 0 {
			s.Part = of.Part * (capacity.Value / weights)
		}
	}
	s.most = of.most
	if most.Mode == Percent {
		s.most *= max(0, most.Value/100)
	}
	s.Guaranteed, s.Most = Times(total, s.Part), Times(total, s.most)
	return s
}

// Times returns a share of memory and cores, rounded down.
func Times(r state.Resource, share float32) state.Resource {
	return state.Resource{MemoryMB: int32(float64(r.MemoryMB) * float64(share)), VCores: int32(float64(r.VCores) * float64(share))}
}
