package clqlmrs

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// designs are what the figures vary.
func designs() []paper.Design {
	by := func(id, x string, columns ...paper.Column) paper.Design {
		return paper.Design{ID: id, X: x, Columns: columns}
	}
	column := func(name string, set ...string) paper.Column {
		c := paper.Column{Name: name, Set: map[string]string{}}
		for i := 0; i < len(set); i += 2 {
			c.Set[set[i]] = set[i+1]
		}
		return c
	}
	maps := func(counts ...int) (columns []paper.Column) {
		for _, n := range counts {
			columns = append(columns, column(fmt.Sprintf("%d maps", n), "maps", fmt.Sprint(n), "cachedPct", "60"))
		}
		return columns
	}
	var apps, room, waiting []paper.Column
	for _, a := range applications {
		apps = append(apps, column(a.title, "app", a.name))
		room = append(room, column(a.title, "app", a.name, "copies", "everywhere"))
	}
	for i := range 8 {
		waiting = append(waiting, column(fmt.Sprintf("placement %d", i+1), "maps", "10", "cachedPct", "60", "tasks", "equal", "layout", fmt.Sprint(i)))
	}
	return []paper.Design{
		by("cache", "cache of all nodes", column("2 GB", "cache", "2GiB"), column("4 GB", "cache", "4GiB"), column("6 GB", "cache", "6GiB"), column("8 GB", "cache", "8GiB")),
		by("blocks", "block size of the same input", column("64 MB", "block", "64MiB", "maps", "200"), column("128 MB", "block", "128MiB", "maps", "100"), column("256 MB", "block", "256MiB", "maps", "50")),
		by("maps", "maps", maps(10, 20, 30, 40, 50)...),
		by("table4", "maps", maps(10, 25, 50, 100)...),
		by("apps", "application", apps...),
		by("sorts", "application", apps[1:3]...),
		by("room", "application, all cached on all nodes", room...),
		by("waiting", "placement of 10 maps", waiting...),
	}
}

var parts = []paper.Part{
	{
		ID: "fig5", Title: "Cache-locality rate by cache size, WordCount", Design: "cache", Schedulers: fifth, Unit: "%",
		Rows:      []paper.Row{paper.RateRow("", paper.CacheRate), paper.GivenRow("cached anywhere", paper.CachedShare)},
		Published: points("cache", paper.CacheRate, "rise from 4 to 8 GB", 1, 3, fifth, "3", "17", "25", "24"),
		Notes:     []string{"The last row is the most that any scheduler can have. The paper does not say whether rises are points or percent; points are taken."},
	},
	{
		ID: "fig6", Title: "Local-task rate by block size, WordCount", Design: "blocks", Schedulers: four, Unit: "%",
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate)},
		Published: points("blocks", paper.LocalRate, "rise from 64 to 256 MB", 0, 2, four, "rises", "rises", "rises", "rises"),
	},
	{
		ID: "fig7", Title: "Local-task rate by number of maps, WordCount", Design: "maps", Schedulers: four, Unit: "%",
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate)},
		Published: points("maps", paper.LocalRate, "rise from 10 to 50 maps", 0, 4, four, "rises", "rises", "rises most", "rises most"),
	},
	{
		ID: "table4", Title: "Cache, data and rack locality by number of maps, WordCount", Design: "table4", Schedulers: four, Unit: "%",
		Rows: []paper.Row{
			paper.RateRow(", cache", paper.CacheRate), paper.GivenRow("cached anywhere", paper.CachedShare),
			paper.RateRow(", cache or data", paper.LocalRate), paper.RateRow(", rack", paper.RackRate),
		},
		Published: append(rateAt(paper.CacheRate, "cache locality at 100 maps (the paper: at most)", 3, four, "25", "35", "46", "55"),
			rateAt(paper.LocalRate, "data locality at 10 maps", 0, four[1:3], "99", "99")...),
		Notes: []string{"HDFS puts three replicas into both racks of two, so every map is in a rack that has its block."},
	},
	{
		ID: "fig8", Title: "Local-task rate by application", Design: "apps", Schedulers: four, Unit: "%", Kind: paper.Bars,
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate), paper.RateRow(", cache", paper.CacheRate)},
		Published: append(localAbove("mean above FIFO", four[1:], "13.8", "17.6", "20.8"), localByApp("17 (derived)", "22", "20", "22", "23")...),
		Notes:     []string{"The paper does not say whether gains are points or percent; points are taken."},
	},
	{
		ID: "fig9", Title: "Execution time by application", Design: "apps", Schedulers: four, Unit: "s", Kind: paper.Bars,
		Rows:      []paper.Row{paper.SecondsRow()},
		Published: append(saved("apps", all, fifo, "8.6 (derived)", delay, "19.4", acl, "26.54", learner), append(saved("apps", all, delay, "19.63", learner), saved("apps", all, acl, "8.98", learner)...)...),
	},
	{
		ID: "table5", Title: "Execution time of Sort and TeraSort", Design: "sorts", Schedulers: four, Unit: "s", Kind: paper.Bars,
		Rows: []paper.Row{paper.SecondsRow()},
		Published: append(append(saved("sorts", 0, fifo, "20", learner, "10.31 (derived)", acl), saved("sorts", 0, acl, "10.8", learner)...),
			append(saved("sorts", 1, fifo, "18.45", learner, "14.70 (derived)", acl), saved("sorts", 1, acl, "4.4", learner)...)...),
	},
}

