package why

import (
	"cmp"
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
		n = &node{name: name, up: true, upAt: math.MinInt64, has: state.Capacity(r.header, unknown, 0)}
		n.free = n.has
		r.nodes[name] = n
	}
	return n
}

// size notes the rack and the capacity of a node.
func (r *reader) size(f *traces.NodeFacts) {
	n := r.node(f.Node)
	n.rack, n.memoryKnown = f.Rack, f.MemoryBytes > 0
	r.resize(n, cmp.Or(f.MemoryBytes, unknown), f.VCores)
}

// unknown is the memory of a node of which the trace does not say it: containers find room there.
const unknown = math.MaxInt64

func (r *reader) resize(n *node, memoryBytes int64, vcores int32) {
	has := state.Capacity(r.header, memoryBytes, vcores)
	r.change(n, has.Minus(n.has), 0)
	n.has = has
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
