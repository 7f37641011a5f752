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
	"heddle/traces/printable"
)

// nouns are the names of metrics in sentences, where they differ from those in tables.
var nouns = map[string]string{"jobCompletion": "mean job completion time", "makespan": "makespan"}

// Headline says in words which scheduler model is best by the report's first metric, by
// how much, whether the trials tell it, and whether they were measured or simulated. Before
// that it says if reduces held all slots.
func (r *Report) Headline() string {
	text := r.differences()
	for _, starved := range slices.Backward(r.starved()) {
		text = starved + ". " + text
	}
	return text
}

// differences says in words which model is best, and of what world the trials are.
func (r *Report) differences() string {
	if len(r.unlikeWork) > 0 {
		return fmt.Sprintf("The runs are not compared with each other: %s. %s", strings.Join(r.unlikeWork, "; "), r.origin())
	}
	noun := cmp.Or(nouns[r.Metric], r.Metric)
	if n := len(r.Workloads()); n > 1 {
		noun += fmt.Sprintf(" over %d workloads", n)
	}
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
	if len(models) == 1 {
		return fmt.Sprintf("Under %s the %s is %s; there is no other model to compare it with.%s %s", best.Model, noun, r.median(&best),
			r.recorded(), r.origin())
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
	leads := fmt.Sprintf("%s has the %s %s, %s, against %s under %s%s", best.Model, word, noun, r.median(&best), r.value(&other),
		other.Model, r.others(best.Model, other.Model, models))
	rest := r.recorded() + r.unlike() + " " + r.origin()
	told, not := r.apartFrom(best.Model, models[1:])
	switch {
	case len(told) == 0 && best.Median == other.Median && p.DiffPct == 0:
		return fmt.Sprintf("No difference: the %s is %s under %s and as much under %s%s.%s", noun, r.median(&best), best.Model, other.Model,
			r.others(best.Model, other.Model, models), rest)
	case len(told) == 0 && !p.CI95Pct.Bounded():
		return fmt.Sprintf("Not told: %s, but %s of trials gives no interval.%s", leads, printable.Count(p.Runs, "pair"), rest)
	case len(told) == 0:
		return fmt.Sprintf("%s is not told apart from %s: %s; %s.%s", best.Model, few(not), leads, r.apart("it", p, best.Model, ""), rest)
	case !slices.Contains(told, other.Model):
		p = r.pair(told[0], best.Model)
	}
	text := r.apart(noun, p, best.Model, ", told:") + "."
	if len(not) > 0 {
		text = fmt.Sprintf("%s is not told apart from %s; %s", best.Model, few(not), text)
	}
	if more := slices.DeleteFunc(told, func(m string) bool { return m == p.A || m == p.B }); len(more) > 0 {
		text += fmt.Sprintf(" %s is told apart from %s too.", best.Model, few(more))
	}
	return fmt.Sprintf("%s %s.%s", text, leads, rest)
}

// apartFrom divides models into those that the trials tell apart from the best one, and
// those that they do not.
func (r *Report) apartFrom(best string, models []Model) (told, not []string) {
	for _, m := range models {
		if p := r.pair(m.Model, best); p != nil && p.Significant() {
			told = append(told, m.Model)
		} else {
			not = append(not, m.Model)
		}
	}
	return told, not
}

// value returns a model's median with its unit.
func (r *Report) value(m *Model) string { return doc.Number(float64(m.Median), r.Unit).String() }

// median says a model's value, and of how many trials it is the median.
func (r *Report) median(m *Model) string {
	if m.Runs == 1 {
		return r.value(m) + " in one trial"
	}
	return fmt.Sprintf("%s in the median of %d trials", r.value(m), m.Runs)
}

// others names the medians of further models, if they are few.
func (r *Report) others(best, other string, models []Model) string {
	var list []string
	for i := range models {
		if m := &models[i]; m.Model != best && m.Model != other {
			list = append(list, r.value(m)+" under "+m.Model)
		}
	}
	if len(list) == 0 || len(list) > mostNamed {
		return ""
	}
	return " and " + strings.Join(list, ", ")
}

// recorded says the value of the trace whose replays are compared.
func (r *Report) recorded() string {
	i := slices.IndexFunc(r.Models, func(m Model) bool { return labelled(m.Model, config.ModelRecorded) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" The trace itself has %s, recorded.", r.value(&r.Models[i]))
}

// unlike says that different jobs failed under the models, or in the trace that they
// replay, since a mean is then of different jobs.
func (r *Report) unlike() string {
	text := ""
	for _, w := range r.Workloads() {
		switch inModels, inTrace := unlikeJobs(only(r.trials, w)); {
		case inModels:
			return " Not the same jobs failed under all models, so these values cannot be compared."
		case inTrace:
			text = " Not as many jobs succeeded in the trace as in its replays, so its value cannot be compared with theirs."
		}
	}
	return text
}

// better says which values of the report's first metric are better, or come first.
func (r *Report) better() measure.Direction {
	if list, err := measure.Find([]string{r.Metric}); err == nil {
		return cmp.Or(list[0].Better, measure.Higher)
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

// apart says by how much the models of a pair differ, repeat by repeat, and whether this
// contradicts their medians. The difference has the sign that tables have: it is that of
// the pair's second model from its first. The verdict stands after the difference.
func (r *Report) apart(noun string, p *Pair, best, verdict string) string {
	pairs := "over " + printable.Count(p.Runs, "pair") + " of trials"
	if !p.Paired {
		pairs = "over " + printable.Count(p.Runs, "trial") + ", not in pairs"
	}
	longer, faster := "higher", ""
	switch {
	case p.DiffPct < 0 && r.Unit == "s":
		longer, faster = "shorter", "faster"
	case p.DiffPct < 0:
		longer = "lower"
	case r.Unit == "s":
		longer, faster = "longer", "slower"
	}
	is := fmt.Sprintf("%s is %s under %s than under %s", noun, longer, p.B, p.A)
	if faster != "" && nouns[r.Metric] != "" && verdict != "" {
		is = fmt.Sprintf("%s is %s than %s", p.B, faster, p.A)
	}
	unit := r.differenceUnit()
	text := fmt.Sprintf("%s by %s%s %s (95 %% interval %s to %s)", is, doc.Fixed(math.Abs(float64(p.DiffPct)), 1, unit), verdict, pairs,
		doc.Signed(p.CI95Pct[0], 1, ""), doc.Signed(p.CI95Pct[1], 1, unit))
	lower := p.DiffPct > 0 // whether a has the lower value
	if (p.A == best) == (lower == (r.better() == measure.Lower)) || p.DiffPct == 0 {
		return text
	}
	if p.Paired {
		return text + ": the medians and the pairs disagree"
	}
	return text + ": the medians and the means disagree"
}

// differenceUnit returns the unit of differences in the report's first table.
func (r *Report) differenceUnit() string { return differenceUnit(r.Unit) }

// differenceUnit returns the unit of the differences of a metric with a unit.
func differenceUnit(unit string) string {
	return map[string]string{"s": "%", "x": "%", "%": "points"}[unit]
}

// mostNamed is how many models a sentence names.
const mostNamed = 5

func few(names []string) string { return printable.First(mostNamed, names) }

// origin says whether the trials were measured, simulated, or recorded in a trace, and
// what of them was made up.
func (r *Report) origin() string {
	text := r.places()
	imported, computed := madeUp(r.trials)
	if len(imported) > 0 {
		text += fmt.Sprintf(" Made up, not recorded: %s.", strings.Join(imported, ", "))
	}
	if len(computed) > 0 {
		text += fmt.Sprintf(" Computed in the replays, not recorded: %s.", strings.Join(computed, ", "))
	}
	return text
}

func (r *Report) places() string {
	simulated, recorded := 0, 0
	for _, t := range r.trials {
		switch {
		case t.simulated:
			simulated++
		case labelled(t.model, config.ModelRecorded):
			recorded++
		}
	}
	measured := len(r.trials) - simulated - recorded
	switch {
	case simulated == len(r.trials):
		return fmt.Sprintf("Simulated (%s): no cluster was measured.", printable.Count(simulated, "trial"))
	case simulated == 0 && recorded == 0:
		return fmt.Sprintf("Measured on a cluster (%s).", printable.Count(measured, "trial"))
	}
	var list []string
	for _, kind := range []struct {
		n    int
		what string
	}{{simulated, "simulated"}, {measured, "measured on a cluster"}, {recorded, "the recording of a trace"}} {
		if kind.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	return fmt.Sprintf("Of %s: %s.", printable.Count(len(r.trials), "trial"), strings.Join(list, ", "))
}
