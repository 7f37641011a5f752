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

// readSWIM imports a list of jobs.
func (im *importer) readSWIM(in io.Reader) error {
	log := im.log
	last, line := traces.Time(0), 0
	for job, err := range swim.Read(in) {
		line++
		im.records++
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
		if job.T < last {
			if err := log.Add(unordered, place, job.Name); err != nil {
				return err
			}
		} else if line > 1 && job.GapSec != int64(job.T-last)/1e9 {
			if err := log.Add(wrongGap, place, job.Name); err != nil {
				return err
			}
		}
		last = job.T
		id := job.Name
		for im.listed[id] > 0 {
			if id == job.Name {
				if err := log.Add(lineAgain, place, job.Name); err != nil {
					return err
				}
			}
			im.listed[job.Name]++
			id = fmt.Sprintf("%s.%d", job.Name, im.listed[job.Name])
		}
		im.listed[id]++
		job.Job = traces.JobID(id)
		if over := im.o.Rules.Check(&job); over != nil {
			err = log.Add(badJob, place, over.Error())
		} else {
			err = im.add(&job)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
