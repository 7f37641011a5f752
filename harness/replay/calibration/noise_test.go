package calibration

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"heddle/traces/errtest"
)

// TestIntervalHolds draws runs whose times have a known spread, and simulated ones with
// less. The interval of a new run, at another time and so of another speed, has to have it
// in 95 of 100 cases, whether simulated runs differ as much as measured ones or do not
// differ at all.
func TestIntervalHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const cases, runs, sd = 300, 5, 0.08
	for _, simulated := range []float64{0, 0.04, 0.08} {
		held := 0
		for range cases {
			level, squares := 0.0, 0.0
			var measured [runs]float64
			for i := range measured {
				measured[i] = sd * rng.NormFloat64()
				level += measured[i] / runs
			}
			for _, x := range measured {
				squares += (x - level) * (x - level) / (runs - 1)
			}
			var again []float64
			for range 40 { // the fit has made their mean that of the measured runs
				again = append(again, 1000*math.Exp(level+simulated*rng.NormFloat64()))
			}
			n := &Noise{Runs: runs, Measured: math.Sqrt(squares), Simulated: simulated}
			_, lo, hi, ok := n.Interval(again)
			if !ok {
				t.Fatal("no interval from five runs")
			}
			if x := 1000 * math.Exp(sd*rng.NormFloat64()+drift*rng.NormFloat64()); x >= lo && x <= hi {
				held++
			}
		}
		if part := 100 * float64(held) / cases; part < 92 || part > 99 {
			t.Errorf("simulated runs differ by %v: the interval has a new run in %.1f of 100 cases", simulated, part)
		}
	}
}

// TestIntervalNeedsRuns gives no interval where one run, or none, was fitted to.
func TestIntervalNeedsRuns(t *testing.T) {
	for _, n := range []*Noise{nil, {Runs: 1}} {
		if mean, _, _, ok := n.Interval([]float64{900, 1100}); ok || math.Abs(mean-995) > 1 {
			t.Errorf("%+v: mean %v, interval %v", n, mean, ok)
		}
	}
}

// TestNoiseOfFile refuses a calibration file whose noise no runs can have.
func TestNoiseOfFile(t *testing.T) {
	for _, c := range []struct {
		noise Noise
		ok    bool
	}{
		{Noise{5, 0.03, 0.05, nil}, true},
		{Noise{0, 0, 0, nil}, true},
		{Noise{-5, 0.03, 0.05, nil}, false},
		{Noise{5, -1, 0.05, nil}, false},
		{Noise{5, 0.03, 1e300, nil}, false},
		{Noise{5, 1e9, 0, nil}, false},
	} {
		data := errtest.Must(json.Marshal(&Calibration{
			Format: calibrationFormat, Traces: []string{}, SharingSpread: map[string]float64{},
			Workloads: []Workload{}, Noise: &c.noise,
		}))
		if _, err := parse(data); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.noise, err)
		}
	}
}
