package state

import "fmt"

type node struct {
	capacity Resource
	free     Resource // memory and cores of the node that neither containers nor reservations (containers decided on but not started) take
	up       bool
	label    string
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
	s.up++
	s.total = s.total.Add(capacity)
	s.noteRoom(n)
	return n, nil
}

// NodeDown records that a node was lost or decommissioned. Its tasks still
// count as running until Finish, Retry or EndJob is called.
func (s *State) NodeDown(n NodeID) {
	if x := &s.nodes[n]; x.up {
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
	change := capacity.Sub(x.capacity)
	x.capacity = capacity
	x.free = x.free.Add(change)
	if x.up {
		s.total = s.total.Add(change)
	}
	s.noteRoom(n)
}

// SetLabel sets a node's YARN node label. An empty label means the default
// partition.
func (s *State) SetLabel(n NodeID, label string) { s.nodes[n].label = label }

// Hold takes memory and cores of a node for an ApplicationMaster, a
// speculative attempt, or another container that is not a task's first
// attempt. The job then counts as the user of this memory and these cores; the
// parameter job may be None.
func (s *State) Hold(n NodeID, job JobID, r Resource) {
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
	if job == None {
		s.give(n, r)
		return
	}
	j := &s.jobs[job]
	j.held = j.held.Sub(r)
	s.giveFor(job, n, r)
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
	if !x.free.Holds(s.small) {
		s.room[n>>6] &^= 1 << (n & 63)
	}
}

func (s *State) give(n NodeID, r Resource) {
	x := &s.nodes[n]
	x.free = x.free.Add(r)
	if x.up && x.free.Holds(s.small) {
		s.room[n>>6] |= 1 << (n & 63)
	}
}

func (s *State) noteRoom(n NodeID) {
	s.take(n, Resource{})
	if !s.nodes[n].up {
		s.room[n>>6] &^= 1 << (n & 63)
	}
	s.give(n, Resource{})
}
