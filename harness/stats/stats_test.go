package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Published samples. Each says where its results are from.
var (
	// Student 1908, hours of sleep gained by ten patients under two drugs; the
	// results are those of R's t.test on data set sleep.
	sleep1 = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleep2 = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	// Hollander and Wolfe 1973, pages 69 and 29, in the examples of R's
	// wilcox.test: permeability at term and earlier, depression before and after.
	term   = []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	early  = []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	before = []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after  = []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v within %v", what, got, want, within)
	}
}

// draws returns n values that a function draws.
func draws(n int, draw func() float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = draw()
	}
	return xs
}

// covers draws many samples and counts how often the interval of an estimate holds the true value: with most
// of 0, at least so often.
func covers(t *testing.T, name string, times int, truth, least, most float64, estimate func(r *rand.Rand) Estimate) {
	t.Helper()
	random := rand.New(rand.NewPCG(20, 26))
	held := 0.0
	for range times {
		if e := estimate(random); e.Lo-1e-9 <= truth && truth <= e.Hi+1e-9 {
			held++
		}
	}
	if share := held / float64(times); share < least || share > most {
		t.Errorf("%s: %.3f of the intervals hold the true value, want %.3f to %.3f", name, share, least, most)
	}
}

func interval(t *testing.T, what string, e Estimate, value, lo, hi, within float64) {
	t.Helper()
	near(t, what, e.Value, value, within)
	near(t, what+", lower bound", e.Lo, lo, within)
	near(t, what+", upper bound", e.Hi, hi, within)
}

func TestPublished(t *testing.T) {
	c := PairedDifference(sleep1, sleep2)
	interval(t, "paired t", c.Estimate, 1.58, 0.7001142, 2.4598858, 1e-6)
	near(t, "paired t, p", c.P, 0.002833, 1e-6)

	c = Difference(sleep1, sleep2)
	interval(t, "Welch", c.Estimate, 1.58, -0.2054832, 3.3654832, 1e-6)
	near(t, "Welch, p", c.P, 0.07939, 1e-5)

	near(t, "Mann-Whitney p", MannWhitney(early, term), 2*0.1272, 1e-4)
	near(t, "Wilcoxon p", Wilcoxon(after, before), 2*0.01953, 2e-5)

	near(t, "quantile", Quantile([]float64{10, 1, 2, 3, 4}, 0.9), 7.6, 1e-12) // R's quantile

	// The worked example of SciPy's wasserstein_distance.
	near(t, "Wasserstein", Wasserstein([]float64{0, 1, 3}, []float64{5, 6, 8}), 5, 1e-12)
	near(t, "Wasserstein, weighted", Wasserstein([]float64{0, 0, 0, 1}, []float64{0, 1}), 0.25, 1e-12)
}

// TestStudentTable holds the quantiles behind every t interval against the
// usual table.
func TestStudentTable(t *testing.T) {
	for freedom, want := range map[float64]float64{
		1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 9: 2.2622, 10: 2.2281, 29: 2.0452, 100: 1.9840,
	} {
		near(t, "t quantile", tQuantile(freedom), want, 6e-5)
		near(t, "p at the quantile", tTwoSided(tQuantile(freedom), freedom), 0.05, 1e-9)
	}
}

// TestMedianOrderStatistics: the shortest run of order statistics that holds the
// median with 95 % by the binomial distribution, the left one where two do: for
// 8, from the first (1 - 1/256) to the seventh (less 9/256).
func TestMedianOrderStatistics(t *testing.T) {
	for _, c := range []struct {
		n              int
		median, lo, hi float64
	}{
		{6, 3.5, 1, 6}, {7, 4, 1, 7}, {8, 4.5, 1, 7}, {9, 5, 2, 8}, {10, 5.5, 2, 9}, {20, 10.5, 6, 15},
	} {
		xs := make([]float64, c.n)
		for i := range xs {
			xs[i] = float64(i + 1)
		}
		interval(t, "median", Median(xs), c.median, c.lo, c.hi, 0)
	}
}

