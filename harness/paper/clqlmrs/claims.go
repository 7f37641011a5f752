package clqlmrs

import (
	"fmt"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// claims are the paper's claims, each as the effects that it asks for. Where the
// paper prints a size, at least a third of it is asked for. C9 to C20 are sentences
// of the text.
var claims = []paper.Claim{
	{ID: "C1", Beats: faster, Parts: []string{"fig9"}, Published: "CLQLMRS < ACL < Delay < FIFO", Text: "mean time over the five applications is in this order; ours is the last against the first", Effects: order},
	{ID: "C2", Beats: faster, Parts: []string{"fig9", "table5"}, Published: "26.54", Text: "CLQLMRS saves time against FIFO, at least 9 %", Effects: one(saves(fifo, learner, 9))},
	{ID: "C3", Beats: faster, Parts: []string{"fig9", "table5"}, Published: "8.98", Text: "CLQLMRS saves time against ACL, at least 3 %", Effects: one(saves(acl, learner, 3))},
	{ID: "C4", Beats: moreLocal, Parts: []string{"fig8"}, Published: "20.8", Text: "local rate: FIFO lowest, ACL and CLQLMRS highest, CLQLMRS at least 7 points above FIFO", Effects: local},
	{ID: "C5", Beats: moreCached, Parts: []string{"table4"}, Published: "2.2 (25, 35, 46, 55 %)", Text: "cache rate at 100 maps: FIFO < Delay < ACL < CLQLMRS, the last 1.5 to 3.5 times the first", Effects: cache},
	{ID: "C6", Parts: []string{"fig5"}, Published: "17 / 3, 25 / 3, 24 / 3", Text: "cache rate rises with the cache; from 4 to 8 GB that of CLQLMRS and ACL at least 3 times as much as FIFO's", Effects: rise},
	{ID: "C7", Parts: []string{"fig5"}, Published: "8", Text: "ACL with C=5 has a cache rate at least 2.7 points above that with C=2, and waits longer", Effects: patience},
	{ID: "C8", Parts: []string{"fig6", "fig7"}, Published: "rises", Text: "local rate rises with block size and from 10 to 50 maps for every scheduler; ours is CLQLMRS by maps", Effects: growth},
	{ID: "C9", Parts: []string{"table4"}, Published: "Delay and ACL fall, CLQLMRS is steady", Text: "local rate of Delay and ACL falls from 10 to 100 maps, that of CLQLMRS stays within 2 points", Effects: steady},
	{ID: "C10", Parts: []string{"table4"}, Published: "99, 99; 100, 100 %", Text: "at 10 maps 99 % of the maps of Delay and ACL are local, within 2 points, and 100 % in the rack", Effects: tenMaps},
	{ID: "C11", Parts: []string{"fig6"}, Published: "comparable", Text: "CLQLMRS with blocks of half the size is as local as Delay and ACL, within 3 points", Effects: halfBlocks},
	{ID: "C12", Parts: []string{"fig6"}, Published: "above; alike at large blocks", Text: "local rate over block sizes: CLQLMRS and ACL above FIFO and Delay, and within 3 points of each other at 256 MB", Effects: byBlock},
	{ID: "C13", Parts: []string{"fig7"}, Published: "rise most", Text: "local rate of CLQLMRS and ACL rises more from 10 to 50 maps than that of FIFO and Delay", Effects: risesMost},
	{ID: "C14", Parts: []string{"fig5"}, Published: "nearly flat; close", Text: "cache rate: FIFO's rises by less than 2 points from 6 to 8 GB; CLQLMRS's is within 3 points of that of ACL with C=5, and above that with C=2", Effects: fifoFlat},
	{ID: "C15", Parts: []string{"fig8"}, Published: "Join lowest, Aggregation highest", Text: "local rate of CLQLMRS and FIFO is lowest for Join and highest for Aggregation, against the mean of the others", Effects: byApplication},
	{ID: "C16", Beats: faster, Parts: []string{"fig9"}, Published: "19.63", Text: "CLQLMRS saves time against Delay, at least 6.5 %", Effects: one(saves(delay, learner, 6.5))},
	{ID: "C17", Beats: faster, Parts: []string{"table5"}, Published: "20, 18.45; 10.8, 4.4", Text: "CLQLMRS saves time in Sort and TeraSort, at least a third of what is printed against FIFO and ACL", Effects: sorts},
	{ID: "C18", Parts: []string{"fig9"}, Published: "best for I/O-bound jobs", Text: "CLQLMRS saves more against FIFO in Sort and TeraSort than in WordCount", Effects: ioBound},
	{ID: "C19", Kind: paper.ReportOnly, Parts: []string{"fig9"}, Published: "minimal", Text: "overhead: what training a job would take, at 20 µs for each map that it places, against the job's time", Effects: overhead},
	{ID: "C20", Parts: []string{"fig9"}, Published: "eliminated", Text: "maps of CLQLMRS wait as long for a container as FIFO's, within 1 s, and less than ACL's, on jobs with more maps than containers", Effects: noWait},
}

// notJudged are statements of the paper that are no claims here.
var notJudged = []paper.NotJudged{
	{Says: "The curves of Figures 5 to 9, and most cells of Tables 3 to 5", Why: "the text prints few of their numbers; what it prints is judged or shown beside ours"},
	{Says: "Figures of learning: the return and both rates rise with the episodes", Why: "no numbers in the text; our learning curve is shown"},
	{Says: "Several tables with locality-sensitive hashing serve large jobs", Why: "future work, without a description"},
	{Says: "ACL, as Floratou et al. describe it, is the state of the art", Why: "that reference has no such algorithm; ACL is taken from Kwak et al."},
}

// one is a claim of one effect.
func one(of func(*paper.Data) paper.Effect) func(*paper.Data) []paper.Effect {
	return func(d *paper.Data) []paper.Effect { return []paper.Effect{of(d)} }
}

// measures are shown of each reading, over the five applications.
var measures = []paper.Measure{
	{Name: "cache rate", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return stats.MeanShare(rates(d, learner, paper.CacheRate)) }},
	{Name: "local rate", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return stats.MeanShare(rates(d, learner, paper.LocalRate)) }},
	{Name: "time saved against FIFO", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return d.Saves("apps", fifo, learner, 0).Estimate }},
	paper.PriceInMs("apps", random, paper.RemoteMap), paper.PriceInPercent("apps", random, paper.RemoteMap),
	paper.PriceInMs("apps", random, paper.UncachedMap), paper.PriceInPercent("apps", random, paper.UncachedMap),
}

