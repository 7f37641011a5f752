package measure

import (
	"math"
	"slices"

	"heddle/harness/stats"
)

// Blocks of time are of whole days if there are 6 of them, and as many as give at most mostBlocks
// blocks, beyond which intervals gain nothing; else the fewest of these hours that do.
const mostBlocks = 30

var blockHours = []float64{0.25, 0.5, 1, 2, 3, 4, 6, 8, 12}

// Divide chooses n blocks of so many hours by the submissions of jobs, for intervals of what is
// measured in them (see stats.Blocks), and returns the block of a job. Blocks are longer if jobs' times,
// in s, say that short ones depend on each other.
func Divide(jobs []*Job, times []float64) (hours float64, n int, block func(*Job) int) {
	first, last := math.Inf(1), 0.0
	for _, j := range jobs {
		first, last = min(first, j.SubmitMs), max(last, j.SubmitMs)
	}
	all := (last - first) / 3_600_000
	if days := all / 24; days > stats.MinBlocks-0.5 {
		hours = 24 * max(1, math.Ceil(days/mostBlocks))
	} else {
		at := max(0, slices.IndexFunc(blockHours, func(h float64) bool { return all/h <= mostBlocks }))
		for at+1 < len(blockHours) && all/blockHours[at+1] > stats.MinBlocks-0.5 && Dependent(times, blockHours[at]) {
			at++
		}
		hours = blockHours[at]
	}
	n = int(all/hours) + 1
	block = func(j *Job) int { return min(int((j.SubmitMs-first)/3_600_000/hours), n-1) }
	late := 0
	for _, j := range jobs {
		if block(j) == n-1 {
			late++
		}
	}
	if n > 1 && 2*late*n < len(jobs) { // too few jobs for a block of their own
		n--
	}
	return hours, n, block
}

// Dependent reports whether jobs that last longer than half a block, in s, have a tenth of all jobs' time, or more: what
// they meet is the doing of earlier blocks, so that blocks are no independent observations, as in a backlog.
func Dependent(completions []float64, blockHours float64) bool {
	long, all := 0.0, 0.0
	for _, s := range completions {
		if all += s; s > blockHours*3600/2 {
			long += s
		}
	}
	return long >= all/10
}
