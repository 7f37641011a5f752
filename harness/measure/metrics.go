package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/nearest"
	"heddle/harness/stats"
	"heddle/traces"
)

// Metric is one property of a trial by which scheduler models are compared. The
// list of metrics is the only one: tables, thresholds, help texts, schemas and
// completion are made from it.
type Metric struct {
	Name string
	// Unit is "s" for a time, "%" for a share, "x" for a multiple, and empty for
	// an index or a count.
	Unit string
	// Text says in a sentence what the metric is, without a full stop.
	Text string
	// Better says whether a better trial has a higher or a lower value; empty if neither is.
	Better Direction
	// Signed metrics in percent may be below 0 and above 100.
	Signed bool
	// Part says that the metric is a percentile or the largest of what another metric is the
	// mean of, so that lists for readers name it with that one.
	Part bool

	// madeUp names the part of a trace without which there is no value: if that was
	// not recorded but made up, by Figures.Synthetic, the value is not known.
	madeUp string

	has      func(*Job) bool // of which jobs alone it is; nil: of all
	by, of   string          // of a queue, a user or a job, and its name
	called   func(*Job) string
	property *Property
	beyond   float64 // of a percentile, the share of jobs beyond it
	value    func([]*Figures) float64
	part     func([]*Figures) stats.Share
	ofJobs   func([]*JobClass) float64
}

// Direction says which values of a metric are better.
type Direction string

// Directions of a metric.
const (
	Lower  Direction = "lower"
	Higher Direction = "higher"
)

// MapCPU is the metric by which a comparison sees that processors were slower for one
// model than for another.
const MapCPU = "mapCPU"

// Metrics returns all metrics, the most often used ones first.
func Metrics() []Metric {
	return slices.Concat(firstMetrics, completion.metrics()[1:], waiting.metrics(), slowdown.metrics(),
		missedMetrics, lateness.metrics(), distance.metrics(), otherMetrics)
}

