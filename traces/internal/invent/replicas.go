package invent

import (
	"slices"

	"heddle/traces"
)

// Placer chooses nodes for the replicas of a block by HDFS's rule. The first
// replica is on the writer's node, the second in another rack, the third in the
// same rack as the second, and further replicas on random nodes. No node gets
// two replicas.
type Placer struct {
	nodes []traces.NodeFacts
	index map[traces.Node]int
	racks map[string][]int // for each rack, the indexes of its nodes in the cluster's list of nodes
}

// NewPlacer returns a Placer for a cluster. Its choices depend on the order of
// the nodes.
func NewPlacer(nodes []traces.NodeFacts) *Placer {
	p := &Placer{nodes: nodes, index: map[traces.Node]int{}, racks: map[string][]int{}}
	for i, n := range nodes {
		p.index[n.Node] = i
		p.racks[n.Rack] = append(p.racks[n.Rack], i)
	}
	return p
}

// Replicas appends the nodes for the replicas of block i of a file to a list.
// The argument copies is the number of replicas; there are fewer if the cluster
// has fewer nodes. If writer is not a node of the cluster, the node of the
// first replica is random too.
func (p *Placer) Replicas(to []traces.Node, writer traces.Node, copies int, seed, file, i uint64) []traces.Node {
	copies = min(copies, len(p.nodes))
	if copies <= 0 {
		return to
	}
	first, known := p.index[writer]
	if !known {
		first = below(len(p.nodes), draw("replica 1", seed, file, i))
	}
	taken := make([]int, 1, 8)
	taken[0] = first
	for n := uint64(1); len(taken) < copies; n++ {
		next := -1
		switch n {
		case 1:
			next = p.otherRack(first, draw("replica 2", seed, file, i))
		case 2:
			next = free(p.racks[p.nodes[taken[1]].Rack], taken, draw("replica 3", seed, file, i))
		}
		if next < 0 {
			next = p.anywhere(taken, draw("replica 4", seed+n, file, i))
		}
		taken = append(taken, next)
	}
	for _, n := range taken {
		to = append(to, p.nodes[n].Node)
	}
	return to
}

// otherRack returns a random node for a block's second replica: one in another
// rack than the node of the first replica, or -1 if there is none.
func (p *Placer) otherRack(first int, r uint64) int {
	rack := p.nodes[first].Rack
	if len(p.racks[rack]) == len(p.nodes) {
		return -1
	}
	for ; ; r = traces.Mix(r) {
		if i := int(r % uint64(len(p.nodes))); p.nodes[i].Rack != rack {
			return i
		}
	}
}

// anywhere returns a random node of the cluster that is not in the list taken
// (the nodes that already have a replica). There must be such a node.
func (p *Placer) anywhere(taken []int, r uint64) int {
	for ; ; r = traces.Mix(r) {
		if i := int(r % uint64(len(p.nodes))); !slices.Contains(taken, i) {
			return i
		}
	}
}

// The method free returns a random node that is in the list pool but not in the
// list taken (the nodes that already have a replica), or -1 if there is none.
func free(pool, taken []int, r uint64) int {
	var left []int
	for _, i := range pool {
		if !slices.Contains(taken, i) {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return -1
	}
	return left[r%uint64(len(left))]
}
