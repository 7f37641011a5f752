package state

import "slices"

// NextMap is a waiting map of the job whose data is as near to node n as level
// says, or nearer: LevelOff is any map. None if there is none. By node and rack
// and for any it is the lowest-numbered one; by cache the lowest-numbered of
// those that were cached at submission, after any that were cached or failed
// since.
func (v *View) NextMap(id JobID, n NodeID, level Level) TaskID {
	j := &v.s.jobs[id]
	if j.counts[Map].waiting == 0 {
		return None
	}
	open := &j.open[Map]
	switch level {
	case LevelCache:
		if j.cachedTasks == 0 {
			return None
		}
		return j.cached.first(int32(n), open.bits)
	case LevelNode:
		return j.data.byNode.first(int32(n), open.bits)
	case LevelRack:
		return j.data.byRack.first(v.s.racks[n], open.bits)
	default:
		return firstSet(open.bits, &open.from)
	}
}

// Nearest is a waiting map of the job with its data as near to node n as any,
// looked for at the levels from one to another; None if there is none. The level
// is how near it was found.
func (v *View) Nearest(id JobID, n NodeID, from, to Level) (TaskID, Level) {
	for level := from; level <= to; level++ {
		if t := v.NextMap(id, n, level); t != None {
			return t, level
		}
	}
	return None, to
}

// EachMap yields the waiting maps that NextMap chooses from, in its order,
// until told to stop.
func (v *View) EachMap(id JobID, n NodeID, level Level, yield func(TaskID) bool) {
	j := &v.s.jobs[id]
	if j.counts[Map].waiting == 0 {
		return
	}
	bits := j.open[Map].bits
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

// NextRerun is the waiting map that failed first, None if there is none. NextMap
// finds it too, as it finds others.
func (v *View) NextRerun(id JobID) TaskID {
	j := &v.s.jobs[id]
	for _, t := range j.rerun {
		if j.where[t] == rerunTask {
			return t
		}
	}
	return None
}

// NextReduce is the lowest-numbered waiting reduce, None if there is none.
func (v *View) NextReduce(id JobID) TaskID {
	j := &v.s.jobs[id]
	if j.counts[Reduce].waiting == 0 {
		return None
	}
	open := &j.open[Reduce]
	return j.task(Reduce, int32(firstSet(open.bits, &open.from)))
}

// NthWaiting is the waiting task of a kind with n waiting ones below it.
func (v *View) NthWaiting(id JobID, k Kind, n int32) TaskID {
	j := &v.s.jobs[id]
	if n < 0 || n >= j.counts[k].waiting {
		return None
	}
	return j.task(k, int32(nthSet(j.open[k].bits, n)))
}

// Level is how near node n is to the data of map t.
func (v *View) Level(id JobID, t TaskID, n NodeID) Level {
	j := &v.s.jobs[id]
	if j.cached != nil && j.cached.find(int32(t), int32(n)) != None {
		return LevelCache
	}
	return v.s.level(&j.data, t, n)
}

// Levels is Level and SplitLevel.
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

// SplitLevel is how near node n is to map t as the ApplicationMaster counts:
// LevelNode, LevelRack or LevelOff.
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

// Replicas is the nodes with map t's input on disk.
func (v *View) Replicas(id JobID, t TaskID) []NodeID { return v.s.jobs[id].data.of(t) }

// SplitHosts is the nodes that the ApplicationMaster reads in map t's split.
func (v *View) SplitHosts(id JobID, t TaskID) []NodeID { return v.s.jobs[id].split.of(t) }

// CachedOn appends the nodes with map t's input in their cache.
func (v *View) CachedOn(id JobID, t TaskID, to []NodeID) []NodeID {
	if c := v.s.jobs[id].cached; c != nil {
		for i := c.of(int32(t)); i != None; i = c.copies[i].ofTask {
			to = append(to, NodeID(c.copies[i].node))
		}
	}
	return to
}

// Locations is how many hosts and racks the splits of a job name, of all its
// maps together: in how many places its ApplicationMaster asks for containers
// at first.
func (v *View) Locations(id JobID) int32 {
	l := v.s.jobs[id].split
	return l.byNode.lists + l.byRack.lists
}

// Branch is the rule by which an ApplicationMaster binds a map to a container.
type Branch uint8

// Branches in the order they are tried.
const (
	BindNone  Branch = iota // nothing waits: the container goes back
	BindRerun               // the map that failed first, wherever it is
	BindNode                // the lowest-numbered whose split names the host
	BindRack                // … a host of the rack
	BindAny                 // … at all
)

func (b Branch) String() string {
	return [...]string{"none", "rerun", "node", "rack", "any"}[b]
}

// WouldBind is the map that MapReduce's ApplicationMaster would start in a
// container of the job on node n, and by which rule. It goes by what the AM
// knows, split hosts, and leaves out what other decisions on their way take.
// A map that was killed, not failed, and waits again comes after the others of
// its branch: the AM queues it anew.
func (v *View) WouldBind(id JobID, n NodeID) (TaskID, Branch) {
	j := &v.s.jobs[id]
	if j.counts[Map].waiting == 0 {
		return None, BindNone
	}
	if t := v.NextRerun(id); t != None {
		return t, BindRerun
	}
	if len(j.late) > 0 {
		return v.wouldBindLate(j, n)
	}
	open, seen := &j.open[Map], j.split
	if t := seen.byNode.first(int32(n), open.bits); t != None {
		return t, BindNode
	}
	if t := seen.byRack.first(v.s.racks[n], open.bits); t != None {
		return t, BindRack
	}
	return firstSet(open.bits, &open.from), BindAny
}

// wouldBindLate is WouldBind of a job of which maps were killed: branch by
// branch the lowest-numbered that never was, else the one killed first.
func (v *View) wouldBindLate(j *job, n NodeID) (TaskID, Branch) {
	bits := j.open[Map].bits
	found := None
	fresh := func(t TaskID) bool {
		if slices.Contains(j.late, t) {
			return true
		}
		found = int(t)
		return false
	}
	lateAt := func(level Level) {
		for _, t := range j.late {
			if found == None && isSet(bits, int32(t)) && v.s.level(j.split, t, n) <= level {
				found = int(t)
			}
		}
	}
	j.split.byNode.each(int32(n), bits, fresh)
	if lateAt(LevelNode); found != None {
		return TaskID(found), BindNode
	}
	j.split.byRack.each(v.s.racks[n], bits, fresh)
	if lateAt(LevelRack); found != None {
		return TaskID(found), BindRack
	}
	for t := range j.counts[Map].total {
		if isSet(bits, t) && !fresh(TaskID(t)) {
			break
		}
	}
	lateAt(LevelOff)
	return TaskID(found), BindAny
}
