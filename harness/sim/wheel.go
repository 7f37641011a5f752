package sim

import (
	"math"
	"slices"
)

// wheel holds future events, sorted by time and, within a millisecond, by the
// order of push. It is a timing wheel of three levels (Varghese, Lauck, ToN
// 1997). A window is 512 ms and a period 131 s. There is a list for each
// millisecond of the present window, for each window of this and the next
// period, and for each later period.
//
// The lists of windows and periods are chunks of memory that grow at the end
// only, and a window is sorted by counting when it begins. So pushing and
// taking go through memory in order. An event more than 37 hours ahead may come
// after one that is pushed later for the same millisecond.
type wheel struct {
	now     int64
	count   int // number of events in all
	far     int // number of events in the lists of periods
	windows [windowSlots]chunks
	some    marks // windows that are not empty
	periods [periodSlots]chunks
	memory  []chunk // the chunks of all lists of windows and periods; index 0 is none
	spare   uint32  // list of chunks to be reused

	// The present window. sorted has the events pushed before it began, by
	// millisecond, unless they were few. late has those pushed since, in lists
	// in reverse order.
	sorted []event
	first  [windowMs + 1]uint32 // by millisecond: index in sorted
	taken  uint32               // index in sorted of the next event to be taken
	late   [windowMs]uint32     // by millisecond: lists in pool, 0 is empty
	pool   []late
	free   uint32 // list of elements of pool to be reused
	due    marks  // the set of milliseconds that have events

	batch []event
}

// event is a future event: its kind, its generation, and the job or attempt it
// is for.
type event struct {
	at  uint32 // milliseconds modulo 2^32; the list that it is in tells the rest
	tag uint32
	id  uint32
}

// chunks is a list of events in order of push.
type chunks struct {
	first, last uint32
	events      int
}

type chunk struct {
	next   uint32
	used   uint32
	events [32]event
}

// late is an event that was pushed after its window began, in a linked list.
// Index 0 ends a list.
type late struct {
	event
	next uint32
}

const (
	windowBits  = 9 // 2^9: a window is 512 ms
	windowMs    = 1 << windowBits
	periodBits  = 17 // 2^17: a period is 131 s
	windowSlots = 2 << (periodBits - windowBits)
	periodSlots = 1 << 10 // 37 hours; later events go round once more

	worthSorting = 100 // with fewer events, sorting is not worth while: they go to the lists of late events

	never      = math.MaxInt64
	maxAheadMs = math.MaxUint32 // the longest time ahead: events are stored with their time modulo this plus 1
)

func (w *wheel) reset() {
	clear(w.windows[:])
	clear(w.periods[:])
	w.memory, w.spare = append(w.memory[:0], chunk{}), 0
	w.now, w.count, w.far = 0, 0, 0
	w.some.reset(windowSlots)
	w.sorted, w.taken, w.free, w.pool = w.sorted[:0], 0, 0, append(w.pool[:0], late{})
	clear(w.first[:])
	clear(w.late[:])
	w.due.reset(windowMs)
}

// push adds an event at time t, which must not be before now.
func (w *wheel) push(t int64, tag, id uint32) {
	w.count++
	w.put(t, event{uint32(t), tag, id})
}

func (w *wheel) put(t int64, e event) {
	switch {
	case t>>windowBits == w.now>>windowBits:
		w.putLate(int32(t&(windowMs-1)), e)
	case t>>periodBits <= w.now>>periodBits+1:
		i := int32(t >> windowBits & (windowSlots - 1))
		w.some.set(i)
		w.add(&w.windows[i], e)
	default:
		w.far++
		w.add(&w.periods[min(t>>periodBits, w.now>>periodBits+periodSlots-1)&(periodSlots-1)], e)
	}
}

func (w *wheel) add(to *chunks, e event) {
	c := &w.memory[to.last]
	if to.last == 0 || c.used == uint32(len(c.events)) {
		i := w.spare
		if i != 0 {
			w.spare = w.memory[i].next
		} else {
			i = uint32(len(w.memory))
			w.memory = append(w.memory, chunk{})
		}
		if to.last == 0 {
			to.first = i
		} else {
			w.memory[to.last].next = i
		}
		to.last = i
		c = &w.memory[i]
		c.next, c.used = 0, 0
	}
	c.events[c.used] = e
	c.used++
	to.events++
}

// empty gives back the memory of a list.
func (w *wheel) empty(list chunks) {
	if list.last != 0 {
		w.memory[list.last].next, w.spare = w.spare, list.first
	}
}

