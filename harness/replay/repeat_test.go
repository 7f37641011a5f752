package replay

import (
	"slices"
	"testing"

	"heddle/harness/replay/calibration"
	"heddle/harness/sim/draw"
)

// Starts of ApplicationMasters are spread as measured, or as assumed.
func TestWithin(t *testing.T) {
	for name, c := range map[string]struct {
		ms          int32
		f           calibration.Figure
		least, most int32
	}{
		"measured":        {4000, calibration.Figure{Value: 4000, Samples: 12, Error: 300}, 3400, 4600},
		"always the same": {4000, calibration.Figure{Value: 4000, Samples: 12}, 4000, 4000},
		"not measured":    {3000, calibration.Figure{}, 2400, 3600},
		"a wild sample":   {100, calibration.Figure{Value: 100, Samples: 2, Error: 1e9}, 1, 200},
		"no time":         {0, calibration.Figure{}, 1, 1},
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
