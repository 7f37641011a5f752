package fluid

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	point     = 12             // number of binary digits after the point in fixed-point numbers for work and rates
	unlimited = int64(1) << 42 // the rate 1 TB/s, as work a millisecond; it stands for no limit
	maxWork   = int64(1) << 46 // the most work that one flow (transfer or computation) may have, in bytes
	looks     = 8              // number of flows whose limiting resource is checked when a flow starts or ends
	few       = 8              // number of flows for which a resource's lists first get memory
	eighth    = 3              // a shift by 3 divides by 8: flows are checked when a resource's share has changed by an eighth
)

// fixed converts a rate per second to work a millisecond, as a fixed-point
// number.
func fixed(perSecond int64) int64 {
	if perSecond <= 0 || perSecond >= unlimited>>point*1000 {
		return unlimited
	}
	high, low := bits.Mul64(uint64(perSecond), 1<<point)
	rate, _ := bits.Div64(high, low, 1000)
	return max(1, int64(rate))
}

// resource is a disk, link, memory, uplink or set of cores that flows
// (transfers and computations) share. Fields that are used together stand
// together, so that a use touches few cache lines.
type resource struct {
	limit   int64 // the resource's rate, as work a millisecond
	most    int64 // the highest rate for one flow of weight 1
	load    int64 // total rate of the flows on this resource that other resources limit
	share   int64 // work a millisecond that the resource gives a flow of weight 1 that it limits
	fastest int64 // upper bound for the rates of those flows on this resource that other resources limit
	settled int64 // value of the field load when the field share was last computed
	weight  int32 // total weight of the flows that this resource limits; the weight of a flow is the number of parallel transfers that it stands for, usually 1
	others  int32 // total weight of the flows on this resource that other resources limit
	here    int32 // number of flows, among those in the field flows, that this resource limits
	cursor  int32 // one more than the index in the field flows of the next flow whose limiting resource will be checked

	flows     []uint32 // numbers of the flows on this resource that pass other resources too
	seenShare int64    // value of share when the resource's flows were last queued to be checked
	due       bool     // the resource is in the queue of resources whose flows must be checked
	_         [31]byte

	clock int64 // virtual clock: the work that the resource has given to a flow of weight 1 that it limits, up to the clock's last change
	at    int64
	wake  int64 // time at which the timing wheel checks the resource; not later than the end of its next flow
	bound heap
	_     [16]byte
}

type flow struct {
	rate      int64 // rate for each unit of the flow's weight, as counted in the load of the resources that do not limit the flow
	tag       uint32
	seq       uint32
	weight    int32
	at        int32 // index of the flow in the heap of the resource that limits it
	passes    uint8 // number of resources (disks, links, CPUs) that the flow passes
	bound     uint8 // index in the field path of the resource that limits the flow's rate
	done      bool
	cancelled bool
	path      [maxPath]uint32
	among     [maxPath]int32 // by index in the field path: index of the flow in the list flows of that resource
}

const maxPath = 6

// flow returns a new flow (transfer or computation) that passes no resource
// yet, and its number.
func (s *System) flow(tag uint32, weight int32) (*flow, uint32) {
	var id uint32
	if k := len(s.spare); k > 0 {
		id = s.spare[k-1]
		s.spare = s.spare[:k-1]
	} else {
		id = uint32(len(s.flows))
		s.flows = append(s.flows, flow{})
	}
	f := &s.flows[id]
	f.tag, f.weight, f.passes, f.bound, f.done, f.cancelled = tag, weight, 0, 0, false, false
	f.seq = s.seq
	s.seq++
	return f, id
}

