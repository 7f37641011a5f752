package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var anyShare = rapid.Custom(func(t *rapid.T) Share {
	of := rapid.Int64Range(1, 120).Draw(t, "of")
	return Share{rapid.OneOf(rapid.Just(int64(0)), rapid.Just(of), rapid.Int64Range(0, of)).Draw(t, "part"), of}
})

// TestSharesStayInside: no interval of a share leaves 0 to 100 %, none of a
// difference -100 to 100 points, and the value is in it. Turned round, it is the
// same.
func TestSharesStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "runs")
		a, b := rapid.SliceOfN(anyShare, n, n).Draw(t, "a"), rapid.SliceOfN(anyShare, n, n).Draw(t, "b")
		rest := func(runs []Share) []Share {
			other := slices.Clone(runs)
			for i := range other {
				other[i].Part = other[i].Of - other[i].Part
			}
			return other
		}
		within := func(what string, e, turned Estimate, least, most float64) {
			if !(e.Lo <= e.Value && e.Value <= e.Hi) && !math.IsNaN(e.Value) {
				t.Errorf("%s: %+v is not in its interval", what, e)
			}
			if e.Bounded() && (e.Lo < least || e.Hi > most) {
				t.Errorf("%s: %+v leaves %v to %v", what, e, least, most)
			}
			if !same(e.Lo, most+least-turned.Hi) || !same(e.Hi, most+least-turned.Lo) {
				t.Errorf("%s: %+v, turned round %+v", what, e, turned)
			}
		}
		mean := MeanShare(a)
		within("mean", mean, MeanShare(rest(a)), 0, 100)
		if mean.Bounded() != (n > 1) {
			t.Errorf("%d runs: %+v", n, mean)
		}
		for what, difference := range map[string]func(a, b []Share) Comparison{"paired": PairedShareDifference, "unpaired": ShareDifference} {
			c := difference(a, b)
			within(what, c.Estimate, difference(rest(a), rest(b)).Estimate, -100, 100)
			if n < 2 {
				continue
			}
			if (c.P < 1-Level) != (c.Lo > 0 || c.Hi < 0) && math.Abs(c.P-(1-Level)) > 1e-6 {
				t.Errorf("%s: p and interval disagree: %+v", what, c)
			}
		}
	})
}

// TestSameShares: runs that all have the same share do not prove it.
func TestSameShares(t *testing.T) {
	runs := func(n int, s Share) []Share { return slices.Repeat([]Share{s}, n) }
	for _, c := range []struct {
		what          string
		got           Estimate
		value, lo, hi float64
	}{
		{"5 times 6 of 6", MeanShare(runs(5, Share{6, 6})), 100, 100 * math.Pow(0.05, 1./30), 100},
		{"5 times 0 of 6", MeanShare(runs(5, Share{0, 6})), 0, 0, 100 * (1 - math.Pow(0.05, 1./30))},
		{"5 times 50 of 100", MeanShare(runs(5, Share{50, 100})), 50, 49.403, 50.597},
		{"of different size", MeanShare([]Share{{1, 3}, {2, 6}, {30, 90}}), 100. / 3, 30.353, 36.314},
		{"the same difference", PairedShareDifference(runs(6, Share{1, 6}), runs(6, Share{3, 6})).Estimate, 100. / 3, 25.349, 41.318},
		{"no difference", PairedShareDifference(runs(2, Share{6, 6}), runs(2, Share{6, 6})).Estimate, 0, -22.092, 22.092},
		{"none of pairs", PairedShareDifference(runs(2, Share{1, 6}), runs(3, Share{1, 6})).Estimate, math.NaN(), math.Inf(-1), math.Inf(1)},
		{"of nothing", MeanShare(runs(2, Share{})), math.NaN(), math.Inf(-1), math.Inf(1)},
		{"more than all", MeanShare(runs(2, Share{3, 2})), math.NaN(), math.Inf(-1), math.Inf(1)},
		{"one", MeanShare(runs(1, Share{1, 4})), 25, math.Inf(-1), math.Inf(1)},
		{"no runs", MeanShare(nil), math.NaN(), math.Inf(-1), math.Inf(1)},
	} {
		near := func(x, y float64) bool { return same(x, y) || math.Abs(x-y) < 1e-3 }
		if !near(c.got.Value, c.value) || !near(c.got.Lo, c.lo) || !near(c.got.Hi, c.hi) {
			t.Errorf("%s: %+v, want %v [%v, %v]", c.what, c.got, c.value, c.lo, c.hi)
		}
		if !c.got.Bounded() && len(c.got.Warnings) == 0 {
			t.Errorf("%s: %+v without bounds or warning", c.what, c.got)
		}
	}
	// Five equal differences are not proof yet, by their number alone.
	if c := PairedShareDifference(runs(5, Share{1, 6}), runs(5, Share{3, 6})); c.Bounded() || c.P != 2./32 {
		t.Errorf("5 equal differences: %+v, want no bounds", c)
	}
	if c := ShareDifference(runs(4, Share{6, 6}), runs(4, Share{0, 6})); c.Value != -100 || c.Lo != -100 || !(c.Hi < -70) || !(c.P < 0.05) {
		t.Errorf("all against none: %+v", c)
	}
}

