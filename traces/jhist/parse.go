package jhist

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/twmb/avro"

	"heddle/traces"
	"heddle/traces/mend"
)

// The encodings of a history, as its first line names them.
const (
	avroJSON   = "Avro-Json"
	avroBinary = "Avro-Binary"
)

// Limits of what a history may say.
const (
	// maxIndex bounds the numbers of tasks and attempts, which are indexes of
	// arrays in other packages.
	maxIndex = 16 << 20
	// maxMs bounds times. It is in the year 2200.
	maxMs = 7258118400000
	// maxCount bounds counters.
	maxCount = 1 << 60
)

// CutOffError is the error for a file that ends inside an event, as the files of
// running and crashed jobs do.
type CutOffError struct {
	Events int   // read before the cut
	Offset int64 // byte at which the incomplete event begins
	Err    error
}

func (e *CutOffError) Error() string {
	return fmt.Sprintf("read job history: cut off at byte %d, after %d events: %v", e.Offset, e.Events, e.Err)
}

func (e *CutOffError) Unwrap() error { return e.Err }

// maxLineBytes bounds the lines of the schema and of events in JSON.
const maxLineBytes = 256 << 20

// Parse reads a history file. It returns the job and the number of events read.
// With a *CutOffError the job is complete up to the end of the file; with any other
// error it is nil. Events that do not fit the file's schema are left out.
// Impossible times and numbers are replaced.
func Parse(in io.Reader) (job *Job, events int, err error) { return parse(in, &mend.Log{}) }

// parse is Parse, and notes in log what it left out or replaced.
func parse(in io.Reader, log *mend.Log) (*Job, int, error) {
	p := &parser{
		in:       bufio.NewReaderSize(in, 1<<18),
		log:      log,
		job:      &Job{Counters: traces.NoCounters, DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReduces: -1},
		tasks:    map[string]*Task{},
		attempts: map[string]*Attempt{},
		names:    map[string]string{},
	}
	err := p.parse()
	var cut *CutOffError
	if err != nil && !errors.As(err, &cut) {
		return nil, p.events, err
	}
	for kind, n := range map[string]*int32{"MAP": &p.job.Maps, "REDUCE": &p.job.Reduces} {
		if *n < 0 {
			*n = 0
			for _, t := range p.job.Tasks {
				if t.Type == kind {
					*n++
				}
			}
		}
	}
	return p.job, p.events, err
}

type parser struct {
	in      *bufio.Reader
	schema  *avro.Schema
	offset  int64 // in the file
	start   int64 // of the event under way
	events  int   // read, unknown ones included
	log     *mend.Log
	refused error // by the log

	job      *Job
	tasks    map[string]*Task
	attempts map[string]*Attempt
	names    map[string]string // texts that repeat, each kept once
	event    event
}

func (p *parser) parse() error {
	form, _ := p.line() // an end of file is found below
	name := string(bytes.TrimSpace(form))
	if name != avroJSON && name != avroBinary {
		return fmt.Errorf("read job history: line 1 is %.40q, not Avro-Json or Avro-Binary: not a .jhist file", name)
	}
	schema, err := p.line()
	if err != nil && len(schema) == 0 {
		return fmt.Errorf("read job history: line 2, the schema, is missing: %w", err)
	}
	p.schema, err = avro.Parse(string(schema))
	if err != nil {
		return fmt.Errorf("read job history: line 2 is not an Avro schema: %w", err)
	}
	if name == avroJSON {
		return p.parseJSON()
	}
	return p.parseBinary()
}

