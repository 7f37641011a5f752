package exchange

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"heddle/traces"
	"heddle/traces/internal/invent"
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

// listReader imports lists of jobs.
type listReader struct {
	swim.Importer
	im   *importer
	seen map[string]int
}

func newListReader(im *importer) *listReader {
	l := &listReader{Importer: swim.Importer{Rules: im.o.Rules, Copies: im.o.Replication}, im: im, seen: map[string]int{}}
	if len(im.nodes.listed) > 0 {
		l.Placer = invent.NewPlacer(im.nodes.listed)
	}
	return l
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
		err = l.Events(job, traces.JobID(id), l.im.add)
		var over *swim.JobError
		if errors.As(err, &over) {
			err = log.Add(badJob, place, over.Reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settings notes the rules.
func (l *listReader) settings(to map[string]string) {
	for key, n := range map[string]int64{
		"import.blockBytes": l.BlockBytes, "import.bytesPerReduce": l.BytesPerReduce, "import.maxReduces": int64(l.MaxReduces),
		"import.mapBytesPerSec": l.MapRate, "import.shuffleBytesPerSec": l.ShuffleRate, "import.outputBytesPerSec": l.OutputRate,
		"import.taskStartMs": l.StartMs, "import.spreadPercent": int64(l.SpreadPercent), "import.replication": int64(l.Copies),
	} {
		to[key] = strconv.FormatInt(n, 10)
	}
}
