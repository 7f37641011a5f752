package sim

import (
	"heddle/harness/state"
)

// fetching is how reduces fetch the output of maps: from whole racks, or from nodes if
// Config.NodeFetches is set.
type fetching struct {
	*base
	table  *table
	byRack []fetch
	byNode []nodeFetch
	spare  []int32 // indexes in byRack or byNode that are free for new reduces
	lost   uint64  // bit n is set if node n is down; kept if Config.NodeFetches is set
}

// begin has no reduce fetch.
func (fe *fetching) begin(b *base, t *table) {
	*fe = fetching{base: b, table: t, byRack: fe.byRack[:0], byNode: fe.byNode[:0], spare: fe.spare[:0]}
}

// fetch counts the map output that one reduce has fetched or is fetching.
type fetch struct {
	maps int32 // number of maps whose output the reduce has or is fetching
	// by rack: bytes fetched; on a cluster with more than exactRacks racks, entry 0 is for the reduce's own rack, and
	// entry 1 for all other racks
	got [exactRacks]int64
	// bytes that the reduce fetched from its own rack, in transfers from this rack alone or from all racks; used if the
	// cluster has more than exactRacks racks
	near int64
}

// On a cluster of up to exactRacks racks, a reduce has one transfer from each
// rack. On a larger cluster it has one transfer from its own rack and one from
// all other racks. If its own rack has less than 1/lumped of the bytes, there
// is only one transfer from all racks together.
const exactRacks, lumped = 4, 8

// fromRacks starts fetching map output from whole racks, if enough maps
// have finished since the last time. It returns true if the reduce has to wait
// for this.
func (fe *fetching) fromRacks(id int32, j *job, w *Work) bool {
	x := &fe.table.rest[id]
	if x.fetch < 0 {
		if x.fetch = fe.spareIndex(); x.fetch < 0 {
			x.fetch = int32(len(fe.byRack))
			fe.byRack = append(fe.byRack, fetch{})
		}
		fe.byRack[x.fetch] = fetch{}
	}
	f := &fe.byRack[x.fetch]
	maps := j.done[state.Map]
	if f.maps < maps && (f.maps == 0 || j.fetchStep(f.maps) != j.fetchStep(maps)) && w.FixedMs == 0 {
		fe.start(id, j, f)
		f.maps = maps
	}
	return fe.table.list[id].pending > 0
}

// spareIndex returns an index in fetching.byRack or fetching.byNode that no
// attempt uses any more, or -1 if there is none.
func (fe *fetching) spareIndex() int32 {
	k := len(fe.spare)
	if k == 0 {
		return -1
	}
	i := fe.spare[k-1]
	fe.spare = fe.spare[:k-1]
	return i
}

// start starts fetching a reduce's share of the map output that it does
// not have yet. On a cluster of few racks, the reduce fetches from each rack.
// On one of many racks, it fetches from its own rack and from one other rack.
// This other rack stands for all the rest, and is drawn among the racks of the
// maps that ended last.
func (fe *fetching) start(id int32, j *job, f *fetch) {
	a := &fe.table.list[id]
	fe.fetchTime(id, int64(j.done[state.Map]-f.maps))
	if fe.nodes.flows == nil {
		return
	}
	i := int64(a.task) - int64(j.total[state.Map])
	get := func(k int, bytes int64, from int32) {
		if bytes > 0 {
			f.got[k] += bytes
			fe.table.awaits(id, fe.nodes.flows.Fetch(fe.events.Now, state.RackID(from), a.node, fe.Costs.Fetchers, bytes, a.tag(id)))
		}
	}
	if fe.nodes.racks <= exactRacks {
		for r, bytes := range j.out {
			get(r, j.part(bytes, i)-f.got[r], int32(r))
		}
		return
	}
	own := fe.nodes.list[a.node].rack
	all := j.part(j.outBytes, i) - f.got[0] - f.got[1]
	near := min(all, j.part(j.out[own], i)-f.near)
	f.near += max(0, near)
	if near > all/lumped {
		all -= near
		get(0, near, own)
	}
	from := fe.draws.fetch.At(j.hash).At(uint64(a.task)).At(uint64(f.maps)).Below(min(len(j.lately), int(j.done[state.Map])))
	get(1, all, j.lately[from])
}

// fetchTime starts a timer for the time that a reduce takes to fetch the outputs
// of so many maps, besides the transfers.
func (fe *fetching) fetchTime(id int32, maps int64) {
	if ms := maps * int64(fe.Costs.FetchMs) / int64(max(1, fe.Costs.Fetchers)); ms > 0 {
		fe.table.list[id].timer(&fe.events, id, ms)
	}
}
