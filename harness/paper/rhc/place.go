package rhc

import (
	"fmt"
	"math"
	"math/bits"

	"heddle/harness/paper/rhc/policy"
)

// place gives each job slots by a rule, and returns the cost of a job in the mean, the
// share of jobs that were deferred, how many jobs one meets, and how many slots are taken.
func (x monteCarlo) place(rule policy.Policy, jobs []job, leave []int32, costs []float64) (map[string]float64, error) {
	free := newSlots(len(costs))
	slots := make([][mostReduces]int32, len(jobs))
	_, anywhere := rule.(policy.Random)
	var ranks []int
	cost, deferred, met, busy, began := 0.0, 0, 0, 0.0, jobs[0].from
	for i := range jobs {
		j := &jobs[i]
		for len(leave) > 0 && jobs[leave[0]].to <= j.from {
			for k := range jobs[leave[0]].Reduces {
				free.give(slots[leave[0]][k])
			}
			leave = leave[1:]
		}
		if j.Reduces > free.count {
			return nil, fmt.Errorf("job %d has %d reduce tasks, and %d slots are free", i, j.Reduces, free.count)
		}
		rule.Arrive(&j.Job)
		if x.List == "all" && !anywhere { // ranks are of all slots, and taken ones are skipped
			ranks = rule.Place(&j.Job, len(costs), ranks[:0])
			free.following(ranks[0], slots[i][:j.Reduces])
		} else {
			ranks = rule.Place(&j.Job, free.count, ranks[:0])
			for k, rank := range ranks {
				slots[i][k] = free.at(rank)
			}
		}
		if ranks[0] > 0 && !anywhere {
			deferred++
		}
		for k := range j.Reduces {
			free.take(slots[i][k])
			cost += costs[slots[i][k]] * j.each[k]
		}
		met += j.Present
		if !math.IsInf(j.to, 1) {
			busy += float64(j.Reduces) * (j.to - j.from)
		}
	}
	n := float64(len(jobs))
	return map[string]float64{
		"cost":     cost / n,
		"deferred": float64(deferred) / n,
		"met":      float64(met) / n,
		"busy":     busy / (jobs[len(jobs)-1].from - began),
	}, nil
}

// slots are the free slots in order of cost, a bit each.
type slots struct {
	words []uint64
	count int
}

func newSlots(n int) *slots {
	s := &slots{make([]uint64, (n+63)/64), n}
	for i := range n {
		s.words[i/64] |= 1 << (i % 64)
	}
	return s
}

func (s *slots) take(i int32) { s.words[i/64] &^= 1 << (i % 64); s.count-- }
func (s *slots) give(i int32) { s.words[i/64] |= 1 << (i % 64); s.count++ }

// at returns the free slot of a rank.
func (s *slots) at(rank int) int32 {
	for k, w := range s.words {
		n := bits.OnesCount64(w)
		if rank >= n {
			rank -= n
			continue
		}
		for ; rank > 0; rank-- {
			w &= w - 1
		}
		return int32(64*k + bits.TrailingZeros64(w))
	}
	return -1 // a rank is always below count
}

// following fills a list with the first free slots from a number on; after the last slot
// comes the first.
func (s *slots) following(from int, list []int32) {
	n := 0
	for i := from; n < len(list); i = (i + 1) % (64 * len(s.words)) {
		if s.words[i/64]&(1<<(i%64)) != 0 {
			list[n] = int32(i)
			n++
		}
	}
}
