package measure

import (
	"iter"
	"math"
	"slices"

	"heddle/harness/doc"
)

// Spread counts the values of a sample in ranges of equal width from the smallest value
// to the 99th percentile. The last range has the larger values too. It has no Counts if
// there are fewer than three values, or if they are all alike.
type Spread struct {
	Low, High float64
	Counts    []int
}

// ranges is the number of ranges of a Spread.
const ranges = 12

// spreadOf returns the spread of n values, which are sorted and each have a number of
// times that they occur.
func spreadOf(n int, sorted iter.Seq2[float64, int]) (s Spread) {
	seen, last := 0, rankOf(99, n)
	for x, times := range sorted {
		if seen == 0 {
			s.Low = x
		}
		if seen += times; seen >= last {
			s.High = x
			break
		}
	}
	if n < 3 || !(s.High > s.Low) {
		return Spread{}
	}
	s.Counts = make([]int, ranges)
	for x, times := range sorted {
		s.Counts[min(ranges-1, int(math.Floor((x-s.Low)/(s.High-s.Low)*ranges)))] += times
	}
	return s
}

// once gives each value of a list once.
func once(list []float64) iter.Seq2[float64, int] {
	return func(yield func(float64, int) bool) {
		for _, x := range list {
			if !yield(x, 1) {
				return
			}
		}
	}
}

// durations returns a cell with a time in ms, and the spread of the sample that it is
// of.
func (s Spread) durations(ms float64) doc.Cell {
	c := doc.Duration(ms)
	if s.Counts == nil {
		return c
	}
	return c.Spread(doc.DurationText(s.Low), s.Counts, doc.DurationText(s.High))
}

// spread returns the spread of the durations in ms.
func (d *Durations) spread() Spread {
	slices.Sort(d.exact)
	return spreadOf(d.count, func(yield func(float64, int) bool) {
		for _, t := range d.exact {
			if !yield(ms(t), 1) {
				return
			}
		}
		for i, n := range d.buckets {
			if n > 0 && !yield(ms(middleOf(i)), int(n)) {
				return
			}
		}
	})
}
