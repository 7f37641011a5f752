package why

import (
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// node is a node with what its containers leave free.
type node struct {
	name        traces.Node
	rack        string
	has, free   state.Amounts
	memoryKnown bool
	up          bool
	upAt        traces.Time // when it came back last
	downAt      traces.Time
	running     int
	log         state.RoomLog
}

type block struct{ replicas, cached []traces.Node }

func changed(list []traces.Node, n traces.Node, gone bool) []traces.Node {
	i := slices.Index(list, n)
	switch {
	case gone && i >= 0:
		return slices.Delete(list, i, i+1)
	case !gone && i < 0:
		return append(list, n)
	}
	return list
}

func (r *reader) node(name traces.Node) *node {
	n := r.nodes[name]
	if n == nil {
		n = &node{name: name, up: true, upAt: math.MinInt64, has: r.capacity(0, 0)}
		n.free = n.has
		r.nodes[name] = n
	}
	return n
}

// size notes the rack and the capacity of a node.
func (r *reader) size(f *traces.NodeFacts) {
	n := r.node(f.Node)
	n.rack = f.Rack
	has := r.capacity(f.MemoryBytes, f.VCores)
	r.change(n, has.Minus(n.has), 0)
	n.has, n.memoryKnown = has, f.MemoryBytes > 0
}

// capacity returns what a node has for containers. What is not counted is more than
// containers can take.
func (r *reader) capacity(bytes int64, cores int32) state.Amounts {
	const uncounted = math.MaxInt64 / 4
	a := state.Amounts{uncounted, uncounted, uncounted, uncounted}
	if bytes > 0 {
		a[0] = min(bytes, uncounted)
	}
	if r.countCores && cores > 0 {
		a[1] = int64(cores)
	}
	if r.slots != [2]int64{} {
		a[2], a[3] = r.slots[0], r.slots[1]
	}
	return a
}

// change adds to what a node has free, and to the number of task containers that run on it.
func (r *reader) change(n *node, by state.Amounts, running int) {
	n.log.Changed(int64(r.now), &n.free)
	n.free = n.free.Minus(state.Amounts{}.Minus(by))
	n.running += running
}

func (r *reader) block(id traces.Block) *block {
	b := r.blocks[id]
	if b == nil {
		b = &block{}
		r.blocks[id] = b
	}
	return b
}
