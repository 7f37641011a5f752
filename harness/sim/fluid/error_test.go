package fluid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"heddle/harness/cluster"
)

// racked is a system of nodes in racks, all with the same rates.
func racked(nodes, perRack int, disk, link, uplink int64) *System {
	racks := make([]cluster.RackID, nodes)
	for n := range racks {
		racks[n] = cluster.RackID(n / perRack)
	}
	s := New(racks)
	for n := range nodes {
		s.SetRate(0, Disk, int32(n), disk, 0)
		s.SetRate(0, LinkOut, int32(n), link, 0)
		s.SetRate(0, LinkIn, int32(n), link, 0)
	}
	for r := range (nodes + perRack - 1) / perRack {
		s.SetRate(0, UplinkOut, int32(r), uplink, 0)
		s.SetRate(0, UplinkIn, int32(r), uplink, 0)
	}
	return s
}

// drive runs random flows through s and through the reference, and returns the
// relative errors of how long each took.
func drive(t *testing.T, s *System, rng *rand.Rand, flows int, meanGapMs, bytes float64, local, rack float64, slots int) (errs []float64, sumS, sumE float64) {
	e := newExact(s)
	nodes := len(s.rackOf)
	type one struct {
		start, end float64
		ref        *exactFlow
	}
	var all []one
	now := int64(0)
	next := 0.0
	busy := make([]int, nodes)
	at := map[uint32]int{}
	for len(all) < flows || len(at) > 0 {
		if len(all) < flows && s.Next() > int64(next) {
			now = int64(next)
			next += rng.ExpFloat64() * meanGapMs
			to := cluster.NodeID(rng.IntN(nodes))
			if busy[to] >= slots {
				continue
			}
			from := to
			if p := rng.Float64(); p >= local {
				for range 100 {
					from = cluster.NodeID(rng.IntN(nodes))
					if (s.rackOf[from] == s.rackOf[to]) == (p < local+rack) {
						break
					}
				}
			}
			size := int64(bytes)
			if rng.IntN(4) == 0 {
				size = 1 + rng.Int64N(size)
			}
			tag := uint32(len(all))
			id := s.Read(now, from, to, false, size, tag)
			busy[to]++
			at[tag] = int(to)
			all = append(all, one{start: float64(now), ref: e.start(s, id, float64(now), float64(size))})
			continue
		}
		now = s.Next()
		if now == Never {
			t.Fatalf("%d flows run and nothing will end", len(at))
		}
		for {
			tag, ok := s.Pop(now)
			if !ok {
				break
			}
			all[tag].end = float64(now)
			busy[at[tag]]--
			delete(at, tag)
		}
	}
	e.run(math.Inf(1))
	for _, o := range all {
		got, want := o.end-o.start, o.ref.end-o.start
		errs = append(errs, (got-want)/want)
		sumS += got
		sumE += want
	}
	return errs, sumS, sumE
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip("explore")
	}
	for _, c := range []struct {
		name               string
		nodes, perRack     int
		disk, link, uplink int64
		gap                float64
		local, rack        float64
		slots, flows       int
	}{
		{"lab", 4, 2, 80e6, 25e6, 75e5, 900, .4, .3, 2, 2000},
		{"lab local", 4, 2, 80e6, 25e6, 75e5, 400, .8, .1, 2, 2000},
		{"small", 10, 5, 80e6, 125e6, 200e6, 90, .5, .2, 8, 2000},
		{"small tight", 10, 5, 80e6, 125e6, 60e6, 200, .5, .2, 8, 2000},
		{"mid", 40, 10, 80e6, 125e6, 125e6, 60, .5, .2, 8, 3000},
		{"mid transition", 40, 10, 80e6, 125e6, 250e6, 35, .5, .2, 8, 3000},
		{"mid links", 40, 10, 400e6, 60e6, 250e6, 60, .2, .3, 8, 3000},
	} {
		s := racked(c.nodes, c.perRack, c.disk, c.link, c.uplink)
		errs, a, b := drive(t, s, rand.New(rand.NewPCG(1, 2)), c.flows, c.gap, 64<<20, c.local, c.rack, c.slots)
		var abs, worst, sq float64
		for _, e := range errs {
			abs += math.Abs(e)
			sq += e * e
			worst = max(worst, math.Abs(e))
		}
		n := float64(len(errs))
		fmt.Printf("%-16s flows %d mean ms %.0f exact %.0f (%.2f%%)  mean abs err %.2f%% rms %.2f%% worst %.1f%%\n", c.name, len(errs), a/n, b/n, 100*(a-b)/b, 100*abs/n, 100*math.Sqrt(sq/n), 100*worst)
	}
}
