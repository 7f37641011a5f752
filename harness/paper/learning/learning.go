// Package learning contains the experiments of Dhok, Varma, "Using Pattern
// Classification for Task Assignment in MapReduce" (IIIT Hyderabad).
//
// The paper does not say what load a task puts on a node. Here it is 4 divided by the
// number of tasks that Figure 11 prints, so that those numbers are no result. The
// scheduler models learning and load-rule are in package model below this one; load
// averages are those of the kernel's formula.
package learning

import (
	"embed"
	"fmt"
	"math"

	"heddle/harness/paper"
)

//go:embed *.yaml published.csv
var files embed.FS

// Paper returns the experiments of the paper on pattern classification.
func Paper() *paper.Paper {
	right := overall("right", 1, 5, 6)
	return paper.Must(files, paper.Program{
		Setup: standard,
		Figures: map[string]func(*paper.Simulation) float64{
			"offPct":  func(s *paper.Simulation) float64 { return 100 * math.Abs(s.Notes["ofTarget"]-1) },
			"loadPct": overall("ofTarget", 100, 1, 2, 3, 4, 5, 6), // in the six runs of Figure 8
			// In the last three of these.
			"loadLate":    overall("ofTarget", 100, 4, 5, 6),
			"minutesLate": overall("minutes", 1, 4, 5, 6),
			"overLate":    overall("over", 1, 4, 5, 6),
			"peakLate":    overall("peak", 100, 4, 5, 6),
			// Decisions from 1001 to 1500. These are not a number if no decisions are judged.
			"rightLate": right,
			"wrongLate": func(s *paper.Simulation) float64 { return 100 - right(s) },
		},
		Explain: map[string]func(*paper.Data) string{"code": explain},
	})
}

// overall is the mean of notes that differ in the number behind their name, in a unit.
func overall(note string, unit float64, numbers ...int) func(*paper.Simulation) float64 {
	return func(s *paper.Simulation) (mean float64) {
		for _, n := range numbers {
			mean += unit * s.Notes[fmt.Sprint(note, n)] / float64(len(numbers))
		}
		return mean
	}
}
