package replay

import (
	"strings"
	"testing"

	"heddle/harness/replay/recorded"
)

// TestDoubtsOfCalibration: a replay that is far off under a calibration says what to do.
func TestDoubtsOfCalibration(t *testing.T) {
	o := &RecordedOrder{MakespanPct: 30, Jobs: 1, of: 1}
	got := o.doubts(&recorded.Trace{}, true, nil)
	if len(got) != 1 || !strings.Contains(got[0], `"heddle replay --calibrate" fits one to this trace`) {
		t.Errorf("%q", got)
	}
}
