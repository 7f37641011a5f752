package traces

import (
	"cmp"
	"slices"
)

// Compare gives the order of events in a finished trace: by time T. Of two
// events with the same T, the kind that can cause the other comes first. Events
// for which Compare returns 0 stay in the order in which they were written.
func Compare(a, b Event) int {
	if c := cmp.Compare(a.At(), b.At()); c != 0 {
		return c
	}
	return cmp.Compare(kinds[a.Kind()].rank, kinds[b.Kind()].rank)
}

// Sort puts events into the order of a finished trace. It does not move the
// events themselves but sorts small structs (time, rank of the kind, index of
// the event), which takes half as long as a stable sort of the events.
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
