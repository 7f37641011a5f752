// Package policy has the rules of Tan, Meng, Zhang, "Improving ReduceTask Data Locality
// for Sequential MapReduce Jobs" (INFOCOM 2013) for the slots of a job's reduce tasks,
// and rules to compare them with. It knows no cluster: simulations and scheduler
// models ask it alike.
//
// A reduce slot has a cost for each byte that is fetched there. A policy sees the free
// slots as ranks in order of cost: rank 0 is the cheapest. A job that takes the
// cheapest ones leaves dear ones to the next job. A job is deferred if it leaves them
// alone, since the next one probably has more data.
package policy

import "math/rand/v2"

// Job is what a policy knows of a job.
type Job struct {
	Data    float64 // intermediate data of the whole job
	Reduces int     // number of its reduce tasks, 1 or more
	Present int     // number of other jobs that were in the system when it came
}

// Each returns the data of one reduce task. Unequal ones count with their mean.
func (j *Job) Each() float64 { return j.Data / float64(j.Reduces) }

// Policy chooses reduce slots for one job after the other.
type Policy interface {
	// Arrive tells of a job, when its data is known.
	Arrive(j *Job)
	// Place appends the ranks of the slots that the job gets. The number of free slots
	// is at least that of the job's reduce tasks. The task with the most data goes to
	// the first rank.
	Place(j *Job, free int, ranks []int) []int
}

// after appends the ranks of a job's slots if it leaves so many cheaper ones alone. If
// too few are then left, it takes the cheapest.
func after(skip int, j *Job, free int, ranks []int) []int {
	if skip+j.Reduces > free {
		skip = 0
	}
	for i := range j.Reduces {
		ranks = append(ranks, skip+i)
	}
	return ranks
}

// Greedy gives each job the cheapest free slots.
type Greedy struct{}

// Arrive does nothing.
func (Greedy) Arrive(*Job) {}

// Place takes the cheapest slots.
func (Greedy) Place(j *Job, free int, ranks []int) []int { return after(0, j, free, ranks) }

// Random gives each job any free slots, as Hadoop does.
type Random struct{ Rand *rand.Rand }

// Arrive does nothing.
func (Random) Arrive(*Job) {}

// Place draws different slots, each set with the same probability.
func (p Random) Place(j *Job, free int, ranks []int) []int {
	first := len(ranks)
	for i := range j.Reduces {
		// Floyd's method: the i-th rank is drawn from the first free-R+i+1; one that
		// was drawn before makes room for the last of these.
		last := free - j.Reduces + i
		at := p.Rand.IntN(last + 1)
		for _, taken := range ranks[first:] {
			if taken == at {
				at = last
				break
			}
		}
		ranks = append(ranks, at)
	}
	p.Rand.Shuffle(j.Reduces, func(i, k int) { ranks[first+i], ranks[first+k] = ranks[first+k], ranks[first+i] })
	return ranks
}

// RHC is receding horizon control (Theorem 4): a job is deferred if it has less data a
// reduce task than the next job has in the mean, times the probability that this job
// is still there when the next one comes. Both are estimated from the last jobs.
type RHC struct {
	Window int // number of jobs that estimates are made from; 0 means 100, which is ours
	// Fixed, if above 0, is the probability instead of the estimate. Mean, if above 0, is
	// the next job's data a reduce task instead of the estimate.
	Fixed, Mean float64
	// Next, if not nil, has the expected data that the next job brings to its first slot,
	// its second and so on. The job then leaves those slots alone for which that is more
	// than its own, and not as many as it has reduce tasks itself.
	Next []float64
	// Blind decides for each job by the data of another one of the window. It defers as
	// many jobs, but not by their size.
	Blind *rand.Rand

	seen          []Job // a ring of the last jobs
	next          int
	present, each float64 // sums over the ring
}

const usualWindow = 100

// Arrive adds the job to those that estimates are made from.
func (p *RHC) Arrive(j *Job) {
	size := p.Window
	if size == 0 {
		size = usualWindow
	}
	if len(p.seen) < size {
		p.seen = append(p.seen, Job{})
	} else {
		old := &p.seen[p.next]
		p.present, p.each = p.present-float64(old.Present), p.each-old.Each()
	}
	p.seen[p.next] = *j
	p.present, p.each = p.present+float64(j.Present), p.each+j.Each()
	p.next = (p.next + 1) % size
}

// Stays returns the probability that a job is still there when the next one comes, from
// the mean number of jobs that others have met: rho/(1+rho), where that is rho/(1-rho).
func (p *RHC) Stays() float64 {
	if p.Fixed > 0 {
		return p.Fixed
	}
	n := p.present / float64(len(p.seen))
	return n / (2*n + 1)
}

// Place defers the job or gives it the cheapest slots. Data that equals the threshold
// is not deferred.
func (p *RHC) Place(j *Job, free int, ranks []int) []int {
	stays, mean, each := p.Stays(), p.each/float64(len(p.seen)), j.Each()
	if p.Mean > 0 {
		mean = p.Mean
	}
	if p.Blind != nil {
		each = p.seen[p.Blind.IntN(len(p.seen))].Each()
	}
	skip := 0
	switch {
	case p.Next != nil:
		for skip < len(p.Next) && each < stays*p.Next[skip] {
			skip++
		}
	case each < stays*mean:
		skip = j.Reduces
	}
	return after(skip, j, free, ranks)
}
