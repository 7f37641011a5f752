package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/internal/units"
	"heddle/traces"
	"heddle/traces/printable"
)

// maxRows is the largest number of rows in the tables of jobs and of nodes.
const maxRows = 40

// maxIdleShown is the largest number of nodes without attempts that the table of
// nodes lists. It counts them if there are more.
const maxIdleShown = 4

// Doc returns the figures for people to read.
func (i *Figures) Doc() doc.Doc {
	model := ""
	if i.Model != "" {
		model = ", model " + i.Model
	}
	d := doc.Doc{
		doc.Text(fmt.Sprintf("%s trace%s: %d events over %s", i.Origin, model, i.Events, doc.DurationText(i.DurationMs))),
		doc.Notes(i.Doubts()),
	}
	d = append(d, i.totals()...)
	d = append(d, i.jobs()...)
	d = append(d, i.rest()...)
	digests := doc.NewTable("digests", "", "")
	schedule := i.ScheduleDigest
	if i.List != nil {
		schedule = "none: no task of a list has run"
	} else if n := i.Applications(); n > 0 && n == i.Jobs {
		schedule = "none: no task of MapReduce has run"
	}
	digests.Add("schedule digest", schedule)
	if i.TraceDigest != "" { // it is known of whole traces only
		digests.Add("trace digest", i.TraceDigest)
	}
	return append(d, digests)
}

// About returns the figures without those of single jobs, and without what Doubts says,
// for a page that has these in other places.
func (i *Figures) About() doc.Doc {
	if i.List != nil { // of which nothing has run
		return i.totals()[:1]
	}
	return append(i.totals(), i.rest()...)
}

