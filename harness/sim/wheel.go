package sim

import "math"

// wheel holds what is to happen at times to come, in order of time and, within
// a millisecond, of Push. It is two timing wheels (Varghese, Lauck, ToN 1997):
// near has a list for every millisecond of this window and the next, far one
// for each window after; a window's list is spread over near when the window
// before it begins. Nothing is pushed twice at the same level, so that order in
// a list is order of push.
type wheel struct {
	now    int64
	events []event
	spare  uint32 // list of events to be used again
	near   []uint32
	some   marks // lists of near that are not empty
	far    [farSlots]queue
	inFar  int
	inNear int
	batch  []uint32 // the events of a millisecond
}

// event is an element of a list; index 0 is no element.
type event struct {
	next uint32
	tag  uint32 // kind, and the generation of what it is for
	id   uint32
	at   uint32 // milliseconds, modulo 2^32: told apart by its list
}

type queue struct{ first, last uint32 }

const (
	windowBits = 16 // 65.5 s
	window     = 1 << windowBits
	nearSlots  = 2 * window
	farSlots   = 1 << 10 // 18.6 hours, more goes around

	never = math.MaxInt64
)

func (w *wheel) reset() {
	if w.near == nil {
		w.near = make([]uint32, nearSlots)
	}
	clear(w.near)
	w.some.reset(nearSlots)
	clear(w.far[:])
	w.now, w.inFar, w.inNear, w.spare = 0, 0, 0, 0
	w.events = append(w.events[:0], event{})
}

// push adds an event at time t, which is not before now.
func (w *wheel) push(t int64, tag, id uint32) {
	i := w.spare
	if i != 0 {
		w.spare = w.events[i].next
	} else {
		i = uint32(len(w.events))
		w.events = append(w.events, event{})
	}
	w.events[i] = event{tag: tag, id: id, at: uint32(t)}
	if t>>windowBits <= w.now>>windowBits+1 {
		w.put(t, i)
		return
	}
	w.putFar(t, i)
}

// put adds event i to the list of its millisecond. Lists are in reverse order.
func (w *wheel) put(t int64, i uint32) {
	slot := t & (nearSlots - 1)
	w.events[i].next = w.near[slot]
	w.near[slot] = i
	w.some.set(int32(slot))
	w.inNear++
}

// putFar adds it to the list of its window, or of the last one in reach.
func (w *wheel) putFar(t int64, i uint32) {
	ahead := min(t>>windowBits, w.now>>windowBits+farSlots-1)
	q := &w.far[ahead&(farSlots-1)]
	if q.first == 0 {
		q.first = i
	} else {
		w.events[q.last].next = i
	}
	w.events[i].next = 0
	q.last = i
	w.inFar++
}

// next is the time of the next event, never if there is none. It may be less,
// when events have to be spread first.
func (w *wheel) next() int64 {
	if w.inNear == 0 && w.inFar == 0 {
		return never
	}
	spread := (w.now>>windowBits + 1) << windowBits
	if w.inNear == 0 {
		return spread
	}
	slot := int32(w.now & (nearSlots - 1))
	ahead := w.some.after(slot) - slot
	if ahead < 0 {
		if ahead = w.some.after(0) - slot; ahead < 0 {
			ahead += nearSlots
		}
	}
	t := w.now + int64(ahead)
	if w.inFar > 0 {
		t = min(t, spread)
	}
	return t
}

// advance moves now to t, which is at most next.
func (w *wheel) advance(t int64) {
	before := w.now >> windowBits
	w.now = t
	if t>>windowBits == before || w.inFar == 0 {
		return
	}
	q := &w.far[(t>>windowBits+1)&(farSlots-1)]
	i := q.first
	*q = queue{}
	for i != 0 {
		e := &w.events[i]
		next := e.next
		w.inFar--
		at := t + int64(e.at-uint32(t))
		if at>>windowBits <= t>>windowBits+1 {
			w.put(at, i)
		} else {
			w.putFar(at, i)
		}
		i = next
	}
}

// take is the events of now in order of push, as indices good until the next
// take; those pushed for now meanwhile are taken by the next one.
func (w *wheel) take() []uint32 {
	slot := w.now & (nearSlots - 1)
	i := w.near[slot]
	if i == 0 {
		return nil
	}
	w.near[slot] = 0
	w.some.clear(int32(slot))
	w.batch = w.batch[:0]
	for ; i != 0; i = w.events[i].next {
		w.batch = append(w.batch, i)
	}
	w.inNear -= len(w.batch)
	for a, b := 0, len(w.batch)-1; a < b; a, b = a+1, b-1 {
		w.batch[a], w.batch[b] = w.batch[b], w.batch[a]
	}
	return w.batch
}

// free gives an event back and returns what it was.
func (w *wheel) free(i uint32) (tag, id uint32) {
	e := &w.events[i]
	e.next, w.spare = w.spare, i
	return e.tag, e.id
}
