package measure

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// Property is a quantity of single jobs, such as how long they waited. Its distribution
// over jobs gives metrics: the mean has the property's name, such as waiting, and other
// parts have theirs behind a point, such as waiting.p95.
type Property struct {
	Name, Unit string
	Title      string // of a picture of the distribution
	text       string // what it is
	mean       string // what the metric of the mean is
	// of returns the property of a job, and in its distribution over a class of jobs that
	// succeeded; nil if a job need not have run to have it. per is how many of their units
	// are one of Unit.
	of     func(*Job) (float64, bool)
	in     func(*JobClass) *Distribution
	per    float64
	madeUp string // as in Metric
	signed bool   // as in Metric
}

// The properties of jobs that have run.
var (
	completion = &Property{
		Name: "completion", Unit: "s", Title: "completion time of jobs", text: "time from submission to end", per: 1000,
		of: func(j *Job) (float64, bool) { return j.CompletionMs, j.CompletionMs >= 0 },
		in: func(c *JobClass) *Distribution { return &c.CompletionMs },
	}
	waiting = &Property{
		Name: "waiting", Unit: "s", Title: "wait of jobs for their first task", text: "time from submission until the first task starts",
		per: 1000, madeUp: "schedule",
		mean: "mean time from a job's submission until its first task starts", of: (*Job).WaitMs,
		in: func(c *JobClass) *Distribution { return &c.WaitingMs },
	}
	slowdown = &Property{
		Name: "slowdown", Unit: "x", Title: "bounded slowdown of jobs", text: "bounded slowdown", per: 1, madeUp: "schedule",
		mean: "mean bounded slowdown: completion time by the time without the wait, which counts as 10 s or more",
		of:   (*Job).Slowdown, in: func(c *JobClass) *Distribution { return &c.Slowdown },
	}
	lateness = &Property{
		Name: "lateness", Unit: "s", text: "time from the deadline to the end, 0 if it was met", per: 1000,
		mean: "mean time from the deadline to the end of the jobs with a deadline that succeeded; 0 for one that met it",
		of: func(j *Job) (float64, bool) {
			late, ok := j.lateMs()
			return max(0, late), ok
		},
		in: func(c *JobClass) *Distribution { return &c.due().LatenessMs },
	}
	distance = &Property{
		Name: "distance", Unit: "%", text: "time from the deadline to the end, in percent of the time that they had", per: 1, signed: true,
		mean: "mean time from a job's deadline to its end, in percent of the time that it had; negative if it met the deadline",
		of: func(j *Job) (float64, bool) {
			late, ok := j.lateMs()
			return 100 * late / float64(j.DeadlineMs), ok
		},
		in: func(c *JobClass) *Distribution { return &c.due().DistancePct },
	}
	properties = []*Property{completion, waiting, slowdown, lateness, distance}
)

// JobProperties returns the properties of jobs whose distributions can be drawn.
func JobProperties() []*Property { return []*Property{completion, waiting, slowdown} }

// SizeProperties returns what says how large jobs are, for a list of jobs, of which none
// has run.
func SizeProperties() []*Property {
	size := func(title, unit string, per float64, of func(*Job) float64) *Property {
		return &Property{Title: title, Unit: unit, per: per, of: func(j *Job) (float64, bool) { return of(j), of(j) > 0 }}
	}
	return []*Property{
		size("maps of jobs", "maps", 1, func(j *Job) float64 { return float64(j.Maps) }),
		size("reduces of jobs that have any", "reduces", 1, func(j *Job) float64 { return float64(j.Reduces) }),
		size("input of jobs", "MiB", 1<<20, func(j *Job) float64 { return float64(j.Bytes.Input) }),
		size("shuffled bytes of jobs that have any", "MiB", 1<<20, func(j *Job) float64 { return float64(j.Bytes.Shuffle) }),
	}
}

// Of returns the property of a job that succeeded, in the property's unit. It reports whether
// it is known.
func (p *Property) Of(j *Job) (float64, bool) {
	v, ok := p.of(j)
	return v / p.per, ok && j.succeeded()
}

// Values returns the property's values of the jobs that have it, ascending. There are
// none if they would come from what the import of a trace made up, and for figures from
// a summary, which has no list of jobs.
func (p *Property) Values(f *Figures) (list []float64) {
	if restsOnMadeUp(p.madeUp, f) {
		return nil
	}
	for _, j := range f.JobList {
		if v, ok := p.of(j); ok && (p.in == nil || j.succeeded()) {
			list = append(list, v/p.per)
		}
	}
	slices.Sort(list)
	return list
}

// Spread returns the property's distribution over all jobs of a run that succeeded, in
// the property's unit. Its count is 0 if it is not known.
func (p *Property) Spread(f *Figures) Distribution {
	if p.in == nil || restsOnMadeUp(p.madeUp, f) {
		return Distribution{}
	}
	d := *p.in(&f.AllJobs)
	for _, v := range []*float64{&d.Mean, &d.P50, &d.P90, &d.P95, &d.P99, &d.Max} {
		*v /= p.per
	}
	return d
}

// formerName is a percentile or largest value as it was written formerly, such as waitingP95.
var formerName = regexp.MustCompile(`^([a-z]+)(P\d\d|Max)$`)

// Spelt returns the name of a metric as [Metrics] has it: waiting.p95 for waitingP95, and
// waiting for waiting.mean.
func Spelt(name string) string {
	if m := formerName.FindStringSubmatch(name); m != nil {
		return m[1] + "." + strings.ToLower(m[2])
	}
	return strings.TrimSuffix(strings.Replace(name, "completion.mean", "jobCompletion", 1), ".mean")
}

// metrics returns the metrics of the property's distribution, that of the mean first.
func (p *Property) metrics() []Metric {
	list := []Metric{{Name: p.Name, Text: p.mean, ofJobs: func(classes []*JobClass) float64 {
		sum, n := 0.0, 0
		for _, c := range classes {
			d := p.in(c)
			sum, n = sum+d.Mean*float64(d.Count), n+d.Count
		}
		return sum / p.per / float64(n)
	}}}
	for _, part := range []struct {
		name, text string
		beyond     float64
		of         func(*Distribution) float64
	}{
		{"p50", "median", 0.5, func(d *Distribution) float64 { return d.P50 }},
		{"p90", "90th percentile", 0.1, func(d *Distribution) float64 { return d.P90 }},
		{"p95", "95th percentile", 0.05, func(d *Distribution) float64 { return d.P95 }},
		{"p99", "99th percentile", 0.01, func(d *Distribution) float64 { return d.P99 }},
		{"max", "largest", 0, func(d *Distribution) float64 { return d.Max }},
	} {
		list = append(list, Metric{
			Name: p.Name + "." + part.name, beyond: part.beyond, Text: part.text + " of the jobs' " + p.text,
			ofJobs: func(classes []*JobClass) float64 {
				value := math.NaN()
				for _, c := range classes {
					if x := part.of(p.in(c)) / p.per; p.in(c).Count > 0 && !(x <= value) {
						value = x
					}
				}
				if len(classes) > 1 && part.name != "max" { // percentiles of several classes together are not known
					return math.NaN()
				}
				return value
			},
		})
	}
	for i := range list {
		m := &list[i]
		m.Unit, m.Better, m.Signed, m.Part, m.madeUp, m.property = p.Unit, Lower, p.signed, i > 0, p.madeUp, p
	}
	return list
}
