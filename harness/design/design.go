// Package design says which combinations of factors a set of simulations tries, and
// what their results say of each factor.
//
// Designs of levels ([Grid], [Pairwise]) give for each combination the index of a level
// of each factor. Designs of points ([Random], [LatinHypercube], [Saltelli]) give points
// in the unit cube, one coordinate for each factor, which the caller turns into values.
// [Sobol] and [MainEffects] tell how much of a result's variance a factor explains, and
// [Pareto] which results no other one beats.
//
// The package is pure: equal arguments give equal results. It knows no simulation, no
// metric and no file.
package design

import "math/rand/v2"

// Grid returns all combinations of the levels of factors that have so many levels each.
// The last factor changes fastest.
func Grid(levels []int) [][]int {
	list := [][]int{{}}
	for _, n := range levels {
		var next [][]int
		for _, row := range list {
			for level := range n {
				next = append(next, append(row[:len(row):len(row)], level))
			}
		}
		list = next
	}
	return list
}

// pair is two levels of two factors, i < k.
type pair struct{ i, k, a, b int }

// Pairwise returns combinations in which every pair of levels of two factors occurs.
// Each combination begins with the first missing pair, and takes for each other factor
// the level that brings the most missing pairs. Fewer than two factors have no pair.
func Pairwise(levels []int) [][]int {
	var list [][]int
	have := map[pair]bool{}
	for {
		first, ok := missing(levels, have)
		if !ok {
			return list
		}
		row := make([]int, len(levels))
		for i := range row {
			row[i] = -1
		}
		row[first.i], row[first.k] = first.a, first.b
		for i, n := range levels {
			if row[i] >= 0 {
				continue
			}
			most, best := -1, 0
			for level := range n {
				brings := 0
				for k, other := range row {
					x := pair{i, k, level, other}
					if k < i {
						x = pair{k, i, other, level}
					}
					if other >= 0 && !have[x] {
						brings++
					}
				}
				if brings > most {
					most, best = brings, level
				}
			}
			row[i] = best
		}
		for k := range row {
			for i := range k {
				have[pair{i, k, row[i], row[k]}] = true
			}
		}
		list = append(list, row)
	}
}

func missing(levels []int, have map[pair]bool) (pair, bool) {
	for k := range levels {
		for i := range k {
			for a := range levels[i] {
				for b := range levels[k] {
					if x := (pair{i, k, a, b}); !have[x] {
						return x, true
					}
				}
			}
		}
	}
	return pair{}, false
}

// Streams of random numbers, one for each use of a seed.
const (
	randomStream = iota + 1
	latinStream
	saltelliStream
)

// Random returns n independent, uniformly distributed points.
func Random(n, factors int, seed uint64) [][]float64 {
	r := rand.New(rand.NewPCG(seed, randomStream))
	list := make([][]float64, n)
	for i := range list {
		list[i] = point(r, factors)
	}
	return list
}

func point(r *rand.Rand, factors int) []float64 {
	x := make([]float64, factors)
	for k := range x {
		x[k] = r.Float64()
	}
	return x
}

// LatinHypercube returns n points such that each of n equal intervals of each factor
// has exactly one of them (McKay, Beckman and Conover, 1979).
func LatinHypercube(n, factors int, seed uint64) [][]float64 {
	return latin(rand.New(rand.NewPCG(seed, latinStream)), n, factors)
}

func latin(r *rand.Rand, n, factors int) [][]float64 {
	list := make([][]float64, n)
	for i := range list {
		list[i] = make([]float64, factors)
	}
	for k := range factors {
		for i, stratum := range r.Perm(n) {
			x := (float64(stratum) + r.Float64()) / float64(n)
			list[i][k] = min(x, below1) // rounding may give 1, which is outside
		}
	}
	return list
}

// below1 is the largest number below 1.
const below1 = 1 - 1.0/(1<<53)

// Saltelli returns the points from which [Sobol] estimates indices: for each of n base
// points, which are a Latin hypercube, one point A, one point B, and for each factor a
// point that has the coordinate of B for this factor and those of A for all others
// (Saltelli, 2002). They are n*(factors+2) points; those of one base point stand together.
func Saltelli(n, factors int, seed uint64) [][]float64 {
	base := latin(rand.New(rand.NewPCG(seed, saltelliStream)), n, 2*factors)
	var list [][]float64
	for _, x := range base {
		a, b := x[:factors:factors], x[factors:]
		list = append(list, a, b)
		for k := range factors {
			mixed := append([]float64{}, a...)
			mixed[k] = b[k]
			list = append(list, mixed)
		}
	}
	return list
}
