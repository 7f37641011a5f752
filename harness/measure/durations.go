package measure

import (
	"math/bits"
	"slices"

	"heddle/traces"
)

// exactCount is how many durations of a sample are kept one by one. A larger
// sample is kept as counts: one count for each bucket, which is a range of
// durations.
const exactCount = 100_000

// Durations is a sample of durations that takes a limited amount of memory. Up
// to 100,000 durations are kept one by one, and percentiles are exact. A larger
// sample is kept as a count for each bucket, a range of durations less than 1 %
// wide. A percentile is then the middle of a bucket. The zero value is an empty
// sample.
type Durations struct {
	count   int
	sumNs   float64
	exact   []traces.Time // the durations one by one, in no particular order
	buckets []int32       // number of durations in each bucket (range of durations); nil while all durations are kept one by one
}

// Add adds a duration. A negative duration counts as 0; it can come from two
// machines whose clocks differ.
func (d *Durations) Add(t traces.Time) {
	t = max(t, 0)
	d.count++
	d.sumNs += float64(t)
	if d.buckets != nil {
		d.buckets[bucketOf(t)]++
		return
	}
	d.exact = append(d.exact, t)
	if len(d.exact) > exactCount {
		d.buckets = make([]int32, bucketOf(1<<63-1)+1)
		for _, t := range d.exact {
			d.buckets[bucketOf(t)]++
		}
		d.exact = nil
	}
}

// Count returns how many durations the sample has.
func (d *Durations) Count() int { return d.count }

// Exact reports whether percentiles are exact, because the durations are kept
// one by one and not counted in buckets.
func (d *Durations) Exact() bool { return d.buckets == nil }

// MeanMs returns the mean duration in milliseconds, 0 for an empty sample.
func (d *Durations) MeanMs() float64 {
	if d.count == 0 {
		return 0
	}
	return d.sumNs / 1e6 / float64(d.count)
}

// PercentileMs returns the duration in milliseconds that the given percentage
// of the sample does not exceed: the smallest such value of the sample. It
// returns 0 for an empty sample.
func (d *Durations) PercentileMs(percent int) float64 {
	rank := rankOf(percent, d.count)
	if d.buckets == nil {
		if d.count == 0 {
			return 0
		}
		slices.Sort(d.exact)
		return ms(d.exact[rank-1])
	}
	for i, n := range d.buckets {
		if rank -= int(n); rank <= 0 {
			return ms(middleOf(i))
		}
	}
	return 0
}

// rankOf returns the rank, from 1, of a percentile among n values in order: of the
// smallest one that so many percent of the values do not exceed.
func rankOf(percent, n int) int { return max((n*percent+99)/100, 1) }

// Ms returns all durations in milliseconds, ascending. If the sample is kept as
// counts in buckets (ranges of durations), each duration is the middle of its
// bucket.
func (d *Durations) Ms() []float64 {
	list := make([]float64, 0, d.count)
	slices.Sort(d.exact)
	for _, t := range d.exact {
		list = append(list, ms(t))
	}
	for i, n := range d.buckets {
		for range n {
			list = append(list, ms(middleOf(i)))
		}
	}
	return list
}

// bucketBits says how wide a bucket (range of durations) is: so many bits after
// a duration's highest bit select the bucket. With 7 bits, a bucket's width is
// 1/128 of its lowest duration or less.
const bucketBits = 7

// bucketOf returns the number of the bucket (range of durations) to which the
// duration t belongs. t must not be negative. Below 256 ns each bucket has a
// single value.
func bucketOf(t traces.Time) int {
	shift := max(bits.Len64(uint64(t))-bucketBits-1, 0)
	return shift<<bucketBits + int(t>>shift)
}

// middleOf returns the duration in the middle of bucket (range of durations)
// number i.
func middleOf(i int) traces.Time {
	shift := max(i>>bucketBits-1, 0)
	start := traces.Time(i-shift<<bucketBits) << shift
	return start + traces.Time(1)<<shift>>1
}

func ms(t traces.Time) float64 { return float64(t) / 1e6 }
