package state

import (
	"math/rand/v2"
	"testing"
)

// TestFullSince holds the answer against a walk through all that the node ever had free.
func TestFullSince(t *testing.T) {
	known := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := New()
		s.FollowRoom()
		slots := rng.IntN(2) == 0
		n := must(s.AddNode("n", "r", Resource{8, 8}))
		if slots {
			s.SetSlots(2, 2)
		}
		sizes := []Resource{{1, 1}, {2, 1}, {3, 1}, {1, 3}}
		for _, size := range sizes {
			must(s.Submit(&JobSpec{Name: "j", Maps: 50, Reduces: 50, MapSize: size, ReduceSize: size}))
		}
		type start struct {
			id JobID
			t  TaskID
		}
		var running []start
		fits := map[[2]int32][]bool{} // by job and kind, at each time
		for now := range 60 {
			s.SetNow(int64(now))
			for range 1 + rng.IntN(3) { // several changes at one time: what is between them does not count
				if len(running) > 0 && rng.IntN(2) == 0 {
					i := rng.IntN(len(running))
					x := running[i]
					running = append(running[:i], running[i+1:]...)
					mustDo(t, s.Finish(x.id, x.t))
				} else if id, k := JobID(rng.IntN(len(sizes))), Kind(rng.IntN(2)); s.View().Fits(n, id, k) {
					s.Ask(id, k, 50)
					x := start{id, s.View().NthWaiting(id, k, 0)}
					if s.Start(x.id, x.t, n) == nil {
						running = append(running, x)
					}
				}
			}
			for id := range JobID(len(sizes)) {
				for k := range Kind(2) {
					key := [2]int32{int32(id), int32(k)}
					fits[key] = append(fits[key], s.View().Fits(n, id, k))
					if fits[key][now] {
						continue
					}
					want, found := int64(0), false
					for at := now; at > 0; at-- {
						if fits[key][at-1] {
							want, found = int64(at), true
							break
						}
					}
					got, ok := s.View().FullSince(n, id, k)
					if got != want && found || ok != found && (found || got != 0) {
						t.Fatalf("seed %d at %d, job %d, %v: full since %d, %v; want %d, %v", seed, now, id, k, got, ok, want, found)
					}
					known++
				}
			}
		}
	}
	if known < 1000 {
		t.Errorf("only %d answers were checked", known)
	}
}
