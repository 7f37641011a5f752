package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactPairs is the largest number of pairs for which Wilcoxon computes an
// exact p-value. With more pairs, the p-value of the normal distribution is
// near enough.
const exactPairs = 100

// Wilcoxon tests by signed ranks whether the values of pairs a[i], b[i] differ,
// and returns the two-sided p-value; NaN if there are too few values to say anything.
// It assumes that the differences are symmetric about their centre. Pairs with
// equal values are left out, and differences of equal size get the mean of
// their ranks. The p-value is exact even then. It is the share of all ways to
// give the differences signs for which the rank sum is at least as far from the
// middle.
func Wilcoxon(a, b []float64) float64 {
	if _, ok := usablePairs(a, b); !ok {
		return math.NaN()
	}
	var d []float64
	for i := range a {
		if a[i] != b[i] {
			d = append(d, b[i]-a[i])
		}
	}
	if len(d) == 0 {
		return 1
	}
	slices.SortFunc(d, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	// The ranks are multiplied by 2, so that the mean of two neighbouring ranks
	// is a whole number.
	double := make([]int, len(d))
	plus := 0
	for i := 0; i < len(d); {
		j := i
		for j < len(d) && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for k := i; k < j; k++ {
			double[k] = i + j + 1
			if d[k] > 0 {
				plus += double[k]
			}
		}
		i = j
	}
	return signsP(double, plus)
}

// signsP returns the p-value of the sum of the positive ranks, plus. It
// considers all ways to give the ranks signs, and returns the share of those
// ways in which the sum of the positive ranks is at least as far from the
// middle as plus.
func signsP(ranks []int, plus int) float64 {
	sum, squares := 0, 0.0
	for _, r := range ranks {
		sum += r
		squares += float64(r) * float64(r)
	}
	low := min(plus, sum-plus)
	if len(ranks) > exactPairs {
		// This is the normal approximation with continuity correction. The
		// ranks are multiplied by 2, so the sum changes in steps of 2.
		z := (float64(sum)/2 - float64(low) - 1) / (math.Sqrt(squares) / 2)
		return min(1, 2*normalCDF(-z))
	}
	// ways[s] is the probability that the positive ranks have the sum s, among
	// the ranks considered so far.
	ways := make([]float64, sum+1)
	ways[0] = 1
	reached := 0
	for _, r := range ranks {
		reached += r
		for s := reached; s >= 0; s-- {
			ways[s] /= 2
			if s >= r {
				ways[s] += ways[s-r] / 2
			}
		}
	}
	p := 0.0
	for _, w := range ways[:low+1] {
		p += w
	}
	return min(1, 2*p)
}

// Drift says whether the values of a sample rise or fall over time, in the
// order in which they were measured.
type Drift struct {
	// P is the two-sided p-value of the Mann-Kendall test for a trend. It is
	// NaN for fewer than 4 measurements, which cannot show a trend.
	P float64
	// Change is how much the values changed from the first to the last
	// measurement, divided by their median. It is computed from the median of
	// the slopes between all pairs of measurements (Theil and Sen).
	Change float64
}

// DriftOf tests whether the values xs, in the order in which they were
// measured, rise or fall.
func DriftOf(xs []float64) Drift {
	if _, ok := usable(xs, 4); !ok {
		return Drift{math.NaN(), math.NaN()}
	}
	n := len(xs)
	var slopes []float64
	up := 0 // number of pairs of measurements that rise, minus number of pairs that fall
	for i := range xs {
		for j := i + 1; j < n; j++ {
			up += cmp.Compare(xs[j], xs[i])
			slopes = append(slopes, (xs[j]-xs[i])/float64(j-i))
		}
	}
	return Drift{
		P:      kendallP(xs, up),
		Change: Quantile(slopes, 0.5) * float64(n-1) / math.Abs(Quantile(xs, 0.5)),
	}
}

// kendallP returns the p-value of the Mann-Kendall test for a trend of the
// values xs. up is the number of pairs of values that rise, minus the number of
// pairs that fall.
func kendallP(xs []float64, up int) float64 {
	n := len(xs)
	sorted := slices.Sorted(slices.Values(xs))
	ties := 0.0 // by how much equal values reduce the variance of the test's statistic
	for i := 0; i < n; {
		j := i + 1
		for j < n && sorted[j] == sorted[i] {
			j++
		}
		k := float64(j - i)
		ties += k * (k - 1) * (2*k + 5)
		i = j
	}
	if ties > 0 || n > 50 {
		variance := (float64(n)*float64(n-1)*float64(2*n+5) - ties) / 18
		if variance == 0 {
			return 1
		}
		return min(1, 2*normalCDF(-(math.Abs(float64(up))-1)/math.Sqrt(variance)))
	}
	// share[k] is the share of all orders in which k pairs fall, among the
	// orders of the values considered so far.
	pairs := n * (n - 1) / 2
	falling := (pairs - int(math.Abs(float64(up)))) / 2
	share := make([]float64, pairs+1)
	share[0] = 1
	for m := 2; m <= n; m++ {
		next := make([]float64, pairs+1)
		for k := range next {
			for add := 0; add < m && add <= k; add++ {
				next[k] += share[k-add] / float64(m)
			}
		}
		share = next
	}
	p := 0.0
	for _, s := range share[:falling+1] {
		p += s
	}
	return min(1, 2*p)
}

// warmDeviations says from which distance on the first measurements count as a
// warm-up: the distance between their mean and the mean of the rest, in
// standard errors. With this value, 3 % of samples of 10 measurements without a
// warm-up appear to have one, and 1 % of samples of 20.
const warmDeviations = 4

// WarmUp returns how many of the first measurements to leave out because the
// system was still warming up. It uses White's marginal standard error rule
// (MSER): leave out as many as make the squared error of the mean of the rest
// smallest. The left-out ones must also differ clearly from the rest. WarmUp
// returns 0 if there is no warm-up and for fewer than 10 measurements. It also
// returns 0 if more than half would be left out, since the values then drift.
func WarmUp(xs []float64) int {
	if _, ok := usable(xs, 10); !ok {
		return 0
	}
	best, skip := math.Inf(1), 0
	for d := 0; d <= len(xs)/2; d++ {
		_, variance := moments(xs[d:])
		n := float64(len(xs) - d)
		if mser := variance * (n - 1) / (n * n); mser < best {
			best, skip = mser, d
		}
	}
	if skip == 0 || skip == len(xs)/2 {
		return 0
	}
	first, _ := moments(xs[:skip])
	rest, variance := moments(xs[skip:])
	if math.Abs(first-rest) <= warmDeviations*math.Sqrt(variance/float64(skip)) {
		return 0
	}
	return skip
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
