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
	looks     = 12             // number of flows whose limiting resource is checked when a flow starts or ends
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

// limits are the limits of a resource. Few resources differ in them.
type limits struct {
	rate int64 // the resource's rate, as work a millisecond
	most int64 // the highest rate for one flow of weight 1
}

// resource is a disk, link, memory, uplink or set of cores that flows
// (transfers and computations) share.
type resource struct {
	share   int64  // work a millisecond that the resource gives a flow of weight 1 that it limits
	clock   int64  // what the virtual clock would have shown at time 0, had the share always been what it is now
	load    int64  // total rate of the flows on this resource that other resources limit
	key     int64  // of the flow that ends first among those that the resource limits: value of the virtual clock when it ends
	first   uint32 // number of that flow
	bound   int32  // number of flows that the resource limits
	heap    block  // if they are more than one: the heap of them in System.heaps
	weight  int32  // their total weight; the weight of a flow is the number of parallel transfers that it stands for, usually 1
	others  int32  // total weight of the flows on this resource that other resources limit
	passing int32  // number of flows on this resource that pass other resources too
	limits  uint32 // index in System.limits
	// one more than the slot of the timing wheel in which the resource is checked; 0 if it is in none. The check is not
	// later than the end of its next flow
	wake uint16
	due  bool // the resource is in the queue of resources whose flows must be checked
}

// passing is what a resource needs for flows that pass other resources too.
type passing struct {
	fastest   int64     // upper bound for the rates of those flows on this resource that other resources limit
	settled   int64     // value of the load when the share was last computed
	seenShare int64     // value of the share when the resource's flows were last queued to be checked
	here      int32     // number of flows, among the passing, that this resource limits
	cursor    int32     // one more than the index, among the passing, of the next flow whose limiting resource will be checked
	list      block     // if they were more than few: their numbers in System.lists
	few       [7]uint32 // otherwise their numbers
}

type flow struct {
	rate   int64 // rate for each unit of the flow's weight, as counted in the load of the resources that do not limit the flow
	tag    uint32
	at     int32 // index of the flow in the heap of the resource that limits it, or ended or cancelled
	weight uint16
	passes uint8           // number of resources (disks, links, CPUs) that the flow passes and that are solved
	bound  uint8           // index in the field path of the resource that limits the flow's rate
	path   [maxPath]uint32 // the resources that are solved, then the uplinks where the flow is counted
	// By index in the field path: index of the flow in the list of flows that pass that resource; or, where it is counted,
	// the most that it could get, in bytes a millisecond.
	among  [maxPath]int32
	counts uint8 // number of uplinks where the flow is counted
}

// Values of flow.at for flows that have ended and wait for a call of Pop.
const (
	done      = -1
	cancelled = -2
)

const maxPath = 5

// flow returns a new flow (transfer or computation) that passes no resource
// yet, and its number.
func (s *System) flow(tag uint32, weight uint16) (*flow, uint32) {
	var id uint32
	if k := len(s.spare); k > 0 {
		id = s.spare[k-1]
		s.spare = s.spare[:k-1]
	} else {
		id = uint32(len(s.flows))
		s.flows = append(s.flows, flow{})
	}
	f := &s.flows[id]
	f.tag, f.weight, f.passes, f.counts, f.bound = tag, weight, 0, 0, 0
	return f, id
}

func (s *System) start(now int64, f *flow, id uint32, work int64) Flow {
	if f.passes == 0 || work <= 0 {
		s.spare = append(s.spare, id)
		return Ended
	}
	s.wheel.at(now)
	if f.counts > 0 {
		s.count(f, id, now)
	}
	left := WorkOf(work)
	if f.weight > 1 {
		left = (left + int64(f.weight) - 1) / int64(f.weight)
	}
	if f.passes > 1 {
		s.enter(f, id, now, left)
		return Flow(id)
	}
	s.alone(f, id, now, left)
	return Flow(id)
}

// alone starts a flow that passes one resource.
func (s *System) alone(f *flow, id uint32, now, left int64) {
	r := &s.all[f.path[0]]
	r.weight += int32(f.weight)
	s.push(r, id, r.clockAt(now)+left)
	s.renew(f.path[0], now)
	if s.due.n > 0 && r.passing > 0 {
		s.look(now, looks)
	}
}