// TestBonferroni: what R's p.adjust gives; a NaN is no test.
func TestBonferroni(t *testing.T) {
	for _, c := range []struct{ ps, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.04, 0.16, 0.12, 0.02}},
		{[]float64{0.5, 0.9, 0.02}, []float64{1, 1, 0.06}},
		{[]float64{0.03, math.NaN()}, []float64{0.03, math.NaN()}},
		{nil, nil},
	} {
		got := Bonferroni(c.ps)
		for i, want := range c.want {
			if math.IsNaN(want) && math.IsNaN(got[i]) {
				continue
			}
			near(t, "Bonferroni", got[i], want, 1e-12)
		}
	}
}

// TestTogetherKnown: one comparison stays as it is. Of two, each interval is at
// the level 97.5 %. 2.685011 and 2.262157 are Student's quantiles for 9 degrees
// of freedom at 0.9875 and 0.975.
func TestTogetherKnown(t *testing.T) {
	alone := PairedDifference(sleep1, sleep2)
	if got := Together([]Comparison{alone})[0]; got.P != alone.P || got.Lo != alone.Lo || got.Hi != alone.Hi {
		t.Errorf("one comparison %+v, adjusted %+v", alone, got)
	}
	none := PairedDifference(nil, nil)
	got := Together([]Comparison{alone, none, alone})
	wider := (got[0].Hi - got[0].Value) / (alone.Hi - alone.Value)
	near(t, "p of two", got[0].P, 2*alone.P, 1e-12)
	near(t, "width of two", wider, 2.685011/2.262157, 1e-6)
	if !math.IsNaN(got[1].P) || got[1].Bounded() {
		t.Errorf("a comparison of nothing became %+v", got[1])
	}
}

// TestWilcoxonCountsSigns compares with going through all assignments of signs.
func TestWilcoxonCountsSigns(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		n := 1 + random.IntN(10)
		a, b := make([]float64, n), make([]float64, n)
		for i := range b {
			b[i] = float64(random.IntN(9) - 4) // with ties, and pairs that do not differ
		}
		got := Wilcoxon(a, b)
		near(t, "Wilcoxon", got, bruteSigns(b), 1e-12)
	}
}

func bruteSigns(d []float64) float64 {
	d = slices.DeleteFunc(slices.Clone(d), func(x float64) bool { return x == 0 })
	var ranks []float64
	total, plus := 0.0, 0.0
	for _, x := range d {
		rank := 0.5
		for _, y := range d {
			if math.Abs(y) < math.Abs(x) {
				rank++
			} else if math.Abs(y) == math.Abs(x) {
				rank += 0.5
			}
		}
		ranks, total = append(ranks, rank), total+rank
		if x > 0 {
			plus += rank
		}
	}
	far, all := 0, 1<<len(d)
	for signs := range all {
		sum := 0.0
		for i, r := range ranks {
			if signs>>i&1 == 1 {
				sum += r
			}
		}
		if math.Abs(sum-total/2) >= math.Abs(plus-total/2) {
			far++
		}
	}
	return float64(far) / float64(all)
}

// TestDrift: Kendall's table for small samples (p of 5 rising values is 2/5!),
// and the sign and size of a known slope.
func TestDrift(t *testing.T) {
	d := DriftOf([]float64{1, 2, 3, 4, 5})
	near(t, "p", d.P, 2.0/120, 1e-12)
	near(t, "change", d.Change, 4.0/3, 1e-12)
	near(t, "p of 4 falling", DriftOf([]float64{4, 3, 2, 1}).P, 2.0/24, 1e-12)
	// 3 of 4! orders have one falling pair.
	near(t, "p of 1 exchange", DriftOf([]float64{1, 2, 4, 3}).P, 2*4.0/24, 1e-12)
	near(t, "p of equal", DriftOf([]float64{2, 2, 2, 2}).P, 1, 0)
	if d := DriftOf([]float64{1, 2, 3}); !math.IsNaN(d.P) {
		t.Errorf("3 measurements: %+v, want no answer", d)
	}
	warm := []float64{50, 40, 20, 10, 11, 9, 10, 11, 9, 10, 10, 11}
	if skip := WarmUp(warm); skip != 3 {
		t.Errorf("warm-up of %v: %d, want 3", warm, skip)
	}
}

