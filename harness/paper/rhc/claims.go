package rhc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/paper/rhc/policy"
	"heddle/harness/stats"
)

const besides = 1 // points of the cost of Random that RHC must save besides Greedy

var claims = []paper.Claim{
	{ID: "H1", Parts: []string{"random", "costs"}, Published: "more than 90 %", Text: "RHC saves more than 90 % of the cost of Random at every load", Effects: func(d *paper.Data) []paper.Effect {
		list := perLoad(func(k int) paper.Effect {
			return overWithRoom(d, "loads", random, k, numbers.Value("fig9", claimant, "saving over Random"))
		})
		slices.SortStableFunc(list, func(a, b paper.Effect) int { return cmp.Compare(a.Value, b.Value) }) // of every load, so that the least is shown
		return list
	}, Beats: func(d *paper.Data, bar string) paper.Effect {
		g := d.Grid("loads", random, bar, claimant)
		return paper.Effect{
			What: "share of the cost of Random that RHC saves besides " + bar + ", mean of loads", Unit: "points", Least: besides,
			Estimate: stats.PairedDifference(savings(g, random, bar), savings(g, random, claimant)).Estimate,
		}
	}},
	{ID: "H2", Parts: []string{"fig9", "skewed"}, Published: "up to 22 %", Text: "RHC saves up to 22 % of the cost of Greedy, which is at the largest load", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{overWithRoom(d, "loads", greedy, 4, numbers.Value("fig9", claimant, "largest saving over Greedy"))}
	}},
	{ID: "H2b", Parts: []string{"fig9"}, Published: "grows", Text: "the saving over Greedy grows with the load", Effects: func(d *paper.Data) (list []paper.Effect) {
		g := d.Grid("loads", greedy, claimant)
		for k := range len(loads) - 1 {
			list = append(list, paper.Effect{
				What: fmt.Sprintf("saving over Greedy from load %s to %s", loadName(k), loadName(k+1)), Unit: "points",
				Estimate: stats.PairedDifference(savings(g, greedy, claimant, k), savings(g, greedy, claimant, k+1)).Estimate,
			})
		}
		return list
	}},
	{ID: "H2c", Kind: paper.Check, Parts: []string{"fig9"}, Published: "-", Text: "read by the letter and with the load known, RHC saves over Greedy what another program has: 0, 0.15, 0.5, 1.35, 2.15 %", Effects: func(d *paper.Data) []paper.Effect {
		return perLoad(func(k int) paper.Effect {
			return within("literal", saved(d.Grid("literal", greedy, known), greedy, known, k), []float64{0, .15, .5, 1.35, 2.15}[k], .5, k, "saving over Greedy", "%")
		})
	}},
	{ID: "H3", Kind: paper.Check, Parts: []string{"skewed"}, Published: "-", Text: "if one job of ten is large and the load is known, RHC saves 19 % over Greedy at load 0.6: a reading found by searching", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{within("skewed", saved(d.Grid("skewed", greedy, known), greedy, known, 4), 19, 2, 4, "saving over Greedy", "%")}
	}},
	{ID: "H4", Parts: []string{"correlated"}, Published: "RHC gains", Text: "RHC saves over Greedy also if jobs with more data take longer, as Remark 1 says of the simulations", Effects: func(d *paper.Data) []paper.Effect {
		return perLoad(func(k int) paper.Effect { return overWithRoom(d, "correlated", greedy, k, 0) })
	}},
	{ID: "H5", Kind: paper.Check, Parts: []string{"system"}, Published: "-", Text: "a job meets load/(1-load) others, as in theory, within 5 %", Effects: func(d *paper.Data) []paper.Effect {
		g := d.Grid("literal", known)
		return perLoad(func(k int) paper.Effect {
			want := loads[k] / (1 - loads[k])
			return within("literal", stats.Mean(g.Mean(known, paper.Noted("met"), k)), want, .05*want, k, "jobs that a job meets", "")
		})
	}},
	{ID: "H6", Kind: paper.Check, Parts: []string{"system"}, Published: "-", Text: "if the load is known, as many jobs are deferred as the law of sizes says, within a hundredth", Effects: func(d *paper.Data) []paper.Effect {
		g := d.Grid("literal", known)
		return perLoad(func(k int) paper.Effect {
			return within("literal", stats.Mean(g.Mean(known, paper.Noted("deferred"), k)), deferredInTheory(loads[k]), .01, k, "share of jobs that are deferred", "")
		})
	}},
	{ID: "H7", Kind: paper.Check, Parts: []string{"table1"}, Published: "linear, slopes differ", Text: "Table I: in each family of expressions time rises with the intermediate data, on a line that predicts a row left out better than the mean of the others does; the slopes differ", Effects: func(*paper.Data) (list []paper.Effect) {
		var slopes []stats.Estimate
		for _, f := range families() {
			l, alone := line(f.inter, f.times), make([]float64, len(f.times))
			for k, t := range f.times {
				alone[k] = (t - stats.Mean(f.times).Value) / (1 - 1/float64(len(f.times)))
			}
			slopes, list = append(slopes, l.Slope), append(list, paper.Effect{What: "slope of " + f.name, Unit: "s/MB", Estimate: l.Slope}, leftOut(f.name, "the mean of the others", l.LeftOut, alone))
		}
		by := func(a, b stats.Estimate) int { return cmp.Compare(a.Value, b.Value) }
		low, high := slices.MinFunc(slopes, by), slices.MaxFunc(slopes, by)
		apart, margin := high.Value-low.Value, math.Hypot(low.Hi-low.Value, high.Hi-high.Value)
		return append(list, paper.Effect{What: "largest slope above the smallest", Unit: "s/MB", Estimate: stats.Estimate{Value: apart, Lo: apart - margin, Hi: apart + margin, N: low.N}})
	}},
	{ID: "H7b", Kind: paper.ReportOnly, Parts: []string{"table1"}, Published: "-", Text: "Table I cannot tell whether intermediate data or output makes a job slow, since the two rise together: neither predicts a row left out better", Effects: func(*paper.Data) (list []paper.Effect) {
		for _, f := range families() {
			list = append(list, paper.Effect{What: "intermediate data that output explains, " + f.name, Unit: "%", Estimate: paper.Exactly(100 * line(f.output, f.inter).R2)},
				leftOut(f.name, "output", line(f.inter, f.times).LeftOut, line(f.output, f.times).LeftOut))
		}
		return list
	}},
	{ID: "H8", Kind: paper.ReportOnly, Parts: []string{"fig10"}, Published: "shorter, smaller variance", Text: "Figure 10: two Sort jobs are faster, and vary less, with RHC than with Hadoop's Fair Scheduler. Not testable by these jobs, since RHC places them as Greedy does; the network is ours", Effects: func(d *paper.Data) []paper.Effect {
		g := d.Grid("fig10", claimant, greedy, random)
		list := []paper.Effect{{What: "decisions in which RHC and Greedy differ, of the two jobs in both orders, with one job present or none", Unit: "%", Estimate: paper.Exactly(differInFigure10())}}
		for _, job := range []string{"first", "second"} {
			for _, other := range []string{random, greedy} {
				of := func(label, what string) []float64 { return g.Mean(label, paper.Noted(job+what), 0) }
				list = append(list, paper.Effect{What: "simulated, time of the " + job + " job saved over " + other, Unit: "%", Estimate: paper.Saved(of(other, ""), of(claimant, ""))},
					paper.Effect{What: "simulated, deviation of the " + job + " job's time between repeats by " + other, Unit: "times that by RHC", None: 1, Estimate: stats.PairedRatio(of(claimant, varies), of(other, varies)).Estimate})
			}
		}
		return list
	}},
	{ID: "H9", Kind: paper.ReportOnly, Parts: []string{"fig3", "fig1"}, Published: numbers.Text("fig3", "Sort", "time with bad placement") + " times longer", Text: "Figure 3: placement alone changes a job's time. Costs are those of the worst two nodes of Figure 1's tree against the best two; times are simulated", Effects: func(d *paper.Data) []paper.Effect {
		c := treeCosts() // C, D, G and H are the worst, B is the best, A and E come next
		return []paper.Effect{{What: "cost of the worst placement of two reduce tasks", Unit: "times the best", None: 1, Estimate: paper.Exactly((c[6] + c[7]) / (c[1] + c[0]))}, {What: "simulated, time of the worst of 20 random placements", Unit: "times the best", None: 1, Estimate: stats.Mean(d.Grid("fig3", random).Mean(random, paper.Noted("first spread"), 0))}}
	}},
	{ID: "H10", Kind: paper.Check, Parts: []string{"even", "first", "errors"}, Published: "accurate", Text: "a job's data estimated from 5 % of its maps is wrong by at most 10 % in the median, and by less than the ratio of the job before, if maps are alike", Effects: func(d *paper.Data) []paper.Effect {
		return estimateEffects(d, "even inputs")
	}},
	{ID: "H10b", Kind: paper.ReportOnly, Parts: []string{"first"}, Published: "accurate", Text: "the same, if the first tenth of the maps puts out twice as much", Effects: func(d *paper.Data) []paper.Effect {
		return estimateEffects(d, "first splits differ")
	}},
	{ID: "T2", Kind: paper.Check, Parts: []string{"theorem2"}, Published: "optimal", Text: "jobs that stay cost, by Theorem 2 as mended, what its thresholds say, within 1 %, and less than by Greedy and RHC", Effects: func(d *paper.Data) (list []paper.Effect) {
		g := d.Grid("batches", optimal, greedy, claimant)
		for k, n := range g.Columns {
			list = append(list, paper.Effect{What: n + " jobs, cost over what thresholds say", Band: [2]float64{.99, 1.01}, Estimate: paper.Times(g.Mean(optimal, paper.Noted("expected"), k), g.Mean(optimal, cost, k))},
				paper.Effect{What: n + " jobs, saving over Greedy", Unit: "%", Estimate: saved(g, greedy, optimal, k)}, paper.Effect{What: n + " jobs, saving over RHC", Unit: "%", Estimate: saved(g, claimant, optimal, k)})
		}
		return list
	}},
}

