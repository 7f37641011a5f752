// Package swim reads and writes job lists of SWIM, the Statistical Workload
// Injector for MapReduce: one job a line, tab-separated, without a header.
//
//	1 id   2 submit s   3 gap s   4 map input B   5 shuffle B   6 output B   7 input path (some files)
//
// The lists have no tasks, durations or hosts; traces.ListRules make them up.
package swim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
)

// LineError says what is wrong with a line.
type LineError struct {
	Line   int // from 1
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// maxLineBytes bounds a line.
const maxLineBytes = 1 << 16

// Read reads a list job by job; a job's ID is its name. A line that is no job comes as a *LineError,
// and the jobs behind it still come; any other error is the last thing that
// comes.
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

// maxSubmitSec bounds when a job comes: ten years.
const maxSubmitSec = 10 * 365 * 24 * 3600

// parse reads a line; an empty one is a job without a name.
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

// maxNumber bounds what a list may say: an exabyte.
const maxNumber = 1 << 60

// parseNumber reads a number of digits up to maxNumber, or one that other tools
// wrote as 1e+09 or 5.0.
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

// Write writes a list. Jobs with a path make lines of seven columns.
func Write(out io.Writer, jobs iter.Seq[traces.JobListed]) error {
	buf := bufio.NewWriter(out)
	var line []byte
	for j := range jobs {
		line = append(line[:0], j.Name...)
		for _, n := range [...]int64{int64(j.T) / 1e9, j.GapSec, j.InputBytes, j.ShuffleBytes, j.OutputBytes} {
			line = strconv.AppendInt(append(line, '\t'), n, 10)
		}
		if j.Path != "" {
			line = append(append(line, '\t'), j.Path...)
		}
		buf.Write(append(line, '\n'))
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write list of jobs: %w", err)
	}
	return nil
}

// FromTrace is what a list has of a job of a trace: of captured jobs the bytes of
// attempts that succeeded. Older imports made events of lists, and kept the gap.
func FromTrace(j *byjob.Job) traces.JobListed {
	out := traces.JobListed{Job: j.ID, Name: string(j.ID)}
	if j.Submitted != nil {
		out.T = max(j.Submitted.T, 0)
	}
	if j.Source != nil && j.Source.Form == "swim" {
		if j.Submitted != nil && j.Submitted.Name != "" {
			out.Name = j.Submitted.Name
		}
		_, gap, _ := strings.Cut(j.Source.Members, ":")
		n, _ := strconv.ParseInt(gap, 10, 64)
		out.GapSec = max(n, 0)
	}
	var sums traces.Counters
	for _, t := range j.Tasks {
		if t.Scheduled != nil && out.Path == "" {
			out.Path = t.Scheduled.Path
		}
		for _, a := range t.Attempts {
			if a.Finished != nil && a.Finished.Outcome == traces.Succeeded {
				if t.ID.Kind == traces.Map {
					sums.HDFSReadBytes = traces.AddCount(sums.HDFSReadBytes, a.Finished.Counters.HDFSReadBytes)
				}
				sums.ShuffleBytes = traces.AddCount(sums.ShuffleBytes, a.Finished.Counters.ShuffleBytes)
				sums.HDFSWrittenBytes = traces.AddCount(sums.HDFSWrittenBytes, a.Finished.Counters.HDFSWrittenBytes)
			}
		}
	}
	total := traces.NoCounters
	if j.Finished != nil {
		total = j.Finished.Counters
	}
	pick := func(total, sum int64) int64 {
		if total >= 0 {
			return min(total, maxNumber)
		}
		return min(sum, maxNumber)
	}
	out.InputBytes = pick(total.HDFSReadBytes, sums.HDFSReadBytes)
	out.ShuffleBytes = pick(total.ShuffleBytes, sums.ShuffleBytes)
	out.OutputBytes = pick(total.HDFSWrittenBytes, sums.HDFSWrittenBytes)
	return out
}
