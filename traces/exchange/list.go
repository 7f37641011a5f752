package exchange

import (
	"errors"
	"fmt"
	"io"

	"heddle/traces"
	"heddle/traces/mend"
	"heddle/traces/swim"
)

// Mends of lists of jobs.
var (
	badLine   = mend.Kind{Wrong: "a line that is no job", Done: "left out"}
	badJob    = mend.Kind{Wrong: "a job over the limits", Done: "left out"}
	lineAgain = mend.Kind{Wrong: "a job's id that came before", Done: "given a suffix"}
	unordered = mend.Kind{Wrong: "a job submitted before the one above it", Done: "put where its time is"}
	wrongGap  = mend.Kind{Wrong: "a gap that is not the difference of two submissions", Done: "kept; the submissions count"}
)

// maxListedSec keeps times inside 64 bits; the rules have their own limit.
const maxListedSec = 1 << 32

// listReader imports lists of jobs.
type listReader struct {
	im   *importer
	seen map[string]int
}

func (l *listReader) read(in io.Reader) error {
	log := l.im.log
	last, line := int64(0), 0
	for job, err := range swim.Read(in) {
		line++
		l.im.records++
		var bad *swim.LineError
		if errors.As(err, &bad) {
			line = bad.Line
			if err := log.Add(badLine, fmt.Sprintf("line %d", line), bad.Reason); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		place := fmt.Sprintf("line %d", line)
		if job.SubmitSec < last {
			if err := log.Add(unordered, place, job.ID); err != nil {
				return err
			}
		} else if line > 1 && job.GapSec != job.SubmitSec-last {
			if err := log.Add(wrongGap, place, job.ID); err != nil {
				return err
			}
		}
		last = job.SubmitSec
		id := job.ID
		for l.seen[id] > 0 {
			if id == job.ID {
				if err := log.Add(lineAgain, place, job.ID); err != nil {
					return err
				}
			}
			l.seen[job.ID]++
			id = fmt.Sprintf("%s.%d", job.ID, l.seen[job.ID])
		}
		l.seen[id]++
		if job.SubmitSec > maxListedSec {
			err = log.Add(badJob, place, fmt.Sprintf("submitted %d s after the start, want 0 s to ten years", job.SubmitSec))
		} else if listed := job.Listed(traces.JobID(id)); l.im.o.Rules.Check(listed) != nil {
			err = log.Add(badJob, place, l.im.o.Rules.Check(listed).Error())
		} else {
			err = l.im.add(listed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
