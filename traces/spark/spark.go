// Package spark reads event logs of Spark 1.3 to 4.x: which applications, queries, stages and
// tasks ran when, on which executors. It does not know where the input of a task was, since no
// event log has that.
//
// An event log is a JSON object a line, in the order in which the driver saw things happen. The
// log of a running or killed application may end at any byte.
package spark

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// Format describes Spark's event logs to package exchange.
var Format = format.Format{
	Name:   "spark",
	About:  "event logs of Spark 1.3 to 4.x, also with zstd, in eventlog_v2_ folders and .inprogress",
	Origin: traces.Recovered,
	Model:  "yarn",
	Detect: func(head []byte) bool {
		head = bytes.TrimLeft(head, " \t\r\n")
		return bytes.HasPrefix(head, []byte(begin+`SparkListener`)) || bytes.HasPrefix(head, []byte(begin+`org.apache.spark.`))
	},
	NewReader: func(im *format.Import) format.Reader { return &reader{Import: im} },
}

// begin is how Spark begins each line.
const begin = `{"Event":"`

// Defects that an import finds in event logs, and what it does about each.
var (
	cutLog    mend.Kind = "an event log that ends inside a line: read without that line (part)"
	badEvent  mend.Kind = "a line of an event log that is no event of Spark: left out (part)"
	longEvent mend.Kind = "a line of an event log that is over 64 MiB long: left out (part)"
	noApp     mend.Kind = "an event log without an application: left out (job)"
	noStart   mend.Kind = "an event log without the start of its application: taken as starting with its first job"
	badTime   mend.Kind = "a time before 1970, before its application or after 2200: taken as that of the application's start"
	oddCount  mend.Kind = "a count below 0 or over 2^60: taken as not reported"
	takenBack mend.Kind = "a task that succeeded, and whose output was lost later: taken as it ended first"
	bareTask  mend.Kind = "a task on an executor that never registered: the executor is taken as there since that task's launch"
)

// mostLine is the length of a line that is read.
const mostLine = 64 << 20

type reader struct {
	*format.Import
	app  *application
	line int64
}

// Read implements format.Reader: it reads an event log, and adds the events of its
// applications. Its memory does not grow with the log but by a few bytes a stage.
func (r *reader) Read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<18)
	r.line, r.app = 0, newApplication(r)
	var text []byte
	for {
		r.line++
		var err error
		text, err = readLine(lines, text[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if bad := r.take(text, err != nil); bad != nil {
			return bad
		}
		if err != nil {
			return r.app.finish()
		}
	}
}

// readLine appends the next line to a text. Of a line that is too long it leaves out the rest.
func readLine(in *bufio.Reader, text []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(text) <= mostLine {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// take takes a line into account, perhaps the last one.
func (r *reader) take(line []byte, last bool) error {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	if len(line) > mostLine {
		return r.mend(longEvent, fmt.Sprintf("%.40q", line))
	}
	if rest, ok := bytes.CutPrefix(line, []byte(begin)); ok {
		name, _, whole := bytes.Cut(rest, []byte(`"`))
		if whole && takers[kindOf(name)] == nil && line[len(line)-1] == '}' {
			return nil // of a kind that is not needed
		}
	}
	var e event
	err := json.Unmarshal(line, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case err != nil && last:
		return r.mend(cutLog, err.Error())
	case err != nil || e.Event == "":
		return r.mend(badEvent, fmt.Sprintf("%.60q: %v", line, err))
	}
	r.Records++
	name := kindOf([]byte(e.Event))
	take := takers[name]
	if take == nil {
		return nil
	}
	if !r.app.begun && needStart.MatchString(name) {
		e.Timestamp = cmp.Or(e.Timestamp, e.Time, e.Task.Launched, e.Stage.Submitted, e.Submitted)
		if e.Timestamp <= 0 || e.Timestamp > format.LatestMs {
			return r.mend(badEvent, "it is before the application's start")
		}
		if err := errors.Join(r.mend(noStart, "SparkListener"+name), r.app.started(&e)); err != nil {
			return err
		}
	}
	if err := take(r.app, &e); err != nil {
		return err
	}
	return r.app.mended()
}

// needStart are the events that are of an application that has started.
var needStart = regexp.MustCompile(`^(Job|Stage|Task|SQL)`)

// kindOf returns the name of a class of events without its package and what all names begin with.
func kindOf(class []byte) string {
	_, kind, _ := bytes.Cut(class, []byte("SparkListener"))
	return string(kind)
}

func (r *reader) mend(kind mend.Kind, about string) error {
	return r.Log.Add(kind, fmt.Sprintf("line %d", r.line), about)
}
