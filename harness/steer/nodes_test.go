package steer

import (
	"context"
	"testing"
	"time"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// slowLabels answers calls when it is told to.
type slowLabels struct {
	Changes
	calls chan slowCall
}

type slowCall struct {
	labelOf map[string]string
	answer  chan error
}

func (c *slowLabels) ReplaceLabels(_ context.Context, labelOf map[string]string) error {
	call := slowCall{labelOf, make(chan error)}
	c.calls <- call
	return <-call.answer
}

// TestMovesThatAreOvertaken has a node closed while the call that opened it hangs,
// and what was to follow the closing done once, however the answers come.
func TestMovesThatAreOvertaken(t *testing.T) {
	labels := &slowLabels{calls: make(chan slowCall)}
	d := &Driver{
		acts: true, changes: labels, ctx: t.Context(), state: state.New(), byID: map[string]*node{},
		inbox: make(chan func(), 8), ended: make(chan struct{}), record: func(...traces.Event) {},
	}
	d.view = d.state.View()
	d.moves.wake = d.newAlarm(func() {})
	d.addNode(yarnclient.Node{ID: "n:1", Host: "n", Rack: "/r"})
	n := d.nodes[0]
	send := func() slowCall {
		d.moves.since = time.Time{} // long ago
		d.flushMoves()
		return <-labels.calls
	}
	answer := func(c slowCall) {
		c.answer <- nil
		(<-d.inbox)()
	}
	closed := 0
	d.move(n, "m00", func() { t.Error("the node is said to be open when it is closed") })
	opening := send()
	d.move(n, idleLabel, func() { closed++ })
	closing := send()
	answer(opening) // late: which of the two came last is not known
	again := send()
	if got := again.labelOf["n:1"]; got != idleLabel {
		t.Fatalf("label %q is sent again, want %q", got, idleLabel)
	}
	answer(closing)
	answer(send()) // the answer before was overtaken in its turn
	answer(again)
	for closed == 0 && len(d.moves.to) > 0 {
		answer(send())
	}
	if closed != 1 || n.label != idleLabel {
		t.Errorf("what follows the closing was done %d times, and the label is %q", closed, n.label)
	}
}
