package replay

import (
	"slices"
	"testing"

	"heddle/harness/sim/draw"
	"heddle/harness/stats"
)

// The spread that is assumed without a calibration has a mean of 1 and the stated
// deviation.
func TestTypicalSpread(t *testing.T) {
	list := typicalSpread()
	if mean := stats.Mean(list).Value; mean < 0.9999 || mean > 1.0001 || !slices.IsSorted(list) || list[0] <= 0 {
		t.Errorf("quantiles %v with a mean of %v, want positive ones around 1", list, mean)
	}
	var drawn []float64 // the middle of each tenth of the way between neighbours
	for i := range len(list) - 1 {
		for part := range 10 {
			drawn = append(drawn, list[i]+(list[i+1]-list[i])*(float64(part)+0.5)/10)
		}
	}
	if sd := stats.Deviation(drawn); sd < 0.95*typicalTaskSpread || sd > 1.05*typicalTaskSpread {
		t.Errorf("the standard deviation is %.3f, want %.3f", sd, typicalTaskSpread)
	}
}

// Starts of ApplicationMasters are spread as measured, or as assumed.
func TestWithin(t *testing.T) {
	for name, c := range map[string]struct {
		ms          int32
		f           Figure
		least, most int32
	}{
		"measured":        {4000, Figure{Value: 4000, Samples: 12, Error: 300}, 3400, 4600},
		"always the same": {4000, Figure{Value: 4000, Samples: 12}, 4000, 4000},
		"not measured":    {3000, Figure{}, 2400, 3600},
		"a wild sample":   {100, Figure{Value: 100, Samples: 2, Error: 1e9}, 1, 200},
		"no time":         {0, Figure{}, 1, 1},
	} {
		var times []int32
		for i := range uint64(5000) {
			times = append(times, within(c.ms, c.f, keyOf(i)))
		}
		slack := (c.most - c.least) / 100
		if least, most := slices.Min(times), slices.Max(times); least < c.least || least > c.least+slack || most > c.most || most < c.most-slack {
			t.Errorf("%s: times from %d to %d ms, want %d to %d", name, least, most, c.least, c.most)
		}
	}
}

func keyOf(i uint64) draw.Key { return draw.Stream(i, "test") }
