package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// estimators by what a change of unit does to them.
var estimators = map[string]func(a, b []float64) Estimate{
	"median":            func(a, _ []float64) Estimate { return Median(a) },
	"mean":              func(a, _ []float64) Estimate { return Mean(a) },
	"paired difference": func(a, b []float64) Estimate { return PairedDifference(a, b).Estimate },
	"difference":        func(a, b []float64) Estimate { return Difference(a, b).Estimate },
}

var ratios = map[string]func(a, b []float64) Comparison{"paired ratio": PairedRatio, "ratio": Ratio}

func same(x, y float64) bool {
	return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9*(1+math.Abs(x)+math.Abs(y))
}

// TestInvariance: the order of measurements or of pairs does not matter, and a
// change of unit changes figures with it, ratios and tests not at all.
func TestInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 15).Draw(t, "n")
		value := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(1, 10000).Draw(t, "ms")) })
		a, b := rapid.SliceOfN(value, n, n).Draw(t, "a"), rapid.SliceOfN(value, n, n).Draw(t, "b")
		pa, pb := make([]float64, n), make([]float64, n)
		for i, at := range rapid.Permutation(rand.New(rand.NewPCG(1, 2)).Perm(n)).Draw(t, "order") {
			pa[i], pb[i] = a[at], b[at]
		}
		// Powers of two leave all bits, and so all ties, as they are.
		unit := math.Ldexp(1, rapid.IntRange(-10, 10).Draw(t, "unit"))
		ua, ub := scaled(a, unit), scaled(b, unit)
		for name, f := range estimators {
			e, p, u := f(a, b), f(pa, pb), f(ua, ub)
			if !same(e.Value, p.Value) || !same(e.Lo, p.Lo) || !same(e.Hi, p.Hi) {
				t.Errorf("%s: %+v, in another order %+v", name, e, p)
			}
			if !same(e.Value*unit, u.Value) || !same(e.Lo*unit, u.Lo) || !same(e.Hi*unit, u.Hi) {
				t.Errorf("%s: %+v, in a unit of 1/%v %+v", name, e, unit, u)
			}
			if e.Bounded() && !(e.Lo <= e.Value && e.Value <= e.Hi) {
				t.Errorf("%s: %+v is not in its interval", name, e)
			}
		}
		for name, f := range ratios {
			c, u, back := f(a, b), f(ua, ub), f(b, a)
			if !same(c.Value, u.Value) || !same(c.Lo, u.Lo) || !same(c.P, u.P) {
				t.Errorf("%s: %+v, in another unit %+v", name, c, u)
			}
			if !same(c.Value, 1/back.Value) || c.Bounded() && !same(c.Lo, 1/back.Hi) || !same(c.P, back.P) {
				t.Errorf("%s: %+v, the other way round %+v", name, c, back)
			}
			if (c.P < 1-Level) != (c.Lo > 1 || c.Hi < 1) && math.Abs(c.P-(1-Level)) > 1e-6 {
				t.Errorf("%s: p and interval disagree: %+v", name, c)
			}
		}
		if x, y := Wilcoxon(a, b), Wilcoxon(scaled(pb, unit), scaled(pa, unit)); !same(x, y) {
			t.Errorf("Wilcoxon: %v, turned round %v", x, y)
		}
		if x, y := MannWhitney(a, b), MannWhitney(pb, pa); !same(x, y) {
			t.Errorf("Mann-Whitney: %v, turned round %v", x, y)
		}
	})
}

// TestDistances holds both distances against their definitions, point by point.
func TestDistances(t *testing.T) {
	values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-20, 20).Draw(t, "x")) }), 1, 12)
	share := func(xs []float64, x float64) float64 {
		n := 0
		for _, v := range xs {
			if v <= x {
				n++
			}
		}
		return float64(n) / float64(len(xs))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		most, area := 0.0, 0.0
		for x := -20.0; x <= 20; x++ { // all values are whole
			gap := math.Abs(share(a, x) - share(b, x))
			most, area = max(most, gap), area+gap
		}
		if got := KolmogorovSmirnov(a, b); !same(got, most) {
			t.Errorf("Kolmogorov-Smirnov %v, want %v", got, most)
		}
		if got := Wasserstein(a, b); !same(got, area) {
			t.Errorf("Wasserstein %v, want %v", got, area)
		}
	})
}

