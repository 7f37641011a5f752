package sim

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"heddle/traces"
)

// spreadTimes returns how long the successful attempts of four jobs took, whose
// computing times are from half of 10 s to twice that.
func spreadTimes(t *testing.T, model string, actuator Actuator, seed uint64, failing float64) map[traces.Attempt]traces.Time {
	t.Helper()
	source := &Jobs{}
	for i := range 4 {
		j := simpleJob(fmt.Sprint("job", i), int64(i)*100, 12, 3, Work{ComputeMs: 10_000})
		j.ReduceWork = []Work{{ComputeMs: 10_000}}
		j.Spread = [2][]Ratio{{RatioOne / 2, RatioOne, RatioOne * 2}, {RatioOne / 2, RatioOne, RatioOne * 2}}
		source.List = append(source.List, j)
	}
	started, took := map[traces.Attempt]traces.Time{}, map[traces.Attempt]traces.Time{}
	c := &Config{
		Cluster: slots(3, 2), Source: source, Model: newModel(t, model), Actuator: actuator, Costs: NoCosts(), Seed: seed,
		Record: func(e traces.Event) {
			switch e := e.(type) {
			case *traces.AttemptStarted:
				started[e.Attempt] = e.T
			case *traces.AttemptFinished:
				if e.Outcome == traces.Succeeded {
					took[e.Attempt] = e.T - started[e.Attempt]
				}
			}
		},
	}
	if failing > 0 {
		c.Faults = []Fault{{What: AttemptsFail, Share: failing}}
	}
	must(Run(c))
	return took
}

// Times of attempts depend on the seed, the job, the task and the attempt alone: two
// models that start the tasks in other orders, on other nodes, have the same times.
// They differ between seeds, between tasks, and between the attempts at a task.
func TestSpread(t *testing.T) {
	t.Parallel()
	first := spreadTimes(t, "fifo", Ideal, 1, 0)
	if len(first) != 4*15 {
		t.Fatalf("%d attempts, want 60", len(first))
	}
	if other := spreadTimes(t, "random", Native, 1, 0); !maps.Equal(first, other) {
		t.Errorf("with one seed, times differ between models:\n%v\n%v", first, other)
	}
	if other := spreadTimes(t, "fifo", Ideal, 2, 0); maps.Equal(first, other) {
		t.Error("two seeds have the same times")
	}
	different := slices.Compact(slices.Sorted(maps.Values(first)))
	if least, most := different[0], different[len(different)-1]; len(different) < 50 || least < 5e9 || least > 7e9 || most < 16e9 ||
		most > 20e9 {
		t.Errorf("%d different times from %v to %v ns, want about 60, from 5 to 20 s", len(different), least, most)
	}
	again, equal := 0, 0
	for a, took := range spreadTimes(t, "fifo", Ideal, 1, 0.3) {
		if a.Number == 0 {
			if took != first[a] {
				t.Errorf("first attempt %v took %v ns, and %v where others fail", a, first[a], took)
			}
			continue
		}
		again++
		a.Number = 0
		if took == first[a] {
			equal++
		}
	}
	if again < 5 || equal > 0 {
		t.Errorf("%d of %d later attempts take as long as the first would have", equal, again)
	}
}

// With asynchronous scheduling all nodes are offered at once. Which comes first depends
// on the seed if nodes register in any order, else on the list of nodes.
func TestShuffled(t *testing.T) {
	t.Parallel()
	first := func(seed uint64, shuffled bool) string {
		costs := NoCosts()
		costs.AsyncMs = 5
		on := ""
		c := &Config{
			Cluster: slots(8, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 1000})}}, Costs: costs, Seed: seed,
			Shuffled: shuffled,
			Record: func(e traces.Event) {
				if e, ok := e.(*traces.AttemptStarted); ok {
					on = string(e.Node)
				}
			},
		}
		must(Run(c))
		return on
	}
	nodes := map[string]bool{}
	for seed := range uint64(40) {
		if on := first(seed, false); on != "n0" {
			t.Errorf("seed %d: the first node is %s, want n0", seed, on)
		}
		if a, b := first(seed, true), first(seed, true); a != b {
			t.Errorf("seed %d: the first node is %s, and then %s", seed, a, b)
		}
		nodes[first(seed, true)] = true
	}
	if len(nodes) != 8 {
		t.Errorf("of 40 seeds, %d of 8 nodes come first: %v", len(nodes), nodes)
	}
}
