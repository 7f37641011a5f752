package fluid

// This file is about transfers and computations that pass more than one
// resource.

// enter starts the transfer or computation f. The parameter left is the work
// of f divided by the weight of f.
func (s *System) enter(f *flow, id uint32, now, left int64) {
	f.rate = 0
	for k := range f.passes {
		at := f.path[k]
		f.among[k] = s.list(at, id)
		s.all[at].others += int32(f.weight)
		s.crowd(at)
	}
	f.bound = maxPath
	bound, rate := s.tightest(f)
	s.bind(f, id, bound, rate, now, left)
	if s.due.n > 0 {
		s.look(now, looks)
	}
}

// leave removes an ended or cancelled flow (transfer or computation) from all
// resources that it passes. The parameter byOwn is true if the resource that
// limits the flow has just ended the flow. Then the caller computes the share
// of that resource again.
func (s *System) leave(id uint32, now int64, byOwn bool) {
	f := &s.flows[id]
	s.uncount(f)
	for k := range f.passes {
		at := f.path[k]
		r := &s.all[at]
		if f.passes > 1 {
			s.unlist(at, id, f.among[k])
		}
		if k != f.bound {
			r.load -= f.rate * int64(f.weight)
			r.others -= int32(f.weight)
			s.crowd(at)
			s.settle(at, now)
			continue
		}
		r.weight -= int32(f.weight)
		if f.passes > 1 {
			s.passing[at].here--
		}
		if byOwn {
			s.remove(r, 0)
			continue
		}
		s.remove(r, int(f.at))
		s.renew(at, now)
	}
}

// listOf returns the numbers of the flows (transfers, computations) on a resource
// that pass other resources too.
func (s *System) listOf(id uint32) []uint32 {
	n, p := s.all[id].passing, &s.passing[id]
	if p.list != 0 {
		return s.lists.of(p.list)[:n]
	}
	return p.few[:n]
}

// list adds a flow to the flows that pass the resource at, and returns its index
// there.
func (s *System) list(at, id uint32) int32 {
	r, p := &s.all[at], &s.passing[at]
	n := int(r.passing)
	r.passing++
	if p.list == 0 && n < len(p.few) {
		p.few[n] = id
		return int32(n)
	}
	before := p.list
	p.list = s.lists.room(before, n+1)
	list := s.lists.of(p.list)
	if before == 0 {
		copy(list, p.few[:])
	}
	list[n] = id
	return int32(n)
}

// unlist removes the flow with the index i from the flows that pass the resource
// at. The last flow takes its place.
func (s *System) unlist(at, id uint32, i int32) {
	r, p := &s.all[at], &s.passing[at]
	list := s.listOf(at)
	if moved := list[len(list)-1]; moved != id {
		list[i] = moved
		g := &s.flows[moved]
		for j := range g.passes {
			if g.path[j] == at {
				g.among[j] = i
			}
		}
	}
	if r.passing--; r.passing > 0 {
		return
	}
	if p.list != 0 {
		p.list = s.lists.free(p.list)
	}
	if s.isUplink(at) {
		s.uplink(at).solved = false
	}
}

// tightest returns the resource that limits a flow (transfer or computation)
// most, as an index in the flow's path. It also returns the rate for each unit
// of weight that the flow gets there.
func (s *System) tightest(f *flow) (bound uint8, rate int64) {
	free, weight := unlimited, int64(1)
	w := int64(f.weight)
	all, limits := s.all, s.limits
	for k, at := range f.path[:f.passes] {
		r := &all[at]
		l := &limits[r.limits]
		a, b := l.rate-r.load, int64(r.weight)
		if k != int(f.bound) {
			a += f.rate * w
			b += w
		}
		if all := int64(r.weight + r.others); a*all < l.rate*b {
			a, b = l.rate, all
		}
		if l.most*b < a {
			a, b = l.most, 1
		}
		if a*weight < free*b {
			bound, free, weight = uint8(k), a, b
		}
	}
	return bound, max(1, free/weight)
}

// bind makes one resource in the path of a flow (transfer or computation) the
// one that limits the flow: the resource with index bound. It adds the flow's
// rate to the load of the other resources in the path.
func (s *System) bind(f *flow, id uint32, bound uint8, rate, now, left int64) {
	w := int64(f.weight)
	if f.bound < f.passes {
		s.remove(&s.all[f.path[f.bound]], int(f.at))
	}
	for k := range f.passes {
		at := f.path[k]
		r, p := &s.all[at], &s.passing[at]
		switch k {
		case bound:
			r.load -= f.rate * w
			r.others -= int32(f.weight)
			r.weight += int32(f.weight)
			p.here++
			s.push(r, id, r.clockAt(now)+left)
			s.renew(at, now)
		case f.bound:
			r.load += rate * w
			r.others += int32(f.weight)
			r.weight -= int32(f.weight)
			p.here--
			p.fastest = max(p.fastest, rate)
			s.renew(at, now)
		default:
			r.load += (rate - f.rate) * w
			p.fastest = max(p.fastest, rate)
			s.settle(at, now)
		}
	}
	f.bound, f.rate = bound, rate
}

