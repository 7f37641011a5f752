package jhist

import (
	"cmp"
	"fmt"
	"time"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// clockBehind is the defect of a job that starts before it is submitted: its submission is by the
// ResourceManager's clock, all else by that of its ApplicationMaster's host.
var clockBehind mend.Kind = "a job that starts before its submission, as its ApplicationMaster's clock is behind: " +
	"its times moved to begin with the submission; they may be too early by as long as its ApplicationMaster took to start"

// trackerApart is the defect of an attempt that its TaskTracker dated, whose task the JobTracker dated.
var trackerApart mend.Kind = "an attempt that is not within its task, as its host's clock is apart from the JobTracker's: " +
	"attempts of that host moved to the middle of where they can be"

// alignTrackers moves the times of TaskTrackers to the JobTracker's clock.
func (j *Job) alignTrackers(mended func(k mend.Kind, about string)) {
	clocks := format.Clocks{}
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			if a.Status == "SUCCEEDED" {
				clocks.See(a.Host, t.StartMs, t.FinishMs, a.StartMs, a.FinishMs)
			}
		}
	}
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			end := cmp.Or(t.FinishMs, j.FinishMs)
			if a.Status != "SUCCEEDED" { // it may be killed after its task has ended
				end = cmp.Or(j.FinishMs, end)
			}
			if clocks.Fit(a.Host, t.StartMs, end, &a.StartMs, &a.ShuffleFinishMs, &a.SortFinishMs, &a.FinishMs) {
				mended(trackerApart, a.ID)
			}
		}
	}
}

// align moves times that clocks of hosts apart put where they cannot be. It leaves nothing out.
func (j *Job) align(mended func(k mend.Kind, about string)) {
	if j.JobTracker {
		j.alignTrackers(mended)
	}
	j.alignPhases(mended)
	first := int64(0)
	j.times(func(ms *int64) {
		if *ms > 0 && (first == 0 || *ms < first) {
			first = *ms
		}
	})
	if j.BehindMs = max(0, j.SubmitMs-first); j.BehindMs == 0 || first == 0 {
		j.BehindMs = 0
		return
	}
	move := func(ms *int64) {
		if *ms > 0 {
			*ms += j.BehindMs
		}
	}
	j.times(move)
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			move(&a.MapFinishMs)
			move(&a.ShuffleFinishMs)
			move(&a.SortFinishMs)
		}
	}
	mended(clockBehind, j.Behind())
}

// alignPhases puts the times of attempts in their order, and moves the phases that another
// clock than theirs has dated.
func (j *Job) alignPhases(mended func(k mend.Kind, about string)) {
	clocks := format.Clocks{}
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			if a.Status == "SUCCEEDED" && a.StartMs == 0 {
				mended(format.NoStart, a.ID)
				a.StartMs = cmp.Or(t.StartMs, a.FinishMs)
			}
			if j.Outcome == traces.Succeeded && a.Status == "SUCCEEDED" && a.FinishMs > j.FinishMs {
				mended(format.JobEndFirst, a.ID)
			}
			if a.FinishMs > 0 && a.FinishMs < a.StartMs {
				mended(format.EndFirst, a.ID)
				a.FinishMs = a.StartMs
			}
			clocks.See(a.Host, a.StartMs, a.FinishMs, a.MapFinishMs, a.ShuffleFinishMs, a.SortFinishMs)
		}
	}
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			if clocks.Fit(a.Host, a.StartMs, a.FinishMs, &a.MapFinishMs, &a.ShuffleFinishMs, &a.SortFinishMs) {
				mended(format.PhasesOutside, a.ID)
			}
		}
	}
}

// Behind says how far the clock of the ApplicationMaster's host was behind; "" if no time tells.
func (j *Job) Behind() string {
	if j.BehindMs == 0 {
		return ""
	}
	host := "its ApplicationMaster's host"
	if n := len(j.AMHosts); n > 0 {
		host = j.AMHosts[n-1]
	}
	return fmt.Sprintf("%s: the clock of %s is %v behind at least", j.ID, host, time.Duration(j.BehindMs)*time.Millisecond)
}

// times calls each with the times of the ApplicationMaster's clock.
func (j *Job) times(each func(*int64)) {
	each(&j.amStartMs)
	each(&j.LaunchMs)
	each(&j.FinishMs)
	for _, t := range j.Tasks {
		each(&t.StartMs)
		each(&t.FinishMs)
		for _, a := range t.Attempts {
			each(&a.StartMs)
			each(&a.FinishMs)
		}
	}
}
