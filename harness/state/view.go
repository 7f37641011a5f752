package state

import (
	"math"
	"math/bits"
)

// View is the read-only picture of a cluster that scheduler models get. View
// counts each scheduling decision as carried out: the container's memory and
// cores are taken, and its task does not wait. The slices that View returns
// belong to the State: do not change them, and do not use them after the
// State's next change. Pass only ids (of nodes, jobs, tasks) that the View has
// returned.
type View struct {
	s     *State
	hides [2]bool // by kind of task: waiting tasks of this kind are not shown, see View.Only
}

// Only returns a View that shows the waiting tasks of kind k alone, for a model
// that places tasks of one kind beside a model that places the others. The tasks
// of the other kind that run or are done are shown as ever.
func (v *View) Only(k Kind) *View { return &v.s.only[k] }

// Now returns the present time, in nanoseconds since the run's start.
func (v *View) Now() int64 { return v.s.now }

// Nodes returns how many nodes the cluster has, lost ones included. All node
// ids are below this number.
func (v *View) Nodes() int { return len(v.s.nodes) }

// NodesUp returns how many nodes are up.
func (v *View) NodesUp() int { return int(v.s.nodesUp) }

// ClusterNodes returns how many nodes YARN counts as the cluster's: those that are up, and
// nodes beside them that run no tasks.
func (v *View) ClusterNodes() int { return int(v.s.nodesUp + v.s.beside) }

// Total returns the memory and cores of all nodes that are up.
func (v *View) Total() Resource { return v.s.total }

// Racks returns how many racks the cluster has. All rack ids are below this
// number.
func (v *View) Racks() int { return len(v.s.names.racks) }

// Up reports whether a node is up.
func (v *View) Up(n NodeID) bool { return v.s.up.Has(n) }

// Rack returns a node's rack.
func (v *View) Rack(n NodeID) RackID { return RackID(v.s.racks[n]) }

// TotalOf returns the memory and cores of all nodes that are up and have a label, or, for "", none.
func (v *View) TotalOf(label string) Resource {
	if label != "" {
		return v.s.labelled[label]
	}
	rest := v.s.total
	for _, r := range v.s.labelled {
		rest = rest.Sub(r)
	}
	return rest
}

// Labelled reports whether some node has a label.
func (v *View) Labelled() bool { return len(v.s.labels) > 0 }

// NodeLabel returns a node's label; "" if it has none.
func (v *View) NodeLabel(n NodeID) string { return v.s.labels[n] }

// Label returns the node label that a job asks for; "" if it names none.
func (v *View) Label(id JobID) string { return v.s.jobs[id].label }

// Capacity returns a node's memory and cores for containers, used or not.
func (v *View) Capacity(n NodeID) Resource { return v.s.capacity[n] }

// Free returns the part of a node's memory and cores that no container takes.
// It is negative if the node's capacity shrank below what its containers take.
func (v *View) Free(n NodeID) Resource { return v.s.nodes[n].free }

// Fits reports whether a node is up and has enough free memory and cores, and a
// free slot if there are slots, for one more container of the job, for a task
// of kind k.
func (v *View) Fits(n NodeID, id JobID, k Kind) bool {
	s, size := v.s, v.s.jobs[id].size[k]
	if s.slots == [2]int32{} && s.small.Holds(size) && s.room.Has(n) {
		return true // most often, and without a look at the node
	}
	x := &s.nodes[n]
	return s.up.Has(n) && x.free.Holds(size) && s.hasSlot(x, k)
}

// Slots returns how many tasks of kind k a node can run at the same time. If
// State.SetSlots set no limit, it is how many of the smallest containers the
// node can hold.
func (v *View) Slots(n NodeID, k Kind) int32 {
	if v.s.slots != [2]int32{} {
		return v.s.slots[k]
	}
	has, small := v.s.capacity[n], v.s.small
	return min(has.MemoryMB/max(1, small.MemoryMB), has.VCores/max(1, small.VCores))
}