func perLoad(of func(k int) paper.Effect) (list []paper.Effect) {
	for k := range loads {
		list = append(list, of(k))
	}
	return list
}

// overWithRoom asks that RHC saves so many percent over another scheduler; the room is what
// no rule can save more than.
func overWithRoom(d *paper.Data, design, other string, k int, least float64) paper.Effect {
	g := d.Grid(design, other, claimant, lowest)
	return paper.Effect{
		What: fmt.Sprintf("saving over %s at load %s", other, loadName(k)), Unit: "%", Estimate: saved(g, other, claimant, k), Least: least,
		Room: saved(g, other, lowest, k), RoomWhy: "no rule can have a lower cost than the bound, even one that knows all jobs before",
	}
}

// savings are what b saves against a in the mean of some columns, all if none are given, in
// percent of each seed.
func savings(g *paper.Grid, a, b string, columns ...int) []float64 {
	if len(columns) == 0 {
		columns = []int{0, 1, 2, 3, 4}
	}
	var list []float64
	for _, k := range columns {
		x, y := g.Mean(a, cost, k), g.Mean(b, cost, k)
		if list == nil {
			list = make([]float64, len(x))
		}
		for i := range x {
			list[i] += 100 * (1 - y[i]/x[i]) / float64(len(columns))
		}
	}
	return list
}

