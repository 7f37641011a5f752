package sim

import (
	"math"
	"slices"

	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// bookings are the maps whose times are known when they are launched.
//
// A map begins to read a while after its launch, when its JVM is up. If it reads from its
// own node's disk, and nothing else is on this disk or booked for that time, then the ends
// of its read and of its computing are known at the launch, and nothing has to happen until
// then. Maps that begin to read in one millisecond are booked as a group, which shares the
// disk as flows of package fluid would. When anything else comes to the disk, what is booked
// becomes flows with what is left. So bookings change no time, only the number of events.
type bookings struct {
	of    [][2]booking  // by node: bookings of its disk, the one that is read and the next; those that have ended are free
	slows state.NodeSet // nodes whose speed changes: there, no time is known beforehand
	fresh []fresh       // maps launched in the present step
	heads []int32       // by node: one more than the index in fresh of its map that was launched last; 0 if there is none
	never bool          // for tests: nothing is booked
	group []int32       // memory: indexes in fresh of the maps of one node
	left  []int64       // memory: work left, by member of a group
	ends  []int64       // memory: end of the read, likewise
}

// booking is a group of maps that begin to read from their node's disk at the same time.
type booking struct {
	from, end int64 // in ms: when the reads begin, and when the last of them ends
	first     int32 // index in attempts.list of the first map; the others follow by rest.next
	maps      int32
}

// fresh is a map that was just launched. At the end of the step it is known with which others
// it begins to read.
type fresh struct {
	attempt, gen            uint32
	node                    state.NodeID
	next                    int32 // as heads, of the map that was launched on the node before; 0 if there is none
	from, computesMs, bytes int64
}

func (x *bookings) begin(c *Config, nodes int) {
	x.of, x.heads, x.fresh, x.slows = resized(x.of, nodes), resized(x.heads, nodes), x.fresh[:0], state.NewNodeSet(nodes)
	for i := range c.Faults {
		if f := &c.Faults[i]; f.What == NodeSlow {
			x.slows.Add(f.Node)
		}
	}
}

// book reports whether the times of a map that begins to read from its own node in ms
// milliseconds are known, or will be at the end of the step. Then it does all that is to be
// done.
func (at *attempts) book(id int32, a *attempt, j *job, w *Work, ms int64) bool {
	x := &at.booked
	if x.never || ms == 0 || at.load != nil || x.slows.Has(a.node) {
		return false
	}
	from, computesMs := at.events.Now+ms, at.nodes.list[a.node].on(at.draws.computeMs(j, a, w))
	cached := a.level == state.LevelCache
	source := fluid.Disk
	if cached {
		source = fluid.Memory
	}
	rate, _ := at.nodes.flows.Alone(source, a.node)
	switch {
	case computesMs == 0 || ms+computesMs > mostBooked:
		return false
	case w.InputBytes == 0 || rate == 0: // the read takes no time
		a.pending = 1
		at.knows(id, a, from, from, computesMs)
	case cached:
		return false
	default:
		a.pending = 1
		x.fresh = append(x.fresh, fresh{uint32(id), a.gen, a.node, x.heads[a.node], from, computesMs, w.InputBytes})
		x.heads[a.node] = int32(len(x.fresh))
	}
	return true
}

// mostBooked is how far ahead an attempt is booked, in ms: rest has times that long.
const mostBooked = math.MaxInt32

// knows notes that a map reads from one time to another and computes then.
func (at *attempts) knows(id int32, a *attempt, from, to, computesMs int64) {
	a.phase = write
	a.marks |= booked
	at.events.Push(to+computesMs, evBooked, uint32(id), a.gen)
	if at.timed {
		x := &at.rest[id]
		x.readFrom, x.readTo, x.endMs = int32(from-a.startMs), int32(to-a.startMs), int32(to+computesMs-a.startMs)
	}
}

// bookFresh books the maps that were launched in the present step.
func (at *attempts) bookFresh() {
	x := &at.booked
	for i := range x.fresh {
		n := x.fresh[i].node
		if x.heads[n] == 0 {
			continue // it was booked with others of its node
		}
		x.group = x.group[:0]
		for k := x.heads[n]; k > 0; k = x.fresh[k-1].next {
			x.group = append(x.group, k-1)
		}
		x.heads[n] = 0
		if !at.bookGroup(n, x.fresh[i].from) {
			for _, k := range x.group {
				if f := &x.fresh[k]; at.list[f.attempt].gen == f.gen { // it runs
					at.readsAt(int32(f.attempt), &at.list[f.attempt], f.from)
				}
			}
		}
	}
	x.fresh = x.fresh[:0]
}

// bookGroup books the maps of bookings.group, which node n has just started. It reports
// whether it could: nothing else is on their disk, and all of them begin to read at the
// given time.
func (at *attempts) bookGroup(n state.NodeID, from int64) bool {
	x := &at.booked
	rate, alone := at.nodes.flows.Alone(fluid.Disk, n)
	var free *booking
	for i := range x.of[n] {
		switch b := &x.of[n][i]; {
		case b.end <= at.events.Now:
			free = b
		case b.end > from:
			at.unbook(n)
			return false
		}
	}
	if !alone || free == nil {
		return false
	}
	x.left = x.left[:0]
	for _, k := range x.group {
		x.left = append(x.left, fluid.WorkOf(x.fresh[k].bytes))
	}
	x.ends = fluid.Together(rate, fluid.Never, x.left, x.ends)
	last := slices.Max(x.ends)
	for i, k := range x.group {
		// A map that was killed already has another generation. One that ends while others of its group still read could
		// not be found any more.
		f := &x.fresh[k]
		ends := x.ends[i] + f.computesMs
		if f.from != from || at.list[f.attempt].gen != f.gen || ends < last || from-at.events.Now+ends > mostBooked {
			return false
		}
	}
	*free = booking{from: from, end: from + last, maps: int32(len(x.group))}
	for i, k := range x.group {
		f := &x.fresh[k]
		if i > 0 {
			at.rest[f.attempt].next = free.first
		}
		free.first = int32(f.attempt)
		at.knows(free.first, &at.list[f.attempt], from, from+x.ends[i], f.computesMs)
	}
	return true
}

// unbook makes flows of what is booked on a node's disk, because something else comes there.
func (at *attempts) unbook(n state.NodeID) {
	x, now := &at.booked, at.events.Now
	for i := range x.of[n] {
		b := &x.of[n][i]
		if b.end <= now {
			continue
		}
		reads := b.from < now || b.from == now && !at.events.FlowsEnd()
		rate, _ := at.nodes.flows.Alone(fluid.Disk, n)
		x.left = x.left[:0]
		for id, n := b.first, b.maps; n > 0; id, n = at.rest[id].next, n-1 {
			a := &at.list[id]
			x.left = append(x.left, fluid.WorkOf(at.jobs.list[a.job].workOf(a.kind, a.task).InputBytes))
		}
		x.ends = fluid.Together(rate, max(0, now-b.from), x.left, x.ends)
		id := b.first
		for _, left := range x.left {
			next := at.rest[id].next
			if left > 0 {
				at.unknow(id, b, reads, left)
			}
			id = next
		}
		b.end = 0
	}
}

// unknow makes a flow of what is left of a booked read, or a timer if it has not begun.
func (at *attempts) unknow(id int32, b *booking, reads bool, left int64) {
	a := &at.list[id]
	a.marks &^= booked
	if at.timed {
		at.rest[id].readTo, at.rest[id].endMs = 0, 0
	}
	if reads {
		a.phase, a.pending = compute, 0
		at.awaits(id, at.nodes.flows.Resume(at.events.Now, a.node, left, a.tag(id)))
		return
	}
	a.phase = input
	at.readsAt(id, a, b.from)
	if at.timed {
		at.rest[id].readFrom = 0
	}
}
