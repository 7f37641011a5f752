// Package fluid shares disks, links, rack uplinks and cores among the flows
// that pass them, and says when each flow ends.
//
// # Model
//
// A flow is an amount of work (bytes, or microseconds of a core) that passes
// one or more resources at once. For example, a read from another rack passes
// the source's disk, its link, two uplinks and the reader's link. Rates follow
// max-min fairness. A resource with room for all its flows limits none of them.
// A flow gets an equal share of the resource that limits it most. What the flow
// does not use of its share of another resource goes to the other flows there.
// The network core between the racks never limits.
//
// # Method
//
// Each flow is bound to one resource, the one that limits its rate. On its
// other resources, its rate counts as load. A resource gives
//
//	share = (rate - load) / weight of the flows bound to it
//
// but at least rate / weight of all flows that pass it: max-min fairness never
// gives less. The resource's virtual clock counts the work that a bound flow of
// weight 1 has got so far. A flow ends when this clock has advanced by the
// flow's work, however the share changed meanwhile. So a flow that starts or
// ends costs one push or pop on one heap, O(log n) of the flows bound there,
// and the rates of the others follow by themselves.
//
// The resource that limits a flow changes while the flow runs. A look at a flow
// is a check whether another resource now limits it. The look then binds the
// flow to that resource and corrects its load on the others. A flow is due for
// a look when the share of its bound resource has changed by an eighth, or when
// the share of another resource has fallen an eighth below the flow's rate.
// When no flow is due, each is bound to a saturated resource on which no other
// flow is faster, up to those eighths: this is the definition of max-min
// fairness.
//
// An uplink that cannot be full limits nothing, so its flows are counted there and not
// solved: as long as the most that each of them could get, the rate of the slowest other
// resource that it passes, is together not above the uplink's rate. When it is, all flows
// there are solved on the uplink too, until none is left.
//
// # Error
//
// When a flow starts or ends on a resource that others pass who pass more, at most twelve
// flows are looked at. The flows that are still due wait for the next such start or end. This bounds the cost and causes
// most of the error. The error of durations was measured against max-min rates
// computed anew for every event, as the mean of absolute errors:
//
//	0.1 %  on four nodes
//	0.8 %  at most, in racks of forty nodes with all uplinks at their limit
//	4 %    on a cluster flooded with reads from other racks
//	2 to 14 %  without looks
//
// Errors of both signs nearly cancel. Single flows may be off by half while
// many start at once.
//
// # Memory
//
// A large cluster's state is larger than the caches, so most of the time goes into
// waiting for it. What is touched at random is small: a resource and a flow have the size
// of one cache line, 64 bytes. The resource knows the flow that it limits and that ends
// first. A second line of the resource, the struct passing, is touched only by flows that
// pass other resources too. Lists of more flows are in arrays that all resources share.
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

// Flow is a running transfer or computation. Its number is used again for a new
// flow after Pop has returned it or Cancel has ended it.
type Flow uint32

// Ended stands for a transfer or computation that passes no limited resource.
// It takes no time, and Pop will not report it.
const Ended Flow = math.MaxUint32

// Never is a time later than all others: the event does not happen.
const Never = math.MaxInt64

// Kind is a kind of resource that transfers or computations share. The
// resources of a kind have the numbers of their nodes or racks. Of the kind
// Host there is only one resource.
type Kind uint8

// The kinds of resource that transfers or computations share.
const (
	Disk      Kind = iota // the disk of a node, for reads and writes together
	Memory                // the memory of a node, for reads of cached copies
	LinkOut               // the network link of a node to its rack's switch
	LinkIn                // the network link of a node from its rack's switch
	Cores                 // the CPU cores of a node
	UplinkOut             // the uplink of a rack to the core network
	UplinkIn              // the uplink of a rack from the core network
	Host                  // the CPU cores of the single machine that runs all nodes of a lab
	kinds
)

// System is a set of resources (disks, links, CPUs) and the flows that pass
// them: the transfers and computations. A new System has no limits. The times
// given to its methods must not decrease, and must not be later than what Next
// returns.
type System struct {
	// MemorySends says that cached copies are read from other nodes too. If they are not, a
	// link that is not slower than the disk behind it never limits what is read from there.
	MemorySends bool

	rackOf  []state.RackID
	first   [kinds + 1]uint32 // by kind of resource: index in System.all of the first resource of this kind
	all     []resource
	passing []passing         // by index in System.all: what concerns flows that pass other resources too
	uplinks []uplink          // of all racks, those out before those in
	counted int               // by how many uplinks flows are counted, over all flows
	limits  []limits          // the different limits of resources; index 0 means none
	known   map[limits]uint32 // by limits: index in System.limits
	caps    map[int64]uint32  // by rate: index in System.all of the resource that holds each flow on it to this rate
	heaps   pool[entry]
	lists   pool[uint32]
	flows   []flow
	spare   []uint32 // numbers of ended flows, to be used again
	wheel   endings
	checked []uint32 // memory for collect: resources of which flows may end now
	due     queue    // resources whose share has changed, so that the rates of their flows must be computed again
	ended   []ended  // flows that have ended, in the order in which Pop reports them
	popped  int      // number of entries of System.ended that Pop has reported or skipped
	host    struct {
		rate   func(flows int) int64 // of Host, by the number of flows that pass it; nil if there is none
		crowd  int                   // with so many flows or more, the rate is the same
		flows  int                   // number of flows of which the present limits are; 0: none yet
		most   int64                 // limit of each of them
		limits uint32                // index in System.limits of the present limits of Host, which no other resource has
	}
}

