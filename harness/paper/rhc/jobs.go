package rhc

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"heddle/harness/paper/rhc/policy"
)

// job is a job with the time for which it holds its slots.
type job struct {
	policy.Job
	from, to float64
	each     [mostReduces]float64 // data of each reduce task, the largest first
}

// jobs draws the jobs, in the order in which they get slots. leave has their numbers in
// the order in which they leave.
func (x monteCarlo) jobs(seed uint64) (jobs []job, leave []int32) {
	random := rand.New(rand.NewPCG(seed, 1))
	law := x.law()
	var reduces, data sums
	mean := 0.0 // data of a job
	for i, p := range law.Reduces {
		reduces.add(p)
		mean += p * float64(i+1) * law.Each(i+1)
	}
	for _, w := range law.Data {
		data.add(w.P)
	}
	jobs, leave = make([]job, x.Jobs), make([]int32, 0, x.Jobs)
	q := queue{limit: x.Slots / mostReduces, rule: x.Queue, jobs: jobs, work: make([]float64, x.Jobs), leave: leave}
	at := 0.0
	for i := range jobs {
		j := &jobs[i]
		at += random.ExpFloat64() / x.Load
		x.draw(j, &law, reduces, data, random)
		q.work[i] = random.ExpFloat64()
		switch x.Service {
		case "withSize":
			q.work[i] *= j.Data / mean
		case "size":
			q.work[i] = j.Data / mean
		}
		if x.Batch > 0 {
			first := i - i%x.Batch
			j.from, j.to, j.Present = at, math.Inf(1), i-first
			if i == first {
				for k := max(0, first-x.Batch); k < first; k++ {
					jobs[k].to, q.leave = at, append(q.leave, int32(k))
				}
			}
		} else {
			j.Present = q.arrive(int32(i), at)
		}
		if x.Present == "all" {
			j.Present++
		}
	}
	q.until(math.Inf(1))
	return jobs, q.leave
}

// draw draws a job's reduce tasks and data by a law.
func (x monteCarlo) draw(j *job, law *policy.Law, reduces, data sums, random *rand.Rand) {
	j.Reduces = 1 + reduces.pick(random)
	size := 0.0
	for i := range j.Reduces {
		if i == 0 || x.Sizes == "own" {
			size = law.Data[data.pick(random)].Value
		}
		if j.each[i] = size; !law.PerReduce {
			j.each[i] /= float64(j.Reduces)
		}
		j.Data += j.each[i]
	}
	slices.SortFunc(j.each[:j.Reduces], func(a, b float64) int { return cmp.Compare(b, a) })
}

// sums are the probabilities of the first value of a law, of the first two, and so on.
type sums []float64

func (s *sums) add(p float64) {
	if n := len(*s); n > 0 {
		p += (*s)[n-1]
	}
	*s = append(*s, p)
}

// pick draws the number of a value.
func (s sums) pick(random *rand.Rand) int {
	u := random.Float64()
	return sort.Search(len(s)-1, func(i int) bool { return s[i] > u })
}

// queue serves the jobs' map work, at most limit jobs at once; others wait for that.
type queue struct {
	limit   int
	rule    string // sharing: jobs in service share one server; fifo: it serves one after the other; none: each has its own
	jobs    []job
	work    []float64
	now     float64
	served  float64 // with sharing, what a job has got that was there from the beginning; otherwise the time
	last    float64 // with fifo, when the last job is done
	active  []served
	waiting []int32
	leave   []int32
}

// served is a job in service, with the value of queue.served at which it is done.
type served struct {
	done float64
	job  int32
}

// arrive adds a job, and returns how many others are there.
func (q *queue) arrive(i int32, at float64) int {
	q.until(at)
	present := len(q.active) + len(q.waiting)
	if len(q.active) < q.limit {
		q.start(i)
	} else {
		q.waiting = append(q.waiting, i)
	}
	return present
}

func (q *queue) start(i int32) {
	q.jobs[i].from = q.now
	done := q.served + q.work[i]
	if q.rule == "fifo" {
		done = max(q.now, q.last) + q.work[i]
		q.last = done
	}
	// The jobs in service are few: they stand in the order in which they will be done, the
	// next one last.
	k := len(q.active)
	q.active = append(q.active, served{})
	for ; k > 0 && q.active[k-1].done < done; k-- {
		q.active[k] = q.active[k-1]
	}
	q.active[k] = served{done, i}
}

// until lets time pass. Jobs that are done leave, and waiting ones take their place.
func (q *queue) until(at float64) {
	for len(q.active) > 0 {
		rate := 1.0
		if q.rule == "sharing" {
			rate = 1 / float64(len(q.active))
		}
		next := q.active[len(q.active)-1]
		end := q.now + max(0, next.done-q.served)/rate
		if end > at {
			q.served += (at - q.now) * rate
			q.now = at
			return
		}
		q.now, q.served = end, next.done
		q.active = q.active[:len(q.active)-1]
		q.jobs[next.job].to, q.leave = end, append(q.leave, next.job)
		if len(q.waiting) > 0 {
			i := q.waiting[0]
			q.waiting = q.waiting[1:]
			q.start(i)
		}
	}
	if !math.IsInf(at, 1) {
		q.served += at - q.now
		q.now = at
	}
}
