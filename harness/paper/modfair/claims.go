package modfair

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// claims are the paper's, and those that its tables imply. A tenth is asked for
// where the paper has a third to two thirds.
var claims = []paper.Claim{
	{ID: "F1", Beats: fasterIn("B", 3), Parts: []string{"table7"}, Published: numbers.Text("table7", modified, columnNames("B", "time saved, ")...) + " %", Text: "B: Modified is faster than Original at 5, 10 and 15 jobs, by at least 10 %", Effects: func(d *paper.Data) []paper.Effect {
		return over(3, func(k int) paper.Effect { return atLeast(10, saved(d, "B", original, modified, k)) })
	}},
	{ID: "F2", Parts: []string{"table7"}, Published: numbers.Text("table7", fifo, columnNames("B", "time saved, ")...) + " %", Text: "B: FIFO is faster than Original at 5, 10 and 15 jobs, by at least 10 %", Effects: func(d *paper.Data) []paper.Effect {
		return over(3, func(k int) paper.Effect { return atLeast(10, saved(d, "B", original, fifo, k)) })
	}},
	{ID: "F3", Beats: fasterIn("B", 3), Parts: []string{"table7"}, Published: numbers.Text("table7", modified, columnNames("B", "time saved against FIFO, ")...) + " %", Text: "B: Modified is faster than FIFO at 5 and 10 jobs, by at least 5 %, and slower at 15", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{atLeast(5, saved(d, "B", fifo, modified, 0)), atLeast(5, saved(d, "B", fifo, modified, 1)), saved(d, "B", modified, fifo, 2)}
	}},
	{ID: "F4", Beats: fasterIn("A", 9), Parts: []string{"table5"}, Published: numbers.Text("table5", modified, "time saved, least", "time saved, most") + " % are the least and the most of nine", Text: "A: Modified is faster than Original by at least 10 % in 7 of 9 cells, and slower by 5 % in none", Effects: mostCells},
	{ID: "F5", Parts: []string{"table5"}, Published: numbers.Text("table5", modified, longer) + ", Original " + numbers.Text("table5", original, longer), Text: "A: turnaround grows with the number of maps: at 5 jobs, 18 maps take more than 3 times as long as 6, with either scheduler", Effects: growth},
	{ID: "F6", Beats: moreLocal, Parts: []string{"table6"}, Published: numbers.Text("table6", modified, "points gained, mean of nine"), Text: "A: more maps of Modified are node-local, by at least 2 points in the mean of the cells", Effects: locality},
	{ID: "F7", Parts: []string{"mechanisms"}, Published: numbers.Text("text", modified, "sharedPool"), Text: "M1 is on in B, and off all the time in A; ours is the share of the time in B", Effects: classification},
	{ID: "F8", Beats: steadierInA, Parts: []string{"table6", "table8"}, Published: numbers.Text("text", modified, "locality against Original"), Text: "locality of Modified is steadier from run to run: its deviation is at most 0.8 of Original's", Effects: steadiness},
	{ID: "F9", Beats: fasterIn("A", 9), Parts: []string{"table5"}, Published: numbers.Text("table5", modified, gain("A", 0)) + " to " + numbers.Text("table5", modified, gain("A", 6)) + " % at 5 jobs", Text: "A: the gain grows with the size of jobs, from 6 to 18 maps, at 5, 10 and 15 jobs", Effects: func(d *paper.Data) []paper.Effect {
		return over(3, func(k int) paper.Effect {
			g := d.Grid("A", original, modified)
			e := paper.Effect{What: fmt.Sprintf("rise of the time saved at %d jobs", jobCounts[k]), Unit: "points"}
			e.Estimate = stats.PairedDifference(savedEach(g, k), savedEach(g, 6+k)).Estimate
			return e
		})
	}},
	{ID: "F10", Beats: fasterIn("B", 3), Parts: []string{"table5", "table7"}, Published: numbers.Text("table7", modified, "mean logarithm") + " against " + numbers.Text("table5", modified, "mean logarithm"), Text: "B gains more than A: the mean logarithm of the ratio differs by at least 0.10", Effects: func(d *paper.Data) []paper.Effect {
		a, b := meanLog(d.Grid("A", original, modified), 9), meanLog(d.Grid("B", original, modified), 3)
		return []paper.Effect{{What: "logarithm gained in B above A", Unit: "in logarithms", Estimate: stats.PairedDifference(b, a).Estimate, Least: 0.1}}
	}},
}