// New returns a System of resources for a cluster. The parameter rackOf has
// the rack of each node.
func New(rackOf []state.RackID) *System {
	racks := state.RackID(0)
	for _, r := range rackOf {
		racks = max(racks, r+1)
	}
	none := limits{unlimited, unlimited}
	s := &System{rackOf: slices.Clone(rackOf), limits: []limits{none}, known: map[limits]uint32{none: 0}}
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
	s.passing = make([]passing, s.first[kinds])
	s.uplinks = make([]uplink, 2*racks)
	s.wheel.reset()
	return s
}

// SetRate sets the rate of a resource, in bytes per second or, for cores, in
// microseconds of one core per second (two cores: 2e6). The parameter perFlow
// is the highest rate for one flow (transfer or computation) of weight 1 (one
// core: 1e6). A rate of 0 means no limit. A flow that started while the
// resource had no limit is not limited by the resource later either.
func (s *System) SetRate(now int64, k Kind, i int32, perSecond, perFlow int64) {
	s.wheel.at(now)
	id := s.id(k, i)
	s.all[id].limits = s.limitsOf(limits{fixed(perSecond), fixed(perFlow)})
	s.renew(id, now)
	for i := range s.uplinks {
		if s.counted == 0 {
			break
		}
		if s.uplinks[i].could > 0 { // what its flows could get may have risen
			s.solve(s.first[UplinkOut]+uint32(i), now)
		}
	}
	s.look(now, looks)
}

// SetHost sets the rate of Host, by the number of flows that pass it, from 1 to crowd. With
// more it is as with crowd. Rates, and the parameter perFlow, are as in SetRate, which does
// not change Host afterwards.
func (s *System) SetHost(now int64, crowd int, rate func(flows int) int64, perFlow int64) {
	if s.host.rate == nil {
		s.host.limits = uint32(len(s.limits))
		s.limits = append(s.limits, limits{})
	}
	s.host.rate, s.host.crowd, s.host.flows, s.host.most = rate, crowd, 0, fixed(perFlow)
	s.wheel.at(now)
	id := s.id(Host, 0)
	s.renew(id, now)
	s.look(now, looks)
}

// crowd sets the limits of a resource whose flows change, if that is Host.
func (s *System) crowd(id uint32) {
	if s.host.rate == nil || id != s.first[Host] {
		return
	}
	r := &s.all[id]
	if n := min(max(1, int(r.weight+r.others)), s.host.crowd); n != s.host.flows {
		s.limits[s.host.limits] = limits{fixed(s.host.rate(n)), s.host.most}
		r.limits, s.host.flows = s.host.limits, n
	}
}

// Read starts the transfer of a block from the node in the parameter from to
// the node in the parameter to. If cached is true, the cached copy is read,
// otherwise the replica on disk.
func (s *System) Read(now int64, from, to state.NodeID, cached bool, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	source := Disk
	if cached {
		source = Memory
	}
	s.addToPath(f, source, int32(from))
	out, disk := s.all[s.id(LinkOut, int32(from))].limits, s.all[s.id(Disk, int32(from))].limits
	if cached || s.MemorySends || s.limits[out].rate < s.limits[disk].rate {
		s.linkOut(f, from, to)
	}
	s.link(f, from, to)
	return s.start(now, f, id, bytes)
}

// Write starts the transfer of data from the node in the parameter from to the
// disk of the node in the parameter to.
func (s *System) Write(now int64, from, to state.NodeID, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.addToPath(f, Disk, int32(to))
	s.linkOut(f, from, to)
	s.link(f, from, to)
	return s.start(now, f, id, bytes)
}

// Fetch starts the transfer of map outputs from the nodes of one rack to a
// reduce's node. The parameter streams says for how many parallel transfers it
// stands; it gets the bandwidth of so many. The links and disks of the nodes
// that send do not limit it. More than 65,535 streams count as 65,535.
func (s *System) Fetch(now int64, from state.RackID, to state.NodeID, streams int32, bytes int64, tag uint32) Flow {
	f, id := s.flow(tag, uint16(min(max(1, streams), math.MaxUint16)))
	s.addToPath(f, LinkIn, int32(to))
	s.addUplinks(f, from, s.rackOf[to])
	return s.start(now, f, id, bytes)
}

