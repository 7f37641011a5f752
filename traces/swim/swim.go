// Package swim reads and writes the job lists of SWIM, the Statistical Workload
// Injector for MapReduce. Each line describes a job, with tabs between the
// columns (s means seconds, B bytes; the gap is the time since the job before):
//
//	1 id   2 submit s   3 gap s   4 map input B   5 shuffle B   6 output B   7 input path (some files)
//
// The lists have no tasks, durations or hosts. A replay makes them by the rules
// in traces.ListRules.
package swim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/format"
)

// Format describes the format of SWIM's lists to package exchange.
var Format = format.Format{
	Name:      "swim",
	About:     "lists of jobs of SWIM, kept as lists, of which replays make tasks",
	Origin:    traces.Imported,
	Detect:    detect,
	NewReader: func(im *format.Import) format.Reader { return reader{im} },
	Flags:     flags,
	Write:     write,
	Lists:     true,
}

// detect reports whether the first line of a file describes a job of SWIM.
func detect(head []byte) bool {
	for _, err := range Read(bytes.NewReader(head)) {
		return err == nil
	}
	return false
}

// LineError is the error for a line that does not describe a job.
type LineError struct {
	Line   int // number of the line in the file, from 1
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// maxLineBytes is the greatest length of a line in a list.
const maxLineBytes = 1 << 16

// Read returns the jobs of a list. A job's id is its name. A line that does not
// describe a job gives a *LineError; the jobs after it follow. Any other error
// ends the sequence.
func Read(in io.Reader) iter.Seq2[traces.JobListed, error] {
	return func(yield func(traces.JobListed, error) bool) {
		buf := bufio.NewReaderSize(in, maxLineBytes)
		for number := 1; ; number++ {
			line, err := buf.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				yield(traces.JobListed{}, &LineError{number, fmt.Sprintf("it is over %d bytes long: not a list of jobs", maxLineBytes)})
				return
			}
			if job, bad := parse(line); bad != "" {
				if !yield(traces.JobListed{}, &LineError{number, bad}) {
					return
				}
			} else if job.Name != "" && !yield(job, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(traces.JobListed{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
		}
	}
}

var columns = [...]string{"id", "submit", "gap", "map input", "shuffle", "output"}

// maxSubmitSec is the latest submission time of a job: ten years after the
// start.
const maxSubmitSec = 10 * 365 * 24 * 3600

// parse reads a line of a list. For an empty line it returns a job without a
// name. If the line is wrong, the result bad says why.
func parse(line []byte) (job traces.JobListed, bad string) {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	if len(line) == 0 {
		return job, ""
	}
	submitSec := int64(0)
	numbers := [...]*int64{1: &submitSec, &job.GapSec, &job.InputBytes, &job.ShuffleBytes, &job.OutputBytes}
	column, begin := 0, 0
	for i := 0; i <= len(line); i++ {
		if i < len(line) && line[i] != '\t' {
			continue
		}
		field := line[begin:i]
		switch {
		case column == 0:
			if len(field) == 0 {
				return job, "it has no job id"
			}
			job.Name = string(field)
		case column < len(columns):
			n, ok := parseNumber(field)
			if !ok {
				return job, fmt.Sprintf("column %d (%s) is %.40q, not a whole number from 0 to 2^60", column+1, columns[column], field)
			}
			*numbers[column] = n
		case column == len(columns):
			job.Path = string(field)
		}
		column, begin = column+1, i+1
	}
	if column < len(columns) {
		return job, fmt.Sprintf("it has %d columns, want %d or more, with tabs between", column, len(columns))
	}
	if submitSec > maxSubmitSec {
		return job, fmt.Sprintf("it is submitted after %d s, want ten years at most", submitSec)
	}
	job.Job, job.T = traces.JobID(job.Name), traces.Time(submitSec)*1e9
	return job, ""
}

// maxNumber is the greatest number in a list: 2^60, about 10^18.
const maxNumber = 1 << 60

// parseNumber reads a whole number from 0 to maxNumber. It also accepts forms
// such as 1e+09 and 5.0, which some tools write.
func parseNumber(field []byte) (n int64, ok bool) {
	for _, c := range field {
		d := int64(c) - '0'
		if d < 0 || d > 9 || n > (maxNumber-d)/10 {
			f, err := strconv.ParseFloat(string(field), 64)
			return int64(f), err == nil && f >= 0 && f <= maxNumber && f == math.Trunc(f)
		}
		n = 10*n + d
	}
	return n, len(field) > 0
}

// within escapes, as JSON does, what would end a column or a line.
var within = strings.NewReplacer("\t", `\u0009`, "\n", `\u000a`, "\r", `\u000d`)

// Write writes a list of jobs in SWIM's format. A job with an input path gets
// seven columns, a job without a path six.
func Write(out io.Writer, jobs iter.Seq[traces.JobListed]) error {
	buf := bufio.NewWriter(out)
	var line []byte
	for j := range jobs {
		line = append(line[:0], within.Replace(j.Name)...)
		for _, n := range [...]int64{int64(j.T) / 1e9, j.GapSec, j.InputBytes, j.ShuffleBytes, j.OutputBytes} {
			line = strconv.AppendInt(append(line, '\t'), n, 10)
		}
		if j.Path != "" {
			line = append(append(line, '\t'), within.Replace(j.Path)...)
		}
		buf.Write(append(line, '\n'))
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write list of jobs: %w", err)
	}
	return nil
}

// write writes the jobs of a trace as a list. If the trace is not a list
// already, it computes each entry from the job's events.
func write(e *format.Export) (notes []string, err error) {
	var failed error
	err = Write(e.Out, func(yield func(traces.JobListed) bool) {
		if e.Header.List != nil {
			for event := range e.Events {
				if j, ok := event.(*traces.JobListed); ok && !yield(*j) {
					return
				}
			}
			return
		}
		last := traces.Time(0)
		for j, err := range e.Jobs {
			if err != nil {
				failed = err
				return
			}
			job := fromTrace(j)
			job.GapSec = max(int64(job.T)/1e9-int64(last)/1e9, 0)
			last = job.T
			if !yield(job) {
				return
			}
		}
	})
	return nil, errors.Join(failed, err)
}

// fromTrace computes the entry in a SWIM list for a job of a trace. The numbers
// of bytes are the job's counters as Hadoop reported them, or else sums over the
// attempts that succeeded.
func fromTrace(j *byjob.Job) traces.JobListed {
	out := traces.JobListed{Job: j.ID, Name: string(j.ID)}
	if j.Submitted != nil {
		out.T = max(j.Submitted.T, 0)
	}
	var sum traces.Counters
	for _, t := range j.Tasks {
		if t.Scheduled != nil && out.Path == "" {
			out.Path = t.Scheduled.Path
		}
		for _, a := range t.Attempts {
			if a.Finished == nil || a.Finished.Outcome != traces.Succeeded {
				continue
			}
			c := &a.Finished.Counters
			if t.ID.Kind == traces.Map {
				sum.HDFSReadBytes = traces.AddCount(sum.HDFSReadBytes, c.HDFSReadBytes)
			}
			sum.ShuffleBytes = traces.AddCount(sum.ShuffleBytes, c.ShuffleBytes)
			sum.HDFSWrittenBytes = traces.AddCount(sum.HDFSWrittenBytes, c.HDFSWrittenBytes)
		}
	}
	if j.Finished != nil {
		c := &j.Finished.Counters
		for _, v := range [...]struct{ total, sum *int64 }{
			{&c.HDFSReadBytes, &sum.HDFSReadBytes}, {&c.ShuffleBytes, &sum.ShuffleBytes}, {&c.HDFSWrittenBytes, &sum.HDFSWrittenBytes},
		} {
			if *v.total >= 0 {
				*v.sum = *v.total
			}
		}
	}
	out.InputBytes, out.ShuffleBytes, out.OutputBytes = min(sum.HDFSReadBytes, maxNumber), min(sum.ShuffleBytes, maxNumber), min(sum.HDFSWrittenBytes, maxNumber)
	return out
}