// clockAt returns what the resource's virtual clock shows: the work that the
// resource has given to a flow of weight 1 that it limits. Only differences count.
func (r *resource) clockAt(now int64) int64 { return r.clock + r.share*now }

// give changes the share. The virtual clock goes on from what it shows now.
func (r *resource) give(share, now int64) {
	r.clock += (r.share - share) * now
	r.share = share
}

// left returns how much work a running flow still has to do for each unit of its
// weight.
func (s *System) left(f *flow, now int64) int64 {
	r := &s.all[f.path[f.bound]]
	key := r.key
	if f.at > 0 {
		key = s.heaps.of(r.heap)[f.at].key
	}
	return key - r.clockAt(now)
}

// renew computes a resource's share again: the rate for each flow (transfer or
// computation) that the resource limits. It also schedules the check at the end
// of the resource's next flow.
func (s *System) renew(id uint32, now int64) {
	s.crowd(id)
	r := &s.all[id]
	l := &s.limits[r.limits]
	free, weight := l.rate-r.load, int64(max(1, r.weight))
	if all := int64(r.weight + r.others); r.load > 0 && free*all < l.rate*weight {
		free, weight = l.rate, all
	}
	share := free
	if weight > 1 {
		share = free / weight
	}
	r.give(max(1, min(share, l.most)), now)
	s.await(id, now)
	if r.passing > 0 {
		p := &s.passing[id]
		p.settled = r.load
		changed := r.share - p.seenShare
		if (p.here > 0 && max(changed, -changed) > p.seenShare>>eighth) || r.share+r.share>>eighth < p.fastest {
			s.mark(id)
		}
	}
}

// await schedules a check of a resource for the time when its next flow
// (transfer or computation) ends.
func (s *System) await(id uint32, now int64) {
	r := &s.all[id]
	if r.bound == 0 {
		return
	}
	end := now
	if left := r.key - r.clockAt(now); left > 0 {
		end += (left + r.share - 1) / r.share
	}
	if r.wake == 0 || end < s.wheel.timeOf(r.wake) {
		r.wake = s.wheel.push(end, id)
	}
}

// collect gathers the flows (transfers and computations) that end at time t,
// so that Pop can report them. The time t is that of the earliest resource
// check.
func (s *System) collect(t int64) {
	s.ended, s.popped = s.ended[:0], 0
	s.checked = s.checked[:0]
	n, slot := s.wheel.take()
	for n != 0 {
		var id uint32
		id, n = s.wheel.free(n)
		if r := &s.all[id]; r.wake == slot {
			r.wake = 0
			s.checked = append(s.checked, id)
		}
	}
	if len(s.checked) > 1 {
		slices.Sort(s.checked)
	}
	felt := 0 // number of ended flows whose end others may feel
	for _, id := range s.checked {
		others, before := s.all[id].passing > 0, len(s.ended)
		if s.end(id, t); others {
			felt += len(s.ended) - before
		}
	}
	s.sortEnded()
	if s.due.n > 0 && felt > 0 {
		s.look(t, looks*felt)
	}
}

// ended is a transfer or computation that has ended.
type ended struct{ tag, flow uint32 }

// sortEnded sorts the flows (transfers, computations) that ended at the same
// time by their tags. For a few flows it uses insertion sort.
func (s *System) sortEnded() {
	if len(s.ended) > 64 {
		slices.SortFunc(s.ended, func(a, b ended) int { return cmp.Compare(a.tag, b.tag) })
		return
	}
	for i, x := range s.ended {
		for ; i > 0 && x.tag < s.ended[i-1].tag; i-- {
			s.ended[i] = s.ended[i-1]
		}
		s.ended[i] = x
	}
}

// end ends the flows (transfers, computations) whose work the given resource
// has completed by now.
func (s *System) end(id uint32, now int64) {
	r := &s.all[id]
	before := len(s.ended)
	for r.bound > 0 && r.key-r.clockAt(now) <= 0 {
		i := r.first
		f := &s.flows[i]
		s.ended = append(s.ended, ended{f.tag, i})
		if f.passes > 1 || f.counts > 0 {
			s.leave(i, now, true)
		} else {
			r.weight -= int32(f.weight)
			s.remove(r, 0)
		}
		f.at = done
	}
	if len(s.ended) > before {
		s.renew(id, now)
	} else {
		s.await(id, now) // no flow has ended yet, because the share has fallen since the check was scheduled: schedule a later check
	}
}
