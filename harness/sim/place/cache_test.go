package place

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

func TestDirective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		rackOf := make([]state.RackID, nodes)
		for n := range rackOf {
			rackOf[n] = state.RackID(n % 3)
		}
		blocks := rapid.IntRange(0, 300).Draw(t, "blocks")
		size := rapid.Int64Range(0, 100).Draw(t, "size")
		bytes := rapid.Int64Range(1, 20).Draw(t, "block")
		told := rapid.IntRange(0, blocks).Draw(t, "told")
		copies := rapid.IntRange(1, 3).Draw(t, "copies")
		key := draw.Key(rapid.Uint64().Draw(t, "key"))
		var replicas, cached state.Hosts
		New(rackOf).File(&replicas, key.At(1), blocks, state.None, 3)
		c := NewCache(slices.Repeat([]int64{size}, nodes))
		said := c.File(&cached, key, &replicas, bytes, Directive{told, copies})
		if len(cached.Ends) != blocks {
			t.Fatalf("%d blocks, want %d", len(cached.Ends), blocks)
		}
		used := make([]int64, nodes)
		some := 0
		for b := range blocks {
			has, on := of(&replicas, b), of(&cached, b)
			for i, n := range on {
				if !slices.Contains(has, n) {
					t.Errorf("block %d is cached on %d, its replicas are on %v", b, n, has)
				}
				if slices.Contains(on[:i], n) {
					t.Errorf("block %d is twice on %d", b, n)
				}
				used[n] += bytes
			}
			if len(on) > 0 {
				some++
			}
			if len(on) > copies {
				t.Errorf("block %d has %d copies, want %d", b, len(on), copies)
			}
		}
		for n, u := range used {
			if u > size || c.room[n] != size-u {
				t.Errorf("node %d holds %d of %d and says it has %d left", n, u, size, c.room[n])
			}
		}
		if some != said || some > told {
			t.Errorf("%d blocks are cached, want %d of %d", some, said, told)
		}
		for b := range blocks {
			if some == told || len(of(&cached, b)) > 0 {
				continue
			}
			for _, n := range of(&replicas, b) {
				if c.room[n] >= bytes {
					t.Errorf("%d of %d blocks are cached; node %d has room for block %d", some, told, n, b)
				}
			}
		}
	})
}

// TestLargerDirective has the blocks of the smaller one.
func TestLargerDirective(t *testing.T) {
	top := racks(4, 4)
	var replicas, little, much state.Hosts
	top.File(&replicas, 5, 200, state.None, 2)
	NewCache(slices.Repeat([]int64{1000}, 8)).File(&little, 6, &replicas, 1, Directive{60, 1})
	NewCache(slices.Repeat([]int64{1000}, 8)).File(&much, 6, &replicas, 1, Directive{120, 1})
	for b := range 200 {
		if len(of(&little, b)) > len(of(&much, b)) {
			t.Errorf("block %d is cached of a third and not of two", b)
		}
	}
}

// TestFreeShares: of two replicas the one on the emptier cache is taken more
// often, in proportion.
func TestFreeShares(t *testing.T) {
	replicas := state.Hosts{}
	replicas.Add(0, 1)
	on := [2]int{}
	for i := range uint64(10_000) {
		c := NewCache([]int64{1000, 1000})
		c.room[0] = 250
		var cached state.Hosts
		c.File(&cached, draw.Key(0).At(i), &replicas, 1, Directive{1, 1})
		on[cached.Nodes[0]]++
	}
	if share := float64(on[0]) / 10_000; math.Abs(share-.2) > .012 { // three deviations
		t.Errorf("%v on the node with a quarter free beside one with all, want 0.2", share)
	}
}

func of(h *state.Hosts, b int) []state.NodeID {
	start := int32(0)
	if b > 0 {
		start = h.Ends[b-1]
	}
	return h.Nodes[start:h.Ends[b]]
}

// naive is an LRU of one slice a node, the newest first.
type naive [][]held

type held struct {
	block uint64
	bytes int64
}

func (l naive) read(n state.NodeID, block uint64, bytes, size int64) (hit bool, evicted []uint64) {
	i := slices.IndexFunc(l[n], func(h held) bool { return h.block == block })
	if i >= 0 {
		h := l[n][i]
		l[n] = slices.Insert(slices.Delete(l[n], i, i+1), 0, h)
		return true, nil
	}
	if bytes > size {
		return false, nil
	}
	sum := bytes
	for _, h := range l[n] {
		sum += h.bytes
	}
	for sum > size {
		last := l[n][len(l[n])-1]
		sum -= last.bytes
		evicted = append(evicted, last.block)
		l[n] = l[n][:len(l[n])-1]
	}
	l[n] = slices.Insert(l[n], 0, held{block, bytes})
	return false, evicted
}

func TestLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		size := rapid.Int64Range(0, 400).Draw(t, "size")
		l, want := NewLRU(slices.Repeat([]int64{size}, nodes)), make(naive, nodes)
		for range rapid.IntRange(0, 400).Draw(t, "reads") {
			n := state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node"))
			if rapid.IntRange(0, 60).Draw(t, "lose") == 0 {
				l.Lose(n, nil)
				want[n] = nil
			}
			block := rapid.Uint64Range(0, 200).Draw(t, "block")
			bytes := 1 + int64(block%7)
			hit, evicted := l.Read(n, block, bytes, nil)
			wantHit, wantEvicted := want.read(n, block, bytes, size)
			if hit != wantHit || !slices.Equal(evicted, wantEvicted) {
				t.Fatalf("block %d on %d: hit %v, evicted %v; want %v, %v", block, n, hit, evicted, wantHit, wantEvicted)
			}
			for block := range uint64(200) {
				has := slices.ContainsFunc(want[n], func(h held) bool { return h.block == block })
				if l.Has(n, block) != has {
					t.Fatalf("node %d has block %d: %v, want %v", n, block, !has, has)
				}
			}
		}
	})
}

func BenchmarkLRU(b *testing.B) {
	const nodes = 1000
	l := NewLRU(slices.Repeat([]int64{64 << 27}, nodes)) // 64 blocks
	var evicted []uint64
	key := draw.Stream(1, "reads")
	read := func(i int) {
		k := key.At(uint64(i))
		_, evicted = l.Read(state.NodeID(k.Below(nodes)), uint64(k.At(0).Below(200)), 1<<27, evicted[:0])
	}
	for i := range 100 * nodes {
		read(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		read(i)
	}
}