func (s *System) start(now int64, f *flow, id uint32, work int64) Flow {
	if f.passes == 0 || work <= 0 {
		s.spare = append(s.spare, id)
		return Ended
	}
	s.wheel.at(now)
	left := min(work, maxWork) << point
	if f.weight > 1 {
		left = (left + int64(f.weight) - 1) / int64(f.weight)
	}
	if f.passes > 1 {
		s.enter(f, id, now, left)
		return Flow(id)
	}
	r := &s.all[f.path[0]]
	r.advance(now)
	r.weight += f.weight
	r.push(s.flows, id, r.clock+left)
	s.renew(f.path[0], now)
	if s.due.n > 0 {
		s.look(now, looks)
	}
	return Flow(id)
}

// advance moves the resource's virtual clock to the time now.
func (r *resource) advance(now int64) {
	if len(r.bound) > 0 {
		r.clock += r.share * (now - r.at)
	}
	r.at = now
}

// renew computes a resource's share again: the rate for each flow (transfer or
// computation) that the resource limits. It also schedules the check at the end
// of the resource's next flow.
func (s *System) renew(id uint32, now int64) {
	r := &s.all[id]
	free, weight := r.limit-r.load, int64(max(1, r.weight))
	if all := int64(r.weight + r.others); r.load > 0 && free*all < r.limit*weight {
		free, weight = r.limit, all
	}
	share := free
	if weight > 1 {
		share = free / weight
	}
	r.share = max(1, min(share, r.most))
	s.await(id, now)
	if len(r.flows) > 0 {
		r.settled = r.load
		changed := r.share - r.seenShare
		if (r.here > 0 && max(changed, -changed) > r.seenShare>>eighth) || r.share+r.share>>eighth < r.fastest {
			s.mark(id)
		}
	}
}

// await schedules a check of a resource for the time when its next flow
// (transfer or computation) ends.
func (s *System) await(id uint32, now int64) {
	r := &s.all[id]
	if len(r.bound) == 0 {
		return
	}
	end := now
	if left := r.bound[0].key - r.clock; left > 0 {
		end += (left + r.share - 1) / r.share
	}
	if end < r.wake {
		r.wake = s.wheel.push(end, id)
	}
}

// collect gathers the flows (transfers and computations) that end at time t,
// so that Pop can report them. The time t is that of the earliest resource
// check.
func (s *System) collect(t int64) {
	s.ended, s.popped = s.ended[:0], 0
	for n := s.wheel.take(); n != 0; {
		var id uint32
		id, n = s.wheel.free(n)
		if r := &s.all[id]; r.wake == t {
			r.wake = Never
			s.end(id, t)
		}
	}
	s.sortEnded()
	if s.due.n > 0 {
		s.look(t, looks*max(1, len(s.ended)))
	}
}

// ended is a transfer or computation that has ended.
type ended struct{ seq, flow uint32 }

// sortEnded sorts the flows (transfers, computations) that ended at the same
// time in the order of their starts. For a few flows it uses insertion sort.
func (s *System) sortEnded() {
	if len(s.ended) > 64 {
		slices.SortFunc(s.ended, func(a, b ended) int { return cmp.Compare(int32(a.seq-b.seq), 0) })
		return
	}
	for i, x := range s.ended {
		for ; i > 0 && int32(x.seq-s.ended[i-1].seq) < 0; i-- {
			s.ended[i] = s.ended[i-1]
		}
		s.ended[i] = x
	}
}

// end ends the flows (transfers, computations) whose work the given resource
// has completed by now.
func (s *System) end(id uint32, now int64) {
	r := &s.all[id]
	r.advance(now)
	before := len(s.ended)
	for len(r.bound) > 0 && r.bound[0].key-r.clock <= 0 {
		i := r.bound[0].flow
		f := &s.flows[i]
		f.done = true
		s.ended = append(s.ended, ended{f.seq, i})
		if f.passes > 1 {
			s.leave(i, now, true)
			continue
		}
		r.weight -= f.weight
		r.remove(s.flows, 0)
	}
	if len(s.ended) > before {
		s.renew(id, now)
	} else {
		s.await(id, now) // no flow has ended yet, because the share has fallen since the check was scheduled: schedule a later check
	}
}
