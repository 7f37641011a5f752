package stats

import "math"

// MinBlocks is the smallest number of blocks with which [Blocks] gives an interval. With fewer,
// even differences of one sign in all of them come by chance more often than in 5 of 100 cases.
const MinBlocks = MinRanks

// Blocks returns a difference that is computed from measurements in blocks of time, such as the
// difference of the 95th percentiles of waits, of which those of one day depend on each other.
// The function of returns the difference without the measurements of a block, and with all for
// -1. The interval says how much the difference would be in other such times.
//
// The standard error is the jackknife's: it comes from leaving out one block after the other,
// which is right for percentiles too if blocks have many measurements (Shao and Wu, A general
// theory for jackknife variance estimation, Annals of Statistics 17, 1989). If a block resembles
// the one before it, the interval is widened as for a first-order autoregressive series: n
// blocks with correlation r count as n(1-r)/(1+r). TestBlocksCover compares the intervals with
// the true differences of correlated series.
func Blocks(n int, of func(without int) float64) Comparison {
	all := of(-1)
	if n < MinBlocks {
		c := noComparison(unbounded(all, n))
		c.warnf("need at least %d blocks of time for an interval, have %d", MinBlocks, n)
		return c
	}
	pseudo := make([]float64, n)
	for i := range pseudo {
		pseudo[i] = float64(n)*all - float64(n-1)*of(i)
	}
	if e, ok := usable(pseudo, n); !ok {
		return noComparison(e)
	}
	mean, variance := moments(pseudo)
	if variance == 0 {
		return withError(all, 0, 0, n, math.Ldexp(1, 1-n))
	}
	sum := 0.0
	for i := range pseudo[1:] {
		sum += (pseudo[i] - mean) * (pseudo[i+1] - mean)
	}
	count := float64(n)
	// a series of n shows (1+3r)/n less correlation than there is, on average (Kendall 1954)
	r := min(max(0, (count*sum/(variance*(count-1))+1)/(count-3)), 0.9)
	count *= (1 - r) / (1 + r)
	return withError(all, math.Sqrt(variance/count), max(1, count-1), n, 1)
}
