package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

// TestDelaySaysItsLimits has a job whose maps are all on node 0. It is asked about other nodes
// until it may run in the rack, and then anywhere.
func TestDelaySaysItsLimits(t *testing.T) {
	s := state.New()
	for n := range 3 { // nodes 0 and 1 share a rack
		addNode(t, s, n, n/2, state.Resource{MemoryMB: 100 * 512, VCores: 100})
	}
	spec := state.JobSpec{Name: "job", Maps: 20, MapSize: slot}
	for range spec.Maps {
		spec.Replicas.Add(0)
	}
	id := submit(t, s, &spec)
	m := errtest.Must(New("delay", Params{"nodeSkips": "2", "rackSkips": "3"}))
	r, _ := As[Reasoner](m)
	r.KeepReasons()
	ask := func(n state.NodeID) *Reasons {
		if out := m.Round(s.View(), []state.NodeID{n}, nil); len(out) > 0 {
			mustDo(t, s.Start(out[0].Job, out[0].Task, n))
			return r.Reasons()
		}
		return nil
	}
	for _, step := range []struct {
		node                 state.NodeID
		after, waited, limit int64
		farthest             state.Level
	}{
		{0, 0, 0, 2, state.LevelNode},
		{1, 2, 2, 2, state.LevelRack},
		{1, 0, 0, 2, state.LevelRack}, // its last map ran in the rack, so it need not wait
		{2, 3, 3, 3, state.LevelOff},  // after one in the rack: only the second wait
		{2, 0, 0, 5, state.LevelOff},
		{0, 0, 0, 2, state.LevelOff},
		{2, 5, 5, 5, state.LevelOff}, // after one on its node: both waits
	} {
		for range step.after {
			if got := ask(step.node); got != nil {
				t.Fatalf("%+v: a map starts too early: %+v", step, got)
			}
			want := []PassedJob{{id, traces.PassedWaits, r.Reasons().Passed[0].Waited}}
			if d := cmp.Diff(want, r.Reasons().Passed); d != "" {
				t.Errorf("%+v: passed over (-want +got):\n%s", step, d)
			}
		}
		want := &Reasons{Waited: step.waited, Limit: step.limit, Unit: traces.WaitSkips, Farthest: step.farthest, Passed: []PassedJob{}}
		if d := cmp.Diff(want, ask(step.node)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", step, d)
		}
	}
}

// TestReasonsOfTheRightPart has two models in one: the reasons are those of the part that
// answered.
func TestReasonsOfTheRightPart(t *testing.T) {
	forMaps := errtest.Must(New("delay", nil))
	forReduces := errtest.Must(New("capacity", nil))
	m := Compose(forMaps, forReduces)
	r, _ := As[Reasoner](m)
	if r.Reasons() != nil {
		t.Error("reasons are kept though nobody asked")
	}
	r.KeepReasons()
	s := state.New()
	addNode(t, s, 0, 0, state.Resource{MemoryMB: 100 * 512, VCores: 100})
	submit(t, s, &state.JobSpec{Name: "job", Maps: 1, Reduces: 1, MapSize: slot, ReduceSize: slot})
	s.Ask(0, state.Reduce, 1)
	for _, want := range []struct {
		kind state.Kind
		unit traces.WaitUnit
	}{{state.Reduce, traces.WaitOffers}, {state.Map, traces.WaitSkips}} {
		out := m.Round(s.View(), []state.NodeID{0}, nil)
		if len(out) != 1 || out[0].Kind != want.kind || r.Reasons().Unit != want.unit {
			t.Fatalf("%v, with reasons %+v, want %+v", out, r.Reasons(), want)
		}
		mustDo(t, s.Start(out[0].Job, out[0].Task, 0))
	}
}
