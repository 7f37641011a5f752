package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBlocks holds the jackknife against Student's paired interval, which it is for means of
// blocks of one size.
func TestBlocks(t *testing.T) {
	without := func(d []float64) func(int) float64 {
		return func(i int) float64 {
			if i < 0 {
				return Mean(d).Value
			}
			return Mean(slices.Concat(d[:i], d[i+1:])).Value
		}
	}
	d := []float64{3, -1, 4, 1, 5, -2, 6, 2}
	want, got := Mean(d), Blocks(len(d), without(d))
	interval(t, "means", got.Estimate, want.Value, want.Lo, want.Hi, 1e-9)
	if c := Blocks(5, without(d[:5])); c.Bounded() || len(c.Warnings) != 1 {
		t.Errorf("5 blocks: %+v, want no interval and a warning", c)
	}
	if c := Blocks(7, func(int) float64 { return 0 }); c.Lo != 0 || c.Hi != 0 || c.P != 1 {
		t.Errorf("no difference at all: %+v, want [0, 0] and p 1", c)
	}
	if c := Blocks(7, func(int) float64 { return 2 }); c.P != 1.0/64 {
		t.Errorf("one difference whatever is left out: p %v, want that of 7 blocks of one sign, 1/64", c.P)
	}
}

// TestBlocksCover counts how often the interval of a difference contains the true one: of the
// means and 95th percentiles of waits that a slow wave makes alike within and across blocks.
func TestBlocksCover(t *testing.T) {
	const jobs = 50
	for _, c := range []struct {
		blocks   int
		carry    float64 // correlation of a block's level with that of the block before
		quantile float64 // 0: the mean
		least    float64
	}{
		{7, 0, 0, 0.95}, {7, 0, 0.95, 0.95}, {7, 0.5, 0, 0.90}, {14, 0, 0.95, 0.92}, {14, 0.5, 0, 0.87}, {14, 0.5, 0.95, 0.87},
	} {
		covers(t, fmt.Sprint(c), 200, 0, c.least, 1, func(random *rand.Rand) Estimate { // both have the same law
			var waits [2][][]float64
			level := [2]float64{random.NormFloat64(), random.NormFloat64()}
			for range c.blocks {
				for k := range level {
					level[k] = c.carry*level[k] + math.Sqrt(1-c.carry*c.carry)*random.NormFloat64()
				}
				base := draws(jobs, random.ExpFloat64)
				for k := range waits {
					waits[k] = append(waits[k], scaled(base, math.Exp(0.5*level[k])))
				}
			}
			stat := func(list [][]float64, without int) float64 {
				var all []float64
				for i, x := range list {
					if i != without {
						all = append(all, x...)
					}
				}
				if c.quantile == 0 {
					return Mean(all).Value
				}
				return Quantile(all, c.quantile)
			}
			return Blocks(c.blocks, func(i int) float64 { return stat(waits[1], i) - stat(waits[0], i) }).Estimate
		})
	}
}