// Doubts says what of a trace was made up, mended, or never ran. A reader who knows that
// all these parts were made up is not told so again.
func (i *Figures) Doubts(known ...string) (notes []string) {
	if len(known) > 0 && i.List != nil { // it has no schedule that could be taken for a recorded one
		known = append(known, "schedule")
	}
	if slices.ContainsFunc(i.Synthetic, func(part string) bool { return !slices.Contains(known, part) }) {
		notes = append(notes, "made up, not recorded: "+strings.Join(i.Synthetic, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(i.Mended)) {
		notes = append(notes, fmt.Sprintf("mended %s: %s", printable.Count(i.Mended[kind], "time"), kind))
	}
	if l := i.List; l != nil {
		notes = append(notes, fmt.Sprintf("a list of jobs, of which replays make the tasks: a map for each %s of input, a reduce for each %s "+
			"of shuffle and %d at most, "+
			"%d ms a task, %s/s mapped, %s/s shuffled, %s/s written, give or take %d %%; blocks in %d copies", size(l.BlockBytes),
			size(l.BytesPerReduce), l.MaxReduces,
			l.StartMs, size(l.MapRate), size(l.ShuffleRate), size(l.OutputRate), l.SpreadPercent, l.Replication))
	}
	return notes
}

// Headline says in a sentence what ran, and how long its jobs took.
func (i *Figures) Headline() string {
	if text := StarvedText(i); text != "" {
		unstarved := *i
		unstarved.StarvedMs = 0
		return fmt.Sprintf("%s. %s", strings.ToUpper(text[:1])+text[1:], unstarved.Headline())
	}
	what := i.ran()
	if i.List != nil {
		return fmt.Sprintf("A list of %s: none of it has run; heddle replay simulates it.", what)
	}
	if i.AllJobs.Succeeded == 0 {
		return fmt.Sprintf("%s: no job succeeded.", what)
	}
	c := i.AllJobs.CompletionMs
	text := fmt.Sprintf("%s over %s: a job took %s in the mean, %s in the median and %s at the 95th percentile", what,
		doc.DurationText(i.MakespanMs), doc.DurationText(c.Mean), doc.DurationText(c.P50), doc.DurationText(c.P95))
	if i.NotSucceeded > 0 {
		text += fmt.Sprintf("; %d of them did not succeed", i.NotSucceeded)
	}
	return text + fmt.Sprintf(". The trace is %s.", i.Origin)
}

// rest returns tables of phases and nodes, and of what only some traces have.
func (i *Figures) rest() doc.Doc {
	phases := doc.NewTable("phases", "phase", "attempts", "median", "p95")
	for _, p := range i.Phases {
		phases.Add(p.Name, p.Count, doc.Duration(p.MedianMs), doc.Duration(p.P95Ms))
	}
	d := append(doc.Doc{i.completions(), phases}, i.nodes()...)
	if len(i.Slowed) > 0 {
		d = append(d, slowedTable(i.Slowed)...)
	}
	if i.Load != nil {
		d = append(d, i.Load.Doc()...)
	}
	return append(d, i.expected()...)
}

// completions returns a table of the times of all jobs, and of each class of jobs.
func (i *Figures) completions() *doc.Table {
	t := doc.NewTable("completion", "completion of", "jobs", "mean", "median", "p95", "median wait", "p95 slowdown")
	if i.AllJobs.Succeeded < 2 {
		return t
	}
	for _, c := range append([]JobClass{i.AllJobs}, i.Classes...) {
		if x := c.CompletionMs; x.Count > 0 {
			ran := c.WaitingMs.Count > 0
			t.Add(cmp.Or(c.Name, "all jobs"), x.Count, doc.Duration(x.Mean), doc.Duration(x.P50), doc.Duration(x.P95),
				doc.Known(ran, doc.Duration(c.WaitingMs.P50)), doc.Known(ran, doc.Number(c.Slowdown.P95, "x")))
		}
	}
	return t
}

func (i *Figures) totals() doc.Doc {
	failed := ""
	if i.NotSucceeded > 0 && i.List == nil {
		failed = fmt.Sprintf(" (%d did not succeed)", i.NotSucceeded)
	}
	where := doc.NewTable("locality", "locality of maps", "cache", "node", "rack", "off", "unknown", "")
	l, s := i.Locality, i.SplitLocality
	where.Add("by replicas and caches", l.Cache, l.Node, l.Rack, l.Off,
		l.Unknown, "maps that succeeded")
	where.Add("by split hosts", "-", s.Node, s.Rack, s.Off, s.Unknown,
		"attempts assigned, as Hadoop counts")
	spark := i.Applications()
	what := fmt.Sprintf(
		"%s%s, %s, %s",
		printable.Count(i.Jobs, "job"),
		failed,
		printable.Count(i.Maps, "map"),
		printable.Count(i.Reduces, "reduce"),
	)
	if spark > 0 {
		what = i.ran() + failed
	}
	result := doc.Doc{doc.Text(fmt.Sprintf("%s; attempts: %d ok, %d failed, %d killed; read %s, shuffled %s, wrote %s", what, i.Attempts.OK,
		i.Attempts.Failed, i.Attempts.Killed, size(i.Bytes.Input), size(i.Bytes.Shuffle), size(i.Bytes.Output)))}
	if spark < i.Jobs || spark == 0 {
		result = append(result, where)
	}
	if spark > 0 {
		result = append(result, i.sparkDoc()...)
	}
	if d := i.AllJobs.Deadlines; d != nil {
		result = append(result, doc.Text(fmt.Sprintf("%d of %d jobs missed their deadlines; late by %s in the mean, %s at most; ended %.0f %% "+
			"of their time after the deadline in the median, %.0f %% at the 90th percentile",
			d.Missed, d.Jobs, doc.DurationText(d.LatenessMs.Mean), doc.DurationText(d.LatenessMs.Max), d.DistancePct.P50, d.DistancePct.P90)))
	}
	if d := i.Decisions; d.Made > 0 {
		unused := ""
		if d.Unused > 0 {
			unused = fmt.Sprintf(", %d whose container ran no task", d.Unused)
		}
		result = append(result, doc.Text(fmt.Sprintf("%d decisions, %d honoured%s, %d bound as predicted; latency median %s, p95 %s",
			d.Made, d.Honoured, unused, d.BindPredicted, doc.DurationText(d.P50Ms), doc.DurationText(d.P95Ms))))
	}
	if i.Plan != nil {
		result = append(result, doc.Text(fmt.Sprint(i.Plan)))
	}
	return result
}

// jobs returns a table of the jobs. Those of a list have no outcomes.
func (i *Figures) jobs() doc.Doc {
	t := doc.NewTable("jobs", "job", "name", "submitted", "maps", "reduces", "read", "shuffled", "wrote")
	if i.List == nil {
		t.Columns = append(t.Columns, "outcome", "took", "failed", "killed", "Hadoop's counters")
	}
	var notes doc.Notes
	list := slices.DeleteFunc(slices.Clone(i.JobList), func(j *Job) bool { return j.Spark != nil })
	for n, j := range list {
		if len(j.Differences) > 0 {
			notes = append(notes, fmt.Sprintf("%s differs from Hadoop's counters: %s", j.ID, strings.Join(j.Differences, "; ")))
		}
		if n >= maxRows {
			continue
		}
		row := []any{
			j.ID, j.Name, doc.Duration(j.SubmitMs), j.Maps, j.Reduces,
			doc.Bytes(j.Bytes.Input), doc.Bytes(j.Bytes.Shuffle), doc.Bytes(j.Bytes.Output),
		}
		if i.List == nil {
			agree := "none"
			if j.Compared > 0 {
				agree = fmt.Sprintf("%d of %d equal", j.Compared-len(j.Differences), j.Compared)
			}
			row = append(row, j.Outcome, lasting(j.CompletionMs), j.Attempts.Failed, j.Attempts.Killed, agree)
		}
		t.Add(row...)
	}
	return doc.Doc{t, more(len(list)-maxRows, "more jobs"), notes}
}

// Jobs returns a table with a row for each job of several runs, for readers who sort and
// search it. Each run's rows begin with its labels, whose columns have the given names.
// If there are more jobs than most, those are left out that took the shortest time; left
// counts them.
func Jobs(columns []string, labels [][]string, list []*Figures, most int) (t *doc.Table, left int) {
	t = &doc.Table{Name: "jobs", Sorted: true}
	t.Columns = append(append([]string{"job", "name"}, columns...), "submitted", "waited", "took", "slowdown", "outcome", "maps", "reduces",
		"node-local maps", "read", "shuffled", "wrote")
	total := 0
	for _, f := range list {
		total += len(f.JobList)
	}
	for k, f := range list {
		jobs := f.JobList
		if share := most / max(1, len(list)); total > most && len(jobs) > share {
			jobs = slices.Clone(jobs)
			slices.SortStableFunc(jobs, func(a, b *Job) int { return cmp.Compare(b.CompletionMs, a.CompletionMs) })
			left += len(jobs) - share
			jobs = jobs[:share]
			slices.SortStableFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.SubmitMs, b.SubmitMs) })
		}
		for _, j := range jobs {
			t.Add(j.row(labels[k], f.List != nil)...)
		}
	}
	return t, left
}

