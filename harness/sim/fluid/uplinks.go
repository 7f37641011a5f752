package fluid

import (
	"cmp"
	"slices"

	"heddle/harness/state"
)

// This file is about uplinks that cannot be full: their flows are only counted.

// uplink is an uplink of a rack, in one direction.
type uplink struct {
	could  int64    // the most that the flows counted here could get together, in bytes a millisecond
	solved bool     // it may be full: no flow is counted here, each has it among the resources that may limit it
	counts int      // number of flows that are counted here
	flows  []uint32 // their numbers, and numbers of flows that have ended or were used again
}

func (s *System) isUplink(id uint32) bool { return id >= s.first[UplinkOut] && id < s.first[Host] }

func (s *System) uplink(id uint32) *uplink { return &s.uplinks[id-s.first[UplinkOut]] }

// addUplinks adds the uplinks between two racks to a flow's path, which ends with them. For
// now they all count as solved.
func (s *System) addUplinks(f *flow, from, to state.RackID) {
	if from == to {
		return
	}
	before := f.passes
	s.addToPath(f, UplinkOut, int32(from))
	s.addToPath(f, UplinkIn, int32(to))
	f.counts = f.passes - before
}

// count counts a flow that starts on those of its last f.counts resources, uplinks, that
// cannot be full with it, and makes the others solved.
func (s *System) count(f *flow, id uint32, now int64) {
	most := unlimited
	for _, at := range f.path[:f.passes] {
		l := &s.limits[s.all[at].limits]
		most = min(most, l.rate, l.most*int64(f.weight))
	}
	most = most>>point + 1
	uplinks := f.counts
	f.counts = 0
	for k := f.passes; uplinks > 0; uplinks-- {
		k--
		at := f.path[k]
		x := s.uplink(at)
		if !x.solved && (f.passes == 1 || x.could+most > s.limits[s.all[at].limits].rate>>point) {
			s.solve(at, now)
		}
		if !x.solved {
			s.counted++
			x.could += most
			if x.counts++; len(x.flows) > 2*x.counts+32 {
				x.flows = slices.DeleteFunc(x.flows, func(id uint32) bool { return !s.isCounted(id, at) })
			}
			x.flows = append(x.flows, id)
			f.passes--
			f.counts++
			f.path[k], f.path[f.passes] = f.path[f.passes], at
			f.among[f.passes] = int32(most)
		}
	}
}

// uncount takes a flow that ends from the uplinks where it is counted.
func (s *System) uncount(f *flow) {
	for k := f.passes; k < f.passes+f.counts; k++ {
		x := s.uplink(f.path[k])
		x.could -= int64(f.among[k])
		x.counts--
		s.counted--
	}
	f.counts = 0
}

// isCounted reports whether a flow is counted on an uplink.
func (s *System) isCounted(id, at uint32) bool {
	f := &s.flows[id]
	return f.counts > 0 && slices.Contains(f.path[f.passes:f.passes+f.counts], at)
}

// solve makes an uplink one that may be full: all flows that are counted there pass it from
// now on.
func (s *System) solve(at uint32, now int64) {
	x := s.uplink(at)
	found := slices.DeleteFunc(x.flows, func(id uint32) bool { return !s.isCounted(id, at) })
	slices.SortFunc(found, func(a, b uint32) int { return cmp.Compare(s.flows[a].tag, s.flows[b].tag) })
	found = slices.Compact(found)
	r, p := &s.all[at], &s.passing[at]
	for _, id := range found {
		f := &s.flows[id]
		if f.passes == 1 { // until now it was on no list
			first := f.path[0]
			f.among[0], f.rate = s.list(first, id), s.all[first].share
			s.passing[first].here++
		}
		k := f.passes + uint8(slices.Index(f.path[f.passes:], at))
		f.path[k], f.among[k] = f.path[f.passes], f.among[f.passes]
		f.path[f.passes], f.among[f.passes] = at, s.list(at, id)
		f.passes++
		f.counts--
		s.counted--
		r.others += int32(f.weight)
		r.load += f.rate * int64(f.weight)
		p.fastest = max(p.fastest, f.rate)
	}
	*x = uplink{solved: true, flows: x.flows[:0]}
	s.renew(at, now)
}
