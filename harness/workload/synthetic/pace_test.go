package synthetic

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleep has a map of many reads and one without input take the time that they
// sleep, in the virtual time of synctest. They tell Hadoop each 20 s that they live.
func TestSleep(t *testing.T) {
	for _, bytesRead := range []int64{0, 10 << 20} {
		synctest.Test(t, func(t *testing.T) {
			s := &Spec{Seed: 1, Maps: MapTasks{Count: 2, ReadBytes: Same(bytesRead), SleepMs: Each([]int64{0, 100_000})}}
			for index, want := range []time.Duration{0, 100 * time.Second} {
				var out, report bytes.Buffer
				began := time.Now()
				mustDo(t, Map(s, index, Streams{In: bytes.NewReader(someLines(bytesRead)), Out: &out, Report: &report}))
				if took := time.Since(began); took != want {
					t.Errorf("map %d of %d bytes took %v, want %v", index, bytesRead, took, want)
				}
				if told, least := strings.Count(report.String(), "status:sleeping"), int(want/reportInterval)-1; told < least {
					t.Errorf("map %d told Hadoop %d times that it lives, want %d or more", index, told, least)
				}
			}
		})
	}
	wantError(t, errOf((&Spec{Maps: MapTasks{Count: 1, SleepMs: Same(1 << 40)}}).Encode()), "maps.sleepMs")
}
