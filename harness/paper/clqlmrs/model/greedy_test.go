package model

import (
	"testing"

	"heddle/harness/paper/clqlmrs/model/qlearn"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

func TestGreedy(t *testing.T) { schedtest.Check(t, GreedyInfo) }

// TestGreedyFirst has cached-first start the cached map on the one node that caches it,
// though another node reported, and where the ApplicationMaster binds late only a map that
// it would start.
func TestGreedyFirst(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := state.New()
		for n := range 3 {
			addNode(t, s, n, 0, slot)
		}
		spec := state.JobSpec{Name: "job", Maps: 2, MapSize: slot}
		spec.Replicas.Add(0, 2) // the map that is started first where nodes 0 and 2 have room
		spec.Replicas.Add(2)
		spec.Cached.Add()
		spec.Cached.Add(2)
		id := submit(t, s, &spec)
		s.SetLateBinding(late)
		out := greedy{}.Round(s.View(), []state.NodeID{0, 1, 2}, nil)
		want := sched.MapPick(id, 1, state.LevelCache).On(2)
		if late {
			want = sched.MapPick(id, 0, state.LevelNode).On(0)
		}
		if len(out) != 1 || out[0] != want {
			t.Errorf("late binding %t: %+v, want %+v", late, out, want)
		}
	}
}

// TestCancelledDecision has a decision that was cancelled leave no trace in the state, be
// it the last one or one before, and one that was confirmed stay.
func TestCancelledDecision(t *testing.T) {
	m := errtest.Must(Info.New(nil))
	x := setup{nodes: 4, slots: 1, maps: 4, replicas: 2, cached: 1}
	s, id := x.make(t, 3)
	v, l := s.View(), m.(*cacheLearner)
	tell := func(what sched.EventKind, d sched.Decision) {
		l.Observe(v, sched.Event{What: what, Job: id, Node: d.Node, Task: d.Task, Decision: d})
	}
	state0 := l.lesson(v, id).state
	var made []sched.Decision
	var after []qlearn.Class
	for n := range 3 {
		made = m.Round(v, []state.NodeID{state.NodeID(n)}, made)
		after = append(after, l.lesson(v, id).state)
		errtest.Must(s.Reserve(id, state.Map, made[n].Task, made[n].Node))
	}
	tell(sched.Cancelled, made[2])
	if got := l.lesson(v, id).state; got != after[1] {
		t.Errorf("the last of three decisions is cancelled: %v, want %v", got, after[1])
	}
	tell(sched.Cancelled, made[0])
	if got := l.lesson(v, id).state; got != after[1] {
		t.Errorf("the first is cancelled too: %v, want that of the second, %v", got, after[1])
	}
	tell(sched.Cancelled, made[1])
	if got := l.lesson(v, id).state; got != state0 {
		t.Errorf("all are cancelled: %v, want %v", got, state0)
	}
	made = m.Round(v, []state.NodeID{3}, made[:0])
	now := l.lesson(v, id).state
	tell(sched.Confirmed, made[0])
	if got := l.lesson(v, id); got.state != now || len(got.open) != 0 {
		t.Errorf("confirmed: %v and %v, want %v and none", got.state, got.open, now)
	}
}
