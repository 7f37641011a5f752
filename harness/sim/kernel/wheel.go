package kernel

import "slices"

// wheel holds the events that the simulation has pushed, sorted by time. Events
// of the same millisecond stay in the order of their pushes. It is a timing wheel of
// four levels (Varghese, Lauck, ToN 1997). The wheel divides time into windows of
// 512 ms, periods of 131 s and eras of 19 hours. It has one list of events for each
// millisecond of the present window, one for each window of the present and the next
// period, one for each period of the present and the next era, and one for each later
// era.
//
// When a period or era begins, the events of the one after it go to the lists of the level below. No
// event was added to those lists before, so that the order stays that of the
// pushes. The lists only grow at their end, and a window's events are sorted when
// the window begins. So memory is read and written in order.
type wheel struct {
	now     int64
	count   int // number of future events in all lists of the timing wheel together
	far     int // number of events in the lists of periods and eras
	windows [windowSlots]chunks
	some    marks // set of the numbers of those time windows (512 ms) that have events
	periods [periodSlots]chunks
	eras    [eraSlots]chunks
	memory  []chunk // pieces of which the lists of events of windows, periods and eras consist; index 0 means none
	spare   uint32  // index in wheel.memory of the first element in the linked list of unused pieces

	// The fields below hold the events of the present window of 512 ms. The field
	// sorted has the events added before the window began, unless they were few.
	// The field late has the events added since, as linked lists, last added
	// first.
	sorted []Event
	first  [windowMs + 1]uint32 // by millisecond of the present window: index in wheel.sorted of the millisecond's first event
	taken  uint32               // index in wheel.sorted of the next event to be handled
	// by millisecond of the present window: index in wheel.pool of the event that was added last since the window began; 0 if there is none
	late [windowMs]uint32
	pool []late
	free uint32 // index in wheel.pool of the first element in the linked list of unused elements
	due  marks  // set of those milliseconds of the present window that have events

	batch []Event
}

// chunks is a list of future events, in the order in which they were added.
// The list consists of linked pieces of memory.
type chunks struct {
	first, last uint32
	events      int
}

type chunk struct {
	next   uint32
	used   uint32
	events [32]Event
}

// late is an event that was added after its time window had begun. It is an
// element of a linked list; index 0 ends the list.
type late struct {
	Event
	next uint32
}

const (
	windowBits  = 9 // a window is 2^9 = 512 ms long
	windowMs    = 1 << windowBits
	periodBits  = 17 // a period is 2^17 ms = 131 s long
	windowSlots = 2 << (periodBits - windowBits)
	eraBits     = 26 // an era is 2^26 ms = 19 hours long
	periodSlots = 2 << (eraBits - periodBits)
	eraSlots    = 2 << (32 - eraBits)

	worthSorting = 100 // a time window with fewer events is not sorted: its events are treated as if they had been added after its begin
)

func (w *wheel) reset() {
	clear(w.windows[:])
	clear(w.periods[:])
	clear(w.eras[:])
	w.memory, w.spare = append(w.memory[:0], chunk{}), 0
	w.now, w.count, w.far = 0, 0, 0
	w.some.reset(windowSlots)
	w.sorted, w.taken, w.free, w.pool = w.sorted[:0], 0, 0, append(w.pool[:0], late{})
	clear(w.first[:])
	clear(w.late[:])
	w.due.reset(windowMs)
}

// push adds an event for time t, which must not be before the present time. An
// event that is too far ahead comes at the latest possible time.
func (w *wheel) push(t int64, e Event) {
	t = min(t, w.now+MaxAheadMs)
	e.at = uint32(t)
	w.count++
	w.put(t, e)
}

func (w *wheel) put(t int64, e Event) {
	switch {
	case t>>windowBits == w.now>>windowBits:
		w.putLate(int32(t&(windowMs-1)), e)
	case t>>periodBits <= w.now>>periodBits+1:
		i := int32(t >> windowBits & (windowSlots - 1))
		w.some.set(i)
		w.add(&w.windows[i], e)
	case t>>eraBits <= w.now>>eraBits+1:
		w.far++
		w.add(&w.periods[t>>periodBits&(periodSlots-1)], e)
	default:
		w.far++
		w.add(&w.eras[t>>eraBits&(eraSlots-1)], e)
	}
}

func (w *wheel) add(to *chunks, e Event) {
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

// empty frees the memory of a list of events for reuse.
func (w *wheel) empty(list chunks) {
	if list.last != 0 {
		w.memory[list.last].next, w.spare = w.spare, list.first
	}
}

func (w *wheel) putLate(ms int32, e Event) {
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

// next returns the time of the next event, or Never if there is
// none. The time may be too early if the events of a later window are not
// sorted yet.
func (w *wheel) next() int64 {
	ms := int32(w.now & (windowMs - 1))
	if at := w.due.after(ms); at >= 0 {
		return w.now + int64(at-ms)
	}
	if w.count == 0 {
		return Never
	}
	t := int64(Never)
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

// advance sets the present time to t, which must not be later than the time
// that the method next returns.
func (w *wheel) advance(t int64) {
	before := w.now
	w.now = t
	if t>>windowBits == before>>windowBits {
		return
	}
	if t>>periodBits != before>>periodBits && w.far > 0 {
		if t>>eraBits != before>>eraBits {
			w.spread(&w.eras[(t>>eraBits+1)&(eraSlots-1)])
		}
		w.spread(&w.periods[(t>>periodBits+1)&(periodSlots-1)])
	}
	w.sort()
}

// spread moves the events of a period or era to the lists of its windows or
// periods.
func (w *wheel) spread(list *chunks) {
	from := *list
	*list = chunks{}
	w.far -= from.events
	for i := from.first; i != 0; i = w.memory[i].next {
		for k := range w.memory[i].used {
			e := w.memory[i].events[k] // the event is copied, because the function put may move the memory that holds it
			w.put(w.now+int64(e.at-uint32(w.now)), e)
		}
	}
	w.empty(from)
}

// sort makes the time window that contains the present time the present window,
// and sorts its events by millisecond.
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
	// sum up the numbers of events, to get for each millisecond ms the index in sorted of its first event; for now this is in first[ms+1]
	for ms := range int32(windowMs) {
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

// take returns the events of the present millisecond in the order in which
// they were added. The slice is valid until the next call of take. Events that
// are added meanwhile for the same millisecond are returned by the next call.
func (w *wheel) take() []Event {
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
			w.batch = append(w.batch, x.Event)
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
