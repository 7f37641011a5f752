package sched

import (
	"fmt"
	"testing"

	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestReservedNodeGetsOne has a node of five slots reserved for a map of three, while three are taken. When
// two of these are free again the map gets its place, and the small map, which has room beside it, waits for the
// next heartbeat.
func TestReservedNodeGetsOne(t *testing.T) {
	s := state.New()
	addNode(t, s, 0, 0, slot.Times(5))
	s.SetSmallest(slot)
	m := errtest.Must(New("capacity", Params{"queues": "root.queues=a\nroot.a.capacity=100\nper-node-heartbeat.maximum-offswitch-assignments=9"}))
	first := submit(t, s, &state.JobSpec{Name: "first", Queue: "a", Maps: 3, MapSize: slot})
	for i := range state.TaskID(3) {
		mustDo(t, s.Start(first, i, 0))
	}
	submit(t, s, &state.JobSpec{Name: "large", Queue: "a", Maps: 1, MapSize: slot.Times(3)})
	submit(t, s, &state.JobSpec{Name: "small", Queue: "a", Maps: 1, MapSize: slot})
	got := ""
	for beat := range int64(3) {
		if beat == 1 {
			mustDo(t, s.Finish(first, 0))
			mustDo(t, s.Finish(first, 1))
		}
		s.SetNow(beat * 1e9)
		for range 2 {
			for _, d := range m.Round(s.View(), []state.NodeID{0}, nil) {
				got += fmt.Sprintf("%d %s, ", beat, s.View().JobName(d.Job))
				mustDo(t, s.Start(d.Job, d.Task, d.Node))
			}
		}
	}
	if got != "1 large, 2 small, " {
		t.Errorf("heartbeats and what started: %s want 1 large, 2 small", got)
	}
}

// TestLimitForMasters has ApplicationMasters take a tenth of what YARN knew last that their queue may use: that
// is all 40 slots, though another queue uses 30 by now, since no job of theirs was looked at since.
func TestLimitForMasters(t *testing.T) {
	s := state.New()
	for n := range 10 {
		addNode(t, s, n, 0, slot.Times(4))
	}
	s.SetSmallest(slot)
	m := errtest.Must(New("capacity", Params{"queues": "root.queues=a,b\nroot.a.capacity=50\nroot.a.user-limit-factor=9\nroot.b.capacity=50\nroot.b.user-limit-factor=9\n" +
		"per-node-heartbeat.maximum-offswitch-assignments=9"}))
	masters, _ := As[Masters](m)
	of, _ := As[*partitions](m)
	submit(t, s, &state.JobSpec{Name: "b", Queue: "b", Maps: 50, MapSize: slot})
	for n := range state.NodeID(10) {
		s.SetNow(int64(n))
		for range 3 {
			for _, d := range m.Round(s.View(), []state.NodeID{n}, nil) {
				mustDo(t, s.Start(d.Job, d.Task, d.Node))
			}
		}
	}
	for range 6 {
		mustDo(t, masters.Admit(s.View(), errtest.Must(s.Submit(&state.JobSpec{Name: "a", Queue: "a", Maps: 1, MapSize: slot})), slot))
	}
	if of.masters != 4 {
		t.Errorf("%d masters may start, want 4", of.masters)
	}
}
