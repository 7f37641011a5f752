package traces

import (
	"cmp"
	"slices"
)

// Compare gives the order of events in a finished trace: by T, and at the same T
// causes before effects. Events for which it returns 0 stay in the order in which
// they were written.
func Compare(a, b Event) int {
	if c := cmp.Compare(a.At(), b.At()); c != 0 {
		return c
	}
	return cmp.Compare(kinds[a.Kind()].rank, kinds[b.Kind()].rank)
}

// Sort puts events into the order of a finished trace. It sorts their places,
// which takes half as long as a stable sort of the events.
func Sort(events []Event) {
	type place struct {
		t    Time
		rank uint8
		from uint32
	}
	places := make([]place, len(events))
	for i, e := range events {
		places[i] = place{e.At(), kinds[e.Kind()].rank, uint32(i)}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.t != b.t {
			return cmp.Compare(a.t, b.t)
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.from, b.from))
	})
	sorted := make([]Event, len(events))
	for i, p := range places {
		sorted[i] = events[p.from]
	}
	copy(events, sorted)
}
