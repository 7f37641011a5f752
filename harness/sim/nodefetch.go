package sim

import (
	"math/bits"

	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// This file is about reduces that fetch map output from the nodes on which the
// maps ran, see Config.NodeFetches.
//
// As in Hadoop's Fetcher, a reduce fetches from Costs.Fetchers nodes at a time,
// from each in one transfer, and takes the next node at random. A transfer
// passes the memory of the node that sends, since the page cache has map output
// that was just written, and the links and uplinks up to the reduce's node. A
// transfer from the reduce's own node passes the memory alone.

// MaxFetchNodes is the largest number of nodes for Config.NodeFetches. The sets
// of nodes from which a reduce fetches have one bit for each.
const MaxFetchNodes = 64

// nodeFetch is the map output that one reduce has fetched or is fetching, by
// node. Bit n of a set stands for node n.
type nodeFetch struct {
	attempt int32    // index in Sim.attempts of the reduce
	maps    int32    // number of maps that had finished when the field due was last made
	key     draw.Key // for drawing the next node
	due     uint64   // set of nodes that have output which the reduce lacks
	running uint64   // set of nodes from which a transfer runs
	twice   int64    // bytes that the reduce has of maps which run again, because their node was lost; it does not fetch these again
	flows   [MaxFetchNodes]fluid.Flow
	got     [MaxFetchNodes]int64 // bytes fetched, with those of a running transfer
}

// nodeFetchTag is added to the tags of transfers of map output from nodes, to
// tell them from the numbers that flowTag makes. The tag is then
// MaxFetchNodes times the index in Sim.nodeFetches, and the node.
const nodeFetchTag = 1 << 31

// nodeFetchOf returns what a reduce has fetched so far.
func (s *Sim) nodeFetchOf(id int32, a *attempt, j *job) *nodeFetch {
	if a.fetch < 0 {
		if a.fetch = s.spareFetchIndex(); a.fetch < 0 {
			a.fetch = int32(len(s.nodeFetches))
			s.nodeFetches = append(s.nodeFetches, nodeFetch{})
		}
		s.nodeFetches[a.fetch] = nodeFetch{attempt: id, key: s.draws.fetch.At(j.hash).At(uint64(a.task)).At(uint64(a.number))}
	}
	return &s.nodeFetches[a.fetch]
}

// fetchFromNodes starts transfers to a reduce until as many run as it has
// fetchers, or no node is left to fetch from.
func (s *Sim) fetchFromNodes(id int32, a *attempt, f *nodeFetch) {
	j := &s.jobs.list[a.job]
	i := int64(a.task) - int64(j.total[state.Map])
	for bits.OnesCount64(f.running) < int(max(1, s.Costs.Fetchers)) {
		ready := f.due &^ f.running &^ s.lostNodes
		if ready == 0 {
			if s.findDue(id, a, j, f); f.due&^f.running&^s.lostNodes == 0 {
				return
			}
			continue
		}
		f.key = f.key.At(0)
		for range f.key.Below(bits.OnesCount64(ready)) {
			ready &= ready - 1
		}
		n := bits.TrailingZeros64(ready)
		f.due &^= 1 << n
		bytes := j.part(s.view.MapOutput(j.id)[n], i) - f.got[n]
		f.got[n] += max(0, bytes)
		again := min(bytes, f.twice)
		f.twice -= max(0, again)
		if bytes -= again; bytes <= 0 || s.nodes.flows == nil {
			continue
		}
		flow := s.nodes.flows.Read(s.events.Now, state.NodeID(n), a.node, true, bytes, nodeFetchTag+uint32(a.fetch)*MaxFetchNodes+uint32(n))
		if flow == fluid.Ended {
			continue
		}
		f.flows[n] = flow
		f.running |= 1 << n
		a.pending++
	}
}

// findDue finds the nodes that have map output which a reduce lacks. It does so
// if enough maps have finished since the last time (see fetchStep).
func (s *Sim) findDue(id int32, a *attempt, j *job, f *nodeFetch) {
	maps := j.done[state.Map]
	if f.due == 0 && (f.maps == maps || f.maps > 0 && j.fetchStep(f.maps) == j.fetchStep(maps)) {
		return
	}
	s.fetchTime(id, a, int64(maps-f.maps))
	f.maps, f.due = maps, 0
	i := int64(a.task) - int64(j.total[state.Map])
	for n, bytes := range s.view.MapOutput(j.id) {
		switch lacks := j.part(bytes, i) - f.got[n]; {
		case lacks > 0:
			f.due |= 1 << n
		case lacks < 0:
			f.twice -= lacks
			f.got[n] += lacks
		}
	}
}

// nodeFetchEnded handles the end of a transfer of map output from a node. The
// parameter tag names the reduce and the node, see nodeFetchTag.
func (s *Sim) nodeFetchEnded(tag uint32) {
	f := &s.nodeFetches[tag/MaxFetchNodes]
	f.running &^= 1 << (tag % MaxFetchNodes)
	id := f.attempt
	a := &s.attempts[id]
	s.fetchFromNodes(id, a, f)
	s.goOn(id)
}

// stopNodeFetch stops all transfers of map output to a reduce.
func (s *Sim) stopNodeFetch(f *nodeFetch) {
	for ; f.running != 0; f.running &= f.running - 1 {
		s.nodes.flows.Cancel(s.events.Now, f.flows[bits.TrailingZeros64(f.running)])
	}
}

// loseFetches stops all transfers of map output from a node that is lost. The
// reduces fetch what they lack from the nodes on which the maps run again.
func (s *Sim) loseFetches(n state.NodeID) {
	s.lostNodes |= 1 << n
	for id := range s.attempts {
		a := &s.attempts[id]
		if !s.runs(int32(id)) || a.fetch < 0 {
			continue
		}
		f := &s.nodeFetches[a.fetch]
		if f.running>>n&1 == 0 {
			continue
		}
		f.got[n] -= s.nodes.flows.Left(s.events.Now, f.flows[n])
		s.nodes.flows.Cancel(s.events.Now, f.flows[n])
		f.running &^= 1 << n
		f.due |= 1 << n
		s.fetchFromNodes(int32(id), a, f)
		s.goOn(int32(id))
	}
}
