package fidelity

import (
	"cmp"
	"fmt"
	"math"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/stats"
)

// Winner says which of two models completed the jobs of a workload sooner in one run,
// by measurement and by prediction.
type Winner struct {
	Run      string    `json:"run"`
	Workload string    `json:"workload"`
	Models   [2]string `json:"models"`
	// MeasuredDiffPct is by how much the second model's completion was above the first's.
	// Its p-value is that of the t-test of logarithms, times the number of pairs of the
	// workload.
	MeasuredDiffPct  compare.Number `json:"measuredDiffPct"`
	MeasuredP        compare.Number `json:"measuredP"`
	PredictedDiffPct compare.Number `json:"predictedDiffPct"`
	// Measured and Predicted are the model that is faster, empty if no difference is told.
	// A prediction tells one that as many repeats as were measured would tell: it is
	// beyond the 95 % interval of what they differ by if the models are alike.
	Measured  string `json:"measured"`
	Predicted string `json:"predicted"`
}

// winners compares all models under which a workload ran in one run, two by two.
func winners(settings []Setting) []Winner {
	list := []Winner{}
	type place struct{ run, workload string }
	of := map[place][]Setting{}
	var places []place
	for _, x := range settings {
		p := place{x.Run, x.Workload}
		if of[p] == nil {
			places = append(places, p)
		}
		of[p] = append(of[p], x)
	}
	for _, p := range places {
		var tests []stats.Comparison
		first := len(list)
		for i, a := range of[p] {
			for _, b := range of[p][i+1:] {
				tests = append(tests, stats.Ratio(a.was, b.was))
				list = append(list, winner(&a, &b))
			}
		}
		for i, t := range stats.Together(tests) {
			x := &list[first+i]
			x.MeasuredDiffPct, x.MeasuredP = compare.Number(100*(t.Value-1)), compare.Number(t.P)
			if t.P < 1-stats.Level {
				x.Measured = x.faster(t.Value)
			}
		}
	}
	return list
}

// winner has the prediction for two models.
func winner(a, b *Setting) Winner {
	x := Winner{Run: a.Run, Workload: a.Workload, Models: [2]string{a.Model, b.Model}}
	ratio := stats.Ratio(a.is, b.is)
	x.PredictedDiffPct = compare.Number(100 * (ratio.Value - 1))
	a2, b2 := math.Pow(stats.Spread(a.is), 2), math.Pow(stats.Spread(b.is), 2)
	freedom := float64(a.Runs + b.Runs - 2)
	if freedom > 0 && math.Abs(math.Log(ratio.Value)) > stats.Margin(math.Sqrt(a2/float64(a.Runs)+b2/float64(b.Runs)), freedom) {
		x.Predicted = x.faster(ratio.Value)
	}
	return x
}

// faster returns the model that is faster if the second's time is so many times the first's.
func (x *Winner) faster(ratio float64) string {
	if ratio < 1 {
		return x.Models[1]
	}
	return x.Models[0]
}

// winnersDoc is a table of the pairs for people to read; empty if there is none.
func winnersDoc(list []Winner) doc.Doc {
	if len(list) == 0 {
		return nil
	}
	told := func(model string) string { return cmp.Or(model, compare.CannotTell) }
	table := doc.NewTable("winners", "run", "workload", "models", "measured", "p", "predicted", "faster, measured", "faster, predicted")
	tells, right, silent, silentToo := 0, 0, 0, 0
	for _, x := range list {
		table.Add(x.Run, x.Workload, x.Models[0]+", "+x.Models[1],
			doc.Signed(x.MeasuredDiffPct, 1, "%"), doc.Fixed(x.MeasuredP, 3, ""),
			doc.Signed(x.PredictedDiffPct, 1, "%"), told(x.Measured), told(x.Predicted))
		switch x.Measured {
		case "":
			silent++
			if x.Predicted == "" {
				silentToo++
			}
		default:
			tells++
			if x.Predicted == x.Measured {
				right++
			}
		}
	}
	text := fmt.Sprintf("Measured runs tell the faster of two models in %d pairs: it was predicted in %d. They do not tell it in %d: it "+
		"was not predicted either in %d.", tells, right, silent, silentToo)
	return doc.Doc{doc.Heading("the faster of two models"), table, doc.Text(text)}
}
