package modfair

import (
	"fmt"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/stats"
)

// Published times in s and gains in percent, from Tables 5 and 7. Gains are
// computed anew: the paper truncates some and rounds others.
var (
	jobCounts = []int{5, 10, 15}
	jobSizes  = []int{6, 10, 18}
	table5    = [][2]float64{{289.6, 188.2}, {1083.2, 761.3}, {1791.7, 1175.2}, {886.9, 462.2}, {1433.7, 1103.3}, {2008.1, 1577.6}, {2212.3, 1003}, {3845, 1894.1}, {5681.4, 2988.7}}
	table6    = [][2]float64{{.09, .13}, {.22, .23}, {.28, .28}, {.29, .32}, {.34, .32}, {.33, .35}, {.21, .25}, {.28, .34}, {.30, .36}}
	table7    = [][3]float64{{1242, 364.6, 513.6}, {2343.1, 1372.5, 1532.2}, {5585.3, 2285.5, 2131.933}}
)

func designs() []paper.Design {
	a := paper.Design{ID: "A", X: "maps of a job and number of jobs"}
	for _, size := range jobSizes {
		for _, jobs := range jobCounts {
			a.Columns = append(a.Columns, paper.Column{Name: fmt.Sprintf("%d maps, %d jobs", size, jobs), Set: map[string]string{"experiment": "A", "size": fmt.Sprint(size), "jobs": fmt.Sprint(jobs)}})
		}
	}
	b := paper.Design{ID: "B", X: "number of jobs"}
	for _, jobs := range jobCounts {
		b.Columns = append(b.Columns, paper.Column{Name: fmt.Sprintf("%d jobs", jobs), Set: map[string]string{"experiment": "B", "jobs": fmt.Sprint(jobs)}})
	}
	return []paper.Design{a, b}
}

func parts() []paper.Part {
	three := []string{original, modified, fifo}
	var ablated []string
	for _, m := range mechanisms {
		ablated = append(ablated, alone(m), without(m))
	}
	return []paper.Part{
		{ID: "table5", Title: "Experiment A: mean turnaround", Design: "A", Schedulers: three, Unit: "s", Kind: paper.Bars, Rows: []paper.Row{paper.SecondsRow()}, Published: gains("A")},
		{ID: "table6", Title: "Experiment A: node-local maps", Design: "A", Schedulers: three, Unit: "%", Kind: paper.Bars, Rows: []paper.Row{paper.RateRow("", paper.LocalRate)}, Published: rises()},
		{ID: "table7", Title: "Experiment B: mean turnaround", Design: "B", Schedulers: three, Unit: "s", Kind: paper.Bars, Rows: []paper.Row{paper.SecondsRow()}, Published: append(gains("B"), fifoGains()...)},
		{ID: "table8", Title: "Experiment B: node-local maps", Design: "B", Schedulers: three, Unit: "%", Kind: paper.Bars, Rows: []paper.Row{paper.RateRow("", paper.LocalRate)}, Published: rates8(), Notes: []string{
			"The paper's rows of 10 and 15 jobs are the same (.32, .44, .36) and print +3.8 %, which belongs to the row of 5: they are copy errors and are not compared.",
		}},
		{ID: "ablationA", Title: "Experiment A: mean turnaround with one mechanism, and with all others", Design: "A", Schedulers: append([]string{original, modified}, ablated...), Unit: "s", Kind: paper.Bars, Rows: []paper.Row{paper.SecondsRow()}},
		{ID: "ablationB", Title: "Experiment B: mean turnaround with one mechanism, and with all others", Design: "B", Schedulers: append([]string{original, modified}, ablated...), Unit: "s", Kind: paper.Bars, Rows: []paper.Row{paper.SecondsRow()}},
		{ID: "slots", Title: "Experiment A: tasks that run at a time in the mean, on 32 map and 8 reduce slots", Design: "A", Schedulers: append(three, noMaximum), Rows: []paper.Row{
			paper.MeanRow("", paper.Noted("running")),
		}, Notes: []string{"Three pools of at most 6 maps leave 14 of the 32 map slots idle. Each node has 2 cores for its tasks."}},
		{ID: "fairness", Title: "Experiment B: fairness, which the paper aims at and does not measure", Design: "B", Schedulers: three, Rows: []paper.Row{
			paper.MeanRow(", Jain's index of turnaround", paper.Noted("jain")), paper.MeanRow(", longest job s", paper.Noted("longestS")),
		}, Notes: []string{"Jain's index is 1 if all jobs take equally long, and 1/n if one takes all the time. A pure change of order pays with it."}},
		{ID: "mechanisms", Title: "Experiment B: what the mechanisms did", Design: "B", Schedulers: []string{modified}, Rows: []paper.Row{
			paper.MeanRow(", share of the time with sharedPool %", sharedTime), paper.MeanRow(", jobs that were in it", paper.Noted("sharedJobs")), paper.MeanRow(", M4's node delay at the end ms", paper.Noted("nodeDelayMs")),
			paper.MeanRow(", M4's rack delay at the end ms", paper.Noted("rackDelayMs")), paper.MeanRow(", priorities changed by M5", paper.Noted("priorityChanges")), paper.MeanRow(", times a waiting pool got no slot", paper.Noted("emptyGrants")),
		}},
	}
}