// within asks that a value is near to what is expected.
func within(what string, e stats.Estimate, want, by float64, k int, name, unit string) paper.Effect {
	return paper.Effect{What: fmt.Sprintf("%s, %s, load %s, expected %.3g", what, name, loadName(k), want), Unit: unit, Estimate: e, Band: [2]float64{want - by, want + by}}
}

// deferredInTheory is the share of jobs whose data a reduce task is below the threshold, by
// the law of section V-B.
func deferredInTheory(load float64) float64 {
	law := standard.law()
	threshold, share := load/(1+load)*law.Next()[0], 0.0
	for i, p := range law.Reduces {
		for _, x := range law.Data {
			if x.Value/float64(i+1) < threshold {
				share += p * x.P
			}
		}
	}
	return share
}

// leftOut asks that the first errors of rows left out are smaller than those by something else.
func leftOut(family, by string, errors, others []float64) paper.Effect {
	gain := make([]float64, len(errors))
	for k := range gain {
		gain[k] = math.Abs(others[k]) - math.Abs(errors[k])
	}
	return paper.Effect{What: "error of a row left out by " + by + ", above that by intermediate data, " + family, Unit: "s", Estimate: stats.Mean(gain)}
}

// differInFigure10 returns in how many of the decisions on Figure 10's jobs RHC leaves the
// cheapest slots alone, in percent.
func differInFigure10() (differ float64) {
	pair := []policy.Job{{Data: 4.3, Reduces: 2}, {Data: 15, Reduces: 4}}
	for _, present := range []int{0, 1} {
		for first := range pair {
			rule := &policy.RHC{}
			for k := range pair {
				j := pair[(first+k)%2]
				j.Present = present * k
				rule.Arrive(&j)
				if rule.Place(&j, 30, nil)[0] != 0 {
					differ += 100.0 / 8 // of eight decisions
				}
			}
		}
	}
	return differ
}

