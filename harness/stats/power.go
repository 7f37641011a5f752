package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Power is the probability with which the number of pairs that [PairsToTell]
// returns shows a real difference.
const Power = 0.8

// PairsToTell returns how many pairs the paired t-test needs to show a mean
// difference at [Level] with probability [Power], if the differences of pairs
// have standard deviation sd. It is the smallest n with
//
//	n >= ((t(n-1, (1+Level)/2) + t(n-1, Power)) * sd / difference)^2
//
// where t is the quantile of Student's distribution. It returns 0 if sd or
// difference is not a number, or if both are 0, and math.MaxInt32 if a million
// pairs are too few.
func PairsToTell(sd, difference float64) int {
	size := math.Abs(difference) / sd
	if math.IsNaN(size) {
		return 0
	}
	// Start the search at a number that is too small or right: the quantiles of
	// the normal distribution are below those of Student's distribution. The
	// latter fall as n rises, so the search upwards ends soon.
	least := math.Pow((stats.InvCDF(stats.StdNormal)((1+Level)/2)+stats.InvCDF(stats.StdNormal)(Power))/size, 2)
	if least > 1e6 {
		return math.MaxInt32
	}
	for n := max(2, int(least)); ; n++ {
		freedom := float64(n - 1)
		need := (tQuantile(freedom) + stats.InvCDF(stats.TDist{V: freedom})(Power)) / size
		if float64(n) >= need*need {
			return n
		}
	}
}
