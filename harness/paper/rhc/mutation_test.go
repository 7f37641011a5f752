package rhc

import (
	"context"
	"math/rand/v2"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/rhc/policy"
	"heddle/traces/errtest"
)

// broken is RHC with another choice of slots.
type broken struct {
	policy.RHC
	ranks func(p *policy.RHC, j *policy.Job, free int) (first int)
}

func (p *broken) Place(j *policy.Job, free int, ranks []int) []int {
	first := p.ranks(&p.RHC, j, free)
	for i := range j.Reduces {
		ranks = append(ranks, first+i)
	}
	return ranks
}

// TestBroken has RHC broken in its place. Of each way a verdict is another than that of RHC, or
// the claim no longer holds over the bar.
func TestBroken(t *testing.T) {
	t.Parallel()
	by := func(ranks func(p *policy.RHC, j *policy.Job, free int) int) func(uint64) policy.Policy {
		return func(uint64) policy.Policy { return &broken{ranks: ranks} }
	}
	defers := func(p *policy.RHC, j *policy.Job, free int) bool { return p.Place(j, free, nil)[0] > 0 }
	skip := func(yes bool, j *policy.Job) int {
		if yes {
			return j.Reduces
		}
		return 0
	}
	for _, x := range []struct {
		name string
		rule func(seed uint64) policy.Policy
		want map[string]paper.Verdict
	}{
		{"as it is", func(uint64) policy.Policy { return &policy.RHC{} }, map[string]paper.Verdict{
			"H1": paper.Holds, "H2": paper.Direction,
			"H2b": paper.Holds, "H4": paper.Reversed,
		}},
		{"never defers", by(func(*policy.RHC, *policy.Job, int) int { return 0 }), map[string]paper.Verdict{
			"H1": paper.Holds, "H2": paper.Fails,
			"H2b": paper.Fails, "H4": paper.Fails,
		}},
		{
			"upside down", by(func(p *policy.RHC, j *policy.Job, free int) int { return skip(!defers(p, j, free), j) }),
			map[string]paper.Verdict{"H1": paper.Holds, "H2": paper.Reversed, "H2b": paper.Reversed, "H4": paper.Reversed},
		},
		{
			"always defers", by(func(_ *policy.RHC, j *policy.Job, _ int) int { return j.Reduces }),
			map[string]paper.Verdict{"H1": paper.Holds, "H2": paper.Reversed, "H2b": paper.Reversed, "H4": paper.Reversed},
		},
		{
			"dearest slots", by(func(_ *policy.RHC, j *policy.Job, free int) int { return free - j.Reduces }),
			map[string]paper.Verdict{"H1": paper.Reversed, "H2": paper.Reversed, "H2b": paper.Reversed, "H4": paper.Reversed},
		},
		{
			"random", func(seed uint64) policy.Policy { return policy.Random{Rand: rand.New(rand.NewPCG(seed, 9))} },
			map[string]paper.Verdict{"H1": paper.Fails, "H2": paper.Reversed, "H2b": paper.Reversed, "H4": paper.Reversed},
		},
	} {
		p := Paper()
		p.Controls = []paper.Scheduler{p.Controls[0], p.Controls[3]} // Greedy and the constant 1/8
		jobs := "5000"
		if x.name == "as it is" && !testing.Short() {
			jobs = "20000" // which show the growth from each load to the next
		}
		r := errtest.Must(p.Run(t.Context(), paper.Options{
			Parts: []string{"H1", "H2", "H2b", "H4"}, Seed: 1, Seeds: 6, Workers: 2, Set: map[string]string{"jobs": jobs},
			Simulate: func(c paper.Case, seed uint64) (paper.Simulation, error) {
				set := c.Setting.(monteCarlo)
				if c.Scheduler.Label != claimant {
					return set.Simulate(context.Background(), c.Scheduler, seed)
				}
				list, leave := set.jobs(seed)
				notes, err := set.place(x.rule(seed), list, leave, set.costs(seed))
				return paper.Simulation{Notes: notes}, err
			},
		}))
		for _, c := range r.Criteria {
			if c.ID == "H2b" && x.name == "as it is" && testing.Short() {
				continue
			}
			if c.Verdict != x.want[c.ID] {
				t.Errorf("%s: %s %s, want %s: %s", x.name, c.ID, c.Verdict, x.want[c.ID], c.Note)
			}
			if c.NeededMethod || c.Bar != nil && c.Bar.Verdict == paper.Holds {
				t.Errorf("%s: %s needs the method: %+v", x.name, c.ID, c.Bar)
			}
		}
	}
}
