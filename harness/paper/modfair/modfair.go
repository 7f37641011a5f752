// Package modfair contains the experiments of Lo, Cheng, "Improving the
// Performance of Fair Scheduler in Hadoop", ASTESJ 2(3) 1050-1058 (2017).
//
// The paper changes the Fair Scheduler of Hadoop 1.2.1 by five mechanisms, M1 to
// M5. The scheduler models are fair1, fifo1 and modfair in package model below this
// one. Task times are made up: the paper gives none, and times of its own cluster
// per wave differ by scheduler and size in a way that it does not explain.
package modfair

import (
	"embed"
	"fmt"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/stats"
)

//go:embed *.yaml published.csv jobs.jsonl
var files embed.FS

// Labels of the schedulers, as the paper names them.
const original, modified, fifo = "Original", "Modified", "FIFO"

// jobCounts and jobSizes are those of the columns of A: by size, then by count.
var (
	jobCounts = []int{5, 10, 15}
	jobSizes  = []int{6, 10, 18}
)

// Paper returns the experiments of the paper on the Modified Fair Scheduler.
func Paper() *paper.Paper {
	return paper.Must(files, paper.Program{
		Setup: standard,
		Figures: map[string]func(*paper.Simulation) float64{
			"sharedTime":   sharedTime,
			"unsharedTime": func(s *paper.Simulation) float64 { return 100 - sharedTime(s) },
		},
		Effects: map[string]func(*paper.Data) []paper.Effect{"mostCells": mostCells, "growth": growth, "gainBySize": gainBySize},
		Compute: map[string]func(*paper.Data) ([]string, []paper.FigureRow){
			"waterfall": changes(original, "m1 alone", "m1+m2", "m1+m2+m3", "without m5", modified),
			"ablation":  changes(ablated()...),
			"settings":  changes(modified, "Original, no delay", "Original, no delay, FIFO in pools", "Original, no maximum", fifo),
		},
		Explain: map[string]func(*paper.Data) string{"conclusion": conclusion, "layout": layout, "ceiling": ceiling},
	})
}

// ablated are the labels of each mechanism alone, and of all others.
func ablated() (list []string) {
	for _, m := range []string{"m1", "m2", "m3", "m4", "m5"} {
		list = append(list, m+" alone", "without "+m)
	}
	return list
}

// changes compares the mean turnaround of schedulers with Original's, in A and in B.
func changes(labels ...string) func(*paper.Data) ([]string, []paper.FigureRow) {
	return func(d *paper.Data) (_ []string, rows []paper.FigureRow) {
		for _, design := range []string{"A", "B"} {
			row := paper.FigureRow{Name: design}
			for _, label := range labels {
				e := savedIn(d, design, original, label)
				row.Cells = append(row.Cells, paper.CellOf(stats.Estimate{Value: -e.Value, Lo: -e.Hi, Hi: -e.Lo}))
			}
			rows = append(rows, row)
		}
		return labels, rows
	}
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

// mostCells asks for the seventh best of the nine cells, and for the worst.
func mostCells(d *paper.Data) []paper.Effect {
	g := d.Grid("A", original, modified)
	seventh := paper.Effect{What: "seventh best of nine", Unit: "%", Least: 10}
	worst := paper.Effect{What: "worst of nine", Unit: "%", None: -5, Least: -5}
	for k, e := range map[int]*paper.Effect{7: &seventh, 9: &worst} {
		column, saved := g.KthSaved(k, original, modified)
		if e.Estimate = saved; column >= 0 && column < len(g.Columns) {
			e.What += fmt.Sprintf(": time that %s saves against %s with %s", modified, original, g.Columns[column])
		}
	}
	return []paper.Effect{seventh, worst}
}

// growth is that of the time with the number of jobs and with their size.
func growth(d *paper.Data) (list []paper.Effect) {
	for _, label := range []string{modified, original} {
		g := d.Grid("A", label)
		longer := func(i, k int) {
			list = append(list, paper.Effect{
				What: fmt.Sprintf("%s, %s against %s", label, g.Column(k), g.Column(i)), Unit: "times as long",
				Estimate: paper.Times(g.Seconds(label, i), g.Seconds(label, k)), None: 1, Least: 1,
			})
		}
		for k := range 9 {
			if k%3 < 2 {
				longer(k, k+1)
			}
			if k < 6 {
				longer(k, k+3)
			}
		}
	}
	return list
}

// gainBySize is by how much the time saved rises with each map that jobs have more.
func gainBySize(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("A", original, modified)
	for k, jobs := range jobCounts {
		var slopes []float64
		for i := range g.Seconds(original, k) {
			var points []stats.Point
			for j, size := range jobSizes {
				saved := 100 * (1 - g.Seconds(modified, 3*j+k)[i]/g.Seconds(original, 3*j+k)[i])
				points = append(points, stats.Point{X: float64(size), Y: saved})
			}
			slopes = append(slopes, stats.LineOf(points).Slope.Value)
		}
		list = append(list, paper.Effect{
			What: fmt.Sprintf("rise of the time saved at %d jobs", jobs), Unit: "points a map", Estimate: stats.Mean(slopes),
		})
	}
	return list
}

// savedIn is by how many percent scheduler b takes less time than a, where each column of a design
// counts equally.
func savedIn(d *paper.Data, design, a, b string) stats.Estimate {
	return d.Estimate(fmt.Sprintf("savedEach(time[%s: %s], time[%s: %s])", design, a, design, b))
}