// population draws the share of one run of so many tasks.
type population struct {
	name  string
	tasks int64
	mean  float64
	draw  func(r *rand.Rand) float64
	// hard says that most runs are perfect and a few far off. From five of them
	// only an interval for any distribution holds the mean so often.
	hard bool
}

// binomial draws the share of tasks that have a property which each has with probability p.
func binomial(r *rand.Rand, tasks int64, p float64) float64 {
	k := 0.0
	for range tasks {
		if r.Float64() < p {
			k++
		}
	}
	return k / float64(tasks)
}

func populations() []population {
	const many = 100_000 // tasks, so that a share is as good as continuous
	beta := func(a, b int) population {
		return population{
			name: fmt.Sprintf("beta(%d, %d)", a, b), tasks: many, mean: float64(a) / float64(a+b),
			draw: func(r *rand.Rand) float64 {
				// By exponential steps, of which a+b make the whole.
				x, y := 0.0, 0.0
				for range a {
					x += r.ExpFloat64()
				}
				for range b {
					y += r.ExpFloat64()
				}
				return x / (x + y)
			},
		}
	}
	counted := func(tasks int64, p float64) population {
		return population{
			name: fmt.Sprintf("binomial, %d of %g", tasks, p), tasks: tasks, mean: p,
			draw: func(r *rand.Rand) float64 { return binomial(r, tasks, p) },
		}
	}
	// clustered are binomial with a probability that differs from run to run.
	clustered := func(tasks int64, a, b int, hard bool) population {
		p := beta(a, b)
		return population{
			name: fmt.Sprintf("%d of beta(%d, %d)", tasks, a, b), tasks: tasks, mean: p.mean, hard: hard,
			draw: func(r *rand.Rand) float64 { return binomial(r, tasks, p.draw(r)) },
		}
	}
	// nearly always has k of the tasks, one less with probability p.
	nearly := func(k, tasks int64, p float64) population {
		return population{
			name: fmt.Sprintf("%d of %d, or one less (%g)", k, tasks, p), tasks: tasks, mean: (float64(k) - p) / float64(tasks),
			draw: func(r *rand.Rand) float64 {
				if r.Float64() < p {
					return float64(k-1) / float64(tasks)
				}
				return float64(k) / float64(tasks)
			},
		}
	}
	return []population{
		beta(50, 50), beta(5, 5), beta(8, 2), beta(30, 2), beta(2, 20), beta(1, 1),
		counted(6, 0.05), counted(6, 0.17), counted(6, 0.5), counted(6, 0.9), counted(6, 0.97),
		counted(10, 0.98), counted(100, 0.2), counted(100, 0.6), counted(100, 0.99),
		clustered(6, 1, 3, false), clustered(100, 30, 2, false), clustered(6, 9, 1, true), clustered(6, 30, 1, true),
		nearly(3, 6, 0.1), nearly(6, 6, 0.2), nearly(6, 10, 0.3),
	}
}

