package clqlmrs

import (
	"fmt"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// numbers are the numbers of the paper.
var numbers = paper.MustNumbers("harness/paper/clqlmrs/published.csv", publishedFile)

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
	var apps []paper.Column
	for _, a := range applications {
		apps = append(apps, column(a.title, "app", a.name))
	}
	return []paper.Design{
		by("cache", "cache of all nodes", column("2 GB", "cache", "2GiB"), column("4 GB", "cache", "4GiB"), column("6 GB", "cache", "6GiB"), column("8 GB", "cache", "8GiB")),
		by("blocks", "block size of the same input", column("64 MB", "block", "64MiB", "maps", "200"), column("128 MB", "block", "128MiB", "maps", "100"), column("256 MB", "block", "256MiB", "maps", "50")),
		by("maps", "maps", maps(10, 20, 30, 40, 50)...),
		by("table4", "maps", maps(10, 25, 50, 100)...),
		by("apps", "application", apps...),
		by("sorts", "application", apps[1:3]...),
		by("waiting", "maps of equal time", column("100 maps", "maps", "100", "cachedPct", "60", "tasks", "equal")),
	}
}

var parts = []paper.Part{
	{
		ID: "fig5", Title: "Cache-locality rate by cache size, WordCount", Design: "cache", Schedulers: fifth, Unit: "%",
		Rows:      []paper.Row{paper.RateRow("", paper.CacheRate), paper.GivenRow("cached anywhere", paper.CachedShare)},
		Published: points("cache", paper.CacheRate, "rise from 4 to 8 GB", 1, 3, fifth),
		Notes:     []string{"The last row is the most that any scheduler can have. The paper does not say whether rises are points or percent; points are taken."},
	},
	{
		ID: "fig6", Title: "Local-task rate by block size, WordCount", Design: "blocks", Schedulers: four, Unit: "%",
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate)},
		Published: points("blocks", paper.LocalRate, "rise from 64 to 256 MB", 0, 2, four),
	},
	{
		ID: "fig7", Title: "Local-task rate by number of maps, WordCount", Design: "maps", Schedulers: four, Unit: "%",
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate)},
		Published: points("maps", paper.LocalRate, "rise from 10 to 50 maps", 0, 4, four),
	},
	{
		ID: "table4", Title: "Cache, data and rack locality by number of maps, WordCount", Design: "table4", Schedulers: four, Unit: "%",
		Rows: []paper.Row{
			paper.RateRow(", cache", paper.CacheRate), paper.GivenRow("cached anywhere", paper.CachedShare),
			paper.RateRow(", cache or data", paper.LocalRate), paper.RateRow(", rack", paper.RackRate),
		},
		Notes: []string{"The cache rates that the paper states are the most at 100 maps. HDFS puts three replicas into both racks of two, so every map is in a rack that has its block."},
	},
	{
		ID: "fig8", Title: "Local-task rate by application", Design: "apps", Schedulers: four, Unit: "%", Kind: paper.Bars,
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate), paper.RateRow(", cache", paper.CacheRate)},
		Published: append(localAbove("mean above FIFO", four[1:]), localByApp()...),
		Notes:     []string{"The paper does not say whether gains are points or percent; points are taken."},
	},
	{
		ID: "fig9", Title: "Execution time by application", Design: "apps", Schedulers: four, Unit: "s", Kind: paper.Bars,
		Rows:      []paper.Row{paper.SecondsRow()},
		Published: slices.Concat(saved("apps", all, fifo, delay, acl, learner), saved("apps", all, delay, learner), saved("apps", all, acl, learner)),
	},
	{
		ID: "table5", Title: "Execution time of Sort and TeraSort", Design: "sorts", Schedulers: four, Unit: "s", Kind: paper.Bars,
		Rows:      []paper.Row{paper.SecondsRow()},
		Published: slices.Concat(saved("sorts", 0, fifo, learner, acl), saved("sorts", 0, acl, learner), saved("sorts", 1, fifo, learner, acl), saved("sorts", 1, acl, learner)),
	},
}

// points compares a rate of each scheduler in two columns of a design.
func points(design string, of paper.Rate, what string, from, to int, labels []string) (list []paper.Published) {
	for _, label := range labels {
		list = append(list, paper.Published{What: what, Label: label, Unit: "points", Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid(design, label)
			return paper.More(g.Shares(label, of, from), g.Shares(label, of, to))
		}})
	}
	return list
}

// localAbove compares schedulers' local rates with FIFO's over the applications.
func localAbove(what string, labels []string) (list []paper.Published) {
	for _, label := range labels {
		list = append(list, paper.Published{What: what, Label: label, Unit: "points", Ours: func(d *paper.Data) stats.Estimate {
			return paper.More(rates(d, fifo, paper.LocalRate), rates(d, label, paper.LocalRate))
		}})
	}
	return list
}

// localByApp compares CLQLMRS's local rate with FIFO's, for each application.
func localByApp() (list []paper.Published) {
	for k, a := range applications {
		list = append(list, paper.Published{What: a.title + " above FIFO", Label: learner, Unit: "points", Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid("apps", fifo, learner)
			return paper.More(g.Shares(fifo, paper.LocalRate, k), g.Shares(learner, paper.LocalRate, k))
		}})
	}
	return list
}

// all stands for all columns of a design together.
const all = -1

// saved compares times with those of one scheduler, in one column of a design or
// in all.
func saved(design string, column int, against string, labels ...string) (list []paper.Published) {
	what, columns := "mean gain over "+against, []int(nil)
	if column != all {
		what, columns = applications[1+column].title+", gain over "+against, []int{column}
	}
	for _, label := range labels {
		list = append(list, paper.Published{What: what, Label: label, Unit: "%", Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid(design, against, label)
			return paper.Saved(g.Seconds(against, columns...), g.Seconds(label, columns...))
		}})
	}
	return list
}