// settle computes a resource's share again if its load has changed by much. The
// load is the rate of the flows (transfers, computations) that other resources
// limit.
func (s *System) settle(id uint32, now int64) {
	r, p := &s.all[id], &s.passing[id]
	if r.weight == 0 {
		l := &s.limits[r.limits]
		if free := min(l.rate-r.load, l.most); free*int64(r.others) >= l.rate && free+free>>eighth >= p.fastest {
			r.share, p.settled = max(
				1,
				free,
			), r.load // flows that other resources limit use all of this resource, so this resource should limit no flow itself
			return
		}
	}
	changed := r.load - p.settled
	if max(changed, -changed) > r.share*int64(max(1, r.weight))>>6 {
		p.settled = r.load
		s.renew(id, now)
	}
}

// mark puts a resource whose share has changed into the queue of those whose
// flows (transfers, computations) get new rates.
func (s *System) mark(id uint32) {
	r, p := &s.all[id], &s.passing[id]
	p.seenShare = r.share
	p.cursor = r.passing
	p.fastest = 0
	if !r.due {
		r.due = true
		s.due.push(id)
	}
}

// look checks whether flows (transfers, computations) on the resources in the
// queue are now limited by another resource. It checks at most as many flows
// as the parameter most says; four flows that need no change count as one.
func (s *System) look(now int64, most int) {
	for left := 4 * most; left > 0; left-- {
		if s.due.n == 0 {
			return
		}
		id := s.due.first()
		r, p := &s.all[id], &s.passing[id]
		// The loop goes backwards over the flows (transfers, computations), because
		// the last one takes the place of a flow that leaves the resource.
		p.cursor = min(p.cursor, r.passing) - 1
		if p.cursor < 0 {
			r.due = false
			s.due.pop()
			continue
		}
		i := s.listOf(id)[p.cursor]
		share := r.share
		if f := &s.flows[i]; f.path[f.bound] != id && f.rate <= share+share>>eighth {
			p.fastest = max(p.fastest, f.rate)
			continue
		}
		left -= 3 // the call of review takes about as long as checking four flows that need no change
		s.review(i, now)
	}
}

// review changes the resource that limits a flow (transfer or computation), if
// another resource now limits the flow more.
func (s *System) review(id uint32, now int64) {
	f := &s.flows[id]
	left := s.left(f, now)
	if left <= 0 {
		return // the flow has no work left and ends now
	}
	bound, rate := s.tightest(f)
	change := max(rate-f.rate, f.rate-rate)
	if bound == f.bound && change <= f.rate>>eighth {
		for k := range f.passes {
			if p := &s.passing[f.path[k]]; k != f.bound {
				p.fastest = max(p.fastest, f.rate)
			}
		}
		return
	}
	if bound == f.bound {
		s.reload(f, rate, now)
		return
	}
	s.bind(f, id, bound, rate, now, left)
}

// reload sets the rate of a flow (transfer or computation), and corrects the
// load of the resources in its path that do not limit it.
func (s *System) reload(f *flow, rate, now int64) {
	change := (rate - f.rate) * int64(f.weight)
	f.rate = rate
	for k := range f.passes {
		if k != f.bound {
			at := f.path[k]
			s.all[at].load += change
			p := &s.passing[at]
			p.fastest = max(p.fastest, rate)
			s.settle(at, now)
		}
	}
}

// queue is a first-in-first-out queue of resources, stored in a ring.
type queue struct {
	ring    []uint32 // ring buffer; its length is a power of two
	head, n uint32
}

func (q *queue) first() uint32 { return q.ring[q.head&uint32(len(q.ring)-1)] }

func (q *queue) pop() { q.head++; q.n-- }

func (q *queue) push(id uint32) {
	if int(q.n) == len(q.ring) {
		ring := make([]uint32, max(64, 2*len(q.ring)))
		for i := range q.n {
			ring[i] = q.ring[(q.head+i)&uint32(len(q.ring)-1)]
		}
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&uint32(len(q.ring)-1)] = id
	q.n++
}
