package yarnclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Node is a NodeManager as the ResourceManager knows it.
type Node struct {
	ID           string   `wire:"id" form:"node"` // "host:port", the name that label and resource calls take
	Host         string   `wire:"nodeHostName" form:"host"`
	Rack         string   `wire:"rack"`
	State        string   `wire:"state"` // RUNNING, LOST, UNHEALTHY, DECOMMISSIONED, ...
	HTTPAddress  string   `wire:"nodeHTTPAddress"`
	Version      string   `wire:"version"`
	HealthReport string   `wire:"healthReport"`
	LastHealthMs int64    `wire:"lastHealthUpdate"`
	Containers   int      `wire:"numContainers"`
	UsedMB       int64    `wire:"usedMemoryMB"`
	AvailMB      int64    `wire:"availMemoryMB"` // negative when over-committed
	UsedVCores   int      `wire:"usedVirtualCores"`
	AvailVCores  int      `wire:"availableVirtualCores"`
	Total        Resource `wire:"totalResource"` // zero before Hadoop 3.3
	Labels       []string `wire:"nodeLabels"`    // at most one
	// Physical use of the host, and of the containers alone. CPU in cores.
	HostMB        int64   `wire:"resourceUtilization>nodePhysicalMemoryMB"`
	HostCPU       float64 `wire:"resourceUtilization>nodeCPUUsage"`
	ContainersMB  int64   `wire:"resourceUtilization>aggregatedContainersPhysicalMemoryMB"`
	ContainersCPU float64 `wire:"resourceUtilization>containersCPUUsage"`
}

// Label returns the node's label, empty for the default partition.
func (n *Node) Label() string {
	if len(n.Labels) == 0 {
		return ""
	}
	return n.Labels[0]
}

// Nodes lists the nodes in the states given ("RUNNING"), in any without.
func (rm *RM) Nodes(ctx context.Context, states ...string) ([]Node, error) {
	r := request{path: "/ws/v1/cluster/nodes"}
	if len(states) > 0 {
		r.query = url.Values{"states": {strings.Join(states, ",")}}
	}
	var nodes []Node
	err := rm.c.get(ctx, r, &nodes, "nodes", "node")
	return nodes, err
}

// Node returns one node by its id, "host:port".
func (rm *RM) Node(ctx context.Context, id string) (Node, error) {
	var n Node
	err := rm.c.get(ctx, request{path: nodePath(id)}, &n, "node")
	return n, err
}

// SetNodeResource changes what a node offers, until it or the ResourceManager
// restarts. Containers beyond it stay; the node gets no new one while its use
// is at or above the total. Both amounts are set: with the dominant resource
// calculator, few cores bound the containers too. The change is queued: read
// it back with Node.
func (rm *RM) SetNodeResource(ctx context.Context, id string, total Resource) error {
	// Without overCommitTimeout -1 the surplus containers are killed at once.
	_, err := rm.c.do(ctx, request{
		method: http.MethodPost, path: nodePath(id) + "/resource", bodyType: asJSON,
		body: fmt.Sprintf(`{"resource":{"memory":%d,"vCores":%d},"overCommitTimeout":-1}`, total.MemoryMB, total.VCores),
	})
	return err
}

func nodePath(id string) string { return "/ws/v1/cluster/nodes/" + url.PathEscape(id) }
