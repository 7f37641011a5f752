package state

import (
	"slices"
)

// located knows the hosts of each map's input, and the maps whose input is on
// each host and in each rack.
type located struct {
	hosts  []NodeID
	ends   []int32
	byNode index
	byRack index
}

// of returns the hosts of map t's input, or an empty list if the job has
// ended.
func (l *located) of(t TaskID) []NodeID {
	if uint(t) >= uint(len(l.ends)) {
		return nil
	}
	start := int32(0)
	if t > 0 {
		start = l.ends[t-1]
	}
	return l.hosts[start:l.ends[t]]
}

// layOut makes a job's arrays with data of each task. The arrays share one
// piece of memory. A second piece holds the hosts in the input splits, if they
// differ from the nodes with replicas.
func (s *State) layOut(j *job, spec *JobSpec) {
	a := reuse(&s.arrays)
	maps, tasks := spec.Maps, int(spec.Maps+spec.Reduces)
	own := tasks + words(maps) + words(spec.Reduces)
	a.mem = s.layHosts(&a.data, &spec.Replicas, maps, own)
	a.where = a.mem[:tasks]
	for t := range a.where {
		a.where[t] = unasked
	}
	a.waiting[Map] = set{bits: a.mem[tasks:][:words(maps)]}
	a.waiting[Reduce] = set{bits: a.mem[tasks+words(maps) : own]}
	if a.split = &a.data; spec.SplitHosts != nil {
		a.split = &located{}
		a.splitMem = s.layHosts(a.split, spec.SplitHosts, maps, 0)
	}
	j.arrays = a
	a.unhosted = a.split.unhosted()
	s.layCached(j, &spec.Cached)
}

// unhosted reports whether some map has no host in the lists of hosts of a
// job's maps.
func (l *located) unhosted() bool {
	before := int32(0)
	for _, end := range l.ends {
		if end == before {
			return true
		}
		before = end
	}
	return false
}

// freeArrays returns the memory of a job's arrays to the pools for reuse.
func (s *State) freeArrays(j *job) {
	a := j.arrays
	j.arrays = &nothing
	s.reruns -= int32(len(a.rerun))
	s.pool.put(a.mem)
	s.pool.put(a.splitMem)
	s.hosts.put(a.data.hosts)
	if a.split != &a.data {
		s.hosts.put(a.split.hosts)
	}
	if a.cached != nil {
		s.retire(a.cached)
	}
	*a = arrays{out: a.out[:0]}
	s.arrays = append(s.arrays, a)
}

// layHosts fills l with the hosts of each map in h. It takes a piece of memory
// from the pool for this, and returns the piece. The first numbers of the
// piece, as many as the parameter reserved says, are left to the caller.
func (s *State) layHosts(l *located, h *Hosts, maps int32, reserved int) []int32 {
	rackEnds := sized(&s.work.rackEnds, int(maps))
	racks := s.racksOf(h, rackEnds)
	n, r := h.count(), len(racks)
	nodeSlots, rackSlots := tableSize(n, len(s.nodes)), tableSize(r, len(s.names.racks))
	mem := s.pool.get(reserved + int(maps) + n + r + nodeSlots + rackSlots)
	rest := mem[reserved:]
	cut := func(n int) []int32 {
		piece := rest[:n:n]
		rest = rest[n:]
		return piece
	}
	l.ends = cut(int(maps))
	filled := copy(l.ends, h.Ends)
	for i := filled; i < len(l.ends); i++ {
		l.ends[i] = int32(n)
	}
	l.hosts = s.hosts.get(n)
	copy(l.hosts, h.Nodes)
	at := sized(&s.work.at, max(n, r))
	l.byNode.tasks = cut(n)
	l.byNode.cursors.reset(cut(nodeSlots), len(s.nodes))
	build(&l.byNode, l.hosts, l.ends, at)
	l.byRack.tasks = cut(r)
	l.byRack.cursors.reset(cut(rackSlots), len(s.names.racks))
	build(&l.byRack, racks, rackEnds, at)
	return mem
}

// racksOf returns the racks of each map's hosts, without repeating a rack for
// the same map. The racks of map i end before index ends[i] of the result, as
// the nodes in Hosts do.
func (s *State) racksOf(h *Hosts, ends []int32) []int32 {
	racks := s.work.racks[:0]
	start, i := int32(0), 0
	for t := range ends {
		if t < len(h.Ends) {
			first := len(racks)
			for _, n := range h.Nodes[start:h.Ends[t]] {
				if r := s.racks[n]; !slices.Contains(racks[first:], r) {
					racks = append(racks, r)
				}
			}
			start, i = h.Ends[t], len(racks)
		}
		ends[t] = int32(i)
	}
	s.work.racks = racks
	return racks
}
