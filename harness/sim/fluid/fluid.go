// Package fluid shares what has a rate (disks, links, rack uplinks, cores)
// among the flows that pass it, and says when each flow ends.
//
// # Model
//
// A flow is some work (bytes, or microseconds of a core) that passes one or
// more resources at once: a read from another rack passes the source's disk,
// its link, two uplinks and the reader's link. Rates are meant to be max-min
// fair. A resource with room for all its flows limits none; a flow gets an equal
// share of the resource that limits it most, and what it leaves of its shares
// elsewhere goes to the others there. The core between the racks never limits.
//
// # How
//
// Each flow is bound to the one resource that limits it, and is load on the
// others. A resource gives
//
//	share = (rate - load) / weight of the flows bound to it
//
// but at least rate / weight of all that pass it, which max-min never goes
// below. It keeps a virtual clock of the work that a flow of weight 1 has got
// so far; a flow ends when that clock has moved by its work, whatever the share
// was meanwhile. So one that starts or ends costs a push or a pop on one heap,
// O(log n) of the flows bound there, and the others' rates change by themselves.
//
// Which resource limits a flow changes while it runs. A flow is looked at again
// when the share that it is bound to has changed by an eighth, or a share that it
// passes has become an eighth less than what it takes: then it is bound anew and
// its load elsewhere renewed. Where nothing is left to look at, each flow is bound
// to a saturated resource on which none is faster, but for those eighths: that is
// what max-min fair means. A start or an end pays for eight looks, and the rest
// waits for the next; this bounds the cost, and is most of the error. Against
// max-min rates computed anew for every event, durations were off by 0.1 % on
// four nodes and up to 0.8 % in racks of forty with all uplinks at their limit, in
// the mean of absolute errors; errors of both signs nearly cancel. On a cluster
// that is flooded with reads from other racks it was 4 %.
// Without looking again it was 2 to 14 %. Single flows may be off by half while
// many start at once.
//
// # Numbers
//
// Time is whole milliseconds. Work and rates are integers with 12 binary digits
// after the point, so the same calls give the same ends on every machine. A
// rate is at most 1 TB/s, a flow's work 64 TiB, the weights of all flows on one
// resource 2^20 together; the products of these stay below 2^62. A virtual
// clock may wrap: only differences count, and those are works of flows.
//
// It leaves out latency, protocols, what a transfer is for, and seeks: a disk's
// rate does not depend on how many read.
package fluid

import (
	"math"
	"slices"

	"heddle/harness/state"
)

// Flow is a running transfer or computation. Its number is used again when it
// has been popped or cancelled.
type Flow uint32

// Ended is the flow that nothing on its way limits: it took no time, and Pop
// will not say that it ended.
const Ended Flow = math.MaxUint32

// Never is a time that does not come.
const Never = math.MaxInt64

// Kind is a kind of resource. Those of a node and of a rack are numbered as
// nodes and racks are; there is one Host.
type Kind uint8

// Kinds of resource.
const (
	Disk      Kind = iota // of a node, for reads and writes together
	Memory                // of a node, for reads of cached copies
	LinkOut               // of a node to its rack's switch
	LinkIn                // of a node from its rack's switch
	Cores                 // of a node
	UplinkOut             // of a rack to the core
	UplinkIn              // of a rack from the core
	Host                  // the cores of the one machine that all nodes are on, in a lab
	kinds
)

// System is resources and what passes them. A new one has no limits. Times that
// its methods are given never go back, and do not pass Next.
type System struct {
	rackOf []state.RackID
	first  [kinds + 1]uint32 // of each kind in all
	all    []resource
	flows  []flow
	spare  []uint32 // flows
	seq    uint32   // of the next flow
	wheel  endings
	due    queue   // resources whose flows must be looked at again
	ended  []ended // flows to be popped, in order
	popped int     // of them
}

// New is a system for nodes whose racks are given.
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

