// Package swim reads and writes the job lists of SWIM, the Statistical Workload
// Injector for MapReduce. Each line describes a job, with tabs between the
// columns (s means seconds, B bytes; the gap is the time since the job before):
//
//	1 id   2 submit s   3 gap s   4 map input B   5 shuffle B   6 output B   7 input path (some files)
//
// It also reads lists that went through other programs: with commas, semicolons or
// blanks between the columns, and with a header, which may name other columns.
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
	"regexp"
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
		l.queues = haveQueues(head, l.sep)
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

// layout says what the columns of a list hold. It is as in SWIM's lists, or as a
// header says.
type layout struct {
	sep     byte // between columns
	columns []column
	named   bool   // by a header
	wrong   string // what a header lacks
	queues  bool   // the seventh column has queues
	number  int    // of the line, from 1
	jobs    int    // lines so far that are no header
	last    traces.Time
	fields  [][]byte // of one line; the memory is reused
}

// column is what a column holds. unit is what a number of the column is worth, in bytes
// or ns.
type column struct {
	what int
	unit int64
}

const (
	id = iota
	submit
	gap
	input
	shuffle
	output
	path
	queue
	other
)

var (
	names   = [...]string{"id", "submit", "gap", "map input", "shuffle", "output", "path", "queue", ""}
	inOrder = []column{{id, 1}, {submit, 1e9}, {gap, 1e9}, {input, 1}, {shuffle, 1}, {output, 1}, {path, 1}, {other, 1}, {other, 1}}
)

// least is the number of columns of a job, up to the output.
const least = output + 1

// headers are words in the names of columns. The first that occurs in a name tells what
// the column holds.
var headers = [...]struct {
	word string
	what int
}{
	{"path", path},
	{"queue", queue},
	{"pool", queue},
	{"gap", gap},
	{"inter_", gap},
	{"map_output", shuffle},
	{"submi", submit},
	{"arriv", submit},
	{"start", submit},
	{"shuffle", shuffle},
	{"input", input},
	{"output", output},
	{"id", id},
	{"job", id},
	{"name", id},
	{"time", submit},
}

var plainName = strings.NewReplacer(" ", "_", "-", "_", "(", "_", ")", "")

