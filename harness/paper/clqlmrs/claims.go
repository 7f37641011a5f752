package clqlmrs

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// claims are the paper's claims, each as the effects that it asks for. Where the
// paper prints a size, at least a third of it is asked for. C9 to C20 are sentences
// of the text.
var claims = []paper.Claim{
	{ID: "C1", Beats: faster, Parts: []string{"fig9"}, Published: "CLQLMRS < ACL < Delay < FIFO", Text: "mean time over the five applications is in this order", Effects: order},
	{ID: "C2", Beats: faster, Parts: []string{"fig9", "table5"}, Published: "26.54", Text: "CLQLMRS saves time against FIFO, at least 9 %", Effects: saves(fifo, learner, 9)},
	{ID: "C3", Beats: faster, Parts: []string{"fig9", "table5"}, Published: "8.98", Text: "CLQLMRS saves time against ACL, at least 3 %", Effects: saves(acl, learner, 3)},
	{ID: "C4", Beats: local.more("apps"), Parts: []string{"fig8"}, Published: "20.8", Text: "local rate: FIFO lowest, ACL and CLQLMRS highest, CLQLMRS at least 7 points above FIFO", Effects: mostLocal},
	{ID: "C5", Beats: cached.more("table4", at100), Parts: []string{"table4"}, Published: "2.2 (25, 35, 46, 55 %)", Text: "cache rate at 100 maps: FIFO < Delay < ACL < CLQLMRS, the last 1.5 to 3.5 times the first", Effects: cache},
	{ID: "C6", Parts: []string{"fig5"}, Published: "17 / 3, 25 / 3, 24 / 3", Text: "cache rate rises with the cache; from 4 to 8 GB that of CLQLMRS and ACL at least 3 times as much as FIFO's", Effects: rise},
	{ID: "C7", Parts: []string{"fig5"}, Published: "8", Text: "ACL with C=5 has a cache rate at least 2.7 points above that with C=2, and waits longer", Effects: patience},
	{ID: "C8", Parts: []string{"fig6", "fig7"}, Published: "rises", Text: "local rate rises with block size and from 10 to 50 maps for every scheduler", Effects: growth},
	{ID: "C9", Parts: []string{"table4"}, Published: "Delay and ACL fall, CLQLMRS is steady", Text: "local rate of Delay and ACL falls from 10 to 100 maps, that of CLQLMRS stays within 2 points", Effects: steady},
	{ID: "C10", Parts: []string{"table4"}, Published: "99, 99; 100, 100 %", Text: "at 10 maps 99 % of the maps of Delay and ACL are local, within 2 points, and 100 % in the rack", Effects: tenMaps},
	{ID: "C11", Parts: []string{"fig6"}, Published: "comparable", Text: "CLQLMRS with blocks of half the size is as local as Delay and ACL, within 3 points", Effects: halfBlocks},
	{ID: "C12", Parts: []string{"fig6"}, Published: "above with ACL; alike at large blocks", Text: "local rate over block sizes: CLQLMRS and ACL above FIFO and Delay, and within 3 points of each other at 256 MB", Effects: byBlock},
	{ID: "C13", Parts: []string{"fig7"}, Published: "rise most", Text: "local rate of CLQLMRS and ACL rises more from 10 to 50 maps than that of FIFO and Delay", Effects: risesMost},
	{ID: "C14", Parts: []string{"fig5"}, Published: "nearly flat; close", Text: "cache rate: FIFO's rises by less than 2 points from 6 to 8 GB; CLQLMRS's is within 3 points of that of ACL with C=5, and above that with C=2", Effects: fifoFlat},
	{ID: "C15", Parts: []string{"fig8"}, Published: "Join lowest, Aggregation highest", Text: "local rate of CLQLMRS and FIFO is lowest for Join and highest for Aggregation, against the mean of the others", Effects: byApplication},
	{ID: "C16", Beats: faster, Parts: []string{"fig9"}, Published: "19.63", Text: "CLQLMRS saves time against Delay, at least 6.5 %", Effects: saves(delay, learner, 6.5)},
	{ID: "C17", Beats: faster, Parts: []string{"table5"}, Published: "20, 18.45; 10.8, 4.4", Text: "CLQLMRS saves time in Sort and TeraSort, at least a third of what is printed against FIFO and ACL", Effects: sorts},
	{ID: "C18", Parts: []string{"fig9"}, Published: "best for I/O-bound jobs", Text: "CLQLMRS saves time against FIFO in Sort and TeraSort, and more than in WordCount", Effects: ioBound},
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

// measures are shown of each reading, over the five applications.
var measures = []paper.Measure{
	{Name: "cache rate", Unit: "%", Of: func(d *paper.Data) stats.Estimate {
		return stats.MeanShare(d.Grid("apps", learner).Shares(learner, paper.CacheRate))
	}},
	{Name: "local rate", Unit: "%", Of: func(d *paper.Data) stats.Estimate {
		return stats.MeanShare(d.Grid("apps", learner).Shares(learner, paper.LocalRate))
	}},
	{Name: "time saved against FIFO", Unit: "%", Of: func(d *paper.Data) stats.Estimate { return d.Saves("apps", fifo, learner, 0).Estimate }},
	paper.PriceInMs("apps", random, paper.RemoteMap), paper.PriceInPercent("apps", random, paper.RemoteMap),
	paper.PriceInMs("apps", random, paper.UncachedMap), paper.PriceInPercent("apps", random, paper.UncachedMap),
}

// saves is the time that b saves against a over the five applications, asked to
// be at least so many percent.
func saves(a, b string, least float64) func(*paper.Data) []paper.Effect {
	return func(d *paper.Data) []paper.Effect { return []paper.Effect{d.Saves("apps", a, b, least)} }
}

// faster is what the learner must gain over schedulers that learn nothing, so that a claim
// needs its method. So is rate.more.
func faster(d *paper.Data, bar string) paper.Effect { return d.Saves("apps", bar, learner, 0) }

// rate is a rate of maps, and the most that it can be.
type rate struct {
	name     string
	of, most paper.Rate
}

var local, cached = rate{"local rate", paper.LocalRate, paper.AllMaps}, rate{"cache rate", paper.CacheRate, paper.CachedShare}

// above is by how much the rate of the second of each pair of schedulers is above that
// of the first.
func (r rate) above(d *paper.Data, design string, pairs [][2]string, columns ...int) (list []paper.Effect) {
	for _, x := range pairs {
		list = append(list, d.Above(design, r.name, r.of, r.most, x[0], x[1], columns...))
	}
	return list
}

func (r rate) more(design string, columns ...int) func(*paper.Data, string) paper.Effect {
	return func(d *paper.Data, bar string) paper.Effect {
		return r.above(d, design, [][2]string{{bar, learner}}, columns...)[0]
	}
}

// rises is by how much the schedulers' rate rises from the first column of a design to
// another.
func (r rate) rises(d *paper.Data, design string, to int, labels ...string) (list []paper.Effect) {
	for _, label := range labels {
		list = append(list, d.Rises(design, r.name, r.of, r.most, label, 0, to))
	}
	return list
}

// aboveBoth pairs each of CLQLMRS and ACL with each of FIFO and Delay.
var aboveBoth = [][2]string{{fifo, learner}, {delay, learner}, {fifo, acl}, {delay, acl}}

// at10 and at100 are columns of table4.
const at10, at100 = 0, 3

func order(d *paper.Data) []paper.Effect {
	return []paper.Effect{d.Saves("apps", fifo, learner, 0), d.Saves("apps", acl, learner, 0), d.Saves("apps", delay, acl, 0), d.Saves("apps", fifo, delay, 0)}
}

func mostLocal(d *paper.Data) []paper.Effect {
	list := local.above(d, "apps", [][2]string{{fifo, learner}, {fifo, delay}, {fifo, acl}, {delay, acl}, {delay, learner}})
	list[0].Least = 7
	return list
}

func cache(d *paper.Data) []paper.Effect {
	g := d.Grid("table4", four...)
	rate := func(label string, of paper.Rate) []float64 { return paper.Percents(g.Shares(label, of, at100)) }
	first := paper.Effect{What: "cache rate of CLQLMRS", Unit: "times FIFO's", Estimate: paper.Times(rate(fifo, paper.CacheRate), rate(learner, paper.CacheRate)), None: 1, Least: 1.5, Most: 3.5}
	first.Room, first.RoomWhy = paper.Times(rate(fifo, paper.CacheRate), rate(fifo, paper.CachedShare)), fmt.Sprintf("%.1f %% are cached", stats.Mean(rate(fifo, paper.CachedShare)).Value)
	return append([]paper.Effect{first}, cached.above(d, "table4", [][2]string{{fifo, delay}, {delay, acl}, {acl, learner}}, at100)...)
}

func rise(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("cache", fifth...)
	// A scheduler's rate at 8 GB is at most what is cached there: its rise is at most
	// that minus its own rate at 4 GB.
	from4to8 := func(label string, at8 paper.Rate) []float64 {
		return stats.Differences(paper.Percents(g.Shares(label, paper.CacheRate, 1)), paper.Percents(g.Shares(label, at8, 3)))
	}
	own := from4to8(fifo, paper.CacheRate)
	for _, label := range []string{learner, acl2, acl5} {
		e := paper.Effect{What: "rise of " + label, Unit: "times FIFO's", Estimate: paper.Times(own, from4to8(label, paper.CacheRate)), None: 1, Least: 3}
		e.Room, e.RoomWhy = paper.Times(own, from4to8(label, paper.CachedShare)), "from its rate at 4 GB to all that is cached at 8 GB"
		list = append(list, e)
	}
	return append(list, cached.rises(d, "cache", 3, fifth...)...)
}

// waitsLonger is by how much longer maps wait until they start under b than under a, in s,
// where they take equally long everywhere and there are more of them than containers.
func waitsLonger(d *paper.Data, what, a, b string) paper.Effect {
	g := d.Grid("waiting", a, b)
	return paper.Effect{What: what, Unit: "s", Estimate: stats.PairedDifference(g.Mean(a, paper.MapStart), g.Mean(b, paper.MapStart)).Estimate}
}

func patience(d *paper.Data) []paper.Effect {
	more := cached.above(d, "cache", [][2]string{{acl2, acl5}})[0].WithLeast(2.7)
	return []paper.Effect{more, waitsLonger(d, "a map waits longer", acl2, acl5)}
}

func growth(d *paper.Data) []paper.Effect {
	labels := []string{learner, acl, delay, fifo}
	return append(local.rises(d, "maps", 4, labels...), local.rises(d, "blocks", 2, labels...)...)
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

func byBlock(d *paper.Data) []paper.Effect {
	g := d.Grid("blocks", acl, learner)
	alike := within("local rate of CLQLMRS above ACL's at 256 MB", 3, g.Shares(acl, paper.LocalRate, 2), g.Shares(learner, paper.LocalRate, 2))
	return append(local.above(d, "blocks", aboveBoth), alike)
}

func risesMost(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("maps", four...)
	rises := func(label string) []float64 {
		return stats.Differences(paper.Percents(g.Shares(label, paper.LocalRate, 0)), paper.Percents(g.Shares(label, paper.LocalRate, 4)))
	}
	for _, x := range aboveBoth {
		low, high := x[0], x[1]
		// The most that can rise is what the scheduler had not at 10 maps.
		left := stats.Differences(paper.Percents(g.Shares(high, paper.LocalRate, 0)), paper.Percents(g.Shares(high, paper.AllMaps, 0)))
		room := stats.Mean(stats.Differences(rises(low), left))
		list = append(list, paper.Effect{
			What: fmt.Sprintf("rise of %s above that of %s", high, low), Unit: "points", Estimate: stats.PairedDifference(rises(low), rises(high)).Estimate,
			Room: room, RoomWhy: high + " has no more to rise from its rate at 10 maps",
		})
	}
	return list
}

func fifoFlat(d *paper.Data) []paper.Effect {
	g := d.Grid("cache", fifth...)
	return []paper.Effect{
		within("rise of FIFO from 6 to 8 GB", 2, g.Shares(fifo, paper.CacheRate, 2), g.Shares(fifo, paper.CacheRate, 3)),
		within("cache rate of CLQLMRS above that of ACL C=5", 3, g.Shares(acl5, paper.CacheRate), g.Shares(learner, paper.CacheRate)),
		cached.above(d, "cache", [][2]string{{acl2, learner}})[0],
	}
}

func byApplication(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("apps", learner, fifo)
	for _, label := range []string{learner, fifo} {
		above := func(what string, low, high []stats.Share) paper.Effect {
			e := paper.Effect{What: "local rate of " + label + ", " + what, Unit: "points", Estimate: paper.More(low, high)}
			e.Room, e.RoomWhy = paper.RoomUpTo(low, g.Shares(label, paper.AllMaps)), "what the lower one lacks"
			return e
		}
		of := func(columns ...int) []stats.Share { return g.Shares(label, paper.LocalRate, columns...) }
		list = append(list, above("Join below the others", of(3), of(0, 1, 2, 4)), above("Aggregation above the others", of(0, 1, 2, 3), of(4)))
	}
	return list
}

func sorts(d *paper.Data) (list []paper.Effect) {
	for _, against := range []string{fifo, acl} {
		for k, a := range applications[1:3] {
			printed := numbers.Value("table5", learner, a.title+", gain over "+against)
			list = append(list, d.Saves("sorts", against, learner, printed/3, k))
		}
	}
	return list
}

func ioBound(d *paper.Data) []paper.Effect {
	g := d.Grid("apps", fifo, learner)
	saved := func(columns ...int) (list []float64) {
		for i, before := range g.Seconds(fifo, columns...) {
			list = append(list, 100*(1-g.Seconds(learner, columns...)[i]/before))
		}
		return list
	}
	more := paper.Effect{What: "time saved in Sort and TeraSort above that in WordCount", Unit: "points", Estimate: stats.PairedDifference(saved(0), saved(1, 2)).Estimate}
	gain := d.Saves("apps", fifo, learner, 0, 1, 2)
	gain.What += " in Sort and TeraSort"
	return paper.Gaining(gain, more)
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
	equal := waitsLonger(d, "wait of a map of CLQLMRS above FIFO's", fifo, learner)
	equal.Band = [2]float64{-1, 1}
	return []paper.Effect{equal, waitsLonger(d, "wait of a map of ACL above CLQLMRS's", learner, acl)}
}

// explain says where the time of maps goes, for the paper's first application and for
// one that sorts.
func explain(d *paper.Data) string {
	return d.WhereTimeGoes("apps", []int{0, 1}, fifo, acl, learner, greedy, random)
}