// Compute starts a computation on node n that takes coreUs microseconds of one
// core.
func (s *System) Compute(now int64, n state.NodeID, coreUs int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.addToPath(f, Cores, int32(n))
	s.addToPath(f, Host, 0)
	return s.start(now, f, id, coreUs)
}

// ComputeSlowly is Compute for a computation that gets at most the given rate, in
// microseconds of a core per second, even if the cores have room for more.
func (s *System) ComputeSlowly(now int64, n state.NodeID, coreUs, perSecond int64, tag uint32) Flow {
	f, id := s.flow(tag, 1)
	s.addToPath(f, Cores, int32(n))
	s.addToPath(f, Host, 0)
	s.hold(f, perSecond)
	return s.start(now, f, id, coreUs)
}

// ComputeBeside starts a computation on the machine that runs all nodes, but on none of
// them. It gets at most the given rate, in microseconds of a core per second, and, where
// cores are short, as much as so many computations on nodes.
func (s *System) ComputeBeside(now, coreUs, perSecond int64, weight uint16, tag uint32) Flow {
	f, id := s.flow(tag, weight)
	s.addToPath(f, Host, 0)
	if f.passes > 0 {
		s.hold(f, perSecond/int64(weight))
	}
	return s.start(now, f, id, coreUs)
}

// hold has a flow get at most the given rate for each unit of its weight.
func (s *System) hold(f *flow, perSecond int64) {
	held, ok := s.caps[perSecond]
	if !ok {
		if s.caps == nil {
			s.caps = map[int64]uint32{}
		}
		held = uint32(len(s.all))
		s.all = append(s.all, resource{limits: s.limitsOf(limits{unlimited, fixed(perSecond)})})
		s.passing = append(s.passing, passing{})
		s.caps[perSecond] = held
	}
	f.path[f.passes] = held
	f.passes++
}

// Rate returns the present rate of a flow of weight 1, in bytes or microseconds of
// a core per second.
func (s *System) Rate(id Flow) int64 {
	if id == Ended || s.flows[id].at < 0 {
		return 0
	}
	f := &s.flows[id]
	return s.all[f.path[f.bound]].share * 1000 >> point
}

// Cancel stops a transfer or computation that Pop has not reported. Pop will
// not report it later.
func (s *System) Cancel(now int64, id Flow) {
	if id == Ended {
		return
	}
	f := &s.flows[id]
	if f.at < 0 {
		f.at = cancelled // a later call of Pop frees the memory of the cancelled flow
		return
	}
	s.wheel.at(now)
	s.leave(uint32(id), now, false)
	s.spare = append(s.spare, uint32(id))
	s.look(now, looks)
}

// Left returns how much work a flow still has to do, rounded down: bytes of a
// transfer, or core microseconds of a computation.
func (s *System) Left(now int64, id Flow) int64 {
	if id == Ended || s.flows[id].at < 0 {
		return 0
	}
	return max(0, s.left(&s.flows[id], now)) * int64(s.flows[id].weight) >> point
}

// Next returns the time by which Pop must be called again. It is not after the
// end of the flow (transfer or computation) that ends next, and is Never if no
// flow runs.
func (s *System) Next() int64 { return s.wheel.next }

// Pop returns the tag of a flow (transfer or computation) that has ended by
// now, or false if there is none left. Flows come in the order of their ends,
// and those that end at the same time by their tags.
func (s *System) Pop(now int64) (tag uint32, ok bool) {
	for {
		for s.popped < len(s.ended) {
			id := s.ended[s.popped].flow
			s.popped++
			f := &s.flows[id]
			s.spare = append(s.spare, id)
			if f.at != cancelled {
				return f.tag, true
			}
		}
		if s.wheel.next > now {
			return 0, false
		}
		s.collect(s.wheel.next)
	}
}

// id returns the index in System.all of resource i (a node's or rack's number)
// of kind k.
func (s *System) id(k Kind, i int32) uint32 { return s.first[k] + uint32(i) }

// limitsOf returns the index of l in System.limits.
func (s *System) limitsOf(l limits) uint32 {
	i, ok := s.known[l]
	if !ok {
		i = uint32(len(s.limits))
		s.limits = append(s.limits, l)
		s.known[l] = i
	}
	return i
}

func (s *System) linkOut(f *flow, from, to state.NodeID) {
	if from != to {
		s.addToPath(f, LinkOut, int32(from))
	}
}

// link adds the link to the reader's node and, last, uplinks.
func (s *System) link(f *flow, from, to state.NodeID) {
	if from != to {
		s.addToPath(f, LinkIn, int32(to))
		s.addUplinks(f, s.rackOf[from], s.rackOf[to])
	}
}

// addToPath adds a resource to the resources that a flow (transfer or
// computation) passes, if the resource has a limit.
func (s *System) addToPath(f *flow, k Kind, i int32) {
	id := s.id(k, i)
	if s.all[id].limits != 0 {
		f.path[f.passes] = id
		f.passes++
	}
}
