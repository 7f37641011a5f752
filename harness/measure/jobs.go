package measure

import (
	"cmp"
	"math"
	"slices"

	"heddle/traces"
)

// JobClass has the figures of some of a run's jobs: of all, of one queue, of
// one pool, or of the jobs with about as many maps. Only jobs that succeeded
// count in its distributions.
type JobClass struct {
	By        string `json:"by,omitempty"`   // "queue", "pool" or "size"; empty for all jobs
	Name      string `json:"name,omitempty"` // name of the queue, pool or size class, such as "11-50 maps"
	Jobs      int    `json:"jobs"`
	Succeeded int    `json:"succeeded"`
	// CompletionMs is the time from a job's submission to its end. WaitingMs is
	// the time from its submission until its first task starts.
	CompletionMs Distribution `json:"completionMs"`
	WaitingMs    Distribution `json:"waitingMs"`
	// Slowdown is the bounded slowdown: the completion time as a multiple of the
	// time from the start of the job's first task to the job's end. That time
	// counts as shortRunMs if it is shorter, and the slowdown as 1 if it is less.
	// (Feitelson and Rudolph, Metrics and Benchmarking for Parallel Job
	// Scheduling, 1998.)
	Slowdown Distribution `json:"slowdown"`
	// Fairness is Jain's index of the jobs' slowdowns: 1 if the jobs are slowed
	// down alike, near 0 if one job waits for all others. It is -1 if no job has
	// a slowdown. (Jain, Chiu and Hawe, A Quantitative Measure of Fairness,
	// DEC-TR-301, 1984.)
	Fairness float64 `json:"fairness"`
	// Deadlines is nil if no job has a deadline.
	Deadlines *Deadlines `json:"deadlines,omitempty"`
}

// shortRunMs is the run time below which a job counts as short in its slowdown,
// so that the wait of a very short job does not hide all others. Feitelson and
// Rudolph use 10 s.
const shortRunMs = 10_000

// Distribution says how the values of a sample are spread. Percentiles are the
// smallest values of the sample that so many percent of it do not exceed. All
// are 0 if Count is 0.
type Distribution struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	// Spread says how many values are how large.
	Spread Spread `json:"-"`
}

// Ways in which jobs are put into classes.
const (
	ByQueue = "queue"
	ByPool  = "pool"
	BySize  = "size"
)

// SizeClass is a class of jobs by their number of maps: those with Most or fewer
// that are in no smaller class. Most is math.MaxInt for the class of all larger
// jobs.
type SizeClass struct {
	Name string
	Most int
}

// SizeClasses returns the size classes where nobody names others. They are the bins
// in which PACMan's authors divide jobs of Facebook and Microsoft
// (Ananthanarayanan et al., PACMan: Coordinated Memory Caching for Parallel Jobs,
// NSDI 2012).
func SizeClasses() []SizeClass {
	return []SizeClass{{"0-10 maps", 10}, {"11-50 maps", 50}, {"51-150 maps", 150}, {"151-500 maps", 500}, {"501 maps or more", math.MaxInt}}
}

// Classify sets the classes of jobs by queue, pool and size. A way of dividing
// jobs that puts all of them into one class makes no class. The size classes are
// in ascending order, and the last one has all larger jobs. Figures from a summary
// keep the classes that they have, since they have no list of jobs.
func (f *Figures) Classify(sizes []SizeClass) {
	if f.Jobs > 0 && len(f.JobList) == 0 {
		return
	}
	f.AllJobs = classOf("", "", f.JobList)
	f.Classes = nil
	for _, way := range []struct {
		by     string
		nameOf func(*Job) string
	}{
		{ByQueue, func(j *Job) string { return j.queue }},
		{ByPool, func(j *Job) string { return j.pool }},
		{BySize, func(j *Job) string {
			return sizes[slices.IndexFunc(sizes, func(c SizeClass) bool { return j.Maps <= c.Most })].Name
		}},
	} {
		byName := map[string][]*Job{}
		var names []string
		for _, j := range f.JobList {
			name := way.nameOf(j)
			if byName[name] == nil {
				names = append(names, name)
			}
			byName[name] = append(byName[name], j)
		}
		if len(names) < 2 {
			continue
		}
		slices.Sort(names)
		if way.by == BySize {
			slices.SortFunc(names, func(a, b string) int { return cmp.Compare(byName[a][0].Maps, byName[b][0].Maps) })
		}
		for _, name := range names {
			f.Classes = append(f.Classes, classOf(way.by, name, byName[name]))
		}
	}
}

func classOf(by, name string, jobs []*Job) JobClass {
	c := JobClass{By: by, Name: name, Jobs: len(jobs), Fairness: -1, Deadlines: deadlinesOf(jobs)}
	var completion, waiting, slowdown []float64
	for _, j := range jobs {
		if j.Outcome != traces.Succeeded || j.CompletionMs < 0 {
			continue
		}
		c.Succeeded++
		completion = append(completion, j.CompletionMs)
		if waitMs, ok := j.WaitMs(); ok {
			waiting = append(waiting, waitMs)
			slowdown = append(slowdown, boundedSlowdown(waitMs, j.CompletionMs-waitMs))
		}
	}
	c.CompletionMs, c.WaitingMs, c.Slowdown = distributionOf(completion), distributionOf(waiting), distributionOf(slowdown)
	if len(slowdown) > 0 {
		c.Fairness = jain(slowdown)
	}
	return c
}

