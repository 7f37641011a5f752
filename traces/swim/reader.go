package swim

import (
	"errors"
	"fmt"
	"io"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// Defects that an import finds in SWIM's lists, and what it does about each.
var (
	unread    mend.Kind = "a column whose name says nothing: not read (column)"
	badLine   mend.Kind = "a line that is no job: left out (job)"
	badJob    mend.Kind = "a job over the limits: left out (job)"
	unordered mend.Kind = "a job submitted before the one above it: put where its time is"
	wrongGap  mend.Kind = "a gap that is not the difference of two submissions: kept; the submissions count"
)

// reader turns the lines of SWIM's lists into JobListed events.
type reader struct{ *format.Import }

// Read implements format.Reader: it reads a list and adds its jobs.
func (r reader) Read(in io.Reader) error {
	last, list := traces.Time(0), &layout{}
	for job, err := range list.read(in) {
		r.Records++
		for ; len(list.unread) > 0 && err == nil; list.unread = list.unread[1:] {
			err = r.Log.Add(unread, "the header", fmt.Sprintf("%.40q", list.unread[0]))
		}
		if bad, ok := errors.AsType[*LineError](err); ok {
			err = r.Log.Add(badLine, fmt.Sprintf("line %d", bad.Line), bad.Reason)
		} else if err == nil {
			err = r.add(&job, list, last)
			last = job.T
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a job of the list to the trace. The argument last is the submission
// time of the job on the line before.
func (r reader) add(job *traces.JobListed, list *layout, last traces.Time) error {
	mend := func(kind mend.Kind, about string) error {
		return r.Log.Add(kind, fmt.Sprintf("line %d", list.number), about)
	}
	if job.T < last {
		if err := mend(unordered, job.Name); err != nil {
			return err
		}
	} else if off := job.T - last - traces.Time(job.GapSec)*1e9; list.jobs > 1 && (off <= -1e9 || off >= 1e9) {
		if err := mend(wrongGap, job.Name); err != nil {
			return err
		}
	}
	var err error
	if job.Job, err = r.JobID(job.Name, func() error { return mend(format.JobAgain, job.Name) }); err != nil {
		return err
	}
	if over := r.Rules.Check(job); over != nil {
		return mend(badJob, over.Error())
	}
	return r.Add(job)
}

// Finish implements format.Reader: it writes the rules for the tasks into the
// header.
func (r reader) Finish(h *traces.Header) (func(*traces.TaskScheduled), error) {
	h.Synthetic = append(h.Synthetic, "tasks", "durations", "schedule", "replicas")
	h.List = &r.Rules
	return nil, nil
}
