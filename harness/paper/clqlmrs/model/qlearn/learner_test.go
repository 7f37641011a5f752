package qlearn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
	"heddle/traces/errtest"
)

// example is the paper's: four nodes in two racks, DN1 with DN3 and DN2 with
// DN4; D1 and D2 stored on DN1, D3 cached on DN4.
func example(tb testing.TB) *Layout {
	tb.Helper()
	s, id := submit(tb, []int{0, 1, 0, 1}, [][]state.NodeID{{0}, {0}, {}}, [][]state.NodeID{{}, {}, {3}})
	return NewLayout(s.View(), id)
}

// submit makes a cluster of nodes with a slot each in the given racks and a job
// whose blocks are stored and cached there.
func submit(tb testing.TB, racks []int, stored, cached [][]state.NodeID) (*state.State, state.JobID) {
	tb.Helper()
	slot := state.Resource{MemoryMB: 512, VCores: 1}
	s := state.New()
	for n, rack := range racks {
		errtest.Must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", rack), slot))
	}
	spec := state.JobSpec{Name: "job", Maps: int32(len(stored)), MapSize: slot}
	for i := range stored {
		spec.Replicas.Add(stored[i]...)
		spec.Cached.Add(cached[i]...)
	}
	id := errtest.Must(s.Submit(&spec))
	return s, id
}

// TestClassOf has a block cached on node 1 and stored on nodes 2 and 5 of 8, odd
// and even ones in a rack; then a third copy on node 7. In the paper's order
// the cached node need not store it.
func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		stored []state.NodeID
		want   string
	}{
		{[]state.NodeID{1, 4}, "[CL DL CRL DRL DL DRL CRL DRL]"},
		{[]state.NodeID{1, 4, 6}, "[CL DL CRL DRL DL DRL DL DRL]"},
	} {
		s, id := submit(t, []int{1, 2, 1, 2, 1, 2, 1, 2}, [][]state.NodeID{c.stored}, [][]state.NodeID{{0}})
		l := NewLayout(s.View(), id)
		var got []string
		for k := range l.Nodes {
			got = append(got, l.Class(0, k).String())
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("stored on %v: %v, want %s", c.stored, got, c.want)
		}
	}
}