func boundedSlowdown(waitMs, runMs float64) float64 {
	return max(1, (waitMs+runMs)/max(runMs, shortRunMs))
}

// jain returns Jain's fairness index of values above 0.
func jain(xs []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(xs)) * squares)
}

// distributionOf sorts xs and returns their distribution.
func distributionOf(xs []float64) Distribution {
	n := len(xs)
	if n == 0 {
		return Distribution{}
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	slices.Sort(xs)
	at := func(percent int) float64 { return xs[rankOf(percent, n)-1] }
	return Distribution{Count: n, Mean: sum / float64(n), P50: at(50), P90: at(90), P95: at(95), P99: at(99), Max: xs[n-1], Spread: spreadOf(n, once(xs))}
}

// WaitMs returns the time in ms from the job's submission until its first task
// starts. It is not known if the trace has no start of a task of this job.
func (j *Job) WaitMs() (waitMs float64, ok bool) {
	if !j.ran {
		return math.NaN(), false
	}
	return ms(max(0, j.firstStart-j.submitted)), true
}

// Slowdown returns the job's bounded slowdown, as JobClass.Slowdown has it. It is not
// known of a job that has not ended, or whose wait is not known.
func (j *Job) Slowdown() (slowdown float64, ok bool) {
	waitMs, ok := j.WaitMs()
	if !ok || j.CompletionMs < 0 {
		return math.NaN(), false
	}
	return boundedSlowdown(waitMs, j.CompletionMs-waitMs), true
}

// JobProperty is a property of jobs whose distribution can be drawn.
type JobProperty struct {
	Name, Unit string
	// of returns the property of a job that succeeded, and spread its distribution over
	// a class of jobs. per is how many of the job's units are one of Unit.
	of     func(*Job) (float64, bool)
	spread func(*JobClass) *Distribution
	per    float64
	madeUp string // as in Metric
	always bool   // of all jobs, and not only of those that succeeded
}

// JobProperties returns the properties of jobs whose distributions can be drawn.
func JobProperties() []JobProperty {
	return []JobProperty{
		{"completion time of jobs", "s", func(j *Job) (float64, bool) { return j.CompletionMs, j.CompletionMs >= 0 }, completion, 1000, "", false},
		{"wait of jobs for their first task", "s", (*Job).WaitMs, waiting, 1000, "schedule", false},
		{"bounded slowdown of jobs", "x", (*Job).Slowdown, slowdown, 1, "schedule", false},
	}
}

// SizeProperties returns what says how large jobs are, for a list of jobs, of which none
// has run.
func SizeProperties() []JobProperty {
	size := func(of func(*Job) float64) func(*Job) (float64, bool) {
		return func(j *Job) (float64, bool) { x := of(j); return x, x > 0 }
	}
	none := func(*JobClass) *Distribution { return &Distribution{} }
	return []JobProperty{
		{"maps of jobs", "maps", size(func(j *Job) float64 { return float64(j.Maps) }), none, 1, "", true},
		{"reduces of jobs that have any", "reduces", size(func(j *Job) float64 { return float64(j.Reduces) }), none, 1, "", true},
		{"input of jobs", "MiB", size(func(j *Job) float64 { return float64(j.Bytes.Input) }), none, 1 << 20, "", true},
		{"shuffled bytes of jobs that have any", "MiB", size(func(j *Job) float64 { return float64(j.Bytes.Shuffle) }), none, 1 << 20, "", true},
	}
}

// Values returns the property's values of the jobs that have it, ascending. There are
// none if they would come from what the import of a trace made up, and for figures from
// a summary, which has no list of jobs.
func (p JobProperty) Values(f *Figures) (list []float64) {
	if p.rests(f) {
		return nil
	}
	for _, j := range f.JobList {
		if v, ok := p.of(j); ok && (p.always || j.Outcome == traces.Succeeded) {
			list = append(list, v/p.per)
		}
	}
	slices.Sort(list)
	return list
}

// rests reports whether the property would come from what an import made up.
func (p JobProperty) rests(f *Figures) bool {
	return (Metric{madeUp: p.madeUp}).restsOnMadeUp([]*Figures{f})
}

// Spread returns the property's distribution over all jobs of a run that succeeded, in
// the property's unit. Its count is 0 if it is not known.
func (p JobProperty) Spread(f *Figures) Distribution {
	d := *p.spread(&f.AllJobs)
	if p.rests(f) {
		return Distribution{}
	}
	for _, v := range []*float64{&d.Mean, &d.P50, &d.P90, &d.P95, &d.P99, &d.Max} {
		*v /= p.per
	}
	return d
}

// ranFrom notes that an attempt of the job started.
func (j *Job) ranFrom(t traces.Time) {
	if !j.ran || t < j.firstStart {
		j.ran, j.firstStart = true, t
	}
}
