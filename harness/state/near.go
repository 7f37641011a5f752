package state

import "slices"

// near lists, for each place, the jobs with waiting maps there: what models ask
// who go by the maps of all jobs. It is kept from the first time that anyone
// asks; a job that has none waiting any more stays until it is come across.
type near struct {
	on    bool
	lists [][]JobID // by node, or by rack
}

// place is what jobs are listed by.
type place int

const (
	nearCache place = iota // nodes that have it in their cache
	nearDisk               // nodes that have it on disk
	nearRack               // racks of those
	nearSplit              // nodes that splits name
	places
)

// EachJob yields the jobs with waiting maps that NextMap finds for node n at a
// level, in the order of WaitingJobs, until told to stop. Meanwhile nothing may
// change, and no other EachJob or EachNamed run.
func (v *View) EachJob(n NodeID, level Level, yield func(JobID) bool) {
	switch level {
	case LevelCache:
		v.s.eachNear(nearCache, int32(n), yield)
	case LevelNode:
		v.s.eachNear(nearDisk, int32(n), yield)
	case LevelRack:
		v.s.eachNear(nearRack, v.s.racks[n], yield)
	default:
		for _, id := range v.s.waiting[Map] {
			if !yield(id) {
				return
			}
		}
	}
}

// EachNamed yields the jobs with a waiting map whose split names node n, in the
// order of WaitingJobs, until told to stop.
func (v *View) EachNamed(n NodeID, yield func(JobID) bool) { v.s.eachNear(nearSplit, int32(n), yield) }

// AnyRerun says whether maps that failed before wait, or are on their way.
func (v *View) AnyRerun() bool { return v.s.reruns > 0 }

// AnyUnhosted says whether a job with a waiting map has one whose split names no
// host.
func (v *View) AnyUnhosted() bool { return v.s.unhosted > 0 }

// Place is how many jobs with waiting tasks of a kind come before id in the
// order of WaitingJobs.
func (v *View) Place(id JobID, k Kind) int {
	i, _ := v.s.find(k, id)
	return i
}

func (s *State) eachNear(kind place, key int32, yield func(JobID) bool) {
	if s.prioritized { // lists are in order of submission
		for _, id := range s.waiting[Map] {
			if s.jobs[id].waitsAt(kind, key) && !yield(id) {
				return
			}
		}
		return
	}
	x := &s.near[kind]
	if !x.on {
		x.on = true
		for _, id := range s.waiting[Map] {
			s.enlist(kind, id)
		}
	}
	if int(key) >= len(x.lists) {
		return
	}
	list, kept := x.lists[key], 0
	for i, id := range list {
		if !s.jobs[id].waitsAt(kind, key) {
			continue
		}
		list[kept] = id
		kept++
		if !yield(id) {
			if kept <= i {
				kept += copy(list[kept:], list[i+1:])
			} else {
				kept = len(list)
			}
			break
		}
	}
	x.lists[key] = list[:kept]
}

// waitsAt says whether one of the job's waiting maps is there.
func (j *job) waitsAt(kind place, key int32) bool {
	if j.counts[Map].waiting == 0 {
		return false
	}
	waiting := j.open[Map].bits
	switch kind {
	case nearCache:
		return j.cachedTasks > 0 && j.cached.first(key, waiting) != None
	case nearDisk:
		return j.data.byNode.first(key, waiting) != None
	case nearRack:
		return j.data.byRack.first(key, waiting) != None
	}
	return j.split.byNode.first(key, waiting) != None
}

// enlist adds a job wherever it has maps, waiting or not.
func (s *State) enlist(kind place, id JobID) {
	j := &s.jobs[id]
	var keys *table
	switch kind {
	case nearCache:
		if j.cached == nil {
			return
		}
		keys = &j.cached.nodes
	case nearDisk:
		keys = &j.data.byNode.cursors
	case nearRack:
		keys = &j.data.byRack.cursors
	default:
		keys = &j.split.byNode.cursors
	}
	for i := 0; i < len(keys.slots); i += 2 {
		if key := keys.slots[i]; key != 0 {
			s.near[kind].add(key-1, id)
		}
	}
}

// enlistAll is enlist for all kinds that anyone asks for: its maps begin to wait.
func (s *State) enlistAll(id JobID) {
	for kind := range places {
		if s.near[kind].on {
			s.enlist(kind, id)
		}
	}
}

// enlistTask adds a job where t is, which waits again.
func (s *State) enlistTask(id JobID, t TaskID) {
	j := &s.jobs[id]
	for kind := range places {
		x := &s.near[kind]
		if !x.on {
			continue
		}
		switch kind {
		case nearCache:
			if j.cached != nil {
				for i := j.cached.of(int32(t)); i != None; i = j.cached.copies[i].ofTask {
					x.add(j.cached.copies[i].node, id)
				}
			}
		case nearSplit:
			for _, n := range j.split.of(t) {
				x.add(int32(n), id)
			}
		default:
			for _, n := range j.data.of(t) {
				if kind == nearRack {
					x.add(s.racks[n], id)
				} else {
					x.add(int32(n), id)
				}
			}
		}
	}
}

func (x *near) add(key int32, id JobID) {
	for int(key) >= len(x.lists) {
		x.lists = append(x.lists, nil)
	}
	list := &x.lists[key]
	if last := len(*list) - 1; last < 0 || (*list)[last] < id {
		*list = append(*list, id)
	} else if i, in := slices.BinarySearch(*list, id); !in {
		*list = slices.Insert(*list, i, id)
	}
}
