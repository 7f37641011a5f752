package learning

import (
	"strconv"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// ratios are the targets of Figure 9.
var ratios = []float64{1, 1.5, 2, 2.5, 3, 3.5, 4}

// figure9 are the jobs of Figure 9.
const figure9 = "TextWriter then WordCount and Grep"

func designs() []paper.Design {
	column := func(name string, set ...string) paper.Column {
		return paper.In(name, append([]string{"window", "steady"}, set...)...)
	}
	list := []paper.Design{
		{ID: "jobs", X: "job"},
		{ID: "runs", X: "job"},
		{ID: "targets", X: "load asked, of 4"},
		{ID: "accuracy", X: "job", Columns: []paper.Column{column("URLGet", "job", "URLGet"), column("CPUActivity", "job", "CPUActivity")}},
		{ID: "again", X: "job", Columns: []paper.Column{column("WordCount", "maps", "1120", "taskTime", "31s", "runs", "6")}},
		{ID: "hints", X: "heartbeats until a decision is judged", Columns: []paper.Column{column("judged after 1", "job", mixed, "judged", "1"), column("judged after 12", "job", mixed, "judged", "12")}},
	}
	for _, name := range names() {
		list[0].Columns = append(list[0].Columns, paper.In(name, "job", name))
		list[1].Columns = append(list[1].Columns, paper.In(name, "job", name, "window", "run"))
	}
	for _, ratio := range ratios {
		text := strconv.FormatFloat(ratio, 'g', -1, 64)
		list[2].Columns = append(list[2].Columns, column(text, "target", text, "job", figure9, "hours", "1"))
	}
	for _, x := range []*paper.Design{&list[1], &list[4]} { // for claims that may hang on the class of a tie
		list = append(list, x.Differing(x.ID+otherTie, map[string]string{"tie": "other"}))
	}
	return list
}

// otherTie is behind the name of a design in which equal products are of the other class.
const otherTie = "OtherTie"

func noted(suffix, name string) paper.Row { return paper.MeanRow(suffix, paper.Noted(name)) }

func parts() []paper.Part {
	some := []string{learner, rule, rule85, native}
	return []paper.Part{
		{ID: "fig8a", Title: "Figure 8a: load of a node over the first run of WordCount on 70 GB, of the load asked for", Design: "again", Schedulers: []string{learner, rule}, Unit: "%", Kind: paper.Series, Of: "load", X: "min"},
		{
			ID: "runs", Title: "Figure 8: the load in each run of WordCount on 70 GB", Design: "again", Schedulers: []string{learner, fresh, rule},
			Rows: []paper.Row{noted(", run 1 over the target", "ofTarget1"), noted(", run 6", "ofTarget6"), noted(", run 1 heartbeats overloaded %", "over1"), noted(", run 6 %", "over6"), noted(", run 1 highest load over the target", "peak1"), noted(", run 6 highest", "peak6")},
		},
		{
			ID: "fig8b", Title: "Figure 8b: runtime of WordCount on 70 GB, again and again", Design: "again", Schedulers: []string{learner, fresh, rule}, Unit: "min", Kind: paper.Series, Of: "minutes", X: "run",
			Notes: []string{"Published: the runtime falls most from run 1 to 2, and is near 36 min after six runs."},
		},
		{
			ID: "fig9", Title: "Figure 9: load over the load asked for, " + figure9, Design: "targets", Schedulers: []string{learner, rule}, Unit: "times", Rows: []paper.Row{noted("", "ofTarget"), noted(", with the first 10 minutes", "ofTargetAll1")},
			Notes: []string{"The paper's means have the learning phase in them. How long its runs are is not said; here it is an hour. The paper gives no load of Grep, and no hints: it has those given most often."},
		},
		{ID: "fig10", Title: "Figure 10: decisions that were right, per 250", Design: "accuracy", Schedulers: []string{learner, rule}, Unit: "%", Kind: paper.Series, Of: "right", X: "decisions"},
		{ID: "fig11", Title: "Figure 11: what runs on a node", Design: "jobs", Schedulers: []string{learner, rule, rule85, nearest, native}, Unit: "tasks", Kind: paper.Bars, Rows: []paper.Row{noted("", "tasks")}, Published: published(), Notes: []string{"One start each 5 s lets at most 7.9 tasks run in the mean of 160 maps, however small they are; --set window=steady has hours instead."}},
		{ID: "load", Title: "Load of a node", Design: "jobs", Schedulers: append(some, nearest), Unit: "of 4", Kind: paper.Bars, Rows: []paper.Row{noted("", "load")}},
		{ID: "runtime", Title: "Figure 11: runtime of 160 maps", Design: "runs", Schedulers: some, Unit: "min", Kind: paper.Bars, Rows: []paper.Row{noted("", "minutes1")}},
		{
			ID: "hints", Title: "Jobs of all types at a time, with the hints of Figure 7, of another job at random, or all equal", Design: "hints", Schedulers: []string{learner, shuffled, equal, rule},
			Rows: []paper.Row{noted(", decisions that were right %", "rightPct"), noted(", heartbeats overloaded %", "overPct"), noted(", load over the target", "ofTarget")},
		},
	}
}

// published compares the runtimes of Figure 11, which follow from its numbers of tasks.
func published() (list []paper.Published) {
	for k := range kinds {
		list = append(list, paper.Published{What: kinds[k].name, Label: "runtime", Unit: "times", Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid("runs", native, learner)
			return paper.Times(minutes(g, native, k), minutes(g, learner, k))
		}})
	}
	return list
}

func minutes(g *paper.Grid, label string, column int) []float64 {
	return g.Mean(label, paper.Noted("minutes1"), column)
}
