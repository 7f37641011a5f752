package modfair

import (
	"fmt"
	"slices"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/stats"
)

var (
	jobCounts = []int{5, 10, 15}
	jobSizes  = []int{6, 10, 18}
)

// numbers are the numbers of the paper.
var numbers = paper.MustNumbers("harness/paper/modfair/published.csv", publishedFile)

// gain stands before the name of a column where Tables 5 and 7 have the time saved there.
const gain = "time saved, "

// The designs of experiments A and B. In sameA, seeds draw times and offers of nodes
// only, while blocks and the order of jobs stay. In bestA and bestB, all maps take
// about equally long, and the smallest job comes first.
var (
	designA, designB = designs()
	sameA            = designA.Differing("A, same input", sameInput)
	bestA, bestB     = designA.Differing("A, best order", bestOrder), designB.Differing("B, best order", bestOrder)
	sameInput        = map[string]string{"input": "same"}
	bestOrder        = map[string]string{"cores": "0", "link": "0", "uplink": "0", "order": "ascending"}
)

func designs() (a, b paper.Design) {
	a, b = paper.Design{ID: "A", X: "maps of a job and number of jobs"}, paper.Design{ID: "B", X: "number of jobs"}
	for _, size := range jobSizes {
		for _, jobs := range jobCounts {
			a.Columns = append(a.Columns, paper.In(fmt.Sprintf("%d maps, %d jobs", size, jobs), "experiment", "A", "size", fmt.Sprint(size), "jobs", fmt.Sprint(jobs)))
		}
	}
	for _, jobs := range jobCounts {
		b.Columns = append(b.Columns, paper.In(fmt.Sprintf("%d jobs", jobs), "experiment", "B", "jobs", fmt.Sprint(jobs)))
	}
	return a, b
}

// layouts has the places of blocks, with 10 jobs of 10 maps.
func layouts() paper.Design {
	x := paper.Design{ID: "layouts", X: "where the only replica of a block is, with 10 jobs of 10 maps"}
	for _, layout := range []string{"hot", "hotRack", "spread"} {
		x.Columns = append(x.Columns, paper.In(layout, "experiment", "A", "size", "10", "jobs", "10", "layout", layout))
	}
	return x
}

