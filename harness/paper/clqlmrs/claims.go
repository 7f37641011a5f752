package clqlmrs

import (
	"fmt"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// claims are the paper's claims, each as the effects that it asks for. Where the
// paper prints a size, at least a third of it is asked for.
var claims = []paper.Claim{
	{ID: "C1", Parts: []string{"fig9"}, Published: numbers.Text("fig9", learner, "order of times"), Text: "mean time over the five applications is in this order; ours is the last against the first", Effects: order},
	{ID: "C2", Parts: []string{"fig9", "table5"}, Published: numbers.Text("fig9", learner, "mean gain over FIFO"), Text: "CLQLMRS saves time against FIFO, at least 9 %", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{saves(d, fifo, learner, 9)}
	}},
	{ID: "C3", Parts: []string{"fig9", "table5"}, Published: numbers.Text("fig9", learner, "mean gain over ACL"), Text: "CLQLMRS saves time against ACL", Effects: func(d *paper.Data) []paper.Effect {
		return []paper.Effect{saves(d, acl, learner, 0)}
	}},
	{ID: "C4", Parts: []string{"fig8"}, Published: numbers.Text("fig8", learner, "mean above FIFO"), Text: "local rate: FIFO lowest, ACL and CLQLMRS highest, CLQLMRS at least 7 points above FIFO", Effects: local},
	{ID: "C5", Parts: []string{"table4"}, Published: numbers.Text("table4", learner+", cache", "100 maps, times FIFO's"), Text: "cache rate at 100 maps: FIFO < Delay < ACL < CLQLMRS, the last 1.5 to 3.5 times the first", Effects: cache},
	{ID: "C6", Parts: []string{"fig5"}, Published: risesFrom4To8(acl2) + ", " + risesFrom4To8(acl5) + ", " + risesFrom4To8(learner) + "; FIFO " + risesFrom4To8(fifo), Text: "cache rate rises with the cache; from 4 to 8 GB that of CLQLMRS and ACL at least 3 times as much as FIFO's", Effects: rise},
	{ID: "C7", Parts: []string{"fig5"}, Published: numbers.Text("fig5", acl5, "rise above that of C=2"), Text: "ACL with C=5 has a higher cache rate than with C=2, and waits longer", Effects: patience},
	{ID: "C8", Parts: []string{"fig6", "fig7"}, Published: numbers.Text("fig7", learner, "rise from 10 to 50 maps"), Text: "local rate rises with block size and from 10 to 50 maps for every scheduler; ours is CLQLMRS by maps", Effects: growth},
}

func risesFrom4To8(label string) string { return numbers.Text("fig5", label, "rise from 4 to 8 GB") }

// measures are shown of each reading, over the five applications.
var measures = []paper.Measure{
	{Name: "cache rate", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return stats.MeanShare(rates(d, learner, paper.CacheRate)) }},
	{Name: "local rate", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return stats.MeanShare(rates(d, learner, paper.LocalRate)) }},
	{Name: "time saved against FIFO", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return saves(d, fifo, learner, 0).Estimate }},
}

func rates(d *paper.Data, label string, of paper.Rate) []stats.Share {
	return d.Grid("apps", label).Shares(label, of)
}

// saves is the time that b saves against a over the five applications, asked to
// be at least so many percent.
func saves(d *paper.Data, a, b string, least float64) paper.Effect {
	return d.Saves("apps", a, b, least)
}

func order(d *paper.Data) []paper.Effect {
	return []paper.Effect{saves(d, fifo, learner, 0), saves(d, acl, learner, 0), saves(d, delay, acl, 0), saves(d, fifo, delay, 0)}
}

// above is by how many points b's rate is above a's. The rate of any scheduler
// is at most the given one, seed by seed.
func above(g *paper.Grid, rate string, of, most paper.Rate, a, b string, columns ...int) paper.Effect {
	low := g.Shares(a, of, columns...)
	e := paper.Effect{What: fmt.Sprintf("%s of %s above %s's", rate, b, a), Unit: "points", Estimate: paper.More(low, g.Shares(b, of, columns...))}
	e.Room = paper.RoomUpTo(low, g.Shares(a, most, columns...))
	e.RoomWhy = fmt.Sprintf("%s is at %.1f %%, and no scheduler can be above %.1f %%", a, stats.MeanShare(low).Value, stats.MeanShare(low).Value+e.Room.Value)
	return e
}

