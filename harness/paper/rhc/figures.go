package rhc

import (
	"heddle/harness/paper"
	"heddle/harness/stats"
)

var cost = paper.Noted("cost")

// saved is the cost that b saves against a in a column, seed by seed.
func saved(g *paper.Grid, a, b string, k int) stats.Estimate {
	return paper.Saved(g.Mean(a, cost, k), g.Mean(b, cost, k))
}

// savedAt is what a scheduler saves against another at a load.
func savedAt(over, label string, k int) func(*paper.Data) stats.Estimate {
	return func(d *paper.Data) stats.Estimate { return saved(d.Grid("loads", over, label), over, label, k) }
}

// savedRow is the row of what one scheduler saves against another.
func savedRow(label, over string) paper.Row {
	return paper.Row{Suffix: label + " over " + over, Once: true, Of: func(g *paper.Grid, _ string, k int) stats.Estimate { return saved(g, over, label, k) }}
}

func parts() []paper.Part {
	all := []string{claimant, greedy, random, lawOfR, eighth, quarter, coin, lowest}
	over := func(labels ...string) (rows []paper.Row) {
		for _, label := range labels {
			rows = append(rows, savedRow(label, greedy))
		}
		return rows
	}
	percent := func(x float64) float64 { return 100 * x }
	return []paper.Part{
		{ID: "fig9", Title: "Cost saved over Greedy by load", Design: "loads", Schedulers: all, Unit: "%", Rows: over(claimant, lawOfR, eighth, quarter, coin, lowest), Published: []paper.Published{
			{What: "saving over Random", Label: claimant, Unit: "%", Ours: savedAt(random, claimant, 4)},
			{What: "largest saving over Greedy", Label: claimant, Unit: "%", Ours: savedAt(greedy, claimant, 4)},
		}, Notes: []string{"“bound over Greedy” is what no rule can save more than. Ours beside the published numbers is at the load 0.6."}},
		{ID: "random", Title: "Figure 9: cost saved over Random by load", Design: "loads", Schedulers: all, Unit: "%", Rows: []paper.Row{savedRow(claimant, random), savedRow(greedy, random), savedRow(lowest, random)}},
		{ID: "costs", Title: "Figure 9: cost of a job by load", Design: "loads", Schedulers: all, Rows: []paper.Row{paper.MeanRow("", cost)}},
		{
			ID: "skewed", Title: "Cost saved over Greedy, where one job of ten has 100 and all others 1", Design: "skewed", Schedulers: []string{claimant, greedy, lowest}, Unit: "%", Rows: over(claimant, lowest),
			Notes: []string{"This reading was found by searching for one that comes near to the published saving. The paper does not have it."},
		},
		{ID: "correlated", Title: "Remark 1: cost saved over Greedy, where jobs with more data take longer", Design: "correlated", Schedulers: []string{claimant, greedy, lowest}, Unit: "%", Rows: over(claimant, lowest)},
		{ID: "system", Title: "What jobs meet, and how many are deferred", Design: "literal", Schedulers: []string{claimant, known}, Rows: []paper.Row{
			{Suffix: "other jobs that a job meets", Once: true, Of: func(g *paper.Grid, label string, k int) stats.Estimate {
				return stats.Mean(g.Mean(label, paper.Noted("met"), k))
			}},
			paper.MeanRow(", jobs deferred %", func(s *paper.Simulation) float64 { return percent(s.Notes["deferred"]) }),
		}},
		{ID: "theorem2", Title: "Theorem 2: cost of a job saved over Greedy, where jobs stay until all have come", Design: "batches", Schedulers: []string{claimant, greedy, optimal, printed, lowest}, Unit: "%", Rows: over(claimant, optimal, printed, lowest)},
		{ID: "table1", Title: "Table I: time of Grep, and what the other rows of its family predict from the intermediate data", Design: "none", Published: table1(), Notes: []string{"The lines are fitted to the published intermediate data, and to compare with them to the published output."}},
		{ID: "fig1", Title: "Figure 1: fetching costs of a tree, with the same data on each node", Design: "none", Published: []paper.Published{
			{What: "H(A)", Label: "Figure 1", Unit: "hops", Ours: func(*paper.Data) stats.Estimate { return paper.Exactly(treeCosts()[0]) }},
			{What: "H(G)", Label: "Figure 1", Unit: "hops", Ours: func(*paper.Data) stats.Estimate { return paper.Exactly(treeCosts()[6]) }},
		}},
		{ID: "fig10", Title: "Figure 10: two Sort jobs on a simulated cluster", Design: "fig10", Schedulers: []string{claimant, greedy, random}, Unit: "s", Rows: []paper.Row{
			paper.MeanRow(", first job", paper.Noted("first")), paper.MeanRow(", second job", paper.Noted("second")),
			paper.MeanRow(", first job, deviation of 5 repeats", paper.Noted("first"+varies)), paper.MeanRow(", second job, deviation of 5 repeats", paper.Noted("second"+varies)),
		}, Notes: []string{
			"Sort keeps its bytes, so both jobs have more than half of their mean data a reduce task, and p is below 1/2: RHC defers neither, whatever the loads are. The enhanced scheduler of Figure 10 is Greedy.",
			"The network is ours. With --set links=even all nodes are alike, and there is nothing to learn.",
			"A seed is one layout of blocks and five repeats. Between these task times differ, and under Random the placement.",
		}},
	}
}

// treeCosts are the fetching costs H of the tree of Figure 1, the hops to all its nodes, A to
// H: A with B, C and D; B with E and F; E with G and H.
func treeCosts() []float64 {
	above := []int{0, 0, 0, 0, 1, 1, 4, 4} // A is above itself
	costs := make([]float64, len(above))
	for u := range above {
		for v := range above {
			for a, b := u, v; a != b; costs[v]++ { // a node is above those with larger numbers only
				if a > b {
					a = above[a]
				} else {
					b = above[b]
				}
			}
		}
	}
	return costs
}

// family are the rows of Table I with regular expressions of one form.
type family struct {
	name                 string
	rows                 []string
	inter, output, times []float64
}

// families are the three of Table I: [a-b]*, [a-b][c-d]* and those that begin a line.
func families() []family {
	list := []family{{name: "[a-b]*"}, {name: "[a-b][c-d]*"}, {name: "^…"}}
	for _, n := range numbers {
		if n.Figure != "table1" {
			continue
		}
		f := &list[0]
		switch {
		case n.Row[0] == '^':
			f = &list[2]
		case len(n.Row) > len("[1-2]*"):
			f = &list[1]
		}
		switch n.Column {
		case "intermediate data":
			f.rows, f.inter = append(f.rows, n.Row), append(f.inter, n.Value)
		case "output":
			f.output = append(f.output, n.Value)
		default:
			f.times = append(f.times, n.Value)
		}
	}
	return list
}

// line is the line of ys through xs.
func line(xs, ys []float64) stats.Line {
	points := make([]stats.Point, len(xs))
	for i := range points {
		points[i] = stats.Point{X: xs[i], Y: ys[i]}
	}
	return stats.LineOf(points)
}

func table1() (list []paper.Published) {
	for _, f := range families() {
		left := line(f.inter, f.times).LeftOut
		for i, row := range f.rows {
			list = append(list, paper.Published{What: "job time", Label: row, Unit: "s", Ours: func(*paper.Data) stats.Estimate { return paper.Exactly(f.times[i] - left[i]) }})
		}
	}
	return list
}