var (
	// firstMetrics are the usual ones, which a table has if nobody names any.
	firstMetrics = []Metric{
		metric("makespan", "s", Lower, "time from the first submission to the last end of a job; of several workloads the sum", "", makespan),
		metric("jobCompletion", "s", Lower, "mean time from submission to end of the jobs that succeeded", "",
			func(trials []*Figures) float64 { return CompletionOf(trials...).MeanMs() / 1000 },
			completion.metrics()[0].ofJobs),
		metric("cacheLocal", "%", Higher, "share of maps that ran where their block was cached", "replicas",
			localMaps(func(l Locality) int { return l.Cache })),
		metric("nodeLocal", "%", Higher, "share of maps that ran where their block was, cached or on disk", "replicas",
			localMaps(func(l Locality) int { return l.Cache + l.Node })),
		metric("mapDuration", "s", Lower, "mean time of a map's successful attempt", "", phase(WholeMap)),
		metric("reduceDuration", "s", Lower, "mean time of a reduce's successful attempt", "", phase(WholeReduce)),
	}
	missedMetrics = []Metric{
		metric("missed", "%", Lower, "share of the jobs with a deadline that missed it, or did not succeed", "",
			func(trials []*Figures) stats.Share { return missed(allJobs(trials)) },
			func(classes []*JobClass) float64 { return missed(classes).Percent() }),
		metric("missedJobs", "", Lower, "number of jobs that missed their deadline, or had one and did not succeed", "",
			func(classes []*JobClass) float64 { s := missed(classes); return float64(s.Part) + 0*s.Percent() }),
	}
	otherMetrics = []Metric{
		metric("fairness", "", Higher, "Jain's index of the jobs' slowdowns: 1 if all are slowed down alike", "schedule",
			one(func(c *JobClass) float64 { return known(c.Fairness) })),
		metric("failedJobs", "", Lower, "number of jobs that did not succeed", "",
			func(trials []*Figures) float64 { return float64(CompletionOf(trials...).Others) },
			one(func(c *JobClass) float64 { return float64(c.Jobs - c.Succeeded) })),
		metric("killedAttempts", "", Lower,
			"number of task attempts that were killed, such as reduces for maps that waited, or the slower of two speculative attempts",
			"", killedAttempts),
		metric("killedTime", "s", Lower, "time that killed attempts ran, all together", "",
			total(func(f *Figures) float64 { return f.KilledMs })),
		metric("mapStarvation", "s", Lower,
			"time in which reduces held all slots while maps of their own jobs waited, so that these jobs stood still", "",
			total(func(f *Figures) float64 { return f.StarvedMs })),
		metric("slotUse", "%", "", "share of the workers' container memory that task attempts used during the makespan", "nodes",
			weighted(func(f *Figures) (float64, float64) { return known(f.UtilisationPct), f.MakespanMs })),
		metric("coreUse", "%", Higher, "share of the sampled workers' cores that were busy", "",
			weighted(func(f *Figures) (float64, float64) { return known(f.CoreUsePct), f.DurationMs })),
		metric("nodeTasks", "", Higher, "mean number of task attempts on a worker, from the start of the first to the end of the last", "nodes",
			weighted(func(f *Figures) (float64, float64) { return f.nodeTasks, f.MakespanMs })),
		metric("nodeLoad", "", Lower, "mean load average of the sampled workers, from the start of the first task on", "",
			weighted(func(f *Figures) (float64, float64) { return f.nodeLoad, f.DurationMs })),
		metric("nodeRunnable", "", Lower,
			"mean number of tasks of a sampled worker that ran or waited for a core or disk, as its load averages tell", "",
			weighted(func(f *Figures) (float64, float64) { return f.nodeRunnable, f.DurationMs })),
		metric("slowedStarts", "", Lower,
			"starts on nodes that a fault made slow, over those on each of the others, in the second and third minute after it",
			"nodes", slowedStarts),
		metric(MapCPU, "s", Lower, "mean CPU time of a map's successful attempt, by Hadoop's counter", "",
			weighted(func(f *Figures) (float64, float64) { return f.mapCPUMs / f.mapCPUs / 1000, f.mapCPUs })),
		metric("overBound", "x", Lower, "makespan as a multiple of its lower bound, given how long the tasks took", "", boundRatio),
		metric("cacheBytes", "%", Higher, "share of the maps' input bytes that came from the cache of the map's node", "replicas",
			bytesOf(read, func(b ByLevel) int64 { return b.Cache })),
		metric("nodeBytes", "%", Higher, "share of the maps' input bytes that came from the cache or disk of the map's node", "replicas",
			bytesOf(read, func(b ByLevel) int64 { return b.Cache + b.Node })),
		metric("offRackBytes", "%", Lower, "share of the maps' input bytes that came from another rack", "replicas",
			bytesOf(read, func(b ByLevel) int64 { return b.Off })),
		metric("shuffling", "s", Lower,
			"mean time from a reduce's start, or from the job's last map if that ends later, until the reduce has all map output", "",
			weighted(func(f *Figures) (float64, float64) { return f.shufflesMs / f.shuffles / 1000, f.shuffles })),
		metric("nodeFetched", "%", Higher, "share of the map output that reduces took from their own node", "",
			bytesOf(fetched, func(b ByLevel) int64 { return b.Node })),
		metric("offRackFetched", "%", Lower, "share of the map output that reduces fetched from another rack", "",
			bytesOf(fetched, func(b ByLevel) int64 { return b.Off })),
	}
)

// metric returns a metric that has values of these kinds.
func metric(name, unit string, better Direction, text, madeUp string, of ...any) Metric {
	m := Metric{Name: name, Unit: unit, Better: better, Text: text, madeUp: madeUp}
	for _, f := range of {
		switch f := f.(type) {
		case func([]*Figures) float64:
			m.value = f
		case func([]*Figures) stats.Share:
			m.part = f
		case func([]*JobClass) float64:
			m.ofJobs = f
		}
	}
	return m
}

