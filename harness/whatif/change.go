package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// value is a job's value of a property, and the number of its block.
type value struct {
	v     float64
	block int
}

// sorted are the values of a group, in ascending order.
type sorted []value

// change computes how property n changes for the jobs of a group.
func (r *Report) change(g *Group, n int) (c Change) {
	var blocks []int
	var sides [2]sorted
	var times, recorded []float64
	for i := range g.pairs {
		p := &g.pairs[i]
		if p.old[completion]+p.new[completion] > 0 { // both have succeeded
			times = append(times, p.old[completion], p.new[completion])
		}
		was, old, new := p.was[n], p.old[n], p.new[n]
		if math.IsNaN(p.was[completion] + old + new) {
			continue
		}
		if r.ran && !math.IsNaN(was) {
			recorded = append(recorded, was)
		}
		blocks, sides[0], sides[1] = append(blocks, p.block), append(sides[0], value{old, p.block}), append(sides[1], value{new, p.block})
		switch by := max(1, old/10); {
		case new-old > by:
			c.Longer++
		case old-new > by:
			c.Shorter++
		}
	}
	c.Jobs, c.Longer, c.Shorter = len(blocks)/r.Seeds, c.Longer/r.Seeds, c.Shorter/r.Seeds
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	for _, side := range sides {
		slices.SortFunc(side, func(a, b value) int { return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.block, b.block)) })
	}
	slices.Sort(recorded)
	if measure.Dependent(times, r.BlockHours) {
		blocks = nil
	}
	add := func(of string, tail float64, at func(ascending []float64) float64) {
		p := newPart(sides, blocks, at, tail/float64(r.Seeds))
		p.Of, p.Recorded = of, compare.Number(at(recorded))
		c.Parts = append(c.Parts, p)
	}
	add("mean", 1, func(list []float64) float64 {
		sum := 0.0
		for _, x := range list {
			sum += x
		}
		return sum / float64(len(list))
	})
	for _, percent := range percents {
		add(fmt.Sprintf("p%d", percent), float64(100-percent)/100, func(list []float64) float64 {
			if len(list) == 0 {
				return math.NaN()
			}
			return list[max(1, (percent*len(list)+99)/100)-1]
		})
	}
	return c
}

// newPart compares a statistic of both sides; the share tail of all jobs, by the number of seeds, is beyond it.
func newPart(sides [2]sorted, blocks []int, at func(ascending []float64) float64, tail float64) Part {
	p := Part{Old: compare.Number(at(sides[0].without(-1))), New: compare.Number(at(sides[1].without(-1)))}
	n, difference := len(blocks), func(i int) float64 {
		if i >= 0 {
			i = blocks[i]
		}
		return at(sides[1].without(i)) - at(sides[0].without(i))
	}
	switch {
	case n > 0 && slices.Equal(sides[0], sides[1]): // however few they are
		n, difference = stats.MinBlocks, func(int) float64 { return 0 }
	case tail*float64(len(sides[0])) < beyond, // one job or another
		tail < 1 && min(sides[0].from(p.Old), sides[1].from(p.New)) < min(stats.MinBlocks, (n+1)/2): // one rush or another
		n = 0
	}
	p.test = stats.Blocks(n, difference)
	return p
}

// from counts the blocks of the values from a percentile on.
func (list sorted) from(least compare.Number) int {
	blocks := map[int]bool{}
	for i := len(list) - 1; i >= 0 && list[i].v >= float64(least); i-- {
		blocks[list[i].block] = true
	}
	return len(blocks)
}

// without returns the values that are in other blocks.
func (list sorted) without(block int) []float64 {
	values := make([]float64, 0, len(list))
	for _, x := range list {
		if x.block != block {
			values = append(values, x.v)
		}
	}
	return values
}
