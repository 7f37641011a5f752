package state

import "math/bits"

// View is a cluster as scheduler models see it: the present, and only to read.
// Decisions on their way count as carried out: their room is not free and their
// tasks do not wait. Slices that it returns are the State's own: good until the
// next event, and not to be changed. Ids must be ones that it gave.
type View struct{ s *State }

// Now is nanoseconds since the run's start.
func (v *View) Now() int64 { return v.s.now }

// Nodes is how many nodes there are, lost ones included: ids are below it.
func (v *View) Nodes() int { return len(v.s.nodes) }

// NodesUp is how many of them are up.
func (v *View) NodesUp() int { return int(v.s.up) }

// Total is what all nodes that are up have together.
func (v *View) Total() Resource { return v.s.total }

// Racks is how many racks there are.
func (v *View) Racks() int { return len(v.s.names.racks) }

// Up says whether a node is there.
func (v *View) Up(n NodeID) bool { return v.s.nodes[n].up }

// Rack is a node's rack.
func (v *View) Rack(n NodeID) RackID { return RackID(v.s.racks[n]) }

// Label is a node's label, empty in the default partition.
func (v *View) Label(n NodeID) string { return v.s.nodes[n].label }

// Capacity is what a node has in all, Free what of it is not taken.
func (v *View) Capacity(n NodeID) Resource { return v.s.nodes[n].capacity }

// Free is what of a node's capacity is not taken; it may be negative.
func (v *View) Free(n NodeID) Resource { return v.s.nodes[n].free }

// Fits says whether a node is up and can hold one more container of the job.
func (v *View) Fits(n NodeID, id JobID, k Kind) bool {
	x := &v.s.nodes[n]
	return x.up && x.free.Holds(v.s.jobs[id].size[k])
}

// HasRoom says whether a node is up and can hold the smallest container.
func (v *View) HasRoom(n NodeID) bool { return v.s.room[n>>6]>>(n&63)&1 != 0 }

// WithRoom appends the nodes that have room: first, if it has, then the others
// by number.
func (v *View) WithRoom(first NodeID, to []NodeID) []NodeID {
	if first != None && v.HasRoom(first) {
		to = append(to, first)
	}
	for w, word := range v.s.room {
		for ; word != 0; word &= word - 1 {
			if n := NodeID(w<<6 + bits.TrailingZeros64(word)); n != first {
				to = append(to, n)
			}
		}
	}
	return to
}

// LateBinding says whether the task of a decision is the ApplicationMaster's
// choice, the one that WouldBind says, whatever the decision names.
func (v *View) LateBinding() bool { return v.s.lateBinding }

// NodeName is a node's name.
func (v *View) NodeName(n NodeID) string { return v.s.names.nodes[n] }

// RackName is a rack's name.
func (v *View) RackName(r RackID) string { return v.s.names.racks[r] }

// JobName is a job's name.
func (v *View) JobName(id JobID) string { return v.s.jobs[id].name }

// QueueName is a queue's name.
func (v *View) QueueName(q QueueID) string { return v.s.names.queues[q] }

// UserName is a user's name.
func (v *View) UserName(u UserID) string { return v.s.names.users[u] }

// NodeNamed is the node with a name, None if there is none.
func (v *View) NodeNamed(name string) NodeID {
	if n, ok := v.s.names.node[name]; ok {
		return NodeID(n)
	}
	return None
}

// Queues is how many queues there are.
func (v *View) Queues() int { return len(v.s.names.queues) }

// QueueUsed is what the jobs of a queue take, with what is on its way to them.
func (v *View) QueueUsed(q QueueID) Resource { return v.s.queues[q] }

// Jobs is how many jobs have been submitted: ids are below it.
func (v *View) Jobs() int { return len(v.s.jobs) }

// Active is the jobs that have not ended, in order of submission.
func (v *View) Active() []JobID { return v.s.active }

// WaitingJobs is the jobs with a waiting task of a kind: by priority, the
// highest first, then in order of submission.
func (v *View) WaitingJobs(k Kind) []JobID { return v.s.waiting[k] }

