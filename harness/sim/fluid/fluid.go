// Package fluid shares disks, links, rack uplinks and cores among the flows
// that pass them, and says when each flow ends.
//
// # Model
//
// A flow is an amount of work (bytes, or microseconds of a core) that passes
// one or more resources at once. For example, a read from another rack passes
// the source's disk, its link, two uplinks and the reader's link. Rates follow
// max-min fairness. A resource with room for all its flows limits none of them.
// A flow gets an equal share of the resource that limits it most; what it
// leaves of its shares elsewhere goes to the other flows there. The core
// between the racks never limits.
//
// # Method
//
// Each flow is bound to the one resource that limits it, and is load on its
// other resources. A resource gives
//
//	share = (rate - load) / weight of the flows bound to it
//
// but at least rate / weight of all flows that pass it: max-min fairness never
// gives less. Its virtual clock counts the work that a bound flow of weight 1
// has got so far. A flow ends when this clock has advanced by the flow's work,
// however the share changed meanwhile. So a flow that starts or ends costs one
// push or pop on one heap, O(log n) of the flows bound there, and the rates of
// the others follow by themselves.
//
// The resource that limits a flow changes while the flow runs. A look at a flow
// binds it anew if that is due, and renews its load elsewhere. A flow is due
// for a look when the share of its bound resource has changed by an eighth, or
// when the share of another one has fallen an eighth below what the flow takes.
// When no flow is due, each is bound to a saturated resource on which no other
// flow is faster, up to those eighths: this is the definition of max-min
// fairness.
//
// # Error
//
// A start or an end pays for eight looks, and the flows that are still due wait
// for the next start or end. This bounds the cost and causes most of the error.
// The error of durations was measured against max-min rates computed anew for
// every event, as the mean of absolute errors:
//
//	0.1 %  on four nodes
//	0.8 %  at most, in racks of forty nodes with all uplinks at their limit
//	4 %    on a cluster flooded with reads from other racks
//	2 to 14 %  without looks
//
// Errors of both signs nearly cancel. Single flows may be off by half while
// many start at once.
//
// # Numbers
//
// Times are whole milliseconds. Work and rates are integers with 12 binary
// digits after the point, so the same calls give the same ends on every
// machine. A rate is at most 1 TB/s, a flow's work 64 TiB, and the weights of
// all flows on one resource 2^20 together; products of these stay below 2^62. A
// virtual clock may wrap, because only differences count.
//
// The package leaves out latency, protocols, the purpose of a transfer, and
// disk seeks: a disk's rate does not depend on the number of readers.
package fluid

import (
	"math"
	"slices"

	"heddle/harness/state"
)

// Flow is a running transfer or computation. Its number is reused after it was
// popped or cancelled.
type Flow uint32

// Ended stands for a flow that nothing on its path limits. It took no time, and
// Pop will not report it.
const Ended Flow = math.MaxUint32

// Never is a time that does not come.
const Never = math.MaxInt64

// Kind is a kind of resource. The resources of a kind are numbered as their
// nodes or racks are; there is one Host.
type Kind uint8

// Kinds of resource.
const (
	Disk      Kind = iota // of a node, reads and writes together
	Memory                // of a node, for reads of cached copies
	LinkOut               // of a node, to its rack's switch
	LinkIn                // of a node, from its rack's switch
	Cores                 // CPU cores of a node
	UplinkOut             // of a rack, to the core
	UplinkIn              // of a rack, from the core
	Host                  // the cores of the single machine that carries all nodes of a lab
	kinds
)

// System is a set of resources and the flows that pass them. A new one has no
// limits. The times given to its methods must not go back, and must not go
// beyond Next.
type System struct {
	rackOf []state.RackID
	first  [kinds + 1]uint32 // by kind: its first index in all
	all    []resource
	flows  []flow
	spare  []uint32 // numbers of flows to be reused
	seq    uint32   // number of the next flow, in the order of starts
	wheel  endings
	due    queue   // resources whose flows need a look
	ended  []ended // flows to be popped, in order
	popped int     // how many of ended have been popped
}

// New returns a system for nodes in the given racks.
func New(rackOf []state.RackID) *System {
	racks := state.RackID(0)
	for _, r := range rackOf {
		racks = max(racks, r+1)
	}
	s := &System{rackOf: slices.Clone(rackOf)}
	for k := range kinds {
		n := len(rackOf)
		switch k {
		case UplinkOut, UplinkIn:
			n = int(racks)
		case Host:
			n = 1
		}
		s.first[k+1] = s.first[k] + uint32(n)
	}
	s.all = make([]resource, s.first[kinds])
	for i := range s.all {
		s.all[i].limit, s.all[i].most = unlimited, unlimited
	}
	s.Reset()
	return s
}

