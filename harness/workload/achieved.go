package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"heddle/harness/measure"
	"heddle/harness/workload/traceplan"
	"heddle/traces"
)

// Achieved compares what a trial's submissions were asked to do with what their
// jobs did, on a cluster or in a simulation alike.
type Achieved struct {
	// Sum is for all submissions together. Its times are means over the
	// submissions.
	Sum  Comparison   `json:"sum"`
	Jobs []Comparison `json:"jobs"` // for each submission, in order
	// Warnings name what is more than 5 % from what was asked, and the likely
	// reason.
	Warnings []string `json:"warnings,omitempty"`
}

// Comparison compares what was asked with what was achieved, of one submission
// or of all.
type Comparison struct {
	Job     string  `json:"job,omitempty"`
	Arrival Arrival `json:"arrival"`
	// Bytes by phase, and numbers of tasks.
	Input   Amount `json:"inputBytes"`
	Shuffle Amount `json:"shuffleBytes"`
	Output  Amount `json:"outputBytes"`
	Maps    Amount `json:"maps"`
	Reduces Amount `json:"reduces"`
	// ExtraAttempts is the number of task attempts beyond one for each task.
	ExtraAttempts int `json:"extraAttempts"`
	// FailedJobs is the number of jobs that did not succeed, with those that
	// YARN never had.
	FailedJobs int `json:"failedJobs"`
	// Failure says why the submission failed; empty if it did not.
	Failure string `json:"failure,omitempty"`
	// LabelWaitMs is how long the submission waited for node labels. AnswerMs is
	// the time from when it was due until YARN had accepted its job, without the
	// wait for labels; 0 if that is not known. MapWaitMs is the mean time that its
	// maps waited for containers.
	LabelWaitMs float64 `json:"labelWaitMs"`
	AnswerMs    float64 `json:"answerMs,omitempty"`
	MapWaitMs   float64 `json:"mapWaitMs"`
	// CompletionMs is the time from submission to end, -1 if the submission
	// failed. RecordedMs is the time in the trace, -1 if it is not known. For all
	// submissions together they are means over those of which both are known; if
	// there are none, CompletionMs is the mean over all that succeeded.
	CompletionMs float64 `json:"completionMs"`
	RecordedMs   float64 `json:"recordedMs"`
	// Locality is how near maps ran to their input; RecordedLocality is that in
	// the trace.
	Locality         measure.Locality `json:"locality"`
	RecordedLocality measure.Locality `json:"recordedLocality"`
}

// Arrival compares times of submission, counted from the first one.
type Arrival struct {
	AskedMs float64 `json:"askedMs"` // for all submissions together: time of the last
	LateMs  float64 `json:"lateMs"`  // how much later it came; for all together, the mean distance from the time asked for
	// ErrorPct is LateMs in percent of the time over which all submissions were
	// to come. It is 0 if all were to come at once.
	ErrorPct float64 `json:"errorPct"`
}

// Amount compares a number of bytes or tasks.
type Amount struct {
	// Asked is what the trace has, after scaling. Floors is what was added to
	// it, since tasks cannot do less. Got is what the jobs did.
	Asked  int64 `json:"asked"`
	Floors int64 `json:"floors,omitempty"`
	Got    int64 `json:"got"`
	// ErrorPct is how much Got differs from Asked and Floors together, in
	// percent of these. It is 100 if nothing was asked and something came.
	ErrorPct float64 `json:"errorPct"`
}

// Done is what became of one submission.
type Done struct {
	Asked     *Asked
	LabelWait time.Duration  // how long it waited for node labels
	Answer    time.Duration  // time from when it was due until YARN had accepted it, with LabelWait; 0 if not known
	Jobs      []*measure.Job // its jobs, in order; empty if YARN never had one
	Failure   string         // why it failed; empty if it did not
}

