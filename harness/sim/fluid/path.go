package fluid

// This file is about transfers and computations that pass more than one
// resource.

// enter starts the transfer or computation f. The parameter left is the work
// of f divided by the weight of f.
func (s *System) enter(f *flow, id uint32, now, left int64) {
	f.rate = 0
	for k := range f.passes {
		r := &s.all[f.path[k]]
		f.among[k] = int32(len(r.flows))
		if r.flows == nil {
			r.flows = make([]uint32, 0, few)
		}
		r.flows = append(r.flows, id)
		r.others += f.weight
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
	for k := range f.passes {
		at := f.path[k]
		r := &s.all[at]
		if f.passes > 1 {
			last := len(r.flows) - 1
			if moved := r.flows[last]; moved != id {
				r.flows[f.among[k]] = moved
				g := &s.flows[moved]
				for j := range g.passes {
					if g.path[j] == at {
						g.among[j] = f.among[k]
					}
				}
			}
			r.flows = r.flows[:last]
		}
		if k != f.bound {
			r.load -= f.rate * int64(f.weight)
			r.others -= f.weight
			s.settle(at, now)
			continue
		}
		r.weight -= f.weight
		if f.passes > 1 {
			r.here--
		}
		if byOwn {
			r.remove(s.flows, 0)
			continue
		}
		r.advance(now)
		r.remove(s.flows, int(f.at))
		s.renew(at, now)
	}
}

// tightest returns the resource that limits a flow (transfer or computation)
// most, as an index in the flow's path. It also returns the rate for each unit
// of weight that the flow gets there.
func (s *System) tightest(f *flow) (bound uint8, rate int64) {
	free, weight := unlimited, int64(1)
	w := int64(f.weight)
	for k := range f.passes {
		r := &s.all[f.path[k]]
		a, b := r.limit-r.load, int64(r.weight)
		if k != f.bound {
			a += f.rate * w
			b += w
		}
		if all := int64(r.weight + r.others); a*all < r.limit*b {
			a, b = r.limit, all
		}
		if r.most*b < a {
			a, b = r.most, 1
		}
		if a*weight < free*b {
			bound, free, weight = k, a, b
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
		s.all[f.path[f.bound]].remove(s.flows, int(f.at))
	}
	for k := range f.passes {
		at := f.path[k]
		r := &s.all[at]
		switch k {
		case bound:
			r.advance(now)
			r.load -= f.rate * w
			r.others -= f.weight
			r.weight += f.weight
			r.here++
			r.push(s.flows, id, r.clock+left)
			s.renew(at, now)
		case f.bound:
			r.advance(now)
			r.load += rate * w
			r.others += f.weight
			r.weight -= f.weight
			r.here--
			r.fastest = max(r.fastest, rate)
			s.renew(at, now)
		default:
			r.load += (rate - f.rate) * w
			r.fastest = max(r.fastest, rate)
			s.settle(at, now)
		}
	}
	f.bound, f.rate = bound, rate
}

// settle computes a resource's share again if its load has changed by much. The
// load is the rate of the flows (transfers, computations) that other resources
// limit.
func (s *System) settle(id uint32, now int64) {
	r := &s.all[id]
	if r.weight == 0 {
		if free := min(r.limit-r.load, r.most); free*int64(r.others) >= r.limit && free+free>>eighth >= r.fastest {
			r.share, r.settled = max(1, free), r.load // flows that other resources limit use all of this resource, so this resource should limit no flow itself
			return
		}
	}
	changed := r.load - r.settled
	if max(changed, -changed) > r.share*int64(max(1, r.weight))>>6 {
		r.settled = r.load
		r.advance(now)
		s.renew(id, now)
	}
}

// mark puts a resource whose share has changed into the queue of those whose
// flows (transfers, computations) get new rates.
func (s *System) mark(id uint32) {
	r := &s.all[id]
	r.seenShare = r.share
	r.cursor = int32(len(r.flows))
	r.fastest = 0
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
		r := &s.all[id]
		// The loop goes backwards over the flows (transfers, computations), because
		// the last one takes the place of a flow that leaves the resource.
		r.cursor = min(r.cursor, int32(len(r.flows))) - 1
		if r.cursor < 0 {
			r.due = false
			s.due.pop()
			continue
		}
		i := r.flows[r.cursor]
		share := r.share
		if f := &s.flows[i]; f.path[f.bound] != id && f.rate <= share+share>>eighth {
			r.fastest = max(r.fastest, f.rate)
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
	own := &s.all[f.path[f.bound]]
	own.advance(now)
	left := own.bound[f.at].key - own.clock
	if left <= 0 {
		return // the flow has no work left and ends now
	}
	bound, rate := s.tightest(f)
	change := max(rate-f.rate, f.rate-rate)
	if bound == f.bound && change <= f.rate>>eighth {
		for k := range f.passes {
			if r := &s.all[f.path[k]]; k != f.bound {
				r.fastest = max(r.fastest, f.rate)
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
			r := &s.all[at]
			r.load += change
			r.fastest = max(r.fastest, rate)
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
