package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Power is how likely a difference is shown by the number of pairs that
// [PairsToTell] returns.
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
	// The quantiles of the normal distribution give a lower bound. The t
	// quantiles are larger and fall with n, so the search upwards ends soon.
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
