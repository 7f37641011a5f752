package compare

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/measure"
)

// Ways returns the ways in which Options.By divides jobs.
func Ways() []string { return []string{measure.ByQueue, measure.ByPool, measure.BySize} }

// metricsBy returns the metrics with the given names for tables of classes of jobs;
// by default the usual ones that are about jobs.
func metricsBy(by string, names []string) ([]metric, error) {
	if !slices.Contains(Ways(), by) {
		return nil, fmt.Errorf("compare jobs by %q: want %s", by, strings.Join(Ways(), ", "))
	}
	list, err := metricsOf(names)
	whole := func(m metric) bool { return !m.OfJobs() }
	if i := slices.IndexFunc(list, whole); i >= 0 && len(names) > 0 && !slices.Contains(names, "all") {
		return nil, fmt.Errorf("metric %s is not one of jobs, so it has no value by %s; want one such as "+
			"jobCompletion, waiting.p95 or slowdown", list[i].Name, by)
	}
	return slices.DeleteFunc(list, whole), err
}

// inClasses returns the metrics for each class into which the jobs of a workload
// are divided. There are none if all its jobs are in one class.
func inClasses(metrics []metric, by string, trials []trial) (list []metric) {
	known := map[string]bool{}
	for _, t := range trials {
		for _, c := range t.figures[0].Classes {
			if c.By != by || known[c.Name] {
				continue
			}
			known[c.Name] = true
			for _, m := range metrics {
				list = append(list, metric{Metric: m.Metric, by: by, class: c.Name})
			}
		}
	}
	return list
}

// classOf returns the figures of the metric's class of jobs in a trial of one
// workload: those of no job if the trial has no such class.
func (m metric) classOf(t trial) *measure.JobClass {
	for i := range t.figures[0].Classes {
		if c := &t.figures[0].Classes[i]; c.By == m.by && c.Name == m.class {
			return c
		}
	}
	return &measure.JobClass{Fairness: -1}
}

// failed returns how many of a trial's jobs failed, or of those in the metric's
// class.
func (m metric) failed(t trial) int {
	if m.by == "" {
		return measure.CompletionOf(t.figures...).Others
	}
	c := m.classOf(t)
	return c.Jobs - c.Succeeded
}