// TestExample has the paper's example with its actions forced, under either
// reading of the reward: T1 to DN1 (DL), T2 to DN3 (DRL), T3 to DN4 (CL).
func TestExample(t *testing.T) {
	actions := []action{{0, 0}, {1, 2}, {2, 3}}
	states := []Class{NoLocality, DataLocal, DataRackLocal}
	for _, cumulative := range []bool{false, true} {
		rule := paper()
		rule.Cumulative = cumulative
		l := newLearner(NewTable(example(t), rule), nil)
		for episode := 1; episode <= 2000; episode++ {
			next := 0
			sum := l.episode(func(s Class) (action, bool) {
				if next == len(actions) {
					return action{}, false
				}
				if s != states[next] {
					t.Fatalf("state %v before action %d, want %v", s, next, states[next])
				}
				next++
				return actions[next-1], true
			})
			near(t, "return", sum, 1.0/3)
			for i, want := range map[int][]float64{
				1:    {0.0166667, -0.0166667, 0.0333333},
				2:    {0.0300833, -0.0285000, 0.0633333},
				2000: {0.3091667, 0.15, 0.3333333},
			}[episode] {
				near(t, fmt.Sprintf("cumulative %t, after episode %d Q(%v,T%d->DN%d)", cumulative, episode, states[i], actions[i].i+1, actions[i].k+1),
					*l.value(states[i], actions[i]), want)
			}
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 5e-8 {
		t.Errorf("%s is %.7f, want %.7f", what, got, want)
	}
}

// TestRewards has the two readings differ when a class occurs twice: T1 and T2
// both to DN1.
func TestRewards(t *testing.T) {
	layout := example(t)
	layout.slots[0] = 2
	for _, c := range []struct {
		cumulative bool
		want       float64
	}{{false, 0.5/3 + 0.5/3}, {true, 0.5/3 + 2*0.5/3}} {
		rule := paper()
		rule.Cumulative = c.cumulative
		l := newLearner(NewTable(layout, rule), nil)
		left := []action{{0, 0}, {1, 0}}
		sum := l.episode(func(Class) (action, bool) {
			if len(left) == 0 {
				return action{}, false
			}
			a := left[0]
			left = left[1:]
			return a, true
		})
		near(t, fmt.Sprintf("return, cumulative %t", c.cumulative), sum, c.want)
	}
}

// TestUpdates has SARSA learn from the action taken and Q-learning from the
// best: in state DL, T2->DN3 is taken and T3->DN4 would be worth 1.
func TestUpdates(t *testing.T) {
	for _, c := range []struct {
		q    bool
		want float64
	}{{false, 0.1 * (0.5 / 3)}, {true, 0.1 * (0.5/3 + 0.95)}} {
		rule := paper()
		rule.QLearning = c.q
		l := newLearner(NewTable(example(t), rule), nil)
		*l.value(DataLocal, action{2, 3}) = 1
		left := []action{{0, 0}, {1, 2}}
		l.episode(func(Class) (action, bool) {
			if len(left) == 0 {
				return action{}, false
			}
			a := left[0]
			left = left[1:]
			return a, true
		})
		near(t, fmt.Sprintf("Q-learning %t: Q(NO,T1->DN1)", c.q), *l.value(NoLocality, action{0, 0}), c.want)
	}
}

// TestEpsilon has epsilon's schedule, and the episodes at which it ends training.
func TestEpsilon(t *testing.T) {
	rule := paper()
	epsilon := rule.Epsilon
	for number := 1; number <= 10_000; number++ {
		epsilon = rule.epsilonAfter(number, epsilon)
		if want, ok := map[int]float64{9: 1, 10: 0.999, 1000: 0.9048, 10_000: 0.3677}[number]; ok && math.Abs(epsilon-want) > 5e-5 {
			t.Errorf("after %d episodes epsilon is %.4f, want %.4f", number, epsilon, want)
		}
	}
	layout := example(t)
	for _, c := range []struct {
		change func(*Rule)
		want   int
	}{
		{func(r *Rule) { r.MinEpsilon = 0.05 }, 29_950},
		{func(*Rule) {}, 46_030},
		{func(r *Rule) { r.MinEpsilon = 0 }, 50_000},
		{func(r *Rule) { r.Epsilon = 0 }, 50_000}, // greedy from the first
		{func(r *Rule) { r.Steps = 100 }, 34},     // of three maps each
	} {
		rule := paper()
		c.change(&rule)
		if got := rule.EpisodesFor(layout); got != c.want {
			t.Errorf("%+v: %d episodes, want %d", rule, got, c.want)
		}
	}
}

// TestGreedyIsTheBest compares the ranking, at every greedy step of training,
// with a look at all valid actions.
func TestGreedyIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := paper()
		rule.Alpha = rapid.SampledFrom([]float64{0.1, 0.7}).Draw(t, "alpha")
		rule.Epsilon = rapid.SampledFrom([]float64{0, 0.2, 0.8}).Draw(t, "epsilon")
		rule.OneWave = rapid.Bool().Draw(t, "one wave")
		rule.QLearning = rapid.Bool().Draw(t, "q")
		rule.ByClass = rapid.Bool().Draw(t, "by class")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		layout := Random(rng, rapid.IntRange(1, 12).Draw(t, "maps"), nodes, rapid.IntRange(1, 3).Draw(t, "slots"), min(2, nodes), 0.5)
		layout.slots[0] = rapid.Int32Range(0, 1).Draw(t, "slots of the first") // maybe it is down
		if layout.Wave() == 0 {
			return
		}
		l := newLearner(NewTable(layout, rule), rng)
		l.learning = true
		for range 30 {
			l.episode(func(s Class) (action, bool) {
				a, ok := l.epsilonGreedy(s)
				best, there := l.greedy(s)
				if ok != there {
					t.Fatalf("an action is left: %t and %t", ok, there)
				}
				for _, i := range l.maps.list[:l.maps.n] {
					for _, k := range l.nodes.list[:l.nodes.n] {
						if q := *l.value(s, action{i, k}); q > *l.value(s, best) {
							t.Fatalf("in %v greedy is %v at %v, %v has %v", s, best, *l.value(s, best), action{i, k}, q)
						}
					}
				}
				if ok && (!l.maps.has(a.i) || l.free[a.k] <= 0) {
					t.Fatalf("%v is not valid", a)
				}
				return a, ok
			})
			if want := l.rule.length(layout); l.started != want {
				t.Fatalf("%d maps placed in an episode, want %d", l.started, want)
			}
		}
	})
}

// TestRollout has every map in it once, and no node more than its slots in a
// wave.
func TestRollout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		layout := Random(rng, rapid.IntRange(0, 20).Draw(t, "maps"), nodes, rapid.IntRange(1, 3).Draw(t, "slots"), 1, 0.5)
		rule := paper()
		rule.Episodes = 20
		rule.ByClass = rapid.Bool().Draw(t, "by class")
		pairs := Train(layout, rule, 1, func(Episode) bool { return true }).Rollout()
		seen := make([]bool, layout.Maps)
		used := make([]int, nodes)
		for at, p := range pairs {
			if seen[p.Map] {
				t.Fatalf("map %d is twice in %v", p.Map, pairs)
			}
			seen[p.Map] = true
			if at%(nodes*layout.Slots(0)) == 0 {
				clear(used)
			}
			if used[p.Node]++; used[p.Node] > layout.Slots(p.Node) {
				t.Fatalf("node %d has %d in a wave of %v", p.Node, used[p.Node], pairs)
			}
		}
		if slices.Contains(seen, false) {
			t.Fatalf("a map is missing in %v", pairs)
		}
	})
}

// TestTrainIsDeterministic has the same seed lead to the same table, another one
// to another.
func TestTrainIsDeterministic(t *testing.T) {
	layout := Random(rand.New(rand.NewPCG(1, 2)), 8, 8, 1, 3, 0.5)
	rule := paper()
	rule.Episodes = 500
	always := func(Episode) bool { return true }
	for _, train := range []func(seed uint64) *Table{
		func(seed uint64) *Table { return Train(layout, rule, seed, always) },
		func(seed uint64) *Table { return TrainClasses(rule, seed, always) },
	} {
		a, b, c := train(1), train(1), train(2)
		if !slices.Equal(a.q, b.q) || slices.Equal(a.q, c.q) {
			t.Errorf("same seed, same table: %t; another seed, the same: %t", slices.Equal(a.q, b.q), slices.Equal(a.q, c.q))
		}
	}
}
