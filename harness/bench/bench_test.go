package bench

import (
	"os"
	"testing"

	"heddle/traces/errtest"
)

// BenchmarkLoads runs the standard loads. What counts is processor time a task,
// on a machine that others use too. heddle is built by a profile of it, made anew
// at the top with
//
//	go test -run '^$' -bench 'Loads/synthetic-1k(-nonet|-fair|-late)?$' -benchtime 3x \
//		-cpuprofile cmd/heddle/default.pgo -o /dev/null ./harness/bench
func BenchmarkLoads(b *testing.B) {
	for _, l := range Loads("../../../shared/data/swim") {
		b.Run(l.Name, func(b *testing.B) {
			if l.Needs != "" {
				if _, err := os.Stat(l.Needs); err != nil {
					b.Skip(err)
				}
			}
			for range b.N {
				m := errtest.Must(l.Run(b.Context()))
				b.ReportMetric(m.TasksPerSecond/1e6, "Mtasks/s")
				b.ReportMetric(float64(m.Tasks)/m.CPUSeconds/1e6, "Mtasks/cpu-s")
				b.ReportMetric(m.CPUSeconds, "cpu-s")
				b.ReportMetric(m.EventsPerSecond/1e6, "Mevents/s")
				b.ReportMetric(float64(m.Beats)/float64(m.Tasks), "beats/task")
				b.ReportMetric(m.AllocsPerEvent, "allocs/event")
				b.ReportMetric(float64(m.PeakBytes)/1e6, "MB")
				b.Logf("%+v", *m)
			}
		})
	}
}