// Taken returns how many tasks of kind k run on a node or are to start there,
// by the scheduler's decisions. Speculative attempts do not count.
func (v *View) Taken(n NodeID, k Kind) int32 { return v.s.nodes[n].taken[k] }

// FreeSlots returns how many more tasks of kind k a node may run by its slots,
// whatever memory they need. Without slots there is no such limit, and the
// result is math.MaxInt32.
func (v *View) FreeSlots(n NodeID, k Kind) int32 {
	if v.s.slots == [2]int32{} {
		return math.MaxInt32
	}
	return v.s.slots[k] - v.s.nodes[n].taken[k]
}

// HasRoom reports whether a node is up and has room for the smallest container
// that a job may ask for, as State.SetSmallest has set it. If there are slots,
// one of any kind must be free too.
func (v *View) HasRoom(n NodeID) bool { return v.s.room.Has(n) }

// WithRoom appends the nodes with room for the smallest container to the slice
// in the parameter to, and returns the slice. The node in the parameter first
// comes first, if it has room. The other nodes follow by ascending id.
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

// LateBinding reports whether the ApplicationMaster chooses the task of each
// container. If so, the ApplicationMaster starts the task that WouldBind
// returns, whatever task the scheduler's decision names.
func (v *View) LateBinding() bool { return v.s.lateBinding }

// NodeName returns a node's name.
func (v *View) NodeName(n NodeID) string { return v.s.names.nodes[n] }

// RackName returns a rack's name.
func (v *View) RackName(r RackID) string { return v.s.names.racks[r] }

// JobName returns a job's name.
func (v *View) JobName(id JobID) string { return v.s.jobs[id].name }

// QueueName returns a queue's name.
func (v *View) QueueName(q QueueID) string { return v.s.names.queues[q] }

// Pools returns how many pools have had a job. All pool ids are below this
// number.
func (v *View) Pools() int { return len(v.s.names.pools) }

// PoolName returns a pool's name.
func (v *View) PoolName(p PoolID) string { return v.s.names.pools[p] }

// NodeNamed returns the node with the given name, or None if there is none.
func (v *View) NodeNamed(name string) NodeID {
	if n, ok := v.s.names.node[name]; ok {
		return NodeID(n)
	}
	return None
}

// Queues returns how many queues have had a job. All queue ids are below this
// number.
func (v *View) Queues() int { return len(v.s.names.queues) }

// QueueUsed returns the memory and cores that the jobs of a queue use.
// Containers that are decided on but not started count too.
func (v *View) QueueUsed(q QueueID) Resource { return v.s.queues[q] }

// Jobs returns how many jobs have been submitted so far. All job ids are below
// this number.
func (v *View) Jobs() int { return len(v.s.jobs) }

// Active returns the jobs that have not ended, in order of submission.
func (v *View) Active() []JobID { return v.s.active }

// WaitingJobs returns the jobs with a waiting task of kind k in FIFO order: by
// descending priority, then in order of submission.
func (v *View) WaitingJobs(k Kind) []JobID {
	if v.hides[k] {
		return nil
	}
	return v.s.waiting[k]
}

// WaitingIn returns the jobs of a queue with a waiting task of any kind, even of one
// that the View hides, in FIFO order.
func (v *View) WaitingIn(q QueueID) []JobID { return v.s.queued[q] }

// Changes returns the jobs whose resources or waiting tasks changed
// after the version in the parameter since, appended to the slice in the
// parameter to. A job may appear more than once. Changes also returns the
// current version. The result ok is false if more jobs changed than the State
// remembers: then every job may have changed.
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

// Queue returns a job's queue.
func (v *View) Queue(id JobID) QueueID { return v.s.jobs[id].queue }

// User returns a job's user.
func (v *View) User(id JobID) UserID { return v.s.jobs[id].user }

// UserName returns a user's name.
func (v *View) UserName(u UserID) string { return v.s.names.users[u] }

// Smallest returns the smallest container that a job may ask for.
func (v *View) Smallest() Resource { return v.s.small }

