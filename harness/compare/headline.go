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
	"heddle/harness/replay"
	"heddle/traces/printable"
)

// nouns are the names of metrics in sentences, where they differ from those in tables.
var nouns = map[string]string{"jobCompletion": "mean job completion time", "makespan": "makespan"}

// Headline says in words which scheduler model is best by the report's first metric, by
// how much, whether the trials tell it, and whether they were measured or simulated. Before
// that it says if reduces held all slots, or if replays are too far off what was recorded.
func (r *Report) Headline() string {
	text := r.differences()
	for _, note := range r.general {
		if off, _, is := strings.Cut(note, replay.Distrust); is {
			text = "Do not trust what follows: " + off + " " + text
		}
	}
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
	lower := r.better() == measure.Lower
	models := slices.DeleteFunc(slices.Clone(r.Models), func(m Model) bool { return isRecording(m.Model) })
	switch {
	case len(models) == 0 && len(r.Models) > 0:
		return "What was recorded has no replay beside it."
	case len(models) == 0:
		return fmt.Sprintf("No trial has a value of %s. %s", r.Metric, r.origin())
	}
	slices.SortStableFunc(models, func(a, b Model) int {
		if lower {
			return cmp.Compare(a.Mean, b.Mean)
		}
		return cmp.Compare(b.Mean, a.Mean)
	})
	best, rest := models[0], r.recorded()+r.unlike()+" "+r.origin()
	if len(models) == 1 {
		return fmt.Sprintf("Under %s the %s is %s; there is no other model to compare it with.%s", best.Model, noun, r.mean(&best), rest)
	}
	// The difference is from the cluster's own scheduler, or from the next best model.
	other := models[1]
	if i := slices.IndexFunc(models, func(m Model) bool { return labelled(m.Model, config.ModelYARN) }); i > 0 {
		other = models[i]
	}
	shown, not := r.apartFrom(best.Model, models[1:])
	if len(shown) > 0 && !slices.Contains(shown, other.Model) {
		other = models[1+slices.IndexFunc(models[1:], func(m Model) bool { return m.Model == shown[0] })]
	}
	p := r.pair(other.Model, best.Model)
	if p == nil {
		return fmt.Sprintf("The lowest and the highest %s cannot be compared. %s", noun, r.origin())
	}
	switch {
	case len(shown) > 0:
		first, second := r.value(&best), r.value(&other)
		if p.B != best.Model { // the sentence says by how much the other one is worse
			first, second = second, first
		}
		text := fmt.Sprintf("%s, %s with %s: %s against %s%s.", r.apart(noun, p), p.Says(), p.number(), first, second,
			r.others(best.Model, other.Model, models)) + r.heldUp(other.Model)
		if more := slices.DeleteFunc(shown, func(m string) bool { return m == other.Model }); len(more) > 0 {
			text += fmt.Sprintf(" It differs from %s too.", few(more))
		}
		if len(not) > 0 {
			text += fmt.Sprintf(" The trials cannot tell it from %s.", few(not))
		}
		return text + rest
	case best.Mean == other.Mean:
		return fmt.Sprintf("No difference: the %s is %s under %s and as much under %s%s.%s", noun, r.mean(&best), best.Model, other.Model,
			r.others(best.Model, other.Model, models), rest)
	}
	text := fmt.Sprintf("Cannot tell with %s which model has the %s %s: %s under %s, %s under %s%s", p.number(),
		map[bool]string{true: "lower", false: "higher"}[lower], noun, r.value(&best), best.Model, r.value(&other), other.Model,
		r.others(best.Model, other.Model, models))
	if p.CI95Pct.Bounded() {
		text += fmt.Sprintf("; %s against %s: %s to %s", p.B, p.A, doc.Signed(p.CI95Pct[0], 1, ""),
			doc.Signed(p.CI95Pct[1], 1, r.differenceUnit()))
	}
	return text + "." + rest
}

// apartFrom divides models into those that are shown to differ from the best one, and those
// that the trials cannot tell from it.
func (r *Report) apartFrom(best string, models []Model) (shown, not []string) {
	for _, m := range models {
		if p := r.pair(m.Model, best); p != nil && p.Significant() && p.CI95Pct.Bounded() {
			shown = append(shown, m.Model)
		} else {
			not = append(not, m.Model)
		}
	}
	return shown, not
}

// value returns a model's mean with its unit.
func (r *Report) value(m *Model) string { return doc.Number(m.Mean, r.Unit).String() }

// mean says a model's value, and of how many trials it is the mean.
func (r *Report) mean(m *Model) string {
	if m.Runs == 1 {
		return r.value(m) + " in one trial"
	}
	return fmt.Sprintf("%s in the mean of %d trials", r.value(m), m.Runs)
}

// others names the means of further models, if they are few.
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
	return " (" + strings.Join(list, ", ") + ")"
}

// recorded says the value of the trace whose replays are compared.
func (r *Report) recorded() string {
	i := slices.IndexFunc(r.Models, func(m Model) bool { return isRecording(m.Model) })
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

// number says of how many repeats a difference is.
func (p *Pair) number() string {
	if !p.Paired {
		return printable.Count(p.Runs, "trial") + ", not in pairs"
	}
	return printable.Count(p.Runs, "repeat")
}

// apart says by how much the second model of a pair differs from the first, as tables have
// it, with the interval.
func (r *Report) apart(noun string, p *Pair) string {
	less, more := "lower", "higher"
	if r.Unit == "s" {
		less, more = "shorter", "longer"
	}
	by, lo, hi := float64(p.DiffPct), p.CI95Pct[0], p.CI95Pct[1]
	word := more
	if by < 0 {
		word = less
	}
	is := fmt.Sprintf("the %s is %s under %s than under %s", noun, word, p.B, p.A)
	if r.Unit == "s" && nouns[r.Metric] != "" {
		is = fmt.Sprintf("%s is %s than %s", p.B, map[bool]string{true: "faster", false: "slower"}[by < 0], p.A)
	}
	unit := r.differenceUnit()
	return fmt.Sprintf("%s by %s (95 %% interval %s to %s)", upper(is, p.B), doc.Fixed(math.Abs(by), 1, unit), doc.Signed(lo, 1, ""),
		doc.Signed(hi, 1, unit))
}

// upper begins a sentence with a capital letter, unless it begins with a model's name.
func upper(text, name string) string {
	if strings.HasPrefix(text, name) {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
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
	simulated, emulated, recorded := 0, 0, 0
	for _, t := range r.trials {
		switch {
		case t.simulated:
			simulated++
		case t.emulated:
			emulated++
		case isRecording(t.model):
			recorded++
		}
	}
	measured := len(r.trials) - simulated - emulated - recorded
	switch {
	case simulated == len(r.trials):
		return fmt.Sprintf("Simulated (%s): no cluster was measured.", printable.Count(simulated, "trial"))
	case emulated == len(r.trials):
		return fmt.Sprintf("On emulated nodes (%s): a real ResourceManager scheduled, and no task computed.", printable.Count(emulated, "trial"))
	case measured == len(r.trials):
		return fmt.Sprintf("Measured on a cluster (%s).", printable.Count(measured, "trial"))
	}
	var list []string
	for _, kind := range []struct {
		n    int
		what string
	}{{simulated, "simulated"}, {emulated, "on emulated nodes"}, {measured, "measured on a cluster"}, {recorded, "the recording of a trace"}} {
		if kind.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	return fmt.Sprintf("Of %s: %s.", printable.Count(len(r.trials), "trial"), strings.Join(list, ", "))
}