// Achieve compares what submissions did with what they were asked to do.
// Submissions that were asked for nothing are left out. It returns nil if none
// is left.
func Achieve(submissions []Done) *Achieved {
	submissions = slices.DeleteFunc(slices.Clone(submissions), func(d Done) bool { return d.Asked == nil })
	if len(submissions) == 0 {
		return nil
	}
	first, span := firstOf(submissions)
	a := &Achieved{}
	for _, d := range submissions {
		a.Jobs = append(a.Jobs, compared(d, first, span))
	}
	a.Sum = sum(a.Jobs, span)
	a.Warnings = a.warnings()
	return a
}

// firstOf returns how much later than asked for the clock of the measured times
// starts, in ms, by the submission that came first. The result span is the time
// from the first to the last submission, as asked.
func firstOf(submissions []Done) (first, span float64) {
	first, begin, end := math.Inf(1), math.Inf(1), math.Inf(-1)
	for _, d := range submissions {
		asked := float64(d.Asked.SubmitMs)
		begin, end = min(begin, asked), max(end, asked)
		for _, j := range d.Jobs {
			first = min(first, j.SubmitMs-asked)
		}
	}
	if math.IsInf(first, 1) {
		first = 0
	}
	return first, end - begin
}

// compared compares one submission with what it was asked to do. Submissions
// are counted from the one that came earliest by its own time, so that none is
// early.
func compared(d Done, first, span float64) Comparison {
	x := d.Asked
	c := Comparison{
		Job: x.Job, Failure: d.Failure, LabelWaitMs: float64(d.LabelWait) / 1e6,
		AnswerMs: float64(max(0, d.Answer-d.LabelWait)) / 1e6, CompletionMs: -1, RecordedMs: -1,
		Arrival: Arrival{AskedMs: float64(x.SubmitMs)},
		Input:   Amount{Asked: x.InputBytes - x.FlooredInput, Floors: x.FlooredInput},
		Shuffle: Amount{Asked: x.ShuffleBytes - x.FlooredShuffle, Floors: x.FlooredShuffle},
		Output:  Amount{Asked: x.OutputBytes - x.FlooredOutput, Floors: x.FlooredOutput},
		Maps:    Amount{Asked: int64(x.Maps)}, Reduces: Amount{Asked: int64(x.Reduces)},
	}
	done := len(d.Jobs) > 0
	if done {
		c.Arrival.LateMs = d.Jobs[0].SubmitMs - c.Arrival.AskedMs - first
	} else {
		c.FailedJobs = 1
	}
	for _, j := range d.Jobs {
		c.Input.Got += j.Bytes.Input
		c.Shuffle.Got += j.Bytes.Shuffle
		c.Output.Got += j.Bytes.Output
		c.Maps.Got, c.Reduces.Got = c.Maps.Got+int64(j.Maps), c.Reduces.Got+int64(j.Reduces)
		c.ExtraAttempts += j.Attempts.OK + j.Attempts.Failed + j.Attempts.Killed - j.Maps - j.Reduces
		c.MapWaitMs += j.MapWaitMs
		c.Locality = added(c.Locality, j.Locality)
		if j.Outcome != traces.Succeeded {
			c.FailedJobs++
			done = false
		}
	}
	c.MapWaitMs /= float64(max(1, c.Maps.Got))
	if last := len(d.Jobs) - 1; done {
		c.CompletionMs = d.Jobs[last].SubmitMs + d.Jobs[last].CompletionMs - d.Jobs[0].SubmitMs
	}
	if x.Recorded != nil {
		c.RecordedLocality, c.RecordedMs = x.Recorded.Locality, float64(x.Recorded.CompletionMs)
	}
	c.errors(span)
	return c
}

// errors computes the errors in percent.
func (c *Comparison) errors(span float64) {
	for _, a := range []*Amount{&c.Input, &c.Shuffle, &c.Output, &c.Maps, &c.Reduces} {
		switch want := a.Asked + a.Floors; {
		case want != 0:
			a.ErrorPct = 100 * (float64(a.Got) - float64(want)) / float64(want)
		case a.Got != 0:
			a.ErrorPct = 100
		}
	}
	if span > 0 {
		c.Arrival.ErrorPct = 100 * c.Arrival.LateMs / span
	}
}

