package why_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"heddle/harness/measure"
	_ "heddle/harness/paper/models"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// load is a busy cluster of 100 nodes with jobs of 300 maps and 10 reduces.
func load(model string, jobs int) *sim.Config {
	const nodes = 100
	c := &sim.Config{Costs: sim.DefaultCosts(), Seed: 1}
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	for n := range nodes {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{Name: fmt.Sprintf("r%dn%d", n/20, n%20), Rack: fmt.Sprintf("/r%d", n/20), Capacity: size.Times(8)})
	}
	source := &sim.Jobs{}
	key := draw.Stream(1, "load")
	for i := range jobs {
		j := sim.Job{SubmitMs: int64(i) * 2000, SlowStart: 0.5, ID: traces.JobID(fmt.Sprintf("job_1_%04d", i))}
		j.JobSpec = state.JobSpec{Name: fmt.Sprint("job", i), Maps: 300, Reduces: 10, MapSize: size, ReduceSize: size}
		j.MapWork = []sim.Work{{InputBytes: 64 << 20, ComputeMs: 4000, SpreadPercent: 40}}
		j.ReduceWork = []sim.Work{{OutputBytes: 64 << 20, ComputeMs: 3000}}
		j.AMSize = size
		for m := range uint64(300) {
			a := key.At(uint64(i)).At(m).Below(nodes)
			j.Replicas.Add(state.NodeID(a), state.NodeID((a+37)%nodes), state.NodeID((a+38)%nodes))
		}
		source.List = append(source.List, j)
	}
	c.Source = source
	m, err := sched.New(model, nil)
	if err != nil {
		panic(err)
	}
	c.Model = m
	return c
}

// record simulates as experiments do: events are sorted, written and measured.
func record(b *testing.B, model string, actuator sim.Actuator, reasons bool) (took time.Duration, bytes, events int64) {
	c := load(model, 40)
	c.Actuator, c.Reasons = actuator, reasons
	begun := used()
	sorter := tracefile.NewSorter(os.TempDir())
	defer sorter.Close()
	c.Record = func(e traces.Event) { _ = sorter.Add(e); events++ }
	if _, err := sim.Run(c); err != nil {
		b.Fatal(err)
	}
	h := traces.Header{Format: 1, Model: model, Origin: traces.Simulated}
	of := measure.New(h)
	out := &counter{}
	if err := sorter.Encode(out, "bench", h, of.Add, ""); err != nil {
		b.Fatal(err)
	}
	of.Figures()
	return used() - begun, out.n, events
}

// used is the time that the process has computed.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)

// BenchmarkReasons says how much longer a simulation with its trace takes if reasons are
// recorded. Runs with and without take turns, and the quartiles of the ratios of pairs are
// reported.
func BenchmarkReasons(b *testing.B) {
	for _, model := range []string{"fifo", "delay", "acl", "capacity", "fair"} {
		for _, actuator := range []sim.Actuator{sim.Native, sim.Ideal} {
			b.Run(fmt.Sprintf("%s/%d", model, actuator), func(b *testing.B) {
				var ratios []float64
				least := [2]time.Duration{1 << 60, 1 << 60}
				var size, all [2]int64
				for range b.N {
					var t [2]time.Duration
					for i := range t {
						t[i], size[i], all[i] = record(b, model, actuator, i == 1)
						least[i] = min(least[i], t[i])
					}
					ratios = append(ratios, t[1].Seconds()/t[0].Seconds())
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/4], "ratio-q1")
				b.ReportMetric(ratios[len(ratios)/2], "ratio-median")
				b.ReportMetric(ratios[len(ratios)*3/4], "ratio-q3")
				b.ReportMetric(least[1].Seconds()/least[0].Seconds(), "ratio-least")
				b.ReportMetric(float64(size[1])/float64(size[0]), "bytes-ratio")
				b.ReportMetric(float64(all[1])/float64(all[0]), "events-ratio")
			})
		}
	}
}
