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
	maps := func(counts ...int) (columns []paper.Column) {
		for _, n := range counts {
			columns = append(columns, paper.In(fmt.Sprintf("%d maps", n), "maps", fmt.Sprint(n), "cachedPct", "60"))
		}
		return columns
	}
	var apps []paper.Column
	for _, a := range applications {
		apps = append(apps, paper.In(a.title, "app", a.name))
	}
	return []paper.Design{
		{ID: "cache", X: "cache of all nodes", Columns: []paper.Column{
			paper.In(
				"2 GB",
				"cache",
				"2GiB",
			),
			paper.In("4 GB", "cache", "4GiB"),
			paper.In("6 GB", "cache", "6GiB"),
			paper.In("8 GB", "cache", "8GiB"),
		}},
		{ID: "blocks", X: "block size of the same input", Columns: []paper.Column{
			paper.In(
				"64 MB",
				"block",
				"64MiB",
				"maps",
				"200",
			),
			paper.In("128 MB", "block", "128MiB", "maps", "100"),
			paper.In("256 MB", "block", "256MiB", "maps", "50"),
		}},
		{ID: "maps", X: "maps", Columns: maps(10, 20, 30, 40, 50)},
		{ID: "table4", X: "maps", Columns: maps(10, 25, 50, 100)},
		{ID: "apps", X: "application", Columns: apps},
		{ID: "sorts", X: "application", Columns: apps[1:3]},
		{
			ID:      "waiting",
			X:       "maps of equal time",
			Columns: []paper.Column{paper.In("100 maps", "maps", "100", "cachedPct", "60", "tasks", "equal")},
		},
	}
}

var parts = []paper.Part{
	{
		ID:         "fig5",
		Title:      "Cache-locality rate by cache size, WordCount",
		Design:     "cache",
		Schedulers: fifth,
		Unit:       "%",
		Rows:       []paper.Row{paper.RateRow("", paper.CacheRate), paper.GivenRow("cached anywhere", paper.CachedShare)},
		Published:  points("cache", paper.CacheRate, "rise from 4 to 8 GB", 1, 3, fifth),
		Notes: []string{
			"The last row is the most that any scheduler can have. The paper does not say whether rises are points or percent; points are taken.",
		},
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
		ID:         "table4",
		Title:      "Cache, data and rack locality by number of maps, WordCount",
		Design:     "table4",
		Schedulers: four,
		Unit:       "%",
		Rows: []paper.Row{
			paper.RateRow(", cache", paper.CacheRate), paper.GivenRow("cached anywhere", paper.CachedShare),
			paper.RateRow(", cache or data", paper.LocalRate), paper.RateRow(", rack", paper.RackRate),
		},
		Notes: []string{
			"The cache rates that the paper states are the most at 100 maps. HDFS puts three replicas into both racks of two, so every map is " +
				"in a rack that has its block.",
		},
	},
	{
		ID: "fig8", Title: "Local-task rate by application", Design: "apps", Schedulers: four, Unit: "%", Kind: paper.Bars,
		Rows:      []paper.Row{paper.RateRow("", paper.LocalRate), paper.RateRow(", cache", paper.CacheRate)},
		Published: append(localAbove("mean above FIFO", four[1:]), localByApp()...),
		Notes:     []string{"The paper does not say whether gains are points or percent; points are taken."},
	},
	{
		ID:         "fig9",
		Title:      "Execution time by application",
		Design:     "apps",
		Schedulers: four,
		Unit:       "s",
		Kind:       paper.Bars,
		Rows:       []paper.Row{paper.SecondsRow()},
		Published: slices.Concat(
			saved("apps", "mean gain over ", nil, fifo, delay, acl, learner),
			saved("apps", "mean gain over ", nil, delay, learner),
			saved("apps", "mean gain over ", nil, acl, learner),
		),
	},
	{
		ID:         "table5",
		Title:      "Execution time of Sort and TeraSort",
		Design:     "sorts",
		Schedulers: four,
		Unit:       "s",
		Kind:       paper.Bars,
		Rows:       []paper.Row{paper.SecondsRow()},
		Published: slices.Concat(
			saved("sorts", "Sort, gain over ", []int{0}, fifo, learner, acl),
			saved("sorts", "Sort, gain over ", []int{0}, acl, learner),
			saved("sorts", "TeraSort, gain over ", []int{1}, fifo, learner, acl),
			saved("sorts", "TeraSort, gain over ", []int{1}, acl, learner),
		),
	},
}

// ours compares what the paper prints for each of several schedulers with ours.
func ours(what, unit string, labels []string, of func(d *paper.Data, label string) stats.Estimate) (list []paper.Published) {
	for _, label := range labels {
		list = append(
			list,
			paper.Published{What: what, Label: label, Unit: unit, Ours: func(d *paper.Data) stats.Estimate { return of(d, label) }},
		)
	}
	return list
}

// points compares a rate of each scheduler in two columns of a design.
func points(design string, of paper.Rate, what string, from, to int, labels []string) []paper.Published {
	return ours(what, "points", labels, func(d *paper.Data, label string) stats.Estimate {
		g := d.Grid(design, label)
		return paper.More(g.Shares(label, of, from), g.Shares(label, of, to))
	})
}

// localAbove compares schedulers' local rates with FIFO's, in some applications or all.
func localAbove(what string, labels []string, columns ...int) []paper.Published {
	return ours(what, "points", labels, func(d *paper.Data, label string) stats.Estimate {
		return local.above(d, "apps", [][2]string{{fifo, label}}, columns...)[0].Estimate
	})
}

// localByApp compares CLQLMRS's local rate with FIFO's, for each application.
func localByApp() (list []paper.Published) {
	for k, a := range applications {
		list = append(list, localAbove(a.title+" above FIFO", []string{learner}, k)...)
	}
	return list
}

// saved compares times with those of one scheduler, in the given columns of a design, all
// if none are given.
func saved(design, what string, columns []int, against string, labels ...string) []paper.Published {
	return ours(what+against, "%", labels, func(d *paper.Data, label string) stats.Estimate {
		return d.Saves(design, against, label, 0, columns...).Estimate
	})
}
