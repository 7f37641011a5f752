package reverse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/reverse/model"
	"heddle/harness/sched"
	"heddle/traces/errtest"
)

// broken are Reverse with no goals, and with goals mirrored: the last job is taken for the most
// urgent one.
var broken = []sched.Info{
	model.ReverseTold("reverse-deaf", func(jobs []model.Demand) {
		for i := range jobs {
			jobs[i].Goal = math.Inf(1)
		}
	}),
	model.ReverseTold("reverse-mirrored", func(jobs []model.Demand) {
		by := func(a, b model.Demand) int { return cmp.Compare(a.Goal, b.Goal) }
		ends := slices.MinFunc(jobs, by).Goal + slices.MaxFunc(jobs, by).Goal
		for i := range jobs {
			jobs[i].Goal = ends - jobs[i].Goal
		}
	}),
}

// TestBroken has Reverse broken in its place. Of each way the verdict on a claim, or on what it
// gains over the best bar, is another than that of Reverse; and no claim needs the method.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, model string
		params      sched.Params
		want        [3]string // verdicts on R2-missed, R2-lateness and R6, each with that on the bar
	}{
		{"as it is", "reverse", nil, [3]string{"reversed/reversed", "holds/not testable", "holds/reversed"}},
		{"deadlines ignored", "reverse-deaf", nil, [3]string{"reversed/reversed", "reversed/reversed", "holds/reversed"}},
		{"random needs", "adaptive", sched.Params{"need": "random"}, [3]string{"reversed/fails", "reversed/reversed", "fails/reversed"}},
		{"mirrored goals", "reverse-mirrored", nil, [3]string{"reversed/reversed", "reversed/reversed", "holds/reversed"}},
		{"one period", "reverse", sched.Params{"horizon": "one"}, [3]string{"reversed/fails", "reversed/reversed", "holds/reversed"}},
		{"next goal alone", "reverse", sched.Params{"horizon": "next"}, [3]string{"reversed/reversed", "holds/fails", "holds/reversed"}},
	} {
		if testing.Short() && x.model != "reverse-deaf" {
			continue
		}
		p := Paper()
		p.Controls = nil
		p.Axes = slices.DeleteFunc(slices.Clone(p.Axes), func(a paper.Axis) bool { return a.Sets != "" }) // other models lack these
		p.Schedulers[slices.IndexFunc(p.Schedulers, func(s paper.Scheduler) bool { return s.Label == reverse })] = paper.Scheduler{
			Label: reverse,
			Model: x.model, Params: x.params,
		}
		r := errtest.Must(p.Run(t.Context(), paper.Options{Parts: []string{"R2-missed", "R2-lateness", "R6"}, Seed: 1, Seeds: 6, Workers: 2}))
		for i, c := range r.Criteria {
			if got := fmt.Sprintf("%s/%s", c.Verdict, c.Bar.Verdict); got != x.want[i] || c.NeededMethod {
				t.Errorf("%s: %s %s, want %s; needs the method: %v: %s; bar %s %v %v", x.name, c.ID, got, x.want[i], c.NeededMethod, c.Note, c.Bar.Best,
					c.Bar.Ours, c.Bar.CI95)
			}
		}
	}
}
