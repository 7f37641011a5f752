package replay

import (
	"strings"
	"testing"

	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
)

// TestDoubtsOfCalibration: a replay that is far off under a calibration says what to do.
func TestDoubtsOfCalibration(t *testing.T) {
	o := &RecordedOrder{MakespanPct: 30, Jobs: 1, of: 1}
	for name, want := range map[string]string{"": `"heddle replay --calibrate" fits one to this trace`, "a": "is the mean of 2 traces"} {
		got := o.doubts(&recorded.Trace{Name: name}, &calibration.Calibration{Traces: []string{"a", "b"}}, nil)
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
