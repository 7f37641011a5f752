package state

import "slices"

// near lists, for each node or rack, the jobs with waiting maps whose input is
// at this node or rack. It serves scheduler models that choose among the maps
// of all jobs. The lists are made at the first search and kept up to date from
// then on. A job whose maps with input at a node or rack have all started
// stays in its list until the next search.
type near struct {
	on    bool
	lists [][]JobID // by node (by rack in the lists of kind nearRack): jobs with waiting maps whose input is at the node or rack
}

// nearness says what puts a job into a node's or rack's list of jobs: its
// maps' input is cached on the node, stored on the node's disk or stored in
// the rack, or its maps' input splits name the node.
type nearness int

const (
	nearCache nearness = iota // each node has a list of the jobs with maps whose input it caches
	nearDisk                  // each node has a list of the jobs with maps whose input it stores on disk
	nearRack                  // each rack has a list of the jobs with maps whose input its nodes store
	nearSplit                 // each node has a list of the jobs with maps whose input split names the node
	nearnesses
)

// EachJob calls yield with the jobs for which NextMap returns a map at node n
// and level, in FIFO order, until yield returns false. yield must not change
// the State, and must not call EachJob or EachNamed.
func (v *View) EachJob(n NodeID, level Level, yield func(JobID) bool) {
	if v.hides[Map] {
		return
	}
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

// EachNamed calls yield with the jobs that have a waiting map whose input split
// names node n, in FIFO order, until yield returns false.
func (v *View) EachNamed(n NodeID, yield func(JobID) bool) {
	if !v.hides[Map] {
		v.s.eachNear(nearSplit, int32(n), yield)
	}
}

// AnyRerun reports whether some job has a failed map that has not started
// again: it waits, or the scheduler has decided on a container for it that has
// not started yet.
func (v *View) AnyRerun() bool { return v.s.reruns > 0 && !v.hides[Map] }

// AnyUnhosted reports whether some job with a waiting map has an input split
// that names no host.
func (v *View) AnyUnhosted() bool { return v.s.unhosted > 0 }

// Place returns a job's position, from 0, in FIFO order among the jobs with a
// waiting task of kind k.
func (v *View) Place(id JobID, k Kind) int {
	i, _ := v.s.find(v.s.waiting[k], id)
	return i
}

func (s *State) eachNear(kind nearness, key int32, yield func(JobID) bool) {
	if s.prioritized { // the lists of jobs are in order of submission, which is not FIFO order once a job has a priority other than 0
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

// waitsAt reports whether the job has a waiting map whose input is at the
// given node or rack. The parameter kind says whether key is a node or a rack,
// and whether cached copies, replicas or the hosts in input splits count.
func (j *job) waitsAt(kind nearness, key int32) bool {
	if j.counts[Map].waiting == 0 {
		return false
	}
	waiting := j.waiting[Map].bits
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

// enlist adds a job to the lists of jobs of all nodes or racks that have input
// of the job's maps, even input of maps that do not wait.
func (s *State) enlist(kind nearness, id JobID) {
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

// enlistAll is called when a job's maps begin to wait. It adds the job to the
// lists of jobs of all nodes and racks that have input of these maps.
func (s *State) enlistAll(id JobID) {
	for kind := range nearnesses {
		if s.near[kind].on {
			s.enlist(kind, id)
		}
	}
}

// enlistTask is called when map t of a job waits again. It adds the job to the
// lists of jobs of the nodes and racks that have the map's input.
func (s *State) enlistTask(id JobID, t TaskID) {
	j := &s.jobs[id]
	for kind := range nearnesses {
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
