package sim

import (
	"math/bits"

	"heddle/harness/cluster"
	"heddle/harness/sim/fluid"
)

// fetch is what a reduce has fetched of the maps' output.
type fetch struct {
	maps int32             // whose output it has, or is fetching
	got  [exactRacks]int64 // bytes, by rack; where there are more racks: of its own rack, and of all others
}

// exactRacks is up to how many racks a reduce fetches from each by itself.
const exactRacks = 4

// flow counts one that has started among what the attempt waits for.
func (s *Sim) flow(id int32, a *attempt, f fluid.Flow) {
	if f == fluid.Ended {
		return
	}
	i := s.flowTag(id, a) % maxFlows
	a.flows[i] = f
	a.open |= 1 << i
	a.pending++
}

// flowTag is the tag of the next flow that an attempt starts.
func (s *Sim) flowTag(id int32, a *attempt) uint32 {
	return uint32(id)*maxFlows + uint32(bits.TrailingZeros8(^a.open))
}

// read starts reading a map's input: the cached copy on the node, its replica,
// one in the rack, or any; which of several is drawn.
func (s *Sim) read(id int32, a *attempt, j *job, w *Work) {
	if s.shared == nil || w.InputBytes == 0 {
		return
	}
	from := a.node
	if a.level == cluster.LevelRack || a.level == cluster.LevelOff {
		hosts := s.replicas(j, a.task)
		if len(hosts) == 0 {
			return // input without a place
		}
		first := s.streams.read.At(j.hash).At(uint64(a.task)).Below(len(hosts))
		from = hosts[first]
		for i := range hosts {
			if h := hosts[(first+i)%len(hosts)]; a.level == cluster.LevelRack && s.nodes[h].rack == s.nodes[a.node].rack {
				from = h
				break
			}
		}
	}
	s.flow(id, a, s.shared.Read(s.now, from, a.node, a.level == cluster.LevelCache, w.InputBytes, s.flowTag(id, a)))
}

// fetchMore starts fetching what maps have put out since, and says whether the
// attempt goes on: not if it waits for maps.
func (s *Sim) fetchMore(id int32, a *attempt, w *Work) bool {
	j := &s.jobs[a.job]
	maps := j.done[cluster.Map]
	if a.fetch < 0 {
		if k := len(s.spareFetch); k > 0 {
			a.fetch, s.spareFetch = s.spareFetch[k-1], s.spareFetch[:k-1]
		} else {
			a.fetch = int32(len(s.fetches))
			s.fetches = append(s.fetches, fetch{})
		}
		s.fetches[a.fetch] = fetch{}
	}
	f := &s.fetches[a.fetch]
	all := maps == j.total[cluster.Map]
	if f.maps < maps && w.FixedMs == 0 {
		s.startFetch(id, a, j, f)
		f.maps = maps
		if a.pending > 0 {
			return false
		}
	}
	if !all {
		if j.wakeAt <= maps {
			j.wakeAt = min(j.total[cluster.Map], maps+max(1, j.total[cluster.Map]/j.rounds()))
		}
		a.waits, a.next, j.waiting = true, j.waiting, id
		return false
	}
	a.phase = compute
	a.bytes = share(j.outBytes, int64(a.task)-int64(j.total[cluster.Map]), int64(j.total[cluster.Reduce]))
	if w.FixedMs > 0 {
		a.phase = finish
		from := s.now
		if !w.FromLastMap {
			from = a.startMs
		}
		if end := from + int64(w.FixedMs); end > s.now {
			a.endMs = end
			s.timer(id, a, end-s.now)
		}
	}
	return true
}

// rounds is in how many steps reduces fetch what maps put out while these run:
// fewer where many reduces do it.
func (j *job) rounds() int32 {
	const few = 16
	if j.total[cluster.Reduce] <= few {
		return 16
	}
	return 4
}

// startFetch fetches a reduce's share of what the maps have put out beyond what
// it has: by rack, or with many racks from its own and, for all others, from one
// where a map has ended lately, which is drawn.
func (s *Sim) startFetch(id int32, a *attempt, j *job, f *fetch) {
	if ms := int64(j.done[cluster.Map]-f.maps) * int64(s.Costs.FetchMs) / int64(max(1, s.Costs.Fetchers)); ms > 0 {
		s.timer(id, a, ms)
	}
	if s.shared == nil {
		return
	}
	i, n := int64(a.task)-int64(j.total[cluster.Map]), int64(j.total[cluster.Reduce])
	get := func(k int, bytes int64, from int32) {
		if more := share(bytes, i, n) - f.got[k]; more > 0 {
			f.got[k] += more
			s.flow(id, a, s.shared.Fetch(s.now, cluster.RackID(from), a.node, s.Costs.Fetchers, more, s.flowTag(id, a)))
		}
	}
	if s.racks <= exactRacks {
		for r, bytes := range j.out {
			get(r, bytes, int32(r))
		}
		return
	}
	own := s.nodes[a.node].rack
	get(0, j.out[own], own)
	if others := j.outBytes - j.out[own]; others > 0 {
		from := s.streams.fetch.At(j.hash).At(uint64(a.task)).At(uint64(f.maps)).Below(min(len(j.lately), int(j.done[cluster.Map])))
		get(1, others, j.lately[from])
	}
}

// share is part i of n of bytes; the parts add up.
func share(bytes, i, n int64) int64 {
	over := bytes % n
	return bytes/n + over*(i+1)/n - over*i/n
}

// mapDone wakes the reduces that wait for maps, and lets the master ask for
// more.
func (s *Sim) mapDone(slot int32) {
	j := &s.jobs[slot]
	done := j.done[cluster.Map]
	if j.asked < j.total[cluster.Reduce] && done >= j.slowStart {
		if s.Costs.AMBeatMs == 0 {
			s.rampUp(j)
		} else {
			s.callBeat(slot)
		}
	}
	if j.waiting < 0 || done < j.wakeAt && done < j.total[cluster.Map] {
		return
	}
	for id := j.waiting; id >= 0; {
		a := &s.attempts[id]
		s.timer(id, a, 0)
		a.waits = false
		id, a.next = a.next, -1
	}
	j.waiting = -1
}
