package sched

import (
	"testing"

	"heddle/harness/state"
)

// TestSlotCosts has costs from 1 to 5 by how long reduces took on a node: 3 is the mean, one reduce
// of half the mean is thought of everywhere, and without any reduce all nodes are alike.
func TestSlotCosts(t *testing.T) {
	p := PlacesByCost{Costs: "slots"}
	if got := p.cost(nil, 0, 0); got != 3 {
		t.Errorf("with nothing known a node costs %g, want 3", got)
	}
	for range 9 { // the mean of all reduces is 40 s
		p.learn(0, 10, 1)
		p.learn(1, 40, 2)
		p.learn(2, 70, 3)
	}
	p.learn(3, 40, 0)                               // it fetched nothing
	for n, want := range []float64{1, 3, 5, 2, 2} { // 3 times 11/40, 38/40, 65/40, and 1/2 where nothing ran
		if got := p.cost(nil, 0, state.NodeID(n)); got != want {
			t.Errorf("node %d costs %g, want %g", n, got, want)
		}
	}
}
