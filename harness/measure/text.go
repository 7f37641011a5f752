package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/internal/units"
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
	d := doc.Doc{doc.Text(fmt.Sprintf("%s trace%s: %d events over %s", i.Origin, model, i.Events, doc.DurationText(i.DurationMs)))}
	var notes doc.Notes
	if len(i.Synthetic) > 0 {
		notes = append(notes, "made up, not recorded: "+strings.Join(i.Synthetic, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(i.Mended)) {
		notes = append(notes, fmt.Sprintf("mended %d times: %s", i.Mended[kind], kind))
	}
	schedule := i.ScheduleDigest
	if l := i.List; l != nil {
		notes = append(notes, fmt.Sprintf("a list of jobs, of which replays make the tasks: a map for each %s of input, a reduce for each %s of shuffle and %d at most, "+
			"%d ms a task, %s/s mapped, %s/s shuffled, %s/s written, give or take %d %%; blocks in %d copies", size(l.BlockBytes), size(l.BytesPerReduce), l.MaxReduces,
			l.StartMs, size(l.MapRate), size(l.ShuffleRate), size(l.OutputRate), l.SpreadPercent, l.Replication))
		schedule = "none: no task of a list has run"
	}
	d = append(d, notes)
	d = append(d, i.totals()...)
	d = append(d, i.jobs()...)
	phases := &doc.Table{Name: "phases", Columns: []string{"phase", "attempts", "median", "p95"}}
	for _, p := range i.Phases {
		phases.Add(doc.Words(p.Name), doc.Count(p.Count), doc.Duration(p.MedianMs), doc.Duration(p.P95Ms))
	}
	d = append(d, phases)
	d = append(d, i.nodes()...)
	if len(i.Slowed) > 0 {
		d = append(d, slowedTable(i.Slowed)...)
	}
	if i.Load != nil {
		d = append(d, i.Load.Doc()...)
	}
	d = append(d, estimatesDoc(i.Estimates)...)
	d = append(d, predictionsDoc(i.Predictions)...)
	digests := &doc.Table{Name: "digests", Columns: []string{"", ""}}
	digests.Add(doc.Words("schedule digest"), doc.Words(schedule))
	digests.Add(doc.Words("trace digest"), doc.Words(i.TraceDigest))
	return append(d, digests)
}

func (i *Figures) totals() doc.Doc {
	failed := ""
	if i.NotSucceeded > 0 && i.List == nil {
		failed = fmt.Sprintf(" (%d did not succeed)", i.NotSucceeded)
	}
	where := &doc.Table{Name: "locality", Columns: []string{"locality of maps", "cache", "node", "rack", "off", "unknown", ""}}
	l, s := i.Locality, i.SplitLocality
	where.Add(doc.Words("by replicas and caches"), doc.Count(l.Cache), doc.Count(l.Node), doc.Count(l.Rack), doc.Count(l.Off), doc.Count(l.Unknown), doc.Words("maps that succeeded"))
	where.Add(doc.Words("by split hosts"), doc.Words("-"), doc.Count(s.Node), doc.Count(s.Rack), doc.Count(s.Off), doc.Count(s.Unknown), doc.Words("attempts assigned, as Hadoop counts"))
	result := doc.Doc{
		doc.Text(fmt.Sprintf("%d jobs%s, %d maps, %d reduces; attempts: %d ok, %d failed, %d killed; read %s, shuffled %s, wrote %s",
			i.Jobs, failed, i.Maps, i.Reduces, i.Attempts.OK, i.Attempts.Failed, i.Attempts.Killed, size(i.Bytes.Input), size(i.Bytes.Shuffle), size(i.Bytes.Output))),
		where,
	}
	if d := i.AllJobs.Deadlines; d != nil {
		result = append(result, doc.Text(fmt.Sprintf("%d of %d jobs missed their deadlines; late by %s in the mean, %s at most; ended %.0f %% of their time after the deadline in the median, %.0f %% at the 90th percentile",
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
	t := &doc.Table{Name: "jobs", Columns: []string{"job", "name", "submitted", "maps", "reduces", "read", "shuffled", "wrote"}}
	if i.List == nil {
		t.Columns = append(t.Columns, "outcome", "took", "failed", "killed", "Hadoop's counters")
	}
	var notes doc.Notes
	for n, j := range i.JobList {
		if len(j.Differences) > 0 {
			notes = append(notes, fmt.Sprintf("%s differs from Hadoop's counters: %s", j.ID, strings.Join(j.Differences, "; ")))
		}
		if n >= maxRows {
			continue
		}
		row := []doc.Cell{
			doc.Words(string(j.ID)), doc.Words(j.Name), doc.Duration(j.SubmitMs), doc.Count(j.Maps), doc.Count(j.Reduces),
			doc.Bytes(j.Bytes.Input), doc.Bytes(j.Bytes.Shuffle), doc.Bytes(j.Bytes.Output),
		}
		if i.List == nil {
			took, agree := doc.Words("-"), doc.Words("none")
			if j.CompletionMs >= 0 {
				took = doc.Duration(j.CompletionMs)
			}
			if j.Compared > 0 {
				agree = doc.Wordsf("%d of %d equal", j.Compared-len(j.Differences), j.Compared)
			}
			row = append(row, doc.Words(j.Outcome.String()), took, doc.Count(j.Attempts.Failed), doc.Count(j.Attempts.Killed), agree)
		}
		t.Add(row...)
	}
	return doc.Doc{t, more(len(i.JobList)-maxRows, "more jobs"), notes}
}

func (i *Figures) nodes() doc.Doc {
	t := &doc.Table{Name: "nodes", Columns: []string{"node", "rack", "attempts", "running (mean)", "cores busy (mean)"}}
	busy := slices.DeleteFunc(slices.Clone(i.Nodes), func(v *Node) bool { return v.Attempts == 0 })
	idle := len(i.Nodes) - len(busy)
	if idle <= maxIdleShown {
		busy, idle = i.Nodes, 0
	}
	for _, v := range busy[:min(maxRows, len(busy))] {
		cores := doc.Words("-")
		if v.CPUCores >= 0 {
			cores = doc.Fixed(v.CPUCores, 2, "")
		}
		t.Add(doc.Words(string(v.Node)), doc.Words(v.Rack), doc.Count(v.Attempts), doc.Fixed(v.MeanRunning, 2, ""), cores)
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
