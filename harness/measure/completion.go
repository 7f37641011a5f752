package measure

import (
	"fmt"
	"math"
)

// Completion has the completion times of a number of jobs. A job's completion
// time is the time from its submission to its end. Only jobs that succeeded
// count in the mean: a job that failed early would make it look shorter. The
// other jobs are counted beside it.
type Completion struct {
	SumMs     float64 // sum of the completion times, in ms, of the jobs that succeeded
	Succeeded int     // number of jobs that succeeded
	Others    int     // number of jobs that failed, were killed, were refused or did not end
}

// Add counts a job. The argument ms is its completion time in ms.
func (c *Completion) Add(succeeded bool, ms float64) {
	if !succeeded {
		c.Others++
		return
	}
	c.Succeeded++
	c.SumMs += ms
}

// Plus returns the completion times of both sets of jobs together.
func (c Completion) Plus(o Completion) Completion {
	return Completion{c.SumMs + o.SumMs, c.Succeeded + o.Succeeded, c.Others + o.Others}
}

// Jobs returns the number of jobs, of whatever outcome.
func (c Completion) Jobs() int { return c.Succeeded + c.Others }

// MeanMs returns the mean completion time in ms of the jobs that succeeded. It
// is NaN if none did.
func (c Completion) MeanMs() float64 {
	if c.Succeeded == 0 {
		return math.NaN()
	}
	return c.SumMs / float64(c.Succeeded)
}

// OthersText says how many jobs are not in the mean. It is empty if all are.
func (c Completion) OthersText() string {
	if c.Others == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d jobs did not succeed and are not in their mean completion time", c.Others, c.Jobs())
}

// Completion returns the completion times of the run's jobs.
func (f *Figures) Completion() Completion {
	done := f.Jobs - f.NotSucceeded
	return Completion{SumMs: f.MeanCompletionMs * float64(done), Succeeded: done, Others: f.NotSucceeded}
}

// CompletionOf returns the completion times of the jobs of several runs together.
func CompletionOf(list ...*Figures) (c Completion) {
	for _, f := range list {
		c = c.Plus(f.Completion())
	}
	return c
}

// SetCompletion sets the run's mean completion time and its numbers of jobs.
func (f *Figures) SetCompletion(c Completion) {
	f.Jobs, f.NotSucceeded, f.MeanCompletionMs = c.Jobs(), c.Others, 0
	if c.Succeeded > 0 {
		f.MeanCompletionMs = c.MeanMs()
	}
}
