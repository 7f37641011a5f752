package paper

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/stats"
)

// meanings say what verdicts are in words, and how a sentence counts claims that have
// them, of one and of several.
var meanings = map[Verdict]struct{ means, one, several string }{
	Holds:       {"the effect is shown, of the size asked for", "holds", "hold"},
	Direction:   {"the sign is as claimed; the size, or all of an order, is not", "has the direction alone", "have the direction alone"},
	Fails:       {"no effect as claimed is shown; a check is wrong", "fails", "fail"},
	Reversed:    {"the opposite is shown, or a value outside of the two between which it should lie", "is reversed", "are reversed"},
	Ceiling:     {"nothing can have an effect of the size asked for here", "has no room (ceiling)", "have no room (ceiling)"},
	NotTestable: {"the interval of these seeds is too wide to tell", "is not testable", "are not testable"},
}

// reported stands in the place of the verdict on a claim that has none.
const reported = "reported"

// opening returns the sentences that say what came out: how many claims hold, how many
// of them need the paper's method, and the first claim with a published number beside
// ours. It is empty without claims.
func (r *Report) opening() doc.Lead {
	var list []string
	for _, of := range []struct {
		kind         ClaimKind
		one, several string
	}{{Judged, "claim", "claims"}, {Check, "check", "checks"}} {
		those := slices.DeleteFunc(slices.Clone(r.Criteria), func(c Criterion) bool { return c.Kind != of.kind })
		if len(those) > 0 {
			list = append(list, fmt.Sprintf("of %s %s.", several(len(those), of.one, of.several), counted(those)))
		}
	}
	if n := count(r.Criteria, func(c Criterion) bool { return c.Kind == ReportOnly }); n > 0 {
		list = append(list, several(n, "row is", "rows are")+" only reported, and in no count.")
	}
	if n := count(r.Criteria, func(c Criterion) bool { return c.AboutMethod && c.Verdict.met() > 0 }); n > 0 {
		need := count(r.Criteria, func(c Criterion) bool { return c.NeededMethod })
		text := fmt.Sprintf("%s in size or in direction, of which %s to need its method",
			several(n, "claim about the paper's scheduler comes out", "claims about the paper's scheduler come out"),
			several(need, "is shown", "are shown"))
		if untold := count(r.Criteria, func(c Criterion) bool { return c.MethodUntold }); untold > 0 {
			text += fmt.Sprintf("; for %d the seeds do not tell", untold)
		}
		list = append(list, text+".")
	}
	if i := slices.IndexFunc(
		r.Criteria,
		func(c Criterion) bool { return c.Kind == Judged && strings.ContainsAny(c.Published, "0123456789") },
	); i >= 0 {
		c := &r.Criteria[i]
		list = append(
			list,
			fmt.Sprintf("%s, %s: published %s, ours %s.", c.ID, c.Effects[c.Rests].What, c.published(), Cell{c.Ours, c.CI95}.in(c.Unit)),
		)
	}
	for i, text := range list {
		list[i] = strings.ToUpper(text[:1]) + text[1:]
	}
	if r.Changed != "" && len(list) > 0 {
		list[0] = "With " + r.Changed + " changed, " + strings.ToLower(list[0][:1]) + list[0][1:]
	}
	return doc.Lead(strings.Join(list, " "))
}

