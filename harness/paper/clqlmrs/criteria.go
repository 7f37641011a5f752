package clqlmrs

import (
	"fmt"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// margin is by how many percentage points a locality rate may be lower than
// another and still count as "not lower".
const margin = 1

// criteria returns the claims of the CLQLMRS paper, each with a rule that
// judges it. The paper calls two schedulers different if their confidence
// intervals do not overlap. The rules here call them different if the interval
// of their mean difference excludes zero. The differences are between
// simulations with the same seed.
func criteria() []paper.Rule {
	return []paper.Rule{
		{
			ID: "C1", Parts: []string{"fig9"}, Unit: "%", Published: "CLQLMRS < ACL < Delay < FIFO",
			Text: "mean time over the five applications in this order, intervals apart; ours is the smallest step", Judge: judgeOrder,
		},
		{
			ID: "C2", Parts: []string{"fig9", "table5"}, Unit: "%", Published: "26.54",
			Text: "time that CLQLMRS saves against FIFO: at least 9 %",
			Judge: judgeTimes(func(g *grid) paper.Judgement {
				e := gain(g.meanSeconds(0), g.meanSeconds(3))
				return paper.Judgement{Ours: e, Verdict: paper.Above(e, 9), Note: "a map gains what it does not read from disk, and only the maps that hit: " + byApplicationText(g)}
			}),
		},
		{
			ID: "C3", Parts: []string{"fig9", "table5"}, Unit: "%", Published: "8.98",
			Text: "time that CLQLMRS saves against ACL: above 0",
			Judge: judgeTimes(func(g *grid) paper.Judgement {
				e := gain(g.meanSeconds(2), g.meanSeconds(3))
				return paper.Judgement{Ours: e, Verdict: paper.Above(e, 0), Note: "what ACL spends on waiting, less what that brings; cache hits " + against(g, paper.CacheRate, 2, 3)}
			}),
		},
		{
			ID: "C4", Parts: []string{"fig8"}, Unit: "points", Published: "20.8",
			Text: "local rate: FIFO lowest, ACL and CLQLMRS highest, CLQLMRS above FIFO", Judge: judgeLocal,
		},
		{
			ID: "C5", Parts: []string{"table4"}, Unit: "times FIFO's", Published: "2.2 (25, 35, 46, 55 %)",
			Text: "cache rate at 100 maps: FIFO < Delay <= ACL <= CLQLMRS, the last 1.5 to 3.5 times the first", Judge: judgeCache,
		},
		{
			ID: "C6", Parts: []string{"fig5"}, Unit: "times FIFO's", Published: "17 / 3, 25 / 3, 24 / 3",
			Text: "cache rate rises with the cache; from 4 to 8 GB that of ACL and CLQLMRS at least 3 times as much as FIFO's", Judge: judgeRise,
		},
		{
			ID: "C7", Parts: []string{"fig5"}, Unit: "points", Published: "C=5 above C=2",
			Text: "ACL with C=5 has at least the cache rate of C=2, within 1 point, and waits longer", Judge: judgePatience,
		},
		{
			ID: "C8", Parts: []string{"fig6", "fig7"}, Unit: "points", Published: "rises",
			Text: "local rate rises with block size and with 10 to 50 maps for every scheduler, within 1 point; ours is the worst step", Judge: judgeMonotone,
		},
	}
}

func judgeTimes(judge func(*grid) paper.Judgement) func(*paper.Bench) (paper.Judgement, error) {
	return func(b *paper.Bench) (paper.Judgement, error) {
		g, err := applicationGrid(b)
		if err != nil {
			return paper.Judgement{}, err
		}
		return judge(g), nil
	}
}

func judgeOrder(b *paper.Bench) (paper.Judgement, error) {
	g, err := applicationGrid(b)
	if err != nil {
		return paper.Judgement{}, err
	}
	j := paper.Judgement{Verdict: paper.Holds, Ours: stats.Estimate{Value: 1e9}}
	var steps []string
	for i := 1; i < len(four); i++ {
		e := gain(g.meanSeconds(i-1), g.meanSeconds(i))
		steps = append(steps, fmt.Sprintf("%s saves %s against %s", four[i].label, paper.Text(e, "%"), four[i-1].label))
		if e.Value < j.Ours.Value {
			j.Ours = e
		}
		if e.Lo <= 0 {
			j.Verdict = paper.Fails
		}
	}
	overFIFO, overDelay := gain(g.meanSeconds(0), g.meanSeconds(3)), gain(g.meanSeconds(1), g.meanSeconds(3))
	if j.Verdict == paper.Fails && overFIFO.Lo > 0 && overDelay.Lo > 0 {
		j.Verdict = paper.Direction
		steps = append(steps, "CLQLMRS is ahead of FIFO and Delay, the order is not all as published")
	}
	j.Note = strings.Join(steps, "; ")
	return j, nil
}

func judgeLocal(b *paper.Bench) (paper.Judgement, error) {
	g, err := applicationGrid(b)
	if err != nil {
		return paper.Judgement{}, err
	}
	rate := func(i int) []stats.Share { return g.rates(i, paper.LocalRate) }
	j := paper.Judgement{Ours: more(rate(0), rate(3)), Verdict: paper.Fails}
	lowest := more(rate(0), rate(1)).Lo > 0 && more(rate(0), rate(2)).Lo > 0 && j.Ours.Lo > 0
	highest := more(rate(1), rate(2)).Lo > 0 && more(rate(1), rate(3)).Lo > 0
	switch {
	case lowest && highest:
		j.Verdict = paper.Holds
	case j.Ours.Lo > 0:
		j.Verdict = paper.Direction
	}
	var all []string
	for i, s := range four {
		all = append(all, s.label+" "+paper.Text(stats.MeanShare(rate(i)), "%"))
	}
	j.Note = strings.Join(all, ", ") + "; with three replicas on six nodes even FIFO finds nearly every map a node that has its block, which leaves no room for 20.8 points; CLQLMRS starts maps on nodes that do not have their block where it was not trained for the order in which nodes came free"
	return j, nil
}

func judgeCache(b *paper.Bench) (paper.Judgement, error) {
	g, err := localityGrid(b)
	if err != nil {
		return paper.Judgement{}, err
	}
	rate := func(i int) []stats.Share { return g.rate(i, 3, paper.CacheRate) }
	j := paper.Judgement{Ours: times(rate(0), rate(3)), Verdict: paper.Fails}
	delayAbove, aclAbove := more(rate(0), rate(1)), more(rate(1), rate(2))
	band := j.Ours.Value >= 1.5 && j.Ours.Value <= 3.5
	notBelow := paper.NotBelow(more(rate(2), rate(3)), margin) == paper.Holds && paper.NotBelow(aclAbove, margin) == paper.Holds
	switch {
	case band && notBelow && delayAbove.Lo > 0:
		j.Verdict = paper.Holds
	case band && aclAbove.Lo > 0 && more(rate(1), rate(3)).Lo > 0:
		j.Verdict = paper.Direction
	}
	j.Note = fmt.Sprintf("Delay is %s above FIFO (it does not know the cache: both hit a third of the %s that is cached), ACL %s above Delay, CLQLMRS %s above ACL",
		paper.Text(delayAbove, "points"), given(g.rate(0, 3, paper.CachedShare)).String()+" %", paper.Text(aclAbove, ""), paper.Text(more(rate(2), rate(3)), ""))
	return j, nil
}

func judgeRise(b *paper.Bench) (paper.Judgement, error) {
	g, err := cacheGrid(b)
	if err != nil {
		return paper.Judgement{}, err
	}
	rise := func(i int) []float64 { // returns by how many percentage points a scheduler's cache rate rises when the cache grows from 4 to 8 GB, for each seed
		low, high := percents(g.rate(i, 1, paper.CacheRate)), percents(g.rate(i, 3, paper.CacheRate))
		for k := range high {
			high[k] -= low[k]
		}
		return high
	}
	j := paper.Judgement{Ours: stats.Estimate{Value: 1e9}, Verdict: paper.Holds}
	var all []string
	for i := 1; i < len(fifth); i++ {
		e := paper.RatioOfMeans(rise(0), rise(i))
		all = append(all, fmt.Sprintf("%s %s", fifth[i].label, paper.Text(e, "")))
		if i == 1 || e.Lo < j.Ours.Lo {
			j.Ours = e
		}
	}
	larger := true // whether the cache rate of every other scheduler rises more than that of FIFO
	for i := range fifth {
		for k := 1; k < len(cacheSizes); k++ {
			if e := more(g.rate(i, k-1, paper.CacheRate), g.rate(i, k, paper.CacheRate)); e.Hi < 0 {
				j.Verdict = paper.Fails
				all = append(all, fmt.Sprintf("%s falls from %s to %s", fifth[i].label, g.columns[k-1], g.columns[k]))
			}
		}
		larger = larger && (i == 0 || stats.PairedDifference(rise(0), rise(i)).Lo > 0)
	}
	switch {
	case j.Verdict == paper.Holds && j.Ours.Lo < 3 && larger:
		j.Verdict = paper.Direction
	case j.Ours.Lo < 3:
		j.Verdict = paper.Fails
	}
	j.Note = strings.Join(all, ", ") + "; a scheduler blind to the cache hits one in three of what is cached (a copy on one of three replicas), so none can rise more than about 3 times as much"
	return j, nil
}

// judgePatience measures how long the scheduler ACL makes maps wait for a node
// with their block. The jobs are too small to fill the cluster, and their maps
// take equally long on every node. So all time that a job takes longer is time
// spent waiting.
func judgePatience(b *paper.Bench) (paper.Judgement, error) {
	columns, settings := byCache()
	g, err := newGrid(b, []scheduler{acl2, acl5}, columns, settings)
	if err != nil {
		return paper.Judgement{}, err
	}
	const jobs = 64
	var cases []paper.Case
	for _, s := range g.schedulers {
		for i := range jobs {
			cases = append(cases, s.in(environment{nodes: 6, slots: 3, maps: 10, replication: 3, cachedPct: 60, layout: i}))
		}
	}
	t, err := b.Trials(cases...)
	if err != nil {
		return paper.Judgement{}, err
	}
	j := paper.Judgement{Ours: more(g.rates(0, paper.CacheRate), g.rates(1, paper.CacheRate))}
	j.Verdict = paper.NotBelow(j.Ours, margin)
	wait := stats.PairedDifference(meanSeconds(t[:jobs]), meanSeconds(t[jobs:])).Estimate
	hits := more(together(t[:jobs], paper.CacheRate), together(t[jobs:], paper.CacheRate))
	if j.Verdict == paper.Holds && wait.Lo <= 0 {
		j.Verdict = paper.Direction
	}
	j.Note = fmt.Sprintf("mean over four cache sizes, held against 1 point below; with 100 maps nodes come free one at a time, and waiting a little longer meets no other. Jobs of 10 maps take %s longer with C=5, for %s more", paper.Text(wait, "s"), paper.Text(hits, "points"))
	return j, nil
}

func judgeMonotone(b *paper.Bench) (paper.Judgement, error) {
	blocks, err := blockGrid(b)
	if err != nil {
		return paper.Judgement{}, err
	}
	maps, err := mapsGrid(b)
	if err != nil {
		return paper.Judgement{}, err
	}
	j := paper.Judgement{Ours: stats.Estimate{Value: 1e9}, Verdict: paper.Holds}
	var falls []string
	unclear := 0
	for _, g := range []*grid{blocks, maps} {
		for i, s := range four {
			for k := 1; k < len(g.settings); k++ {
				e := more(g.rate(i, k-1, paper.LocalRate), g.rate(i, k, paper.LocalRate))
				if e.Value < j.Ours.Value {
					j.Ours = e
				}
				if k == 1 {
					if all := more(g.rate(i, 0, paper.LocalRate), g.rate(i, len(g.settings)-1, paper.LocalRate)); paper.NotBelow(all, margin) == paper.Fails {
						falls = append(falls, fmt.Sprintf("%s by %s from %s to %s", s.label, paper.Text(all, "points"), g.columns[0], g.columns[len(g.columns)-1]))
					}
				}
				switch paper.NotBelow(e, margin) {
				case paper.NotTestable:
					unclear++
				case paper.Fails:
					falls = append(falls, fmt.Sprintf("%s by %s from %s to %s", s.label, paper.Text(e, "points"), g.columns[k-1], g.columns[k]))
				}
			}
		}
	}
	switch {
	case len(falls) > 0:
		j.Verdict = paper.Fails
		j.Note = "falls: " + strings.Join(falls, "; ") + ". Larger blocks are fewer maps of the same input, and fewer maps find their node less often: the paper's claims for Figures 6 and 7 contradict each other"
	case unclear > 0:
		j.Verdict, j.Note = paper.NotTestable, fmt.Sprintf("of %d steps these seeds do not tell whether they fall by more than 1 point", unclear)
	default:
		j.Note = "no step falls by more than 1 point"
	}
	return j, nil
}

// byApplicationText returns a text that says how much time CLQLMRS saves
// against FIFO, for each application.
func byApplicationText(g *grid) string {
	var all []string
	for k := range g.settings {
		all = append(all, fmt.Sprintf("%s %s", g.columns[k], paper.Text(gain(g.seconds(0, k), g.seconds(3, k)), "%")))
	}
	return strings.Join(all, ", ")
}

func against(g *grid, of paper.Rate, a, b int) string {
	return fmt.Sprintf("%s against %s", paper.Text(stats.MeanShare(g.rates(b, of)), "%"), paper.Text(stats.MeanShare(g.rates(a, of)), "%"))
}
