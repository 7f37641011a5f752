package modfair

import (
	"fmt"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// claims are the paper's, and those that its tables imply. A tenth is asked for
// where the paper has a third to two thirds.
var claims = []paper.Claim{
	{ID: "F1", Beats: fasterIn("B"), Parts: []string{"table7"}, Published: numbers.Text("table7", modified, designB.Names(gain)...) + " %", Text: "B: Modified is faster than Original at 5, 10 and 15 jobs, by at least 10 %", Effects: func(d *paper.Data) []paper.Effect {
		return over(3, func(k int) paper.Effect { return d.Saves("B", original, modified, 10, k) })
	}},
	{ID: "F2", Parts: []string{"table7"}, Published: numbers.Text("table7", fifo, designB.Names(gain)...) + " %", Text: "B: FIFO is faster than Original at 5, 10 and 15 jobs, by at least 10 %", Effects: func(d *paper.Data) []paper.Effect {
		return over(3, func(k int) paper.Effect { return d.Saves("B", original, fifo, 10, k) })
	}},
	{ID: "F3", Beats: fasterIn("B"), Parts: []string{"table7"}, Published: numbers.Text("table7", modified, designB.Names("time saved against FIFO, ")...) + " %", Text: "B: Modified is faster than FIFO at 5 and 10 jobs, by at least 5 %, and slower at 15", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{d.Saves("B", fifo, modified, 5, 0), d.Saves("B", fifo, modified, 5, 1), d.Saves("B", modified, fifo, 0, 2)}
	}},
	{ID: "F4", Beats: fasterIn("A"), Parts: []string{"table5"}, Published: numbers.Text("table5", modified, "time saved, least", "time saved, most") + " % are the least and the most of nine", Text: "A: Modified is faster than Original by at least 10 % in 7 of 9 cells, and slower by 5 % in none", Effects: mostCells},
	{ID: "F5", Kind: paper.Check, Parts: []string{"table5"}, Published: numbers.Text("text", modified, "turnaround"), Text: "A: turnaround grows with the number of jobs and with their size, with either scheduler", Effects: growth},
	{ID: "F5b", Kind: paper.ReportOnly, Parts: []string{"table5"}, Published: numbers.Text("table5", modified, longer) + ", Original " + numbers.Text("table5", original, longer), Text: "A: how many times as long jobs of 18 maps take as jobs of 6, at 5 jobs. It depends on task times, which the paper does not give", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{longerBy(d, modified, 0, 6), longerBy(d, original, 0, 6)}
	}},
	{ID: "F6", Beats: moreLocal, Parts: []string{"table6"}, Published: numbers.Text("table6", modified, "points gained, mean of nine"), Text: "A: more maps of Modified are node-local, by at least 2 points in the mean of the cells", Effects: func(d *paper.Data) []paper.Effect { return []paper.Effect{moreLocal(d, original)} }},
	{ID: "F7", Kind: paper.Check, Parts: []string{"mechanisms"}, Published: numbers.Text("text", modified, "sharedPool"), Text: "M1 is on in B, and off all the time in A; ours is the share of the time in B", Effects: classification},
	{ID: "F8", Beats: steadierInA, Parts: []string{"table6"}, Published: numbers.Text("text", modified, "locality against Original"), Text: "A: locality of Modified is steadier from run to run under the same input: its deviation, against that by chance at its level, is at most 0.8 of Original's", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{steadierInA(d, original)}
	}},
	{ID: "F9", Beats: fasterIn("A"), Parts: []string{"table5"}, Published: numbers.Text("table5", modified, gain+designA.Columns[0].Name) + " to " + numbers.Text("table5", modified, gain+designA.Columns[6].Name) + " % at 5 jobs", Text: "A: the gain grows with the size of jobs, over 6, 10 and 18 maps, at 5, 10 and 15 jobs, and is above 0 with 18", Effects: func(d *paper.Data) []paper.Effect {
		gain := d.Saves("A", original, modified, 0, 6, 7, 8)
		gain.What += " with 18 maps"
		return paper.Gaining(gain, over(3, func(k int) paper.Effect { return gainBySize(d, k) })...)
	}},
	{ID: "F10", Beats: fasterIn("B"), Parts: []string{"table5", "table7"}, Published: numbers.Text("table7", modified, "mean logarithm") + " against " + numbers.Text("table5", modified, "mean logarithm"), Text: "B gains, and more than A: the mean logarithm of the ratio differs by at least 0.10", Effects: func(d *paper.Data) []paper.Effect {
		a, b := d.LogRatios("A", original, modified), d.LogRatios("B", original, modified)
		return paper.Gaining(fasterThan(d, "B", original, modified).WithLeast(0), paper.Effect{What: "logarithm gained in B above A", Unit: "in logarithms", Estimate: stats.PairedDifference(b, a).Estimate, Least: 0.1})
	}},
	{ID: "F11", Parts: []string{"table6"}, Published: numbers.Text("table6", modified, "points gained, 18 maps above 6") + " points more", Text: fmt.Sprintf("A: the gain in node-local maps is clearer for larger jobs: from 6 to 18 maps it rises by at least %.1f points, a third of what the tables have, and it is above 0 with 18", numbers.Third("table6", modified, "points gained, 18 maps above 6")), Effects: localityBySize},
	{ID: "F12", Parts: []string{"locality"}, Published: numbers.Text("text", "m5", "locality"), Text: "A: only M5 looks at locality: alone, it raises the share of node-local maps, and the others change it by 2 points at most", Effects: onlyM5},
	{ID: "F13", Parts: []string{"ablation"}, Published: numbers.Text("text", "m2", "in A"), Text: "A: M2 makes no difference: alone, it changes the mean turnaround by 5 % at most", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{within(5, fasterThan(d, "A", original, alone("m2")))}
	}},
	{ID: "F14", Parts: []string{"table8"}, Published: numbers.Text("text", "all schedulers", "locality in B"), Text: "B: the schedulers' shares of node-local maps are close: within 5 points of Original's", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{within(5, morePoints(d, "B", original, modified)), within(5, morePoints(d, "B", original, fifo))}
	}},
	{ID: "F15", Beats: fasterIn("B"), Parts: []string{"table5", "table7"}, Published: numbers.Text("text", modified, "time saved, introduction") + " %", Text: "Modified is faster than Original by more than 20 %, in the mean of A and in that of B", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{fasterThan(d, "B", original, modified).WithLeast(20), fasterThan(d, "A", original, modified).WithLeast(20)}
	}},
}