// counted says how many claims have which verdict, like "2 hold and 1 is reversed".
func counted(list []Criterion) string {
	var texts []string
	for _, v := range Verdicts {
		if n := count(list, func(c Criterion) bool { return c.Verdict == v }); n > 0 {
			texts = append(texts, several(n, meanings[v].one, meanings[v].several))
		} else if v == Holds {
			texts = append(texts, "none holds")
		}
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return texts[0]
}

// chance says how many of the verdicts that rest on an interval are wrong by chance. It is
// empty if none does.
func chance(list []Criterion) string {
	n := count(list, func(c Criterion) bool { return c.Verdict != "" && c.CI95[0] < c.CI95[1] })
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("By chance alone, up to about %.1f of these %s would be wrong: an interval leaves out the truth in %.0f of 100 cases.",
		float64(n)*(1-stats.Level), several(n, "verdict", "verdicts"), 100*(1-stats.Level))
}

// several returns a number and what it counts, in the singular or the plural.
func several(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// published returns what the paper states, with the unit of the first effect where it is
// one number.
func (c *Criterion) published() string {
	if _, is := statedNumber(c.Published); is && len(c.Effects) > 0 {
		return strings.TrimSpace(c.Published + " " + c.Effects[0].Unit)
	}
	return c.Published
}

// legend says what the words of the table of claims mean, as far as they are there.
func legend(list []Criterion) (l doc.List) {
	has := func(is func(*Criterion) bool) bool {
		return slices.ContainsFunc(list, func(c Criterion) bool { return is(&c) })
	}
	for _, v := range Verdicts {
		if has(func(c *Criterion) bool {
			return c.Verdict == v || slices.ContainsFunc(c.Effects, func(e EffectJSON) bool { return e.Verdict == v }) ||
				slices.ContainsFunc(c.Controls, func(x ControlResult) bool { return x.Verdict == v })
		}) {
			l = append(l, fmt.Sprintf("%s: %s", v, meanings[v].means))
		}
	}
	if has(func(c *Criterion) bool { return len(c.Effects) > 1 && c.Kind == Judged }) {
		l = append(
			l,
			"of several effects one may seem reversed by chance, so one is only if its interval shows that when widened for their number "+
				"(Bonferroni's rule); it is beside the verdict where the two intervals say different things",
		)
	}
	if has(func(c *Criterion) bool { return c.Verdict == "" }) {
		l = append(l, reported+": it is shown without a verdict")
	}
	if has(func(c *Criterion) bool { return c.Kind == Check }) {
		l = append(l, "needs the method, a check: arithmetic, or our own simulation against theory")
	}
	if has(func(c *Criterion) bool { return c.AboutMethod }) {
		l = append(
			l,
			"needs the method, yes: the claim comes out, and the paper's scheduler is shown to be better than every control in its place and "+
				"than the bar; not shown: one of these cannot be told from it; no: a control meets the claim as well, or the bar is not beaten; "+
				"-: it does not come out",
		)
	}
	if has(func(c *Criterion) bool { return c.Kind == ReportOnly }) {
		l = append(l, "needs the method, not judged: the claim is only reported, whatever it is about")
	}
	if has(func(c *Criterion) bool { return !c.AboutMethod && c.Kind == Judged }) {
		l = append(l, "needs the method, not about it: the claim is not about the paper's scheduler")
	}
	if has(func(c *Criterion) bool { return c.Bar != nil }) {
		l = append(
			l,
			"the bar: what the paper's scheduler gains over the best of those that anybody could use instead; beaten if that is as much as is asked",
		)
	}
	return append(l, "ours: the effect on which the verdict rests, with its 95 % interval; without one: too few values for it, or equal ones")
}

// doubts says why the results may not be as they look.
func (r *Report) doubts() doc.List {
	list := doc.List{"All of this is simulated: no cluster ran these jobs."}
	if r.Changed != "" {
		list = append(list, "It is not the paper's experiment: changed is "+r.Changed+".")
	}
	if len(r.NotNoted) > 0 {
		list = append(list, "No simulation has these figures, whose names may be misspelt: "+strings.Join(r.NotNoted, ", ")+".")
	}
	all, untold := 0, 0
	for i := range r.Criteria {
		all += len(r.Criteria[i].Effects)
		untold += count(r.Criteria[i].Effects, func(e EffectJSON) bool { return e.Verdict == NotTestable })
	}
	if untold > 0 {
		list = append(
			list,
			fmt.Sprintf(
				"%d seeds do not tell %d of %d effects. The table of effects says about how many do; --seeds N simulates so many.",
				r.Seeds,
				untold,
				all,
			),
		)
	}
	var costs, open []string
	for i := range r.Axes {
		switch a := &r.Axes[i]; {
		case a.Of == Cost:
			costs = append(costs, a.Name)
		case a.Mark != Printed && a.Mark != Code:
			open = append(open, a.Name+"="+a.Taken)
		}
	}
	if len(open) > 0 {
		list = append(list, "The paper does not say these values, or says others: "+strings.Join(open, ", ")+".")
	}
	if len(costs) > 0 {
		list = append(list, "These costs of the simulated cluster are our choice: "+strings.Join(costs, ", ")+".")
	}
	if len(open)+len(costs) > 0 {
		list = append(list, fmt.Sprintf("\"heddle paper %s --matrix\" shows which verdicts hang on such values.", r.Paper))
	}
	return list
}
