package capture

import (
	"math"
	"testing"
	"time"

	"heddle/traces"
)

// TestForget: a trial's load averages are as if the node had been idle before, whatever
// load it began with.
func TestForget(t *testing.T) {
	for _, before := range []float64{0, 0.3, 9} {
		r := nodeRecord{before: -1}
		for sec := range 300 {
			minutes := float64(sec) / 60
			own := 4 * (1 - math.Exp(-minutes)) // of four tasks since the first sample
			e := &traces.NodeSample{T: traces.Time(time.Duration(7+sec) * time.Second), Load1: before*math.Exp(-minutes) + own}
			if r.forget(e); math.Abs(e.Load1-own) > 1e-9 {
				t.Fatalf("load %g before, after %d s: %g, want %g", before, sec, e.Load1, own)
			}
		}
	}
	r := nodeRecord{before: -1}
	e := &traces.NodeSample{Load1: -1}
	if r.forget(e); e.Load1 != -1 || r.before != -1 {
		t.Errorf("a load that is not measured becomes %g, and %g is taken out from then on", e.Load1, r.before)
	}
}
