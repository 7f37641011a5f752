package yarnclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Node is a NodeManager as the ResourceManager describes it.
type Node struct {
	ID           string   `wire:"id" form:"node"` // id of the node, "host:port", for calls that set its labels or resources
	Host         string   `wire:"nodeHostName" form:"host"`
	Rack         string   `wire:"rack"`
	State        string   `wire:"state"` // state of the node: RUNNING, LOST, UNHEALTHY, DECOMMISSIONED, ...
	HTTPAddress  string   `wire:"nodeHTTPAddress"`
	Version      string   `wire:"version"`
	HealthReport string   `wire:"healthReport"`
	LastHealthMs int64    `wire:"lastHealthUpdate"`
	Containers   int      `wire:"numContainers"`
	UsedMB       int64    `wire:"usedMemoryMB"`
	AvailMB      int64    `wire:"availMemoryMB"` // free memory of the node in MiB; negative if more is allocated than the node offers
	UsedVCores   int      `wire:"usedVirtualCores"`
	Total        Resource `wire:"totalResource"`           // resources that the node offers; zero in Hadoop before 3.3
	Labels       []string `wire:"nodeLabels" form:"label"` // node labels of the node; Hadoop allows at most one
}

// Label returns the node's label, "" for the default partition.
func (n *Node) Label() string {
	if len(n.Labels) == 0 {
		return ""
	}
	return n.Labels[0]
}

// Nodes lists the cluster's nodes in the given states, such as "RUNNING".
// Without states it lists all nodes.
func (rm *RM) Nodes(ctx context.Context, states ...string) ([]Node, error) {
	r := request{path: "/ws/v1/cluster/nodes"}
	if len(states) > 0 {
		r.query = url.Values{"states": {strings.Join(states, ",")}}
	}
	return get[[]Node](ctx, rm.c, r, "nodes", "node")
}

// Node returns a node by its id, "host:port".
func (rm *RM) Node(ctx context.Context, id string) (Node, error) {
	var n Node
	err := rm.c.one(ctx, rm.c.do, request{path: nodePath(id)}, &n, "node", "state", &n.State)
	return n, err
}

// SetNodeResource changes the resources that a node offers, until the node or
// the ResourceManager restarts. Running containers stay. While they use the
// new total or more, the node gets no new containers. Memory and cores are
// both set; with the dominant resource calculator, too few cores limit the
// containers like too little memory. The change takes effect a little later;
// call Node to see whether it has.
func (rm *RM) SetNodeResource(ctx context.Context, id string, total Resource) error {
	// An overCommitTimeout other than -1 would make the ResourceManager kill
	// containers that exceed the node's new total.
	_, err := rm.c.do(ctx, request{
		method: http.MethodPost, path: nodePath(id) + "/resource", bodyType: asJSON,
		body: fmt.Sprintf(`{"resource":{"memory":%d,"vCores":%d},"overCommitTimeout":-1}`, total.MemoryMB, total.VCores),
	})
	return err
}

func nodePath(id string) string { return "/ws/v1/cluster/nodes/" + url.PathEscape(id) }
