package measure

import (
	"cmp"
	"math"
	"slices"
	"strings"

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

// Deadlines hold the ends of a class's jobs against their deadlines. Jobs
// without a deadline, and jobs that have not ended, are left out.
type Deadlines struct {
	Jobs   int `json:"jobs"`
	Missed int `json:"missed"` // those that ended after their deadline, failed or were killed
	// LatenessMs is how long after its deadline a job ended, 0 for one that ended
	// before. DistancePct is the time from a job's deadline to its end, in percent
	// of the time from its submission to its deadline. It is negative for a job
	// that ended before its deadline. Only jobs that succeeded count in both.
	LatenessMs  Distribution `json:"latenessMs"`
	DistancePct Distribution `json:"distancePct"`
}

// due returns the deadlines of the class's jobs, empty ones if it has none.
func (c *JobClass) due() *Deadlines {
	if c.Deadlines == nil {
		return &Deadlines{}
	}
	return c.Deadlines
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
	spark := f.Applications() > 0
	for _, way := range []struct {
		by     string
		nameOf func(*Job) string
	}{
		{ByQueue, func(j *Job) string {
			if spark { // job histories name queues by their paths
				return strings.TrimPrefix(j.Queue, "root.")
			}
			return j.Queue
		}},
		{ByPool, func(j *Job) string { return j.pool }},
		{BySize, func(j *Job) string {
			if j.Spark != nil {
				return "applications of Spark"
			}
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

// classOf computes the figures of a class of jobs.
func classOf(by, name string, jobs []*Job) JobClass {
	c := JobClass{By: by, Name: name, Jobs: len(jobs), Fairness: -1}
	for _, j := range jobs {
		if j.succeeded() {
			c.Succeeded++
		}
		if late, ok := j.lateMs(); ok {
			if c.Deadlines == nil {
				c.Deadlines = &Deadlines{}
			}
			c.Deadlines.Jobs++
			if !j.succeeded() || late > 0 {
				c.Deadlines.Missed++
			}
		}
	}
	for _, p := range properties {
		var values []float64
		for _, j := range jobs {
			if x, ok := p.of(j); ok && j.succeeded() {
				values = append(values, x)
			}
		}
		*p.in(&c) = distributionOf(values)
		if p.Name == slowdown.Name && len(values) > 0 {
			c.Fairness = jain(values)
		}
	}
	return c
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
	return Distribution{Count: n, Mean: sum / float64(n), P50: at(50), P90: at(90), P95: at(95), P99: at(99), Max: xs[n-1]}
}

func (j *Job) succeeded() bool { return j.Outcome == traces.Succeeded && j.CompletionMs >= 0 }

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
	runMs := j.CompletionMs - waitMs
	return max(1, (waitMs+runMs)/max(runMs, shortRunMs)), true
}

// lateMs returns how long after its deadline the job ended, in ms, below 0 for one that
// ended before.
func (j *Job) lateMs() (float64, bool) {
	return j.CompletionMs - float64(j.DeadlineMs), j.DeadlineMs > 0 && j.CompletionMs >= 0
}

// ranFrom notes that an attempt of the job started.
func (j *Job) ranFrom(t traces.Time) {
	if !j.ran || t < j.firstStart {
		j.ran, j.firstStart = true, t
	}
}
