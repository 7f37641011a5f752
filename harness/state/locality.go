package state

import "slices"

// NextMap returns a waiting map of the job whose input is as near to node n as
// level says, or None if there is none. LevelRack includes maps with input on
// the node itself, and LevelOff includes all maps. For LevelNode, LevelRack
// and LevelOff, NextMap chooses the lowest-numbered map. For LevelCache, maps
// whose input was cached after the job's submission, and maps that wait again,
// come first; the other maps follow by ascending number.
func (v *View) NextMap(id JobID, n NodeID, level Level) TaskID {
	j := &v.s.jobs[id]
	if j.counts[Map].waiting == 0 {
		return None
	}
	waiting := &j.waiting[Map]
	switch level {
	case LevelCache:
		if j.cachedTasks == 0 {
			return None
		}
		return j.cached.first(int32(n), waiting.bits)
	case LevelNode:
		return j.data.byNode.first(int32(n), waiting.bits)
	case LevelRack:
		return j.data.byRack.first(v.s.racks[n], waiting.bits)
	default:
		return firstSet(waiting.bits, &waiting.from)
	}
}

// Nearest returns the waiting map of the job whose input is nearest to node n,
// and how near it is (cache, node, rack or off). It considers the levels from
// the parameter from to the parameter to, both included. It returns None if no
// map waits whose input is as near as that.
func (v *View) Nearest(id JobID, n NodeID, from, to Level) (TaskID, Level) {
	for level := from; level <= to; level++ {
		if t := v.NextMap(id, n, level); t != None {
			return t, level
		}
	}
	return None, to
}

// EachMap calls yield with each waiting map that NextMap could return for the
// same job, node and level, in the order in which NextMap would choose them,
// until yield returns false.
func (v *View) EachMap(id JobID, n NodeID, level Level, yield func(TaskID) bool) {
	j := &v.s.jobs[id]
	if j.counts[Map].waiting == 0 {
		return
	}
	bits := j.waiting[Map].bits
	switch level {
	case LevelCache:
		if j.cached != nil {
			j.cached.each(int32(n), bits, yield)
		}
	case LevelNode:
		j.data.byNode.each(int32(n), bits, yield)
	case LevelRack:
		j.data.byRack.each(v.s.racks[n], bits, yield)
	default:
		for t := range j.counts[Map].total {
			if isSet(bits, t) && !yield(TaskID(t)) {
				return
			}
		}
	}
}

// NextRerun returns, of the job's maps that wait again because an attempt
// failed, the map that failed first. It returns None if no such map waits.
func (v *View) NextRerun(id JobID) TaskID {
	j := &v.s.jobs[id]
	for _, t := range j.rerun {
		if j.where[t] == rerunTask && !v.hides[Map] {
			return t
		}
	}
	return None
}

// NextReduce returns the job's lowest-numbered waiting reduce, or None if there
// is none.
func (v *View) NextReduce(id JobID) TaskID {
	j := &v.s.jobs[id]
	if j.counts[Reduce].waiting == 0 || v.hides[Reduce] {
		return None
	}
	waiting := &j.waiting[Reduce]
	return j.task(Reduce, int32(firstSet(waiting.bits, &waiting.from)))
}

// NthWaiting returns the job's waiting task of kind k before which, in order
// of their numbers, n other tasks of this kind wait. It returns None if there
// is none.
func (v *View) NthWaiting(id JobID, k Kind, n int32) TaskID {
	j := &v.s.jobs[id]
	if n < 0 || n >= j.counts[k].waiting {
		return None
	}
	return j.task(k, int32(nthSet(j.waiting[k].bits, n)))
}

// Level returns how near node n is to the input of map t, by the input's
// replicas and cached copies.
func (v *View) Level(id JobID, t TaskID, n NodeID) Level {
	j := &v.s.jobs[id]
	if j.cached != nil && j.cached.find(int32(t), int32(n)) != None {
		return LevelCache
	}
	return v.s.level(&j.data, t, n)
}

// Levels returns how near node n is to map t, in two ways: data by the
// replicas and cached copies of the map's input, split by the hosts in the
// map's input split.
func (v *View) Levels(id JobID, t TaskID, n NodeID) (data, split Level) {
	j := &v.s.jobs[id]
	data = v.s.level(&j.data, t, n)
	if split = data; j.split != &j.data {
		split = v.s.level(j.split, t, n)
	}
	if j.cached != nil && j.cached.find(int32(t), int32(n)) != None {
		data = LevelCache
	}
	return data, split
}

