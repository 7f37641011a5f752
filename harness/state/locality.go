package state

import "slices"

// NextMap returns a waiting map of the job whose input is as near to node n as
// level says, None if there is none. LevelRack includes node-local maps, and
// LevelOff is any map. LevelNode, LevelRack and LevelOff give the
// lowest-numbered such map. LevelCache gives first the maps that were cached or
// waited again after submission, then the lowest-numbered one.
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
// and its level. It tries the levels from from to to, and returns None if there
// is no such map.
func (v *View) Nearest(id JobID, n NodeID, from, to Level) (TaskID, Level) {
	for level := from; level <= to; level++ {
		if t := v.NextMap(id, n, level); t != None {
			return t, level
		}
	}
	return None, to
}

// EachMap calls yield with the waiting maps that NextMap chooses from, in its
// order, until yield returns false.
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

// NextRerun returns the re-run that failed first, None if no re-run waits.
// NextMap returns re-runs too, without preferring them.
func (v *View) NextRerun(id JobID) TaskID {
	j := &v.s.jobs[id]
	for _, t := range j.rerun {
		if j.where[t] == rerunTask {
			return t
		}
	}
	return None
}

// NextReduce returns the lowest-numbered waiting reduce, None if there is none.
func (v *View) NextReduce(id JobID) TaskID {
	j := &v.s.jobs[id]
	if j.counts[Reduce].waiting == 0 {
		return None
	}
	waiting := &j.waiting[Reduce]
	return j.task(Reduce, int32(firstSet(waiting.bits, &waiting.from)))
}

// NthWaiting returns the waiting task of a kind that has n waiting tasks below
// it, None if there is none.
func (v *View) NthWaiting(id JobID, k Kind, n int32) TaskID {
	j := &v.s.jobs[id]
	if n < 0 || n >= j.counts[k].waiting {
		return None
	}
	return j.task(k, int32(nthSet(j.waiting[k].bits, n)))
}

// Level returns how near node n is to the input of map t, caches included.
func (v *View) Level(id JobID, t TaskID, n NodeID) Level {
	j := &v.s.jobs[id]
	if j.cached != nil && j.cached.find(int32(t), int32(n)) != None {
		return LevelCache
	}
	return v.s.level(&j.data, t, n)
}

// Levels returns both Level and SplitLevel.
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

// SplitLevel returns how near node n is to map t by the hosts in its split,
// which are all that the ApplicationMaster knows: LevelNode, LevelRack or
// LevelOff.
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

// SplitHosts returns the nodes that map t's split names, as the
// ApplicationMaster reads it.
func (v *View) SplitHosts(id JobID, t TaskID) []NodeID { return v.s.jobs[id].split.of(t) }

// CachedOn appends the nodes that have map t's input in their cache.
func (v *View) CachedOn(id JobID, t TaskID, to []NodeID) []NodeID {
	if c := v.s.jobs[id].cached; c != nil {
		for i := c.of(int32(t)); i != None; i = c.copies[i].ofTask {
			to = append(to, NodeID(c.copies[i].node))
		}
	}
	return to
}

// Locations returns how many different hosts and racks the splits of a job
// name. The ApplicationMaster first asks for containers at that many places.
func (v *View) Locations(id JobID) int32 {
	l := v.s.jobs[id].split
	return l.byNode.lists + l.byRack.lists
}

// Branch is the rule by which an ApplicationMaster binds a map to a container.
type Branch uint8

// The ApplicationMaster tries the branches in this order.
const (
	BindNone  Branch = iota // no map waits: the container goes back
	BindRerun               // the re-run that failed first, wherever it is
	BindNode                // the lowest-numbered map whose split names the host
	BindRack                // the lowest-numbered map whose split names a host of the rack
	BindAny                 // the lowest-numbered map
)

func (b Branch) String() string {
	return [...]string{"none", "rerun", "node", "rack", "any"}[b]
}

// WouldBind returns the map that MapReduce's ApplicationMaster would start in a
// container of the job on node n, and the rule that selects it. The
// ApplicationMaster looks at the hosts in the splits, not at replicas and
// caches. A map of a reservation counts as started. A requeued map comes after
// the other maps of its branch, because the ApplicationMaster puts it at the
// end of its list.
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

// wouldBindRequeued is WouldBind for a job with requeued maps. Each branch
// gives the lowest-numbered map that was never requeued, else the one requeued
// first.
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
