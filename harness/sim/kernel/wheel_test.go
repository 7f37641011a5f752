package kernel

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The wheel gives what was pushed in order of time, then of push, however far
// ahead that is: windows, periods and eras.
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
			spans := []int64{0, 1, 50, 2 * windowMs, 1 << periodBits, 3 << periodBits, 1 << eraBits, 3 << eraBits, MaxAheadMs}
			span := rapid.SampledFrom(spans).Draw(t, "span")
			at := now + rapid.Int64Range(0, span).Draw(t, "ahead")
			many := rapid.SampledFrom([]int64{1, 1, 1, 3 * worthSorting}).Draw(t, "many")
			for i := range many { // around a time, in windows that are worth sorting
				at := min(at+i*7919%min(600, span+1), now+MaxAheadMs) // push moves what is later to there
				w.push(at, Event{tag: 7, ID: id})
				want = append(want, item{at, id})
				id++
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "begin") {
			push()
		}
		for {
			next := w.next()
			if next == Never {
				break
			}
			if next < now {
				t.Fatalf("next is %d, now %d", next, now)
			}
			if between := now + (next-now)/2; between > now && rapid.IntRange(0, 3).Draw(t, "between") == 0 {
				now = between // a heartbeat
				w.advance(now)
				if n := len(w.take()); n > 0 {
					t.Fatalf("%d events at %d, before the next at %d", n, now, next)
				}
				if len(want) < 3000 {
					push()
				}
				continue
			}
			now = next
			w.advance(now)
			for _, e := range w.take() {
				if e.tag != 7 {
					t.Fatalf("tag %d", e.tag)
				}
				got = append(got, item{now, e.ID})
				if e.ID%3 == 0 && len(want) < 3000 {
					push()
				}
			}
		}
		slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.at, b.at) })
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("event %d of %d: got %v, want %v", i, len(want), got[min(i, len(got)):min(i+3, len(got))], want[i:min(i+3, len(want))])
			}
		}
		if len(got) > len(want) {
			t.Fatalf("%d events of %d", len(got), len(want))
		}
	})
}
