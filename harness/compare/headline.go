package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
)

// nouns are the names of metrics in sentences, where they differ from those in tables.
var nouns = map[string]string{"jobCompletion": "mean job completion time", "makespan": "makespan"}

// Headline says in words which scheduler model is best by the report's first metric, by
// how much, whether the trials tell it, and whether they were measured or simulated.
func (r *Report) Headline() string {
	noun := cmp.Or(nouns[r.Metric], r.Metric)
	better, lower := r.better(), r.better() == measure.Lower
	models := slices.DeleteFunc(slices.Clone(r.Models), func(m Model) bool { return labelled(m.Model, config.ModelRecorded) })
	if len(models) == 0 {
		return fmt.Sprintf("No trial has a value of %s. %s", r.Metric, r.origin())
	}
	slices.SortStableFunc(models, func(a, b Model) int {
		if lower {
			return cmp.Compare(a.Median, b.Median)
		}
		return cmp.Compare(b.Median, a.Median)
	})
	best := models[0]
	value := doc.Number(float64(best.Median), r.Unit).String()
	if len(models) == 1 {
		return fmt.Sprintf("Under %s the %s is %s in the median of %s; there is no other model to compare it with. %s", best.Model, noun, value, counted(best.Runs, "trial"), r.origin())
	}
	// The difference is from the cluster's own scheduler, or from the next best model.
	other := models[1]
	if i := slices.IndexFunc(models, func(m Model) bool { return labelled(m.Model, config.ModelYARN) }); i > 0 {
		other = models[i]
	}
	p := r.pair(other.Model, best.Model)
	if p == nil {
		return fmt.Sprintf("The lowest and the highest %s cannot be compared. %s", noun, r.origin())
	}
	word := map[measure.Direction]string{measure.Lower: "shortest", measure.Higher: "highest"}[better]
	if lower && r.Unit != "s" {
		word = "lowest"
	}
	leads := fmt.Sprintf("%s has the %s %s, %s in the median against %s under %s", best.Model, word, noun, value, doc.Number(float64(other.Median), r.Unit), other.Model)
	switch {
	case best.Median == other.Median && p.DiffPct == 0:
		return fmt.Sprintf("No difference: the %s is %s under %s and under %s. %s", noun, value, best.Model, other.Model, r.origin())
	case !p.CI95Pct.Bounded():
		return fmt.Sprintf("Nothing is told: %s, but %s of trials gives no interval. %s", leads, counted(p.Runs, "pair"), r.origin())
	case !p.Significant():
		return fmt.Sprintf("No difference is told: %s, but they are %s. %s", leads, r.apart(p), r.origin())
	}
	return fmt.Sprintf("%s: %s.%s %s", leads, r.apart(p), r.othersTold(best.Model, other.Model, models), r.origin())
}

// better says which values of the report's first metric are better.
func (r *Report) better() measure.Direction {
	if list, err := measure.Find([]string{r.Metric}); err == nil {
		return list[0].Better
	}
	return measure.Lower
}

// pair returns the comparison of two models by the report's first metric, nil if there
// is none.
func (r *Report) pair(a, b string) *Pair {
	i := slices.IndexFunc(r.Pairs, func(x Pair) bool { return x.A == a && x.B == b || x.A == b && x.B == a })
	if i < 0 {
		return nil
	}
	return &r.Pairs[i]
}

// apart says by how much the models of a pair differ, repeat by repeat.
func (r *Report) apart(p *Pair) string {
	pairs := counted(p.Runs, "pair") + " of trials"
	if !p.Paired {
		pairs = counted(p.Runs, "trial") + ", not in pairs"
	}
	return fmt.Sprintf("%s apart over %s (95 %% interval %s)", doc.Fixed(math.Abs(float64(p.DiffPct)), 1, r.differenceUnit()), pairs, r.bounds(p))
}

// bounds returns the interval of a difference.
func (r *Report) bounds(p *Pair) string {
	return fmt.Sprintf("%s to %s, %s against %s", doc.Signed(p.CI95Pct[0], 1, ""), doc.Signed(p.CI95Pct[1], 1, r.differenceUnit()), p.B, p.A)
}

// differenceUnit returns the unit of differences in the report's first table.
func (r *Report) differenceUnit() string { return differenceUnit(r.Unit) }

// differenceUnit returns the unit of the differences of a metric with a unit.
func differenceUnit(unit string) string {
	return map[string]string{"s": "%", "x": "%", "%": "points"}[unit]
}

// othersTold says from which further models the best one is told apart.
func (r *Report) othersTold(best, other string, models []Model) string {
	var told, not []string
	for _, m := range models {
		if m.Model == best || m.Model == other {
			continue
		}
		if p := r.pair(m.Model, best); p != nil && p.Significant() {
			told = append(told, m.Model)
		} else {
			not = append(not, m.Model)
		}
	}
	text := ""
	if len(told) > 0 {
		text += fmt.Sprintf(" It is told apart from %s too.", few(told))
	}
	if len(not) > 0 {
		text += fmt.Sprintf(" It is not told apart from %s.", few(not))
	}
	return text
}

// mostNamed is how many models a sentence names.
const mostNamed = 5

func few(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// origin says whether the trials were measured or simulated.
func (r *Report) origin() string {
	simulated := 0
	for _, t := range r.trials {
		if t.simulated {
			simulated++
		}
	}
	switch n := len(r.trials); simulated {
	case n:
		return fmt.Sprintf("Simulated (%s): no cluster was measured.", counted(n, "trial"))
	case 0:
		return fmt.Sprintf("Measured on a cluster (%s).", counted(n, "trial"))
	default:
		return fmt.Sprintf("Simulated (%d of %d trials) and measured on a cluster (the others).", simulated, n)
	}
}

// counted returns a number with what it counts: "1 trial", "2 trials".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
