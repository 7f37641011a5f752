package modfair

import (
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/sched"
)

// TestClaimants simulates other schedulers under Modified's name. None of them has its method, so
// none may need it, whatever comes out.
func TestClaimants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		as   paper.Scheduler
		want map[string][]paper.Verdict // what may come out
	}{
		// The same times and places: nothing differs, with no error.
		{
			"Original",
			paper.Scheduler{Model: "fair1", Params: schedulerOf(original)},
			map[string][]paper.Verdict{"F1": {paper.Fails}, "F6": {paper.Fails}, "F14": {paper.Holds}},
		},
		// It starts maps at once, also off their node.
		{
			"Original without delay",
			paper.Scheduler{Model: "fair1", Params: schedulerOf("Original, no delay")},
			map[string][]paper.Verdict{"F1": {paper.Fails, paper.NotTestable, paper.Direction}, "F6": {paper.Reversed}},
		},
		// Two stock settings that put jobs in order.
		{
			"Original, FIFO in pools",
			paper.Scheduler{Model: "fair1", Params: schedulerOf("Original, no delay, FIFO in pools")},
			map[string][]paper.Verdict{"F1": {paper.Holds, paper.Direction}},
		},
		// Of 8 nodes 1 has all blocks: an eighth of the maps is local, and it may not be more than Original's.
		{"random", paper.Scheduler{Model: "random"}, map[string][]paper.Verdict{"F6": {paper.Reversed}}},
	} {
		p := Paper()
		i := slices.IndexFunc(p.Schedulers, func(s paper.Scheduler) bool { return s.Label == modified })
		c.as.Label = modified
		p.Schedulers[i] = c.as
		r, err := p.Run(t.Context(), paper.Options{Parts: []string{"F1", "F6", "F14"}, Seed: 1, Seeds: 5, Workers: 2})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, x := range r.Criteria {
			if want := c.want[x.ID]; want != nil && !slices.Contains(want, x.Verdict) {
				t.Errorf("%s in Modified's place: %s %s, want one of %v: %s", c.name, x.ID, x.Verdict, want, x.Note)
			}
			if x.NeededMethod {
				t.Errorf("%s in Modified's place: %s needs the method, which it does not have", c.name, x.ID)
			}
			if x.Bar != nil && x.Bar.Verdict == paper.Holds {
				t.Errorf("%s in Modified's place: %s beats %s, the best bar, which is as good or better", c.name, x.ID, x.Bar.Best)
			}
		}
	}
}

// TestMechanismParams has each scheduler of the ablation use the mechanisms that its label says.
func TestMechanismParams(t *testing.T) {
	want := map[string]string{
		"m1+m2": "m1+m2", "m1+m2+m3": "m1+m2+m3", "m2 alone": "m2", "without m1": "m2+m3+m4+m5",
		"without m5": "m1+m2+m3+m4", "without m3": "m1+m2+m4+m5",
	}
	for _, s := range Paper().Schedulers {
		if has, ok := want[s.Label]; ok && s.Params["mechanisms"] != has {
			t.Errorf("%s uses %s, want %s", s.Label, s.Params["mechanisms"], has)
		}
		delete(want, s.Label)
		if _, err := sched.New(s.Model, s.Params); err != nil {
			t.Errorf("%s: %v", s.Label, err)
		}
	}
	if len(want) > 0 {
		t.Errorf("no schedulers %v", want)
	}
}
