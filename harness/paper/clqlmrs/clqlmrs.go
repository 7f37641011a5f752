// Package clqlmrs contains the experiments of Ghazali, Adabi, Rezaee, Down,
// Movaghar, "CLQLMRS: improving cache locality in MapReduce job scheduling
// using Q-learning", Journal of Cloud Computing 11:45 (2022).
//
// Ours is compared with numbers in the paper's text only: it prints none for
// the curves of its Figures 5 to 9 and for most cells of its Tables 3 to 5. The
// scheduler model itself is in package model below this one.
package clqlmrs

import (
	"embed"

	"heddle/harness/paper"
)

//go:embed *.yaml published.csv
var files embed.FS

// Paper returns the experiments of the paper on CLQLMRS.
func Paper() *paper.Paper {
	return paper.Must(files, paper.Program{
		Setup: standard,
		Figures: map[string]func(*paper.Simulation) float64{
			// What training a job would take, as it would be charged in the reading training=20us.
			"training": func(s *paper.Simulation) float64 { return float64(s.Trained) * 20e-6 },
		},
	})
}
