package stats

import (
	"iter"
	"math"
	"slices"
)

// KolmogorovSmirnov is the largest vertical distance between the distribution
// functions of a and b: 0 for the same, 1 for samples that do not overlap. NaN
// for samples that are empty or hold what is not finite.
func KolmogorovSmirnov(a, b []float64) float64 {
	if !haveDistance(a, b) {
		return math.NaN()
	}
	distance := 0.0
	for gap := range gaps(a, b) {
		distance = max(distance, gap)
	}
	return distance
}

// Wasserstein is the area between the distribution functions of a and b, in
// their unit: how far, on average, the values of one would have to be moved to
// make them those of the other. NaN as for [KolmogorovSmirnov].
func Wasserstein(a, b []float64) float64 {
	if !haveDistance(a, b) {
		return math.NaN()
	}
	area := 0.0
	for gap, width := range gaps(a, b) {
		area += gap * width
	}
	return area
}

func haveDistance(a, b []float64) bool {
	_, okA := usable(a, 1)
	_, okB := usable(b, 1)
	return okA && okB
}

// gaps yields the distance between the two distribution functions from each
// value on, and how far it is to the next value.
func gaps(a, b []float64) iter.Seq2[float64, float64] {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return func(yield func(gap, width float64) bool) {
		i, j := 0, 0
		for i < len(a) || j < len(b) {
			x := math.Inf(1)
			if i < len(a) {
				x = a[i]
			}
			if j < len(b) {
				x = min(x, b[j])
			}
			for i < len(a) && a[i] <= x {
				i++
			}
			for j < len(b) && b[j] <= x {
				j++
			}
			next := x
			if i < len(a) {
				next = a[i]
			}
			if j < len(b) && (i >= len(a) || b[j] < next) {
				next = b[j]
			}
			gap := math.Abs(float64(i)/float64(len(a)) - float64(j)/float64(len(b)))
			if !yield(gap, next-x) {
				return
			}
		}
	}
}
