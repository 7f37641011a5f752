package sched_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestSharesFollow has jobs come, run and end, and compares the walk with a sort of all.
func TestSharesFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := errtest.Must(sched.New("fifo", nil))
		w := schedtest.NewWorld(t, m)
		key := func(v *state.View, id state.JobID) float64 {
			return float64(v.Used(id).MemoryMB) - 1000*float64(v.Priority(id))
		}
		const minimum = 3 * 1024
		ofQueue := func(v *state.View, q state.QueueID) (bool, float64) {
			used := v.QueueUsed(q).MemoryMB
			return used >= minimum, float64(used)
		}
		before := func(v *state.View, a, b state.QueueID) bool {
			return cmp.Or(cmp.Compare(v.QueueUsed(a).MemoryMB, v.QueueUsed(b).MemoryMB), cmp.Compare(a, b)) < 0
		}
		orders := []*sched.Shares{sched.NewShares(key, ofQueue), sched.NewShares(nil, ofQueue), sched.NewShares(key, nil)}
		keys := []func(*state.View, state.JobID) float64{
			key, func(v *state.View, id state.JobID) float64 { return -float64(v.Priority(id)) },
			key,
		}
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				w.Step(t)
			}
			if active := w.View.Active(); len(active) > 0 {
				id := rapid.SampledFrom(slices.Clone(active)).Draw(t, "job")
				switch rapid.IntRange(0, 2).Draw(t, "change") {
				case 0:
					w.State.EndJob(id)
				case 1: // more changes than the View keeps
					slot := state.Resource{MemoryMB: 512, VCores: 1}
					for range 200 {
						w.State.Hold(0, id, slot)
						w.State.Release(0, id, slot)
					}
				}
			}
			var want []state.JobID
			jobs := sched.FIFOOrder(w.View)
			for id, ok := jobs.Next(); ok; id, ok = jobs.Next() {
				want = append(want, id)
			}
			for i, o := range orders {
				slices.SortFunc(want, func(a, b state.JobID) int {
					if qa, qb := w.View.Queue(a), w.View.Queue(b); qa != qb && i < 2 {
						if before(w.View, qa, qb) {
							return -1
						}
						return 1
					}
					return cmp.Or(cmp.Compare(keys[i](w.View, a), keys[i](w.View, b)), cmp.Compare(a, b))
				})
				if got := o.Walk(w.View); !slices.Equal(got, want) {
					t.Fatalf("walk %v, want %v", got, want)
				}
			}
		}
	})
}