// longer is the column of Table 5 for what 18 maps take, in times of what 6 take.
const longer = "18 maps against 6 at 5 jobs"

// measures are shown of each reading.
var measures = []paper.Measure{
	{Name: "time saved in B", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return savedIn(d, "B", 3, original, modified) }},
	{Name: "time saved in A", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return savedIn(d, "A", 9, original, modified) }},
	{Name: "node-local in A", Unit: "%", Of: func(d *paper.Data) stats.Estimate {
		return stats.MeanShare(d.Grid("A", modified).Shares(modified, paper.LocalRate))
	}},
}

func over(n int, of func(int) paper.Effect) (list []paper.Effect) {
	for k := range n {
		list = append(list, of(k))
	}
	return list
}

func atLeast(percent float64, e paper.Effect) paper.Effect {
	e.Least = percent
	return e
}

// saved is the time that b saves against a in one column of a design.
func saved(d *paper.Data, design, a, b string, k int) paper.Effect {
	g := d.Grid(design, a, b)
	return paper.Effect{What: fmt.Sprintf("time that %s saves against %s with %s", b, a, columnName(design, k)), Unit: "%", Estimate: paper.Saved(g.Seconds(a, k), g.Seconds(b, k))}
}

// fasterIn asks that Modified takes 5 % less time than a setting of Original that
// anybody could choose, over all columns of a design.
func fasterIn(design string, columns int) func(*paper.Data, string) paper.Effect {
	return func(d *paper.Data, bar string) paper.Effect { return fasterThan(d, design, columns, bar, modified) }
}

func fasterThan(d *paper.Data, design string, columns int, a, b string) paper.Effect {
	return paper.Effect{What: fmt.Sprintf("time that %s saves in %s against %s", b, design, a), Unit: "%", Estimate: savedIn(d, design, columns, a, b), Least: 5}
}

// savedIn is the time that b saves against a over all columns of a design, as the
// geometric mean.
func savedIn(d *paper.Data, design string, columns int, a, b string) stats.Estimate {
	g := d.Grid(design, a, b)
	var logs []float64
	for k := range columns {
		x, y := g.Seconds(a, k), g.Seconds(b, k)
		for i := range x {
			if k == 0 {
				logs = append(logs, 0)
			}
			logs[i] += math.Log(y[i]/x[i]) / float64(columns)
		}
	}
	e := stats.Mean(logs)
	e.Value, e.Lo, e.Hi = 100*(1-math.Exp(e.Value)), 100*(1-math.Exp(e.Hi)), 100*(1-math.Exp(e.Lo))
	return e
}

// savedEach is the time saved in one column, in percent, for each seed.
func savedEach(g *paper.Grid, k int) []float64 {
	a, b := g.Seconds(original, k), g.Seconds(modified, k)
	list := make([]float64, len(a))
	for i := range a {
		list[i] = 100 * (1 - b[i]/a[i])
	}
	return list
}

// meanLog is the mean over columns of ln(Modified/Original), for each seed.
func meanLog(g *paper.Grid, columns int) []float64 {
	var list []float64
	for k := range columns {
		a, b := g.Seconds(original, k), g.Seconds(modified, k)
		if list == nil {
			list = make([]float64, len(a))
		}
		for i := range a {
			list[i] += math.Log(b[i]/a[i]) / float64(columns)
		}
	}
	return list
}

// mostCells asks for the seventh best of the nine cells, and for the worst.
func mostCells(d *paper.Data) []paper.Effect {
	cells := over(9, func(k int) paper.Effect { return saved(d, "A", original, modified, k) })
	slices.SortFunc(cells, func(a, b paper.Effect) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	})
	seventh, worst := atLeast(10, cells[6]), cells[8]
	seventh.What, worst.What = "seventh best of nine: "+seventh.What, "worst of nine: "+worst.What
	worst.None, worst.Least = -5, -5
	return []paper.Effect{seventh, worst}
}