func rates(d *paper.Data, label string, of paper.Rate) []stats.Share {
	return d.Grid("apps", label).Shares(label, of)
}

// saves is the time that b saves against a over the five applications, asked to
// be at least so many percent.
func saves(a, b string, least float64) func(*paper.Data) paper.Effect {
	return func(d *paper.Data) paper.Effect { return d.Saves("apps", a, b, least) }
}

// faster, moreLocal and moreCached are what the learner must gain over schedulers that
// learn nothing, so that a claim needs its method.
func faster(d *paper.Data, bar string) paper.Effect { return d.Saves("apps", bar, learner, 0) }

func moreLocal(d *paper.Data, bar string) paper.Effect {
	return d.Above("apps", "local rate", paper.LocalRate, paper.AllMaps, bar, learner)
}

func moreCached(d *paper.Data, bar string) paper.Effect {
	return d.Above("table4", "cache rate", paper.CacheRate, paper.CachedShare, bar, learner, at100)
}

// at10 and at100 are columns of table4.
const at10, at100 = 0, 3

func order(d *paper.Data) []paper.Effect {
	return []paper.Effect{saves(fifo, learner, 0)(d), saves(acl, learner, 0)(d), saves(delay, acl, 0)(d), saves(fifo, delay, 0)(d)}
}

func local(d *paper.Data) (list []paper.Effect) {
	for _, pair := range [][2]string{{fifo, learner}, {fifo, delay}, {fifo, acl}, {delay, acl}, {delay, learner}} {
		list = append(list, d.Above("apps", "local rate", paper.LocalRate, paper.AllMaps, pair[0], pair[1]))
	}
	list[0].Least = 7
	return list
}

func cache(d *paper.Data) []paper.Effect {
	g := d.Grid("table4", four...)
	rate := func(label string, of paper.Rate) []float64 { return paper.Percents(g.Shares(label, of, at100)) }
	first := paper.Effect{What: "cache rate of CLQLMRS", Unit: "times FIFO's", Estimate: paper.Times(rate(fifo, paper.CacheRate), rate(learner, paper.CacheRate)), None: 1, Least: 1.5, Most: 3.5}
	first.Room, first.RoomWhy = paper.Times(rate(fifo, paper.CacheRate), rate(fifo, paper.CachedShare)), fmt.Sprintf("%.1f %% are cached", stats.Mean(rate(fifo, paper.CachedShare)).Value)
	list := []paper.Effect{first}
	for _, pair := range [][2]string{{fifo, delay}, {delay, acl}, {acl, learner}} {
		list = append(list, d.Above("table4", "cache rate", paper.CacheRate, paper.CachedShare, pair[0], pair[1], at100))
	}
	return list
}

