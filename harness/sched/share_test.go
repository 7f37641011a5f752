package sched

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
)

// TestSharesFollow has jobs come, run, end and change priority, and compares
// the walk with a sort of all.
func TestSharesFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := New("fifo", nil)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, m)
		key := func(v *state.View, id state.JobID) float64 {
			return float64(v.Used(id).MemoryMB) - 1000*float64(v.Priority(id))
		}
		const minimum = 3 * 1024
		ofQueue := func(v *state.View, q state.QueueID) queueKey {
			used := v.QueueUsed(q).MemoryMB
			return queueKey{served: used >= minimum, ratio: float64(used)}
		}
		before := func(v *state.View, a, b state.QueueID) bool {
			return cmp.Or(cmp.Compare(v.QueueUsed(a).MemoryMB, v.QueueUsed(b).MemoryMB), cmp.Compare(a, b)) < 0
		}
		orders := []*shares{{key: key, ofQueue: ofQueue}, {key: key, together: true}}
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				w.step(t)
			}
			if active := w.v.Active(); len(active) > 0 {
				id := rapid.SampledFrom(slices.Clone(active)).Draw(t, "job")
				switch rapid.IntRange(0, 3).Draw(t, "change") {
				case 0:
					w.s.EndJob(id)
				case 1:
					w.s.SetPriority(id, rapid.Int32Range(0, 3).Draw(t, "priority"))
				case 2: // more changes than the View keeps
					for range 200 {
						w.s.Hold(0, id, slot)
						w.s.Release(0, id, slot)
					}
				}
			}
			var want []state.JobID
			jobs := fifoOrder(w.v)
			for id, ok := jobs.next(); ok; id, ok = jobs.next() {
				want = append(want, id)
			}
			for _, o := range orders {
				slices.SortFunc(want, func(a, b state.JobID) int {
					if qa, qb := w.v.Queue(a), w.v.Queue(b); qa != qb && !o.together {
						if before(w.v, qa, qb) {
							return -1
						}
						return 1
					}
					return cmp.Or(cmp.Compare(key(w.v, a), key(w.v, b)), cmp.Compare(a, b))
				})
				var got []state.JobID
				o.start(w.v)
				for id, ok := o.next(); ok; id, ok = o.next() {
					got = append(got, id)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("walk %v, want %v", got, want)
				}
			}
		}
	})
}