// sum adds the comparisons of all submissions up.
func sum(jobs []Comparison, span float64) Comparison {
	var s Comparison
	for i := range jobs {
		c := &jobs[i]
		for k, a := range []*Amount{&s.Input, &s.Shuffle, &s.Output, &s.Maps, &s.Reduces} {
			b := []*Amount{&c.Input, &c.Shuffle, &c.Output, &c.Maps, &c.Reduces}[k]
			a.Asked, a.Floors, a.Got = traces.AddCount(a.Asked, b.Asked), traces.AddCount(a.Floors, b.Floors), traces.AddCount(a.Got, b.Got)
		}
		s.Arrival.AskedMs = max(s.Arrival.AskedMs, c.Arrival.AskedMs)
		s.Arrival.LateMs += c.Arrival.LateMs / float64(len(jobs))
		s.LabelWaitMs += c.LabelWaitMs / float64(len(jobs))
		s.AnswerMs += c.AnswerMs / float64(len(jobs))
		s.MapWaitMs += c.MapWaitMs * float64(c.Maps.Got)
		s.ExtraAttempts += c.ExtraAttempts
		s.FailedJobs += c.FailedJobs
		s.Locality, s.RecordedLocality = added(s.Locality, c.Locality), added(s.RecordedLocality, c.RecordedLocality)
	}
	s.MapWaitMs /= float64(max(1, s.Maps.Got))
	s.CompletionMs, s.RecordedMs = completions(jobs, func(c *Comparison) bool { return c.CompletionMs >= 0 && c.RecordedMs >= 0 })
	if s.CompletionMs < 0 {
		s.CompletionMs, _ = completions(jobs, func(c *Comparison) bool { return c.CompletionMs >= 0 })
	}
	s.errors(span)
	return s
}

// completions returns the mean completion time and the mean recorded one of
// those jobs that the given function accepts, -1 if there are none.
func completions(jobs []Comparison, of func(*Comparison) bool) (completionMs, recordedMs float64) {
	n := 0
	for i := range jobs {
		if c := &jobs[i]; of(c) {
			completionMs, recordedMs, n = completionMs+c.CompletionMs, recordedMs+c.RecordedMs, n+1
		}
	}
	if n == 0 {
		return -1, -1
	}
	return completionMs / float64(n), recordedMs / float64(n)
}

func added(a, b measure.Locality) measure.Locality {
	return measure.Locality{
		Cache: a.Cache + b.Cache, Node: a.Node + b.Node, Rack: a.Rack + b.Rack, Off: a.Off + b.Off,
		Unknown: a.Unknown + b.Unknown,
	}
}

// tolerablePct is the greatest error in percent that needs no warning. Jobs that
// come late by tolerableLateMs at most need none either: where all jobs come
// within seconds, that is a large part of the time.
const (
	tolerablePct    = 5
	tolerableLateMs = 1000
)

