package workload

import (
	"fmt"
	"math"

	"heddle/harness/doc"
	"heddle/harness/measure"
)

// worstJobs is the greatest number of jobs that the text of Achieved lists.
const worstJobs = 5

// Doc returns the comparison for people to read: first the sums, then the jobs
// that are farthest from what was asked, then the warnings.
func (a *Achieved) Doc() doc.Doc {
	s := &a.Sum
	none := doc.Words("")
	percent := func(x float64) doc.Cell { return doc.Signed(x, 1, "%") }
	sums := doc.NewTable("achieved", "", "asked", "floors", "achieved", "error")
	for _, x := range []struct {
		name string
		Amount
		cell func(int64) doc.Cell
	}{
		{"input", s.Input, doc.Bytes},
		{"shuffle", s.Shuffle, doc.Bytes},
		{"output", s.Output, doc.Bytes},
		{"maps", s.Maps, doc.Count[int64]},
		{"reduces", s.Reduces, doc.Count[int64]},
	} {
		floors := none
		if x.Floors > 0 {
			floors = x.cell(x.Floors)
		}
		sums.Add(x.name, x.cell(x.Asked), floors, x.cell(x.Got), percent(x.ErrorPct))
	}
	sums.Add("arrivals", doc.Count(len(a.Jobs)).After("in "+doc.DurationText(s.Arrival.AskedMs)), none,
		doc.Duration(s.Arrival.LateMs).After("late"), percent(s.Arrival.ErrorPct))
	if s.CompletionMs >= 0 {
		sums.Add("completion", doc.Known(s.RecordedMs >= 0, doc.Duration(s.RecordedMs).After("in the trace")), none, doc.Duration(s.CompletionMs))
	}
	if s.Locality.Known() > 0 {
		recorded, got := shares(s.RecordedLocality), shares(s.Locality)
		for i, level := range []string{"cache", "node", "rack", "off"} {
			sums.Add("maps' locality: "+level, doc.Fixed(recorded[i], 0, "%"), none, doc.Fixed(got[i], 0, "%"))
		}
	}
	worst := doc.NewTable("worst jobs", "worst jobs", "late", "labels", "input", "shuffle", "output", "attempts more", "")
	for _, c := range a.worst(worstJobs) {
		failed := none
		if c.FailedJobs > 0 {
			failed = doc.Words("failed").In(doc.Bad)
		}
		worst.Add(c.Job, doc.Duration(c.Arrival.LateMs), doc.Duration(c.LabelWaitMs), percent(c.Input.ErrorPct),
			percent(c.Shuffle.ErrorPct), percent(c.Output.ErrorPct), c.ExtraAttempts, failed)
	}
	return doc.Doc{sums, doc.Notes{fmt.Sprintf("waits on average: %s for labels, %s of a map for its container; %d attempts "+
		"beyond one for each task",
		doc.DurationText(s.LabelWaitMs), doc.DurationText(s.MapWaitMs), s.ExtraAttempts)}, worst, doc.Warnings(a.Warnings)}
}

// shares returns how near maps ran to their input, in percent of those of which
// it is known.
func shares(l measure.Locality) (percent [4]float64) {
	for i, x := range l.Shares() {
		if percent[i] = 100 * x; l.Known() == 0 {
			percent[i] = math.NaN()
		}
	}
	return percent
}
