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
	{ID: "L2", Parts: []string{"load"}, Published: numbers.Text("fig8a", learner, "achieved of asked") + " % of the load asked for", Text: "load is nearer to the target than by the plain rule, by 3 points, and within 15 % of it for every job", Effects: loads},
	{ID: "L3", Parts: []string{"runtime"}, Published: numbers.Text("fig11", "runtime", names()...), Text: "WordCount+10ms and URLGet take less time than with five slots, the jobs that these overload more, by 5 %", Effects: runtimes},
	{ID: "L4", Parts: []string{"fig9"}, Published: numbers.Text("fig9", learner, "gap"), Text: "load achieved is within 10 % of the load asked for, up to four times 4", Effects: targets},
	accuracy("L5a", "all", "of all decisions"), accuracy("L5b", "assigned", "of assignments"), accuracy("L5c", "balanced", "as the mean of overloads refused and others not refused"),
	{ID: "L6", Parts: []string{"fig8b"}, Published: numbers.Text("fig8b", learner, "from run 1 to 2"), Text: "with what was learnt kept, the first run takes longer than the fourth to sixth, by 5 % of these", Effects: faster},
	{ID: "L7", Parts: []string{"slowed"}, Published: "adapts to heterogeneous and slowed nodes", Text: "a node of half speed gets at most 0.7 times the starts of the others, in minutes 3 and 4", Effects: adapts},
	{ID: "hints", Kind: paper.ReportOnly, Parts: []string{"hints"}, Published: "estimates by hand, which the classifier uses", Text: "with jobs of all types at a time, more decisions are right if each has its own hints", Effects: hints},
}

// notJudged is what the calibration gives.
var notJudged = []paper.NotJudged{
	{Says: "five slots overload nodes with TextWriter, WordCount and CPUActivity, and leave them underloaded with the others", Why: "here it is arithmetic: five tasks have a load of 4 times 5 over the tasks of Figure 11"},
	{Says: "10 GB take so many minutes, 70 GB 36", Why: "the hardware is another"},
}

// hints says what the hints of jobs are worth to the classifier.
func hints(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("hints", learner, shuffled, equal)
	right := paper.Noted("rightPct")
	for k, column := range g.Columns {
		for _, other := range []string{shuffled, equal} {
			list = append(list, paper.Effect{What: fmt.Sprintf("%s, right decisions above those of %s", column, other), Unit: "points", Estimate: stats.PairedDifference(g.Mean(other, right, k), g.Mean(learner, right, k)).Estimate, Least: 3})
		}
	}
	return list
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

func loads(d *paper.Data) []paper.Effect {
	g := d.Grid("jobs", learner, rule)
	by := off(g, rule)
	list := []paper.Effect{{
		What: "load nearer to the target than by the rule", Unit: "points", Estimate: stats.PairedDifference(off(g, learner), by).Estimate, Least: 3,
		Room: stats.Mean(by), RoomWhy: "the rule is so far off, and nothing is nearer than 0",
	}}
	for k := range kinds {
		list = append(list, paper.Effect{What: "load of " + kinds[k].name + " over the target", Estimate: stats.Mean(g.Mean(learner, paper.Noted("ofTarget"), k)), Band: [2]float64{.85, 1.15}})
	}
	return list
}

func runtimes(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("runs", learner, native)
	for _, k := range []int{2, 3, 0, 1, 5} {
		a, b := native, learner
		if kinds[k].tasks < nativeSlots {
			a, b = learner, native
		}
		list = append(list, paper.Effect{What: fmt.Sprintf("time of %s that %s saves against %s", kinds[k].name, b, a), Unit: "%", Estimate: paper.Saved(minutes(g, a, k), minutes(g, b, k)), Least: 5})
	}
	return list
}

func targets(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("targets", learner)
	for k, ratio := range ratios {
		list = append(list, paper.Effect{What: fmt.Sprintf("at %g times 4, load over that asked for, or over what one start each 5 s can reach", ratio), Estimate: stats.Mean(g.Mean(learner, paper.Noted("ofReachable"), k)), Band: [2]float64{.9, 1.1}})
	}
	return list
}

// accuracy is a claim about one way to count right decisions. What learning adds is
// held against the plain rule, which calls every node below the limit good.
func accuracy(id, name, how string) paper.Claim {
	effects := func(d *paper.Data) (list []paper.Effect) {
		g := d.Grid("accuracy", learner, rule)
		for k, job := range []string{"URLGet", "CPUActivity"} {
			late := func(s *paper.Simulation) float64 { return (s.Notes[name+"5"] + s.Notes[name+"6"]) / 2 } // not a number if no decisions are judged
			a := g.Mean(rule, late, k)
			list = append(list, paper.Effect{
				What: fmt.Sprintf("%s, right decisions %s, above the rule", job, how), Unit: "points", Estimate: stats.PairedDifference(a, g.Mean(learner, late, k)).Estimate, Least: 3,
				Room: stats.Mean(g.Mean(rule, func(s *paper.Simulation) float64 { return 100 - late(s) }, k)), RoomWhy: "the rule is right so often that no more is left up to 100 %",
			})
		}
		return list
	}
	return paper.Claim{ID: id, Parts: []string{"fig10"}, Published: numbers.Text("fig10", learner, "accuracy"), Text: "decisions 1001 to 1500 are right more often than by the plain rule, counted " + how, Effects: effects}
}

func faster(d *paper.Data) []paper.Effect {
	g := d.Grid("again", learner)
	first := g.Mean(learner, paper.Noted("minutes1"))
	late := g.Mean(learner, func(s *paper.Simulation) float64 {
		return (s.Notes["minutes4"] + s.Notes["minutes5"] + s.Notes["minutes6"]) / 3
	})
	return []paper.Effect{{What: "time that runs 4 to 6 save against run 1", Unit: "%", Estimate: paper.Saved(first, late), Least: 5}}
}

func adapts(d *paper.Data) []paper.Effect {
	starts := d.Grid("slowed", learner).Mean(learner, func(s *paper.Simulation) float64 { return 1 - s.Notes["slowStarts1"] })
	return []paper.Effect{{What: "starts that the slowed node lacks", Unit: "", Estimate: stats.Mean(starts), Least: .3}}
}
