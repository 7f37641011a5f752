package traces

import (
	"cmp"
	"slices"
)

// Compare orders events as a finished trace has them: by T, and at the same T
// causes before effects. It returns 0 for events whose order is that of their
// arrival.
func Compare(a, b Event) int {
	if c := cmp.Compare(a.At(), b.At()); c != 0 {
		return c
	}
	return cmp.Compare(kinds[a.Kind()].rank, kinds[b.Kind()].rank)
}

// Sort puts events into the order of a finished trace.
func Sort(events []Event) { slices.SortStableFunc(events, Compare) }
