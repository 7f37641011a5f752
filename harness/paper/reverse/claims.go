package reverse

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// noted returns a figure that a simulation notes, NaN if it has none.
func noted(name string) func(*paper.Simulation) float64 {
	return func(s *paper.Simulation) float64 {
		if x, ok := s.Notes[name]; ok {
			return x
		}
		return math.NaN()
	}
}

// metric is one of the three senses of meeting goals, and how much a claim asks of
// it: fewer points, or percent less than the other scheduler has.
type metric struct {
	id, note, text string
	least          float64
	relative       bool
}

var metrics = []metric{
	{"missed", "missed", "jobs that miss their goals", 2, false},
	{"lateness", "lateness", "mean lateness", 10, true},
	{"p90", "p90", "90th percentile of the distance to the goal", 10, false},
}

// judged are the columns that decide; tight goals have little room.
var judged = []int{1, 2}

// less returns by how much b has less of a metric than a.
func (m metric) less(d *paper.Data, design string, k int, a, b string) paper.Effect {
	g := d.Grid(design, a, b)
	x, y := g.Mean(a, noted(m.note), k), g.Mean(b, noted(m.note), k)
	e := paper.Effect{What: fmt.Sprintf("%.4s, %s goals: %s, less of %s than of %s", design, g.Column(k), m.text, b, a), Unit: "points", Least: m.least}
	if m.relative {
		e.Unit = "%"
		r := paper.Times(x, y)
		e.Estimate = r
		e.Value, e.Lo, e.Hi = 100*(1-r.Value), 100*(1-r.Hi), 100*(1-r.Lo)
		return e
	}
	e.Estimate = stats.PairedDifference(y, x).Estimate
	if m.note == "missed" {
		var rooms []float64
		for i, least := range g.Mean(a, noted("hopeless"), k) {
			rooms = append(rooms, x[i]-least)
		}
		e.Room, e.RoomWhy = stats.Mean(rooms), "the goals that no scheduler can meet are missed even by jobs that are alone"
	}
	return e
}

// within asks that two schedulers are alike: that b has, by percent of a or by
// points, no more and no less than the band.
func within(what, unit string, e stats.Estimate, band float64) paper.Effect {
	return paper.Effect{What: what, Unit: unit, Estimate: e, Band: [2]float64{-band, band}}
}

func claims() []paper.Claim {
	stated := func(column string) string { return numbers.Text("text", reverse, column) }
	list := []paper.Claim{{
		ID: "R1", Parts: []string{"exp1missed", "exp1lateness"}, Published: stated("alone on the cluster"),
		Text: "alone on the cluster, Reverse is like Adaptive: missed goals within 2 points, lateness within 10 % of Adaptive's, turnaround within 5 %", Effects: alike,
	}}
	for i, x := range []string{"exp2", "exp3"} {
		for _, m := range metrics {
			list = append(list, paper.Claim{
				ID: fmt.Sprintf("R%d-%s", i+2, m.id), Parts: []string{x + m.id}, Published: stated([]string{"meeting goals in a shared environment", "bursts"}[i]),
				Text: fmt.Sprintf("%s: with mid and relaxed goals, %s: less of Reverse than of Adaptive, by at least %g %s", x, m.text, m.least, map[bool]string{true: "%", false: "points"}[m.relative]),
				Effects: func(d *paper.Data) (list []paper.Effect) {
					for _, k := range judged {
						list = append(list, m.less(d, x, k, adaptive, reverse))
					}
					return list
				},
				Beats: func(d *paper.Data, bar string) paper.Effect { return m.less(d, x+bars, 0, bar, reverse) },
			})
		}
	}
	return append(list,
		paper.Claim{ID: "R4", Kind: paper.ReportOnly, Parts: []string{"exp2missed"}, Published: "nothing", Text: "what explains R2: the jobs that Reverse makes late and Adaptive does not, and by how much", Effects: whoIsLate},
		paper.Claim{ID: "R5", Parts: []string{"more"}, Published: stated("fairness"), Text: "fairness does not suffer: Jain's index of the time taken by the time allowed falls by 0.02 at most", Effects: fairness},
		paper.Claim{
			ID: "R6", Parts: []string{"more"}, Published: stated("accuracy of estimates"), Text: "exp2: predictions at half of a job's maps are wrong by at least 10 % less with Reverse than with Adaptive, by the definition of the axis error",
			Effects: func(d *paper.Data) (list []paper.Effect) {
				for _, k := range judged {
					list = append(list, predicted("error", "error of predictions").less(d, "exp2", k, adaptive, reverse))
				}
				return list
			},
			Beats: func(d *paper.Data, bar string) paper.Effect {
				return predicted("error", "error of predictions").less(d, "exp2"+bars, 0, bar, reverse)
			},
		},
		paper.Claim{ID: "R6b", Kind: paper.ReportOnly, Parts: []string{"more"}, Published: stated("accuracy of estimates"), Text: "R6 by each definition of the error: the paper has none, and the sign depends on it", Effects: func(d *paper.Data) (list []paper.Effect) {
			for _, e := range errors {
				for _, k := range judged {
					list = append(list, predicted(e.note, e.value+": "+e.says).less(d, "exp2", k, adaptive, reverse))
				}
			}
			return list
		}},
		paper.Claim{ID: "R7", Kind: paper.ReportOnly, Parts: []string{"more"}, Published: stated("use of resources"), Text: "use of the slots that the other load leaves: all schedulers here fill every slot while maps wait, so that there is no room", Effects: func(d *paper.Data) []paper.Effect {
			g := d.Grid("exp2", adaptive, reverse)
			return []paper.Effect{{What: "slots used by Reverse above Adaptive", Unit: "points", Estimate: stats.PairedDifference(g.Mean(adaptive, noted("used"), 1), g.Mean(reverse, noted("used"), 1)).Estimate}}
		}},
	)
}

