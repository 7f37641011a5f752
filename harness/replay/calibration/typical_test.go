package calibration

import (
	"slices"
	"testing"

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
