// Package swim reads and writes the job lists of SWIM, the Statistical Workload
// Injector for MapReduce. Each line describes a job, with tabs between the
// columns (s means seconds, B bytes; the gap is the time since the job before):
//
//	1 id   2 submit s   3 gap s   4 map input B   5 shuffle B   6 output B   7 input path (some files)
//
// It also reads lists that went through other programs: with commas, semicolons or
// blanks between the columns, and with a header, which may name other columns, such as
// queue and user.
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
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/format"
	"heddle/traces/printable"
)

// Format describes the format of SWIM's lists to package exchange.
var Format = format.Format{
	Name:      "swim",
	About:     "lists of jobs of SWIM, kept as lists, of which replays make tasks",
	Origin:    traces.Imported,
	Detect:    detect,
	NewReader: func(im *format.Import) format.Reader { return reader{im} },
	Write:     write,
	Lists:     true,
}

// detect reports whether a file is a list of jobs: its first job can be read, or most
// of its first lines can.
func detect(head []byte) bool {
	jobs, bad, first := 0, 0, error(nil)
	for _, err := range Read(bytes.NewReader(head)) {
		if err == nil {
			jobs++
		} else if bad++; jobs == 0 {
			first = err
		}
		if jobs+bad == detectLines {
			break
		}
	}
	return jobs > 0 && (first == nil || jobs > bad)
}

const detectLines = 20 // lines from which a list is told

// Wrong says why the first line of a file is no job.
func Wrong(head []byte) string {
	for _, err := range Read(bytes.NewReader(head)) {
		if err != nil {
			return err.Error()
		}
	}
	return "it has no line"
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
// ends the sequence. Empty lines and those that begin with # are no jobs.
func Read(in io.Reader) iter.Seq2[traces.JobListed, error] { return new(layout).read(in) }

func (l *layout) read(in io.Reader) iter.Seq2[traces.JobListed, error] {
	return func(yield func(traces.JobListed, error) bool) {
		buf := bufio.NewReaderSize(in, maxLineBytes)
		head, _ := buf.Peek(maxLineBytes) // the loop meets the error
		l.sep, l.columns = separator(head), inOrder
		if haveQueues(head, l.sep) {
			l.columns = queued
		}
		for l.number = 1; ; l.number++ {
			line, err := buf.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				yield(traces.JobListed{}, &LineError{l.number, fmt.Sprintf("it is over %d bytes long: not a list of jobs", maxLineBytes)})
				return
			}
			if job, bad := l.line(bytes.TrimRight(line, " \t\r\n")); bad != "" {
				if !yield(traces.JobListed{}, &LineError{l.number, bad}) {
					return
				}
			} else if job.Name != "" && !yield(job, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(traces.JobListed{}, fmt.Errorf("line %d: %w", l.number, err))
				return
			}
		}
	}
}

// maxSubmitSec is the latest submission time of a job: ten years after the
// start.
const maxSubmitSec = 10 * 365 * 24 * 3600

const submitRange = "ten years at most after the list begins: subtract the first submission from each"

// count says what is wrong with the number of a line's columns, of which the last may be missing.
func (l *layout) count() (bad string) {
	for l.named && l.sep == '\t' && len(l.fields) < len(l.columns) { // tabs at an end may be
		l.fields = append(l.fields, nil)
	}
	n := len(l.fields)
	switch {
	case l.wrong != "":
		return l.wrong
	case l.named && n != len(l.columns):
		return fmt.Sprintf("it has %d columns, but the header names %d", n, len(l.columns))
	case n < min(least, len(l.columns)):
		return fmt.Sprintf("it has %d columns, want %d or more, with tabs, commas or blanks between", n, least)
	case n > len(l.columns):
		return fmt.Sprintf("it has %d columns, want %d at most", n, len(l.columns))
	}
	return ""
}

// The method line reads a line of a list. For a line that is no job, such as an empty one,
// it returns a job without a name. If the line is wrong, the result bad says why.
func (l *layout) line(line []byte) (job traces.JobListed, bad string) {
	comment := len(line) > 0 && line[0] == '#'
	if len(line) == 0 || l.jobs == 0 && l.header(bytes.TrimLeft(line, "# ")) || comment {
		return job, l.wrong
	}
	l.jobs++
	l.fields = split(line, l.sep, l.fields[:0])
	if bad := l.count(); bad != "" {
		return job, bad
	}
	gapNs := int64(-1)
	numbers := [...]*int64{
		submit: (*int64)(&job.T), gap: &gapNs, input: &job.InputBytes, shuffle: &job.ShuffleBytes, output: &job.OutputBytes,
	}
	job.Name = fmt.Sprintf("job%d", l.jobs-1)
	for i, field := range l.fields {
		switch c := l.columns[i]; {
		case c.what == id:
			if job.Name = string(field); job.Name == "" {
				return job, "it has no job id"
			}
		case c.what <= output:
			n, ok := parseNumber(field, c.unit)
			if ok {
				*numbers[c.what] = n
			} else if _, number := parseNumber(field, 1); number && c.what == submit {
				return job, fmt.Sprintf("column %d (submit) is %.40s, want %s", i+1, field, submitRange)
			} else if c.what != gap { // a gap only says what the submissions say
				return job, fmt.Sprintf("column %d (%s) is %.40q, not a number from 0 to 2^60", i+1, names[c.what], field)
			}
		case c.what == path:
			job.Path = string(field)
		case c.what == queue:
			job.Queue = string(field)
		case c.what == user:
			job.User = string(field)
		}
	}
	if job.T > maxSubmitSec*1e9 {
		return job, fmt.Sprintf("it is submitted after %d s, want %s", job.T/1e9, submitRange)
	}
	if gapNs < 0 {
		gapNs = max(int64(job.T-l.last), 0)
	}
	job.Job, job.GapSec, l.last = traces.JobID(job.Name), gapNs/1e9, job.T
	return job, ""
}

// maxNumber is the greatest number in a list: 2^60, about 10^18.
const maxNumber = 1 << 60

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
	left := 0
	err = Write(e.Out, func(each func(traces.JobListed) bool) {
		yield := func(j traces.JobListed) bool {
			if j.Queue+j.User != "" {
				left++
			}
			return each(j)
		}
		if e.Header.List != nil {
			for event := range e.Events {
				if j, ok := event.(*traces.JobListed); ok && !yield(*j) {
					return
				}
			}
			return
		}
		last := traces.Time(0)
		for j, err := range byjob.Jobs(e.Path) {
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
	if left > 0 {
		notes = []string{fmt.Sprintf("left out the queue or user of %s: SWIM's lists have no columns for them", printable.Count(left, "job"))}
	}
	return notes, errors.Join(failed, err)
}

// fromTrace computes the entry in a SWIM list for a job of a trace. The numbers
// of bytes are the job's counters as Hadoop reported them, or else sums over the
// attempts that succeeded.
func fromTrace(j *byjob.Job) traces.JobListed {
	out := traces.JobListed{Job: j.ID, Name: string(j.ID)}
	if j.Submitted != nil {
		out.T, out.Queue, out.User = max(j.Submitted.T, 0), j.Submitted.Queue, j.Submitted.User
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
	out.InputBytes, out.ShuffleBytes = min(sum.HDFSReadBytes, maxNumber), min(sum.ShuffleBytes, maxNumber)
	out.OutputBytes = min(sum.HDFSWrittenBytes, maxNumber)
	return out
}