// Reset drops all flows and sets the time to 0. Rates stay, and the memory.
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

// SetRate says what a resource does in a second, in bytes or, for cores, in
// microseconds of one core (two cores: 2e6); and what it does at most for one
// flow of weight 1 (a core: 1e6). 0 is no limit. Flows that started while there
// was no limit do not feel one.
func (s *System) SetRate(now int64, k Kind, i int32, perSecond, perFlow int64) {
	s.wheel.at(now)
	id := s.id(k, i)
	r := &s.all[id]
	r.advance(now)
	r.limit, r.most = fixed(perSecond), fixed(perFlow)
	s.renew(id, now)
	s.look(now, looks)
}

// Read starts a read of a block's replica, or of its cached copy, on node from
// by node to.
func (s *System) Read(now int64, from, to state.NodeID, cached bool, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	source := Disk
	if cached {
		source = Memory
	}
	s.pass(f, source, int32(from))
	s.link(f, from, to)
	return s.start(now, f, id, bytes)
}

// Write starts a write by node from to the disk of node to.
func (s *System) Write(now int64, from, to state.NodeID, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.link(f, from, to)
	s.pass(f, Disk, int32(to))
	return s.start(now, f, id, bytes)
}

// Fetch starts a reducer's copying of map outputs from the nodes of one rack,
// streams at a time: it weighs as much as so many flows. What the sources' own
// links and disks allow is left out.
func (s *System) Fetch(now int64, from state.RackID, to state.NodeID, streams int32, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, max(1, streams))
	if rack := s.rackOf[to]; rack != from {
		s.pass(f, UplinkOut, int32(from))
		s.pass(f, UplinkIn, int32(rack))
	}
	s.pass(f, LinkIn, int32(to))
	return s.start(now, f, id, bytes)
}

// Compute starts a computation of so many microseconds of one core.
func (s *System) Compute(now int64, n state.NodeID, coreUs int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.pass(f, Cores, int32(n))
	s.pass(f, Host, 0)
	return s.start(now, f, id, coreUs)
}

// Cancel ends a flow that has not been popped; it will not be.
func (s *System) Cancel(now int64, id Flow) {
	if id == Ended {
		return
	}
	f := &s.flows[id]
	if f.done {
		f.cancelled = true // Pop frees it
		return
	}
	s.wheel.at(now)
	s.leave(uint32(id), now, false)
	s.spare = append(s.spare, uint32(id))
	s.look(now, looks)
}

// Left is the work that a flow has before it, rounded down.
func (s *System) Left(now int64, id Flow) int64 {
	if id == Ended || s.flows[id].done {
		return 0
	}
	f := &s.flows[id]
	r := &s.all[f.path[f.bound]]
	r.advance(now)
	return max(0, r.bound[f.at].key-r.clock) * int64(f.weight) >> point
}

// Next is when to call Pop: at the latest when the next flow ends, or Never.
func (s *System) Next() int64 { return s.wheel.next }

// Pop is the tag of a flow that has ended by now, in the order of the times at
// which they ended and, within one, were started. It is called until it says
// that there is none.
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

// id is a resource's index in all.
func (s *System) id(k Kind, i int32) uint32 { return s.first[k] + uint32(i) }

func (s *System) link(f *flow, from, to state.NodeID) {
	if from == to {
		return
	}
	s.pass(f, LinkOut, int32(from))
	if a, b := s.rackOf[from], s.rackOf[to]; a != b {
		s.pass(f, UplinkOut, int32(a))
		s.pass(f, UplinkIn, int32(b))
	}
	s.pass(f, LinkIn, int32(to))
}

// pass adds a resource to a flow's path if it limits anything.
func (s *System) pass(f *flow, k Kind, i int32) {
	id := s.id(k, i)
	if r := &s.all[id]; r.limit != unlimited || r.most != unlimited {
		f.path[f.passes] = id
		f.passes++
	}
}