// Changes appends the jobs of which since the given count of changes what they
// take, their priority, or which of their tasks wait has changed, some more than
// once, and returns the count now: models that have looked at all jobs need not
// look at the others again. False: too many to tell, look at all.
func (v *View) Changes(since uint64, to []JobID) (jobs []JobID, now uint64, ok bool) {
	s := v.s
	if s.changed-since > uint64(len(s.changes)) {
		return to, s.changed, false
	}
	for ; since < s.changed; since++ {
		to = append(to, s.changes[since%uint64(len(s.changes))])
	}
	return to, since, true
}

// Queue is a job's queue.
func (v *View) Queue(id JobID) QueueID { return v.s.jobs[id].queue }

// User is who submitted a job.
func (v *View) User(id JobID) UserID { return v.s.jobs[id].user }

// Priority is a job's priority; higher goes first.
func (v *View) Priority(id JobID) int32 { return v.s.jobs[id].priority }

// Weight is a job's weight in fair shares, above 0.
func (v *View) Weight(id JobID) float64 { return v.s.jobs[id].weight }

// Submitted is when a job was submitted.
func (v *View) Submitted(id JobID) int64 { return v.s.jobs[id].submitted }

// Ended says whether a job has ended.
func (v *View) Ended(id JobID) bool { return v.s.jobs[id].ended }

// ContainerSize is what a container of the job takes.
func (v *View) ContainerSize(id JobID, k Kind) Resource { return v.s.jobs[id].size[k] }

// Used is what a job takes, with what is on its way to it.
func (v *View) Used(id JobID) Resource {
	j := &v.s.jobs[id]
	return j.held.Add(j.size[Map].Times(j.counts[Map].running + j.counts[Map].reserved)).
		Add(j.size[Reduce].Times(j.counts[Reduce].running + j.counts[Reduce].reserved))
}

// Tasks is how many tasks of a kind a job has.
func (v *View) Tasks(id JobID, k Kind) int32 { return v.s.jobs[id].counts[k].total }

// Waiting is how many of them wait: asked for and not decided.
func (v *View) Waiting(id JobID, k Kind) int32 { return v.s.jobs[id].counts[k].waiting }

// Running is how many run or have been decided.
func (v *View) Running(id JobID, k Kind) int32 {
	c := &v.s.jobs[id].counts[k]
	return c.running + c.reserved
}

// Done is how many have ended well.
func (v *View) Done(id JobID, k Kind) int32 { return v.s.jobs[id].counts[k].done }

// WaitingCached is how many of a job's waiting maps have a cached copy
// somewhere.
func (v *View) WaitingCached(id JobID) int32 { return v.s.jobs[id].cachedTasks }

// Moves is how many cached copies of a job's input have come or gone since it
// was submitted; splits that were rewritten count as one for each map. Models
// that learnt where the input is see by it that they are out of date.
func (v *View) Moves(id JobID) int32 { return v.s.jobs[id].moves }

// Index is a task's kind and its number within it, as Hadoop counts.
func (v *View) Index(id JobID, t TaskID) (Kind, int32) {
	j := &v.s.jobs[id]
	if k := j.kind(t); k == Reduce {
		return k, int32(t) - j.counts[Map].total
	}
	return Map, int32(t)
}

// Task is what Index takes apart.
func (v *View) Task(id JobID, k Kind, i int32) TaskID { return v.s.jobs[id].task(k, i) }

// IsWaiting says whether a task waits.
func (v *View) IsWaiting(id JobID, t TaskID) bool {
	j := &v.s.jobs[id]
	return !j.ended && (j.where[t] == waitingTask || j.where[t] == rerunTask)
}

// RunsOn is the node that a task runs on, None if it does not.
func (v *View) RunsOn(id JobID, t TaskID) NodeID {
	if j := &v.s.jobs[id]; !j.ended && j.where[t] >= 0 {
		return NodeID(j.where[t])
	}
	return None
}