// longer is the column of Table 5 for what 18 maps take, in times of what 6 take.
const longer = "18 maps against 6 at 5 jobs"

// measures are shown of each reading.
var measures = []paper.Measure{
	{Name: "time saved in B", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return d.SavedIn("B", original, modified) }},
	{Name: "time saved in A", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return d.SavedIn("A", original, modified) }},
	{Name: "node-local in A", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return stats.Mean(localIn(d, "A", modified)) }},
	paper.PriceInPercent("A", original, paper.RemoteMap),
}

func over(n int, of func(int) paper.Effect) (list []paper.Effect) {
	for k := range n {
		list = append(list, of(k))
	}
	return list
}

// fasterIn asks that Modified takes 5 % less time than a setting of Original that
// anybody could choose, over all columns of a design.
func fasterIn(design string) func(*paper.Data, string) paper.Effect {
	return func(d *paper.Data, bar string) paper.Effect { return fasterThan(d, design, bar, modified) }
}

func fasterThan(d *paper.Data, design, a, b string) paper.Effect {
	return paper.Effect{What: fmt.Sprintf("time that %s saves in %s against %s", b, design, a), Unit: "%", Estimate: d.SavedIn(design, a, b), Least: 5}
}

// mostCells asks for the seventh best of the nine cells, and for the worst.
func mostCells(d *paper.Data) []paper.Effect {
	g := d.Grid("A", original, modified)
	seventh, worst := paper.Effect{What: "seventh best of nine", Unit: "%", Least: 10}, paper.Effect{What: "worst of nine", Unit: "%", None: -5, Least: -5}
	for k, e := range map[int]*paper.Effect{7: &seventh, 9: &worst} {
		column, saved := g.KthSaved(k, original, modified)
		if e.Estimate = saved; column >= 0 && column < len(g.Columns) {
			e.What += fmt.Sprintf(": time that %s saves against %s with %s", modified, original, g.Columns[column])
		}
	}
	return []paper.Effect{seventh, worst}
}

// longerBy is how many times as long a scheduler takes in column k of A as in column i.
func longerBy(d *paper.Data, label string, i, k int) paper.Effect {
	g := d.Grid("A", label)
	return paper.Effect{What: fmt.Sprintf("%s, %s against %s", label, designA.Columns[k].Name, designA.Columns[i].Name), Unit: "times as long", Estimate: paper.Times(g.Seconds(label, i), g.Seconds(label, k)), None: 1, Least: 1}
}

