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
	attempt int32    // index in attempts.list of the reduce
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
// MaxFetchNodes times the index in fetching.byNode, and the node.
const nodeFetchTag = 1 << 31

// ofNodes returns what a reduce has fetched so far.
func (fe *fetching) ofNodes(id int32, j *job) *nodeFetch {
	a, x := &fe.table.list[id], &fe.table.rest[id]
	if x.fetch < 0 {
		if x.fetch = fe.spareIndex(); x.fetch < 0 {
			x.fetch = int32(len(fe.byNode))
			fe.byNode = append(fe.byNode, nodeFetch{})
		}
		fe.byNode[x.fetch] = nodeFetch{attempt: id, key: fe.draws.fetch.At(j.hash).At(uint64(a.task)).At(uint64(a.number))}
	}
	return &fe.byNode[x.fetch]
}

// fromNodes starts transfers to a reduce until as many run as it has
// fetchers, or no node is left to fetch from.
func (fe *fetching) fromNodes(id int32, f *nodeFetch) {
	a, x := &fe.table.list[id], &fe.table.rest[id]
	j := &fe.jobs.list[a.job]
	i := int64(a.task) - int64(j.total[state.Map])
	for bits.OnesCount64(f.running) < int(max(1, fe.Costs.Fetchers)) {
		ready := f.due &^ f.running &^ fe.lost
		if ready == 0 {
			if fe.findDue(id, j, f); f.due&^f.running&^fe.lost == 0 {
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
		bytes := j.part(fe.view.MapOutput(j.id)[n], i) - f.got[n]
		f.got[n] += max(0, bytes)
		again := min(bytes, f.twice)
		f.twice -= max(0, again)
		if bytes -= again; bytes <= 0 || fe.nodes.flows == nil {
			continue
		}
		flow := fe.nodes.flows.Read(fe.events.Now, state.NodeID(n), a.node, true, bytes, nodeFetchTag+uint32(x.fetch)*MaxFetchNodes+uint32(n))
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
func (fe *fetching) findDue(id int32, j *job, f *nodeFetch) {
	maps := j.done[state.Map]
	if f.due == 0 && (f.maps == maps || f.maps > 0 && j.fetchStep(f.maps) == j.fetchStep(maps)) {
		return
	}
	fe.fetchTime(id, int64(maps-f.maps))
	f.maps, f.due = maps, 0
	i := int64(fe.table.list[id].task) - int64(j.total[state.Map])
	for n, bytes := range fe.view.MapOutput(j.id) {
		switch lacks := j.part(bytes, i) - f.got[n]; {
		case lacks > 0:
			f.due |= 1 << n
		case lacks < 0:
			f.twice -= lacks
			f.got[n] += lacks
		}
	}
}

// stop stops all transfers of map output to a reduce.
func (fe *fetching) stop(f *nodeFetch) {
	for ; f.running != 0; f.running &= f.running - 1 {
		fe.nodes.flows.Cancel(fe.events.Now, f.flows[bits.TrailingZeros64(f.running)])
	}
}

// comeBack notes that a node is up again.
func (fe *fetching) comeBack(n state.NodeID) { fe.lost &^= 1 << (n & 63) }
