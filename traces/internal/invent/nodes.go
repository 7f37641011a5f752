package invent

import (
	"fmt"

	"heddle/traces"
)

// maxNodes bounds the clusters that are made up.
const maxNodes = 1 << 20

// Nodes makes up a cluster: count nodes in racks that are filled one after the
// other, as evenly as can be.
func Nodes(count, racks int) ([]traces.NodeFacts, error) {
	racks = max(racks, 1)
	if count < 1 || count > maxNodes || racks > count {
		return nil, fmt.Errorf("make up a cluster: %d nodes in %d racks: want 1 to %d nodes, and no more racks than nodes", count, racks, maxNodes)
	}
	var nodes []traces.NodeFacts
	for i := range count {
		nodes = append(nodes, traces.NodeFacts{
			Node: traces.Node(fmt.Sprintf("node%d", i+1)), Rack: fmt.Sprintf("/rack%d", i*racks/count+1), Worker: true,
		})
	}
	return nodes, nil
}
