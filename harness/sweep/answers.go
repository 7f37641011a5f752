package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/design"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/stats"
)

// Answers are what a sweep says beyond its rows: which settings no other one beats, what
// moves a metric, and which setting is best. Other programs may rely on its JSON keys.
type Answers struct {
	// Front has the settings that no other one beats in both of the first two metrics,
	// with the mean over traces. It is empty if there is one metric.
	Front []FrontSetting `json:"paretoFront,omitempty"`
	// Effects say how the first metric depends on each axis, for each model.
	Effects []AxisEffect `json:"effects,omitempty"`
	// Best is the setting that is best by the first metric, of those that keep all thresholds. It is nil
	// if none does, or if there is nothing to choose from.
	Best *Best `json:"best,omitempty"`
	// Thresholds says which settings keep them.
	Thresholds string `json:"thresholds,omitempty"`
}

// FrontSetting is a setting on the Pareto front.
type FrontSetting struct {
	Setting string            `json:"setting"`
	Values  []compare.Number  `json:"values"` // of the first two metrics
	Set     map[string]string `json:"set"`
}

// AxisEffect is what an axis does to the first metric under a model.
type AxisEffect struct {
	Model string `json:"model"`
	Axis  string `json:"axis"`
	// Share is the part of the variance between the means of the axis's values, or of
	// classes of them if there are many.
	Share  compare.Number `json:"share"`
	Levels []Level        `json:"levels"`
	// First and Total are Sobol' indices. They are nil unless the sample is saltelli's.
	First *Interval `json:"sobolFirst,omitempty"`
	Total *Interval `json:"sobolTotal,omitempty"`
}

// Level is the mean of a metric at a value of an axis, or from one value to another.
type Level struct {
	Value string         `json:"value"`
	Mean  compare.Number `json:"mean"`
	N     int            `json:"settings"`
}

// Interval is an estimate with its 95 % interval.
type Interval struct {
	Value compare.Number   `json:"value"`
	CI95  compare.Interval `json:"ci95"`
}

// Best is the setting with the best mean of the first metric over traces and seeds.
type Best struct {
	Setting string            `json:"setting"`
	Set     map[string]string `json:"set"`
	Metric  string            `json:"metric"`
	Means   []Mean            `json:"means"` // of each trace, with intervals over seeds
	Traces  []string          `json:"traces"`
	// Untold names how many other settings the seeds do not tell from the best.
	Untold int `json:"untold"`
	// QueuesFile is its capacity-scheduler.xml in the run folder, if its model follows one.
	QueuesFile string `json:"queuesFile,omitempty"`
	// HeldOut says, for each trace, how the setting does there that is best on all others:
	// what a choice costs on a trace that was not used to choose. It is empty with one trace.
	HeldOut []HeldOut `json:"heldOut,omitempty"`

	at int // in Plan.Settings
}

// HeldOut is the loss of a choice on a trace that was not used for it.
type HeldOut struct {
	Trace   string `json:"trace"`
	Setting string `json:"setting"` // that is best on all other traces
	// LossPct is by how much its mean on the trace is worse than that of the setting that is
	// best there, in percent for times and multiples, else in the metric's unit.
	Loss Interval `json:"loss"`
}

// answer computes the answers of a plan's trials.
func (g *grid) answer(metrics []measure.Metric) *Answers {
	a := &Answers{}
	if len(metrics) > 1 {
		a.Front = g.front(metrics[:2])
	}
	a.Effects = g.effects()
	if a.Best = g.best(); len(g.p.Thresholds) > 0 {
		a.Thresholds = g.limits(a.Best)
	}
	return a
}

// grid has the trials of each trace and setting.
type grid struct {
	p      *Plan
	metric measure.Metric
	of     map[[2]int][]*results.Trial
	held   map[[2]int][]Held
	may    func(setting int) bool // whether a setting may be the best
}

// newGrid groups the trials of a plan. Settings may be the best if they keep all thresholds, or if
// their verdict is atWorst.
func newGrid(p *Plan, trials []results.Trial, m measure.Metric, atWorst compare.Verdict) *grid {
	g := &grid{p: p, metric: m, of: p.group(trials), held: map[[2]int][]Held{}}
	for at, list := range g.of {
		for k := range p.Thresholds {
			g.held[at] = append(g.held[at], newHeld(&p.Thresholds[k], k, distinct(list)))
		}
	}
	g.may = func(i int) bool {
		v, _ := g.verdict(i)
		return v == compare.Met || v == atWorst
	}
	return g
}

