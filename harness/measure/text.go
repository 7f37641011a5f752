package measure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/harness/internal/units"
	"heddle/traces/printable"
)

// maxJobsShown is the largest number of rows in the table of jobs that
// WriteText prints.
const maxJobsShown = 40

// maxIdleShown is the largest number of nodes without attempts that the table of
// nodes lists. It counts them if there are more.
const maxIdleShown = 4

// WriteText prints the figures as text for people.
func (i *Figures) WriteText(out io.Writer) error {
	b := &strings.Builder{}
	model := ""
	if i.Model != "" {
		model = ", model " + i.Model
	}
	printable.Fprintf(b, "%s trace%s: %d events over %s\n", i.Origin, model, i.Events, duration(i.DurationMs))
	if len(i.Synthetic) > 0 {
		printable.Fprintf(b, "made up, not recorded: %s\n", strings.Join(i.Synthetic, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(i.Mended)) {
		printable.Fprintf(b, "mended %d times: %s\n", i.Mended[kind], kind)
	}
	if l := i.List; l != nil {
		printable.Fprintf(b, "a list of jobs, of which replays make the tasks: a map for each %s of input, a reduce for each %s of shuffle and %d at most,\n"+
			"  %d ms a task, %s/s mapped, %s/s shuffled, %s/s written, give or take %d %%; blocks in %d copies\n", size(l.BlockBytes), size(l.BytesPerReduce), l.MaxReduces,
			l.StartMs, size(l.MapRate), size(l.ShuffleRate), size(l.OutputRate), l.SpreadPercent, l.Replication)
	}
	i.totals(b)
	if i.List != nil {
		i.listed(b)
	} else {
		i.jobs(b)
	}
	i.phases(b)
	i.nodes(b)
	schedule := i.ScheduleDigest
	if i.List != nil {
		schedule = "none: no task of a list has run"
	}
	printable.Fprintf(b, "\nschedule digest  %s\ntrace digest     %s\n", schedule, i.TraceDigest)
	_, err := io.WriteString(out, b.String())
	return err
}

func (i *Figures) totals(b *strings.Builder) {
	failed := ""
	if i.NotSucceeded > 0 && i.List == nil {
		failed = fmt.Sprintf(" (%d did not succeed)", i.NotSucceeded)
	}
	printable.Fprintf(b, "\n%d jobs%s, %d maps, %d reduces; attempts: %d ok, %d failed, %d killed\n",
		i.Jobs, failed, i.Maps, i.Reduces, i.Attempts.OK, i.Attempts.Failed, i.Attempts.Killed)
	printable.Fprintf(b, "read %s, shuffled %s, wrote %s\n", size(i.Bytes.Input), size(i.Bytes.Shuffle), size(i.Bytes.Output))
	w := table(b)
	printable.Fprintf(w, "\nlocality of maps\tcache\tnode\track\toff\tunknown\t\n")
	l, s := i.Locality, i.SplitLocality
	printable.Fprintf(w, "by replicas and caches\t%d\t%d\t%d\t%d\t%d\tmaps that succeeded\n", l.Cache, l.Node, l.Rack, l.Off, l.Unknown)
	printable.Fprintf(w, "by split hosts\t-\t%d\t%d\t%d\t%d\tattempts assigned, as Hadoop counts\n", s.Node, s.Rack, s.Off, s.Unknown)
	w.Flush()
	if d := i.Decisions; d.Made > 0 {
		unused := ""
		if d.Unused > 0 {
			unused = fmt.Sprintf(", %d whose container ran no task", d.Unused)
		}
		printable.Fprintf(b, "\n%d decisions, %d honoured%s, %d bound as predicted; latency median %s, p95 %s\n",
			d.Made, d.Honoured, unused, d.BindPredicted, duration(d.P50Ms), duration(d.P95Ms))
	}
	if i.Plan != nil {
		printable.Fprintf(b, "%v\n", i.Plan)
	}
}

func (i *Figures) jobs(b *strings.Builder) {
	w := table(b)
	printable.Fprintf(w, "\njob\tname\toutcome\tsubmitted\ttook\tmaps\treduces\tfailed\tkilled\tread\tshuffled\twrote\tHadoop's counters\n")
	for n, j := range i.JobList {
		if n == maxJobsShown {
			printable.Fprintf(w, "… %d more\n", len(i.JobList)-n)
			break
		}
		took, agree := "-", "none"
		if j.CompletionMs >= 0 {
			took = duration(j.CompletionMs)
		}
		if j.Compared > 0 {
			agree = fmt.Sprintf("%d of %d equal", j.Compared-len(j.Differences), j.Compared)
		}
		printable.Fprintf(w, "%s\t%s\t%v\t+%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", j.ID, j.Name, j.Outcome, duration(j.SubmitMs), took,
			j.Maps, j.Reduces, j.Attempts.Failed, j.Attempts.Killed, size(j.Bytes.Input), size(j.Bytes.Shuffle), size(j.Bytes.Output), agree)
	}
	w.Flush()
	for _, j := range i.JobList {
		if len(j.Differences) > 0 {
			printable.Fprintf(b, "%s differs from Hadoop's counters: %s\n", j.ID, strings.Join(j.Differences, "; "))
		}
	}
}

// listed prints the jobs of a list, which have no outcomes.
func (i *Figures) listed(b *strings.Builder) {
	w := table(b)
	printable.Fprintf(w, "\njob\tname\tsubmitted\tmaps\treduces\tread\tshuffled\twrote\n")
	for n, j := range i.JobList {
		if n == maxJobsShown {
			printable.Fprintf(w, "… %d more\n", len(i.JobList)-n)
			break
		}
		printable.Fprintf(w, "%s\t%s\t+%s\t%d\t%d\t%s\t%s\t%s\n", j.ID, j.Name, duration(j.SubmitMs),
			j.Maps, j.Reduces, size(j.Bytes.Input), size(j.Bytes.Shuffle), size(j.Bytes.Output))
	}
	w.Flush()
}

func (i *Figures) phases(b *strings.Builder) {
	if len(i.Phases) == 0 {
		return
	}
	w := table(b)
	printable.Fprintf(w, "\nphase\tattempts\tmedian\tp95\n")
	for _, p := range i.Phases {
		printable.Fprintf(w, "%s\t%d\t%s\t%s\n", p.Name, p.Count, duration(p.MedianMs), duration(p.P95Ms))
	}
	w.Flush()
}

func (i *Figures) nodes(b *strings.Builder) {
	if len(i.Nodes) == 0 {
		return
	}
	w := table(b)
	printable.Fprintf(w, "\nnode\track\tattempts\trunning (mean)\tcores busy (mean)\n")
	isBusy := func(v *Node) bool { return v.Attempts > 0 }
	idle := slices.DeleteFunc(slices.Clone(i.Nodes), isBusy)
	if len(idle) <= maxIdleShown {
		idle = nil
	}
	busy := i.Nodes
	if len(idle) > 0 {
		busy = slices.DeleteFunc(slices.Clone(i.Nodes), func(v *Node) bool { return !isBusy(v) })
	}
	for n, v := range busy {
		if n == maxJobsShown {
			printable.Fprintf(w, "… %d more\n", len(busy)-n)
			break
		}
		cores := "-"
		if v.CPUCores >= 0 {
			cores = fmt.Sprintf("%.2f", v.CPUCores)
		}
		printable.Fprintf(w, "%s\t%s\t%d\t%.2f\t%s\n", v.Node, v.Rack, v.Attempts, v.MeanRunning, cores)
	}
	if len(idle) > 0 {
		printable.Fprintf(w, "%d idle nodes\n", len(idle))
	}
	w.Flush()
}

func table(b *strings.Builder) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0) }

// duration formats a duration, given in milliseconds, with about three digits
// and a unit, such as "1.25 s".
func duration(ms float64) string {
	d := time.Duration(ms * 1e6)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond / 10).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func size(n int64) string { return units.Size(n).Rounded() }