// SplitLevel returns how near node n is to map t by the hosts in the map's
// input split: LevelNode, LevelRack or LevelOff. The ApplicationMaster knows
// only these hosts.
func (v *View) SplitLevel(id JobID, t TaskID, n NodeID) Level {
	return v.s.level(v.s.jobs[id].split, t, n)
}

func (s *State) level(l *located, t TaskID, n NodeID) Level {
	level := LevelOff
	for _, host := range l.of(t) {
		if host == n {
			return LevelNode
		}
		if s.racks[host] == s.racks[n] {
			level = LevelRack
		}
	}
	return level
}

// Replicas returns the nodes that store map t's input on disk.
func (v *View) Replicas(id JobID, t TaskID) []NodeID { return v.s.jobs[id].data.of(t) }

// SplitHosts returns the nodes that map t's input split names, as the
// ApplicationMaster reads it.
func (v *View) SplitHosts(id JobID, t TaskID) []NodeID { return v.s.jobs[id].split.of(t) }

// CachedOn appends the nodes that have map t's input in their HDFS cache to
// the slice in the parameter to, and returns the slice.
func (v *View) CachedOn(id JobID, t TaskID, to []NodeID) []NodeID {
	if c := v.s.jobs[id].cached; c != nil {
		for i := c.of(int32(t)); i != None; i = c.copies[i].ofTask {
			to = append(to, NodeID(c.copies[i].node))
		}
	}
	return to
}

// Locations returns how many different hosts and racks the input splits of a
// job name. In its first request, the ApplicationMaster asks for containers at
// all of these.
func (v *View) Locations(id JobID) int32 {
	l := v.s.jobs[id].split
	return l.byNode.lists + l.byRack.lists
}

// Branch is the rule by which an ApplicationMaster chooses the map that a
// container runs.
type Branch uint8

// The ApplicationMaster tries these rules for choosing a map in this order.
const (
	BindNone  Branch = iota // no map waits: the ApplicationMaster gives the container back
	BindRerun               // the map that failed first and waits again, wherever its input is
	BindNode                // the lowest-numbered waiting map whose split names the container's host
	BindRack                // the lowest-numbered waiting map whose split names a host of the container's rack
	BindAny                 // the lowest-numbered waiting map, wherever its input is
)

func (b Branch) String() string {
	return [...]string{"none", "rerun", "node", "rack", "any"}[b]
}

// WouldBind returns the map that MapReduce's ApplicationMaster would start in
// a container of the job on node n, and the rule by which it chooses. It
// considers only the hosts in the input splits, not replicas or cached copies
// on other nodes. A map that is expected in a container decided on earlier
// counts as started. By each rule, maps that wait again because their attempt
// was killed come after the other maps, because the ApplicationMaster puts
// them at the end of its list.
func (v *View) WouldBind(id JobID, n NodeID) (TaskID, Branch) {
	j := &v.s.jobs[id]
	if j.counts[Map].waiting == 0 {
		return None, BindNone
	}
	if t := v.NextRerun(id); t != None {
		return t, BindRerun
	}
	if len(j.requeued) > 0 {
		return v.wouldBindRequeued(j, n)
	}
	waiting, seen := &j.waiting[Map], j.split
	if t := seen.byNode.first(int32(n), waiting.bits); t != None {
		return t, BindNode
	}
	if t := seen.byRack.first(v.s.racks[n], waiting.bits); t != None {
		return t, BindRack
	}
	return firstSet(waiting.bits, &waiting.from), BindAny
}

// wouldBindRequeued is WouldBind for a job with maps that wait again because
// their attempt was killed. By each of the ApplicationMaster's rules it
// prefers the lowest-numbered of the other maps. If the rule fits no other
// map, it chooses the map that was killed first.
func (v *View) wouldBindRequeued(j *job, n NodeID) (TaskID, Branch) {
	bits := j.waiting[Map].bits
	found := None
	fresh := func(t TaskID) bool {
		if slices.Contains(j.requeued, t) {
			return true
		}
		found = int(t)
		return false
	}
	requeuedAt := func(level Level) {
		for _, t := range j.requeued {
			if found == None && isSet(bits, int32(t)) && v.s.level(j.split, t, n) <= level {
				found = int(t)
			}
		}
	}
	j.split.byNode.each(int32(n), bits, fresh)
	if requeuedAt(LevelNode); found != None {
		return TaskID(found), BindNode
	}
	j.split.byRack.each(v.s.racks[n], bits, fresh)
	if requeuedAt(LevelRack); found != None {
		return TaskID(found), BindRack
	}
	for t := range j.counts[Map].total {
		if isSet(bits, t) && !fresh(TaskID(t)) {
			break
		}
	}
	requeuedAt(LevelOff)
	return TaskID(found), BindAny
}
