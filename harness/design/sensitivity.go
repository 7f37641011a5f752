package design

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Index is how much of the variance of a result a factor explains. Each index has a
// 95 % interval from bootstrap samples of the base points.
type Index struct {
	// First is the part that the factor explains alone, Total the part in which it
	// takes part in any way, alone or together with others.
	First, Total Interval
}

// Interval is an estimate with its 95 % interval.
type Interval struct{ Value, Lo, Hi float64 }

// resamples is the number of bootstrap samples of an interval.
const resamples = 1000

// Sobol estimates Sobol' indices from the results of the points of [Saltelli], in their
// order. It uses the estimators of Saltelli et al. (2010) for the first index and of
// Jansen (1999) for the total one. A base point with a result that is not a number is
// left out. It returns nil if fewer than two base points are left, or if all results
// are equal, so that there is no variance to explain.
func Sobol(results []float64, factors int) []Index {
	width := factors + 2
	var base [][]float64
	for i := 0; i+width <= len(results); i += width {
		if row := results[i : i+width]; !slices.ContainsFunc(row, func(y float64) bool { return math.IsNaN(y) || math.IsInf(y, 0) }) {
			base = append(base, row)
		}
	}
	if len(base) < 2 {
		return nil
	}
	values := indices(base, factors)
	if values == nil {
		return nil
	}
	r := rand.New(rand.NewPCG(uint64(len(base)), uint64(factors)))
	samples := make([][]float64, 2*factors)
	drawn := make([][]float64, len(base))
	for range resamples {
		for i := range drawn {
			drawn[i] = base[r.IntN(len(base))]
		}
		for k, x := range indices(drawn, factors) { // none if all that were drawn are equal
			samples[k] = append(samples[k], x)
		}
	}
	list := make([]Index, factors)
	for k := range list {
		list[k] = Index{bounded(values[2*k], samples[2*k]), bounded(values[2*k+1], samples[2*k+1])}
	}
	return list
}

// indices returns the first and the total index of each factor, in turn. It returns
// nil if there is no variance.
func indices(base [][]float64, factors int) []float64 {
	// The estimators are exact for any constant that is taken from all results; with
	// the mean, the terms are small and so is their error.
	mean, n := 0.0, float64(len(base))
	for _, y := range base {
		mean += (y[0] + y[1]) / (2 * n)
	}
	variance := 0.0
	for _, y := range base {
		variance += ((y[0]-mean)*(y[0]-mean) + (y[1]-mean)*(y[1]-mean)) / (2 * n)
	}
	if !(variance > 0) {
		return nil
	}
	list := make([]float64, 2*factors)
	for k := range factors {
		first, total := 0.0, 0.0
		for _, y := range base {
			first += (y[1] - mean) * (y[2+k] - y[0])
			total += (y[0] - y[2+k]) * (y[0] - y[2+k]) / 2
		}
		list[2*k], list[2*k+1] = first/n/variance, total/n/variance
	}
	return list
}

// bounded returns a value with the interval that has 95 % of the samples.
func bounded(value float64, samples []float64) Interval {
	slices.Sort(samples)
	if len(samples) == 0 {
		return Interval{value, math.Inf(-1), math.Inf(1)}
	}
	at := func(share float64) float64 { return samples[int(share*float64(len(samples)-1)+0.5)] }
	return Interval{value, at(0.025), at(0.975)}
}

// Effect is the mean result for each level of a factor.
type Effect struct {
	Level string
	N     int
	Mean  float64
}

// MainEffects returns the mean result of each level of a factor, in the order in which
// levels first occur, and the share of the results' variance between them (the
// correlation ratio). Results that are not numbers do not count. The share is NaN if
// results do not differ.
func MainEffects(levels []string, results []float64) (effects []Effect, share float64) {
	at := map[string]int{}
	sum, n := 0.0, 0.0
	for i, y := range results {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		k, ok := at[levels[i]]
		if !ok {
			k = len(effects)
			at[levels[i]], effects = k, append(effects, Effect{Level: levels[i]})
		}
		effects[k].N++
		effects[k].Mean += y // the sum, until all are added
		sum, n = sum+y, n+1
	}
	mean := sum / n
	between, all := 0.0, 0.0
	for k := range effects {
		e := &effects[k]
		e.Mean /= float64(e.N)
		between += float64(e.N) * (e.Mean - mean) * (e.Mean - mean)
	}
	for _, y := range results {
		if !math.IsNaN(y) && !math.IsInf(y, 0) {
			all += (y - mean) * (y - mean)
		}
	}
	if !(all > 0) {
		return effects, math.NaN()
	}
	return effects, between / all
}

// Pareto returns the indexes of the results that no other result dominates: none is at
// least as low in every coordinate and lower in one. Equal results all stay. A result
// with a coordinate that is not a number is never on the front.
func Pareto(results [][]float64) (front []int) {
	isBad := func(x []float64) bool { return slices.ContainsFunc(x, math.IsNaN) }
	for i, x := range results {
		if isBad(x) {
			continue
		}
		if !slices.ContainsFunc(results, func(y []float64) bool { return !isBad(y) && dominates(y, x) }) {
			front = append(front, i)
		}
	}
	return front
}

func dominates(y, x []float64) bool {
	lower := false
	for k := range x {
		if y[k] > x[k] {
			return false
		}
		lower = lower || y[k] < x[k]
	}
	return lower
}
