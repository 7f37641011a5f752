package learning

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// claims are the paper's. The number of tasks in L1 is what each task's load was made
// of: it is a check of the set-up, and no result.
var claims = []paper.Claim{
	{ID: "L1", Kind: paper.Check, Parts: []string{"fig11"}, Published: numbers.Text("fig11", learner, names()...), Text: "tasks that run on a node at a target of 100 % are those of Figure 11, within 15 %", Effects: tasks},
	{ID: "L2", Parts: []string{"fig8a"}, Published: numbers.Text("fig8a", learner, "achieved of asked"), Text: "load in the runs of WordCount on 70 GB is 85 to 115 % of the load asked for", Effects: achieved, Beats: below("again", "distance of the load to the target", far)},
	{ID: "L3", Parts: []string{"runtime"}, Published: numbers.Text("fig11", "runtime", names()...), Text: "WordCount+10ms and URLGet take less time than with five slots, the jobs that these overload more, by 5 %; under both classes of a tie", Effects: runtimes},
	{ID: "L3b", Parts: []string{"runtime"}, Published: numbers.Text("fig11", "runtime", "URLToDisk"), Text: "URLToDisk takes as long as with five slots, within 10 % (the paper's text calls it much shorter, its figure 1 x)", Effects: asLong},
	{ID: "L4", Parts: []string{"fig9"}, Published: said("fig9", "gap"), Text: "at four times 4, 3 % of the load asked for are missing, and 3 points more than at 4", Effects: gap},
	{ID: "L4b", Parts: []string{"fig9"}, Published: said("fig9", "load"), Text: "load achieved is within 10 % of the load asked for, up to four times 4", Effects: targets},
	{ID: "L5", Parts: []string{"fig10"}, Published: said("fig10", "accuracy"), Text: "of decisions 1001 to 1500 more are right than of the first 250, by 3 points", Effects: rises, Beats: below("accuracy", "wrong decisions", wrong)},
	{ID: "L5b", Parts: []string{"fig10"}, Published: said("fig10", "faster"), Text: "CPUActivity's part of right decisions rises by 3 points, and by 3 points more than URLGet's", Effects: risesMore, Beats: below("accuracy", "wrong decisions", wrong)},
	{ID: "L6", Parts: []string{"fig8b"}, Published: said("fig8b", "from run 1 to 2"), Text: "with what was learnt kept, the first run takes longer than the fourth to sixth, by 5 % of these; under both classes of a tie", Effects: faster},
	{ID: "L7", Parts: []string{"fig11"}, Published: said("fig11", "tasks"), Text: "of the types of jobs, WordCount+10ms and URLGet run more tasks on a node than with five slots, the jobs that these overload fewer, by 5 %", Effects: serves},
	{ID: "L8", Parts: []string{"fig8b", "runs"}, Published: said("conclusion", "first runs"), Text: "load in the first run of WordCount on 70 GB is below that in the fourth to sixth, by 3 points of the target", Effects: overRuns("load", "ofTarget", -100)},
	{ID: "L9", Parts: []string{"fig8a", "runs"}, Published: said("conclusion", "overloads"), Text: "nodes are overloaded at more heartbeats in the first run than in the fourth to sixth, by 3 points", Effects: overRuns("overloaded heartbeats", "over", 1), Beats: below("again", "overloaded heartbeats in runs 4 to 6", overall("over", 1, 4, 5, 6))},
	{ID: "L10", Parts: []string{"fig8a", "runs"}, Published: said("fig8a", "peaks"), Text: "the highest load above the target is higher in the first run than in the fourth to sixth, by 3 points of the target", Effects: overRuns("highest load", "peak", 100), Beats: below("again", "highest load in runs 4 to 6", overall("peak", 100, 4, 5, 6))},
	{ID: "L11", Parts: []string{"runtime"}, Published: said("abstract", "response time"), Text: "with five slots WordCount+10ms takes at least 1.5 times as long", Effects: twice},
}

// said returns what the paper says in words.
func said(figure, what string) string { return numbers.Text(figure, learner, what) }

// notJudged is what the set-up decides, and what it does not have.
var notJudged = []paper.NotJudged{
	{Says: "five slots overload nodes with TextWriter, WordCount and CPUActivity, and leave them underloaded with the others", Why: "here it is arithmetic: five tasks have a load of 4 times 5 over the tasks of Figure 11"},
	{Says: "10 GB take so many minutes, 70 GB 36", Why: "the hardware is another"},
	{Says: "features: " + said("III", "features"), Why: "simulated nodes do not differ in them; the authors' code uses only swap space and clock rate of these"},
	{Says: said("III", "re-learning"), Why: "not built: what was learnt is refused for another target"},
	{Says: "utility " + said("IV-B", "utility"), Why: "not built: a run has one utility, a parameter"},
	{Says: said("fig2", "CPU"), Why: "a task's load is an input here"},
	{Says: "estimates by hand (Figure 7) tell jobs apart", Why: "its runs are of one or two jobs, whose hints hardly vary; the figure hints has jobs of all types"},
	{Says: "nodes that differ", Why: "the paper leaves them to later work"},
}

