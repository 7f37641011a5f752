package invent

import (
	"fmt"

	"heddle/traces"
)

// maxNodes is the greatest number of nodes in a cluster that an import makes
// up.
const maxNodes = 1 << 20

// Nodes makes up a cluster with the given numbers of nodes and racks. The
// numbers of nodes in any two racks are equal or differ by one.
func Nodes(count, racks int) ([]traces.NodeFacts, error) {
	racks = max(racks, 1)
	if count < 1 || count > maxNodes {
		return nil, fmt.Errorf("make up a cluster: %d nodes: want 1 to %d", count, maxNodes)
	}
	if racks > count {
		return nil, fmt.Errorf("make up a cluster: %d racks: want no more than its %d nodes", racks, count)
	}
	var nodes []traces.NodeFacts
	for i := range count {
		nodes = append(nodes, traces.NodeFacts{
			Node: traces.Node(fmt.Sprintf("node%d", i+1)), Rack: fmt.Sprintf("/rack%d", i*racks/count+1), Worker: true,
		})
	}
	return nodes, nil
}