func local(d *paper.Data) []paper.Effect {
	g := d.Grid("apps", four...)
	first := above(g, "local rate", paper.LocalRate, paper.AllMaps, fifo, learner)
	first.Least = 7
	list := []paper.Effect{first}
	for _, pair := range [][2]string{{fifo, delay}, {fifo, acl}, {delay, acl}, {delay, learner}} {
		list = append(list, above(g, "local rate", paper.LocalRate, paper.AllMaps, pair[0], pair[1]))
	}
	return list
}

func cache(d *paper.Data) []paper.Effect {
	const last = 3 // the column of 100 maps
	g := d.Grid("table4", four...)
	cached := g.Shares(fifo, paper.CachedShare, last)
	rate := func(label string) []float64 { return paper.Percents(g.Shares(label, paper.CacheRate, last)) }
	first := paper.Effect{What: "cache rate of CLQLMRS", Unit: "times FIFO's", Estimate: paper.Times(rate(fifo), rate(learner)), None: 1, Least: 1.5, Most: 3.5}
	first.Room, first.RoomWhy = paper.Times(rate(fifo), paper.Percents(cached)), fmt.Sprintf("%.1f %% are cached", stats.MeanShare(cached).Value)
	list := []paper.Effect{first}
	for _, pair := range [][2]string{{fifo, delay}, {delay, acl}, {acl, learner}} {
		list = append(list, above(g, "cache rate", paper.CacheRate, paper.CachedShare, pair[0], pair[1], last))
	}
	return list
}

func rise(d *paper.Data) []paper.Effect {
	g := d.Grid("cache", fifth...)
	// A scheduler's rate at 8 GB is at most what is cached there: its rise is at most
	// that minus its own rate at 4 GB.
	from4to8 := func(label string, at8 paper.Rate) []float64 {
		low, high := paper.Percents(g.Shares(label, paper.CacheRate, 1)), paper.Percents(g.Shares(label, at8, 3))
		for i := range high {
			high[i] -= low[i]
		}
		return high
	}
	own := from4to8(fifo, paper.CacheRate)
	var list []paper.Effect
	for _, label := range []string{learner, acl2, acl5} {
		e := paper.Effect{What: "rise of " + label, Unit: "times FIFO's", Estimate: paper.Times(own, from4to8(label, paper.CacheRate)), None: 1, Least: 3}
		e.Room, e.RoomWhy = paper.Times(own, from4to8(label, paper.CachedShare)), "from its rate at 4 GB to all that is cached at 8 GB"
		list = append(list, e)
	}
	for _, label := range fifth {
		e := paper.More(g.Shares(label, paper.CacheRate, 0), g.Shares(label, paper.CacheRate, 3))
		list = append(list, paper.Effect{What: label + " from 2 to 8 GB", Unit: "points", Estimate: e})
	}
	return list
}

// patience measures the wait with jobs that do not fill the cluster and whose
// maps take equally long everywhere: what such a job takes longer, it waits.
func patience(d *paper.Data) []paper.Effect {
	g, w := d.Grid("cache", acl2, acl5), d.Grid("waiting", acl2, acl5)
	waits := paper.Effect{What: "wait of 10 maps longer", Unit: "s", Estimate: stats.PairedDifference(w.Seconds(acl2), w.Seconds(acl5)).Estimate}
	return []paper.Effect{above(g, "cache rate", paper.CacheRate, paper.CachedShare, acl2, acl5), waits}
}

func growth(d *paper.Data) []paper.Effect {
	var list []paper.Effect
	for _, x := range []struct {
		design, from string
		last         int
	}{{"maps", "from 10 to 50 maps", 4}, {"blocks", "from 64 to 256 MB", 2}} {
		g := d.Grid(x.design, four...)
		for i := range four {
			label := four[len(four)-1-i] // CLQLMRS first, whose effect is shown as ours
			low, high := g.Shares(label, paper.LocalRate, 0), g.Shares(label, paper.LocalRate, x.last)
			e := paper.Effect{What: strings.Join([]string{"local rate of", label, x.from}, " "), Unit: "points", Estimate: paper.More(low, high)}
			e.Room, e.RoomWhy = paper.RoomUpTo(low, g.Shares(label, paper.AllMaps)), fmt.Sprintf("it begins at %.1f %%", stats.MeanShare(low).Value)
			list = append(list, e)
		}
	}
	return list
}
