package stats

import (
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
	const runs, jobs = 200, 50
	for _, c := range []struct {
		blocks   int
		carry    float64 // correlation of a block's level with that of the block before
		quantile float64 // 0: the mean
		least    int     // of 100 intervals
	}{
		{7, 0, 0, 95}, {7, 0, 0.95, 95}, {7, 0.5, 0, 90}, {14, 0, 0.95, 92}, {14, 0.5, 0, 87}, {14, 0.5, 0.95, 87},
	} {
		random := rand.New(rand.NewPCG(1, uint64(c.blocks)))
		covered := 0
		for range runs {
			var old, new [][]float64
			level := [2]float64{random.NormFloat64(), random.NormFloat64()}
			for range c.blocks {
				var waits [2][]float64
				for k := range level {
					level[k] = c.carry*level[k] + math.Sqrt(1-c.carry*c.carry)*random.NormFloat64()
				}
				for range jobs {
					base := random.ExpFloat64()
					for k := range waits {
						waits[k] = append(waits[k], base*math.Exp(0.5*level[k]))
					}
				}
				old, new = append(old, waits[0]), append(new, waits[1])
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
			x := Blocks(c.blocks, func(i int) float64 { return stat(new, i) - stat(old, i) })
			if x.Lo <= 0 && 0 <= x.Hi { // both have the same law
				covered++
			}
		}
		t.Logf("%d blocks, carry %v, quantile %v: %.1f of 100", c.blocks, c.carry, c.quantile, 100*float64(covered)/runs)
		if 100*covered < c.least*runs {
			t.Errorf("%d blocks, carry %v, quantile %v: %d of %d intervals contain the true difference, want %d of 100",
				c.blocks, c.carry, c.quantile, covered, runs, c.least)
		}
	}
}
