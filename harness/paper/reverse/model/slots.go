package model

import (
	"math"

	"heddle/harness/state"
)

// Slots are of one size, that of the maps of one job. A node with less room than its
// containers use has no free slots, and takes none from others.

// fit returns how many containers of a size a node can hold.
func fit(r, size state.Resource) int {
	n := r.MemoryMB / max(1, size.MemoryMB)
	if size.VCores > 0 {
		n = min(n, r.VCores/size.VCores)
	}
	return int(max(0, n))
}

// slotsOf returns how many maps the nodes that are up can run at a time.
func slotsOf(v *state.View, size state.Resource) int {
	return sum(v, func(n state.NodeID) int {
		slots := fit(v.Capacity(n), size)
		if v.FreeSlots(n, state.Map) != math.MaxInt32 {
			slots = min(slots, int(v.Slots(n, state.Map)))
		}
		return slots
	})
}

// freeSlots returns how many more maps the nodes that are up can run now.
func freeSlots(v *state.View, size state.Resource) int {
	return sum(v, func(n state.NodeID) int { return min(fit(v.Free(n), size), int(max(0, v.FreeSlots(n, state.Map)))) })
}

func sum(v *state.View, of func(state.NodeID) int) (all int) {
	for n := range state.NodeID(v.Nodes()) {
		if v.Up(n) {
			all += of(n)
		}
	}
	return all
}
