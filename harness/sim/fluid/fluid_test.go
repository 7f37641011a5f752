package fluid

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"heddle/harness/state"
)

const mb = 1_000_000

// lab is two racks of two nodes: disks of 80 MB/s, links of 25, uplinks of 10,
// memory of 1000 to a reader, two cores.
func lab() *System {
	s := racked(4, 2, 80*mb, 25*mb, 10*mb)
	for n := range int32(4) {
		s.SetRate(0, Memory, n, 0, 1000*mb)
		s.SetRate(0, Cores, n, 2e6, 1e6)
	}
	return s
}

// end is a flow's tag and when it ended.
type end struct {
	tag uint32
	ms  int64
}

func drain(s *System) (ends []end) {
	for now := s.Next(); now != Never; now = s.Next() {
		for tag, ok := s.Pop(now); ok; tag, ok = s.Pop(now) {
			ends = append(ends, end{tag, now})
		}
	}
	return ends
}

// closedForms are transfers whose ends can be worked out by hand.
var closedForms = []struct {
	name string
	do   func(s *System)
	want []end
}{
	{"one read has the disk", func(s *System) { s.Read(0, 0, 0, false, 80*mb, 1) }, []end{{1, 1000}}},
	{"n equal reads take n times as long", func(s *System) {
		for i := range uint32(5) {
			s.Read(0, 0, 0, false, 80*mb, i)
		}
	}, []end{{0, 5000}, {1, 5000}, {2, 5000}, {3, 5000}, {4, 5000}}},
	{"the shorter leaves, the longer is faster", func(s *System) {
		s.Read(0, 0, 0, false, 120*mb, 1) // 40 MB/s until 2000, then 80
		s.Read(0, 0, 0, false, 80*mb, 2)
	}, []end{{2, 2000}, {1, 2500}}},
	{"one comes later", func(s *System) {
		s.Read(0, 0, 0, false, 80*mb, 1) // half done at 500, then 40 MB/s
		s.Read(500, 0, 0, false, 80*mb, 2)
	}, []end{{1, 1500}, {2, 2000}}},
	{"in the rack the link limits", func(s *System) { s.Read(0, 0, 1, false, 50*mb, 1) }, []end{{1, 2000}}},
	{"between racks the uplink", func(s *System) { s.Read(0, 0, 2, false, 10*mb, 1) }, []end{{1, 1000}}},
	{"what the uplink leaves of the disk is the local read's", func(s *System) {
		s.Read(0, 0, 2, false, 20*mb, 1) // 10 MB/s
		s.Read(0, 0, 0, false, 70*mb, 2) // 70
	}, []end{{2, 1000}, {1, 2000}}},
	{"two uplinks: the fuller one limits, the other's rest goes to who has no other", func(s *System) {
		s.Read(0, 0, 2, false, 5*mb, 1)
		s.Read(0, 1, 3, false, 5*mb, 2)
	}, []end{{1, 1000}, {2, 1000}}},
	{"cached copies know no disk", func(s *System) {
		for i := range uint32(8) {
			s.Read(0, 0, 0, false, 80*mb, i)
		}
		s.Read(0, 0, 0, true, 100*mb, 8)
		s.Read(0, 0, 0, true, 100*mb, 9)
	}, []end{{8, 100}, {9, 100}, {0, 8000}, {1, 8000}, {2, 8000}, {3, 8000}, {4, 8000}, {5, 8000}, {6, 8000}, {7, 8000}}},
	{"a cached copy in the rack comes at the link's rate", func(s *System) { s.Read(0, 0, 1, true, 25*mb, 1) }, []end{{1, 1000}}},
	{"a write passes the other's disk", func(s *System) {
		s.Read(0, 1, 1, false, 55*mb, 1)
		s.Write(0, 0, 1, 25*mb, 2)
	}, []end{{1, 1000}, {2, 1000}}},
	{"a fetch of four streams weighs four", func(s *System) {
		s.Fetch(0, 0, 2, 4, 8*mb, 1)
		s.Read(0, 0, 3, false, 2*mb, 2)
	}, []end{{1, 1000}, {2, 1000}}},
	{"a fetch in the rack passes the link alone", func(s *System) { s.Fetch(0, 0, 1, 5, 25*mb, 1) }, []end{{1, 1000}}},
	{"two cores, eight computations", func(s *System) {
		for i := range uint32(8) {
			s.Compute(0, 0, 1e6, i)
		}
	}, []end{{0, 4000}, {1, 4000}, {2, 4000}, {3, 4000}, {4, 4000}, {5, 4000}, {6, 4000}, {7, 4000}}},
	{"one computation has one core", func(s *System) { s.Compute(0, 0, 1e6, 1) }, []end{{1, 1000}}},
	{"four on two cores, then two", func(s *System) {
		s.Compute(0, 0, 1e6, 1)
		s.Compute(0, 0, 1e6, 2)
		s.Compute(0, 0, 2e6, 3)
		s.Compute(0, 0, 2e6, 4)
	}, []end{{1, 2000}, {2, 2000}, {3, 3000}, {4, 3000}}},
	{"one machine under all nodes", func(s *System) {
		s.SetRate(0, Host, 0, 2e6, 1e6)
		for i := range uint32(8) {
			s.Compute(0, state.NodeID(i/2), 1e6, i)
		}
	}, []end{{0, 4000}, {1, 4000}, {2, 4000}, {3, 4000}, {4, 4000}, {5, 4000}, {6, 4000}, {7, 4000}}},
	{"longer than the wheel", func(s *System) { s.Read(0, 0, 0, false, 80_000*mb, 1) }, []end{{1, 1000_000}}},
	{"after a long rest", func(s *System) { s.Read(5_000_000, 0, 0, false, 8000*mb, 1) }, []end{{1, 5_100_000}}},
	{"a disk slows down", func(s *System) {
		s.Read(0, 0, 0, false, 80*mb, 1)
		s.SetRate(500, Disk, 0, 20*mb, 0)
	}, []end{{1, 2500}}},
	{"a disk slows down below the uplink", func(s *System) {
		s.Read(0, 0, 2, false, 20*mb, 1)
		s.SetRate(1000, Disk, 0, 5*mb, 0)
	}, []end{{1, 3000}}},
	{"an uplink widens beyond the link", func(s *System) {
		s.Read(0, 0, 2, false, 60*mb, 1)
		s.SetRate(1000, UplinkIn, 1, 1000*mb, 0)
		s.SetRate(1000, UplinkOut, 0, 1000*mb, 0)
	}, []end{{1, 3000}}},
	{"a limit is taken off", func(s *System) {
		s.Read(0, 0, 2, false, 60*mb, 1)
		s.SetRate(1000, UplinkIn, 1, 0, 0)
		s.SetRate(1000, UplinkOut, 0, 0, 0)
	}, []end{{1, 3000}}},
	{"one is cancelled", func(s *System) {
		s.Read(0, 0, 0, false, 80*mb, 1)
		f := s.Read(0, 0, 0, false, 80*mb, 2)
		s.Cancel(1000, f)
	}, []end{{1, 1500}}},
	{"one is cancelled that was limited elsewhere", func(s *System) {
		s.Read(0, 0, 0, false, 150*mb, 1)
		f := s.Read(0, 0, 2, false, 80*mb, 2)
		s.Cancel(1000, f)
	}, []end{{1, 2000}}},
	{"ends of one millisecond come as started", func(s *System) {
		s.Read(0, 3, 3, false, 80*mb, 1)
		s.Read(0, 1, 1, false, 80*mb, 2)
		s.Read(0, 2, 2, false, 80*mb, 3)
		s.Read(0, 0, 0, false, 80*mb, 4)
	}, []end{{1, 1000}, {2, 1000}, {3, 1000}, {4, 1000}}},
}

