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

// Metric is a figure of a trial, or of the trials of several workloads in one
// repeat: a time or a share.
type Metric struct {
	Name string
	Unit string // "s", or "%" for a share
	Text string // what it is, for help texts
	// seconds returns NaN if the trial does not have the metric.
	seconds func(figures) float64
	// share is nil for a time. It returns a share of nothing if the trial does
	// not have the metric.
	share func(figures) stats.Share
}

// of returns the metric as a number, NaN if the trial does not have it.
func (m Metric) of(f figures) float64 {
	if m.share != nil {
		return m.share(f).Percent()
	}
	return m.seconds(f)
}

// difference returns by how much bs differ from as: shares in points, times in
// percent.
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

// Metrics returns all metrics, the most used first.
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

// figures are sums over jobs and tasks, so that several trials can be added.
type figures struct {
	makespanMs, completionMs, jobs float64
	// placed counts the maps whose nearness to their block is known.
	placed, cacheLocal, nodeLocal  int64
	maps, mapMs, reduces, reduceMs float64
}

// figuresOf returns a trial's figures: the times of jobs from its result, the
// rest from its trace.
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

// ratio returns x/y, NaN for 0/0.
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