// gains compares the time that the modified scheduler saves with what the paper
// has for each column.
func gains(design string) (list []paper.Published) {
	pairs := table5
	if design == "B" {
		pairs = nil
		for _, x := range table7 {
			pairs = append(pairs, [2]float64{x[0], x[1]})
		}
	}
	for k, x := range pairs {
		list = append(list, paper.Published{What: "time saved, " + columnName(design, k), Label: modified, Unit: "%", Value: fmt.Sprintf("%.1f", 100*(1-x[1]/x[0])), Ours: func(d *paper.Data) stats.Estimate {
			return saved(d, design, original, modified, k).Estimate
		}})
	}
	return list
}

func fifoGains() (list []paper.Published) {
	for k, x := range table7 {
		list = append(list, paper.Published{What: "time saved, " + columnName("B", k), Label: fifo, Unit: "%", Value: fmt.Sprintf("%.1f", 100*(1-x[2]/x[0])), Ours: func(d *paper.Data) stats.Estimate {
			return saved(d, "B", original, fifo, k).Estimate
		}})
	}
	return list
}

func rises() (list []paper.Published) {
	for k, x := range table6 {
		list = append(list, paper.Published{What: "node-local above the original, " + columnName("A", k), Label: modified, Unit: "points", Value: fmt.Sprintf("%.0f", 100*(x[1]-x[0])), Ours: func(d *paper.Data) stats.Estimate {
			g := d.Grid("A", original, modified)
			return paper.More(g.Shares(original, paper.LocalRate, k), g.Shares(modified, paper.LocalRate, k))
		}})
	}
	return list
}

// rates8 has the row of Table 8 that is not a copy error.
func rates8() (list []paper.Published) {
	for i, label := range []string{original, modified, fifo} {
		list = append(list, paper.Published{What: "node-local, 5 jobs", Label: label, Unit: "%", Value: []string{"25", "26", "27"}[i], Ours: func(d *paper.Data) stats.Estimate {
			return stats.MeanShare(d.Grid("B", label).Shares(label, paper.LocalRate, 0))
		}})
	}
	return list
}

func columnName(design string, k int) string {
	for _, d := range designs() {
		if d.ID == design {
			return d.Columns[k].Name
		}
	}
	return ""
}

// Note notes how equal the jobs' turnaround is, by Jain's index, the longest in
// s, and how many tasks ran at a time in the mean.
func (testbed) Note(to *paper.Simulation, _ uint64, _ []sim.Job, f *measure.Figures) {
	running := 0.0
	for _, n := range f.Nodes {
		running += n.MeanRunning
	}
	sum, squares, longest := 0.0, 0.0, 0.0
	for _, j := range f.JobList {
		x := j.CompletionMs / 1000
		sum, squares, longest = sum+x, squares+x*x, max(longest, x)
	}
	to.Notes["jain"], to.Notes["longestS"], to.Notes["running"] = sum*sum/(squares*float64(len(f.JobList))), longest, running
}

// sharedTime returns the share of M1's updates after which there was a
// sharedPool, in percent.
func sharedTime(s *paper.Simulation) float64 {
	return 100 * s.Notes["sharedUpdates"] / max(1, s.Notes["updates"])
}
