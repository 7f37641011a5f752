package sim

import (
	"math/bits"

	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// fetch is what a reduce has fetched of the maps' output.
type fetch struct {
	maps int32             // whose output it has, or is fetching
	got  [exactRacks]int64 // bytes, by rack; where there are more racks: from its own, and from others
	near int64             // where there are more racks: bytes of its own, also those fetched with the others
}

// exactRacks is up to how many racks a reduce fetches from each by itself. With
// more, what its own rack has goes with the rest if it is at most one in lumped.
const exactRacks, lumped = 4, 8

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
	if a.level == state.LevelRack || a.level == state.LevelOff {
		hosts := s.replicas(j, a.task)
		if len(hosts) == 0 {
			return // input without a place
		}
		first := s.streams.read.At(j.hash).At(uint64(a.task)).Below(len(hosts))
		from = hosts[first]
		for i := range hosts {
			if h := hosts[(first+i)%len(hosts)]; a.level == state.LevelRack && s.nodes[h].rack == s.nodes[a.node].rack {
				from = h
				break
			}
		}
	}
	s.flow(id, a, s.shared.Read(s.now, from, a.node, a.level == state.LevelCache, w.InputBytes, s.flowTag(id, a)))
}

// fetchMore starts fetching what maps have put out since, and says whether the
// attempt goes on: not if it waits for maps.
func (s *Sim) fetchMore(id int32, a *attempt, w *Work) bool {
	j := &s.jobs[a.job]
	maps := j.done[state.Map]
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
	all := maps == j.total[state.Map]
	if f.maps < maps && (f.maps == 0 || j.round(f.maps) != j.round(maps)) && w.FixedMs == 0 {
		s.startFetch(id, a, j, f)
		f.maps = maps
		if a.pending > 0 {
			return false
		}
	}
	if !all {
		a.waits, a.next, j.waiting = true, j.waiting, id
		return false
	}
	a.phase = compute
	a.bytes = share(j.outBytes, int64(a.task)-int64(j.total[state.Map]), int64(j.total[state.Reduce]))
	if fixedMs := s.fixedMs(a, j, w); fixedMs > 0 {
		a.phase = finish
		from := s.now
		if !w.FromLastMap {
			from = a.startMs
		}
		if end := from + int64(fixedMs); end > s.now {
			a.endMs = end
			s.timer(id, a, end-s.now)
		}
	}
	return true
}

// round numbers the steps in which reduces fetch what maps put out while these
// run: sixteenths of the maps, or where many reduces do it, until half of them are
// done, then half of the rest, and so on to a sixteenth, which is the last.
func (j *job) round(done int32) int32 {
	const few, part = 16, 16
	all := j.total[state.Map]
	switch left := all - done; {
	case left == 0:
		return -1
	case j.total[state.Reduce] <= few:
		return done / max(1, all/part)
	default:
		return int32(bits.Len64((uint64(left)*part - 1) / uint64(all)))
	}
}

// startFetch fetches a reduce's share of what the maps have put out beyond what
// it has: by rack, or with many racks from its own, unless that is little, and
// for all others from one where a map has ended lately, which is drawn.
func (s *Sim) startFetch(id int32, a *attempt, j *job, f *fetch) {
	if ms := int64(j.done[state.Map]-f.maps) * int64(s.Costs.FetchMs) / int64(max(1, s.Costs.Fetchers)); ms > 0 {
		s.timer(id, a, ms)
	}
	if s.shared == nil {
		return
	}
	i, n := int64(a.task)-int64(j.total[state.Map]), int64(j.total[state.Reduce])
	get := func(k int, bytes int64, from int32) {
		if bytes > 0 {
			f.got[k] += bytes
			s.flow(id, a, s.shared.Fetch(s.now, state.RackID(from), a.node, s.Costs.Fetchers, bytes, s.flowTag(id, a)))
		}
	}
	if s.racks <= exactRacks {
		for r, bytes := range j.out {
			get(r, share(bytes, i, n)-f.got[r], int32(r))
		}
		return
	}
	own := s.nodes[a.node].rack
	all := share(j.outBytes, i, n) - f.got[0] - f.got[1]
	near := min(all, share(j.out[own], i, n)-f.near)
	f.near += max(0, near)
	if near > all/lumped {
		all -= near
		get(0, near, own)
	}
	from := s.streams.fetch.At(j.hash).At(uint64(a.task)).At(uint64(f.maps)).Below(min(len(j.lately), int(j.done[state.Map])))
	get(1, all, j.lately[from])
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
	done := j.done[state.Map]
	if j.asked < j.total[state.Reduce] && done >= j.slowStart {
		if s.Costs.AMBeatMs == 0 {
			s.rampUp(j)
		} else {
			s.callBeat(slot)
		}
	}
	if j.waiting < 0 || j.round(done) == j.round(done-1) {
		return
	}
	for j.woken, j.waiting = j.waiting, -1; j.woken >= 0; {
		id := j.woken
		a := &s.attempts[id]
		j.woken, a.next, a.waits = a.next, -1, false
		s.proceed(id)
	}
}