// predicted is an error of predictions as a metric.
func predicted(note, text string) metric { return metric{"error", note, text, 10, true} }

func alike(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("exp1", adaptive, reverse)
	for _, k := range judged {
		late, turn := g.Mean(adaptive, noted("lateness"), k), paper.Times(g.Seconds(adaptive, k), g.Seconds(reverse, k))
		turn.Value, turn.Lo, turn.Hi = 100*(turn.Value-1), 100*(turn.Lo-1), 100*(turn.Hi-1)
		more := stats.PairedDifference(g.Mean(adaptive, noted("missed"), k), g.Mean(reverse, noted("missed"), k)).Estimate
		list = append(list,
			within(goals[k]+" goals: missed goals of Reverse above Adaptive", "points", more, 2),
			within(goals[k]+" goals: lateness of Reverse above Adaptive", "s", stats.PairedDifference(late, g.Mean(reverse, noted("lateness"), k)).Estimate, stats.Mean(late).Value/10),
			within(goals[k]+" goals: turnaround of Reverse above Adaptive", "%", turn, 5))
	}
	return list
}

func fairness(d *paper.Data) (list []paper.Effect) {
	for _, x := range []string{"exp2", "exp3", "exp1"} {
		g := d.Grid(x, adaptive, reverse)
		for _, k := range judged {
			list = append(list, paper.Effect{
				What: fmt.Sprintf("%s, %s goals: Jain's index of Reverse above Adaptive", x, goals[k]), None: -0.02, Least: -0.02,
				Estimate: stats.PairedDifference(g.Mean(adaptive, noted("jain"), k), g.Mean(reverse, noted("jain"), k)).Estimate,
			})
		}
	}
	return list
}

// whoIsLate compares job by job how late they are, with mid goals.
func whoIsLate(d *paper.Data) []paper.Effect {
	g := d.Grid("exp2", adaptive, reverse)
	late := func(label string) (list [][]float64) {
		g.Mean(label, func(s *paper.Simulation) float64 {
			list = append(list, s.Samples["late"])
			return 0
		}, 1)
		return list
	}
	a, b := late(adaptive), late(reverse)
	var effects []paper.Effect
	for _, x := range []struct {
		by, other string
		a, b      [][]float64
	}{{reverse, adaptive, a, b}, {adaptive, reverse, b, a}} {
		var shares, medians []float64
		for i := range x.a {
			var only []float64
			for k := range x.b[i] {
				if x.b[i][k] > 0 && x.a[i][k] == 0 {
					only = append(only, x.b[i][k])
				}
			}
			slices.Sort(only)
			shares = append(shares, 100*float64(len(only))/float64(len(x.b[i])))
			if len(only) > 0 {
				medians = append(medians, only[len(only)/2])
			}
		}
		effects = append(effects,
			paper.Effect{What: fmt.Sprintf("jobs that are late with %s and not with %s", x.by, x.other), Unit: "%", Estimate: stats.Mean(shares)},
			paper.Effect{What: "their median lateness", Unit: "s", Estimate: stats.Mean(medians)})
	}
	return effects
}

var notJudged = []paper.NotJudged{
	{Says: "bursts have an impact (experiment 3)", Why: "no direction is claimed; R3 asks what R2 asks, which is ours"},
	{Says: "a placement gives each job slots on each node", Why: "here it gives slots in the whole cluster, and the node follows from where input is; without locality nothing depends on it"},
	{Says: "times of tasks come from profiles of earlier runs", Why: "a mean of the job's own maps is used, as the text has it elsewhere; before the first map ends, one time for all jobs"},
	{Says: "reduces have slots and a utility of their own", Why: "the models have them, and the simulated jobs have only maps"},
	{Says: "a goal is given if there is one", Why: "all simulated jobs have one, as the text has it elsewhere"},
	{Says: "other resources than slots limit a job", Why: "slots are of one size here"},
	{Says: "a transactional load slows tasks down", Why: "the paper's model takes slots; the experiment quota.yaml slows nodes of a cluster down"},
}

// measures are shown of each reading.
var measures = []paper.Measure{
	{Name: "missed with Reverse", Unit: "%", Of: measured(reverse, "missed")},
	{Name: "missed with EDF", Unit: "%", Of: measured(edf, "missed")},
	{Name: "lateness with Reverse", Unit: "s", Of: measured(reverse, "lateness")},
}

// measured is the mean of a figure in experiment 2 with mid and relaxed goals.
func measured(label, note string) func(*paper.Data) stats.Estimate {
	return func(d *paper.Data) stats.Estimate {
		return stats.Mean(d.Grid("exp2", label).Mean(label, noted(note), judged...))
	}
}