// mean returns the mean of a metric for a setting on a trace, and NaN if it has none.
func (g *grid) mean(m measure.Metric, trace, setting int) float64 {
	list := g.of[[2]int{trace, setting}]
	sum := 0.0
	for _, t := range list {
		sum += m.Of(t.Figures)
	}
	return sum / float64(len(list))
}

// over returns the mean of a metric for a setting over traces. Of times and multiples it is
// the geometric mean, so that a trace of long jobs does not outweigh the others.
func (g *grid) over(m measure.Metric, setting int, traces []int) float64 {
	if len(traces) == 1 {
		return g.mean(m, traces[0], setting)
	}
	sum := 0.0
	for _, t := range traces {
		x := g.mean(m, t, setting)
		if m.IsFactor() {
			x = math.Log(x)
		}
		sum += x
	}
	if sum /= float64(len(traces)); m.IsFactor() {
		return math.Exp(sum)
	}
	return sum
}

func (g *grid) traces() []int {
	list := make([]int, len(g.p.Traces))
	for i := range list {
		list[i] = i
	}
	return list
}

// cost returns a value that is lower where a metric is better.
func cost(m measure.Metric, x float64) float64 {
	if m.Better == measure.Higher {
		return -x
	}
	return x
}

func (g *grid) front(metrics []measure.Metric) (list []FrontSetting) {
	var values [][]float64
	for i := range g.p.Settings {
		values = append(values, []float64{
			cost(metrics[0], g.over(metrics[0], i, g.traces())),
			cost(metrics[1], g.over(metrics[1], i, g.traces())),
		})
	}
	front := design.Pareto(values)
	slices.SortStableFunc(front, func(a, b int) int { return cmp.Compare(values[a][0], values[b][0]) })
	for _, i := range front {
		s := &g.p.Settings[i]
		f := FrontSetting{Setting: s.name(), Set: s.Values}
		for k, m := range metrics {
			f.Values = append(f.Values, compare.Number(cost(m, values[i][k])))
		}
		list = append(list, f)
	}
	return list
}

// name returns how a setting is called in texts.
func (s *Setting) name() string {
	if s.Change == "" {
		return s.Label
	}
	return s.Label + ", " + s.Change
}

// bestOf returns the setting with the best mean over some traces, -1 if none has a value.
func (g *grid) bestOf(traces []int) int {
	best, least := -1, math.Inf(1)
	for i := range g.p.Settings {
		if x := cost(g.metric, g.over(g.metric, i, traces)); x < least && g.may(i) {
			best, least = i, x
		}
	}
	return best
}

func (g *grid) best() *Best {
	all := g.traces()
	i := g.bestOf(all)
	if i < 0 || len(g.p.Settings) < 2 && len(g.p.Thresholds) == 0 {
		return nil
	}
	s := &g.p.Settings[i]
	b := &Best{Setting: s.name(), Set: s.Values, Metric: g.metric.Name, at: i}
	if s.Model.FollowsQueues() {
		b.QueuesFile = queuesFile
	}
	for _, t := range all {
		b.Traces = append(b.Traces, g.p.Traces[t].Label)
		e := stats.Mean(valuesOf(g.metric, distinct(g.of[[2]int{t, i}])))
		b.Means = append(b.Means, Mean{g.metric.Name, compare.Number(e.Value), compare.Interval{e.Lo, e.Hi}})
	}
	b.Untold = len(g.untold(i))
	if len(all) < 2 {
		return b
	}
	for _, t := range all {
		others := slices.DeleteFunc(slices.Clone(all), func(x int) bool { return x == t })
		chosen, there := g.bestOf(others), g.bestOf([]int{t})
		if chosen < 0 || there < 0 {
			continue
		}
		c := g.against(t, there, chosen)
		b.HeldOut = append(b.HeldOut, HeldOut{
			Trace: g.p.Traces[t].Label, Setting: g.p.Settings[chosen].name(),
			Loss: Interval{compare.Number(c.Value), compare.Interval{c.Lo, c.Hi}},
		})
	}
	return b
}