// Find returns the metrics with the given names, in this order. Without names it
// returns the usual metrics, and for the name "all" all of them. A metric of jobs may be that of a
// queue (waiting.p95 of adhoc), a user (missed of user ann) or jobs (failedJobs of job etl-*).
func Find(names []string) ([]Metric, error) {
	if len(names) == 0 {
		return slices.Clone(firstMetrics), nil
	}
	all := Metrics()
	var chosen []Metric
	for _, name := range names {
		if name == "all" {
			chosen = append(chosen, all...)
			continue
		}
		if note, ok := strings.CutPrefix(name, NotePrefix); ok && note != "" {
			chosen = append(chosen, noted(note))
			continue
		}
		name, of, some := strings.Cut(strings.TrimSpace(name), " of ")
		i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == Spelt(name) })
		if i < 0 {
			return nil, fmt.Errorf("unknown metric %q; %s", name, nearest.Hint(name, Names()))
		}
		m := all[i]
		if some {
			var err error
			if m, err = m.within(of); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, m)
	}
	return chosen, nil
}

// NotePrefix begins the name of a metric that is a figure of a scheduler model's own, such as
// notes.rightPct. Trials whose model notes no such figure have no value.
const NotePrefix = "notes."

func noted(note string) Metric {
	return Metric{Name: NotePrefix + note, Text: "what the scheduler model notes as " + note, value: func(trials []*Figures) float64 {
		sum, n := 0.0, 0.0
		for _, f := range trials {
			if x, ok := f.Notes[note]; ok {
				sum, n = sum+x, n+1
			}
		}
		return sum / n
	}}
}