func names() (list []string) {
	for k := range kinds {
		list = append(list, kinds[k].name)
	}
	return list
}

var measures = []paper.Measure{
	{Name: "load, off the target", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return stats.Mean(off(d.Grid("jobs", learner), learner)) }},
	{Name: "heartbeats overloaded", Unit: "%", Of: func(d *paper.Data) stats.Estimate {
		return stats.Mean(d.Grid("jobs", learner).Mean(learner, paper.Noted("overPct")))
	}},
	{Name: "tasks of URLGet", Of: func(d *paper.Data) stats.Estimate {
		return stats.Mean(d.Grid("jobs", learner).Mean(learner, paper.Noted("tasks"), 3))
	}},
}

func tasks(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("jobs", learner)
	for k := range kinds {
		times := func(s *paper.Simulation) float64 { return s.Notes["tasks"] / kinds[k].tasks }
		list = append(list, paper.Effect{What: "tasks of " + kinds[k].name + " over the published", Estimate: stats.Mean(g.Mean(learner, times, k)), Band: [2]float64{.85, 1.15}})
	}
	return list
}

// off is the mean over jobs of how far the load is off the target, in percent.
func off(g *paper.Grid, label string) []float64 {
	return g.Mean(label, func(s *paper.Simulation) float64 { return 100 * math.Abs(s.Notes["ofTarget"]-1) })
}

// overall is the mean of notes that differ in the number behind their name, in a unit.
func overall(note string, unit float64, numbers ...int) func(*paper.Simulation) float64 {
	return func(s *paper.Simulation) (mean float64) {
		for _, n := range numbers {
			mean += unit * s.Notes[fmt.Sprint(note, n)] / float64(len(numbers))
		}
		return mean
	}
}

// ofTargetPct is the load in the six runs of Figure 8.
var ofTargetPct = overall("ofTarget", 100, 1, 2, 3, 4, 5, 6)

func far(s *paper.Simulation) float64 { return math.Abs(ofTargetPct(s) - 100) }

// below returns by how much a figure is less than under another scheduler.
func below(design, what string, of func(*paper.Simulation) float64) func(*paper.Data, string) paper.Effect {
	return func(d *paper.Data, bar string) paper.Effect {
		g := d.Grid(design, learner, bar)
		return paper.Effect{What: what + " below that by " + bar, Unit: "points", Estimate: stats.PairedDifference(g.Mean(learner, of), g.Mean(bar, of)).Estimate, Least: 3}
	}
}

func achieved(d *paper.Data) []paper.Effect {
	return []paper.Effect{{What: "load, of the load asked for", Unit: "%", Estimate: stats.Mean(d.Grid("again", learner).Mean(learner, ofTargetPct)), Band: [2]float64{85, 115}}}
}

// sides are the jobs with two schedulers each of which the second has the shorter runs
// and more tasks: by the numbers of tasks of Figure 11.
func sides(yield func(k int, less, more string)) {
	for _, k := range []int{2, 3, 0, 1, 5} {
		if kinds[k].tasks < nativeSlots {
			yield(k, learner, native)
		} else {
			yield(k, native, learner)
		}
	}
}

func runtimes(d *paper.Data) (list []paper.Effect) {
	g, other := d.Grid("runs", learner, native), d.Grid("runs"+otherTie, learner, native)
	sides(func(k int, a, b string) {
		saved := func(g *paper.Grid) stats.Estimate { return paper.Saved(minutes(g, a, k), minutes(g, b, k)) }
		list = append(list, paper.Effect{What: fmt.Sprintf("time of %s that %s saves against %s", kinds[k].name, b, a), Unit: "%", Estimate: bothTies(saved(g), saved(other)), Least: 5})
	})
	return list
}

func asLong(d *paper.Data) []paper.Effect {
	g := d.Grid("runs", learner, native)
	return []paper.Effect{{What: "time of URLToDisk by learning over that by native", Unit: "times", Estimate: paper.Times(minutes(g, native, 4), minutes(g, learner, 4)), Band: [2]float64{.9, 1.1}}}
}

