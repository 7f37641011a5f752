package fluid

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Lists in a pool keep what was put into them, whatever other lists grow or are freed,
// and freed memory is used again.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pool[uint32]
		var blocks [5]block
		var want [5][]uint32
		next, elements := uint32(0), 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			i := rapid.IntRange(0, len(want)-1).Draw(t, "list")
			if rapid.IntRange(0, 19).Draw(t, "free") == 0 && blocks[i] != 0 {
				blocks[i], want[i] = p.free(blocks[i]), nil
			}
			for range rapid.IntRange(1, 9).Draw(t, "more") {
				n := len(want[i])
				blocks[i] = p.room(blocks[i], n+1)
				p.of(blocks[i])[n] = next
				want[i] = append(want[i], next)
				next++
			}
			elements = max(elements, len(want[i]))
			for k := range want {
				if want[k] != nil && !slices.Equal(p.of(blocks[k])[:len(want[k])], want[k]) {
					t.Fatalf("list %d is %v, want %v", k, p.of(blocks[k])[:len(want[k])], want[k])
				}
			}
		}
		// Each of the five lists has had at most one block of each size at a time.
		if most := unit + len(want)*4*max(unit, elements); len(p.memory) > most {
			t.Errorf("%d elements of memory for lists of at most %d, want at most %d", len(p.memory), elements, most)
		}
	})
}
