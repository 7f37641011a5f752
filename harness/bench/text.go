package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"heddle/harness/doc"
)

// Missing returns an error if the file that a benchmark needs is missing.
func (l *Load) Missing() error {
	if l.Needs == "" {
		return nil
	}
	_, err := os.Stat(l.Needs)
	return err
}

// Median runs a benchmark as many times as the parameter repeat says, and
// returns the figures of the run with the median time. It returns an error if
// two runs give different schedules. Before each run it calls the function told
// with the number of runs that are done.
func (l *Load) Median(ctx context.Context, repeat int, told func(done int)) (*Measure, error) {
	var runs []*Measure
	for i := range repeat {
		told(i)
		m, err := l.Run(ctx)
		if err != nil {
			return nil, err
		}
		if len(runs) > 0 && m.ScheduleDigest != runs[0].ScheduleDigest {
			return nil, fmt.Errorf("load %s: schedules %s and %s of the same input and seed: the simulator is at fault", l.Name,
				runs[0].ScheduleDigest, m.ScheduleDigest)
		}
		runs = append(runs, m)
	}
	slices.SortStableFunc(runs, func(a, b *Measure) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return runs[len(runs)/2], nil
}

// Doc returns a table of measured figures, with one row for each benchmark. It has
// the processor's counters if they could be read, and otherwise says why not.
func Doc(measures []*Measure) doc.Doc {
	t := &doc.Table{Columns: []string{
		"load", "nodes", "tasks", "seconds", "CPU seconds", "tasks/s", "events/s", "allocs/event", "peak MB",
		"digest",
	}}
	for _, m := range measures {
		t.Add(
			m.Load, m.Nodes, m.Tasks, doc.Fixed(m.Seconds, 2, ""), doc.Fixed(m.CPUSeconds, 2, ""),
			doc.Fixed(m.TasksPerSecond/1e6, 2, "M"), doc.Fixed(m.EventsPerSecond/1e6, 2, "M"), doc.Fixed(m.AllocsPerEvent, 4, ""),
			doc.Fixed(float64(m.PeakBytes)/1e6, 0, ""), m.ScheduleDigest)
	}
	return doc.Doc{t}
}