// Reset drops all flows and sets the time to 0. It keeps the rates and the
// memory.
func (s *System) Reset() {
	for i := range s.all {
		r := &s.all[i]
		*r = resource{limit: r.limit, most: r.most, wake: Never, bound: r.bound[:0], flows: r.flows[:0]}
	}
	s.flows, s.spare, s.seq = s.flows[:0], s.spare[:0], 0
	s.due.head, s.due.n = 0, 0
	s.ended, s.popped = s.ended[:0], 0
	s.wheel.reset()
}

// SetRate sets what a resource does in a second, in bytes or, for cores, in
// microseconds of one core (two cores: 2e6). perFlow is the most it does for
// one flow of weight 1 (a core: 1e6). 0 means no limit. Flows that started
// without a limit stay without.
func (s *System) SetRate(now int64, k Kind, i int32, perSecond, perFlow int64) {
	s.wheel.at(now)
	id := s.id(k, i)
	r := &s.all[id]
	r.advance(now)
	r.limit, r.most = fixed(perSecond), fixed(perFlow)
	s.renew(id, now)
	s.look(now, looks)
}

// Read starts a read by node to of a block on node from: the cached copy, or
// the replica on disk.
func (s *System) Read(now int64, from, to state.NodeID, cached bool, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	source := Disk
	if cached {
		source = Memory
	}
	s.addToPath(f, source, int32(from))
	s.link(f, from, to)
	return s.start(now, f, id, bytes)
}

// Write starts a write by node from to the disk of node to.
func (s *System) Write(now int64, from, to state.NodeID, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.link(f, from, to)
	s.addToPath(f, Disk, int32(to))
	return s.start(now, f, id, bytes)
}

// Fetch starts a reduce's copying of map outputs from the nodes of one rack. It
// weighs as much as streams flows. The links and disks of the sources do not
// limit it.
func (s *System) Fetch(now int64, from state.RackID, to state.NodeID, streams int32, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, max(1, streams))
	if rack := s.rackOf[to]; rack != from {
		s.addToPath(f, UplinkOut, int32(from))
		s.addToPath(f, UplinkIn, int32(rack))
	}
	s.addToPath(f, LinkIn, int32(to))
	return s.start(now, f, id, bytes)
}

// Compute starts a computation of coreUs microseconds of one core.
func (s *System) Compute(now int64, n state.NodeID, coreUs int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.addToPath(f, Cores, int32(n))
	s.addToPath(f, Host, 0)
	return s.start(now, f, id, coreUs)
}

// Cancel ends a flow that has not been popped. Pop will not report it.
func (s *System) Cancel(now int64, id Flow) {
	if id == Ended {
		return
	}
	f := &s.flows[id]
	if f.done {
		f.cancelled = true // Pop frees the flow later
		return
	}
	s.wheel.at(now)
	s.leave(uint32(id), now, false)
	s.spare = append(s.spare, uint32(id))
	s.look(now, looks)
}

// Left returns the work that a flow still has to do, rounded down.
func (s *System) Left(now int64, id Flow) int64 {
	if id == Ended || s.flows[id].done {
		return 0
	}
	f := &s.flows[id]
	r := &s.all[f.path[f.bound]]
	r.advance(now)
	return max(0, r.bound[f.at].key-r.clock) * int64(f.weight) >> point
}

// Next returns the latest time for the next call of Pop: not after the next
// flow ends. It is Never if no flow runs.
func (s *System) Next() int64 { return s.wheel.next }

// Pop returns the tag of a flow that has ended by now. Flows come in the order
// of their ends, and those of one time in the order of their starts. Call it
// until it returns false.
func (s *System) Pop(now int64) (tag uint32, ok bool) {
	for {
		for s.popped < len(s.ended) {
			id := s.ended[s.popped].flow
			s.popped++
			f := &s.flows[id]
			s.spare = append(s.spare, id)
			if !f.cancelled {
				return f.tag, true
			}
		}
		if s.wheel.next > now {
			return 0, false
		}
		s.collect(s.wheel.next)
	}
}

// id returns a resource's index in all.
func (s *System) id(k Kind, i int32) uint32 { return s.first[k] + uint32(i) }

func (s *System) link(f *flow, from, to state.NodeID) {
	if from == to {
		return
	}
	s.addToPath(f, LinkOut, int32(from))
	if a, b := s.rackOf[from], s.rackOf[to]; a != b {
		s.addToPath(f, UplinkOut, int32(a))
		s.addToPath(f, UplinkIn, int32(b))
	}
	s.addToPath(f, LinkIn, int32(to))
}

// addToPath adds a resource to a flow's path if the resource limits anything.
func (s *System) addToPath(f *flow, k Kind, i int32) {
	id := s.id(k, i)
	if r := &s.all[id]; r.limit != unlimited || r.most != unlimited {
		f.path[f.passes] = id
		f.passes++
	}
}
