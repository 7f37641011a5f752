package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/stats"
)

// value is a job's value of a property, and the number of its block among those of the group.
type value struct {
	v     float64
	block int
}

// sorted are the values of a group, in ascending order.
type sorted []value

// change computes how property n changes for the jobs of a group, of so many seeds.
func (g *grouped) change(n, seeds int) (c Change) {
	number := map[int]int{}
	var sides [2]sorted
	for i := range g.pairs { // in order of submission, so blocks are numbered in order of time
		p := &g.pairs[i]
		old, new := p.old[n], p.new[n]
		if math.IsNaN(old) || math.IsNaN(new) {
			continue
		}
		if _, ok := number[p.block]; !ok {
			number[p.block] = 0
		}
		sides[0], sides[1] = append(sides[0], value{old, p.block}), append(sides[1], value{new, p.block})
		switch by := max(1, old/10); {
		case new-old > by:
			c.Longer++
		case old-new > by:
			c.Shorter++
		}
	}
	c.Jobs, c.Longer, c.Shorter = len(sides[0])/seeds, c.Longer/seeds, c.Shorter/seeds
	blocks := make([]int, 0, len(number))
	for b := range number {
		blocks = append(blocks, b)
	}
	slices.Sort(blocks)
	for i, b := range blocks {
		number[b] = i
	}
	for _, side := range sides {
		for i := range side {
			side[i].block = number[side[i].block]
		}
		slices.SortFunc(side, func(a, b value) int { return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.block, b.block)) })
	}
	slices.SortFunc(g.was[n], func(a, b value) int { return cmp.Compare(a.v, b.v) })
	add := func(of string, tail float64, at func(list sorted, without int) float64) {
		p := newPart(sides, len(blocks), at, tail/float64(seeds))
		p.Of, p.Recorded = of, compare.Number(at(g.was[n], -1))
		c.Parts = append(c.Parts, p)
	}
	add("mean", 1, meanWithout)
	for _, percent := range percents {
		add(fmt.Sprintf("p%d", percent), float64(100-percent)/100, func(list sorted, without int) float64 {
			return percentile(list, without, percent)
		})
	}
	return c
}

// newPart compares a statistic of both sides; the share tail of all jobs, by the number of seeds, is beyond it.
func newPart(sides [2]sorted, blocks int, at func(list sorted, without int) float64, tail float64) Part {
	p := Part{Old: compare.Number(at(sides[0], -1)), New: compare.Number(at(sides[1], -1))}
	difference := func(without int) float64 { return at(sides[1], without) - at(sides[0], without) }
	switch {
	case len(sides[0]) > 0 && slices.Equal(sides[0], sides[1]): // however few they are
		blocks, difference = stats.MinBlocks, func(int) float64 { return 0 }
	case tail*float64(len(sides[0])) < beyond, // one job or another
		tail < 1 && min(sides[0].from(p.Old), sides[1].from(p.New)) < min(stats.MinBlocks, (blocks+1)/2): // one rush or another
		blocks = 0
	}
	p.test = stats.Blocks(blocks, difference)
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

// meanWithout returns the mean of the values that are in other blocks.
func meanWithout(list sorted, without int) float64 {
	sum, n := 0.0, 0
	for _, x := range list {
		if x.block != without {
			sum, n = sum+x.v, n+1
		}
	}
	return sum / float64(n)
}

// percentile returns the smallest value that so many percent of the values in other blocks do
// not exceed. The list is sorted.
func percentile(list sorted, without, percent int) float64 {
	n := 0
	for _, x := range list {
		if x.block != without {
			n++
		}
	}
	rank := max(1, (percent*n+99)/100)
	for _, x := range list {
		if x.block == without {
			continue
		}
		if rank--; rank == 0 {
			return x.v
		}
	}
	return math.NaN()
}
