package config

import (
	"encoding"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A grid is an entry in an experiment file's list of models or workloads in
// which some values are lists, such as {model: delay, params: {nodeSkips: [0, 9]}}.
// It stands for several entries: one for each combination of the values. Such an
// entry is called a point of the grid. Its label consists of the entry's label, or
// of the model's or workload's name, and the values that vary:
// delay-nodeSkips=9.

// maxPoints is the largest number of points that the grids in one list may have
// together.
const maxPoints = 500

// maxNodes is the largest number of keys and values that all points of a grid may
// have together. An entry has a few dozen of them.
const maxNodes = 1 << 13

// gridded is an element of a list that may contain grids.
type gridded interface {
	// nameKeys returns the keys whose value starts the labels of a grid's points
	// if the grid has no label of its own. The first of them that the grid has
	// counts.
	nameKeys() []string
}

func (*Model) nameKeys() []string    { return []string{"model"} }
func (*Workload) nameKeys() []string { return []string{"name", "trace", "jar"} }

// axis is a value of a grid that varies.
type axis struct {
	key  string     // the last part of the value's key, for labels
	list *yaml.Node // the values, as a list in the file
}

// expand replaces the grids in a list by their points. It remembers how the user
// finds each element of the longer list in the file.
func (d *decoder) expand(entries []*yaml.Node, kind gridded, path string) []*yaml.Node {
	var all []*yaml.Node
	add := func(n *yaml.Node, place string) {
		d.places[fmt.Sprintf("%s[%d]", path, len(all))] = place
		all = append(all, n)
	}
	inGrids := 0
	for i, e := range entries {
		place, next := fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%s[%d]", path, len(all))
		d.places[next] = place
		axes := axesOf(e, reflect.TypeOf(kind).Elem())
		points := 1
		for _, a := range axes {
			if points *= len(a.list.Content); points == 0 {
				d.report(positionOf(a.list), next, "%s: an empty list; want at least one value", a.key)
				break
			}
			if inGrids+points > maxPoints {
				d.report(positionOf(e), next, "with this entry, the lists of values make more than %d combinations; want at most %d", maxPoints,
					maxPoints)
				points = 0
				break
			}
		}
		if points*nodesIn(e) > maxNodes {
			d.report(positionOf(e), next, "%d combinations of an entry of so many keys; want fewer", points)
			points = 0
		}
		if len(axes) == 0 {
			add(e, place)
			continue
		}
		inGrids += points
		for p := range points {
			point, label := pointOf(e, axes, p, kind.nameKeys())
			add(point, fmt.Sprintf("%s (%s)", place, label))
		}
	}
	return all
}

// axesOf returns the values of an entry that are lists where the Go type of the
// entry has a single value. A label cannot vary.
func axesOf(entry *yaml.Node, t reflect.Type) []axis {
	var axes []axis
	eachKey(entry, func(key, value *yaml.Node) {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			switch of := t.Field(i).Type; {
			case name != key.Value || name == "label":
			case of.Kind() == reflect.Map && single(of.Elem()):
				eachKey(value, func(key, value *yaml.Node) {
					if isList(value) {
						axes = append(axes, axis{key.Value[strings.LastIndexByte(key.Value, '.')+1:], value})
					}
				})
			case single(of) && isList(value):
				axes = append(axes, axis{name, value})
			}
		}
	})
	return axes
}

// eachKey calls the function do for each key of a YAML mapping, and not at all
// for other nodes.
func eachKey(n *yaml.Node, do func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode || n.Anchor != "" {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		do(n.Content[i], n.Content[i+1])
	}
}

// nodesIn returns how many keys and values an entry has.
func nodesIn(n *yaml.Node) int {
	count := 1
	eachKey(n, func(_, value *yaml.Node) { count += 1 + nodesIn(value) })
	return count
}

func isList(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && n.Anchor == "" }

// single reports whether a file gives values of the type t as one text or
// number, so that a list instead of it can only be a grid's.
func single(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Uint64, reflect.Float64:
		return true
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// pointOf returns point number p of a grid, and its label. The last axis varies
// fastest.
func pointOf(entry *yaml.Node, axes []axis, p int, nameKeys []string) (point *yaml.Node, label string) {
	chosen := map[*yaml.Node]*yaml.Node{}
	for _, a := range slices.Backward(axes) {
		values := a.list.Content
		chosen[a.list] = values[p%len(values)]
		p /= len(values)
	}
	var own *yaml.Node // the grid's own label
	eachKey(entry, func(key, value *yaml.Node) {
		if key.Value == "label" {
			own, label = value, value.Value
		}
	})
	if own != nil && own.Kind != yaml.ScalarNode { // decode refuses the label
		return substitute(entry, chosen), "no label"
	}
	for _, name := range nameKeys {
		eachKey(substitute(entry, chosen), func(key, value *yaml.Node) {
			if label == "" && key.Value == name {
				label = nameLabel(name, value.Value)
			}
		})
	}
	for _, a := range axes {
		if own != nil || !slices.Contains(nameKeys, a.key) {
			label += "-" + labelText(a.key) + "=" + labelValue(a.key, chosen[a.list])
		}
	}
	text := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: label, Line: entry.Line, Column: entry.Column}
	if own != nil {
		text.Line, text.Column = own.Line, own.Column
		chosen[own] = text
		return substitute(entry, chosen), label
	}
	point = substitute(entry, chosen)
	point.Content = append(point.Content, &yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!str", Value: "label", Line: entry.Line,
		Column: entry.Column,
	}, text)
	return point, label
}

// substitute returns a copy of a YAML mapping in which nodes are replaced by
// those chosen for them.
func substitute(n *yaml.Node, chosen map[*yaml.Node]*yaml.Node) *yaml.Node {
	if c, ok := chosen[n]; ok {
		return c
	}
	if n.Kind != yaml.MappingNode {
		return n
	}
	copied := *n
	copied.Content = make([]*yaml.Node, len(n.Content))
	for i, x := range n.Content {
		copied.Content[i] = substitute(x, chosen)
	}
	return &copied
}

// nameLabel returns how a label begins that is made of the value of a name key.
// A trace or jar is shown by its file's name.
func nameLabel(key, value string) string {
	switch key {
	case "trace":
		return traceLabel(value)
	case "jar":
		return jarLabel(value)
	}
	return value
}

// labelValue returns how a label shows a value. A cluster file is shown by its
// name without folder and ending.
func labelValue(key string, n *yaml.Node) string {
	switch {
	case isNull(n):
		return "default" // a key without a value keeps the default
	case key == "cluster" && IsClusterFile(n.Value):
		return labelText(strings.TrimSuffix(filepath.Base(n.Value), filepath.Ext(n.Value)))
	}
	return labelText(n.Value)
}

// notInLabel matches what labels may not contain.
var notInLabel = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func labelText(text string) string { return notInLabel.ReplaceAllString(text, "_") }
