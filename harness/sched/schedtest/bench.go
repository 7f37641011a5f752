package schedtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// Benchmark measures a task's life under a model on 1,000 nodes of 8 slots: its
// part of the submission, the heartbeat of the node on which a slot is free, the
// decision, start and end; once with one job of 200 maps that waits at a time, and
// once with 30.
func Benchmark(b *testing.B, m sched.Info, p sched.Params) {
	for _, depth := range []int{1, 30} {
		b.Run(fmt.Sprintf("%s/depth=%d", m.Name, depth), func(b *testing.B) { benchmark(b, m, p, depth) })
	}
}

func benchmark(b *testing.B, info sched.Info, p sched.Params, depth int) {
	const nodes, slots, maps = 1000, 8, 200
	slot := state.Resource{MemoryMB: slotSize.MemoryMB, VCores: 1}
	s := state.New()
	for n := range nodes {
		if _, err := s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", n/40), slot.Times(slots)); err != nil {
			b.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	spec := state.JobSpec{Name: "job", Maps: maps, MapSize: slot}
	m, err := info.New(p)
	if err != nil {
		b.Fatal(err)
	}
	v := s.View()
	var offers sched.Offers
	ring := make([]sched.Decision, 0, nodes*slots)
	started := 0
	start := func(d sched.Decision) bool {
		started++
		ring = append(ring, d)
		return s.Start(d.Job, d.Task, d.Node) == nil
	}
	oldest := 0
	cycle := func(i int) {
		for len(v.WaitingJobs(state.Map)) < depth {
			spec.Replicas.Reset()
			for range spec.Maps {
				second := rng.IntN(nodes)
				spec.Replicas.Add(state.NodeID(rng.IntN(nodes)), state.NodeID(second), state.NodeID((second+1)%nodes))
			}
			id, err := s.Submit(&spec)
			if err != nil {
				b.Fatal(err)
			}
			s.Ask(id, state.Map, maps)
		}
		n := state.NodeID(i % nodes)
		if len(ring)-oldest >= nodes*slots*9/10 {
			d := ring[oldest]
			if err := s.Finish(d.Job, d.Task); err != nil {
				b.Fatal(err)
			}
			if v.Done(d.Job, state.Map) == maps {
				s.EndJob(d.Job)
			}
			n = d.Node
			if oldest++; oldest == nodes*slots {
				ring = append(ring[:0], ring[oldest:]...)
				oldest = 0
			}
		}
		s.SetNow(int64(i) * 1e6)
		offers.Heartbeat(m, v, n, start)
	}
	beats := 0
	for ; started < 2*nodes*slots; beats++ {
		cycle(beats)
	}
	b.ReportAllocs()
	b.ResetTimer()
	started = 0
	warm := beats
	for ; started < b.N; beats++ {
		cycle(beats)
	}
	b.ReportMetric(float64(beats-warm)/float64(b.N), "heartbeats/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtasks/s")
}