// TestTooLittle: nothing panics, and whatever has no bound says why.
func TestTooLittle(t *testing.T) {
	bad := [][]float64{nil, {}, {math.NaN()}, {1, math.Inf(1)}, {1}, {1, 2, 3}}
	for _, xs := range bad {
		finite := !slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
		for name, e := range map[string]Estimate{
			"median": Median(xs), "mean": Mean(xs),
			"difference": PairedDifference(xs, xs).Estimate, "ratio": PairedRatio(xs, xs).Estimate,
			"unpaired": Difference(xs, xs).Estimate, "unpaired ratio": Ratio(xs, xs).Estimate,
			"unequal": PairedDifference(xs, []float64{1, 2}).Estimate,
		} {
			if !e.Bounded() && len(e.Warnings) == 0 {
				t.Errorf("%s of %v: %+v without bounds or warning", name, xs, e)
			}
			if !finite && e.Bounded() {
				t.Errorf("%s of %v is bounded: %+v", name, xs, e)
			}
		}
		for name, p := range map[string]float64{"Mann-Whitney": MannWhitney(xs, xs), "Wilcoxon": Wilcoxon(xs, xs)} {
			if p < 1 {
				t.Errorf("%s of %v and itself: p is %v", name, xs, p)
			}
		}
		WarmUp(xs)
		DriftOf(xs)
		Quantile(xs, 0.5)
		Spread(xs)
		if d := Wasserstein(xs, []float64{1}); (len(xs) == 0 || !finite) && !math.IsNaN(d) {
			t.Errorf("Wasserstein of %v: %v", xs, d)
		}
	}
	if c := PairedRatio([]float64{0, 1}, []float64{1, 1}); c.Bounded() || !strings.Contains(c.Warnings[0], "above zero") {
		t.Errorf("ratio over zero: %+v", c)
	}
	if e := Median([]float64{3}); e.Value != 3 || !strings.Contains(e.Warnings[0], "at least 6") {
		t.Errorf("median of one: %+v", e)
	}
}

// TestNoSpread: shares of few maps are often equal to the digit; two such pairs
// are no proof, six are by their number.
func TestNoSpread(t *testing.T) {
	for _, c := range []struct {
		got     Comparison
		p       float64
		bounded bool
	}{
		{PairedDifference([]float64{1, 2}, []float64{2, 3}), 0.5, false},
		{PairedDifference(make([]float64, 6), slices.Repeat([]float64{4}, 6)), 2.0 / 64, true},
		{Difference([]float64{1, 1, 1}, []float64{4, 4, 4}), 2.0 / 20, false},
		{Difference([]float64{1, 1, 1, 1}, []float64{4, 4, 4, 4}), 2.0 / 70, true},
		{PairedDifference([]float64{1, 2}, []float64{1, 2}), 1, true},
	} {
		near(t, "p", c.got.P, c.p, 1e-12)
		if c.got.Bounded() != c.bounded || c.got.Value != 0 && len(c.got.Warnings) == 0 {
			t.Errorf("%+v: want bounds %v, and a warning", c.got, c.bounded)
		}
	}
}

// TestWidening compares widened intervals with Student's quantiles from tables (R's qt): of
// 6 seeds at 97.5 % 2.5706, and as one of 5 at 99.5 % 4.0321; without seeds 1.96 and 2.5758.
func TestWidening(t *testing.T) {
	for _, x := range []struct{ freedom, want float64 }{{5, 4.0321 / 2.5706}, {-1, 2.5758 / 1.9600}} {
		if got := Widening(5, x.freedom); math.Abs(got-x.want) > 1e-3 {
			t.Errorf("%v degrees of freedom: 5 together are %v times as wide, want %v", x.freedom, got, x.want)
		}
	}
	if got := Widening(1, 5); got != 1 {
		t.Errorf("one alone is %v times as wide", got)
	}
}

// TestEqualButForRounding has values that differ in the 15th digit count as equal: a few of
// them have no interval of their difference.
func TestEqualButForRounding(t *testing.T) {
	if c := PairedDifference([]float64{0, 0}, []float64{0.3, 0.1 + 0.2}); c.Bounded() {
		t.Errorf("two equal differences: %+v, want no interval", c.Estimate)
	}
}