// against returns by how much setting b is worse than setting a on a trace, paired by
// seed: in percent for times and multiples, else in the metric's unit.
func (g *grid) against(trace, a, b int) stats.Comparison {
	as, bs := valuesOf(g.metric, g.of[[2]int{trace, a}]), valuesOf(g.metric, g.of[[2]int{trace, b}])
	n := min(len(as), len(bs))
	as, bs = as[:n], bs[:n]
	if a == b {
		return stats.Comparison{Estimate: stats.Estimate{N: n}}
	}
	if g.metric.IsFactor() {
		c := stats.PairedRatio(as, bs)
		percent := func(x float64) float64 { return (x - 1) * 100 }
		c.Value, c.Lo, c.Hi = percent(c.Value), percent(c.Lo), percent(c.Hi)
		return c
	}
	c := stats.PairedDifference(as, bs)
	if g.metric.Better == measure.Higher {
		c.Value, c.Lo, c.Hi = -c.Value, -c.Hi, -c.Lo
	}
	return c
}

// untold returns the settings that the seeds do not tell from the best one, in any trace.
func (g *grid) untold(best int) (list []int) {
	for i := range g.p.Settings {
		if i != best && g.may(i) && !slices.ContainsFunc(g.traces(), func(t int) bool {
			c := g.against(t, best, i)
			return c.Lo > 0 && c.Bounded() || c.Hi < 0 && c.Bounded()
		}) {
			list = append(list, i)
		}
	}
	return list
}

// An axis with more than mostLevels values is divided into classes of them.
const mostLevels, classes = 12, 5

// effects returns what each axis does under each model that it concerns. Where a trace or
// an axis of the cluster differs, the mean over traces counts.
func (g *grid) effects() (list []AxisEffect) {
	for _, model := range g.models() {
		points := g.p.Points[model]
		results := make([]float64, len(points))
		for k, i := range points {
			results[k] = g.over(g.metric, i, g.traces())
		}
		indices := []design.Index(nil)
		if g.p.Sample == config.SampleSaltelli {
			indices = design.Sobol(results, len(g.p.Axes))
		}
		for k, axis := range g.p.Axes {
			if _, concerns := g.p.Settings[points[0]].Values[axis]; !concerns {
				continue
			}
			e := AxisEffect{Model: model, Axis: axis}
			effects, share := design.MainEffects(g.levels(axis, points), results)
			e.Share = compare.Number(share)
			for _, x := range effects {
				e.Levels = append(e.Levels, Level{x.Level, compare.Number(x.Mean), x.N})
			}
			if indices != nil {
				e.First, e.Total = intervalOf(indices[k].First), intervalOf(indices[k].Total)
			}
			list = append(list, e)
		}
	}
	return list
}

// levels returns the value of an axis at each point. If there are many values, which are
// numbers then, it is one of a few classes of them with about as many points each.
func (g *grid) levels(axis string, points []int) []string {
	values := make([]string, len(points))
	numbers := make([]float64, len(points))
	known := map[string]bool{}
	for k, i := range points {
		values[k] = g.p.Settings[i].Values[axis]
		known[values[k]] = true
		numbers[k], _ = config.Number(values[k])
	}
	if len(known) <= mostLevels {
		return values
	}
	order := make([]int, len(points))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(numbers[a], numbers[b]) })
	class := func(rank int) int { return rank * classes / len(order) }
	named := make([]string, len(points))
	for from := 0; from < len(order); {
		to := from
		for to+1 < len(order) && class(to+1) == class(from) {
			to++
		}
		name := fmt.Sprintf("%s to %s", values[order[from]], values[order[to]])
		for ; from <= to; from++ {
			named[order[from]] = name
		}
	}
	return named
}

func intervalOf(x design.Interval) *Interval {
	return &Interval{compare.Number(x.Value), compare.Interval{x.Lo, x.Hi}}
}

// models returns the labels of the models in the order of their settings.
func (g *grid) models() (list []string) {
	for i := range g.p.Settings {
		if label := g.p.Settings[i].Model.Label; !slices.Contains(list, label) {
			list = append(list, label)
		}
	}
	return list
}
