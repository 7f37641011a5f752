package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often the bootstrap draws: enough for a bound at 2.5 % to
// move by little when the seed does.
const resamples = 10000

// MinBootstrap is how many measurements a bootstrap interval needs: of fewer,
// there are so few different resamples that the interval is too short.
const MinBootstrap = 10

// Statistic is a figure of a sample. It must not keep xs or change it.
type Statistic func(xs []float64) float64

// Percentile is statistic of xs with the bootstrap interval between quantiles
// of its resamples, for statistics that have no formula. It draws from random.
func Percentile(xs []float64, statistic Statistic, random *rand.Rand) Estimate {
	return bootstrap(xs, statistic, random, Level, func([]float64, float64) (bias, acceleration float64) { return 0, 0 })
}

// BCa is as [Percentile] with Efron's correction for bias and for a spread that
// grows with the figure, which matters for skewed ones. (DiCiccio and Efron,
// Bootstrap confidence intervals, Statistical Science 11, 1996.)
func BCa(xs []float64, statistic Statistic, random *rand.Rand) Estimate {
	return bootstrap(xs, statistic, random, Level, func(drawn []float64, value float64) (bias, acceleration float64) {
		return correction(xs, statistic, drawn, value)
	})
}

func bootstrap(xs []float64, statistic Statistic, random *rand.Rand, level float64, correct func(drawn []float64, value float64) (float64, float64)) Estimate {
	if e, ok := usable(xs, 1); !ok {
		return e
	}
	// In order, so that the order of the sample does not show in the draws.
	xs = slices.Sorted(slices.Values(xs))
	e := unbounded(statistic(slices.Clone(xs)), len(xs))
	if len(xs) < MinBootstrap {
		e.warnf("need at least %d measurements for a bootstrap interval, have %d", MinBootstrap, len(xs))
		return e
	}
	drawn, draw := make([]float64, 0, resamples), make([]float64, len(xs))
	for range resamples {
		for i := range draw {
			draw[i] = xs[random.IntN(len(xs))]
		}
		if v := statistic(draw); !math.IsNaN(v) {
			drawn = append(drawn, v)
		}
	}
	if lost := resamples - len(drawn); lost > 0 {
		e.warnf("the figure does not exist for %d of %d resamples", lost, resamples)
	}
	if len(drawn) < resamples/2 || math.IsNaN(e.Value) {
		return e
	}
	slices.Sort(drawn)
	bias, acceleration := correct(drawn, e.Value)
	at := func(p float64) float64 {
		z := bias + normalQuantile(p)
		return quantileOfSorted(drawn, normalCDF(bias+z/(1-acceleration*z)))
	}
	if math.IsNaN(bias) || math.IsInf(bias, 0) || math.IsNaN(acceleration) {
		e.warnf("the figure's resamples lie all on one side of it, or do not vary: no interval")
		return e
	}
	e.Lo, e.Hi = at((1-level)/2), at((1+level)/2)
	return e
}

// correction is BCa's bias, by how many of the sorted resamples lie below the
// value, and acceleration, by leaving one measurement out at a time.
func correction(xs []float64, statistic Statistic, drawn []float64, value float64) (bias, acceleration float64) {
	below, _ := slices.BinarySearch(drawn, value)
	// Equal ones count half: a figure of few possible values has many.
	share := float64(below+upperBound(drawn, value)) / 2 / float64(len(drawn))
	left := make([]float64, len(xs))
	rest := make([]float64, 0, len(xs))
	for i := range xs {
		rest = append(append(rest[:0], xs[:i]...), xs[i+1:]...)
		left[i] = statistic(rest)
	}
	mean, _ := moments(left)
	var squares, cubes float64
	for _, v := range left {
		squares += (mean - v) * (mean - v)
		cubes += (mean - v) * (mean - v) * (mean - v)
	}
	if squares > 0 {
		acceleration = cubes / (6 * math.Pow(squares, 1.5))
	}
	return normalQuantile(share), acceleration
}
