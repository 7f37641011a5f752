package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// Booked reads and flows give the same schedule: every attempt begins, reads and ends at the
// same times, and the digest, the jobs and the counters are equal.
func TestBooked(t *testing.T) {
	booked := 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		if rapid.Bool().Draw(t, "near their data") {
			c = drawLocal(t)
		}
		if rapid.Bool().Draw(t, "nobody hears of ends") {
			c.Ended = nil
		}
		booked += same(t, c)
	})
	for _, model := range quickModels() {
		for a := Native; a <= Ideal; a++ {
			c := scenario(t, model, a, 0)
			c.Ended = func(AttemptEnd) {}
			booked += same(t, c)
		}
	}
	t.Logf("booking saved %d events", booked)
	if booked == 0 {
		t.Error("nothing was booked")
	}
}

// same runs a configuration with bookings and without, and returns how many events they saved.
func same(t tester, c *Config) int {
	t.Helper()
	got, want := ended(t, c, false), ended(t, c, true)
	for i := range min(len(got.ends), len(want.ends)) {
		if got.ends[i] != want.ends[i] {
			t.Fatalf("attempt %d: booked\n%s\nas flows\n%s", i, got.ends[i], want.ends[i])
		}
	}
	if got.result != want.result {
		t.Fatalf("booked %s\nas flows %s", got.result, want.result)
	}
	return int(want.events - got.events)
}

type outcome struct {
	ends   []string
	result string
	events int64
}

// ended runs a configuration, and returns how all ended.
func ended(t tester, c *Config, never bool) (o outcome) {
	c.Source.(*Jobs).Rewind()
	m := must(sched.New(c.Model.Name(), nil))
	c.Model = m
	if c.Ended != nil || c.Speculation != NoSpeculation {
		c.Ended = func(e AttemptEnd) { o.ends = append(o.ends, fmt.Sprintf("%+v", e)) }
	}
	var s Sim
	s.attempts.booked.never = never
	var r Result
	if err := s.Run(c, &r); err != nil {
		t.Fatal(err)
	}
	o.events, r.Events = r.Events, 0
	o.result = fmt.Sprintf("%+v", r)
	return o
}

// drawLocal draws a cluster whose maps mostly read from their own nodes, so that much is
// booked: some disks are slow, so that reads meet, and some have no limit.
func drawLocal(t *rapid.T) *Config {
	const nodes = 6
	c := &Config{Costs: DefaultCosts(), Seed: rapid.Uint64().Draw(t, "seed"), Ended: func(AttemptEnd) {}}
	c.Costs.NodeExpiryMs = 15_000
	c.Costs.NodeBeatMs = rapid.SampledFrom([]int32{100, 1000}).Draw(t, "beat")
	c.Costs.FreeMs = rapid.SampledFrom([]int32{0, 0, 700}).Draw(t, "freed after")
	c.Costs.AsyncMs = rapid.SampledFrom([]int32{0, 0, 20}).Draw(t, "async")
	c.Cluster.WritesWait = true
	for n := range nodes {
		c.Cluster.Nodes = append(c.Cluster.Nodes, Node{
			Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n%2), Capacity: state.Resource{MemoryMB: 1024, VCores: 1}.Times(4),
			Speed:           rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "speed"),
			DiskBytesPerSec: rapid.SampledFrom([]int64{0, 30e6, 400e6, 400e6}).Draw(t, "disk"), LinkBytesPerSec: 125e6,
			CacheBytes: 1 << 30, MemoryBytesPerSec: rapid.SampledFrom([]int64{0, 1e9}).Draw(t, "memory"),
		})
	}
	c.CacheReads = rapid.Bool().Draw(t, "reads are cached")
	c.Actuator = Actuator(rapid.IntRange(0, 2).Draw(t, "actuator"))
	c.Speculation = Speculation(rapid.IntRange(0, 2).Draw(t, "speculation"))
	c.Faults = drawFaults(t, nodes)
	c.NodeFetches = rapid.Bool().Draw(t, "node fetches")
	jobs := &Jobs{}
	for i := range rapid.Uint64Range(1, 5).Draw(t, "jobs") {
		key := draw.Stream(c.Seed, "job").At(i)
		j := simpleJob(fmt.Sprintf("job_%04d", i), int64(i)*1500, rapid.Int32Range(1, 40).Draw(t, "maps"),
			rapid.Int32Range(0, 3).Draw(t, "reduces"), Work{
				InputBytes: rapid.SampledFrom([]int64{0, 1 << 20, 32 << 20, 128 << 20}).Draw(t, "input"), OutputBytes: 8 << 20,
				ComputeMs: rapid.SampledFrom([]int32{0, 1, 900, 3000}).Draw(t, "compute"), SpreadPercent: 40,
			})
		j.AMSize, j.SlowStart = state.Resource{MemoryMB: 512}, 0.3
		for m := range uint64(j.Maps) {
			n := key.At(m).Below(nodes)
			j.Replicas.Add(state.NodeID(n), state.NodeID((n+1)%nodes), state.NodeID((n+3)%nodes))
		}
		jobs.List = append(jobs.List, j)
	}
	c.Source = jobs
	m := must(sched.New(rapid.SampledFrom(quickModels()).Draw(t, "model"), nil))
	c.Model = m
	return c
}
