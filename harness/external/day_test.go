package external_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/external"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/traces/errtest"
	"heddle/traces/exchange"
)

// BenchmarkDay replays a day of FB-2009 on 600 nodes under delay.py. The metrics are the
// decisions and requests a second, and where the time goes: to the protocol (heddle's
// part, pipes, and all that the Python package does besides the rule), to the rule in
// Python, and the rest to the simulator. HEDDLE_DAY names the file of SWIM.
func BenchmarkDay(b *testing.B) {
	file := os.Getenv("HEDDLE_DAY")
	if file == "" {
		file = "../../../shared/data/swim/FB-2009_samples_24_times_1hr_0.tsv"
	}
	if _, err := os.Stat(file); err != nil {
		b.Skip("set HEDDLE_DAY to SWIM's FB-2009_samples_24_times_1hr_0.tsv: ", err)
	}
	interpreter := python(b)
	o := exchange.DefaultImport
	o.Inputs, o.Output, o.Writer, o.Nodes, o.Racks = []string{file}, filepath.Join(b.TempDir(), "day.heddle"), "test", 600, 15
	errtest.Must(exchange.Import(b.Context(), o))
	day := errtest.Must(recorded.Load(o.Output))
	fitted := errtest.Must(replay.CalibrateOne(day, false))
	run := func(c replay.Config) *sim.Result {
		c.Trace, c.Seed, c.Calibration, c.Actuator = day, 1, fitted, config.ActuatorLabels
		r, _, err := replay.Run(&c)
		mustDo(b, err)
		return r
	}
	want := run(replay.Config{Model: config.Model{Model: "delay"}})
	for b.Loop() {
		var asked *external.Model
		began := time.Now()
		got := run(replay.Config{
			Model: config.Model{Model: config.ModelExternal, Command: []string{interpreter, "python/examples/delay.py"}},
			Begin: func(m sched.Model) error { asked, _ = m.(*external.Model); return nil },
		})
		all := time.Since(began).Seconds()
		if got.Digest != want.Digest {
			b.Fatalf("delay.py comes to schedule %v, delay to %v", got.Digest, want.Digest)
		}
		c := asked.Cost()
		b.ReportMetric(float64(c.Decisions), "decisions")
		b.ReportMetric(float64(c.Requests), "requests")
		b.ReportMetric(float64(c.Decisions)/all, "decisions/s")
		b.ReportMetric(float64(c.Requests)/all, "requests/s")
		b.ReportMetric(100*(c.Own+c.Waited-c.Model).Seconds()/all, "%protocol")
		b.ReportMetric(100*c.Own.Seconds()/all, "%heddle's-part")
		b.ReportMetric(100*c.Model.Seconds()/all, "%rule")
		b.ReportMetric(float64(c.BytesSent)/float64(c.Requests), "B/request")
	}
}
