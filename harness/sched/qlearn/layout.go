package qlearn

import (
	"encoding/binary"
	"hash/fnv"

	"heddle/harness/state"
)

// Class is how near a node is to a map's input block, as the paper classifies
// it. It is also the learner's state: the class of the previous assignment.
type Class uint8

// Classes, nearest first.
const (
	CacheLocal     Class = iota // CL: the node caches the block
	DataLocal                   // DL: the node stores the block
	CacheRackLocal              // CRL: a node of its rack caches the block
	DataRackLocal               // DRL: a node of its rack stores the block
	NoLocality                  // NO: none of these; also the state at the start
	classes        = iota
)

func (c Class) String() string { return [...]string{"CL", "DL", "CRL", "DRL", "NO"}[c] }

// weights are the reward of an assignment, by class.
var weights = [classes]float64{1, 0.5, -0.25, -0.5, -1}

// ClassOf returns the class of map t on node n.
func ClassOf(v *state.View, id state.JobID, t state.TaskID, n state.NodeID) Class {
	level := v.Level(id, t, n)
	switch level {
	case state.LevelCache:
		return CacheLocal
	case state.LevelNode:
		return DataLocal
	}
	var some [8]state.NodeID // a block is rarely cached on more nodes
	for _, holder := range v.CachedOn(id, t, some[:0]) {
		if v.Rack(holder) == v.Rack(n) {
			return CacheRackLocal
		}
	}
	if level == state.LevelRack {
		return DataRackLocal
	}
	return NoLocality
}

// Layout is all that training knows of a job and a cluster: the class of every
// map on every node, and how many maps each node can run at a time.
type Layout struct {
	Maps, Nodes int
	slots       []int32
	class       []Class // of map i on node k: index i·Nodes + k
}

// NewLayout returns the layout of a job's maps in v. A node that is up has at
// least one slot. Whether its room is free at present does not matter.
func NewLayout(v *state.View, id state.JobID) *Layout {
	l := &Layout{Maps: int(v.Tasks(id, state.Map)), Nodes: v.Nodes()}
	l.slots = make([]int32, l.Nodes)
	size := v.ContainerSize(id, state.Map)
	for k := range l.slots {
		if n := state.NodeID(k); v.Up(n) {
			l.slots[k] = max(1, min(int32(l.Maps), room(v.Capacity(n).MemoryMB, size.MemoryMB), room(v.Capacity(n).VCores, size.VCores)))
		}
	}
	l.class = make([]Class, l.Maps*l.Nodes)
	for i := range l.Maps {
		for k := range l.Nodes {
			l.class[i*l.Nodes+k] = ClassOf(v, id, state.TaskID(i), state.NodeID(k))
		}
	}
	return l
}

func room(has, takes int32) int32 {
	if takes == 0 {
		return 1 << 30
	}
	return has / takes
}

// Class returns the class of map i on node k.
func (l *Layout) Class(i, k int) Class { return l.class[i*l.Nodes+k] }

// Slots returns how many maps node k can run at a time: 0 if the node was down
// or did not exist.
func (l *Layout) Slots(k int) int {
	if k >= len(l.slots) {
		return 0
	}
	return int(l.slots[k])
}

// Wave returns the length of an episode of one wave: how many maps start before
// no slot is free or no map is left.
func (l *Layout) Wave() int {
	sum := 0
	for _, slots := range l.slots {
		sum += int(slots)
	}
	return min(sum, l.Maps)
}

// Digest returns a hash that is equal for layouts between which training sees
// no difference.
func (l *Layout) Digest() uint64 {
	h := fnv.New64a()
	bytes := binary.LittleEndian.AppendUint64(nil, uint64(l.Maps))
	bytes = binary.LittleEndian.AppendUint64(bytes, uint64(l.Nodes))
	for _, slots := range l.slots {
		bytes = binary.LittleEndian.AppendUint32(bytes, uint32(slots))
	}
	for _, c := range l.class {
		bytes = append(bytes, byte(c))
	}
	h.Write(bytes)
	return h.Sum64()
}

// uniform reports whether all pairs of map and node have the same class, so
// that there is nothing to learn.
func (l *Layout) uniform() bool {
	for _, c := range l.class {
		if c != l.class[0] {
			return false
		}
	}
	return true
}
