package drive

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/harness/internal/cputime"
	"heddle/traces"
	"heddle/yarnclient/yarntest"
)

// BenchmarkDecisions steers nodes of the fake cluster, on whose side part of the time is
// spent, as fast as it goes: the clock is moved on whenever the Driver has nothing to do.
// Each node gets four maps. Its cpu-us/decision is to stay the same however many nodes there are.
func BenchmarkDecisions(b *testing.B) {
	for _, nodes := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) { benchmarkDecisions(b, nodes) })
	}
}

func benchmarkDecisions(b *testing.B, nodes int) {
	decisions, computed := 0, time.Duration(0)
	for b.Loop() {
		began, computedBefore := time.Now(), cputime.Used()
		f := steered(b, yarntest.Config{
			Nodes: yarntest.Workers(nodes/40, 40, 512, 8), Async: async, Heartbeat: time.Second, AMHeartbeat: 200 * time.Millisecond,
		})
		run := func(j *yarntest.Job) {
			j.Run = func(string, int, int) (time.Duration, bool) { return time.Second, false }
		}
		ids := []string{f.submit("a", nodes, 0, run), f.submit("b", nodes, 0, run), f.submit("c", nodes, 0, run), f.submit("d", nodes, 0, run)}
		f.await(10*time.Minute, ids...)
		f.stop()
		computed += cputime.Used() - computedBefore
		var first, last traces.Time
		for _, e := range f.events {
			switch e := e.(type) {
			case *traces.Decision:
				if decisions++; first == 0 {
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
	b.ReportMetric(float64(computed.Microseconds())/float64(decisions), "cpu-us/decision")
}