// TestClosedForms are cases whose ends are known, to the millisecond.
func TestClosedForms(t *testing.T) {
	for _, c := range closedForms {
		t.Run(c.name, func(t *testing.T) {
			s := lab()
			c.do(s)
			if got := drain(s); !slices.Equal(got, c.want) {
				t.Errorf("ends %v, want %v", got, c.want)
			}
		})
	}
}

// TestManyEnds has a hundred flows end in one millisecond. They end in the order of starts.
func TestManyEnds(t *testing.T) {
	const nodes = 100
	s := racked(nodes, 10, 80*mb, 0, 0)
	var want []end
	for i := range uint32(nodes) {
		s.Read(0, state.NodeID(nodes-1-i), state.NodeID(nodes-1-i), false, 80*mb, i)
		want = append(want, end{i, 1000})
	}
	if got := drain(s); !slices.Equal(got, want) {
		t.Errorf("ends %v, want %v", got, want)
	}
}

// TestNothingLimits is what costs nothing.
func TestNothingLimits(t *testing.T) {
	s := New(make([]state.RackID, 2))
	s.SetRate(0, Disk, 0, 80*mb, 0)
	for name, f := range map[string]Flow{
		"a read without a limit":  s.Read(0, 1, 1, false, 100*mb, 1),
		"a computation":           s.Compute(0, 0, 100*mb, 1),
		"a fetch":                 s.Fetch(0, 0, 1, 5, 100*mb, 1),
		"a read of nothing":       s.Read(0, 0, 0, false, 0, 1),
		"one of less than that":   s.Read(0, 0, 0, false, -1, 1),
		"a write to another node": s.Write(0, 0, 1, 100*mb, 1),
	} {
		if f != Ended {
			t.Errorf("%s: flow %d, want Ended", name, f)
		}
	}
	if s.Next() != Never {
		t.Errorf("something ends at %d", s.Next())
	}
	s.Cancel(0, Ended)
	if left := s.Left(0, Ended); left != 0 {
		t.Errorf("%d left of it", left)
	}
}

