// Package rhc contains the experiments of Tan, Meng, Zhang, "Improving ReduceTask Data
// Locality for Sequential MapReduce Jobs", INFOCOM 2013.
//
// The paper gives each reduce slot a cost for a byte that is fetched there, and proposes
// receding horizon control (RHC): a job with little data leaves the cheapest slots to the
// next one. Its main experiment is a Monte Carlo simulation of slots and jobs, without
// HDFS, tasks and heartbeats: the set-up of this package is that simulation. The rules
// are in package policy below this one.
package rhc

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

// Labels of the schedulers.
const (
	claimant, greedy, random = "RHC", "Greedy", "Random"
	known, lowest            = "RHC, load known", "bound"
)

// Paper returns the experiments of the paper on receding horizon control.
func Paper() *paper.Paper {
	tree := treeCosts()
	hops := func(node int) func(*paper.Data, string) stats.Estimate {
		return func(*paper.Data, string) stats.Estimate { return paper.Exactly(tree[node]) }
	}
	return paper.Must(files, paper.Program{
		Setup: standard,
		Effects: map[string]func(*paper.Data) []paper.Effect{
			"deferred": deferred,
			"table1":   func(d *paper.Data) []paper.Effect { return linear(d.Numbers()) },
			"together": func(d *paper.Data) []paper.Effect { return together(d.Numbers()) },
			"tree": func(*paper.Data) []paper.Effect { // C, D, G and H are the worst, B is the best, A and E come next
				worst := paper.Exactly((tree[6] + tree[7]) / (tree[1] + tree[0]))
				return []paper.Effect{{What: "cost of the worst placement of two reduce tasks", Unit: "times the best", None: 1, Estimate: worst}}
			},
		},
		Estimates: map[string]func(*paper.Data, string) stats.Estimate{"H(A)": hops(0), "H(G)": hops(6), "leftOut": predicted},
		Explain:   map[string]func(*paper.Data) string{"became": became},
	})
}

// deferred holds the share of jobs that are deferred against the law of section V-B.
func deferred(d *paper.Data) (list []paper.Effect) {
	g := d.Grid("literal", known)
	for k, load := range []float64{0.2, 0.3, 0.4, 0.5, 0.6} {
		want := deferredInTheory(load)
		list = append(list, paper.Effect{
			What:     fmt.Sprintf("literal, share of jobs that are deferred, load %v, expected %.3g", load, want),
			Estimate: stats.Mean(g.Mean(known, func(s *paper.Simulation) float64 { return s.Notes["deferred"] }, k)),
			Band:     [2]float64{want - .01, want + .01},
		})
	}
	return list
}

// deferredInTheory is the share of jobs whose data a reduce task is below the threshold, by
// the law of section V-B.
func deferredInTheory(load float64) float64 {
	law := standard.law()
	threshold, share := load/(1+load)*law.Next()[0], 0.0
	for i, p := range law.Reduces {
		for _, x := range law.Data {
			if x.Value/float64(i+1) < threshold {
				share += p * x.P
			}
		}
	}
	return share
}

// linear is what Table I shows: that times rise with the intermediate data, on lines that differ.
func linear(numbers paper.Numbers) (list []paper.Effect) {
	all := families(numbers)
	for _, f := range all {
		l := line(f.inter, f.times)
		list = append(list, paper.Effect{What: "slope of " + f.name, Unit: "s/MB", Estimate: l.Slope},
			leftOut(f.name, l.LeftOut, line(f.output, f.times).LeftOut))
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			list = append(list, paper.Effect{What: "slopes of " + a.name + " and " + b.name + " apart", Unit: "s/MB", Estimate: slopesApart(a, b)})
		}
	}
	return list
}

// together is how far output explains intermediate data.
func together(numbers paper.Numbers) (list []paper.Effect) {
	for _, f := range families(numbers) {
		share := paper.Exactly(100 * line(f.output, f.inter).R2)
		list = append(list, paper.Effect{What: "intermediate data that output explains, " + f.name, Unit: "%", Estimate: share})
	}
	return list
}

// leftOut asks that errors of rows left out are smaller by the first, the intermediate data.
func leftOut(family string, errors, byOutput []float64) paper.Effect {
	gain := make([]float64, len(errors))
	for k := range gain {
		gain[k] = math.Abs(byOutput[k]) - math.Abs(errors[k])
	}
	what := "error of a row left out by output, above that by intermediate data, " + family
	e := paper.Effect{What: what, Unit: "s", Estimate: stats.Mean(gain)}
	e.N = 0 // rows, of which there are no more
	return e
}

// slopesApart returns how far the slopes of two families are apart, as one of three such pairs.
func slopesApart(a, b family) stats.Estimate {
	reach := func(f family) (slope, margin float64) {
		e := line(f.inter, f.times).Slope
		return e.Value, (e.Hi - e.Value) * stats.Widening(3, float64(len(f.times)-2))
	}
	x, mx := reach(a)
	y, my := reach(b)
	apart, margin := math.Abs(x-y), math.Hypot(mx, my)
	return stats.Estimate{Value: apart, Lo: apart - margin, Hi: apart + margin}
}

// treeCosts are the fetching costs H of the tree of Figure 1, the hops to all its nodes, A to
// H: A with B, C and D; B with E and F; E with G and H.
func treeCosts() []float64 {
	above := []int{0, 0, 0, 0, 1, 1, 4, 4} // A is above itself
	costs := make([]float64, len(above))
	for u := range above {
		for v := range above {
			for a, b := u, v; a != b; costs[v]++ { // a node is above those with larger numbers only
				if a > b {
					a = above[a]
				} else {
					b = above[b]
				}
			}
		}
	}
	return costs
}

// family are the rows of Table I with regular expressions of one form.
type family struct {
	name                 string
	rows                 []string
	inter, output, times []float64
}

// families are the three of Table I: [a-b]*, [a-b][c-d]* and those that begin a line.
func families(numbers paper.Numbers) []family {
	list := []family{{name: "[a-b]*"}, {name: "[a-b][c-d]*"}, {name: "^…"}}
	for _, n := range numbers {
		if n.Figure != "table1" {
			continue
		}
		f := &list[0]
		switch {
		case n.Row[0] == '^':
			f = &list[2]
		case len(n.Row) > len("[1-2]*"):
			f = &list[1]
		}
		switch n.Column {
		case "intermediate data":
			f.rows, f.inter = append(f.rows, n.Row), append(f.inter, n.Value)
		case "output":
			f.output = append(f.output, n.Value)
		default:
			f.times = append(f.times, n.Value)
		}
	}
	return list
}

// line is the line of ys through xs.
func line(xs, ys []float64) stats.Line {
	points := make([]stats.Point, len(xs))
	for i := range points {
		points[i] = stats.Point{X: xs[i], Y: ys[i]}
	}
	return stats.LineOf(points)
}

// predicted is what the line through the other rows of a row's family predicts.
func predicted(d *paper.Data, label string) stats.Estimate {
	for _, f := range families(d.Numbers()) {
		if i := slices.Index(f.rows, label); i >= 0 {
			return paper.Exactly(f.times[i] - line(f.inter, f.times).LeftOut[i])
		}
	}
	return paper.Exactly(math.NaN())
}
