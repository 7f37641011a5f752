package kernel

import (
	"slices"

	"heddle/harness/sim/draw"
)

// Ring is a source of heartbeats. Each member of the ring, for example a node, has a
// heartbeat once in each interval, at its own offset from the interval's start.
// Heartbeats of members that do not matter are skipped, to save computing time.
type Ring struct {
	interval int64
	ring     []int32 // all members, sorted by the offset of their heartbeats
	place    []int32 // by member: its index in Ring.ring
	offset   []int32 // by index in Ring.ring: offset of the member's heartbeat from the interval's start, in ms
	from     []int32 // by offset in ms: index in Ring.ring of the first member with that offset or a later one
	matters  marks   // indexes in Ring.ring of the members that matter
	start    int64   // time at which the present interval began
	cursor   int32   // index in Ring.ring of the first member whose heartbeat in the present interval is still to come
	at       int64
	next     int32 // index in Ring.ring of the member that Next returned last
	begins   int64 // time at which the interval of that member's heartbeat begins
}

// Reset makes a ring of so many members, none of which matters. It gives each a random
// offset within the interval (in ms), drawn with key. If together is true, all
// offsets are 0. Members with equal offsets come in the order of their numbers, or in
// a random order if shuffled is true.
func (r *Ring) Reset(members int, interval int64, together, shuffled bool, key draw.Key) {
	r.interval = max(1, interval)
	r.ring, r.place = make([]int32, members), make([]int32, members)
	r.offset = make([]int32, members)
	r.from = make([]int32, r.interval+1)
	r.matters.reset(members)
	offsets := make([]int32, members)
	for i := range offsets {
		r.ring[i] = int32(i)
		if !together {
			offsets[i] = int32(key.At(uint64(i)).Below(int(r.interval)))
		}
	}
	if shuffled {
		order := key.At(uint64(members)) // the keys below this one are for the offsets
		for i := members - 1; i > 0; i-- {
			other := order.At(uint64(i)).Below(i + 1)
			r.ring[i], r.ring[other] = r.ring[other], r.ring[i]
		}
	}
	slices.SortStableFunc(r.ring, func(x, y int32) int { return int(offsets[x]) - int(offsets[y]) })
	next := 0
	for p, i := range r.ring {
		r.place[i], r.offset[p] = int32(p), offsets[i]
		for ; next <= int(offsets[i]); next++ {
			r.from[next] = int32(p)
		}
	}
	for ; next < len(r.from); next++ {
		r.from[next] = int32(members)
	}
	r.start, r.cursor, r.at = 0, 0, 0
}

// Set says whether the heartbeats of a member matter.
func (r *Ring) Set(member int32, matters bool) {
	if matters {
		r.matters.set(r.place[member])
	} else {
		r.matters.clear(r.place[member])
	}
}

// Next returns the member with the next heartbeat that matters, and the time of this
// heartbeat, which is not before now. If no member matters, it returns -1 and Never.
func (r *Ring) Next(now int64) (int32, int64) {
	if now > r.at {
		r.at = now
		if now >= r.start+r.interval {
			r.start = now - now%r.interval
		}
		r.cursor = r.from[now-r.start]
	}
	if p := r.matters.after(r.cursor); p >= 0 {
		r.next, r.begins = p, r.start
		return r.ring[p], r.start + int64(r.offset[p])
	}
	if p := r.matters.after(0); p >= 0 {
		r.next, r.begins = p, r.start+r.interval
		return r.ring[p], r.begins + int64(r.offset[p])
	}
	return -1, Never
}

// After returns the time of a member's next heartbeat after now, whether it matters or not.
func (r *Ring) After(member int32, now int64) int64 {
	at := now - now%r.interval + int64(r.offset[r.place[member]])
	if at <= now {
		at += r.interval
	}
	return at
}

// Passed says that the heartbeat that Next returned last has been handled, so that
// Next goes on after it.
func (r *Ring) Passed() {
	r.start, r.cursor = r.begins, r.next+1
	r.at = r.start + int64(r.offset[r.next])
}
