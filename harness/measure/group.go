package measure

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"heddle/harness/nearest"
	"heddle/harness/stats"
	"heddle/traces"
)

// ByUser divides jobs by who submitted them. With byJob, their names match a pattern.
const (
	ByUser = "user"
	byJob  = "job"
)

// within returns a metric of jobs for some of them alone: those of a queue, "user NAME", or "job PATTERN".
func (m Metric) within(of string) (Metric, error) {
	by, name, two := strings.Cut(of, " ")
	if !two {
		by, name = ByQueue, of
	}
	_, err := path.Match(name, "")
	if err != nil || name == "" || !m.OfJobs() || by != ByQueue && by != ByUser && by != byJob {
		return m, fmt.Errorf("metric %s of %s: want one of jobs, such as waiting.p95, of a queue, user NAME, or job PATTERN", m.Name, of)
	}
	m.by, m.of, m.called = by, name, func(j *Job) string {
		switch by {
		case ByUser:
			return j.User
		case byJob:
			return j.Name
		}
		return cmp.Or(j.Queue, "default")
	}
	m.has = func(j *Job) bool {
		switch is := m.called(j); by {
		case ByUser:
			return is == name
		case byJob:
			ok, _ := path.Match(name, is) // the pattern was tried above
			return ok
		default:
			return strings.HasSuffix("."+is, "."+name) || strings.HasSuffix("."+name, "."+is)
		}
	}
	all := m.ofJobs
	m.Name, m.Text, m.part, m.ofJobs = m.Name+" of "+of, m.Text+", of "+of, nil, nil
	m.value = func(trials []*Figures) float64 {
		var classes []*JobClass
		for _, f := range trials {
			if x, ok := f.Kept[m.Name]; ok {
				return x
			}
			jobs, _ := m.Jobs(f)
			c := classOf("", "", jobs)
			if c.Jobs == 0 {
				return math.NaN()
			}
			classes = append(classes, &c)
		}
		return all(classes)
	}
	return m, nil
}

// Keep has summaries keep the values of metrics of some jobs.
func (f *Figures) Keep(list []Metric) {
	for _, m := range list {
		if x := m.Of(f); m.has != nil && !math.IsNaN(x) {
			if f.Kept == nil {
				f.Kept = map[string]float64{}
			}
			f.Kept[m.Name] = x
		}
	}
}

// Jobs returns the jobs that the metric is of, and how many of them YARN refused.
func (m Metric) Jobs(f *Figures) (list []*Job, refused int) {
	for _, j := range f.JobList {
		if m.has != nil && !m.has(j) {
			continue
		}
		if list = append(list, j); j.Outcome == traces.Failed && j.Diagnostics() != "" {
			refused++
		}
	}
	return list, refused
}

// Lacks returns an error if the metric is of jobs of a queue, a user or a name that no job has.
func (m Metric) Lacks(f *Figures) error {
	if jobs, _ := m.Jobs(f); len(jobs) > 0 {
		return nil
	}
	if m.called == nil {
		return errors.New("no job")
	}
	var names []string
	for _, j := range f.JobList {
		names = append(names, m.called(j))
	}
	text := ""
	if near := nearest.Name(m.of, names); near != "" {
		text = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("no %s %q%s", m.by, m.of, text)
}

// fewBeyond is how many jobs have to be beyond a percentile for it to have an interval: else it is
// one job or another.
const fewBeyond = 5

// Over estimates the metric from blocks of time (see stats.Blocks). There is no interval if blocks are
// too few or depend on each other, if too few jobs are beyond a percentile, and of a metric not of jobs.
// That of a percentile is by the share of jobs beyond it, as whose bounds other percentiles are taken
// (Woodruff 1952).
func (m Metric) Over(f *Figures) stats.Estimate {
	jobs, _ := m.Jobs(f)
	hours, _, block := Divide(f.JobList, nil)
	var blocks []int
	var times []float64
	for _, j := range jobs {
		blocks, times = append(blocks, block(j)), append(times, j.CompletionMs/1000)
	}
	blocks = slices.Compact(blocks)
	x, values := m.Of(f), []float64(nil)
	if math.IsNaN(x) || m.ofJobs == nil && m.has == nil || m.Part && m.beyond*float64(len(jobs)) < fewBeyond || Dependent(times, hours) {
		blocks = nil
	}
	e := stats.Blocks(len(blocks), func(without int) float64 {
		rest := *f
		out := func(j *Job) bool { return without >= 0 && block(j) == blocks[without] }
		rest.Kept, rest.JobList = nil, slices.DeleteFunc(slices.Clone(jobs), out)
		if m.beyond == 0 {
			rest.AllJobs = classOf("", "", rest.JobList)
			return m.Of(&rest)
		}
		of := m.property.Values(&rest)
		if without < 0 {
			values = of
		}
		at, _ := slices.BinarySearch(of, math.Nextafter(x, math.Inf(1)))
		return (float64(len(of)-at) + 0.5) / float64(len(of)+1)
	}).Estimate
	factor := math.Exp((e.Hi - e.Value) / e.Value)
	at := func(beyond float64) float64 { return values[len(values)-1-int(min(1, beyond)*float64(len(values)-1))] }
	switch {
	case !e.Bounded():
	case m.beyond > 0:
		e.Lo, e.Hi = at(m.beyond*factor), at(m.beyond/factor)
	case m.IsFactor() && e.Value > 0: // most are skewed
		e.Lo, e.Hi = e.Value/factor, e.Value*factor
	}
	e.Value = x
	return e
}

// Ends estimates how long after the end of its day the last job of a day ends, in s, below 0 before it,
// from the jobs that the metric is of. A day is the 24 hours until a time of day; times of f count from
// sinceMs after it. The value is that of the latest day, and the upper end of its interval that of one
// more day, if days have a normal distribution.
func (m Metric) Ends(f *Figures, sinceMs float64) stats.Estimate {
	const dayMs = 24 * 3600 * 1000
	var ends []float64
	jobs, _ := m.Jobs(f)
	on := math.Inf(-1)
	for _, j := range jobs {
		day := math.Floor((sinceMs+j.SubmitMs)/dayMs) + 1
		end := (sinceMs + j.SubmitMs + j.CompletionMs - day*dayMs) / 1000
		if day > on {
			ends, on = append(ends, end), day
		}
		last := &ends[len(ends)-1]
		*last = max(*last, end)
	}
	e := stats.Mean(ends)
	if e.N == 0 {
		return e
	}
	margin := (e.Hi - e.Value) * math.Sqrt(float64(len(ends)+1)) // of one more, which is wider than that of the mean
	e.Hi = e.Value + margin
	e.Value = slices.Max(ends)
	e.Lo, e.Hi = e.Value, max(e.Value, e.Hi)
	return e
}
