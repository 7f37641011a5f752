package policy

import (
	"fmt"
	"math"
	"slices"
)

// Law is the distribution of jobs: the number of reduce tasks and the data of a job, which
// are independent.
type Law struct {
	Reduces []float64 // probability of 1, 2, … reduce tasks
	Data    []Weighted
	// PerReduce says that Data is of each reduce task, and not of the job.
	PerReduce bool
}

// Weighted is a value with its probability.
type Weighted struct{ Value, P float64 }

// Uniform returns the whole numbers of a range, each with the same probability.
func Uniform(from, to int) []Weighted {
	list := make([]Weighted, 0, to-from+1)
	for x := from; x <= to; x++ {
		list = append(list, Weighted{float64(x), 1 / float64(to-from+1)})
	}
	return list
}

// Each returns the mean data of one reduce task of a job with r of them.
func (l *Law) Each(r int) float64 {
	mean := 0.0
	for _, x := range l.Data {
		mean += x.P * x.Value
	}
	if l.PerReduce {
		return mean
	}
	return mean / float64(r)
}

// Next returns the expected data that a job brings to its first slot, its second and so
// on: that of a reduce task, if the job has so many.
func (l *Law) Next() []float64 {
	list, sum := make([]float64, len(l.Reduces)), 0.0
	for i := len(list) - 1; i >= 0; i-- {
		sum += l.Reduces[i] * l.Each(i+1)
		list[i] = sum
	}
	return list
}

// Optimal places each of a number of jobs that never leave so that the expected cost of
// all is least (Theorems 1 and 2).
type Optimal struct {
	thresholds [][]float64 // by the number of jobs that follow
	left       int         // number of jobs that are still to come
}

// MostThresholds limits the memory that the thresholds of an Optimal take.
const MostThresholds = 10_000_000

// NewOptimal returns the policy for so many jobs. After these it begins anew.
func NewOptimal(l *Law, jobs int, asPrinted bool) (*Optimal, error) {
	if jobs < 1 || jobs*jobs/2 > MostThresholds/max(1, len(l.Reduces)) {
		return nil, fmt.Errorf("optimal: %d jobs: want 1 or more, and at most %d thresholds", jobs, MostThresholds)
	}
	return &Optimal{Thresholds(l, jobs+1, asPrinted), jobs}, nil
}

// Arrive counts the job.
func (p *Optimal) Arrive(*Job) {
	if p.left == 0 {
		p.left = len(p.thresholds) - 1
	}
	p.left--
}

// Expected returns the expected cost of all jobs on slots with the given costs, the
// cheapest first: the thresholds before the first job are the data on each slot.
func (p *Optimal) Expected(costs []float64) float64 {
	sum := 0.0
	for i, q := range p.thresholds[len(p.thresholds)-1] {
		if i < len(costs) {
			sum += q * costs[i]
		}
	}
	return sum
}

// Place leaves alone the slots that are worth more to later jobs.
func (p *Optimal) Place(j *Job, free int, ranks []int) []int {
	q, each := p.thresholds[p.left], j.Each()
	// Thresholds fall: the job goes before the first slot whose expected data is not above its own.
	skip, _ := slices.BinarySearchFunc(q, each, func(x, each float64) int {
		if x > each {
			return -1
		}
		return 1
	})
	return after(skip, j, free, ranks)
}

// Thresholds returns, for 0 to jobs-1 jobs that follow, the data that these are expected
// to bring to the cheapest slot, the second and so on, if all are placed as is best. A
// job with less leaves that slot to them. The values depend on no slot's cost:
//
//	q_i(n-1) = sum over r of P(R=r) E[ X/r, not below q_i(n) and not above q_(i-r)(n) ]
//
// where q of 0 and below is infinite. This is the recursion of Theorem 2 with two faults
// mended: its last boundary is 0 there and not minus infinity, and X/r is that of a job
// with r tasks. As printed, X/r is that of any job; expected data then does not add up.
func Thresholds(l *Law, jobs int, asPrinted bool) [][]float64 {
	list := make([][]float64, jobs)
	laws := l.laws(asPrinted)
	most := len(l.Reduces)
	for n := 1; n < jobs; n++ {
		before := list[n-1]
		at := func(i int) float64 { // 1 is the cheapest slot
			switch {
			case i <= 0:
				return math.Inf(1)
			case i > len(before):
				return 0
			}
			return before[i-1]
		}
		list[n] = make([]float64, n*most)
		for i := range list[n] {
			for r, p := range l.Reduces {
				list[n][i] += p * between(laws[r], at(i+1), at(i-r)) // rank i is slot i+1, and r stands for r+1 tasks
			}
		}
	}
	return list
}

// laws returns the law of one task's data for jobs with 1, 2, … tasks; with any set, that of
// all jobs in each place.
func (l *Law) laws(any bool) [][]Weighted {
	list, all := make([][]Weighted, len(l.Reduces)), []Weighted{}
	for i := range list {
		for _, x := range l.Data {
			if !l.PerReduce {
				x.Value /= float64(i + 1)
			}
			list[i], all = append(list[i], x), append(all, Weighted{x.Value, x.P * l.Reduces[i]})
		}
	}
	if any {
		return slices.Repeat([][]Weighted{all}, len(list))
	}
	return list
}

// between returns the mean of a value that is held between two bounds.
func between(law []Weighted, low, high float64) float64 {
	mean := 0.0
	for _, x := range law {
		mean += x.P * min(max(x.Value, low), high)
	}
	return mean
}
