package workload

import (
	"testing"

	"heddle/harness/workload/traceplan"
)

// TestTraceSleeps: the maps of a trace's job sleep besides what they compute, on a cluster and
// simulated, and use a core for that share of their time only.
func TestTraceSleeps(t *testing.T) {
	j := &traceplan.Job{Maps: []traceplan.Map{{LengthBytes: 1 << 20, CPUMs: 2000}, {LengthBytes: 1 << 20}}}
	x := jobOf(j, 8000)
	for i, want := range []struct {
		ms      int32
		percent uint8
	}{{10_000, 20}, {8000, 1}} {
		if w := x.Work.Maps[i]; w.ComputeMs != want.ms || w.CoresPercent != want.percent {
			t.Errorf("map %d takes %d ms with %d %% of a core, want %+v", i, w.ComputeMs, w.CoresPercent, want)
		}
	}
	s := specOf(j, 1, 8000)
	if len(s.Maps.SleepMs) != 1 || s.Maps.SleepMs[0].Value != 8000 {
		t.Errorf("on a cluster maps sleep %+v, want 8000 ms each", s.Maps.SleepMs)
	}
	if w := jobOf(j, 0).Work.Maps[0]; w.ComputeMs != 2000 || w.CoresPercent != 0 {
		t.Errorf("without a sleep: %+v", w)
	}
}