// row returns the row of a job in the table of Jobs. A job of a mere list has not run.
func (j *Job) row(labels []string, listed bool) []any {
	row := []any{j.ID, j.Name}
	for _, text := range labels {
		row = append(row, text)
	}
	waitMs, waited := j.WaitMs()
	slowdown, ran := j.Slowdown()
	outcome := doc.CellOf(j.Outcome)
	if j.Outcome != traces.Succeeded {
		outcome = outcome.In(doc.Bad)
	}
	l := j.Locality
	return append(row, doc.Duration(j.SubmitMs), doc.Known(waited, doc.Duration(waitMs)),
		doc.Known(j.CompletionMs >= 0 && !listed, doc.Duration(j.CompletionMs)), doc.Known(ran, doc.Fixed(slowdown, 2, "x")),
		doc.Known(!listed, outcome), j.Maps, j.Reduces,
		doc.Known(l.Known() > 0, doc.Fixed(100*float64(l.Cache+l.Node)/float64(l.Known()), 0, "%")),
		doc.Bytes(j.Bytes.Input), doc.Bytes(j.Bytes.Shuffle), doc.Bytes(j.Bytes.Output))
}

func (i *Figures) nodes() doc.Doc {
	t := doc.NewTable("nodes", "node", "rack", "attempts", "running (mean)", "cores busy (mean)")
	busy := slices.DeleteFunc(slices.Clone(i.Nodes), func(v *Node) bool { return v.Attempts == 0 })
	idle := len(i.Nodes) - len(busy)
	if idle <= maxIdleShown {
		busy, idle = i.Nodes, 0
	}
	for _, v := range busy[:min(maxRows, len(busy))] {
		t.Add(v.Node, v.Rack, v.Attempts, doc.Fixed(v.MeanRunning, 2, ""), doc.Known(v.CPUCores >= 0, doc.Fixed(v.CPUCores, 2, "")))
	}
	return doc.Doc{t, more(len(busy)-maxRows, "more nodes"), more(idle, "idle nodes")}
}

// more says how many rows a table lacks, if any.
func more(n int, what string) doc.Notes {
	if n <= 0 {
		return nil
	}
	return doc.Notes{fmt.Sprintf("%d %s", n, what)}
}

func size(n int64) string { return units.Size(n).Rounded() }
