package paper

import (
	"fmt"
	"math"

	"heddle/harness/stats"
)

// Above is the verdict on a claim that an estimate is above a bound: it holds if
// the interval says so; if only the sign is as claimed, that is the direction.
func Above(e stats.Estimate, bound float64) Verdict {
	switch {
	case math.IsNaN(e.Value) || !e.Bounded():
		return NotTestable
	case e.Lo > bound:
		return Holds
	case e.Lo > 0 && bound > 0:
		return Direction
	}
	return Fails
}

// NotBelow is the verdict on a claim that an estimate is not below zero: it holds
// if the interval allows no more than a margin below, fails if all of it is
// farther below, and else there are too few samples to tell.
func NotBelow(e stats.Estimate, margin float64) Verdict {
	switch {
	case math.IsNaN(e.Value) || !e.Bounded():
		return NotTestable
	case e.Lo >= -margin:
		return Holds
	case e.Hi < -margin:
		return Fails
	}
	return NotTestable
}

// Text is an estimate as "12.3 [11.9, 12.7] unit".
func Text(e stats.Estimate, unit string) string {
	v := ValueOf(e)
	text := v.String()
	if unit != "" {
		text += " " + unit
	}
	return text
}

// String is "12.3 [11.9, 12.7]".
func (v Value) String() string {
	x := float64(v.Value)
	switch {
	case math.IsNaN(x):
		return "-"
	case !v.CI95.Bounded():
		return number(x) + " [?]"
	case v.CI95[0] == v.CI95[1]:
		return number(x)
	}
	return fmt.Sprintf("%s [%s, %s]", number(x), number(v.CI95[0]), number(v.CI95[1]))
}

// number prints one digit behind the point, more for what is below ten.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case a < 0.005:
		return "0"
	}
	return fmt.Sprintf("%.2f", x)
}

// RatioOfMeans is the mean of b over that of a, of pairs, with an interval from
// the spread of b[i] about the ratio times a[i]. Of a share of a share, use
// stats.MeanShare.
func RatioOfMeans(a, b []float64) stats.Estimate {
	below, above := stats.Mean(a).Value, stats.Mean(b).Value
	ratio := above / below
	rest := make([]float64, len(a))
	for i := range rest {
		rest[i] = (b[i] - ratio*a[i]) / below
	}
	e := stats.Mean(rest)
	e.Value, e.Lo, e.Hi = ratio, ratio+e.Lo-e.Value, ratio+e.Hi-e.Value
	return e
}
