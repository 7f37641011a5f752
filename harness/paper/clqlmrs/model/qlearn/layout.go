package qlearn

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"heddle/harness/state"
)

// Class is the locality class of a map on a node, as in the CLQLMRS paper. It
// is also the state of the Q-learning: the class of the previous assignment.
type Class uint8

// The locality classes of a map on a node, nearest first.
const (
	CacheLocal     Class = iota // locality class CL: the node caches the map's block
	DataLocal                   // locality class DL: the node stores the map's block on disk
	CacheRackLocal              // locality class CRL: another node in the same rack caches the map's block
	DataRackLocal               // locality class DRL: another node in the same rack stores the map's block on disk
	NoLocality                  // locality class NO: no node of the rack has the map's block; also the state before the first assignment
	classes        = iota
)

func (c Class) String() string { return [...]string{"CL", "DL", "CRL", "DRL", "NO"}[c] }

// weights are the rewards for starting a map, by the locality class of the map
// on its node.
var weights = [classes]float64{1, 0.5, -0.25, -0.5, -1}

// ClassOf returns the locality class of map t on node n.
func ClassOf(v *state.View, id state.JobID, t state.TaskID, n state.NodeID) Class {
	level := v.Level(id, t, n)
	switch level {
	case state.LevelCache:
		return CacheLocal
	case state.LevelNode:
		return DataLocal
	}
	var some [8]state.NodeID // capacity for eight nodes that cache one block; a block is rarely cached on more nodes
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

// Layout is all that the training knows of a job and a cluster: the locality
// class of every map on every node, and how many maps each node can run at a
// time.
type Layout struct {
	Maps, Nodes int
	slots       []int32
	class       []Class // locality class of map i on node k, at index i·Nodes + k
}

// NewLayout returns the locality classes and slots for a job and the cluster
// in v. A node that is up has at least one slot. Slots count the node's whole
// capacity, even where containers run now.
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

// Class returns the locality class of map i on node k.
func (l *Layout) Class(i, k int) Class { return l.class[i*l.Nodes+k] }

// Slots returns how many maps node k can run at a time. It returns 0 for a
// node that was down, or unknown, when the layout was made.
func (l *Layout) Slots(k int) int {
	if k >= len(l.slots) {
		return 0
	}
	return int(l.slots[k])
}

// Wave returns how many maps start before no slot is free or no map is left.
// This is the length of a training episode if an episode is one wave of maps.
func (l *Layout) Wave() int {
	sum := 0
	for _, slots := range l.slots {
		sum += int(slots)
	}
	return min(sum, l.Maps)
}

// Digest returns a hash of all in the layout that training uses. Layouts that
// train the same Q-table have the same hash.
func (l *Layout) Digest() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(l.Append(nil)) // a hash takes all that is written
	return h.Sum64()
}

// Append appends the layout to b as bytes, in the form that ReadLayout reads.
func (l *Layout) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(l.Maps))
	b = binary.LittleEndian.AppendUint64(b, uint64(l.Nodes))
	for _, slots := range l.slots {
		b = binary.LittleEndian.AppendUint32(b, uint32(slots))
	}
	for _, c := range l.class {
		b = append(b, byte(c))
	}
	return b
}

// ReadLayout returns the layout from the bytes that Append wrote.
func ReadLayout(b []byte) (*Layout, error) {
	if len(b) < 16 {
		return nil, fmt.Errorf("%d bytes are too few for a layout", len(b))
	}
	maps, nodes, rest := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), uint64(len(b)-16)
	if maps > rest || nodes > rest || maps*nodes+4*nodes != rest { // the first two also keep the product from overflowing
		return nil, fmt.Errorf("the layout is said to have %d maps and %d nodes, and has %d bytes", maps, nodes, len(b))
	}
	l := &Layout{Maps: int(maps), Nodes: int(nodes), slots: make([]int32, nodes), class: make([]Class, maps*nodes)}
	for k := range l.slots {
		l.slots[k] = int32(binary.LittleEndian.Uint32(b[16+4*k:]))
		if l.slots[k] < 0 || int(l.slots[k]) > max(1, l.Maps) {
			return nil, fmt.Errorf("node %d of the layout has %d slots, want 0 to %d", k, l.slots[k], max(1, l.Maps))
		}
	}
	for x := range l.class {
		if l.class[x] = Class(b[16+4*len(l.slots)+x]); l.class[x] > NoLocality {
			return nil, fmt.Errorf("pair %d of the layout has class %d, want 0 to %d", x, l.class[x], NoLocality)
		}
	}
	return l, nil
}

// uniform reports whether all pairs of a map and a node have the same locality
// class. Then every placement is equally good, and there is nothing to learn.
func (l *Layout) uniform() bool {
	for _, c := range l.class {
		if c != l.class[0] {
			return false
		}
	}
	return true
}
