package state

import "fmt"

// node is what changes with each container of a node. It is small and what else
// belongs to a node is kept apart, since each heartbeat reads that of another node,
// which is seldom in the cache.
type node struct {
	free  Resource // memory and cores of the node that neither containers nor reservations (containers decided on but not started) take
	taken [2]int32 // by kind of task: containers and reservations of jobs on the node
}

// NodeSet is a set of nodes. It takes one bit for each, so that it stays in the cache
// where the nodes do not.
type NodeSet []uint64

// NewNodeSet returns an empty set for so many nodes.
func NewNodeSet(nodes int) NodeSet { return make(NodeSet, (nodes+63)/64) }

// Has reports whether the set has node n.
func (s NodeSet) Has(n NodeID) bool { return s[n>>6]>>(n&63)&1 != 0 }

// Add adds node n to the set.
func (s NodeSet) Add(n NodeID) { s[n>>6] |= 1 << (n & 63) }

// Remove takes node n out of the set.
func (s NodeSet) Remove(n NodeID) { s[n>>6] &^= 1 << (n & 63) }

// AddNode adds a node that is up. The parameter capacity is the node's memory
// and cores for containers of jobs in this State. AddNode fails if another
// node has the same name.
func (s *State) AddNode(name, rack string, capacity Resource) (NodeID, error) {
	if _, ok := s.names.node[name]; ok {
		return None, fmt.Errorf("add node %q: a node of this name exists already", name)
	}
	n := NodeID(intern(s.names.node, &s.names.nodes, name))
	s.nodes = append(s.nodes, node{free: capacity})
	s.capacity = append(s.capacity, capacity)
	if int(n)/64 >= len(s.room) {
		s.room, s.up = append(s.room, 0), append(s.up, 0)
	}
	s.up.Add(n)
	s.racks = append(s.racks, intern(s.names.rack, &s.names.racks, rack))
	if s.logs != nil {
		s.logs = append(s.logs, nodeLog{})
	}
	s.nodesUp++
	s.offers(n, capacity)
	s.noteRoom(n)
	return n, nil
}

// NodeDown records that a node was lost or decommissioned. Its tasks still
// count as running until Finish, Retry or EndJob is called.
func (s *State) NodeDown(n NodeID) {
	if s.up.Has(n) {
		if s.logs != nil {
			s.logs[n].down = s.now
		}
		s.up.Remove(n)
		s.nodesUp--
		s.offers(n, Resource{}.Sub(s.capacity[n]))
		s.noteRoom(n)
	}
}

// NodeUp records that a lost node has come back.
func (s *State) NodeUp(n NodeID) {
	if !s.up.Has(n) {
		s.up.Add(n)
		s.nodesUp++
		s.offers(n, s.capacity[n])
		s.noteRoom(n)
	}
}

// SetCapacity changes a node's memory and cores for containers of jobs in this
// State: the node's own size minus what other jobs use there.
func (s *State) SetCapacity(n NodeID, capacity Resource) {
	x := &s.nodes[n]
	s.logRoom(n)
	change := capacity.Sub(s.capacity[n])
	s.capacity[n] = capacity
	x.free = x.free.Add(change)
	if s.up.Has(n) {
		s.offers(n, change)
	}
	s.noteRoom(n)
}

// SetNodeLabel gives a node a label: only jobs that ask for the label run there, if the
// scheduler model heeds labels.
func (s *State) SetNodeLabel(n NodeID, label string) {
	if s.labels == nil {
		s.labels, s.labelled = map[NodeID]string{}, map[string]Resource{}
	}
	s.labels[n] = label
	if s.up.Has(n) {
		s.labelled[label] = s.labelled[label].Add(s.capacity[n])
	}
}

// offers notes that node n, which is up, offers so much more.
func (s *State) offers(n NodeID, more Resource) {
	s.total = s.total.Add(more)
	if label := s.labels[n]; label != "" {
		s.labelled[label] = s.labelled[label].Add(more)
	}
}

// SetBeside sets how many nodes YARN counts among the cluster's beside those added: nodes
// that run no tasks, such as those for ApplicationMasters alone.
func (s *State) SetBeside(nodes int32) { s.beside = nodes }

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
		s.room.Remove(n)
	}
}

func (s *State) give(n NodeID, r Resource) {
	x := &s.nodes[n]
	x.free = x.free.Add(r)
	if s.up.Has(n) && s.open(x) {
		s.room.Add(n)
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
	if !s.up.Has(n) {
		s.room.Remove(n)
	}
	s.give(n, Resource{})
}
