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
// blocks with correlation r count as n(1-r)/(1+r). Of 100 such intervals of the mean of n values
// with a normal distribution so many contain the true one, and without the widening:
//
//	r      7 blocks     14 blocks    28 blocks
//	0      97.2  95.5   96.7  95.2   96.5  95.2
//	0.3    93.4  88.0   93.2  85.4   93.9  84.7
//	0.5    90.0  78.3   90.7  74.3   93.1  74.0
//	0.7    83.5  61.5   87.8  57.7   89.3  57.0
//
// TestBlocksCover counts some of them, and those of percentiles.
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
	r := min(max(0, (count*sum/(variance*(count-1))+1)/(count-3)), mostCarried)
	count *= (1 - r) / (1 + r)
	return withError(all, math.Sqrt(variance/count), max(leastFreedom, count-1), n, 1)
}

// The correlation of a block with the one before counts as mostCarried at most, and the degrees
// of freedom as leastFreedom at least: so few blocks tell of neither, and intervals would be
// without end.
const mostCarried, leastFreedom = 0.6, 3
