package sim

import (
	"slices"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// beats schedules the NodeManagers' heartbeats. Each node reports once in each
// heartbeat interval, at its own offset from the interval's start. A heartbeat
// matters if it can change anything, for example if its node has room for a
// container. Heartbeats that do not matter are not simulated, to save
// computing time.
type beats struct {
	interval int64
	ring     []state.NodeID // all nodes, sorted by the offset of their heartbeats within the heartbeat interval
	place    []int32        // by node: index of the node in beats.ring
	offset   []int32        // by index in beats.ring: offset of the node's heartbeat within the heartbeat interval, in ms
	from     []int32        // by heartbeat offset in ms: index in beats.ring of the first node with that offset or a later one
	matters  marks          // indexes in beats.ring of the nodes whose heartbeats can change something in the simulation
	start    int64          // time at which the present heartbeat interval began
	cursor   int32          // index in beats.ring of the first node whose heartbeat in the present interval is still to come
	at       int64
}

// reset gives each node a random offset of its heartbeat within the heartbeat
// interval (both in ms), drawn with key. If async is true (asynchronous
// scheduling), all nodes report at offset 0. Nodes with equal offsets report in
// the order of their numbers, or in a random order if shuffled is true.
func (b *beats) reset(nodes int, interval int64, async, shuffled bool, key draw.Key) {
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
	if shuffled {
		order := key.At(uint64(nodes)) // the keys below this one are for the offsets
		for n := nodes - 1; n > 0; n-- {
			other := order.At(uint64(n)).Below(n + 1)
			b.ring[n], b.ring[other] = b.ring[other], b.ring[n]
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

// set records whether the heartbeats of node n can change anything in the
// simulation. Heartbeats that cannot are skipped.
func (b *beats) set(n state.NodeID, matters bool) {
	if matters {
		b.matters.set(b.place[n])
	} else {
		b.matters.clear(b.place[n])
	}
}

// next returns the node of the next heartbeat that can change something, and
// the time of that heartbeat, which is not before the present time in the
// parameter now. If there is no such heartbeat, it returns None and the time
// never.
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

// passed records that the heartbeat of node n at time t has been handled, so
// that the search for the next heartbeat goes on after this one.
func (b *beats) passed(n state.NodeID, t int64) {
	b.at = t
	b.start = t - t%b.interval
	b.cursor = b.place[n] + 1
}