// line reads the next line, with its newline.
func (p *parser) line() ([]byte, error) {
	var line []byte
	for {
		part, err := p.in.ReadSlice('\n')
		p.offset += int64(len(part))
		if err == nil && line == nil {
			return part, nil
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLineBytes {
			return line, fmt.Errorf("line of more than %d bytes", maxLineBytes)
		}
	}
}

// parseJSON reads events, each on a line of its own. An event that does not fit the
// schema is left out. If it is the last line, without a newline, the file was cut
// off.
func (p *parser) parseJSON() error {
	for p.refused == nil {
		p.start = p.offset
		line, readErr := p.line()
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			p.event = event{}
			err := p.schema.DecodeJSON(line, &p.event, avro.SkipUnknown())
			if err != nil && readErr != nil {
				return &CutOffError{p.events, p.start, errors.Join(err, notEOF(readErr))}
			}
			p.take(err)
		}
		if readErr != nil {
			if err := notEOF(readErr); err != nil {
				return &CutOffError{p.events, p.offset, err}
			}
			break
		}
	}
	return p.refused
}

// parseBinary reads events without anything between them. It cannot find the next
// event after one that is damaged, and stops there.
func (p *parser) parseBinary() error {
	data, err := io.ReadAll(p.in)
	if err != nil {
		return fmt.Errorf("read job history: %w", err)
	}
	for len(data) > 0 && p.refused == nil {
		p.start, p.event = p.offset, event{}
		rest, err := p.schema.Decode(data, &p.event, avro.SkipUnknown())
		if err != nil {
			// A field may have another type than in other versions of Hadoop.
			var other any
			var otherErr error
			rest, otherErr = p.schema.Decode(data, &other)
			if otherErr != nil {
				return &CutOffError{p.events, p.offset, otherErr}
			}
		}
		p.take(err)
		p.offset += int64(len(data) - len(rest))
		data = rest
	}
	return p.refused
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// mend notes a defect of the event that is being read.
func (p *parser) mend(kind mend.Kind, about string) {
	if p.refused == nil {
		p.refused = p.log.Add(kind, fmt.Sprintf("byte %d", p.start), about)
	}
}

// take adds p.event to the job, unless it was unreadable. Later events replace
// earlier ones: a second ApplicationMaster repeats events of the first, and a map
// that succeeded may be killed later with its node.
func (p *parser) take(unreadable error) {
	p.events++
	if unreadable != nil {
		p.mend(badEvents, unreadable.Error())
		return
	}
	j, r := p.job, &p.event.Record
	if r.JobID != "" {
		j.ID = r.JobID
	}
	p.putRight(r)
	switch p.event.Type {
	case "AM_STARTED":
		j.AMHosts = append(j.AMHosts, p.name(r.NodeManagerHost))
	case "JOB_SUBMITTED":
		j.Name, j.User, j.Queue, j.SubmitMs = r.JobName, r.UserName, r.JobQueueName, r.SubmitTime
	case "JOB_QUEUE_CHANGED":
		j.Queue = r.JobQueueName
	case "JOB_INFO_CHANGED":
		j.SubmitMs, j.LaunchMs = r.SubmitTime, r.LaunchTime
	case "JOB_INITED":
		j.LaunchMs, j.Maps, j.Reduces, j.Uberized = r.LaunchTime, r.TotalMaps, r.TotalReduces, r.Uberized
	case "JOB_STATUS_CHANGED":
		j.Status = r.JobStatus
	case "JOB_FINISHED":
		j.FinishMs, j.Status, j.Outcome = r.FinishTime, "SUCCEEDED", traces.Succeeded
		j.Counters = p.counters(&r.TotalCounters)
		p.jobCounters(&r.TotalCounters)
	case "JOB_FAILED", "JOB_KILLED", "JOB_ERROR":
		j.FinishMs, j.Status, j.Diagnostics = r.FinishTime, r.JobStatus, r.Diagnostics
		j.Outcome = traces.Failed
		if p.event.Type == "JOB_KILLED" {
			j.Outcome = traces.Killed
		}
	case "TASK_STARTED":
		t := p.task(r)
		t.StartMs, t.SplitHosts = r.StartTime, p.hosts(r.SplitLocations)
	case "TASK_FINISHED":
		t := p.task(r)
		t.FinishMs, t.Status, t.Winner = r.FinishTime, p.name(r.Status), r.SuccessfulAttemptID
	case "TASK_FAILED":
		t := p.task(r)
		t.FinishMs, t.Status, t.Winner = r.FinishTime, p.name(r.Status), ""
	case "MAP_ATTEMPT_STARTED", "REDUCE_ATTEMPT_STARTED", "SETUP_ATTEMPT_STARTED", "CLEANUP_ATTEMPT_STARTED":
		a := p.attempt(r)
		a.StartMs, a.Container, a.Host = r.StartTime, r.ContainerID, p.host(r.TrackerName)
		a.Locality, a.Avataar = p.name(r.Locality), p.name(r.Avataar)
	case "MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED", "SETUP_ATTEMPT_FINISHED", "CLEANUP_ATTEMPT_FINISHED",
		"MAP_ATTEMPT_FAILED", "REDUCE_ATTEMPT_FAILED", "SETUP_ATTEMPT_FAILED", "CLEANUP_ATTEMPT_FAILED",
		"MAP_ATTEMPT_KILLED", "REDUCE_ATTEMPT_KILLED", "SETUP_ATTEMPT_KILLED", "CLEANUP_ATTEMPT_KILLED":
		p.attemptEnd(r)
	}
}

// putRight replaces impossible times and numbers of tasks. A time becomes that of
// the job's submission. A number of tasks becomes -1, which parse replaces by the
// number of tasks in the file.
func (p *parser) putRight(r *record) {
	for _, ms := range [...]*int64{
		&r.SubmitTime, &r.LaunchTime, &r.StartTime, &r.FinishTime, &r.MapFinishTime, &r.ShuffleFinishTime, &r.SortFinishTime,
	} {
		if *ms < 0 || *ms > maxMs {
			p.mend(impossibleTime, strconv.FormatInt(*ms, 10))
			*ms = p.job.SubmitMs
		}
	}
	for _, n := range [...]*int32{&r.TotalMaps, &r.TotalReduces} {
		if *n < 0 || *n >= maxIndex {
			p.mend(oddTotal, strconv.Itoa(int(*n)))
			*n = -1
		}
	}
}

func (p *parser) attemptEnd(r *record) {
	a := p.attempt(r)
	_, ending, _ := strings.Cut(p.event.Type, "_ATTEMPT_")
	a.Status = "SUCCEEDED"
	if ending != "FINISHED" {
		a.Status = p.name(ending)
	}
	a.FinishMs, a.Error, a.Rack = r.FinishTime, r.Error, p.host(r.RackName)
	if a.Host == "" {
		a.Host = p.host(r.Hostname)
	}
	a.MapFinishMs, a.ShuffleFinishMs, a.SortFinishMs = r.MapFinishTime, r.ShuffleFinishTime, r.SortFinishTime
	a.Counters = p.counters(&r.Counters)
}

func (p *parser) task(r *record) *Task {
	t := p.tasks[r.TaskID]
	if t == nil {
		t = &Task{ID: r.TaskID, Type: p.name(r.TaskType)}
		p.tasks[t.ID] = t
		p.job.Tasks = append(p.job.Tasks, t)
	}
	return t
}

func (p *parser) attempt(r *record) *Attempt {
	a := p.attempts[r.AttemptID]
	if a == nil {
		t := p.task(r)
		a = &Attempt{ID: r.AttemptID, Counters: traces.NoCounters}
		p.attempts[a.ID] = a
		t.Attempts = append(t.Attempts, a)
	}
	return a
}

// host returns "" for the names that Hadoop writes for attempts without a
// container.
func (p *parser) host(name string) string {
	if name == "UNKNOWN" || name == "N/A" {
		return ""
	}
	return p.name(name)
}

func (p *parser) hosts(list string) []string {
	var hosts []string
	for h := range strings.SplitSeq(list, ",") {
		if h != "" {
			hosts = append(hosts, p.name(h))
		}
	}
	return hosts
}

func (p *parser) name(s string) string {
	kept, ok := p.names[s]
	if !ok {
		kept = strings.Clone(s)
		p.names[kept] = kept
	}
	return kept
}
