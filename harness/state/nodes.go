package state

import "fmt"

type node struct {
	capacity Resource
	free     Resource // memory and cores of the node that neither containers nor reservations (containers decided on but not started) take
	up       bool
	taken    [2]int32 // by kind of task: containers and reservations of jobs on the node
}

// AddNode adds a node that is up. The parameter capacity is the node's memory
// and cores for containers of jobs in this State. AddNode fails if another
// node has the same name.
func (s *State) AddNode(name, rack string, capacity Resource) (NodeID, error) {
	if _, ok := s.names.node[name]; ok {
		return None, fmt.Errorf("add node %q: a node of this name exists already", name)
	}
	n := NodeID(intern(s.names.node, &s.names.nodes, name))
	s.nodes = append(s.nodes, node{capacity: capacity, free: capacity, up: true})
	s.racks = append(s.racks, intern(s.names.rack, &s.names.racks, rack))
	if int(n)/64 >= len(s.room) {
		s.room = append(s.room, 0)
	}
	if s.logs != nil {
		s.logs = append(s.logs, nodeLog{})
	}
	s.up++
	s.total = s.total.Add(capacity)
	s.noteRoom(n)
	return n, nil
}

// NodeDown records that a node was lost or decommissioned. Its tasks still
// count as running until Finish, Retry or EndJob is called.
func (s *State) NodeDown(n NodeID) {
	if x := &s.nodes[n]; x.up {
		if s.logs != nil {
			s.logs[n].down = s.now
		}
		x.up = false
		s.up--
		s.total = s.total.Sub(x.capacity)
		s.noteRoom(n)
	}
}

// NodeUp records that a lost node has come back.
func (s *State) NodeUp(n NodeID) {
	if x := &s.nodes[n]; !x.up {
		x.up = true
		s.up++
		s.total = s.total.Add(x.capacity)
		s.noteRoom(n)
	}
}

// SetCapacity changes a node's memory and cores for containers of jobs in this
// State: the node's own size minus what other jobs use there.
func (s *State) SetCapacity(n NodeID, capacity Resource) {
	x := &s.nodes[n]
	s.logRoom(n)
	change := capacity.Sub(x.capacity)
	x.capacity = capacity
	x.free = x.free.Add(change)
	if x.up {
		s.total = s.total.Add(change)
	}
	s.noteRoom(n)
}

// SetSlots limits how many maps and how many reduces each node runs at the same
// time, as the TaskTrackers of Hadoop 1 did with map slots and reduce slots. A
// limit of 0 for both means that only memory and cores count, as in YARN. A
// task in a reservation takes a slot. Whatever else Hold takes does not.
func (s *State) SetSlots(maps, reduces int32) {
	s.slots = [2]int32{maps, reduces}
	for n := range s.nodes {
		s.noteRoom(NodeID(n))
	}
}

// Hold takes memory and cores of a node for an ApplicationMaster, a
// speculative attempt, or another container that is not a task's first
// attempt. The job then counts as the user of this memory and these cores; the
// parameter job may be None.
func (s *State) Hold(n NodeID, job JobID, r Resource) {
	s.logRoom(n)
	if job == None {
		s.take(n, r)
		return
	}
	j := &s.jobs[job]
	j.held = j.held.Add(r)
	s.takeFor(job, n, r)
}

// Release frees memory and cores of a node that Hold took.
func (s *State) Release(n NodeID, job JobID, r Resource) {
	s.logRoom(n)
	if job == None {
		s.give(n, r)
		return
	}
	j := &s.jobs[job]
	j.held = j.held.Sub(r)
	s.giveFor(job, n, r)
}

// takeTask takes a node's memory and cores for a container of a task of kind k.
func (s *State) takeTask(id JobID, n NodeID, k Kind) {
	s.logRoom(n)
	s.nodes[n].taken[k]++
	s.takeFor(id, n, s.jobs[id].size[k])
}

// giveTask frees what takeTask took.
func (s *State) giveTask(id JobID, n NodeID, k Kind) {
	s.logRoom(n)
	s.nodes[n].taken[k]--
	s.giveFor(id, n, s.jobs[id].size[k])
}

func (s *State) takeFor(id JobID, n NodeID, r Resource) {
	s.take(n, r)
	s.noteChange(id)
	q := &s.queues[s.jobs[id].queue]
	*q = q.Add(r)
}

func (s *State) giveFor(id JobID, n NodeID, r Resource) {
	s.give(n, r)
	s.noteChange(id)
	q := &s.queues[s.jobs[id].queue]
	*q = q.Sub(r)
}

func (s *State) take(n NodeID, r Resource) {
	x := &s.nodes[n]
	x.free = x.free.Sub(r)
	if !s.open(x) {
		s.room[n>>6] &^= 1 << (n & 63)
	}
}

func (s *State) give(n NodeID, r Resource) {
	x := &s.nodes[n]
	x.free = x.free.Add(r)
	if x.up && s.open(x) {
		s.room[n>>6] |= 1 << (n & 63)
	}
}

// open reports whether a node has room for the smallest container and, if there
// are slots, a slot of some kind is free.
func (s *State) open(x *node) bool {
	return x.free.Holds(s.small) && (s.hasSlot(x, Map) || s.hasSlot(x, Reduce))
}

func (s *State) hasSlot(x *node, k Kind) bool {
	return x.taken[k] < s.slots[k] || s.slots == [2]int32{}
}

func (s *State) noteRoom(n NodeID) {
	s.take(n, Resource{})
	if !s.nodes[n].up {
		s.room[n>>6] &^= 1 << (n & 63)
	}
	s.give(n, Resource{})
}
