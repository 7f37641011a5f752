package fluid

import "heddle/harness/state"

// This file is for callers who know flows that share a disk with nobody else, and so need no
// System to know when they end.

// Alone returns what the resource of kind k of node n gives a flow that has it alone, in
// work a millisecond, or 0 if it has no limit; and whether no flow is there.
func (s *System) Alone(k Kind, n state.NodeID) (rate int64, alone bool) {
	r := &s.all[s.id(k, int32(n))]
	if r.limits != 0 {
		rate = s.limits[r.limits].rate
	}
	return rate, r.weight+r.others == 0
}

// WorkOf returns the work of a transfer of so many bytes.
func WorkOf(bytes int64) int64 { return min(bytes, maxWork) << point }

// Together lets flows share a resource of this rate for ms milliseconds, from the moment when
// all of them start. It takes what they do from left, and returns the times at which they
// end, in the memory of ends; 0 for those that do not.
func Together(rate, ms int64, left, ends []int64) []int64 {
	ends = append(ends[:0], left...)
	clear(ends)
	for t := int64(0); ; {
		n, least := int64(0), int64(Never)
		for _, work := range left {
			if work > 0 {
				n++
				least = min(least, work)
			}
		}
		if n == 0 || t == ms {
			return ends
		}
		share := max(1, rate/n)
		d := min((least+share-1)/share, ms-t)
		t += d
		for i := range left {
			if left[i] > 0 {
				if left[i] -= d * share; left[i] <= 0 {
					ends[i] = t
				}
			}
		}
	}
}

// Resume starts a read from node n's disk of which so much work is left.
func (s *System) Resume(now int64, n state.NodeID, left int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.addToPath(f, Disk, int32(n))
	s.wheel.at(now)
	s.alone(f, id, now, left)
	return Flow(id)
}