func estimateEffects(d *paper.Data, design string) []paper.Effect {
	g := d.Grid(design, estimate, lastJob)
	ours, others := g.Mean(estimate, paper.Noted("error"), 0), g.Mean(lastJob, paper.Noted("error"), 0)
	return []paper.Effect{
		{What: "median error after 5 % of the maps", Unit: "%", Band: [2]float64{0, 10}, Estimate: stats.Mean(ours)},
		{What: "median error by the job before, above that", Unit: "points", Estimate: stats.PairedDifference(ours, others).Estimate},
	}
}

// explain says what becomes of the paper's two numbers, which readings come near to 22 %,
// and what RHC's parts are worth.
func explain(d *paper.Data) string {
	g := d.Grid("loads", claimant, greedy, random, lawOfR, eighth, quarter, coin, lowest)
	skewed := d.Grid("skewed", claimant, greedy, lowest)
	at := func(g *paper.Grid, a, b string) string { return paper.Text(saved(g, a, b, 4), "%") }
	own, most := saved(g, greedy, claimant, 4), saved(g, greedy, lowest, 4)
	published := numbers.Value("fig9", claimant, "largest saving over Greedy")
	text := []string{fmt.Sprintf("RHC saves %s over Random at the load 0.6, and Greedy alone saves %s: that saving needs no look ahead.", at(g, random, claimant), at(g, random, greedy))}
	became := "not reproduced"
	switch {
	case own.Lo >= published:
		became = "reached in this reading"
	case most.Hi < published:
		became = "not reproduced, and is out of reach of any rule in this reading"
	}
	text = append(text, fmt.Sprintf("The published saving over Greedy of up to %g %% is %s: RHC saves %s, and no rule can save more than %s.", published, became, paper.Text(own, "%"), paper.Text(most, "%")))
	text = append(text, fmt.Sprintf("What comes near are strongly skewed sizes, which the text allows and does not say: with one large job of ten RHC saves %s, of at most %s.", at(skewed, greedy, claimant), at(skewed, greedy, lowest)))
	text = append(text, fmt.Sprintf("In RHC's place at that load: the law of the next job's reduce tasks saves %s; a constant probability of 1/8 %s and of 1/4 %s, so that the estimate of the load is not needed; as many jobs deferred blindly %s.",
		at(g, greedy, lawOfR), at(g, greedy, eighth), at(g, greedy, quarter), at(g, greedy, coin)))
	return strings.Join(text, " ")
}
