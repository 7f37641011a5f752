package clqlmrs

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/stats"
)

func findings() []paper.Part {
	part := func(id, title string, run func(*paper.Bench) (*paper.Figure, error)) paper.Part {
		return paper.Part{ID: id, Kind: paper.Finding, Title: title, Run: run}
	}
	return []paper.Part{
		part("learning", "What is learnt: reward, update and table, against matching", learning),
		part("training", "More training is not better: WordCount, 100 maps", training),
		part("bound", "Cache hits, of the blocks that are cached anywhere", bound),
		part("acl", "What learning buys over ACL", overACL),
		part("actuators", "What YARN makes of the decisions: WordCount", actuators),
	}
}

// Small clusters, each with one job. The first is the one in which the paper
// trains CLQLMRS, with three replicas of each block. The second has one
// replica, and the third has more than one slot on each node.
var (
	environments = []environment{
		{nodes: 8, slots: 1, maps: 8, replication: 3, cachedPct: 50},
		{nodes: 8, slots: 1, maps: 8, replication: 1, cachedPct: 50},
		{nodes: 6, slots: 3, maps: 20, replication: 3, cachedPct: 60},
	}
	learners = []scheduler{fifo, acl, learner, learnerR, learnerQ, learnerC, classes, matching, patient}
)

func (x environment) title() string {
	return fmt.Sprintf("%dx%d, %d maps, r %d", x.nodes, x.slots, x.maps, x.replication)
}

// The variable layouts is how many random placements of the blocks are
// simulated for each small cluster and seed.
const layouts = 4

// environmentTrials contains the simulations of schedulers on the small
// clusters of the list environments. They are sorted by scheduler, then by
// cluster, then by the placement of the blocks. Each element has the
// simulations of all seeds.
type environmentTrials [][]paper.Simulation

func learnt(b *paper.Bench) (environmentTrials, error) {
	var cases []paper.Case
	for _, s := range learners {
		for _, x := range environments {
			for x.layout = range layouts {
				cases = append(cases, s.in(x))
			}
		}
	}
	return b.Trials(cases...)
}

// The function in returns the simulations of one scheduler on one small
// cluster, grouped by the placement of the blocks.
func (l environmentTrials) in(scheduler, environment int) [][]paper.Simulation {
	return l[(scheduler*len(environments)+environment)*layouts:][:layouts]
}

func (l environmentTrials) rate(scheduler, environment int, of paper.Rate) []stats.Share {
	return together(l.in(scheduler, environment), of)
}

func (l environmentTrials) seconds(scheduler, environment int) []float64 {
	return meanSeconds(l.in(scheduler, environment))
}

// together adds up the maps of several settings and returns a locality rate
// over all of them, one value for each seed.
func together(settings [][]paper.Simulation, of paper.Rate) []stats.Share {
	sum := make([]stats.Share, len(settings[0]))
	for _, trials := range settings {
		for i, x := range paper.Each(trials, of) {
			sum[i] = sum[i].Plus(x)
		}
	}
	return sum
}

// meanSeconds returns the mean time of the jobs over several settings, one
// value for each seed.
func meanSeconds(settings [][]paper.Simulation) []float64 {
	sum := make([]float64, len(settings[0]))
	for _, trials := range settings {
		for i, x := range paper.Each(trials, paper.Seconds) {
			sum[i] += x / float64(len(settings))
		}
	}
	return sum
}

func learning(b *paper.Bench) (*paper.Figure, error) {
	trials, err := learnt(b)
	if err != nil {
		return nil, err
	}
	f := &paper.Figure{X: "nodes x slots, maps, replicas", Unit: "%"}
	for _, x := range environments {
		f.Columns = append(f.Columns, x.title()+", cache", "local")
	}
	for i, s := range learners {
		row := paper.Row{Name: s.label}
		for k := range environments {
			row.Cells = append(row.Cells, paper.ValueOf(stats.MeanShare(trials.rate(i, k, paper.CacheRate))), paper.ValueOf(stats.MeanShare(trials.rate(i, k, paper.LocalRate))))
		}
		f.Rows = append(f.Rows, row)
	}
	f.Notes = []string{"The first two are the paper's training environment: 8 nodes, odd and even racks, one slot each, half of the blocks cached; in the third 60 % are; four layouts a seed. ACL may wait, and with C = D = 2000 waits for slots to come free again; the others never wait."}
	return f, nil
}

// rateOf returns the mean locality rate of simulations, with its interval.
func rateOf(trials []paper.Simulation, of paper.Rate) paper.Value {
	return paper.ValueOf(stats.MeanShare(paper.Each(trials, of)))
}

// training returns a figure that shows how the locality rates of CLQLMRS depend
// on the number of its training episodes.
func training(b *paper.Bench) (*paper.Figure, error) {
	f := &paper.Figure{X: "episodes", Columns: []string{"cache %", "local %", "time s", "longer than matching %"}}
	episodes := []string{"200", "1000", "5000", "20000", "46030"}
	cases := []paper.Case{matching.in(standard), learner.in(standard), classes.in(standard)}
	for _, n := range episodes[:len(episodes)-1] {
		cases = append(cases, trainedFor(n).in(standard))
	}
	t, err := b.Trials(cases...)
	if err != nil {
		return nil, err
	}
	add := func(name string, of []paper.Simulation) {
		f.Rows = append(f.Rows, paper.Row{Name: name, Cells: []paper.Value{
			rateOf(of, paper.CacheRate), rateOf(of, paper.LocalRate), paper.ValueOf(stats.Mean(paper.Each(of, paper.Seconds))), paper.ValueOf(longer(paper.Each(t[0], paper.Seconds), paper.Each(of, paper.Seconds))),
		}})
	}
	for i, n := range episodes[:len(episodes)-1] {
		add(n+" episodes", t[3+i])
	}
	add(episodes[len(episodes)-1]+" episodes, epsilon 0.01", t[1])
	add("by class", t[2])
	add("matching", t[0])
	f.Notes = []string{"A table of maps and nodes is trained on one order in which nodes come free. In a run they come free otherwise, and the less the learner has strayed from its own path in training, the less it knows there. A table of classes has no such path.", cachedNote(t...)}
	return f, nil
}

