package paper

import (
	"fmt"
	"math"

	"heddle/harness/stats"
)

// Above returns the verdict on the claim that the true value of an estimate is
// above a bound. The verdict is Holds if the whole confidence interval is above
// the bound. It is Direction if at least the estimate's sign is as claimed.
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

// NotBelow returns the verdict on the claim that the true value of an estimate
// is not below zero. The claim holds if no part of the confidence interval is
// below -margin. It fails if the whole interval is below -margin. Otherwise
// there are too few samples to say.
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

// Text formats an estimate with its confidence interval and unit, like "12.3
// [11.9, 12.7] s".
func Text(e stats.Estimate, unit string) string {
	v := ValueOf(e)
	text := v.String()
	if unit != "" {
		text += " " + unit
	}
	return text
}

// String formats a value with its confidence interval, like "12.3 [11.9,
// 12.7]".
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

// number formats x with one digit after the point, and with more digits if x is
// below ten.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case a < 0.005:
		return "0"
	}
	return fmt.Sprintf("%.2f", x)
}

// RatioOfMeans returns the mean of b divided by the mean of a, for pairs a[i],
// b[i] of the same seed. The confidence interval follows from how far each b[i]
// is from the ratio times a[i]. To estimate a share of tasks, use
// stats.MeanShare instead.
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
