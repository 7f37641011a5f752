package replay

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/replay/recorded"
	"heddle/traces"
)

// TestCapacityAgain replays a trace in which a node's capacity fell to half and came back:
// the replay has the same changes at the same times. A cluster of other nodes has none.
func TestCapacityAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	n := x.Nodes[0]
	x.Capacity = []traces.NodeCapacity{
		{T: 3e9, Node: n.Node, MemoryBytes: n.MemoryBytes / 2, VCores: n.VCores},
		{T: 9e9, Node: n.Node, MemoryBytes: n.MemoryBytes, VCores: n.VCores},
	}
	for _, c := range []struct {
		name   string
		change recorded.Change
		again  bool
	}{{"the same cluster", recorded.Change{}, true}, {"other nodes", recorded.Change{Nodes: 8}, false}} {
		got := []string{}
		_, _, err := Run(&Config{Trace: x, Model: x.OwnModel(), Seed: 1, Change: c.change, Record: func(e traces.Event) {
			if e, ok := e.(*traces.NodeCapacity); ok {
				got = append(got, fmt.Sprint(e.T, " ", e.Node, " ", e.MemoryBytes))
			}
		}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := []string{}
		if c.again {
			want = []string{fmt.Sprint(traces.Time(3e9), " ", n.Node, " ", n.MemoryBytes/2), fmt.Sprint(traces.Time(9e9), " ", n.Node, " ", n.MemoryBytes)}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