func (w *wheel) putLate(ms int32, e event) {
	i := w.free
	if i != 0 {
		w.free = w.pool[i].next
	} else {
		i = uint32(len(w.pool))
		w.pool = append(w.pool, late{})
	}
	w.pool[i] = late{e, w.late[ms]}
	w.late[ms] = i
	w.due.set(ms)
}

// next returns the time of the next event, never if there is none. It may be
// too early, if events have to be sorted first.
func (w *wheel) next() int64 {
	ms := int32(w.now & (windowMs - 1))
	if at := w.due.after(ms); at >= 0 {
		return w.now + int64(at-ms)
	}
	if w.count == 0 {
		return never
	}
	t := int64(never)
	if w.far > 0 {
		t = (w.now>>periodBits + 1) << periodBits
	}
	present := w.now >> windowBits
	slot := int32(present & (windowSlots - 1))
	at := w.some.after(slot)
	if at < 0 {
		if at = w.some.after(0); at < 0 {
			return t
		}
		at += windowSlots
	}
	return min(t, (present+int64(at-slot))<<windowBits)
}

// advance moves the present to t, which must not be after next.
func (w *wheel) advance(t int64) {
	before := w.now
	w.now = t
	if t>>windowBits == before>>windowBits {
		return
	}
	if t>>periodBits != before>>periodBits && w.far > 0 {
		w.beginPeriod()
	}
	w.sort()
}

// beginPeriod spreads the events of the next period over its windows. Events
// that have gone round are spread over the periods.
func (w *wheel) beginPeriod() {
	list := &w.periods[(w.now>>periodBits+1)&(periodSlots-1)]
	from := *list
	*list = chunks{}
	w.far -= from.events
	for i := from.first; i != 0; i = w.memory[i].next {
		for k := range w.memory[i].used {
			e := w.memory[i].events[k] // copied, since memory may move
			w.put(w.now+int64(e.at-uint32(w.now)), e)
		}
	}
	w.empty(from)
}

// sort makes the window at now the present one.
func (w *wheel) sort() {
	slot := int32(w.now >> windowBits & (windowSlots - 1))
	from := w.windows[slot]
	w.windows[slot] = chunks{}
	w.some.clear(slot)
	if len(w.sorted) > 0 {
		w.sorted, w.taken = w.sorted[:0], 0
		clear(w.first[:])
	}
	if from.events < worthSorting {
		for i := from.first; i != 0; i = w.memory[i].next {
			for _, e := range w.memory[i].events[:w.memory[i].used] {
				w.putLate(int32(e.at&(windowMs-1)), e)
			}
		}
		w.empty(from)
		return
	}
	w.sorted = slices.Grow(w.sorted, from.events)[:from.events]
	for i := from.first; i != 0; i = w.memory[i].next {
		c := &w.memory[i]
		for k := range c.events[:c.used] {
			w.first[c.events[k].at&(windowMs-1)+1]++
		}
	}
	sum := uint32(0)
	for ms := range int32(windowMs) { // counts of events become starts of lists, one position ahead
		n := w.first[ms+1]
		w.first[ms+1] = sum
		if sum += n; n > 0 {
			w.due.set(ms)
		}
	}
	for i := from.first; i != 0; i = w.memory[i].next {
		c := &w.memory[i]
		for k := range c.events[:c.used] {
			next := &w.first[c.events[k].at&(windowMs-1)+1]
			w.sorted[*next] = c.events[k]
			*next++
		}
	}
	w.empty(from)
}

// take returns the events of now in order of push, valid until the next take.
// Events pushed for now meanwhile come with the next take.
func (w *wheel) take() []event {
	ms := int32(w.now & (windowMs - 1))
	if !w.due.has(ms) {
		return nil
	}
	w.due.clear(ms)
	batch := w.sorted[max(w.first[ms], w.taken):w.first[ms+1]]
	w.taken = max(w.taken, w.first[ms+1])
	if i := w.late[ms]; i != 0 {
		w.late[ms] = 0
		w.batch = append(w.batch[:0], batch...)
		for i != 0 {
			x := &w.pool[i]
			w.batch = append(w.batch, x.event)
			i, x.next, w.free = x.next, w.free, i
		}
		for a, b := len(batch), len(w.batch)-1; a < b; a, b = a+1, b-1 {
			w.batch[a], w.batch[b] = w.batch[b], w.batch[a]
		}
		batch = w.batch
	}
	w.count -= len(batch)
	return batch
}
