package fluid

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"heddle/harness/state"
)

// BenchmarkTransfer is a read from start to end among two running per node: with
// the uplinks limited alone, as suits large clusters, and with the links too.
// Mixed is 80 % on the node, 10 % in the rack, 10 % off it.
func BenchmarkTransfer(b *testing.B) {
	for _, nodes := range []int{1000, 10_000} {
		for _, link := range []int64{0, 125} {
			for _, mix := range []struct {
				name        string
				local, rack float64
			}{{"local", 1, 0}, {"mixed", .8, .1}, {"rack", 0, 1}, {"off", 0, 0}} {
				b.Run(fmt.Sprintf("nodes=%d/linkMB=%d/%s", nodes, link, mix.name), func(b *testing.B) {
					reads(b, racked(nodes, 40, 100*mb, link*mb, 1250*mb), 2*nodes, mix.local, mix.rack)
				})
			}
		}
	}
}

func reads(b *testing.B, s *System, running int, local, rack float64) {
	type pair struct{ from, to state.NodeID } // drawn before, not to be measured
	pairs := make([]pair, 1<<16)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range pairs {
		to := state.NodeID(rng.IntN(len(s.rackOf)))
		pairs[i] = pair{source(rng, s, to, local, rack), to}
	}
	i, now := 0, int64(0)
	start := func() {
		p := pairs[i%len(pairs)]
		s.Read(now, p.from, p.to, false, 64*mb-int64(i%8)*mb, uint32(i))
		i++
	}
	for now = range int64(500) {
		for s.Next() <= now {
			s.Pop(now)
		}
		for i < running*int(now+1)/500 {
			start()
		}
	}
	step := func() {
		for {
			if _, ok := s.Pop(now); ok {
				start()
				return
			}
			now = s.Next()
		}
	}
	for range 4 * running {
		step()
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuNs()
	for range b.N {
		step()
	}
	b.ReportMetric(float64(cpuNs()-before)/float64(b.N), "cpu-ns/op")
}

// cpuNs is what the process has used of a core: on a busy machine it says more
// than the time.
func cpuNs() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}
