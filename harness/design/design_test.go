package design_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/design"
)

func TestGrid(t *testing.T) {
	got := design.Grid([]int{2, 1, 3})
	want := [][]int{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {1, 0, 0}, {1, 0, 1}, {1, 0, 2}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("grid: %v, want %v", got, want)
	}
}

// Every pair of levels occurs. No row is there twice, and there are no fewer than pairs of
// the two factors with the most levels, and no more than all pairs or all combinations.
func TestPairwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 6).Draw(t, "levels")
		rows := design.Pairwise(levels)
		pairs, combinations, known := 0, 1, map[string]bool{}
		for k := range levels {
			combinations *= levels[k]
			for i := range k {
				for a := range levels[i] {
					for b := range levels[k] {
						pairs++
						if !slices.ContainsFunc(rows, func(r []int) bool { return r[i] == a && r[k] == b }) {
							t.Fatalf("levels %d and %d of factors %d and %d do not occur together in %v", a, b, i, k, rows)
						}
					}
				}
			}
		}
		for _, r := range rows {
			if len(r) != len(levels) || known[fmt.Sprint(r)] {
				t.Fatalf("%v has not a level of each of %d factors, or is there twice", r, len(levels))
			}
			known[fmt.Sprint(r)] = true
		}
		least, sorted := 0, slices.Sorted(slices.Values(levels))
		if n := len(sorted); n > 1 {
			least = sorted[n-1] * sorted[n-2]
		}
		if len(rows) < least || len(rows) > min(pairs, combinations) {
			t.Fatalf("%d rows, want %d to %d", len(rows), least, min(pairs, combinations))
		}
	})
}

// Each interval of each factor has exactly one point, which points drawn at random do
// not achieve.
func TestLatinHypercube(t *testing.T) {
	strata := func(points [][]float64, k int) int {
		seen := map[int]bool{}
		for _, p := range points {
			if p[k] < 0 || p[k] >= 1 {
				t.Fatalf("coordinate %v outside of the unit cube", p[k])
			}
			seen[int(p[k]*float64(len(points)))] = true
		}
		return len(seen)
	}
	rapid.Check(t, func(t *rapid.T) {
		n, factors := rapid.IntRange(1, 300).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "factors")
		points := design.LatinHypercube(n, factors, rapid.Uint64().Draw(t, "seed"))
		for k := range factors {
			if got := strata(points, k); got != n {
				t.Fatalf("%d of %d intervals of factor %d have a point", got, n, k)
			}
		}
	})
	if got := strata(design.Random(300, 1, 1), 0); got > 250 {
		t.Errorf("300 random points are in %d of 300 intervals, want about 190", got)
	}
}

func TestSeeds(t *testing.T) {
	for name, of := range map[string]func(n, factors int, seed uint64) [][]float64{
		"random": design.Random, "latin": design.LatinHypercube,
		"saltelli": design.Saltelli,
	} {
		a, b, other := of(9, 3, 5), of(9, 3, 5), of(9, 3, 6)
		if !slices.EqualFunc(a, b, slices.Equal) {
			t.Errorf("%s: equal seeds give other points", name)
		}
		if slices.EqualFunc(a, other, slices.Equal) {
			t.Errorf("%s: other seeds give equal points", name)
		}
	}
}

// Ishigami's function, with indices that follow from its integrals (Saltelli et al., 2008).
func TestSobolOfIshigami(t *testing.T) {
	const a, b = 7, 0.1
	points := design.Saltelli(4096, 3, 1)
	results := make([]float64, len(points))
	for i, u := range points {
		x := func(k int) float64 { return math.Pi * (2*u[k] - 1) }
		results[i] = math.Sin(x(0)) + a*math.Pow(math.Sin(x(1)), 2) + b*math.Pow(x(2), 4)*math.Sin(x(0))
	}
	pi4, pi8 := math.Pow(math.Pi, 4), math.Pow(math.Pi, 8)
	v1, v2, v13 := (1+b*pi4/5)*(1+b*pi4/5)/2, a*a/8.0, 8*b*b*pi8/225
	v := v1 + v2 + v13
	check(t, design.Sobol(results, 3), []float64{v1 / v, v2 / v, 0}, []float64{(v1 + v13) / v, v2 / v, v13 / v})
}

