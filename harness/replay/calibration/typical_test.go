package calibration

import (
	"math"
	"slices"
	"testing"

	"heddle/harness/sim"
	"heddle/harness/stats"
	"heddle/traces"
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

// TestSpreadInMs checks that attempts which read more than those of the fit deviate by as
// many ms, if all of the fit read alike, and by as large a part if they did not; their mean
// stays.
func TestSpreadInMs(t *testing.T) {
	fitted := fitPhase([]sample{
		{kind: traces.Map, bytes: 8 << 20, ms: 800}, {kind: traces.Map, bytes: 8 << 20, ms: 1000}, {kind: traces.Map, bytes: 8 << 20, ms: 1200},
	}, traces.Map)
	proportional := fitted
	proportional.SpreadMiB = 0
	for _, x := range []struct {
		name   string
		phase  Phase
		mib    int64
		wantMs float64 // what the fastest attempt is below the mean
	}{
		{"as in the fit", fitted, 8, 200},
		{"four times the bytes", fitted, 32, 200},
		{"half of them", fitted, 4, 200},
		{"so few that it takes no time at least", fitted, 1, 125},
		{"of several sizes, four times the bytes", proportional, 32, 800},
	} {
		mean := x.phase.at(x.mib << 20)
		ratios := x.phase.Ratios(x.mib << 20)
		sum := 0.0
		for i := 1; i < len(ratios); i++ {
			sum += float64(ratios[i-1]+ratios[i]) / 2 / float64(len(ratios)-1)
		}
		if got := sum / float64(sim.RatioOne); math.Abs(got-1) > 0.001 {
			t.Errorf("%s: the mean of the ratios is %.3f, want 1", x.name, got)
		}
		if got := mean * (1 - float64(ratios[0])/float64(sim.RatioOne)); math.Abs(got-x.wantMs) > 1 {
			t.Errorf("%s: the fastest attempt is %.0f ms below the mean, want %.0f", x.name, got, x.wantMs)
		}
	}
}
