package sim

import (
	"math/bits"

	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// fetch counts the map output that one reduce has fetched or is fetching.
type fetch struct {
	maps int32             // number of maps whose output the reduce has or is fetching
	got  [exactRacks]int64 // by rack: bytes fetched; on a cluster with more than exactRacks racks, entry 0 is for the reduce's own rack, and entry 1 for all other racks
	near int64             // bytes that the reduce fetched from its own rack, in transfers from this rack alone or from all racks; used if the cluster has more than exactRacks racks
}

// On a cluster of up to exactRacks racks, a reduce has one transfer from each
// rack. On a larger cluster it has one transfer from its own rack and one from
// all other racks. If its own rack has less than 1/lumped of the bytes, there
// is only one transfer from all racks together.
const exactRacks, lumped = 4, 8

// flow adds a transfer or computation, f, to those that an attempt waits for
// before its next phase.
func (s *Sim) flow(id int32, a *attempt, f fluid.Flow) {
	if f == fluid.Ended {
		return
	}
	i := s.flowTag(id, a) % maxFlows
	a.flows[i] = f
	a.openFlows |= 1 << i
	a.pending++
}

// flowTag returns a number that names an attempt and one of its transfers or
// computations. When the transfer or computation ends, the number tells which
// attempt goes on.
func (s *Sim) flowTag(id int32, a *attempt) uint32 {
	return uint32(id)*maxFlows + uint32(bits.TrailingZeros8(^a.openFlows))
}

// read starts reading a map's input from the nearest copy. The order is: a
// cached copy on the node, a replica on the node, a replica in the rack, any
// replica. Among equally near replicas one is drawn at random.
func (s *Sim) read(id int32, a *attempt, j *job, w *Work) {
	if s.nodes.flows == nil || w.InputBytes == 0 {
		return
	}
	from := a.node
	if a.level == state.LevelRack || a.level == state.LevelOff {
		hosts := s.jobs.replicas(j, a.task)
		if len(hosts) == 0 {
			return // no node with the map's input is known, so the read takes no time
		}
		first := s.draws.read.At(j.hash).At(uint64(a.task)).Below(len(hosts))
		from = hosts[first]
		for i := range hosts {
			if h := hosts[(first+i)%len(hosts)]; a.level == state.LevelRack && s.nodes.list[h].rack == s.nodes.list[a.node].rack {
				from = h
				break
			}
		}
	}
	cached := a.level == state.LevelCache
	f := s.nodes.flows.Read(s.events.Now, from, a.node, cached, w.InputBytes, s.flowTag(id, a))
	s.flow(id, a, f)
	if s.load != nil && !cached {
		s.load.moves(s, id, main, reading, from, w.InputBytes, f)
	}
}

// fetchMore starts fetching the map output that a reduce does not have yet. It
// returns false if the reduce has to wait: for this transfer, or until more
// maps have finished.
func (s *Sim) fetchMore(id int32, a *attempt, w *Work) bool {
	j := &s.jobs.list[a.job]
	maps := j.done[state.Map]
	all := maps == j.total[state.Map]
	if s.NodeFetches {
		if w.FixedMs == 0 {
			f := s.nodeFetchOf(id, a, j)
			s.fetchFromNodes(id, a, f)
			if a.pending > 0 {
				return false
			}
			all = all && f.due == 0
		}
	} else if s.fetchFromRacks(id, a, j, w) {
		return false
	}
	if !all {
		a.waitsForMaps, a.next, j.waiting = true, j.waiting, id
		return false
	}
	a.phase = compute
	a.bytes = j.part(j.outBytes, int64(a.task)-int64(j.total[state.Map]))
	if fixedMs := j.fixedMs(a, w); fixedMs > 0 {
		a.phase = finish
		from := s.events.Now
		if !w.FromLastMap {
			from = a.startMs
		}
		if end := from + int64(fixedMs); end > s.events.Now {
			a.endMs = end
			s.timer(id, a, end-s.events.Now)
			if s.load != nil && w.CoresPercent > 0 {
				s.load.computes(id, a, w.CoresPercent, s.events.Now, end, fluid.Ended)
			}
		}
	}
	return true
}

// fetchFromRacks starts fetching map output from whole racks, if enough maps
// have finished since the last time. It returns true if the reduce has to wait
// for this.
func (s *Sim) fetchFromRacks(id int32, a *attempt, j *job, w *Work) bool {
	if a.fetch < 0 {
		if a.fetch = s.spareFetchIndex(); a.fetch < 0 {
			a.fetch = int32(len(s.fetches))
			s.fetches = append(s.fetches, fetch{})
		}
		s.fetches[a.fetch] = fetch{}
	}
	f := &s.fetches[a.fetch]
	maps := j.done[state.Map]
	if f.maps < maps && (f.maps == 0 || j.fetchStep(f.maps) != j.fetchStep(maps)) && w.FixedMs == 0 {
		s.startFetch(id, a, j, f)
		f.maps = maps
	}
	return a.pending > 0
}

// spareFetchIndex returns an index in Sim.fetches or Sim.nodeFetches that no
// attempt uses any more, or -1 if there is none.
func (s *Sim) spareFetchIndex() int32 {
	k := len(s.spareFetch)
	if k == 0 {
		return -1
	}
	i := s.spareFetch[k-1]
	s.spareFetch = s.spareFetch[:k-1]
	return i
}

// startFetch starts fetching a reduce's share of the map output that it does
// not have yet. On a cluster of few racks, the reduce fetches from each rack.
// On one of many racks, it fetches from its own rack and from one other rack.
// This other rack stands for all the rest, and is drawn among the racks of the
// maps that ended last.
func (s *Sim) startFetch(id int32, a *attempt, j *job, f *fetch) {
	s.fetchTime(id, a, int64(j.done[state.Map]-f.maps))
	if s.nodes.flows == nil {
		return
	}
	i := int64(a.task) - int64(j.total[state.Map])
	get := func(k int, bytes int64, from int32) {
		if bytes > 0 {
			f.got[k] += bytes
			s.flow(id, a, s.nodes.flows.Fetch(s.events.Now, state.RackID(from), a.node, s.Costs.Fetchers, bytes, s.flowTag(id, a)))
		}
	}
	if s.nodes.racks <= exactRacks {
		for r, bytes := range j.out {
			get(r, j.part(bytes, i)-f.got[r], int32(r))
		}
		return
	}
	own := s.nodes.list[a.node].rack
	all := j.part(j.outBytes, i) - f.got[0] - f.got[1]
	near := min(all, j.part(j.out[own], i)-f.near)
	f.near += max(0, near)
	if near > all/lumped {
		all -= near
		get(0, near, own)
	}
	from := s.draws.fetch.At(j.hash).At(uint64(a.task)).At(uint64(f.maps)).Below(min(len(j.lately), int(j.done[state.Map])))
	get(1, all, j.lately[from])
}

// fetchTime starts a timer for the time that a reduce takes to fetch the outputs
// of so many maps, besides the transfers.
func (s *Sim) fetchTime(id int32, a *attempt, maps int64) {
	if ms := maps * int64(s.Costs.FetchMs) / int64(max(1, s.Costs.Fetchers)); ms > 0 {
		s.timer(id, a, ms)
	}
}

// mapDone handles the success of a map: reduces that wait for map output fetch
// it, and the ApplicationMaster may ask for more reduces.
func (s *Sim) mapDone(slot int32) {
	j := &s.jobs.list[slot]
	done := j.done[state.Map]
	if j.asked < j.total[state.Reduce] && done >= j.slowStart {
		if s.Costs.AMBeatMs == 0 {
			s.rampUp(j)
		} else {
			s.callBeat(slot)
		}
	}
	if j.waiting < 0 || j.fetchStep(done) == j.fetchStep(done-1) {
		return
	}
	for j.woken, j.waiting = j.waiting, -1; j.woken >= 0; {
		id := j.woken
		a := &s.attempts[id]
		j.woken, a.next, a.waitsForMaps = a.next, -1, false
		s.proceed(id)
	}
}