// Sobol's g-function: the index of a factor falls with its coefficient.
func TestSobolOfG(t *testing.T) {
	coefficients := []float64{0, 1, 9, 99}
	points := design.Saltelli(4096, len(coefficients), 7)
	results := make([]float64, len(points))
	for i, u := range points {
		results[i] = 1
		for k, c := range coefficients {
			results[i] *= (math.Abs(4*u[k]-2) + c) / (1 + c)
		}
	}
	product := 1.0
	var own []float64
	for _, c := range coefficients {
		own = append(own, 1/(3*(1+c)*(1+c)))
		product *= 1 + own[len(own)-1]
	}
	v := product - 1
	var first, total []float64
	for _, x := range own {
		first, total = append(first, x/v), append(total, x*product/(1+x)/v)
	}
	check(t, design.Sobol(results, len(coefficients)), first, total)
}

func check(t *testing.T, got []design.Index, first, total []float64) {
	t.Helper()
	if len(got) != len(first) {
		t.Fatalf("%d indices, want %d", len(got), len(first))
	}
	for k, x := range got {
		for _, of := range []struct {
			name string
			got  design.Interval
			want float64
		}{{"first", x.First, first[k]}, {"total", x.Total, total[k]}} {
			if math.Abs(of.got.Value-of.want) > 0.03 {
				t.Errorf("%s index of factor %d: %.3f, want %.3f", of.name, k, of.got.Value, of.want)
			}
			if of.want < of.got.Lo-0.02 || of.want > of.got.Hi+0.02 {
				t.Errorf("%s index of factor %d: interval [%.3f, %.3f], far from %.3f", of.name, k, of.got.Lo, of.got.Hi, of.want)
			}
		}
	}
}

func TestSobolOfNothing(t *testing.T) {
	nan := math.NaN()
	for name, results := range map[string][]float64{
		"no results":        nil,
		"one base point":    {1, 2, 3},
		"no variance":       {4, 4, 4, 4, 4, 4},
		"one usable":        {1, 2, 3, 1, nan, 3},
		"a part of a point": {1, 2, 3, 4, 5},
	} {
		if got := design.Sobol(results, 1); got != nil {
			t.Errorf("%s: %v, want none", name, got)
		}
	}
}

func TestMainEffects(t *testing.T) {
	effects, share := design.MainEffects([]string{"b", "a", "b", "a", "a"}, []float64{1, 5, 3, 7, math.NaN()})
	want := []design.Effect{{Level: "b", N: 2, Mean: 2}, {Level: "a", N: 2, Mean: 6}}
	if !slices.Equal(effects, want) {
		t.Errorf("effects %v, want %v", effects, want)
	}
	if math.Abs(share-0.8) > 1e-12 { // 16 of 20
		t.Errorf("share %v, want 0.8", share)
	}
	if _, share = design.MainEffects([]string{"a", "b"}, []float64{2, 2}); !math.IsNaN(share) {
		t.Errorf("share %v of equal results, want none", share)
	}
}

// Nothing dominates a result on the front, and something on it dominates every other.
func TestPareto(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		results := rapid.SliceOf(rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 6), func(n int) float64 { return float64(n) }), 2, 2)).Draw(t,
			"results")
		front := design.Pareto(results)
		beats := func(y, x []float64) bool { return y[0] <= x[0] && y[1] <= x[1] && (y[0] < x[0] || y[1] < x[1]) }
		for i, x := range results {
			by := slices.ContainsFunc(front, func(k int) bool { return beats(results[k], x) })
			if on := slices.Contains(front, i); on == by {
				t.Fatalf("result %d, %v: on the front %v, dominated by it %v", i, x, on, by)
			}
		}
	})
	if got := design.Pareto([][]float64{{1, math.NaN()}, {2, 2}, {math.NaN(), 0}}); !slices.Equal(got, []int{1}) {
		t.Errorf("front %v, want [1]: what has no value is not on it", got)
	}
}
