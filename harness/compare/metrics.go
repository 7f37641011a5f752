package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/stats"
)

// Metric is a property of a trial by which scheduler models are compared. It is
// a time or a share. It can also be computed for several workloads of the same
// repeat together.
type Metric struct {
	Name string
	Unit string // unit: "s" for a time, "%" for a share
	Text string // description of the metric for help texts
	// seconds returns the trial's value of a metric that is a time, NaN if the
	// trial has none.
	seconds func(figures) float64
	// share returns the trial's value of a metric that is a share. The share's
	// whole is 0 if the trial has no value. The function share is nil for a
	// metric that is a time.
	share func(figures) stats.Share
}

// The method of returns the metric's value for the given figures of a trial,
// NaN if there is none.
func (m Metric) of(f figures) float64 {
	if m.share != nil {
		return m.share(f).Percent()
	}
	return m.seconds(f)
}

// difference returns by how much the metric's value in the trials bs differs
// from that in the trials as: in percentage points for a share, in percent for
// a time.
func (m Metric) difference(as, bs []trial, paired bool) stats.Comparison {
	if m.share != nil {
		shares := func(trials []trial) []stats.Share {
			return mapped(trials, func(t trial) stats.Share { return m.share(t.figures) })
		}
		if paired {
			return stats.PairedShareDifference(shares(as), shares(bs))
		}
		return stats.ShareDifference(shares(as), shares(bs))
	}
	ratio := stats.Ratio
	if paired {
		ratio = stats.PairedRatio
	}
	c := ratio(valuesOf(m, as), valuesOf(m, bs))
	c.Value, c.Lo, c.Hi = 100*(c.Value-1), 100*(c.Lo-1), 100*(c.Hi-1)
	return c
}

// Metrics returns all metrics by which models can be compared, the most often
// used ones first.
func Metrics() []Metric {
	seconds := func(name, text string, of func(figures) float64) Metric { return Metric{name, "s", text, of, nil} }
	share := func(name, text string, of func(figures) stats.Share) Metric { return Metric{name, "%", text, nil, of} }
	return []Metric{
		seconds("makespan", "from the first submission to the last end of a job; of several workloads the sum", func(f figures) float64 { return ratio(f.makespanMs, 1000) }),
		seconds("jobCompletion", "mean time from a job's submission to its end", func(f figures) float64 { return ratio(f.completionMs/1000, f.jobs) }),
		share("cacheLocal", "share of maps that ran where their block was cached", func(f figures) stats.Share { return stats.Share{Part: f.cacheLocal, Of: f.placed} }),
		share("nodeLocal", "share of maps that ran where their block was, cached or on disk", func(f figures) stats.Share { return stats.Share{Part: f.nodeLocal, Of: f.placed} }),
		seconds("mapDuration", "mean time of a map's successful attempt", func(f figures) float64 { return ratio(f.mapMs/1000, f.maps) }),
		seconds("reduceDuration", "mean time of a reduce's successful attempt", func(f figures) float64 { return ratio(f.reduceMs/1000, f.reduces) }),
	}
}

// figures contains sums over the jobs and tasks of a trial. They are sums so
// that several trials can be added up.
type figures struct {
	makespanMs, completionMs, jobs float64
	// placed is the number of maps for which it is known how near the nearest
	// copy of their block was. cacheLocal counts those that ran on a node with
	// their block in its cache, nodeLocal those with their block in its cache
	// or on its disk.
	placed, cacheLocal, nodeLocal  int64
	maps, mapMs, reduces, reduceMs float64
}

// figuresOf returns the figures of a trial. The times of jobs come from the
// trial's result, all others from its trace.
func figuresOf(r *experiment.Result, m *measure.Figures) figures {
	l, maps, reduces := m.Locality, m.Phase(measure.WholeMap), m.Phase(measure.WholeReduce)
	f := figures{
		makespanMs: float64(r.MakespanMs), jobs: float64(m.Jobs), completionMs: m.MeanCompletionMs * float64(m.Jobs),
		placed: int64(l.Known()), cacheLocal: int64(l.Cache), nodeLocal: int64(l.Cache + l.Node),
		maps: float64(maps.Count), mapMs: maps.MeanMs * float64(maps.Count),
		reduces: float64(reduces.Count), reduceMs: reduces.MeanMs * float64(reduces.Count),
	}
	if len(r.Jobs) > 0 {
		f.jobs, f.completionMs = float64(len(r.Jobs)), 0
	}
	for _, j := range r.Jobs {
		f.completionMs += float64(j.CompletionMs)
	}
	return f
}

func (f *figures) add(g figures) {
	f.makespanMs += g.makespanMs
	f.completionMs += g.completionMs
	f.jobs += g.jobs
	f.placed += g.placed
	f.cacheLocal += g.cacheLocal
	f.nodeLocal += g.nodeLocal
	f.maps += g.maps
	f.mapMs += g.mapMs
	f.reduces += g.reduces
	f.reduceMs += g.reduceMs
}

// ratio returns x/y, such as the mean time of n jobs. It is NaN if both are 0, so
// that a trial without jobs has no value.
func ratio(x, y float64) float64 {
	if y == 0 {
		return math.NaN()
	}
	return x / y
}

func metricsOf(names []string) ([]Metric, error) {
	all := Metrics()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Metric
	for _, name := range names {
		i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown metric %q; the metrics are %s", name, strings.Join(mapped(all, func(m Metric) string { return m.Name }), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
