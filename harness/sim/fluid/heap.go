package fluid

// heap holds the flows (transfers and computations) whose rate one resource
// limits, with the flow that ends first at its root. It is a 4-ary heap, sorted by
// key (the value of the resource's virtual clock when the flow ends) and then by tag.
// The clock may overflow, so keys are compared by their difference.
// The resource itself has a copy of the root.
type heap []entry

type entry struct {
	key  int64 // value of the resource's virtual clock at which the flow ends
	flow uint32
	tag  uint32
}

func (e entry) before(o entry) bool {
	if d := e.key - o.key; d != 0 {
		return d < 0
	}
	return e.tag < o.tag
}

// push adds a flow (transfer or computation) to those that the resource limits.
func (s *System) push(r *resource, id uint32, key int64) {
	n := int(r.bound)
	r.bound++
	if n == 0 {
		r.key, r.first, s.flows[id].at = key, id, 0
		return
	}
	r.heap = s.heaps.room(r.heap, n+1)
	h := heap(s.heaps.of(r.heap)[:n+1])
	h[0] = entry{r.key, r.first, s.flows[r.first].tag}
	h.up(s.flows, n, entry{key, id, s.flows[id].tag})
	r.key, r.first = h[0].key, h[0].flow
}

// remove removes the flow (transfer or computation) at position i of the heap from
// those that the resource limits.
func (s *System) remove(r *resource, i int) {
	r.bound--
	last := int(r.bound)
	if last == 0 {
		return
	}
	h := heap(s.heaps.of(r.heap)[:last])
	e := s.heaps.of(r.heap)[last]
	switch {
	case i == last:
	case i > 0 && e.before(h[(i-1)/4]):
		h.up(s.flows, i, e)
	default:
		h.down(s.flows, i, e)
	}
	r.key, r.first = h[0].key, h[0].flow
	if last == 1 {
		r.heap = s.heaps.free(r.heap)
	}
}

// up inserts entry e into the heap at position i, or nearer to the root, where
// the order by key requires this.
func (h heap) up(flows []flow, i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		flows[h[i].flow].at = int32(i)
		i = parent
	}
	h[i] = e
	flows[e.flow].at = int32(i)
}

// down inserts entry e into the heap at position i, or farther from the root,
// where the order by key requires this.
func (h heap) down(flows []flow, i int, e entry) {
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		flows[h[i].flow].at = int32(i)
		i = least
	}
	h[i] = e
	flows[e.flow].at = int32(i)
}
