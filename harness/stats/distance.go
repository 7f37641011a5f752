package stats

import (
	"iter"
	"math"
	"slices"
)

// KolmogorovSmirnov returns how different two samples are: the largest vertical
// distance between the distribution functions of a and b. It is 0 for equal
// samples and 1 for samples that do not overlap. It is NaN if a sample is empty
// or has a value that is not finite.
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

// Wasserstein returns how different two samples are: the area between the
// distribution functions of a and b, in the unit of the values. This is the
// mean distance by which the values of a must move to become those of b. It is
// NaN if a sample is empty or has a value that is not finite.
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

// gaps goes through the values x of both samples in ascending order. For each
// it yields the distance between the two distribution functions from x to the
// next value, and how far the next value is from x.
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