// units are ends of the names of columns, and what a number of theirs is worth in bytes or seconds.
var units = [...]struct {
	end   string
	worth float64
}{
	{"ms", 1e-3}, {"us", 1e-6}, {"min", 60}, {"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
}

// header reports whether a line names columns: no field is a number, and some are names
// that are known.
func (l *layout) header(line []byte) bool {
	found := []column{}
	has, known := [other + 1]bool{}, false
	for i, field := range split(line, l.sep, l.fields[:0]) {
		if _, number := parseNumber(field, 1); number && i > 0 {
			return false
		}
		name, c := plainName.Replace(strings.ToLower(string(field))), column{other, 1}
		for _, h := range headers {
			if strings.Contains(name, h.word) && !has[h.what] {
				c.what = h.what
				break
			}
		}
		worth := 1.0
		for _, u := range units {
			if strings.HasSuffix(name, "_"+u.end) {
				worth = u.worth
				break
			}
		}
		if c.what == submit || c.what == gap {
			worth *= 1e9
		}
		c.unit = int64(worth)
		has[c.what], known = true, known || c.what >= submit && c.what <= output
		found = append(found, c)
	}
	if !known || len(found) < 3 {
		return false
	}
	l.columns, l.named, l.queues = found, true, has[queue]
	for _, want := range [...]int{submit, input, shuffle, output} {
		if !has[want] {
			l.wrong = "the header names no column " + names[want]
		}
	}
	return true
}

// haveQueues reports whether the seventh column of a list has queues: a few short names
// or small numbers that many jobs share. Paths are hashed, and of many kinds.
func haveQueues(head []byte, sep byte) bool {
	seen, jobs, small := map[string]bool{}, 0, true
	for line := range bytes.Lines(head) {
		f := split(bytes.TrimRight(line, " \t\r\n"), sep, nil)
		if len(f) <= path || len(f[path]) == 0 || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		jobs++
		name := string(f[path])
		n, number := parseNumber(f[path], 1)
		if len(name) > 24 || strings.ContainsAny(name, "/:") || number && len(name) > 4 {
			return false
		}
		small = small && number && n < 100
		seen[name] = true
	}
	return jobs > 1 && (small || 3*len(seen) <= jobs)
}

// separator returns what stands between the columns of a list: that by which most of its first
// lines have the numbers of a job. A blank stands for any number of blanks.
func separator(head []byte) (sep byte) {
	most := -1
	for _, one := range []byte("\t;, ") {
		jobs, fields := 0, [][]byte{}
		for line := range bytes.Lines(head) {
			fields = split(bytes.TrimRight(line, " \t\r\n"), one, fields[:0])
			numbers := 0
			for _, f := range fields {
				if _, ok := parseNumber(f, 1); ok {
					numbers++
				}
			}
			if numbers >= least-2 { // an id is no number, and the gap need not be there
				jobs++
			}
		}
		if jobs > most && (jobs > 0 || bytes.IndexByte(head, one) >= 0) {
			sep, most = one, jobs
		}
	}
	return sep
}

// split returns the fields of a line. Quotes may stand around a field if sep is no tab.
func split(line []byte, sep byte, to [][]byte) [][]byte {
	if sep == ' ' {
		return append(to, bytes.Fields(line)...)
	}
	quoted, begin := false, 0
	for i := 0; i <= len(line); i++ {
		switch {
		case i == len(line) || line[i] == sep && !quoted:
			to = append(to, bytes.Trim(line[begin:i], ` "`))
			begin = i + 1
		case line[i] == '"' && sep != '\t':
			quoted = !quoted
		}
	}
	return to
}

// maxSubmitSec is the latest submission time of a job: ten years after the
// start.
const maxSubmitSec = 10 * 365 * 24 * 3600

const submitRange = "ten years at most after the list begins: subtract the first submission from each"

// The method line reads a line of a list. For a line that is no job, such as an empty one,
// it returns a job without a name. If the line is wrong, the result bad says why.
func (l *layout) line(line []byte) (job traces.JobListed, bad string) {
	comment := len(line) > 0 && line[0] == '#'
	if len(line) == 0 || l.jobs == 0 && l.header(bytes.TrimLeft(line, "# ")) || comment {
		return job, l.wrong
	}
	l.jobs++
	l.fields = split(line, l.sep, l.fields[:0])
	switch n := len(l.fields); {
	case l.wrong != "":
		return job, l.wrong
	case l.named && n != len(l.columns) && (l.sep != '\t' || n > len(l.columns) || n < least): // tabs at an end may be missing
		return job, fmt.Sprintf("it has %d columns, but the header names %d", n, len(l.columns))
	case n < min(least, len(l.columns)):
		return job, fmt.Sprintf("it has %d columns, want %d or more, with tabs, commas or blanks between", n, least)
	case n > len(l.columns):
		return job, fmt.Sprintf("it has %d columns, want %d at most", n, len(l.columns))
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
		case c.what == path && !l.queues:
			job.Path = string(field)
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

var thousands = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d+)?$`)

// parseNumber reads a number from 0 to maxNumber, and multiplies it by unit. It accepts
// what people and programs write, such as 1e+09, 5.0, 2.5 or 1,000,000, and rounds.
func parseNumber(field []byte, unit int64) (n int64, ok bool) {
	for _, c := range field {
		d := int64(c) - '0'
		if d < 0 || d > 9 || n > (maxNumber/unit-d)/10 {
			text := string(field)
			if thousands.MatchString(text) {
				text = strings.ReplaceAll(text, ",", "")
			}
			f, err := strconv.ParseFloat(text, 64)
			f = math.Round(f * float64(unit))
			return int64(f), err == nil && f >= 0 && f <= maxNumber
		}
		n = 10*n + d
	}
	return n * unit, len(field) > 0
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