// Names returns the names of all metrics.
func Names() []string {
	var names []string
	for _, m := range Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// Of returns the metric's value for a trial, or for several trials taken
// together, such as those of all workloads of a repeat. It is NaN if there is
// none. Percentiles of several trials together are not known.
func (m Metric) Of(trials ...*Figures) float64 {
	switch {
	case restsOnMadeUp(m.madeUp, trials...):
		return math.NaN()
	case m.part != nil:
		return m.part(trials).Percent()
	case m.value != nil:
		return m.value(trials)
	default:
		return m.ofJobs(allJobs(trials))
	}
}

// OfJobs reports whether the metric is one of jobs, so that classes of jobs have
// values of it.
func (m Metric) OfJobs() bool { return m.ofJobs != nil }

// OfClass returns the value of a metric of jobs for one class of them. It is NaN if
// there is none.
func (m Metric) OfClass(c *JobClass) float64 { return m.ofJobs([]*JobClass{c}) }

// IsShare reports whether the metric is a share of countable things, so that
// Share has its parts. Shares are compared by their difference.
func (m Metric) IsShare() bool { return m.part != nil }

// Share returns the value of a metric that is a share. The share's whole is 0 if
// there is no value.
func (m Metric) Share(trials ...*Figures) stats.Share {
	if restsOnMadeUp(m.madeUp, trials...) {
		return stats.Share{}
	}
	return m.part(trials)
}

// restsOnMadeUp reports whether a value would come from a part of a trace that its import
// made up. What a simulation makes is its result.
func restsOnMadeUp(part string, trials ...*Figures) bool {
	return part != "" && slices.ContainsFunc(trials, func(f *Figures) bool {
		return f.Origin != traces.Simulated && slices.Contains(f.Synthetic, part)
	})
}

// IsFactor reports whether values of the metric are compared by their ratio,
// since they are positive and a change acts as a factor.
func (m Metric) IsFactor() bool { return m.Unit == "s" || m.Unit == "x" }

// allJobs returns the classes of all jobs of the trials.
func allJobs(trials []*Figures) []*JobClass {
	classes := make([]*JobClass, len(trials))
	for i, f := range trials {
		classes[i] = &f.AllJobs
	}
	return classes
}

func missed(classes []*JobClass) (s stats.Share) {
	for _, c := range classes {
		s = s.Plus(stats.Share{Part: int64(c.due().Missed), Of: int64(c.due().Jobs)})
	}
	return s
}

// one returns a function that has a value only for a single class.
func one(of func(*JobClass) float64) func([]*JobClass) float64 {
	return func(classes []*JobClass) float64 {
		if len(classes) != 1 {
			return math.NaN()
		}
		return of(classes[0])
	}
}

func killedAttempts(trials []*Figures) float64 {
	n, ended := 0, 0
	for _, f := range trials {
		n += f.Attempts.Killed
		ended += f.Attempts.OK + f.Attempts.Failed + f.Attempts.Killed
	}
	if ended == 0 {
		return math.NaN()
	}
	return float64(n)
}

// total returns a function for the sum of times, in seconds.
func total(of func(*Figures) float64) func([]*Figures) float64 {
	return func(trials []*Figures) float64 {
		sumMs := 0.0
		for _, f := range trials {
			sumMs += of(f)
		}
		return sumMs/1000 + 0*killedAttempts(trials) // not a number if no attempt ended
	}
}

func makespan(trials []*Figures) float64 {
	sumMs := 0.0
	for _, f := range trials {
		if f.MakespanMs == 0 { // no job has ended
			return math.NaN()
		}
		sumMs += f.MakespanMs
	}
	return sumMs / 1000
}

// weighted returns a function for the mean of a property, weighted by the time
// that each trial took.
func weighted(of func(*Figures) (value, weight float64)) func([]*Figures) float64 {
	return func(trials []*Figures) float64 {
		if len(trials) == 1 { // the value itself, not the quotient, which may differ in its last digit
			value, _ := of(trials[0])
			return value
		}
		sum, weights := 0.0, 0.0
		for _, f := range trials {
			value, weight := of(f)
			sum, weights = sum+value*weight, weights+weight
		}
		return sum / weights
	}
}

// phase returns a function for the mean time of a phase, in seconds.
func phase(name string) func([]*Figures) float64 {
	return func(trials []*Figures) float64 {
		sum, n := 0.0, 0
		for _, f := range trials {
			p := f.Phase(name)
			sum, n = sum+p.MeanMs*float64(p.Count), n+p.Count
		}
		return sum / 1000 / float64(n)
	}
}

func localMaps(of func(Locality) int) func([]*Figures) stats.Share {
	return func(trials []*Figures) (s stats.Share) {
		for _, f := range trials {
			s = s.Plus(stats.Share{Part: int64(of(f.Locality)), Of: int64(f.Locality.Known())})
		}
		return s
	}
}

func read(f *Figures) *ByLevel    { return f.InputByLevel }
func fetched(f *Figures) *ByLevel { return &f.Fetched }

// bytesOf returns a function for a percentage of bytes that tasks read. It is
// no stats.Share: bytes of one block are not read independently of each other, so
// counting them would make an interval far too narrow.
func bytesOf(levels func(*Figures) *ByLevel, part func(ByLevel) int64) func([]*Figures) float64 {
	return func(trials []*Figures) float64 {
		var s stats.Share
		for _, f := range trials {
			if b := levels(f); b != nil {
				s = s.Plus(stats.Share{Part: part(*b), Of: b.Known()})
			}
		}
		return s.Percent()
	}
}

func boundRatio(trials []*Figures) float64 {
	is, bound := 0.0, 0.0
	for _, f := range trials {
		if f.BoundMs <= 0 {
			return math.NaN()
		}
		is, bound = is+f.MakespanMs, bound+f.BoundMs
	}
	return is / bound
}

// known returns x, or NaN for -1, by which figures say that they are not known.
func known(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return x
}
