package calibration

import (
	"math"
	"testing"

	"heddle/traces"
)

// TestFitPhaseOfSizes fits attempts of one size and of two. What is known of one size
// says how long attempts of four times the size take.
func TestFitPhaseOfSizes(t *testing.T) {
	of := func(kind traces.TaskKind, list ...[2]float64) (samples []sample) { // MiB and ms of each
		for range 4 {
			for _, x := range list {
				samples = append(samples, sample{kind: kind, level: traces.LevelNode, bytes: int64(x[0] * (1 << 20)), ms: x[1], tookMs: x[1]})
			}
		}
		return samples
	}
	for _, x := range []struct {
		name string
		list []sample
		kind traces.TaskKind
		at   int64 // MiB
		want float64
	}{
		{"maps", of(traces.Map, [2]float64{8, 1000}), traces.Map, 32, 4000},
		{"small reduces", of(traces.Reduce, [2]float64{1, 1000}), traces.Reduce, 4, 1000},
		{"large reduces", of(traces.Reduce, [2]float64{64, 1000}), traces.Reduce, 256, 4000},
		{"small reduces of two sizes", of(traces.Reduce, [2]float64{1, 1000}, [2]float64{2, 1500}), traces.Reduce, 4, 2500},
		{"large reduces of two sizes", of(traces.Reduce, [2]float64{64, 1000}, [2]float64{128, 1500}), traces.Reduce, 256, 2500},
	} {
		p := fitPhase(x.list, x.kind)
		if got := p.at(x.at << 20); math.Abs(got-x.want) > 1 {
			t.Errorf("%s: %d MiB take %.0f ms, want %.0f; %+v", x.name, x.at, got, x.want, p)
		}
	}
}
