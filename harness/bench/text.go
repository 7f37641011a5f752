package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
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
// two runs give different schedules.
func (l *Load) Median(ctx context.Context, repeat int) (*Measure, error) {
	var runs []*Measure
	for range repeat {
		m, err := l.Run(ctx)
		if err != nil {
			return nil, err
		}
		if len(runs) > 0 && m.ScheduleDigest != runs[0].ScheduleDigest {
			return nil, fmt.Errorf("load %s: schedules %s and %s of the same input and seed: the simulator is at fault", l.Name, runs[0].ScheduleDigest, m.ScheduleDigest)
		}
		runs = append(runs, m)
	}
	slices.SortStableFunc(runs, func(a, b *Measure) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return runs[len(runs)/2], nil
}

// WriteText prints a table of measured figures, with one line for each
// benchmark.
func WriteText(out io.Writer, measures []*Measure) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "load\tnodes\ttasks\tseconds\tCPU seconds\ttasks/s\tevents/s\tallocs/event\tpeak MB\tdigest\t")
	for _, m := range measures {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%.2f\t%.2fM\t%.2fM\t%.4f\t%.0f\t%s\t\n", m.Load, m.Nodes, m.Tasks, m.Seconds, m.CPUSeconds,
			m.TasksPerSecond/1e6, m.EventsPerSecond/1e6, m.AllocsPerEvent, float64(m.PeakBytes)/1e6, m.ScheduleDigest)
	}
	return table.Flush()
}