// TestTogether: of any comparisons made together, the adjusted p-value is below
// 1-Level exactly when the adjusted interval excludes "no difference". Neither
// is ever more certain than alone.
func TestTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(1, 40).Draw(t, "ms")) })
		share := rapid.Custom(func(t *rapid.T) Share {
			of := rapid.Int64Range(1, 30).Draw(t, "of")
			return Share{rapid.Int64Range(0, of).Draw(t, "part"), of}
		})
		var list []Comparison
		var none []float64
		for range rapid.IntRange(1, 12).Draw(t, "comparisons") {
			n := rapid.IntRange(1, 8).Draw(t, "n")
			// Equal measurements are a case of their own, so they are made often.
			values, shares := rapid.SliceOfN(value, n, n), rapid.SliceOfN(share, n, n)
			if rapid.Bool().Draw(t, "equal") {
				values = rapid.Map(value, func(x float64) []float64 { return slices.Repeat([]float64{x}, n) })
				shares = rapid.Map(share, func(x Share) []Share { return slices.Repeat([]Share{x}, n) })
			}
			a, b, x, y := values.Draw(t, "a"), values.Draw(t, "b"), shares.Draw(t, "x"), shares.Draw(t, "y")
			kinds := []Comparison{
				PairedDifference(a, b), Difference(a, b), PairedShareDifference(x, y), ShareDifference(x, y), PairedRatio(a, b),
				Ratio(a, b),
			}
			kind := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
			list = append(list, kinds[kind])
			none = append(none, float64(kind/4)) // a ratio of 1 is no difference
		}
		for i, c := range Together(list) {
			excludes := c.Lo > none[i] || c.Hi < none[i]
			if told := c.P < 1-Level; told != excludes && math.Abs(c.P-(1-Level)) > 1e-9 {
				t.Errorf("one of %d: p %v and interval %v to %v disagree", len(list), c.P, c.Lo, c.Hi)
			}
			if alone := list[i]; c.P < alone.P || c.Lo > alone.Lo || c.Hi < alone.Hi || c.Value != alone.Value && !math.IsNaN(c.Value) {
				t.Errorf("one of %d: %+v, alone %+v", len(list), c, alone)
			}
		}
	})
}

// TestTogetherCoverage: of three differences between three models, all
// intervals together hold the true ones at Level. Not adjusted they do not.
func TestTogetherCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 26))
	const times = 3000
	adjusted, alone := 0, 0
	for range times {
		models := make([][]float64, 3)
		for i := range models {
			for range 6 {
				models[i] = append(models[i], 10*float64(i)+random.NormFloat64())
			}
		}
		list := []Comparison{
			PairedDifference(models[0], models[1]), PairedDifference(models[0], models[2]),
			PairedDifference(models[1], models[2]),
		}
		all := func(list []Comparison) int {
			for i, c := range list {
				if truth := []float64{10, 20, 10}[i]; truth < c.Lo || truth > c.Hi {
					return 0
				}
			}
			return 1
		}
		adjusted, alone = adjusted+all(Together(list)), alone+all(list)
	}
	if share := float64(adjusted) / times; share < 0.938 { // 0.953 of 60,000, less four standard errors
		t.Errorf("%.3f of the tables have all true differences in their intervals, want 0.95", share)
	}
	if share := float64(alone) / times; share > 0.92 {
		t.Errorf("%.3f of the tables have them without adjustment: this test shows nothing", share)
	}
}

// TestCoverage draws many samples from known distributions and counts how often
// the interval holds the true value. The bands are three standard errors of
// that count wide, around 95 %.
func TestCoverage(t *testing.T) {
	exponential := func(n int) func(r *rand.Rand) Estimate {
		return func(r *rand.Rand) Estimate { return Median(draws(n, r.ExpFloat64)) }
	}
	covers(t, "mean of 5 normal", 4000, 0, 0.94, 0.96, func(r *rand.Rand) Estimate { return Mean(draws(5, r.NormFloat64)) })
	covers(t, "median of 10 skewed", 4000, math.Ln2, 0.968, 0.988, exponential(10)) // 97.9 % by the binomial
	covers(t, "median of 40 skewed", 4000, math.Ln2, 0.94, 0.98, exponential(40))
	covers(t, "paired ratio of 5", 4000, 1.1, 0.94, 0.96, func(r *rand.Rand) Estimate {
		a, b := make([]float64, 5), make([]float64, 5)
		for i := range a {
			day := math.Exp(r.NormFloat64()) // in common, ten times the noise
			a[i], b[i] = 100*day*math.Exp(0.1*r.NormFloat64()), 110*day*math.Exp(0.1*r.NormFloat64())
		}
		return PairedRatio(a, b).Estimate
	})
	covers(t, "difference of 5 and 8", 4000, 0, 0.94, 0.965, func(r *rand.Rand) Estimate {
		return Difference(draws(5, r.NormFloat64), scaled(draws(8, r.NormFloat64), 3)).Estimate
	})
}

// TestFalseAlarms counts how often noise alone is taken for a drift or a
// warm-up.
func TestFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 26))
	const times = 2000
	drifts, warm := 0, 0
	for range times {
		xs := draws(12, random.NormFloat64)
		if DriftOf(xs).P < 1-Level {
			drifts++
		}
		if WarmUp(xs) > 0 {
			warm++
		}
	}
	if share := float64(drifts) / times; share > 0.05+0.01 {
		t.Errorf("%.3f of samples of noise drift, want at most 0.05", share)
	}
	if share := float64(warm) / times; share > 0.03+0.01 {
		t.Errorf("%.3f of samples of noise have a warm-up, want at most 0.03", share)
	}
}

func scaled(xs []float64, by float64) []float64 {
	ys := slices.Clone(xs)
	for i := range ys {
		ys[i] *= by
	}
	return ys
}
