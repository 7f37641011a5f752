package qlearn

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Table is a Q-table: the value of every action in every state, all zero at
// first.
type Table struct {
	rule   Rule
	layout *Layout
	width  int
	q      []float64 // value of action x in state s, at index s·width + x; width is the number of actions
}

// NewTable returns a Q-table for a layout, with all values zero.
func NewTable(layout *Layout, rule Rule) *Table {
	width := layout.Maps * layout.Nodes
	if rule.ByClass {
		width = classes
	}
	return &Table{rule: rule, layout: layout, width: width, q: make([]float64, classes*width)}
}

// Layout returns the layout (maps, nodes and locality classes) that the
// Q-table was trained for.
func (t *Table) Layout() *Layout { return t.layout }

// value returns a pointer to the Q-value of an action in state s.
func (t *Table) value(s Class, a action) *float64 {
	x := int(a.i)*t.layout.Nodes + int(a.k)
	if t.rule.ByClass {
		x = int(t.layout.class[x])
	}
	return &t.q[int(s)*t.width+x]
}

// Value returns the Q-value of starting map i on node k in state s.
func (t *Table) Value(s Class, i, k int) float64 { return *t.value(s, action{int32(i), int32(k)}) }

// ClassValue returns the Q-value, in state s, of starting a map with locality
// class c. It works only for a table whose actions are locality classes.
func (t *Table) ClassValue(s, c Class) float64 { return t.q[int(s)*t.width+int(c)] }

// Bytes returns how much memory the values take.
func (t *Table) Bytes() int { return 8 * len(t.q) }

// MeanOf returns the mean value, in state s, of the actions with locality class c.
// ok is false if there are none.
func (t *Table) MeanOf(s, c Class) (mean float64, ok bool) {
	if t.rule.ByClass {
		return t.ClassValue(s, c), true
	}
	n := 0
	for x, is := range t.layout.class {
		if is == c {
			mean, n = mean+t.q[int(s)*t.width+x], n+1
		}
	}
	return mean / float64(max(n, 1)), n > 0
}

// Pair is a map and the node on which the map is to start.
type Pair struct{ Map, Node int }

// Rollout returns what the greedy policy does: a node for each map, in the
// order of assignment. When no slot is free, all slots become free again. The
// result is empty if no node has a slot.
func (t *Table) Rollout() []Pair { return t.RolloutFor(t.layout) }

// RolloutFor places the maps of another layout by the greedy policy, as
// Rollout does. It works only for a table whose actions are locality classes.
func (t *Table) RolloutFor(layout *Layout) []Pair {
	on := *t
	on.layout = layout
	on.rule.OneWave = false
	l := newLearner(&on, nil)
	if len(l.nodes.list) == 0 {
		return nil
	}
	pairs := make([]Pair, 0, layout.Maps)
	l.maps.reset()
	s := NoLocality
	for len(pairs) < layout.Maps {
		a, _ := l.greedy(s)
		s = l.take(a)
		pairs = append(pairs, Pair{int(a.i), int(a.k)})
	}
	return pairs
}

// Append appends the Q-table to b as bytes, in the form that Read reads.
func (t *Table) Append(b []byte) []byte {
	for _, x := range t.header() {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	for _, q := range t.q {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(q))
	}
	return b
}

// header returns what identifies the layout that a Q-table was trained for:
// number of maps, number of nodes and hash. It returns zeroes for a table over
// locality classes, which fits any layout.
func (t *Table) header() [3]uint64 {
	if t.rule.ByClass {
		return [3]uint64{}
	}
	return [3]uint64{uint64(t.layout.Maps), uint64(t.layout.Nodes), t.layout.Digest()}
}

// Read returns the Q-table from the bytes that Append wrote. It fails if the
// table was trained for another layout of maps and nodes.
func Read(layout *Layout, rule Rule, b []byte) (*Table, error) {
	t := NewTable(layout, rule)
	want := t.header()
	if len(b) < 8*len(want) {
		return nil, fmt.Errorf("%d bytes are too few for a table", len(b))
	}
	var has [len(want)]uint64
	for i := range has {
		has[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	switch b = b[8*len(want):]; {
	case has[0] != want[0] || has[1] != want[1]:
		return nil, fmt.Errorf("the table is for %d maps on %d nodes, not for %d on %d", has[0], has[1], want[0], want[1])
	case has[2] != want[2]:
		return nil, fmt.Errorf(
			"the table is for another layout of %d maps on %d nodes: blocks, cached copies, racks or slots differ",
			has[0],
			has[1],
		)
	case len(b) != 8*len(t.q):
		return nil, fmt.Errorf("the table has %d bytes of values, and its layout needs %d", len(b), 8*len(t.q))
	}
	for x := range t.q {
		t.q[x] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*x:]))
		if math.IsNaN(t.q[x]) || math.IsInf(t.q[x], 0) {
			return nil, fmt.Errorf("value %d of the table is %v, not a finite number", x, t.q[x])
		}
	}
	return t, nil
}