var bounded = []scheduler{fifo, delay, acl2, acl, acl5, learner, classes, matching}

func bound(b *paper.Bench) (*paper.Figure, error) {
	columns, settings := byCache()
	g, err := newGrid(b, bounded, columns, settings)
	if err != nil {
		return nil, err
	}
	f := &paper.Figure{X: "cache of all nodes", Unit: "% of cached blocks", Columns: columns}
	for i, s := range bounded {
		row := paper.Row{Name: s.label}
		for k := range settings {
			row.Cells = append(row.Cells, rateOf(g.at(i, k), paper.HitShare))
		}
		f.Rows = append(f.Rows, row)
	}
	f.Notes = []string{"100 is every cached block read from the cache, the most there can be. WordCount, 100 maps."}
	return f, nil
}

func overACL(b *paper.Bench) (*paper.Figure, error) {
	f := &paper.Figure{X: "setting", Columns: []string{"cached %", "ACL cache %", "CLQLMRS cache %", "more, points", "local more, points", "time saved %"}}
	add := func(name string, x paper.Setting) error {
		t, err := b.Trials(acl.in(x), learner.in(x))
		if err != nil {
			return err
		}
		of := func(i int, rate paper.Rate) []stats.Share { return paper.Each(t[i], rate) }
		f.Rows = append(f.Rows, paper.Row{Name: name, Cells: []paper.Value{
			given(of(0, paper.CachedShare)), rateOf(t[0], paper.CacheRate), rateOf(t[1], paper.CacheRate),
			paper.ValueOf(more(of(0, paper.CacheRate), of(1, paper.CacheRate))), paper.ValueOf(more(of(0, paper.LocalRate), of(1, paper.LocalRate))),
			paper.ValueOf(gain(paper.Each(t[0], paper.Seconds), paper.Each(t[1], paper.Seconds))),
		}})
		return nil
	}
	for _, x := range environments {
		if err := add(x.title(), x); err != nil {
			return nil, err
		}
	}
	columns, settings := byMaps(10, 25, 50, 100)
	for i, x := range settings {
		if err := add("testbed, "+columns[i], x); err != nil {
			return nil, err
		}
	}
	f.Notes = []string{"C = 3; the learner is trained until epsilon is 0.01. In the first three settings all maps take as long everywhere, so time is waiting."}
	return f, nil
}

// carried returns cases that differ in how a scheduler's decisions are carried
// out, such as through YARN node labels. It also returns a name for each case,
// for a table's rows.
func carried() (names []string, cases []paper.Case) {
	with := func(a sim.Actuator, s sim.Splits) testbed {
		x := standard
		x.actuator, x.splits = a, s
		return x
	}
	add := func(name string, c paper.Case) { names, cases = append(names, name), append(cases, c) }
	add("CLQLMRS, ideal", learner.in(standard))
	add("CLQLMRS, labels", learner.in(with(sim.Labels, sim.AsSubmitted)))
	add("CLQLMRS, labels, splits planned", learner.in(with(sim.Labels, sim.Planned)))
	add("CLQLMRS, labels, splits cached only", learner.in(with(sim.Labels, sim.CachedOnly)))
	add("ACL, ideal", acl.in(standard))
	add("ACL, labels", acl.in(with(sim.Labels, sim.AsSubmitted)))
	add("ACL, labels, splits cached only", acl.in(with(sim.Labels, sim.CachedOnly)))
	add("Delay, ideal", delay.in(standard))
	add("Delay, labels", delay.in(with(sim.Labels, sim.AsSubmitted)))
	add("YARN's Capacity scheduler", paper.Case{Setting: with(sim.Native, sim.AsSubmitted), Model: "capacity"})
	return names, cases
}

func actuators(b *paper.Bench) (*paper.Figure, error) {
	names, cases := carried()
	trials, err := b.Trials(cases...)
	if err != nil {
		return nil, err
	}
	f := &paper.Figure{X: "how decisions are carried out", Columns: []string{"time s", "longer than CLQLMRS ideal %", "cache %", "local %", "bound as decided %"}}
	for i, name := range names {
		t := trials[i]
		f.Rows = append(f.Rows, paper.Row{Name: name, Cells: []paper.Value{
			paper.ValueOf(stats.Mean(paper.Each(t, paper.Seconds))), paper.ValueOf(longer(paper.Each(trials[0], paper.Seconds), paper.Each(t, paper.Seconds))),
			rateOf(t, paper.CacheRate), rateOf(t, paper.LocalRate),
			rateOf(t, func(t *paper.Simulation) stats.Share {
				d := t.Decisions
				return stats.Share{Part: int64(d.AsExpected), Of: int64(d.AsExpected + d.Otherwise + d.Unused)}
			}),
		}})
	}
	f.Notes = []string{
		"ideal: at once, on the task named. labels: through YARN node labels, with the latency measured on a lab, and the ApplicationMaster's choice of map. Planned: splits name one host each and are in the order of the learner's plan.",
		cachedNote(trials...),
	}
	return f, nil
}
