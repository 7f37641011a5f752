package rhc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/paper"
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
	{ID: "H2", Parts: []string{"fig9", "skewed"}, Published: "up to 22 %", Text: "RHC saves up to 22 % of the cost of Greedy, which is at the largest load; and it saves anything there", Effects: func(d *paper.Data) []paper.Effect {
		size, sign := overWithRoom(d, "loads", greedy, 4, numbers.Value("fig9", claimant, "largest saving over Greedy")), overWithRoom(d, "loads", greedy, 4, 0)
		size.Room, sign.What = oneMore(savings(d.Grid("loads", greedy, lowest), greedy, lowest, 4)), "any "+sign.What
		size.RoomWhy += "; the interval is of one more draw of costs, as the paper's run is one"
		return []paper.Effect{size, sign}
	}},
	{ID: "H2b", Parts: []string{"fig9"}, Published: "grows", Text: "the saving over Greedy grows with the load, and is above 0 at the largest", Effects: func(d *paper.Data) (list []paper.Effect) {
		g := d.Grid("loads", greedy, claimant)
		for k := range len(loads) - 1 {
			list = append(list, paper.Effect{
				What: fmt.Sprintf("saving over Greedy from load %s to %s", loadName(k), loadName(k+1)), Unit: "points",
				Estimate: stats.PairedDifference(savings(g, greedy, claimant, k), savings(g, greedy, claimant, k+1)).Estimate,
			})
		}
		return append(list, overWithRoom(d, "loads", greedy, 4, 0))
	}},
	{ID: "H2c", Kind: paper.Check, Parts: []string{"fig9"}, Published: "-", Text: "read by the letter and with the load known, RHC saves over Greedy what another program has in the mean of 20 draws, within half a point: -0.08, 0.43, 2.18 % at loads 0.2, 0.4, 0.6", Effects: func(d *paper.Data) (list []paper.Effect) {
		for i, k := range []int{0, 2, 4} {
			list = append(list, within("literal", saved(d.Grid("literal", greedy, known), greedy, known, k), []float64{-.08, .43, 2.18}[i], .5, k, "saving over Greedy", "%"))
		}
		return list
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
	{ID: "H7", Parts: []string{"table1"}, Published: "linear, slopes differ", Text: "Table I: in each family of expressions time rises with the intermediate data, on a line that predicts a row left out better than one on the output does; the slopes of any two families differ", Effects: func(*paper.Data) (list []paper.Effect) {
		all := families()
		for _, f := range all {
			l := line(f.inter, f.times)
			list = append(list, paper.Effect{What: "slope of " + f.name, Unit: "s/MB", Estimate: l.Slope}, leftOut(f.name, l.LeftOut, line(f.output, f.times).LeftOut))
		}
		for i, a := range all {
			for _, b := range all[i+1:] {
				list = append(list, paper.Effect{What: "slopes of " + a.name + " and " + b.name + " apart", Unit: "s/MB", Estimate: slopesApart(a, b)})
			}
		}
		return list
	}},
	{ID: "H7b", Kind: paper.ReportOnly, Parts: []string{"table1"}, Published: "-", Text: "why Table I can hardly tell whether intermediate data or output makes a job slow: the two rise together", Effects: func(*paper.Data) (list []paper.Effect) {
		for _, f := range families() {
			list = append(list, paper.Effect{What: "intermediate data that output explains, " + f.name, Unit: "%", Estimate: paper.Exactly(100 * line(f.output, f.inter).R2)})
		}
		return list
	}},
	{ID: "H8", Parts: []string{"fig10"}, Published: "shorter, smaller variance", Text: "Figure 10: with the costs of slots learnt from reduce times, each of two Sort jobs is faster by at least 5 %, and varies less, with RHC than placed at random; the network is ours", Effects: func(d *paper.Data) (list []paper.Effect) {
		g := d.Grid("fig10", claimant, random)
		of := func(label, what string) []float64 { return g.Mean(label, paper.Noted(what), 0) }
		for _, job := range []string{"first", "second"} {
			list = append(list, paper.Effect{What: "time of the " + job + " job saved over Random", Unit: "%", Least: 5, Estimate: paper.Saved(of(random, job), of(claimant, job))})
		}
		for _, job := range []string{"first", "second"} {
			list = append(list, paper.Effect{What: "deviation of the " + job + " job's time between repeats by Random", Unit: "times that by RHC", None: 1, Least: 1, Estimate: stats.PairedRatio(of(claimant, job+varies), of(random, job+varies)).Estimate})
		}
		return list
	}},
	{ID: "H9", Kind: paper.ReportOnly, Parts: []string{"fig1"}, Published: numbers.Text("fig3", "Sort", "time with bad placement") + " times longer", Text: "Figure 3: placement alone changes a job's time. Shown are costs: of the worst two nodes of Figure 1's tree against the best two. The paper does not give the network that would make times of them; the experiment fig3.yaml measures times on a cluster", Effects: func(*paper.Data) []paper.Effect {
		c := treeCosts() // C, D, G and H are the worst, B is the best, A and E come next
		return []paper.Effect{{What: "cost of the worst placement of two reduce tasks", Unit: "times the best", None: 1, Estimate: paper.Exactly((c[6] + c[7]) / (c[1] + c[0]))}}
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

var notJudged = []paper.NotJudged{
	{Says: "Theorem 3: in a stable system with exponential times and a fixed number of reduce tasks, the best rule has thresholds over sets of slots", Why: "thresholds are not computed in the paper. Its step (11), that a smaller sum of costs now is a larger one later, is false from two reduce tasks on: of costs 1 to 6, {1,6} and {3,4} have the same sum, and leave different slots to the next job"},
	{Says: "a job's data is estimated accurately from its first maps", Why: "what decides it is how unlike a job's maps are, which a simulation would make up; the experiment live.yaml measures it on a cluster"},
	{Says: "Figure 2: Grep moves 4.9 GB and Sort 20.3 GB over the network", Why: "it is about two programs, and not about a scheduler"},
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

// leftOut asks that errors of rows left out are smaller by the first, the intermediate data.
func leftOut(family string, errors, byOutput []float64) paper.Effect {
	gain := make([]float64, len(errors))
	for k := range gain {
		gain[k] = math.Abs(byOutput[k]) - math.Abs(errors[k])
	}
	e := paper.Effect{What: "error of a row left out by output, above that by intermediate data, " + family, Unit: "s", Estimate: stats.Mean(gain)}
	e.N = 0 // rows, of which there are no more
	return e
}

// slopesApart returns how far the slopes of two families are apart, as one of three such pairs.
func slopesApart(a, b family) stats.Estimate {
	reach := func(f family) (slope, margin float64) {
		e := line(f.inter, f.times).Slope
		return e.Value, (e.Hi - e.Value) * stats.Widening(3, float64(len(f.times)-2))
	}
	x, mx := reach(a)
	y, my := reach(b)
	apart, margin := math.Abs(x-y), math.Hypot(mx, my)
	return stats.Estimate{Value: apart, Lo: apart - margin, Hi: apart + margin}
}

// oneMore returns the interval in which one more value lies, and not that of the mean.
func oneMore(xs []float64) stats.Estimate {
	e := stats.Mean(xs)
	wider := math.Sqrt(float64(e.N + 1))
	e.Lo, e.Hi = e.Value-(e.Value-e.Lo)*wider, e.Value+(e.Hi-e.Value)*wider
	return e
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
	case oneMore(savings(g, greedy, lowest, 4)).Hi < published:
		became = "not reproduced, and is out of reach of any rule in this reading"
	}
	text = append(text, fmt.Sprintf("The published saving over Greedy of up to %g %% is %s: RHC saves %s, and no rule can save more than %s.", published, became, paper.Text(own, "%"), paper.Text(most, "%")))
	text = append(text, fmt.Sprintf("What comes near are strongly skewed sizes, which the text allows and does not say: with one large job of ten RHC saves %s, of at most %s.", at(skewed, greedy, claimant), at(skewed, greedy, lowest)))
	text = append(text, fmt.Sprintf("In RHC's place at that load: the law of the next job's reduce tasks saves %s; a constant probability of 1/8 %s and of 1/4 %s, so that the estimate of the load is not needed; as many jobs deferred blindly %s.",
		at(g, greedy, lawOfR), at(g, greedy, eighth), at(g, greedy, quarter), at(g, greedy, coin)))
	return strings.Join(text, " ")
}
