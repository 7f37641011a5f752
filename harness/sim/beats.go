package sim

import (
	"slices"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// beats schedules the heartbeats of the nodes. Each node has an offset, its time
// within the heartbeat interval, and the nodes stand in a ring by offset. One
// bit says whether a node's heartbeat matters, that is, can change anything.
// The others cost nothing.
type beats struct {
	interval int64
	ring     []state.NodeID // nodes in the order of their offsets
	place    []int32        // by node: its index in ring
	offset   []int32        // in ms, by index in ring
	from     []int32        // by millisecond of the interval: the first index in ring with that offset or a later one
	matters  marks          // the set of indexes in ring whose heartbeats matter
	start    int64          // when the present interval began
	cursor   int32          // the nodes before this index in ring have reported in the present interval
	at       int64
}

// reset gives each node an offset, drawn by key. With async, all nodes have offset
// 0.
func (b *beats) reset(nodes int, interval int64, async bool, key draw.Key) {
	b.interval = max(1, interval)
	b.ring, b.place = resized(b.ring, nodes), resized(b.place, nodes)
	b.offset = resized(b.offset, nodes)
	b.from = resized(b.from, int(b.interval)+1)
	b.matters.reset(nodes)
	offsets := make([]int32, nodes)
	for n := range offsets {
		b.ring[n] = state.NodeID(n)
		if !async {
			offsets[n] = int32(key.At(uint64(n)).Below(int(b.interval)))
		}
	}
	slices.SortStableFunc(b.ring, func(x, y state.NodeID) int { return int(offsets[x]) - int(offsets[y]) })
	next := 0
	for p, n := range b.ring {
		b.place[n], b.offset[p] = int32(p), offsets[n]
		for ; next <= int(offsets[n]); next++ {
			b.from[next] = int32(p)
		}
	}
	for ; next < len(b.from); next++ {
		b.from[next] = int32(nodes)
	}
	b.start, b.cursor, b.at = 0, 0, 0
}

// set sets whether a node's heartbeats matter.
func (b *beats) set(n state.NodeID, matters bool) {
	if matters {
		b.matters.set(b.place[n])
	} else {
		b.matters.clear(b.place[n])
	}
}

// next returns the node with the next heartbeat that matters, not before now,
// and its time. It returns None and never if there is none.
func (b *beats) next(now int64) (state.NodeID, int64) {
	if now > b.at {
		b.at = now
		if now >= b.start+b.interval {
			b.start = now - now%b.interval
		}
		b.cursor = b.from[now-b.start]
	}
	if p := b.matters.after(b.cursor); p >= 0 {
		return b.ring[p], b.start + int64(b.offset[p])
	}
	if p := b.matters.after(0); p >= 0 {
		return b.ring[p], b.start + b.interval + int64(b.offset[p])
	}
	return state.None, never
}

// passed says that node n has reported at time t.
func (b *beats) passed(n state.NodeID, t int64) {
	b.at = t
	b.start = t - t%b.interval
	b.cursor = b.place[n] + 1
}
