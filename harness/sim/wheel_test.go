package sim

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The wheel gives what was pushed in order of time, then of push, however far
// ahead that is.
func TestWheelKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			at int64
			id uint32
		}
		var w wheel
		w.reset()
		var want, got []item
		now, id := int64(0), uint32(0)
		push := func() {
			spans := []int64{0, 1, 50, 2 * windowMs, 1 << periodBits, 3 << periodBits, 2 * periodSlots << periodBits}
			at := now + rapid.Int64Range(0, spans[rapid.IntRange(0, len(spans)-1).Draw(t, "span")]).Draw(t, "ahead")
			w.push(at, 7, id)
			want = append(want, item{at, id})
			id++
		}
		for range rapid.IntRange(1, 40).Draw(t, "begin") {
			push()
		}
		for {
			next := w.next()
			if next == never {
				break
			}
			if next < now {
				t.Fatalf("next is %d, now %d", next, now)
			}
			now = next
			w.advance(now)
			for _, e := range w.take() {
				if e.tag != 7 {
					t.Fatalf("tag %d", e.tag)
				}
				got = append(got, item{now, e.id})
				if e.id%3 == 0 && len(want) < 200 {
					push()
				}
			}
		}
		slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.at, b.at) })
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}
