package measure_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
)

// TestSpread counts the durations of attempts again, in the ranges that a spread says.
func TestSpread(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 50, 1000, 100_001} {
		var events []traces.Event
		var durations []float64
		task := func(i int) traces.Task { return traces.Task{Job: "j", Kind: traces.Map, Index: int32(i)} }
		for i := range n {
			ms := int64(draw.ExpFloat64() * 5000)
			durations = append(durations, float64(ms))
			a := traces.Attempt{Task: task(i)}
			events = append(events, &traces.AttemptStarted{T: traces.Time(i) * 1e9, Attempt: a, Node: "n"},
				&traces.AttemptFinished{T: traces.Time(i)*1e9 + traces.Time(ms*1e6), Attempt: a, Outcome: traces.Succeeded, Counters: traces.NoCounters})
		}
		slices.SortStableFunc(events, func(a, b traces.Event) int { return int((a.At() - b.At()) / 1e6) })
		f := measure.Of(traces.Header{Format: 1}, slices.Values(events))
		k := slices.IndexFunc(f.Phases, func(p measure.Phase) bool { return p.Name == "map: whole attempt" })
		if k < 0 || f.Phases[k].Count != n {
			t.Fatalf("%d attempts: phases %+v", n, f.Phases)
		}
		s := f.Phases[k].Spread
		if n < 3 {
			if s.Counts != nil {
				t.Errorf("%d attempts: %+v, want no spread", n, s)
			}
			continue
		}
		slices.Sort(durations)
		if n > 100_000 { // kept in ranges less than 1 % wide
			if total := sum(s.Counts); total != n || s.High < 0.99*durations[99*n/100] || s.High > 1.01*durations[99*n/100] {
				t.Errorf("%d attempts: %d in ranges to %v", n, total, s.High)
			}
			continue
		}
		if high := durations[(99*n+99)/100-1]; s.Low != durations[0] || s.High != high {
			t.Errorf("%d attempts: from %v to %v, want %v to %v", n, s.Low, s.High, durations[0], high)
		}
		want := make([]int, len(s.Counts))
		for _, ms := range durations {
			for i := range want {
				from, to := s.Low+float64(i)*(s.High-s.Low)/float64(len(want)), s.Low+float64(i+1)*(s.High-s.Low)/float64(len(want))
				if ms >= from && (ms < to || i == len(want)-1) {
					want[i]++
					break
				}
			}
		}
		if !slices.Equal(s.Counts, want) {
			t.Errorf("%d attempts: %v, want %v", n, s.Counts, want)
		}
	}
}