func rise(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("cache", fifth...)
	// A scheduler's rate at 8 GB is at most what is cached there: its rise is at most
	// that minus its own rate at 4 GB.
	from4to8 := func(label string, at8 paper.Rate) []float64 {
		return less(paper.Percents(g.Shares(label, at8, 3)), paper.Percents(g.Shares(label, paper.CacheRate, 1)))
	}
	own := from4to8(fifo, paper.CacheRate)
	for _, label := range []string{learner, acl2, acl5} {
		e := paper.Effect{What: "rise of " + label, Unit: "times FIFO's", Estimate: paper.Times(own, from4to8(label, paper.CacheRate)), None: 1, Least: 3}
		e.Room, e.RoomWhy = paper.Times(own, from4to8(label, paper.CachedShare)), "from its rate at 4 GB to all that is cached at 8 GB"
		list = append(list, e)
	}
	for _, label := range fifth {
		list = append(list, d.Rises("cache", "cache rate", paper.CacheRate, paper.CachedShare, label, 0, 3))
	}
	return list
}

// less returns the differences of two samples, pair by pair.
func less(xs, ys []float64) []float64 {
	list := slices.Clone(xs)
	for i := range list {
		list[i] -= ys[i]
	}
	return list
}

// waits returns how long maps wait until they start, in s, where they take equally long
// everywhere and there are more of them than containers.
func waits(d *paper.Data, label string) []float64 {
	return d.Grid("waiting", label).Mean(label, paper.MapStart)
}

func patience(d *paper.Data) []paper.Effect {
	more := d.Above("cache", "cache rate", paper.CacheRate, paper.CachedShare, acl2, acl5).WithLeast(2.7)
	wait := paper.Effect{What: "a map waits longer", Unit: "s", Estimate: stats.PairedDifference(waits(d, acl2), waits(d, acl5)).Estimate}
	return []paper.Effect{more, wait}
}

func growth(d *paper.Data) (list []paper.Effect) {
	for _, x := range []struct {
		design string
		last   int
	}{{"maps", 4}, {"blocks", 2}} {
		for _, label := range []string{learner, acl, delay, fifo} {
			list = append(list, d.Rises(x.design, "local rate", paper.LocalRate, paper.AllMaps, label, 0, x.last))
		}
	}
	return list
}

// within is a difference of a rate, in points, that is asked to be none: within so many
// points.
func within(what string, points float64, a, b []stats.Share) paper.Effect {
	return paper.Effect{What: what, Unit: "points", Estimate: paper.More(a, b), Band: [2]float64{-points, points}}
}

func steady(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("table4", four...)
	for _, label := range []string{delay, acl} {
		list = append(list, paper.Effect{What: "fall of the local rate of " + label, Unit: "points", Estimate: paper.More(g.Shares(label, paper.LocalRate, at100), g.Shares(label, paper.LocalRate, at10))})
	}
	return append(list, within("rise of the local rate of CLQLMRS", 2, g.Shares(learner, paper.LocalRate, at10), g.Shares(learner, paper.LocalRate, at100)))
}

func tenMaps(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("table4", delay, acl)
	for _, label := range []string{delay, acl} {
		list = append(list,
			paper.Effect{What: "local rate of " + label, Unit: "%", Estimate: stats.MeanShare(g.Shares(label, paper.LocalRate, at10)), Band: [2]float64{97, 100}},
			paper.Effect{What: "rack rate of " + label, Unit: "%", Estimate: paper.Given(g.Shares(label, paper.RackRate, at10)), Band: [2]float64{99, 100}})
	}
	return list
}

func halfBlocks(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("blocks", four...)
	for _, label := range []string{delay, acl} {
		for k := range 2 {
			what := fmt.Sprintf("local rate of CLQLMRS with %s above that of %s with %s", g.Column(k), label, g.Column(k+1))
			list = append(list, within(what, 3, g.Shares(label, paper.LocalRate, k+1), g.Shares(learner, paper.LocalRate, k)))
		}
	}
	return list
}

func byBlock(d *paper.Data) (list []paper.Effect) {
	for _, high := range []string{learner, acl} {
		for _, low := range []string{fifo, delay} {
			list = append(list, d.Above("blocks", "local rate", paper.LocalRate, paper.AllMaps, low, high))
		}
	}
	g := d.Grid("blocks", acl, learner)
	return append(list, within("local rate of CLQLMRS above ACL's at 256 MB", 3, g.Shares(acl, paper.LocalRate, 2), g.Shares(learner, paper.LocalRate, 2)))
}

