package drive

import (
	"strings"
	"testing"
	"time"

	"heddle/traces"
	"heddle/yarnclient/yarntest"
)

// BenchmarkDecisions steers 1,000 nodes of the fake cluster, on whose side part
// of the time is spent, as fast as it goes: the clock is moved on whenever the
// Driver has nothing to do.
func BenchmarkDecisions(b *testing.B) {
	for b.Loop() {
		began := time.Now()
		f := steered(b, yarntest.Config{
			Nodes: yarntest.Workers(25, 40, 512, 8), Async: async, Heartbeat: time.Second, AMHeartbeat: 200 * time.Millisecond,
		})
		run := func(j *yarntest.Job) {
			j.Run = func(string, int, int) (time.Duration, bool) { return time.Second, false }
		}
		ids := []string{f.submit("a", 1000, 0, run), f.submit("b", 1000, 0, run), f.submit("c", 1000, 0, run), f.submit("d", 1000, 0, run)}
		f.await(10*time.Minute, ids...)
		f.stop()
		var first, last traces.Time
		for _, e := range f.events {
			switch e := e.(type) {
			case *traces.Decision:
				if first == 0 {
					first = e.T
				}
			case *traces.Actuation:
				last = max(last, e.GrantedAt)
			}
		}
		count, causes, mispredicted := f.outcomes()
		b.Logf("%v, %d mispredicted in %v\n%s", count, mispredicted, time.Since(began), strings.Join(causes[:min(len(causes), 10)], "\n"))
		b.ReportMetric(float64(count["honoured"])/(float64(last-first)/1e9), "decisions/s")
	}
}
