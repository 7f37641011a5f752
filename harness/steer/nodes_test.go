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

// TestMovesOfManyJobs: where many jobs run, changes of labels are collected for a while after a call, in which
// the ResourceManager has time to schedule.
func TestMovesOfManyJobs(t *testing.T) {
	for jobs, want := range map[int]time.Duration{
		1: 0, manyJobs - 1: 0, manyJobs: 30 * time.Millisecond,
		4 * manyJobs: 120 * time.Millisecond,
	} {
		c, n, j := oneJob(t, 1)
		for len(c.jobs) < jobs {
			c.jobs = append(c.jobs, j)
		}
		c.out = nil
		n.move("m00", func() {})
		c.moves.flush()
		sent := c.now
		c.now = sent.Add(30 * time.Millisecond)
		c.observed(Observation{Answers: c.out[0].(*SetLabels).Number, Sent: sent, Received: c.now})
		if got := c.moves.next.Sub(c.now); got != want {
			t.Errorf("%d jobs: the next change of labels after %v, want %v", jobs, got, want)
		}
		c.out = nil
		n.move(idleLabel, func() {})
		if c.moves.flush(); want > 0 == (len(c.out) > 0) {
			t.Errorf("%d jobs: a change of labels at once is sent: %v", jobs, len(c.out) > 0)
		}
	}
}
