package invent

import (
	"fmt"
	"slices"
	"testing"

	"heddle/traces"
)

func cluster(nodes, racks int) []traces.NodeFacts {
	var all []traces.NodeFacts
	for i := range nodes {
		all = append(all, traces.NodeFacts{Node: traces.Node(fmt.Sprint("n", i)), Rack: fmt.Sprint("/r", i*racks/nodes)})
	}
	return all
}

// TestReplicas holds placements against HDFS's rule, and the load of nodes
// against an even one.
func TestReplicas(t *testing.T) {
	for _, c := range []struct{ nodes, racks, copies int }{{40, 4, 3}, {6, 3, 3}, {5, 1, 3}, {2, 2, 3}, {1, 1, 3}, {9, 3, 5}, {40, 4, 1}} {
		all := cluster(c.nodes, c.racks)
		rack := map[traces.Node]string{}
		for _, n := range all {
			rack[n.Node] = n.Rack
		}
		p, load := NewPlacer(all), map[traces.Node]int{}
		const files = 20000
		for i := range uint64(files) {
			got := p.Replicas(nil, "", c.copies, 7, 99, i)
			if len(got) != min(c.copies, c.nodes) {
				t.Fatalf("%+v: replicas %v", c, got)
			}
			sorted := slices.Sorted(slices.Values(got))
			if len(slices.Compact(sorted)) != len(got) {
				t.Fatalf("%+v: two replicas on a node: %v", c, got)
			}
			if len(got) > 1 && c.racks > 1 && rack[got[0]] == rack[got[1]] {
				t.Fatalf("%+v: the second replica is on the first's rack: %v", c, got)
			}
			if len(got) > 2 && c.nodes/c.racks > 1 && c.racks > 1 && rack[got[1]] != rack[got[2]] {
				t.Fatalf("%+v: the third replica is not on the second's rack: %v", c, got)
			}
			for _, n := range got {
				load[n]++
			}
		}
		even := float64(files*min(c.copies, c.nodes)) / float64(c.nodes)
		for n, l := range load {
			if f := float64(l) / even; f < 0.85 || f > 1.15 {
				t.Errorf("%+v: %s has %.2f times an even share", c, n, f)
			}
		}
	}
	p := NewPlacer(cluster(40, 4))
	if got := p.Replicas(nil, "n17", 3, 1, 1, 1); got[0] != "n17" {
		t.Errorf("the writer's replica is not the first: %v", got)
	}
}

// TestDraws: draws have names, not places, and differ by each part of the name.
// The numbers are those of FORMAT.md's formula, which other programs may use.
func TestDraws(t *testing.T) {
	mix := traces.Mix
	if got, want := draw("map time", 1, 2, 3), mix(mix(mix(mix(1)^traces.HashName("map time"))^2)^3); got != want {
		t.Errorf("draw %x, want %x", got, want)
	}
	seen := map[uint64]bool{}
	for _, d := range []struct {
		name           string
		seed, thing, i uint64
	}{{"map time", 1, 2, 3}, {"map time", 2, 2, 3}, {"map time", 1, 3, 3}, {"map time", 1, 2, 4}, {"x", 1, 2, 3}} {
		seen[draw(d.name, d.seed, d.thing, d.i)] = true
	}
	if len(seen) != 5 {
		t.Error("two names have one draw")
	}
	count := [10]int{}
	for i := range uint64(100000) {
		count[below(10, draw("map time", 5, 6, i))]++
	}
	for n, c := range count {
		if c < 9500 || c > 10500 {
			t.Errorf("%d was drawn %d times of 100000", n, c)
		}
	}
}