func growth(d *paper.Data) (list []paper.Effect) {
	for _, label := range []string{modified, original} {
		for k := range 9 {
			if k%3 < 2 {
				list = append(list, longerBy(d, label, k, k+1))
			}
			if k < 6 {
				list = append(list, longerBy(d, label, k, k+3))
			}
		}
	}
	return list
}

// gainBySize is by how much the time saved rises with each map that jobs have more.
func gainBySize(d *paper.Data, k int) paper.Effect {
	g := d.Grid("A", original, modified)
	var slopes []float64
	for i := range g.Seconds(original, k) {
		var points []stats.Point
		for j, size := range jobSizes {
			points = append(points, stats.Point{X: float64(size), Y: 100 * (1 - g.Seconds(modified, 3*j+k)[i]/g.Seconds(original, 3*j+k)[i])})
		}
		slopes = append(slopes, stats.LineOf(points).Slope.Value)
	}
	return paper.Effect{What: fmt.Sprintf("rise of the time saved at %d jobs", jobCounts[k]), Unit: "points a map", Estimate: stats.Mean(slopes)}
}

// localIn is the share of node-local maps in columns of a design, in percent and for each
// seed: the mean over columns, each of which counts equally.
func localIn(d *paper.Data, design, label string, columns ...int) []float64 {
	g := d.Grid(design, label)
	return g.Mean(label, func(s *paper.Simulation) float64 { return paper.LocalRate(s).Percent() }, columns...)
}

// morePoints is by how many points b's share of node-local maps is above a's.
func morePoints(d *paper.Data, design, a, b string) paper.Effect {
	e := paper.Effect{What: fmt.Sprintf("node-local maps of %s above those of %s", b, a), Unit: "points"}
	e.Estimate = stats.PairedDifference(localIn(d, design, a), localIn(d, design, b)).Estimate
	return e
}

// moreLocal asks for 2 points more node-local maps than another scheduler has in
// the mean of the cells of A.
func moreLocal(d *paper.Data, other string) paper.Effect {
	e := morePoints(d, "A", other, modified).WithLeast(2)
	has := localIn(d, "A", other)
	e.Room = stats.PairedDifference(has, slices.Repeat([]float64{100}, len(has))).Estimate
	e.RoomWhy = fmt.Sprintf("%s is at %.1f %%", other, 100-e.Room.Value)
	return e
}

func localityBySize(d *paper.Data) []paper.Effect {
	gained := func(columns ...int) []float64 {
		a, b := localIn(d, "A", original, columns...), localIn(d, "A", modified, columns...)
		for i := range b {
			b[i] -= a[i]
		}
		return b
	}
	small, large := gained(0, 1, 2), gained(6, 7, 8)
	const column = "points gained, 18 maps above 6"
	more := paper.Effect{What: "node-local maps gained with 18 maps above those with 6", Unit: "points", Estimate: stats.PairedDifference(small, large).Estimate, Least: numbers.Third("table6", modified, column), Published: numbers.Value("table6", modified, column)}
	return paper.Gaining(paper.Effect{What: "node-local maps gained with 18 maps", Unit: "points", Estimate: stats.Mean(large)}, more)
}

func onlyM5(d *paper.Data) []paper.Effect {
	list := over(5, func(k int) paper.Effect { return within(2, morePoints(d, "A", original, alone(mechanisms[4-k]))) })
	list[0].Band = [2]float64{} // M5 is to raise the share
	return list
}

// within asks for equivalence: for a difference of so much at most, up or down.
func within(most float64, e paper.Effect) paper.Effect {
	e.Band = [2]float64{-most, most}
	return e
}

func classification(d *paper.Data) []paper.Effect {
	on, off := d.Grid("B", modified).Mean(modified, sharedTime), d.Grid("A", modified).Mean(modified, func(s *paper.Simulation) float64 { return 100 - sharedTime(s) })
	return []paper.Effect{
		{What: "share of the time with M1 on in B", Unit: "%", Estimate: stats.Mean(on)},
		{What: "share of the time with M1 off in A", Unit: "%", Estimate: stats.Mean(off), Least: 100},
	}
}

func steadierInA(d *paper.Data, bar string) paper.Effect {
	return d.Steadier(sameA.ID, "local rate", paper.LocalRate, bar, modified).WithLeast(1.25)
}
