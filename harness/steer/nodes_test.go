package steer

import (
	"testing"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// TestMovesThatAreOvertaken has a node closed while the call that opened it hangs,
// and what was to follow the closing done once, however the answers come.
func TestMovesThatAreOvertaken(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, _, err := New(Options{
		Setup: Setup{Beat: time.Hour, Smallest: state.Resource{MemoryMB: 1, VCores: 1}}, Origin: now,
		Nodes: []yarnclient.Node{{ID: "n:1", Host: "n", Rack: "/r", State: "RUNNING"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// step goes on by a while, and returns the labels that are sent.
	step := func(after time.Duration, answered ...int64) *SetLabels {
		t.Helper()
		now = now.Add(after)
		var batch []Observation
		for _, number := range answered {
			batch = append(batch, Observation{Answers: number, Received: now})
		}
		actions, _ := c.Step(now, batch)
		for _, a := range actions {
			if set, ok := a.(*SetLabels); ok {
				return set
			}
		}
		return nil
	}
	step(0)
	n, closed := c.nodes[0], 0
	n.move("m00", func() { t.Error("the node is said to be open when it is closed") })
	opening := step(0)
	n.move(idleLabel, func() { closed++ })
	if early := step(time.Millisecond); early != nil {
		t.Fatalf("%v is sent beside a call that is under way", early.LabelOf)
	}
	closing := step(overtakeAfter)
	again := step(overtakeAfter, opening.Number) // late: which of the two came last is not known
	if again == nil || again.LabelOf["n:1"] != idleLabel {
		t.Fatalf("%+v is sent again, want %q", again, idleLabel)
	}
	third := step(overtakeAfter, closing.Number) // it was overtaken in its turn
	step(overtakeAfter, again.Number)
	for i := 0; closed == 0 && third != nil && i < 3; i++ {
		third = step(overtakeAfter, third.Number)
	}
	if closed != 1 || n.label != idleLabel {
		t.Errorf("what follows the closing was done %d times, and the label is %q", closed, n.label)
	}
}