// TestShareCoverage draws runs from populations like those that occur and counts
// how often the interval holds the true share. What it logs, with those that
// other intervals hold, is what the comment of MeanShare rests on.
func TestShareCoverage(t *testing.T) {
	clip := func(lo, hi float64) (float64, float64) { return max(0, lo), min(100, hi) }
	type interval struct {
		name  string
		times int
		of    func(runs []Share, r *rand.Rand) (lo, hi float64)
	}
	chosen := interval{"MeanShare", 1500, func(runs []Share, _ *rand.Rand) (float64, float64) {
		e := MeanShare(runs)
		return e.Lo, e.Hi
	}}
	others := []interval{
		{"Student's, cut", 1500, func(runs []Share, _ *rand.Rand) (float64, float64) {
			e := Mean(percents(runs))
			return clip(e.Lo, e.Hi)
		}},
		{"Student's of logits", 1500, func(runs []Share, _ *rand.Rand) (float64, float64) {
			e := Mean(percents(runs))
			if e.Lo == e.Hi {
				return chosen.of(runs, nil)
			}
			p := e.Value / 100
			margin := (e.Hi - e.Value) / 100 / (p * (1 - p))
			at := func(x float64) float64 { return 100 / (1 + math.Exp(-x)) }
			logit := math.Log(p / (1 - p))
			return at(logit - margin), at(logit + margin)
		}},
		{"Gaffke's", 100, func(runs []Share, r *rand.Rand) (float64, float64) {
			xs := slices.Sorted(slices.Values(percents(runs)))
			return 100 - gaffke(turned(xs), r), gaffke(xs, r)
		}},
	}
	coverage := func(i interval, p population, n int) (held, width float64) {
		random := rand.New(rand.NewPCG(20, 26))
		runs := make([]Share, n)
		for range i.times {
			for k := range runs {
				runs[k] = Share{int64(math.Round(p.draw(random) * float64(p.tasks))), p.tasks}
			}
			lo, hi := i.of(runs, random)
			if lo-1e-9 <= 100*p.mean && 100*p.mean <= hi+1e-9 {
				held += 100 / float64(i.times)
			}
			width += (hi - lo) / float64(i.times)
		}
		return held, width
	}
	for _, n := range []int{5, 10, 20} {
		for _, p := range populations() {
			held, width := coverage(chosen, p, n)
			line := fmt.Sprintf("%2d runs of %-26s %s %5.1f (%4.1f)", n, p.name, chosen.name, held, width)
			if testing.Verbose() {
				for _, i := range others {
					held, width := coverage(i, p, n)
					line += fmt.Sprintf("  %s %5.1f (%4.1f)", i.name, held, width)
				}
			}
			t.Log(line)
			least := 93.0
			if p.hard && n < 10 {
				least = 90
			}
			const error = 1 // of the count
			if held < least-error {
				t.Errorf("%d runs of %s: %.1f %% of the intervals hold the true share, want %v", n, p.name, held, least)
			}
		}
	}
}

// TestShareDifferenceCoverage is the same for differences in pairs, and of none:
// then it counts false alarms too.
func TestShareDifferenceCoverage(t *testing.T) {
	for _, n := range []int{5, 10, 20} {
		for _, c := range []struct{ a, b float64 }{{0.2, 0.6}, {0.5, 0.5}, {0.98, 0.9}, {0.02, 0.97}, {0.995, 0.99}} {
			for i, difference := range []func(a, b []Share) Comparison{PairedShareDifference, ShareDifference} {
				covers(t, fmt.Sprintf("%d runs of %v, %d", n, c, i), 800, 100*(c.b-c.a), 0.93, 1, func(random *rand.Rand) Estimate {
					runs := func(p float64) []Share {
						list := make([]Share, n)
						for i := range list {
							list[i] = Share{int64(math.Round(100 * binomial(random, 100, p))), 100}
						}
						return list
					}
					return difference(runs(c.a), runs(c.b)).Estimate
				})
			}
		}
	}
}

// gaffke is the upper bound of the mean at 97.5 % that is for any distribution
// between 0 and 100. (Learned-Miller and Thomas, A new confidence interval for
// the mean of a bounded random variable, 2019.)
func gaffke(sorted []float64, r *rand.Rand) float64 {
	next := append(sorted[1:len(sorted):len(sorted)], 100)
	means, u := make([]float64, 200), make([]float64, len(sorted))
	for m := range means {
		for i := range u {
			u[i] = r.Float64()
		}
		slices.Sort(u)
		means[m] = 100
		for i := range u {
			means[m] -= u[i] * (next[i] - sorted[i])
		}
	}
	return Quantile(means, 0.975)
}

func turned(sorted []float64) []float64 {
	xs := make([]float64, len(sorted))
	for i, x := range sorted {
		xs[len(xs)-1-i] = 100 - x
	}
	return xs
}
