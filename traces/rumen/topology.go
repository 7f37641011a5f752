package rumen

import (
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/internal/jsonstream"
)

// tree is a node of the tree that a topology file contains. The leaves of the
// tree are hosts, and the nodes above them are racks. The name of the root is
// not part of a rack's path.
type tree struct {
	Name     string  `json:"name"`
	Children []*tree `json:"children"`
}

// readTopology reads the racks and hosts of a topology file.
func readTopology(in io.Reader) (nodes []traces.NodeFacts, err error) {
	err = jsonstream.Each(in, func(r *jsonstream.Reader) error {
		var root tree
		err := root.read(r)
		for _, t := range root.Children {
			nodes = t.hosts(nodes, "")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	return nodes, nil
}

func (t *tree) read(r *jsonstream.Reader) error {
	return r.Fields(t, func(any) error {
		return r.List(func() error {
			c := &tree{}
			t.Children = append(t.Children, c)
			return c.read(r)
		})
	})
}

// hosts appends the hosts in the tree t to a list. The argument rack is the
// path of the tree nodes above t.
func (t *tree) hosts(to []traces.NodeFacts, rack string) []traces.NodeFacts {
	switch {
	case len(t.Children) == 0 && t.Name == "":
		return to
	case len(t.Children) == 0:
		return append(to, traces.NodeFacts{Node: traces.Node(t.Name), Rack: rack})
	}
	for _, c := range t.Children {
		to = c.hosts(to, rack+"/"+t.Name)
	}
	return to
}

// writeTopology writes the racks and hosts of a cluster in the form that
// readTopology reads.
func writeTopology(out io.Writer, nodes []traces.NodeFacts) error {
	root := &tree{Name: "<root>", Children: []*tree{}}
	for _, n := range nodes {
		at := root
		for _, layer := range rackLayers(n.Rack) {
			at = at.child(layer)
		}
		at.Children = append(at.Children, &tree{Name: string(n.Node)})
	}
	if err := json.MarshalEncode(jsontext.NewEncoder(out), root, json.FormatNilSliceAsNull(true)); err != nil {
		return fmt.Errorf("write topology: %w", err)
	}
	return nil
}

// child returns the child of the tree node t with a name, and adds the child if
// there is none. It searches from the last child, since hosts mostly come rack
// by rack.
func (t *tree) child(name string) *tree {
	for _, c := range slices.Backward(t.Children) {
		if c.Name == name && len(c.Children) > 0 {
			return c
		}
	}
	c := &tree{Name: name}
	t.Children = append(t.Children, c)
	return c
}
