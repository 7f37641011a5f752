package sched_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// baselines are models with the parameters that change most. Models that are not
// named here are checked with their defaults.
var baselines = map[string][]sched.Params{
	"fifo": {nil, {"offRackPerHeartbeat": "1"}},
	"fair": {
		nil,
		{"policy": "drf", "weights": "q0=3", "nodeThreshold": "0.5", "rackThreshold": "1", "maxPerHeartbeat": "1"},
		{"minShares": "q1=1024"},
	},
	"capacity": {
		nil,
		{"capacities": "q0=80", "order": "fair", "rackLocalityAdditionalDelay": "3", "rackLocalityFullReset": "false"},
		{"queues": "root.queues=q0,q1,q2\nroot.q0.capacity=40\nroot.q1.capacity=60\nroot.q1.ordering-policy=fair\n" +
			"resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator\nroot.q0.minimum-user-limit-percent=25"},
	},
	"delay":         {nil, {"form": "time", "nodeWait": "3s", "rackWait": "2s"}, {"order": "fair", "nodeSkips": "3", "rackSkips": "1"}},
	"acl":           {nil, {"c": "7.5", "d": "2"}},
	"reduce-greedy": {nil, {"groups": "true"}, {"costs": "learned"}, {"costs": "slots"}, {"costs": "links", "links": "n0=1"}},
	"reduce-random": {nil, {"groups": "true"}},
	"matching":      {nil, {"slots": "2", "off": "0"}},
}

// TestModels has every model keep what schedtest asks of all.
func TestModels(t *testing.T) {
	for _, m := range sched.List() {
		schedtest.Check(t, m, baselines[m.Name]...)
	}
}

func TestScenarios(t *testing.T) { schedtest.Scenarios(t, "testdata/scenarios") }

// TestPlannedOverlooksNothing has planned decide the same by the jobs of a node
// as by all.
func TestPlannedOverlooksNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { schedtest.Same(t, sched.PlannedBy(false), sched.PlannedBy(true), schedtest.Busy) })
}

// TestEqualModels has pairs of models that are the same by their rules decide
// the same: delay without a wait and fair; acl without a cache and delay that
// waits for the node only; capacity with 40 and with the number of nodes.
func TestEqualModels(t *testing.T) {
	for _, pair := range []struct {
		name   string
		a, b   string
		pA, pB sched.Params
		equal  bool // equal jobs, nothing cached
	}{
		{"delay 0 is fair", "delay", "fair", sched.Params{"order": "fair", "nodeSkips": "0", "rackSkips": "0"}, nil, true},
		{"acl without cache is delay", "acl", "delay", sched.Params{"d": "3"}, sched.Params{"nodeSkips": "3", "rackSkips": "0"}, true},
		{"acl with C 0 is acl without cache", "acl", "acl", sched.Params{"c": "0", "d": "3"}, sched.Params{"c": "9", "d": "3"}, true},
		{"capacity's 40 is the nodes", "capacity", "capacity", nil, sched.Params{"nodeLocalityDelay": "6"}, false},
	} {
		t.Run(pair.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, errA := sched.New(pair.a, pair.pA)
				b, errB := sched.New(pair.b, pair.pB)
				if errA != nil || errB != nil {
					t.Fatal(errA, errB)
				}
				schedtest.Same(t, a, b, func(t *rapid.T, w *schedtest.World) {
					for range 4 {
						if pair.equal {
							w.SubmitEqual(t)
						} else {
							w.Submit(t)
						}
					}
					for range 60 {
						w.Heartbeat(t, state.NodeID(rapid.IntRange(0, w.View.Nodes()-1).Draw(t, "node")))
						if rapid.Bool().Draw(t, "ends") {
							w.FinishOne(t)
						}
					}
				})
			})
		})
	}
}

// TestMatchingIsTheBound has no model that fills the same slots reach a larger
// sum of weights in one pass.
func TestMatchingIsTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint32().Draw(t, "seed")
		sum := func(name string, p sched.Params) int {
			return rapid.Custom(func(t *rapid.T) int {
				m := errtest.Must(sched.New(name, p))
				w := schedtest.NewWorld(t, m)
				for range 3 {
					id := w.SubmitEqual(t)
					for task := range state.TaskID(6) {
						if rapid.Bool().Draw(t, "cached") {
							w.State.Cached(id, task, w.View.Replicas(id, task)[0])
						}
					}
				}
				for n := range state.NodeID(w.View.Nodes()) {
					w.Heartbeat(t, n)
				}
				total := 0
				for _, d := range w.Decisions {
					total += 4 - int(w.View.Level(d.Job, d.Task, d.Node)-state.LevelCache)
				}
				return total
			}).Example(int(seed))
		}
		bound := sum("matching", nil)
		for _, m := range sched.List() {
			for _, p := range append(baselines[m.Name], nil)[:max(1, len(baselines[m.Name]))] {
				if got := sum(m.Name, p); m.Name != "matching" && got > bound {
					t.Errorf("%s %v reaches %d, matching %d", m.Name, p, got, bound)
				}
			}
		}
	})
}