func risesMost(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("maps", four...)
	rises := func(label string) []float64 {
		return less(paper.Percents(g.Shares(label, paper.LocalRate, 4)), paper.Percents(g.Shares(label, paper.LocalRate, 0)))
	}
	for _, high := range []string{learner, acl} {
		for _, low := range []string{fifo, delay} {
			// The most that can rise is what the scheduler had not at 10 maps.
			left := paper.Percents(g.Shares(high, paper.AllMaps, 0))
			room := stats.Mean(less(less(left, paper.Percents(g.Shares(high, paper.LocalRate, 0))), rises(low)))
			list = append(list, paper.Effect{
				What: fmt.Sprintf("rise of %s above that of %s", high, low), Unit: "points", Estimate: stats.PairedDifference(rises(low), rises(high)).Estimate,
				Room: room, RoomWhy: high + " has no more to rise from its rate at 10 maps",
			})
		}
	}
	return list
}

func fifoFlat(d *paper.Data) []paper.Effect {
	g := d.Grid("cache", fifth...)
	return []paper.Effect{
		within("rise of FIFO from 6 to 8 GB", 2, g.Shares(fifo, paper.CacheRate, 2), g.Shares(fifo, paper.CacheRate, 3)),
		within("cache rate of CLQLMRS above that of ACL C=5", 3, g.Shares(acl5, paper.CacheRate), g.Shares(learner, paper.CacheRate)),
		d.Above("cache", "cache rate", paper.CacheRate, paper.CachedShare, acl2, learner),
	}
}

func byApplication(d *paper.Data) (list []paper.Effect) {
	const join, aggregation = 3, 4
	g := d.Grid("apps", learner, fifo)
	for _, label := range []string{learner, fifo} {
		for _, k := range []int{join, aggregation} {
			what, others := "Join below the others", []int{}
			for i := range applications {
				if i != k {
					others = append(others, i)
				}
			}
			low, high := g.Shares(label, paper.LocalRate, k), g.Shares(label, paper.LocalRate, others...)
			if k == aggregation {
				what, low, high = "Aggregation above the others", high, low
			}
			e := paper.Effect{What: "local rate of " + label + ", " + what, Unit: "points", Estimate: paper.More(low, high)}
			e.Room, e.RoomWhy = paper.RoomUpTo(low, g.Shares(label, paper.AllMaps)), "what the lower one lacks"
			list = append(list, e)
		}
	}
	return list
}

func sorts(d *paper.Data) (list []paper.Effect) {
	for _, x := range []struct {
		against string
		thirds  []float64
	}{{fifo, []float64{20. / 3, 18.45 / 3}}, {acl, []float64{10.8 / 3, 4.4 / 3}}} {
		for k, least := range x.thirds {
			list = append(list, d.Saves("sorts", x.against, learner, least, k))
		}
	}
	return list
}

func ioBound(d *paper.Data) []paper.Effect {
	g := d.Grid("apps", fifo, learner)
	saved := func(columns ...int) []float64 {
		a, b := g.Seconds(fifo, columns...), g.Seconds(learner, columns...)
		list := make([]float64, len(a))
		for i := range a {
			list[i] = 100 * (1 - b[i]/a[i])
		}
		return list
	}
	return []paper.Effect{{What: "time saved in Sort and TeraSort above that in WordCount", Unit: "points", Estimate: stats.PairedDifference(saved(0), saved(1, 2)).Estimate}}
}

// overhead is reported for training as it would be charged in the reading training=20us.
func overhead(d *paper.Data) []paper.Effect {
	g := d.Grid("apps", learner)
	trained := func(s *paper.Simulation) float64 { return float64(s.Trained) * 20e-6 }
	return []paper.Effect{
		{What: "training of a job", Unit: "s", Estimate: stats.Mean(g.Mean(learner, trained))},
		{What: "training", Unit: "times the job's time", Estimate: paper.Times(g.Seconds(learner), g.Mean(learner, trained))},
	}
}

func noWait(d *paper.Data) []paper.Effect {
	equal := paper.Effect{What: "wait of a map of CLQLMRS above FIFO's", Unit: "s", Estimate: stats.PairedDifference(waits(d, fifo), waits(d, learner)).Estimate, Band: [2]float64{-1, 1}}
	return []paper.Effect{equal, {What: "wait of a map of ACL above CLQLMRS's", Unit: "s", Estimate: stats.PairedDifference(waits(d, learner), waits(d, acl)).Estimate}}
}