// Pool returns a job's pool, a group of jobs among which some scheduler models
// share the slots.
func (v *View) Pool(id JobID) PoolID { return v.s.jobs[id].pool }

// Priority returns a job's priority. Jobs with a higher number go first.
func (v *View) Priority(id JobID) int32 { return v.s.jobs[id].priority }

// Weight returns a job's weight in fair sharing, which is above 0.
func (v *View) Weight(id JobID) float64 { return v.s.jobs[id].weight }

// Submitted returns the time of a job's submission, in nanoseconds since the
// run's start.
func (v *View) Submitted(id JobID) int64 { return v.s.jobs[id].submitted }

// Ended reports whether a job has ended.
func (v *View) Ended(id JobID) bool { return v.s.jobs[id].ended }

// ContainerSize returns the memory and cores of a container for one of the
// job's tasks of kind k.
func (v *View) ContainerSize(id JobID, k Kind) Resource { return v.s.jobs[id].size[k] }

// Used returns the memory and cores that a job uses: its running containers,
// the containers decided on but not started, its ApplicationMaster, and its
// speculative attempts.
func (v *View) Used(id JobID) Resource {
	j := &v.s.jobs[id]
	return j.held.Add(j.size[Map].Times(j.counts[Map].running + j.counts[Map].reserved)).
		Add(j.size[Reduce].Times(j.counts[Reduce].running + j.counts[Reduce].reserved))
}

// Tasks returns how many tasks of a kind a job has.
func (v *View) Tasks(id JobID, k Kind) int32 { return v.s.jobs[id].counts[k].total }

// Waiting returns how many of a job's tasks of kind k wait: the
// ApplicationMaster has asked for their containers, and the scheduler has not
// decided on these yet.
func (v *View) Waiting(id JobID, k Kind) int32 {
	if v.hides[k] {
		return 0
	}
	return v.s.jobs[id].counts[k].waiting
}

// Running returns how many of a job's tasks of kind k run, or are expected in
// a container that the scheduler has decided on but that has not started.
func (v *View) Running(id JobID, k Kind) int32 {
	c := &v.s.jobs[id].counts[k]
	return c.running + c.reserved
}

// Done returns how many of a job's tasks of kind k have succeeded.
func (v *View) Done(id JobID, k Kind) int32 { return v.s.jobs[id].counts[k].done }

// WaitingCached returns how many of a job's waiting maps have their input
// cached on some node.
func (v *View) WaitingCached(id JobID) int32 { return v.s.jobs[id].cachedTasks }

// InputChanges returns how many cached copies of a job's input have come or
// gone since its submission. When the job's splits are rewritten, the count
// grows by the number of the job's maps. A scheduler model that remembers
// which nodes have the input compares this count with an earlier one, to see
// whether these nodes are still the same.
func (v *View) InputChanges(id JobID) int32 { return v.s.jobs[id].inputChanges }

// Index returns a task's kind, and its number, from 0, among the job's tasks
// of that kind, as in Hadoop's task ids.
func (v *View) Index(id JobID, t TaskID) (Kind, int32) {
	j := &v.s.jobs[id]
	if k := j.kind(t); k == Reduce {
		return k, int32(t) - j.counts[Map].total
	}
	return Map, int32(t)
}

// Task returns the job's task number i of kind k. It is the inverse of
// View.Index.
func (v *View) Task(id JobID, k Kind, i int32) TaskID { return v.s.jobs[id].task(k, i) }

// IsWaiting reports whether a task waits: the ApplicationMaster has asked for
// a container for the task, and the scheduler has not decided on one yet.
func (v *View) IsWaiting(id JobID, t TaskID) bool {
	j := &v.s.jobs[id]
	return !j.ended && (j.where[t] == waitingTask || j.where[t] == rerunTask) && !v.hides[j.kind(t)]
}

// RunsOn returns the node that a task runs on, or None if the task does not
// run.
func (v *View) RunsOn(id JobID, t TaskID) NodeID {
	if j := &v.s.jobs[id]; !j.ended && j.where[t] >= 0 {
		return NodeID(j.where[t])
	}
	return None
}
