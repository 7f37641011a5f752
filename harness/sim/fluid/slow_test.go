package fluid

import (
	"testing"

	"heddle/harness/state"
)

// TestComputeSlowly has computations of 1 s of a core each on one node of two cores. A
// slow one gets half a core at most.
func TestComputeSlowly(t *testing.T) {
	for _, c := range []struct {
		name       string
		slow, full int
		ends       []int64 // in ms; the slow ones come first
		rates      []int64 // at the start, in microseconds of a core per second
	}{
		{"one slow", 1, 0, []int64{2000}, []int64{500_000}},
		{"four slow fit", 4, 0, []int64{2000, 2000, 2000, 2000}, []int64{500_000, 500_000, 500_000, 500_000}},
		{"two slow leave a core", 2, 1, []int64{2000, 2000, 1000}, []int64{500_000, 500_000, 1_000_000}},
		{"five slow share two cores", 5, 0, []int64{2500, 2500, 2500, 2500, 2500}, []int64{400_000, 400_000, 400_000, 400_000, 400_000}},
		// All get a third of two cores, more than half a core, so the slow one gets its
		// half and the others 3/4 each, for 1333 ms. Then the slow one still needs 667 ms.
		{"a slow one beside two", 1, 2, []int64{2000, 1333, 1333}, []int64{500_000, 750_000, 750_000}},
	} {
		s := New([]state.RackID{0})
		s.SetRate(0, Cores, 0, 2e6, 1e6)
		var flows []Flow
		for i := range c.slow + c.full {
			if i < c.slow {
				flows = append(flows, s.ComputeSlowly(0, 0, 1e6, 5e5, uint32(i)))
			} else {
				flows = append(flows, s.Compute(0, 0, 1e6, uint32(i)))
			}
		}
		for i, f := range flows {
			if got := s.Rate(f); got < c.rates[i]*99/100 || got > c.rates[i]*101/100 {
				t.Errorf("%s: flow %d has a rate of %d, want %d", c.name, i, got, c.rates[i])
			}
		}
		for s.Next() != Never {
			now := s.Next()
			for {
				i, ok := s.Pop(now)
				if !ok {
					break
				}
				if want := c.ends[i]; now < want*99/100 || now > want*101/100+1 {
					t.Errorf("%s: computation %d ends at %d ms, want %d", c.name, i, now, want)
				}
				if s.Rate(flows[i]) != 0 {
					t.Errorf("%s: computation %d has ended and has a rate", c.name, i)
				}
			}
		}
	}
}
