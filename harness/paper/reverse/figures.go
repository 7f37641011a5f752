package reverse

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

var goals = []string{"tight", "mid", "relaxed"}

// relaxed is the last of goals. The name of an experiment with bars behind it is that of a design
// with these goals alone, in which bars are simulated.
const (
	relaxed = 2
	bars    = " relaxed"
)

func designs() (list []paper.Design) {
	for _, x := range []string{"1", "2", "3"} {
		d := paper.Design{ID: "exp" + x, X: "goals"}
		for _, g := range goals {
			d.Columns = append(d.Columns, paper.In(g, "experiment", x, "goals", g))
		}
		bars := paper.Design{ID: d.ID + bars, X: d.X, Columns: d.Columns[relaxed:]}
		list = append(list, d, bars)
	}
	return append(list, paper.Design{ID: "mid", X: "goals", Columns: []paper.Column{paper.In("mid", "experiment", "2", "goals", "mid")}})
}

func parts() (list []paper.Part) {
	for i, of := range []string{"alone", "with a load on a sine", "with bursts"} {
		design := fmt.Sprint("exp", i+1)
		for _, f := range []struct {
			id, title, unit, note string
		}{
			{"missed", "jobs that missed their goals", "%", "missed"},
			{"lateness", "mean lateness", "s", "lateness"},
			{"p90", "90th percentile of the distance to the goal, of the time allowed", "%", "p90"},
		} {
			list = append(
				list,
				paper.Part{
					ID:         design + f.id,
					Title:      fmt.Sprintf("Experiment %d, %s: %s", i+1, of, f.title),
					Design:     design,
					Schedulers: shown,
					Unit:       f.unit,
					Kind:       paper.Bars,
					Rows:       []paper.Row{paper.MeanRow("", noted(f.note))},
				},
			)
		}
	}
	return append(
		list,
		paper.Part{
			ID:         "distance",
			Title:      "Experiment 2, mid goals: distance of jobs to their goals",
			Design:     "mid",
			Schedulers: shown,
			Unit:       "%",
			Kind:       paper.CDF,
			Of:         "distance",
			X:          "end after the goal, in % of the time allowed",
		},
		paper.Part{ID: "more", Title: "Experiment 2: other figures", Design: "exp2", Schedulers: shown, Kind: paper.Bars, Rows: []paper.Row{
			paper.MeanRow(", turnaround s", func(s *paper.Simulation) float64 { return s.Seconds }),
			paper.MeanRow(", Jain's index", noted("jain")),
			paper.MeanRow(", slots used %", noted("used")),
			paper.MeanRow(", plans without a way to meet all goals %", infeasible),
			paper.MeanRow(", jobs named late ahead", noted("namedLate")),
			paper.MeanRow(", of these late in the end %", noted("namedLateRightPct")),
			paper.MeanRow(", median error of predictions %", noted("error")),
			{Suffix: "goals that none can meet %", Once: true, Of: func(g *paper.Grid, label string, k int) stats.Estimate {
				return stats.Mean(g.Mean(label, noted("hopeless"), k))
			}},
		}, Notes: []string{"Errors of predictions are by the axis error; R6b has all. FIFO and EDF make no plans, and note none; EDF looks, as those that plan, whether all goals " +
			"can be met. A job is named late ahead if it ends late, by the times of maps so far, when work is done in the order of goals."}},
	)
}

// infeasible is the share of plans whose needs exceeded the slots, in percent.
func infeasible(s *paper.Simulation) float64 {
	return 100 * noted("infeasiblePlans")(s) / noted("plans")(s)
}