// points compares a rate of each scheduler in two columns of a design.
func points(design string, of paper.Rate, what string, from, to int, labels []string, published ...string) (list []paper.Published) {
	for i, label := range labels {
		list = append(list, paper.Published{What: what, Label: label, Unit: "points", Value: published[i], Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid(design, label)
			return paper.More(g.Shares(label, of, from), g.Shares(label, of, to))
		}})
	}
	return list
}

// rateAt is a rate of each scheduler in one column of Table 4.
func rateAt(of paper.Rate, what string, column int, labels []string, published ...string) (list []paper.Published) {
	for i, label := range labels {
		list = append(list, paper.Published{What: what, Label: label, Unit: "%", Value: published[i], Ours: func(d *paper.Data) stats.Estimate {
			return stats.MeanShare(d.Grid("table4", label).Shares(label, of, column))
		}})
	}
	return list
}

// localAbove compares schedulers' local rates with FIFO's, in the given columns
// of the applications or in all.
func localAbove(what string, labels []string, published ...string) (list []paper.Published) {
	for i, label := range labels {
		list = append(list, paper.Published{What: what, Label: label, Unit: "points", Value: published[i], Ours: func(d *paper.Data) stats.Estimate {
			return paper.More(rates(d, fifo, paper.LocalRate), rates(d, label, paper.LocalRate))
		}})
	}
	return list
}

// localByApp compares CLQLMRS's local rate with FIFO's, for each application.
func localByApp(published ...string) (list []paper.Published) {
	for k, value := range published {
		list = append(list, paper.Published{What: applications[k].title + " above FIFO", Label: learner, Unit: "points", Value: value, Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid("apps", fifo, learner)
			return paper.More(g.Shares(fifo, paper.LocalRate, k), g.Shares(learner, paper.LocalRate, k))
		}})
	}
	return list
}

// all stands for all columns of a design together.
const all = -1

// saved compares times with those of one scheduler, in one column of a design or
// in all: pairs of a published number and a scheduler's label.
func saved(design string, column int, against string, pairs ...string) (list []paper.Published) {
	what, columns := "mean gain over "+against, []int(nil)
	if column != all {
		what, columns = applications[1+column].title+", gain over "+against, []int{column}
	}
	for i := 0; i < len(pairs); i += 2 {
		label := pairs[i+1]
		list = append(list, paper.Published{What: what, Label: label, Unit: "%", Value: pairs[i], Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid(design, against, label)
			return paper.Saved(g.Seconds(against, columns...), g.Seconds(label, columns...))
		}})
	}
	return list
}
