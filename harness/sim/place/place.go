// Package place chooses nodes for HDFS blocks. It places replicas by the rules
// of the NameNode's default policy, and cached copies on nodes with replicas.
//
// The package knows no time and no disk space. It leaves out the policy's
// rules on full, busy and decommissioning nodes, on storage types, and on
// clients that have a rack but no DataNode.
package place

import (
	"slices"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// Topology says in which rack each node of a cluster is.
type Topology struct {
	nodes []state.NodeID // all nodes, sorted by rack
	where []where        // by node: the node's rack and the node's index in Topology.nodes
	first []int32        // by rack: index in Topology.nodes of the rack's first node; one more entry at the end is the number of nodes
	racks int            // number of racks that have a node
}

// where has a node's rack, and the node's index in Topology.nodes.
type where struct {
	rack state.RackID
	at   int32
}

// InRacks returns the topology of a cluster's nodes. The parameter names has
// the name of each node's rack.
func InRacks(names []string) *Topology {
	ids := map[string]state.RackID{}
	rackOf := make([]state.RackID, len(names))
	for i, name := range names {
		if _, ok := ids[name]; !ok {
			ids[name] = state.RackID(len(ids))
		}
		rackOf[i] = ids[name]
	}
	return New(rackOf)
}

// Shuffled returns the nodes with numbers from 0 to n-1 in a random order,
// which is drawn with key.
func Shuffled(key draw.Key, n int) []state.NodeID {
	order := make([]state.NodeID, n)
	for i := range order {
		j := key.At(uint64(i)).Below(i + 1)
		order[i], order[j] = order[j], state.NodeID(i)
	}
	return order
}

// New returns the topology of a cluster's nodes. The parameter rackOf has the
// rack of each node.
func New(rackOf []state.RackID) *Topology {
	t := &Topology{nodes: make([]state.NodeID, len(rackOf)), where: make([]where, len(rackOf))}
	last := state.RackID(-1)
	for _, r := range rackOf {
		last = max(last, r)
	}
	t.first = make([]int32, last+2)
	for _, r := range rackOf {
		t.first[r+1]++
	}
	for r := range int(last + 1) {
		if t.first[r+1] > 0 {
			t.racks++
		}
		t.first[r+1] += t.first[r]
	}
	next := slices.Clone(t.first)
	for n, r := range rackOf {
		t.nodes[next[r]], t.where[n] = state.NodeID(n), where{r, next[r]}
		next[r]++
	}
	return t
}

// File chooses the replicas of a file's blocks and adds the nodes to h, block
// by block. The choice is random, drawn with key; each file needs a key of its
// own. The nodes of block i depend neither on other files nor on the file's
// length. The parameter writer is the node of the client that writes the file,
// or None for a client outside the cluster.
func (t *Topology) File(h *state.Hosts, key draw.Key, blocks int, writer state.NodeID, replication int) {
	h.Nodes = slices.Grow(h.Nodes, blocks*replication)
	h.Ends = slices.Grow(h.Ends, blocks)
	for b := range blocks {
		h.Nodes = t.Block(h.Nodes, key.At(uint64(b)), writer, replication)
		h.Ends = append(h.Ends, int32(len(h.Nodes)))
	}
}

// Block chooses the nodes for one block's replicas, and appends them to the
// slice in the parameter to, in the order in which HDFS chooses them.
//
// The first replica is on the writer's node, or on any node if the writer is
// None. The second is in another rack. The third is in the rack of the second.
// Further replicas are anywhere. No rack gets more than (replication-1)/racks
// + 2 replicas, or one less if otherwise all replicas could be in one rack. If
// the rule for the third replica allows no node, the rack of the first is
// tried, then any rack. There are fewer replicas than asked for only if no
// further node is allowed.
//
// Source: BlockPlacementPolicyDefault of Hadoop 3.4, chooseTargetInOrder and
// getMaxNodesPerRack.
func (t *Topology) Block(to []state.NodeID, key draw.Key, writer state.NodeID, replication int) []state.NodeID {
	replication = min(replication, len(t.nodes))
	if replication < 1 {
		return to
	}
	first := writer
	if first == state.None {
		first = t.nodes[key.Below(len(t.nodes))]
	}
	to = append(to, first)
	if replication == 1 {
		return to
	}
	begin := len(to) - 1
	second := t.outside(t.where[first].rack, key.At(1))
	if second == state.None {
		return t.anywhere(to, begin, key, replication) // all nodes are in one rack, so no rule about racks applies
	}
	to = append(to, second)
	if replication == 2 {
		return to
	}
	if third := t.beside(second, key.At(2)); third != state.None {
		to = append(to, third)
	} else if third = t.beside(first, key.At(2)); third != state.None {
		to = append(to, third)
	}
	if len(to)-begin < replication {
		to = t.anywhere(to, begin, key, replication)
	}
	return to
}

// outside returns a random node, for a replica, of another rack than the given
// one. It returns None if there is no other rack.
func (t *Topology) outside(rack state.RackID, key draw.Key) state.NodeID {
	from, to := t.first[rack], t.first[rack+1]
	others := len(t.nodes) - int(to-from)
	if others == 0 {
		return state.None
	}
	i := int32(key.Below(others))
	if i >= from {
		i += to - from
	}
	return t.nodes[i]
}

// beside returns a random node, for a replica, in the rack of node n, but not
// n itself. It returns None if there is no such node.
func (t *Topology) beside(n state.NodeID, key draw.Key) state.NodeID {
	own := t.where[n]
	from, to := t.first[own.rack], t.first[own.rack+1]
	if to-from == 1 {
		return state.None
	}
	i := from + int32(key.Below(int(to-from-1)))
	if i >= own.at {
		i++
	}
	return t.nodes[i]
}

// anywhere chooses random nodes for the further replicas of a block, until the
// block has as many as replication says. It appends them to the slice in the
// parameter to, in which the block's nodes begin at index begin. No rack gets
// more replicas than HDFS's policy allows for a rack.
func (t *Topology) anywhere(to []state.NodeID, begin int, key draw.Key, replication int) []state.NodeID {
	bound := t.perRack(replication)
	for r := len(to) - begin; r < replication; r++ {
		from := key.At(uint64(r))
		n := state.NodeID(state.None)
		for try := range uint64(tries) {
			if x := t.nodes[from.At(try).Below(len(t.nodes))]; t.allowed(to[begin:], x, bound) {
				n = x
				break
			}
		}
		if n == state.None { // the random draws found no allowed node, since few are left: try all nodes, beginning with a random one
			start := from.Below(len(t.nodes))
			for i := range t.nodes {
				if x := t.nodes[(start+i)%len(t.nodes)]; t.allowed(to[begin:], x, bound) {
					n = x
					break
				}
			}
		}
		if n == state.None {
			break
		}
		to = append(to, n)
	}
	return to
}

const tries = 16

// perRack returns how many of a block's replicas HDFS's policy allows in one
// rack at most.
func (t *Topology) perRack(replication int) int {
	if t.racks <= 1 {
		return replication
	}
	bound := (replication-1)/t.racks + 2
	if bound == replication {
		bound--
	}
	return bound
}

func (t *Topology) allowed(have []state.NodeID, n state.NodeID, bound int) bool {
	inRack, rack := 0, t.where[n].rack
	for _, x := range have {
		if x == n {
			return false
		}
		if t.where[x].rack == rack {
			inRack++
		}
	}
	return inRack < bound
}
