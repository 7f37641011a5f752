package place

import (
	"hash/fnv"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// racks is a topology of racks of these sizes, the nodes dealt out in turn.
func racks(sizes ...int) *Topology {
	var rackOf []state.RackID
	for left := true; left; {
		left = false
		for r := range sizes {
			if sizes[r] > 0 {
				sizes[r]--
				left = true
				rackOf = append(rackOf, state.RackID(r))
			}
		}
	}
	return New(rackOf)
}

// TestRules holds every block against the rules, on topologies of any shape.
func TestRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rackOf := rapid.SliceOfN(rapid.Map(rapid.Int32Range(0, 5), func(r int32) state.RackID { return state.RackID(r) }), 1, 30).Draw(t, "racks")
		top := New(rackOf)
		size := map[state.RackID]int{}
		for _, r := range rackOf {
			size[r]++
		}
		replication := rapid.IntRange(1, 10).Draw(t, "replication")
		writer := state.NodeID(rapid.IntRange(-1, len(rackOf)-1).Draw(t, "writer"))
		key := draw.Key(rapid.Uint64().Draw(t, "key"))
		got := top.Block([]state.NodeID{7}, key, writer, replication)
		if got[0] != 7 {
			t.Fatalf("what was there is gone: %v", got)
		}
		got = got[1:]
		in := func(i int) state.RackID { return rackOf[got[i]] }
		if writer != state.None && got[0] != writer {
			t.Errorf("the first is on %d, not on the writer %d", got[0], writer)
		}
		sorted := slices.Sorted(slices.Values(got))
		if len(slices.Compact(sorted)) != len(got) {
			t.Errorf("a node twice: %v", got)
		}
		if len(got) > 1 && len(size) > 1 && in(0) == in(1) {
			t.Errorf("the second is in the rack of the first: %v", got)
		}
		if len(got) > 2 && len(size) > 1 {
			switch {
			case size[in(1)] > 1 && in(2) != in(1):
				t.Errorf("the third is not in the rack of the second: %v", got)
			case size[in(1)] == 1 && size[in(0)] > 1 && in(2) != in(0):
				t.Errorf("the third is not in the rack of the first, the second's has no other: %v", got)
			}
		}
		// How many there may be: a rack's nodes, or the bound.
		want, asked := 0, min(replication, len(rackOf))
		bound := asked
		if len(size) > 1 && asked > 1 {
			if bound = (asked-1)/len(size) + 2; bound == asked {
				bound--
			}
		}
		count := map[state.RackID]int{}
		for i := range got {
			count[in(i)]++
		}
		for r, n := range size {
			want += min(n, bound)
			if count[r] > bound {
				t.Errorf("%d in rack %d, of %d with a bound of %d: %v", count[r], r, asked, bound, got)
			}
		}
		if want = min(want, asked); len(got) != want {
			t.Errorf("%d replicas, want %d: %v", len(got), want, got)
		}
	})
}

// TestEven is how often each node has a replica, where all should be alike: chi
// squared below its 99.9 % point of 149 with 99 degrees of freedom (the sum over
// three replicas varies less than that of independent draws).
func TestEven(t *testing.T) {
	top := racks(10, 10, 10, 10, 10, 10, 10, 10, 10, 10)
	for _, replication := range []int{1, 2, 3, 5} {
		var h state.Hosts
		const blocks = 20_000
		top.File(&h, draw.Stream(3, "replicas"), blocks, state.None, replication)
		counts := make([]float64, 100)
		for _, n := range h.Nodes {
			counts[n]++
		}
		chi, want := 0.0, float64(blocks*replication)/100
		for _, c := range counts {
			chi += (c - want) * (c - want) / want
		}
		if chi > 149 {
			t.Errorf("replication %d: chi squared %.0f", replication, chi)
		}
	}
}

// TestFileKeepsItsBlocks: a block does not depend on how many others there are.
func TestFileKeepsItsBlocks(t *testing.T) {
	top := racks(5, 5, 2)
	var short, long state.Hosts
	key := draw.Stream(1, "replicas").At(4)
	top.File(&short, key, 10, state.None, 3)
	top.File(&long, key, 100, state.None, 3)
	if !slices.Equal(short.Nodes, long.Nodes[:30]) || !slices.Equal(short.Ends, long.Ends[:10]) {
		t.Errorf("blocks of the short file on %v, of the long one on %v", short.Nodes, long.Nodes[:30])
	}
}

// TestDigest has where blocks are on every machine.
func TestDigest(t *testing.T) {
	var h state.Hosts
	top := racks(7, 7, 3, 1)
	for r := 1; r <= 6; r++ {
		top.File(&h, draw.Stream(9, "replicas").At(uint64(r)), 1000, state.NodeID(r-2), r)
	}
	cached := state.Hosts{}
	c := NewCache(slices.Repeat([]int64{1 << 30}, 18))
	c.File(&cached, draw.Stream(9, "cache"), &h, 1<<20, Directive{len(h.Ends) / 2, 2})
	sum := fnv.New64a()
	for _, n := range append(h.Nodes, cached.Nodes...) {
		sum.Write([]byte{byte(n)})
	}
	if got, want := sum.Sum64(), uint64(0x9a11308c534afe5b); got != want {
		t.Errorf("digest %#x, want %#x", got, want)
	}
}

func TestNoAllocation(t *testing.T) {
	top := racks(40, 40, 40)
	var h state.Hosts
	if n := testing.AllocsPerRun(10, func() {
		h.Reset()
		top.File(&h, 1, 1000, state.None, 3)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFile(b *testing.B) {
	for _, replication := range []int{1, 2, 3, 4} {
		b.Run("replication="+string(rune('0'+replication)), func(b *testing.B) {
			rackOf := make([]state.RackID, 10_000)
			for n := range rackOf {
				rackOf[n] = state.RackID(n / 40)
			}
			top := New(rackOf)
			var h state.Hosts
			b.ReportAllocs()
			for i := 0; i < b.N; i += 1000 {
				h.Reset()
				top.File(&h, draw.Key(i), 1000, state.None, replication)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*replication), "ns/replica")
		})
	}
}
