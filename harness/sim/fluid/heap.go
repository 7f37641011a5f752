package fluid

// heap holds the flows (transfers and computations) whose rate one resource
// limits, with the flow that ends first at its root. It is a 4-ary heap, sorted by
// key (the value of the resource's virtual clock when the flow ends) and then by flow
// number. The clock may overflow, so keys are compared by their difference.
type heap []entry

type entry struct {
	key  int64 // value of the resource's virtual clock at which the flow ends
	flow uint32
}

func (e entry) before(o entry) bool {
	if d := e.key - o.key; d != 0 {
		return d < 0
	}
	return e.flow < o.flow
}

func (r *resource) push(flows []flow, id uint32, key int64) {
	if r.bound == nil {
		r.bound = make(heap, 0, few)
	}
	r.bound = append(r.bound, entry{})
	r.bound.up(flows, len(r.bound)-1, entry{key, id})
}

// remove removes the entry at position i from the heap of the flows
// (transfers, computations) that the resource limits.
func (r *resource) remove(flows []flow, i int) {
	h := r.bound
	last := len(h) - 1
	e := h[last]
	h = h[:last]
	r.bound = h
	if i == last {
		return
	}
	if i > 0 && e.before(h[(i-1)/4]) {
		h.up(flows, i, e)
		return
	}
	h.down(flows, i, e)
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
