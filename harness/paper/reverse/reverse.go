// Package reverse contains the experiments of Narayan, Vinay M, Vinay A, Sagar R,
// Nithin S, "Adaptive MapReduce Scheduling in Shared Environments", IJERT ICESMART
// (2015), which restates Polo, Becerra, Carrera, Torres, Ayguadé, Spreitzer,
// Steinder, CCGrid (2014).
//
// The paper gives its scheduler in words and claims without numbers. The scheduler
// models adaptive, reverse and edf are in package model below this one. The cluster,
// the jobs and the other load are ours.
package reverse

import (
	"embed"
	"fmt"
	"math"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

//go:embed *.yaml published.csv jobs.jsonl
var files embed.FS

// Labels of the schedulers whose jobs are compared one by one.
const adaptive, reverse = "Adaptive", "Reverse"

// Paper returns the experiments of the paper on Reverse-Adaptive.
func Paper() *paper.Paper {
	return paper.Must(files, paper.Program{
		Setup:   standard,
		Effects: map[string]func(*paper.Data) []paper.Effect{"whoIsLate": whoIsLate},
		Explain: map[string]func(*paper.Data) string{"code": explain},
	})
}

// whoIsLate compares job by job how late they are, with mid goals.
func whoIsLate(d *paper.Data) (effects []paper.Effect) {
	g, late := d.Grid("exp2", adaptive, reverse), map[string][][]float64{}
	for _, label := range []string{adaptive, reverse} {
		g.Mean(label, func(s *paper.Simulation) float64 {
			late[label] = append(late[label], s.Samples["late"])
			return 0
		}, 1)
	}
	for _, x := range [][2]string{{reverse, adaptive}, {adaptive, reverse}} {
		var shares, medians []float64
		for i, by := range late[x[0]] {
			var only []float64
			for k, s := range by {
				if s > 0 && late[x[1]][i][k] == 0 {
					only = append(only, s)
				}
			}
			slices.Sort(only)
			shares = append(shares, 100*float64(len(only))/float64(len(by)))
			if len(only) > 0 {
				medians = append(medians, only[len(only)/2])
			}
		}
		effects = append(effects,
			paper.Effect{What: fmt.Sprintf("jobs that are late with %s and not with %s", x[0], x[1]), Unit: "%", Estimate: stats.Mean(shares)},
			paper.Effect{What: fmt.Sprintf("median lateness of jobs that are late with %s alone", x[0]), Unit: "s", Estimate: stats.Mean(medians)})
	}
	return effects
}

// explain says why claims are reversed: what planning backwards does to jobs, and what else does it.
func explain(d *paper.Data) string {
	if math.IsNaN(d.Estimate("missed[exp2 relaxed: Reverse]").Value) {
		return ""
	}
	late := whoIsLate(d)
	by := func(e paper.Effect) string {
		if math.IsNaN(e.Value) { // none is late
			return ""
		}
		return fmt.Sprintf(", by %.0f s in the median", e.Value)
	}
	return fmt.Sprintf(
		"Reverse plans from the last goal back to the first, so that work is done as late as its goal allows. A job then has no time to "+
			"spare, and if its maps do not fit to the second, it ends shortly after its goal. With mid goals %.1f %% of the jobs are late with "+
			"Reverse and not with Adaptive%s; %.1f %% are late with Adaptive and not with Reverse%s.",
		late[0].Value, by(late[1]), late[2].Value, by(late[3]),
	)
}
