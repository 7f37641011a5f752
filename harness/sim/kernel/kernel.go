// Package kernel is the time of a simulation: a clock, and one order of all that
// happens.
//
// Events have three sources: flows of package fluid that end, events that the
// simulation has pushed for a time, and arrivals, of which Events knows the time of
// the next. Their order is (time, sequence). Within a millisecond, flows that end
// come first, by their tags, then the events pushed, then arrivals. Of those pushed, some
// kinds come first, by the numbers of what they are for, and the others after them, in the
// order of Push. So it does not matter how early an event of these kinds was known. What
// all these add for the same millisecond comes after them, in the same order again.
//
// Heartbeats are a source of their own, a Ring, because the simulation skips those
// that can change nothing, and knows which these are only when their time comes.
//
// The package knows neither jobs nor nodes. An event has a kind and the number of
// what it is for, which only the simulation understands. Numbers are used again, so an
// event also has a generation: a count of the uses of its number.
package kernel

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/sim/fluid"
)

// Never is a time later than all others: the event does not happen.
const Never = math.MaxInt64

// MaxAheadMs is how far ahead of the present an event may be, 49 days in ms. An
// event further ahead comes then.
const MaxAheadMs = math.MaxUint32

// Kind is the kind of an event. The simulation has kinds of its own, from 0 on.
type Kind uint8

// Kinds of event that the simulation does not push.
const (
	FlowEnd Kind = math.MaxUint8 - iota // a flow has ended; Event.ID is its tag
	Arrival                             // the time given to SetArrival has come
)

// Event is something that happens in the simulation at a time.
type Event struct {
	at  uint32 // time in ms, modulo 2^32; the list that holds the event tells the higher digits of the time
	tag uint32 // the generation and, in the low bits, the kind
	ID  uint32 // what the event is for, for example the number of a job
}

const kindBits = 8

// Kind returns the kind of the event.
func (e Event) Kind() Kind { return Kind(e.tag & (1<<kindBits - 1)) }

// Generation returns the low 24 bits of the generation that the event was pushed
// with.
func (e Event) Generation() uint32 { return e.tag >> kindBits }

// IsFor reports whether the event was pushed with this generation. Otherwise it is for a
// job or attempt that has ended, whose number is used again.
func (e Event) IsFor(gen uint32) bool { return e.tag>>kindBits == gen<<kindBits>>kindBits }

// Events is the clock of a simulation and all events to come. Reset makes it ready.
type Events struct {
	Now     int64 // the present time, in ms
	Handled int64 // number of events that Take has returned
	// ProgressMs is the time of the last event that was pushed and is not of an idle
	// kind. The simulation sets it too, when a heartbeat has changed something.
	ProgressMs int64

	// Flows are the flows whose ends are events; nil if there are none.
	Flows *fluid.System

	wheel   wheel
	arrival int64
	one     [1]Event // the flow that has ended, or the arrival
	stage   stage
	busy    Kind
	early   Kind // the first of the kinds that come first within a millisecond, by number
	idling  int  // number of events to come of idle kinds
}

// stage says which source Take asks next.
type stage uint8

const (
	begins stage = iota
	flowsEnd
	timed
	arrivals
)

// Reset sets the time to 0 and drops all events and the flows. Events of the kinds
// below busy may change nothing: they do not count as progress. Events of the kind early come
// first within a millisecond, and then those of the kinds above it, each by their numbers.
func (e *Events) Reset(busy, early Kind) {
	e.Now, e.Handled, e.ProgressMs = 0, 0, 0
	e.wheel.reset()
	e.Flows, e.arrival = nil, Never
	e.stage = begins
	e.busy, e.early, e.idling = busy, early, 0
}

// Push adds an event at time t, which must not be before the present.
func (e *Events) Push(t int64, k Kind, id, gen uint32) {
	if k < e.busy {
		e.idling++
	}
	e.wheel.push(t, Event{tag: gen<<kindBits | uint32(k), ID: id})
}

// After adds an event ms milliseconds after the present time.
func (e *Events) After(ms int32, k Kind, id, gen uint32) { e.Push(e.Now+int64(ms), k, id, gen) }

// SetArrival sets the time of the next arrival; Never if there is none.
func (e *Events) SetArrival(t int64) { e.arrival = t }

// Next returns a time by which Advance and Take must be called: that of the next
// event, or an earlier one. It returns Never if no event is to come.
func (e *Events) Next() int64 {
	t := min(e.wheel.next(), e.arrival)
	if e.Flows != nil {
		t = min(t, e.Flows.Next())
	}
	return t
}

// Advance sets the present time to t, which must not be later than what Next
// returns.
func (e *Events) Advance(t int64) {
	if t > e.Now {
		e.Now = t
		e.wheel.advance(t)
	}
}

// Take returns the next events of the present millisecond: a flow that has ended, all
// events that were pushed, or an arrival. It returns none when the simulation has to ask for
// heartbeats. The slice is valid until the next call.
func (e *Events) Take() []Event {
	if e.stage == begins {
		e.stage = flowsEnd
		if e.Flows == nil || e.Flows.Next() > e.Now {
			e.stage = timed
		}
	}
	if e.stage == flowsEnd {
		if tag, ok := e.Flows.Pop(e.Now); ok {
			return e.takeOne(FlowEnd, tag)
		}
		e.stage = timed
	}
	if e.stage == timed {
		e.stage = arrivals
		if list := e.wheel.take(); len(list) > 0 {
			e.count(list)
			e.sort(list)
			return list
		}
	}
	if e.arrival <= e.Now {
		return e.takeOne(Arrival, 0)
	}
	e.stage = begins
	return nil
}

// sort puts the events of the kinds from early on before the others, by their numbers.
func (e *Events) sort(list []Event) {
	n := 0
	for i, x := range list {
		switch {
		case x.Kind() < e.early:
		case i == n:
			n++
		default:
			copy(list[n+1:i+1], list[n:i])
			list[n] = x
			n++
		}
	}
	list = list[:n]
	if n > 16 {
		slices.SortFunc(list, func(a, b Event) int { return cmp.Compare(e.place(a), e.place(b)) })
		return
	}
	for i, x := range list {
		at := i
		for place := e.place(x); at > 0 && place < e.place(list[at-1]); at-- {
			list[at] = list[at-1]
		}
		list[at] = x
	}
}

// place returns the place of an event among those that come first in its millisecond.
func (e *Events) place(x Event) uint64 {
	if x.Kind() == e.early {
		return uint64(x.ID)
	}
	return 1<<32 | uint64(x.ID)
}

func (e *Events) takeOne(k Kind, id uint32) []Event {
	e.Handled++
	e.one[0] = Event{tag: uint32(k), ID: id}
	return e.one[:]
}

// count counts events that were taken from the wheel.
func (e *Events) count(list []Event) {
	e.Handled += int64(len(list))
	for i := range list {
		if list[i].Kind() < e.busy {
			e.idling--
		} else {
			e.ProgressMs = e.Now
		}
	}
}

// FlowsEnd reports whether the event that was taken last is the end of a flow. Then the events
// that were pushed for this millisecond are still to come.
func (e *Events) FlowsEnd() bool { return e.stage == flowsEnd }

// Stalled reports whether all events to come are of idle kinds.
func (e *Events) Stalled() bool {
	return e.wheel.count == e.idling && e.arrival == Never && (e.Flows == nil || e.Flows.Next() == Never)
}
