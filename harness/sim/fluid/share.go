package fluid

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	point     = 12             // binary digits after the point of works and rates
	unlimited = int64(1) << 42 // rate of 1 TB/s, as work a millisecond
	maxWork   = int64(1) << 46 // of a flow, in bytes
	looks     = 8              // how many flows due for a look each start or end looks at
	few       = 8              // a resource's first piece of memory is for this many flows
	eighth    = 3              // a share must change by 1 >> eighth of itself before its flows are looked at
)

// fixed converts a rate per second to work a millisecond.
func fixed(perSecond int64) int64 {
	if perSecond <= 0 || perSecond >= unlimited>>point*1000 {
		return unlimited
	}
	high, low := bits.Mul64(uint64(perSecond), 1<<point)
	rate, _ := bits.Div64(high, low, 1000)
	return max(1, int64(rate))
}

// resource is a disk, link, memory, uplink or set of cores. Its fields are
// ordered by who reads them, so that each reader touches few cache lines: flows
// that pass it, flows that pass others too, flows bound to it.
type resource struct {
	limit   int64 // its rate, as work a millisecond
	most    int64 // the limit for one flow of weight 1
	load    int64 // rate of the flows that pass it and are bound elsewhere
	share   int64 // work a millisecond for a bound flow of weight 1
	fastest int64 // at least the rate of the fastest flow bound elsewhere
	settled int64 // the load when the share was last computed
	weight  int32 // total weight of the flows bound to it
	others  int32 // total weight of the flows that pass it and are bound elsewhere
	here    int32 // how many of its flows are bound to it
	cursor  int32 // index in flows at which the next look begins

	flows     []uint32 // the flows on it that pass other resources too
	seenShare int64    // the share when the flows were last looked at
	due       bool     // the resource is queued for a look
	_         [31]byte

	clock int64 // work that a bound flow of weight 1 has got, as of at
	at    int64
	wake  int64 // when the wheel wakes it; never later than its next flow ends
	bound heap
	_     [16]byte
}

type flow struct {
	rate      int64 // rate of the flow for each unit of weight, as its other resources count it
	tag       uint32
	seq       uint32
	weight    int32
	at        int32 // index in the heap of the resource that it is bound to
	passes    uint8 // number of resources on the path
	bound     uint8 // index in the path of the resource it is bound to
	done      bool
	cancelled bool
	path      [maxPath]uint32
	among     [maxPath]int32 // by index in the path: the flow's position in that resource's flows
}

const maxPath = 6

// flow returns a new flow with an empty path.
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

// advance moves a resource's clock to now.
func (r *resource) advance(now int64) {
	if len(r.bound) > 0 {
		r.clock += r.share * (now - r.at)
	}
	r.at = now
}

// renew computes the share of a resource whose clock is at now. It makes the
// wheel wake the resource when its next flow ends.
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

// await makes the wheel wake a resource when its next flow ends.
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

// collect gathers the flows that end at t, the wheel's earliest time.
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

// ended is a flow that has ended.
type ended struct{ seq, flow uint32 }

// sortEnded sorts the ended flows in the order of their starts. Usually there
// are few.
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

// end ends the flows whose work the resource has completed by now.
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
		s.await(id, now) // the wheel woke it too early, because its share had fallen
	}
}
