package measure_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/measure"
	"heddle/traces"
)

// TestDurations holds percentiles against a sorted list: exact up to 100,000
// durations, right to 1 % above.
func TestDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A few values, repeated in proportions, make long samples cheap to draw.
		values := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64/2), 1, 8).Draw(t, "values")
		n := rapid.SampledFrom([]int{1, 2, 99, 100_000, 100_001, 150_000}).Draw(t, "n")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		var d measure.Durations
		all := make([]int64, n)
		for i := range all {
			all[i] = values[i*i%len(values)]
			d.Add(traces.Time(all[i]))
		}
		slices.Sort(all)
		want := float64(all[max((n*percent+99)/100-1, 0)]) / 1e6
		got := d.PercentileMs(percent)
		switch {
		case d.Exact() != (n <= 100_000):
			t.Fatalf("%d durations: exact %v", n, d.Exact())
		case d.Exact() && got != want, math.Abs(got-want) > 0.01*want:
			t.Fatalf("percentile %d of %d durations: %v ms, want %v", percent, n, got, want)
		}
		list := d.Ms()
		if len(list) != n || d.Count() != n || !slices.IsSorted(list) {
			t.Fatalf("%d durations, Count %d, want %d in order", len(list), d.Count(), n)
		}
		for i, x := range list {
			if want := float64(all[i]) / 1e6; math.Abs(x-want) > 0.01*want {
				t.Fatalf("duration %d is %v ms, want %v", i, x, want)
			}
		}
	})
}

func TestNoDurations(t *testing.T) {
	var d measure.Durations
	if d.PercentileMs(50) != 0 || d.MeanMs() != 0 || len(d.Ms()) != 0 || !d.Exact() {
		t.Errorf("an empty sample has median %v, mean %v, %d durations", d.PercentileMs(50), d.MeanMs(), len(d.Ms()))
	}
	d.Add(-5) // by two machines' clocks
	d.Add(2e6)
	if d.PercentileMs(0) != 0 || d.PercentileMs(100) != 2 || d.MeanMs() != 1 {
		t.Errorf("of 0 and 2 ms the least is %v, the most %v, the mean %v", d.PercentileMs(0), d.PercentileMs(100), d.MeanMs())
	}
}
