package fluid

import "math/bits"

// endings is a timing wheel that says when to check each resource (disk, link
// or CPU) for flows (transfers, computations) that have ended. Each of the
// wheel's slots is a millisecond. A resource that is due after the last slot
// waits in the last slot, and is put into the wheel again when that slot's
// time comes.
type endings struct {
	next  int64 // earliest time at which a resource is due, or Never
	base  int64 // no resource on the timing wheel is due before this time
	heads [slots]uint32
	some  [slots / 64]uint64 // one bit for each slot of the timing wheel, set if resources are due in the slot
	any   [slots / 4096]uint64
	nodes []wake
	spare uint32
}

const slots = 1 << 14

// wake is an element of a timing wheel's linked list of resources that are due
// at the same time. Index 0 ends a list.
type wake struct{ resource, next uint32 }

func (w *endings) reset() {
	w.next, w.base = Never, 0
	clear(w.heads[:])
	clear(w.some[:])
	clear(w.any[:])
	w.nodes, w.spare = append(w.nodes[:0], wake{}), 0
}

// at tells the timing wheel that the present time is now.
func (w *endings) at(now int64) { w.base = min(now, w.next) }

// push makes a resource due at time t, or at the wheel's last slot if t is
// beyond it. It returns the slot in which the resource is now due, plus one.
func (w *endings) push(t int64, resource uint32) uint16 {
	t = min(t, w.base+slots-1)
	i := w.spare
	if i != 0 {
		w.spare = w.nodes[i].next
	} else {
		i = uint32(len(w.nodes))
		w.nodes = append(w.nodes, wake{})
	}
	slot := t & (slots - 1)
	w.nodes[i] = wake{resource, w.heads[slot]}
	w.heads[slot] = i
	w.some[slot>>6] |= 1 << (slot & 63)
	w.any[slot>>12] |= 1 << (slot >> 6 & 63)
	w.next = min(w.next, t)
	return uint16(slot + 1)
}

// timeOf returns the time of a slot that push has returned.
func (w *endings) timeOf(slot uint16) int64 {
	return w.base + (int64(slot)-1-w.base)&(slots-1)
}

// take empties the slot of the resources that are due first. It returns the
// index of the first element of the slot's list, and the slot plus one.
func (w *endings) take() (list uint32, slotAfter uint16) {
	w.base = w.next
	slot := w.next & (slots - 1)
	list = w.heads[slot]
	w.heads[slot] = 0
	if w.some[slot>>6] &^= 1 << (slot & 63); w.some[slot>>6] == 0 {
		w.any[slot>>12] &^= 1 << (slot >> 6 & 63)
	}
	w.next = w.after(slot)
	return list, uint16(slot + 1)
}

// free returns the content of element i of the timing wheel's linked lists: a
// resource and the index of the next element. It makes the element available
// for reuse.
func (w *endings) free(i uint32) (resource, next uint32) {
	n := w.nodes[i]
	w.nodes[i].next, w.spare = w.spare, i
	return n.resource, n.next
}

// after returns the time of the first slot with a due resource. The search
// begins at the given slot, and goes on at the wheel's first slot when it has
// passed the last one.
func (w *endings) after(slot int64) int64 {
	word := slot >> 6
	if m := w.some[word] >> (slot & 63); m != 0 {
		return w.base + int64(bits.TrailingZeros64(m))
	}
	if word = w.wordAfter(word); word < 0 {
		return Never
	}
	found := word<<6 + int64(bits.TrailingZeros64(w.some[word]))
	return w.base + (found-slot)&(slots-1)
}

// wordAfter returns the index of the next nonzero word in the bit set of slots
// that have due resources, or -1 if all words are 0. The search begins after
// the given word, goes on at the set's first word when it has passed the last
// one, and ends with the given word.
func (w *endings) wordAfter(word int64) int64 {
	word = (word + 1) % (slots / 64)
	i := word >> 6
	if m := w.any[i] >> (word & 63); m != 0 {
		return word + int64(bits.TrailingZeros64(m))
	}
	for range w.any {
		i = (i + 1) % int64(len(w.any))
		if w.any[i] != 0 {
			return i<<6 + int64(bits.TrailingZeros64(w.any[i]))
		}
	}
	return -1
}
