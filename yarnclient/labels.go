package yarnclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// NodeLabel is a node label of the cluster.
type NodeLabel struct {
	Name      string `wire:"name" form:"label"`
	Exclusive bool   `wire:"exclusivity"`
}

// NodeLabels lists the cluster's node labels.
func (rm *RM) NodeLabels(ctx context.Context) ([]NodeLabel, error) {
	// Only the XML answer has the same structure in all versions of Hadoop.
	r := request{path: "/ws/v1/cluster/get-node-labels", accept: asXML}
	return get[[]NodeLabel](ctx, rm.c, r, "nodeLabelsInfo", "nodeLabelInfo")
}

// NodesToLabels returns the labels of each labelled node; the key is
// "host:port". It includes nodes that were labelled but never existed. The key
// is "host:0" for labels that were set without a port.
func (rm *RM) NodesToLabels(ctx context.Context) (map[string][]string, error) {
	r := request{path: "/ws/v1/cluster/get-node-to-labels", accept: asXML}
	entries, err := get[[]struct {
		Node   string      `wire:"key" form:"node"`
		Labels []NodeLabel `wire:"value>nodeLabelInfo"`
	}](ctx, rm.c, r, "nodeToLabelsInfo", "nodeToLabels", "entry")
	if err != nil {
		return nil, err
	}
	m := make(map[string][]string, len(entries))
	for _, e := range entries {
		for _, l := range e.Labels {
			m[e.Node] = append(m[e.Node], l.Name)
		}
	}
	return m, nil
}

// AddLabels adds node labels to the cluster. A label that exists stays as it
// is. The call fails if an existing label is exclusive and is added as not
// exclusive, or the reverse.
func (rm *RM) AddLabels(ctx context.Context, exclusive bool, names ...string) error {
	type label struct {
		Name      string `json:"name"`
		Exclusive bool   `json:"exclusivity"`
	}
	list := make([]label, len(names))
	for i, name := range names {
		list[i] = label{name, exclusive}
	}
	return rm.postJSON(ctx, "/ws/v1/cluster/add-node-labels", map[string]any{"nodeLabelInfo": list})
}

// RemoveLabels removes node labels from the cluster and from its nodes. It
// fails if a queue refers to one of the labels.
func (rm *RM) RemoveLabels(ctx context.Context, names ...string) error {
	_, err := rm.c.do(ctx, request{
		method: http.MethodPost, path: "/ws/v1/cluster/remove-node-labels",
		query: url.Values{"labels": names}, bodyType: asJSON,
	})
	return err
}

// ReplaceLabels sets the label of each given node; the key is "host:port" as in
// Node.ID, and the label "" means the default partition. The call changes all
// the nodes or none. Hadoop also accepts names of nodes that do not exist, so
// check the result with Nodes.
func (rm *RM) ReplaceLabels(ctx context.Context, labelOf map[string]string) error {
	type move struct {
		Node   string   `json:"nodeId"`
		Labels []string `json:"labels"`
	}
	moves := make([]move, 0, len(labelOf))
	for _, node := range slices.Sorted(maps.Keys(labelOf)) {
		m := move{node, []string{}}
		if label := labelOf[node]; label != "" {
			m.Labels = append(m.Labels, label)
		}
		moves = append(moves, m)
	}
	return rm.postJSON(ctx, "/ws/v1/cluster/replace-node-to-labels", map[string]any{"nodeToLabels": moves})
}

func (rm *RM) postJSON(ctx context.Context, path string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("yarn: POST %s: %w", path, err)
	}
	_, err = rm.c.do(ctx, request{method: http.MethodPost, path: path, bodyType: asJSON, body: string(body)})
	return err
}