// warnings returns a warning for each sum that is too far from what was asked,
// with the likely reason.
func (a *Achieved) warnings() []string {
	var list []string
	s := &a.Sum
	if s.FailedJobs > 0 {
		list = append(list, fmt.Sprintf("%d jobs failed or never ran; what they were asked for is missing", s.FailedJobs))
	}
	if s.Arrival.tooLate() {
		list = append(list, fmt.Sprintf("arrivals: jobs came %.1f s late on average, %.1f%% of the time over which they were to come: %s",
			s.Arrival.LateMs/1000, s.Arrival.ErrorPct, s.whyLate()))
	}
	for _, x := range []struct {
		name string
		*Amount
		likely int64  // difference in bytes that reason explains
		reason string // likely reason if the difference is no larger
	}{
		{
			"input", &s.Input, s.Maps.Got * 2 * traceplan.LineBytes,
			"maps read whole lines and the buffer after them; small maps feel it, so a larger scale or a lower maxTasks helps",
		},
		{
			"shuffle", &s.Shuffle, segments(a.Jobs) * segmentBytes,
			"each reduce fetches a header from each map, whatever the map emits; a larger scale or a lower maxTasks helps",
		},
		{"output", &s.Output, 0, ""},
	} {
		if math.Abs(x.ErrorPct) <= tolerablePct {
			continue
		}
		reason := "tasks did not do what they were asked for"
		switch d := x.Got - x.Asked - x.Floors; {
		case s.FailedJobs > 0:
			reason = "jobs failed"
		case max(d, -d) <= x.likely:
			reason = x.reason
		}
		list = append(list, fmt.Sprintf("%s: %+.1f%% from what was asked: %s", x.name, x.ErrorPct, reason))
	}
	if s.Maps.ErrorPct != 0 || s.Reduces.ErrorPct != 0 {
		list = append(list, fmt.Sprintf("tasks: %d maps and %d reduces ran, %d and %d were asked for", s.Maps.Got, s.Reduces.Got,
			s.Maps.Asked, s.Reduces.Asked))
	}
	if s.CompletionMs > 0 && s.MapWaitMs > max(usualWaitMs, s.CompletionMs*tolerablePct/100) {
		list = append(list, fmt.Sprintf("containers: maps waited %.1f s on average for theirs; if the cluster was full, a lower speed "+
			"or scale, or more nodes, makes it less", s.MapWaitMs/1000))
	}
	return list
}

// tooLate reports whether jobs came late enough for a warning.
func (a *Arrival) tooLate() bool { return a.ErrorPct > tolerablePct && a.LateMs > tolerableLateMs }

// whyLate returns the reason for which jobs came late, which is where at least
// half of the time went.
func (c *Comparison) whyLate() string {
	switch {
	case c.LabelWaitMs*2 >= c.Arrival.LateMs:
		return fmt.Sprintf("they waited %.1f s for node labels; a larger label pool or a lower speed helps", c.LabelWaitMs/1000)
	case c.AnswerMs*2 >= c.Arrival.LateMs:
		return fmt.Sprintf("submitting them took %.1f s, from when they were due until YARN had accepted them; a client with more free "+
			"CPU or a lower speed helps", c.AnswerMs/1000)
	case c.AnswerMs > 0:
		return fmt.Sprintf("YARN had accepted them %.1f s after they were due, but counts them as submitted later", c.AnswerMs/1000)
	}
	return "it is not known why"
}

// usualWaitMs is about how long maps wait on an idle cluster, where nodes and
// ApplicationMasters report once a second.
const usualWaitMs = 2500

// segmentBytes is about what a reduce fetches from a map that emits nothing for
// it.
const segmentBytes = 64

// segments returns the number of pairs of a map and a reduce of the same job.
func segments(jobs []Comparison) int64 {
	var n int64
	for i := range jobs {
		n += jobs[i].Maps.Got * jobs[i].Reduces.Got
	}
	return n
}

// worst returns the jobs whose bytes or arrival are more than 5 % off, the
// farthest first, and at most n.
func (a *Achieved) worst(n int) []Comparison {
	list := slices.DeleteFunc(slices.Clone(a.Jobs), func(c Comparison) bool { return c.off() <= tolerablePct && c.FailedJobs == 0 })
	slices.SortStableFunc(list, func(x, y Comparison) int {
		return cmp.Or(cmp.Compare(y.FailedJobs, x.FailedJobs), cmp.Compare(y.off(), x.off()))
	})
	return list[:min(n, len(list))]
}

// off returns the greatest error of the comparison, in percent. That of the
// arrival counts only if the submission came late enough for a warning.
func (c *Comparison) off() float64 {
	late := 0.0
	if c.Arrival.tooLate() {
		late = c.Arrival.ErrorPct
	}
	return max(late, math.Abs(c.Input.ErrorPct), math.Abs(c.Shuffle.ErrorPct), math.Abs(c.Output.ErrorPct))
}
