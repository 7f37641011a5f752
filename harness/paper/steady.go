package paper

import (
	"math"

	"heddle/harness/stats"
)

// steadier is how many times as far the rate a strays from seed to seed as
// the rate b, as the geometric mean over the columns of a design: above 1, b is the
// steadier one. A share of n maps strays by chance alone, by the binomial deviation,
// which is smaller near 0 and near 1. So each deviation is divided by that at the
// scheduler's own level. A column in which hardly any map, or hardly none, counts says
// nothing and is left out.
//
// The interval leaves out one seed after the other (Miller's jackknife): columns may
// share what a seed draws, and both schedulers meet the same seeds.
func (s *scope) steadier(a, b *formula) stats.Estimate {
	g, label, _ := s.grid(a)
	h, other, _ := s.grid(b)
	var columns [][2][]stats.Share
	for k := range g.Columns {
		x, y := g.Shares(label, shareOf[a.text], k), h.Shares(other, shareOf[b.text], k)
		if tells(x) && tells(y) {
			columns = append(columns, [2][]stats.Share{x, y})
		}
	}
	if len(columns) == 0 {
		return nan()
	}
	n := len(columns[0][0])
	whole := logSteadier(columns, -1)
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(n)*whole - float64(n-1)*logSteadier(columns, i)
	}
	r := stats.Mean(values)
	if !r.Bounded() {
		return nan()
	}
	return stats.Estimate{Value: math.Exp(whole), Lo: math.Exp(whole + r.Lo - r.Value), Hi: math.Exp(whole + r.Hi - r.Value), N: n}
}

// tells reports whether shares are far enough from 0 and from 1 to stray: at least so
// many parts lie on either side.
func tells(shares []stats.Share) bool {
	const least = 20
	var sum stats.Share
	for _, s := range shares {
		sum = sum.Plus(s)
	}
	return len(shares) > 2 && sum.Part >= least && sum.Of-sum.Part >= least
}

// logSteadier is the mean over columns of the logarithm of the ratio of deviations,
// without one of the seeds (-1: with all).
func logSteadier(columns [][2][]stats.Share, without int) float64 {
	sum := 0.0
	for _, c := range columns {
		sum += (logDispersion(c[0], without) - logDispersion(c[1], without)) / 2
	}
	return sum / float64(len(columns))
}

// logDispersion is the logarithm of the variance of shares divided by the binomial one.
// Shares that do not stray at all count as a hundredth of it.
func logDispersion(shares []stats.Share, without int) float64 {
	var sum stats.Share
	count, mean := 0.0, 0.0
	for i, s := range shares {
		if i != without {
			sum = sum.Plus(s)
			count++
			mean += s.Percent() / 100
		}
	}
	mean /= count
	variance, binomial := 0.0, 0.0
	p := (float64(sum.Part) + 0.5) / (float64(sum.Of) + 1)
	for i, s := range shares {
		if i != without {
			variance += (s.Percent()/100 - mean) * (s.Percent()/100 - mean) / (count - 1)
			binomial += p * (1 - p) / float64(s.Of) / count
		}
	}
	return math.Log(variance/binomial + 0.01)
}