func parts() []paper.Part {
	three := []string{original, modified, fifo}
	local := paper.RateRow("", paper.LocalRate)
	return []paper.Part{
		{ID: "table5", Title: "Experiment A: mean turnaround", Design: "A", Schedulers: three, Unit: "s", Kind: paper.Bars, Rows: []paper.Row{paper.SecondsRow()}, Published: append(gains(&designA, modified), meanGain(&designA, "nine")), Notes: recomputed},
		{ID: "table6", Title: "Experiment A: node-local maps", Design: "A", Schedulers: three, Unit: "%", Kind: paper.Bars, Rows: []paper.Row{local}, Published: paper.PublishedByColumn(&designA, "points gained, ", modified, "points", func(d *paper.Data, k int) stats.Estimate {
			return d.Above("A", "", paper.LocalRate, paper.AllMaps, original, modified, k).Estimate
		}), Notes: []string{"The gains that the paper prints are relative: " + numbers.Text("table6", modified, designA.Names("relative gain, ")...) + " %."}},
		{ID: "table7", Title: "Experiment B: mean turnaround", Design: "B", Schedulers: three, Unit: "s", Kind: paper.Bars, Rows: []paper.Row{paper.SecondsRow()}, Published: slices.Concat(gains(&designB, modified), gains(&designB, fifo), []paper.Published{meanGain(&designB, "three")}), Notes: recomputed},
		{ID: "table8", Title: "Experiment B: node-local maps", Design: "B", Schedulers: three, Unit: "%", Kind: paper.Bars, Rows: []paper.Row{local}, Notes: []string{"The paper's rows of 10 and 15 jobs are the same, and print +3.8 %, which belongs to the row of 5: they are copy errors and are not compared."}},
		{ID: "waterfall", Title: "Change of the mean turnaround against Original, mechanisms added one after the other", Unit: "%", Kind: paper.Bars, X: "scheduler", Compute: changes(added())},
		{ID: "ablation", Title: "Change of the mean turnaround against Original, one mechanism alone and all others", Unit: "%", Kind: paper.Bars, X: "scheduler", Compute: changes(ablated())},
		{ID: "settings", Title: "Change of the mean turnaround against Original, by settings that anybody can choose", Unit: "%", Kind: paper.Bars, X: "scheduler", Compute: changes([]string{modified, noDelay, fifoInPools, noMaximum, fifo})},
		{ID: "locality", Title: fmt.Sprintf("Node-local maps by layout of blocks; the paper has %g to %g %%", numbers.Value("table6", "all schedulers", "least"), numbers.Value("table6", "all schedulers", "most")), Design: "layouts", Schedulers: append(three, "m5 alone"), Unit: "%", Kind: paper.Bars, Rows: []paper.Row{local}},
		{ID: "slots", Title: "Experiment A: tasks that run at a time in the mean, on 32 map and 8 reduce slots", Design: "A", Schedulers: append(three, noMaximum), Rows: []paper.Row{paper.MeanRow("", paper.Noted("running"))}, Notes: []string{"Three pools of at most 6 maps leave 14 of the 32 map slots idle. Each node has 2 cores for its tasks."}},
		{ID: "fairness", Title: "Experiment B: fairness, which the paper aims at and does not measure", Design: "B", Schedulers: three, Rows: []paper.Row{
			paper.MeanRow(", Jain's index of turnaround", paper.Noted("jain")), paper.MeanRow(", longest job s", paper.Noted("longestS")),
		}, Notes: []string{"Jain's index is 1 if all jobs take equally long, and 1/n if one takes all the time. A pure change of order pays with it."}},
		{ID: "mechanisms", Title: "Experiment B: what the mechanisms did", Design: "B", Schedulers: []string{modified}, Rows: []paper.Row{
			paper.MeanRow(", share of the time with sharedPool %", sharedTime), paper.MeanRow(", jobs that were in it", paper.Noted("sharedJobs")), paper.MeanRow(", M4's node delay at the end ms", paper.Noted("nodeDelayMs")),
			paper.MeanRow(", M4's rack delay at the end ms", paper.Noted("rackDelayMs")), paper.MeanRow(", priorities changed by M5", paper.Noted("priorityChanges")), paper.MeanRow(", times a waiting pool got no slot", paper.Noted("emptyGrants")),
		}},
	}
}

// changes compares the mean turnaround of schedulers with Original's, in A and in B.
func changes(labels []string) func(*paper.Data) ([]string, []paper.FigureRow) {
	return func(d *paper.Data) (_ []string, rows []paper.FigureRow) {
		for _, design := range []string{"A", "B"} {
			row := paper.FigureRow{Name: design}
			for _, label := range labels {
				e := d.SavedIn(design, original, label)
				row.Cells = append(row.Cells, paper.CellOf(stats.Estimate{Value: -e.Value, Lo: -e.Hi, Hi: -e.Lo}))
			}
			rows = append(rows, row)
		}
		return labels, rows
	}
}

// gains compares the time that a scheduler saves against Original with what the paper
// has for each column.
func gains(x *paper.Design, label string) []paper.Published {
	return paper.PublishedByColumn(x, gain, label, "%", func(d *paper.Data, k int) stats.Estimate { return d.Saves(x.ID, original, label, 0, k).Estimate })
}

func meanGain(x *paper.Design, columns string) paper.Published {
	return paper.Published{What: gain + "mean of " + columns, Label: modified, Unit: "%", Ours: func(d *paper.Data) stats.Estimate { return d.SavedIn(x.ID, original, modified) }}
}

// recomputed says which gains are shown.
var recomputed = []string{"Gains are shown as the paper prints them, and as its times give them where that differs."}

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
