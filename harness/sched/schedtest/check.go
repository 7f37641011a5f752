// Package schedtest tests scheduler models, those of heddle and anybody's. A
// model has one test of two lines:
//
//	schedtest.Check(t, Info)
//	schedtest.Scenarios(t, "testdata/scenarios", Info)
//
// Check has the model decide on random clusters and holds it against what every
// model must guarantee. Scenarios runs stories that show, step by step, what the
// model does. World and Same are for properties of a model's own.
package schedtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// Check tests what a model must guarantee under each of the given parameters,
// or under its defaults if there are none:
//
//   - It starts nothing that does not wait or that its node cannot hold.
//   - A group of its decisions is of two or more reduces of one job, which all fit
//     together. Some groups are cancelled, as if a container had not come in time.
//   - It changes nothing in the View.
//   - It starts every task at last: at most 20 heartbeats of each node, a second
//     apart from the next node's, may pass without a decision while tasks wait and
//     none runs. A model that may wait for longer is given parameters by which it
//     does not.
//   - It decides the same when the same happens again.
//   - If it is a sched.Learner: a state that it saved is the same once it is loaded,
//     and what is no state of it is refused and changes nothing.
//
// The model need not be registered. Check also finds what is wrong with its
// description.
func Check(t *testing.T, m sched.Info, params ...sched.Params) {
	t.Helper()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if len(params) == 0 {
		params = []sched.Params{nil}
	}
	for i, p := range params {
		model := func(t *rapid.T) sched.Model {
			made, err := m.New(p)
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		t.Run(fmt.Sprint(m.Name, i), func(t *testing.T) {
			t.Logf("parameters %v", p)
			if made, err := m.New(p); err != nil {
				t.Fatal(err)
			} else if _, learns := sched.As[sched.Learner](made); learns {
				t.Run("keeps its state", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { keepsState(t, p, model) }) })
			}
			t.Run("keeps the rules", func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { keepsRules(t, NewWorld(t, model(t))) })
			})
			t.Run("starves nothing", func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { starvesNothing(t, NewWorld(t, model(t))) })
			})
			t.Run("decides the same again", func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					Same(t, model(t), model(t), func(t *rapid.T, w *World) {
						w.Submit(t)
						for range 30 {
							w.Step(t)
						}
					})
				})
			})
		})
	}
}

// keepsRules has random events; the World checks every decision.
func keepsRules(t *rapid.T, w *World) {
	w.Submit(t)
	for range rapid.IntRange(0, 40).Draw(t, "steps") {
		w.Step(t)
	}
}

// starvesNothing has all nodes up and whole, and running tasks end, after random events,
// until no task waits.
func starvesNothing(t *rapid.T, w *World) {
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		w.Step(t)
	}
	w.Submit(t)
	for n := range state.NodeID(w.View.Nodes()) {
		w.State.NodeUp(n)
		w.State.SetCapacity(n, w.full[n])
	}
	most := 0 // heartbeats of each node, a second each, without a decision
	for idle := 0; len(w.View.WaitingJobs(state.Map))+len(w.View.WaitingJobs(state.Reduce)) > 0; idle++ {
		w.finish(t, math.MaxInt)
		// A model may wait as long as it has seen others wait, at the most since the
		// start, for a node and then for a rack.
		if idle == 0 {
			most = 20 + int(2*w.View.Now()/1e9)
		}
		before := len(w.Decisions)
		for n := range state.NodeID(w.View.Nodes()) {
			w.Heartbeat(t, n)
		}
		if len(w.Decisions) > before {
			idle = 0
		} else if idle > most {
			t.Fatalf("nothing started in %d heartbeats of every node while these wait: %s", idle, dump(w.View))
		}
	}
}

// Same plays the same events twice, once with each model, and fails if the two
// models decide differently. It shows, for instance, that a fast way to decide
// comes to the same as a simple one.
func Same(t *rapid.T, a, b sched.Model, play func(*rapid.T, *World)) {
	seed := rapid.Uint32().Draw(t, "seed")
	run := func(m sched.Model) []sched.Decision {
		// The same draws for both: an example of a generator by its seed.
		return rapid.Custom(func(t *rapid.T) []sched.Decision {
			w := NewWorld(t, m)
			play(t, w)
			return append(w.Decisions, sched.Decision{}) // never nil, which rapid would draw again
		}).Example(int(seed))
	}
	if first, second := run(a), run(b); !slices.Equal(first, second) {
		t.Fatalf("decisions differ:\n%+v\n%+v", first, second)
	}
}