func growth(d *paper.Data) []paper.Effect {
	g := d.Grid("A", original, modified)
	var list []paper.Effect
	for _, label := range []string{modified, original} {
		e := paper.Effect{What: "18 maps take with " + label, Unit: "times as long as 6", Estimate: paper.Times(g.Seconds(label, 0), g.Seconds(label, 6)), None: 1, Least: 3}
		list = append(list, e)
	}
	for k := range 9 {
		if k%3 == 2 {
			continue
		}
		e := paper.Effect{What: modified + " from " + columnName("A", k) + " to " + columnName("A", k+1), Unit: "times as long", Estimate: paper.Times(g.Seconds(modified, k), g.Seconds(modified, k+1)), None: 1, Least: 1}
		list = append(list, e)
	}
	return list
}

func locality(d *paper.Data) []paper.Effect { return []paper.Effect{moreLocal(d, original)} }

// moreLocal asks for 2 points more node-local maps than another scheduler has in
// the mean of the cells of A.
func moreLocal(d *paper.Data, other string) paper.Effect {
	g := d.Grid("A", other, modified)
	var rises, left []float64
	for k := range 9 {
		a, b := paper.Percents(g.Shares(other, paper.LocalRate, k)), paper.Percents(g.Shares(modified, paper.LocalRate, k))
		for i := range a {
			if k == 0 {
				rises, left = append(rises, 0), append(left, 0)
			}
			rises[i] += (b[i] - a[i]) / 9
			left[i] += (100 - a[i]) / 9
		}
	}
	e := paper.Effect{What: fmt.Sprintf("node-local maps of %s above those of %s", modified, other), Unit: "points", Estimate: stats.Mean(rises), Least: 2}
	e.Room = stats.Mean(left)
	e.RoomWhy = fmt.Sprintf("%s is at %.1f %%", other, 100-e.Room.Value)
	return e
}

func classification(d *paper.Data) []paper.Effect {
	on := func(design string) []float64 { return d.Grid(design, modified).Mean(modified, sharedTime) }
	off := on("A")
	for i := range off {
		off[i] = 100 - off[i]
	}
	exact := func(xs []float64) stats.Estimate {
		e := stats.Mean(xs)
		if !slices.ContainsFunc(xs, func(x float64) bool { return x != xs[0] }) {
			e.Lo, e.Hi = e.Value, e.Value
		}
		return e
	}
	return []paper.Effect{
		{What: "share of the time with M1 on in B", Unit: "%", Estimate: exact(on("B"))},
		{What: "share of the time with M1 off in A", Unit: "%", Estimate: exact(off), Least: 100},
	}
}

func steadiness(d *paper.Data) []paper.Effect {
	return []paper.Effect{steadierIn(d, "A", 9, original), steadierIn(d, "B", 3, original)}
}

func steadierInA(d *paper.Data, bar string) paper.Effect { return steadierIn(d, "A", 9, bar) }

// steadierIn compares deviations of locality over seeds with those of another
// scheduler. The interval is that of a ratio of deviations of normal values, whose
// logarithm has an error of about 1/sqrt(n-1).
func steadierIn(d *paper.Data, design string, columns int, other string) paper.Effect {
	g := d.Grid(design, other, modified)
	ratio, n := 0.0, 0
	for k := range columns {
		a, b := paper.Percents(g.Shares(other, paper.LocalRate, k)), paper.Percents(g.Shares(modified, paper.LocalRate, k))
		n = len(a)
		ratio += math.Log(max(stats.Deviation(a), 0.1)/max(stats.Deviation(b), 0.1)) / float64(columns)
	}
	e := stats.Estimate{Value: math.Exp(ratio), N: n}
	margin := 1.96 / math.Sqrt(float64(max(1, n-1))*float64(columns))
	e.Lo, e.Hi = math.Exp(ratio-margin), math.Exp(ratio+margin)
	return paper.Effect{What: fmt.Sprintf("deviation of the locality of %s in %s", other, design), Unit: "times " + modified + "'s", Estimate: e, None: 1, Least: 1.25}
}
