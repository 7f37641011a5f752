package fluid

import (
	"math"
	"math/rand/v2"
	"testing"

	"heddle/harness/state"
)

// The tolerance: over the flows of a case durations are off by at most these
// shares of the reference's. A flow shorter than 50 ms counts as one of 50:
// whole milliseconds are not what is tested.
const (
	toleranceBias  = .005 // mean of the errors
	toleranceMean  = .01  // mean of the absolute errors
	toleranceRMS   = .02
	toleranceWorst = .5 // any one flow
)

// TestAgainstExact holds random reads against max-min rates that are computed
// anew for every start and end.
func TestAgainstExact(t *testing.T) {
	cases := []struct {
		name               string
		nodes, perRack     int
		disk, link, uplink int64 // bytes a second
		gapMs              float64
		local, rack        float64 // shares of the reads
		slots              int
	}{
		{"lab, few local", 4, 2, 80e6, 25e6, 75e5, 900, .4, .3, 2},
		{"lab, most local", 4, 2, 80e6, 25e6, 75e5, 400, .8, .1, 2},
		{"racks of five", 10, 5, 80e6, 125e6, 200e6, 90, .5, .2, 8},
		{"narrow uplinks", 10, 5, 80e6, 125e6, 60e6, 200, .5, .2, 8},
		{"racks of ten", 40, 10, 80e6, 125e6, 125e6, 60, .5, .2, 8},
		{"uplinks at the edge", 40, 10, 80e6, 125e6, 250e6, 35, .5, .2, 8},
		{"links before disks", 40, 10, 400e6, 60e6, 250e6, 60, .2, .3, 8},
		{"no limit on links", 40, 10, 80e6, 0, 200e6, 40, .5, .2, 8},
		{"racks of forty", 160, 40, 80e6, 125e6, 700e6, 9, .3, .3, 8},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.nodes > 100 {
				t.Skip("the reference takes seconds on so many nodes: run without -short")
			}
			var bias, mean, squares, worst, n float64
			s := racked(c.nodes, c.perRack, c.disk, c.link, c.uplink)
			rng := rand.New(rand.NewPCG(1, 2))
			for _, d := range durations(t, s, rng, 2400, c.slots, c.gapMs, c.local, c.rack) {
				off := (d.got - d.want) / max(d.want, 50)
				bias += off
				mean += math.Abs(off)
				squares += off * off
				worst = max(worst, math.Abs(off))
				n++
			}
			bias, mean = bias/n, mean/n
			rms := math.Sqrt(squares / n)
			t.Logf("%.0f flows: bias %+.2f%%, mean %.2f%%, rms %.2f%%, worst %.1f%%", n, 100*bias, 100*mean, 100*rms, 100*worst)
			if math.Abs(bias) > toleranceBias || mean > toleranceMean || rms > toleranceRMS || worst > toleranceWorst {
				t.Error("more than the tolerance")
			}
		})
	}
}

type duration struct{ got, want float64 } // ms

// durations runs random reads of up to 64 MiB through s and the reference: with
// exponential gaps, a free slot given.
func durations(t *testing.T, s *System, rng *rand.Rand, reads, slots int, gapMs, local, rack float64) []duration {
	type read struct {
		start, end int64
		ref        *exactFlow
		to         state.NodeID
	}
	var all []read
	e := newExact(s)
	busy := make([]int, len(s.rackOf))
	running := 0
	for at := 0.0; len(all) < reads || running > 0; {
		if now := int64(at); len(all) < reads && now < s.Next() {
			at += rng.ExpFloat64() * gapMs
			to := state.NodeID(rng.IntN(len(busy)))
			if busy[to] == slots {
				continue
			}
			from := source(rng, s, to, local, rack)
			bytes := int64(64 << 20)
			if rng.IntN(4) == 0 {
				bytes = 1 + rng.Int64N(bytes)
			}
			id := s.Read(now, from, to, false, bytes, uint32(len(all)))
			all = append(all, read{start: now, ref: e.start(s, id, float64(now), float64(bytes)), to: to})
			busy[to]++
			running++
			continue
		}
		now := s.Next()
		if now == Never {
			t.Fatalf("%d flows run and none will end", running)
		}
		for tag, ok := s.Pop(now); ok; tag, ok = s.Pop(now) {
			all[tag].end = now
			busy[all[tag].to]--
			running--
		}
	}
	e.run(math.Inf(1))
	var out []duration
	for _, r := range all {
		out = append(out, duration{float64(r.end - r.start), r.ref.end - float64(r.start)})
	}
	return out
}

// source is where a read is from: the node itself, one in its rack, or another.
func source(rng *rand.Rand, s *System, to state.NodeID, local, rack float64) state.NodeID {
	p := rng.Float64()
	if p < local {
		return to
	}
	for {
		from := state.NodeID(rng.IntN(len(s.rackOf)))
		if (s.rackOf[from] == s.rackOf[to]) == (p < local+rack) {
			return from
		}
	}
}

// racked is a system of nodes in racks, all with the same rates.
func racked(nodes, perRack int, disk, link, uplink int64) *System {
	racks := make([]state.RackID, nodes)
	for n := range racks {
		racks[n] = state.RackID(n / perRack)
	}
	s := New(racks)
	for n := range int32(nodes) {
		s.SetRate(0, Disk, n, disk, 0)
		s.SetRate(0, LinkOut, n, link, 0)
		s.SetRate(0, LinkIn, n, link, 0)
	}
	for r := range int32((nodes + perRack - 1) / perRack) {
		s.SetRate(0, UplinkOut, r, uplink, 0)
		s.SetRate(0, UplinkIn, r, uplink, 0)
	}
	return s
}