func TestLeft(t *testing.T) {
	s := lab()
	a := s.Read(0, 0, 0, false, 80*mb, 1)
	b := s.Fetch(0, 0, 2, 5, 20*mb, 2)
	for _, c := range []struct{ ms, a, b int64 }{{0, 80 * mb, 20 * mb}, {250, 60 * mb, 175e5}, {999, 80_000, 1001e4}} {
		if left := s.Left(c.ms, a); left != c.a {
			t.Errorf("at %d ms %d left of the read, want %d", c.ms, left, c.a)
		}
		if left := s.Left(c.ms, b); left != c.b {
			t.Errorf("at %d ms %d left of the fetch, want %d", c.ms, left, c.b)
		}
	}
}

// TestCancelEnded is a flow that ended in the millisecond in which it is
// cancelled, before it was popped: a node that is lost.
func TestCancelEnded(t *testing.T) {
	s := lab()
	s.Read(0, 0, 0, false, 80*mb, 1)
	b := s.Read(0, 1, 1, false, 80*mb, 2)
	if tag, ok := s.Pop(1000); tag != 1 || !ok {
		t.Fatalf("popped %d, %v", tag, ok)
	}
	s.Cancel(1000, b)
	if tag, ok := s.Pop(1000); ok {
		t.Errorf("popped %d, which was cancelled", tag)
	}
	c := s.Read(1000, 1, 1, false, 80*mb, 3)
	if c != b {
		t.Errorf("flow %d, want %d used again", c, b)
	}
	if got := drain(s); !slices.Equal(got, []end{{3, 2000}}) {
		t.Errorf("ends %v", got)
	}
}

// digest is of the ends of a mix of everything.
func digest(s *System, seed uint64, flows int) uint64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	h := fnv.New64a()
	nodes := len(s.rackOf)
	running := map[uint32]Flow{} // looked up, never ranged over
	now := int64(0)
	for i := range uint32(flows) {
		for until := now + rng.Int64N(40); ; {
			t := min(s.Next(), until)
			now = t
			tag, ok := s.Pop(now)
			if ok {
				delete(running, tag)
				h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, tag), uint64(now)))
			} else if t == until && s.Next() > now {
				break
			}
		}
		from, to := state.NodeID(rng.IntN(nodes)), state.NodeID(rng.IntN(nodes))
		f := Ended
		switch rng.IntN(8) {
		case 0:
			f = s.Fetch(now, s.rackOf[from], to, 5, rng.Int64N(64*mb), i)
		case 1:
			f = s.Write(now, from, to, rng.Int64N(64*mb), i)
		case 2:
			f = s.Compute(now, to, rng.Int64N(5e6), i)
		case 3, 4:
			f = s.Read(now, from, to, rng.IntN(3) == 0, rng.Int64N(64*mb), i)
		case 5:
			s.SetRate(now, Disk, int32(to), 20*mb+rng.Int64N(100*mb), 0)
		case 6:
			tag := i - rng.Uint32N(20)
			if f, ok := running[tag]; ok {
				s.Cancel(now, f)
				delete(running, tag)
			}
		default:
			f = s.Read(now, to, to, false, 64*mb, i)
		}
		if f != Ended {
			running[i] = f
		}
	}
	for _, e := range drain(s) {
		delete(running, e.tag)
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, e.tag), uint64(e.ms)))
	}
	if len(running) > 0 {
		return 0
	}
	return h.Sum64()
}

// TestDigest has the ends that every machine must see.
func TestDigest(t *testing.T) {
	first := digest(lab(), 1, 20_000)
	const want = 0x1c1a81e728f4ec59
	if first != want {
		t.Errorf("digest %#x, want %#x", first, uint64(want))
	}
	if other := digest(lab(), 2, 20_000); other == first {
		t.Error("another seed, the same digest")
	}
}

// TestNoAllocation runs the steady state.
func TestNoAllocation(t *testing.T) {
	s := racked(40, 10, 80*mb, 125*mb, 250*mb)
	rng := rand.New(rand.NewPCG(1, 2))
	now := int64(0)
	run := func(flows int) {
		for i := range uint32(flows) {
			for s.Next() <= now+3 {
				now = max(now, s.Next())
				for _, ok := s.Pop(now); ok; _, ok = s.Pop(now) {
				}
			}
			now += 3
			to := state.NodeID(rng.IntN(40))
			s.Read(now, source(rng, s, to, .5, .2), to, false, 32*mb, i)
		}
	}
	run(200_000)
	if n := testing.AllocsPerRun(5, func() { run(2000) }); n > 2 { // some heap was never as large before
		t.Errorf("%v allocations for 2000 flows", n)
	}
}

// TestSizes holds what is touched at random to one line of a cache each. Whoever makes
// a record larger has to show what it costs on a large cluster.
func TestSizes(t *testing.T) {
	const line = 64
	for name, size := range map[string]uintptr{
		"resource": unsafe.Sizeof(resource{}), "passing": unsafe.Sizeof(passing{}), "flow": unsafe.Sizeof(flow{}),
		"four entries of a heap": unit * unsafe.Sizeof(entry{}),
	} {
		if size != line {
			t.Errorf("%s: %d bytes, want %d", name, size, line)
		}
	}
}