// bothTies returns an effect, whose interval has that under the other class of a tie in it
// too if the two have different signs: it then hangs on the class, and not on the paper.
func bothTies(e, other stats.Estimate) stats.Estimate {
	if e.Hi < 0 && other.Lo > 0 || e.Lo > 0 && other.Hi < 0 {
		e.Lo, e.Hi, e.N = min(e.Lo, other.Lo), max(e.Hi, other.Hi), 1 // no number of seeds tells
	}
	return e
}

func serves(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("runs", learner, native)
	sides(func(k int, a, b string) {
		of := func(label string) []float64 { return g.Mean(label, paper.Noted("tasks"), k) }
		list = append(list, paper.Effect{What: fmt.Sprintf("tasks of %s by %s over those by %s", kinds[k].name, b, a), Unit: "times", Estimate: paper.Times(of(a), of(b)), None: 1, Least: 1.05})
	})
	return list
}

func twice(d *paper.Data) []paper.Effect {
	g := d.Grid("runs", learner, native)
	return []paper.Effect{{What: "time of WordCount+10ms by native over that by learning", Unit: "times", Estimate: paper.Times(minutes(g, learner, 2), minutes(g, native, 2)), None: 1, Least: 1.5}}
}

// gap is what of the load asked for is missing, in percent: the learning phase counts.
func gap(d *paper.Data) []paper.Effect {
	g := d.Grid("targets", learner)
	missing := func(k int) []float64 {
		return g.Mean(learner, func(s *paper.Simulation) float64 { return 100 * (1 - s.Notes["ofTargetAll1"]) }, k)
	}
	last := missing(len(ratios) - 1)
	return []paper.Effect{
		{What: "load missing at four times 4, of the load asked for", Unit: "%", Estimate: stats.Mean(last), Least: 3},
		{What: "and above that at 4", Unit: "points", Estimate: stats.PairedDifference(missing(0), last).Estimate, Least: 3},
	}
}

func targets(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("targets", learner)
	for k, ratio := range ratios {
		list = append(list, paper.Effect{What: fmt.Sprintf("at %g times 4, load over that asked for", ratio), Estimate: stats.Mean(g.Mean(learner, overall("ofTargetAll", 1, 1), k)), Band: [2]float64{.9, 1.1}})
	}
	return list
}

// late are right decisions of those from 1001 to 1500 on. It is not a number if no
// decisions are judged.
var late = overall("right", 1, 5, 6)

func wrong(s *paper.Simulation) float64 { return 100 - late(s) }

func rise(g *paper.Grid, label string, k int) []float64 {
	return g.Mean(label, func(s *paper.Simulation) float64 { return late(s) - s.Notes["right1"] }, k)
}

func rises(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("accuracy", learner)
	for k, job := range g.Columns {
		list = append(list, paper.Effect{
			What: job + ", right decisions above those of the first 250", Unit: "points", Estimate: stats.Mean(rise(g, learner, k)), Least: 3,
			Room: stats.Mean(g.Mean(learner, func(s *paper.Simulation) float64 { return 100 - s.Notes["right1"] }, k)), RoomWhy: "no more is left up to 100 %",
		})
	}
	return list
}

func risesMore(d *paper.Data) []paper.Effect {
	return append(rises(d)[1:], paper.Effect{What: "CPUActivity's rise above URLGet's", Unit: "points", Estimate: moreBy(d.Grid("accuracy", learner)), Least: 3})
}

func moreBy(g *paper.Grid) stats.Estimate {
	return stats.PairedDifference(rise(g, learner, 0), rise(g, learner, 1)).Estimate
}

func faster(d *paper.Data) []paper.Effect {
	saved := func(design string) stats.Estimate {
		g := d.Grid(design, learner)
		return paper.Saved(g.Mean(learner, paper.Noted("minutes1")), g.Mean(learner, overall("minutes", 1, 4, 5, 6)))
	}
	return []paper.Effect{{What: "time that runs 4 to 6 save against run 1", Unit: "%", Estimate: bothTies(saved("again"), saved("again"+otherTie)), Least: 5}}
}

// overRuns returns by how much a note is larger in run 1 than in runs 4 to 6.
func overRuns(what, note string, unit float64) func(*paper.Data) []paper.Effect {
	return func(d *paper.Data) []paper.Effect {
		g := d.Grid("again", learner)
		e := paper.Effect{What: what + " in run 1 above that in runs 4 to 6", Unit: "points", Least: 3}
		if unit < 0 {
			e.What = what + " in run 1 below that in runs 4 to 6"
		}
		e.Estimate = stats.PairedDifference(g.Mean(learner, overall(note, unit, 4, 5, 6)), g.Mean(learner, overall(note, unit, 1))).Estimate
		return []paper.Effect{e}
	}
}
