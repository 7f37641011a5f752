package jhist

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/twmb/avro"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// The encodings of a history file. The first line of the file names its
// encoding.
const (
	avroJSON   = "Avro-Json"
	avroBinary = "Avro-Binary"
	// anotherFile begins a history that stands behind another in one file. No event begins so.
	anotherFile = "Avro-"
)

// Limits that protect the reader from damaged or hostile files.
const (
	// maxIndex limits task indexes and attempt numbers, since other packages use
	// them as indexes of arrays.
	maxIndex = 16 << 20
	// maxCount is the greatest value of a counter.
	maxCount = 1 << 60
)

// CutOffError is the error for a history file that ends inside an event, as
// files of running and crashed jobs do.
type CutOffError struct {
	Events int   // number of complete events read
	Offset int64 // byte offset in the file at which the incomplete event begins
	Err    error
}

func (e *CutOffError) Error() string {
	return fmt.Sprintf("read job history: cut off at byte %d, after %d events: %v", e.Offset, e.Events, e.Err)
}

func (e *CutOffError) Unwrap() error { return e.Err }

// maxLineBytes is the greatest length of a line in a history file. A line is the
// schema or an event in JSON.
const maxLineBytes = 256 << 20

// Parse reads a history file. It returns the job and the number of events that
// were read. With a *CutOffError the job has all events up to the end of the
// file; with any other error the job is nil. Events that do not fit the file's
// schema are left out. Impossible times and numbers are replaced.
func Parse(in io.Reader) (job *Job, events int, err error) { return parse(in, &mend.Log{}) }

// readBytes is the number of bytes of a file that are read at a time.
const readBytes = 1 << 18

// parse does the same as Parse, and records in log what it left out or replaced.
func parse(in io.Reader, log *mend.Log) (*Job, int, error) {
	p := &parser{
		in:  bufio.NewReaderSize(in, readBytes),
		log: log,
		job: &Job{
			Counters: traces.NoCounters, DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReduces: -1,
		},
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
	for _, t := range p.job.Tasks { // a JobTracker need not write that a task whose output was lost succeeded again
		for _, a := range t.Attempts {
			if t.Status == "" && a.Status == "SUCCEEDED" && p.job.Outcome == traces.Succeeded {
				t.Status, t.FinishMs, t.Winner = a.Status, a.FinishMs, a.ID
			}
		}
	}
	p.job.align(p.mend)
	return p.job, p.events, cmp.Or(err, p.refused)
}

type parser struct {
	in      *bufio.Reader
	schema  *avro.Schema
	offset  int64 // number of bytes of the file read so far
	start   int64 // byte offset in the file at which the current event begins
	events  int   // number of events read, including those of unknown types
	log     *mend.Log
	refused error // error for the first defect of the file; set only if the import is strict and accepts no defect

	job      *Job
	tasks    map[string]*Task
	attempts map[string]*Attempt
	names    map[string]string // strings that occur often in the file, kept so that equal strings share memory
	event    event
}

func (p *parser) parse() error {
	if head, _ := p.in.Peek(beginBytes); textRecord.Match(head) { // line below meets the error
		return p.parseText()
	}
	form, _ := p.line() // a read error needs no check here: the checks of lines 1 and 2 below find it
	name := string(bytes.TrimSpace(form))
	if name != avroJSON && name != avroBinary {
		return fmt.Errorf("read job history: line 1 is %.40q, not Avro-Json, Avro-Binary or Meta: no job history", name)
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

// The method line reads the next line of the history file, including the
// newline.
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

// parseJSON reads events in JSON, one on each line. An event that does not fit
// the schema is left out. If it is on a last line without a newline, the error
// says that the file was cut off.
func (p *parser) parseJSON() error {
	for p.refused == nil {
		if head, _ := p.in.Peek(len(anotherFile)); p.events > 0 && string(head) == anotherFile {
			break
		}
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

// parseBinary reads events in the binary encoding. Nothing separates the events,
// so it stops at the first damaged event.
func (p *parser) parseBinary() error {
	data, err := io.ReadAll(p.in)
	if err != nil {
		return fmt.Errorf("read job history: %w", err)
	}
	for len(data) > 0 && p.refused == nil {
		if bytes.HasPrefix(data, []byte(anotherFile)) {
			p.in.Reset(bytes.NewReader(data))
			break
		}
		p.start, p.event = p.offset, event{}
		rest, err := p.schema.Decode(data, &p.event, avro.SkipUnknown())
		if err != nil {
			// A field may have another type than in other versions of Hadoop. The event is
			// decoded again without types, only to find its end, and is left out.
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

// The method mend records a defect of the event that is being read.
func (p *parser) mend(kind mend.Kind, about string) {
	if p.refused == nil {
		p.refused = p.log.Add(kind, fmt.Sprintf("byte %d", p.start), about)
	}
}

// The method take adds the current event of the history file to the job, unless
// it could not be decoded. A later event replaces an earlier one, since a second
// ApplicationMaster repeats events of the first. A map that succeeded may be killed
// or fail later, because its node was lost or reduces could not fetch its output. It
// ran until it succeeded.
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
		j.amStartMs = cmp.Or(j.amStartMs, r.StartTime)
	case "JOB_SUBMITTED":
		j.Name, j.User, j.Queue, j.SubmitMs = r.JobName, r.UserName, r.JobQueueName, r.SubmitTime
	case "JOB_QUEUE_CHANGED":
		j.Queue = r.JobQueueName
	case "JOB_PRIORITY_CHANGED":
		j.Priority = format.Priority(r.Priority)
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

// putRight replaces impossible times and numbers of tasks in an event. An
// impossible time becomes that of the job's submission. An impossible number of
// tasks becomes -1; parse replaces it by the number of tasks in the file.
func (p *parser) putRight(r *record) {
	for _, ms := range [...]*int64{
		&r.SubmitTime, &r.LaunchTime, &r.StartTime, &r.FinishTime, &r.MapFinishTime, &r.ShuffleFinishTime, &r.SortFinishTime,
	} {
		if *ms < 0 || *ms > format.LatestMs {
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
	if a.Status == "SUCCEEDED" && a.FinishMs > 0 && ending != "FINISHED" {
		p.mend(takenBack, a.ID)
		a.Status, a.Error = p.name(ending), r.Error
		t := p.task(r)
		t.FinishMs, t.Status, t.Winner = 0, "", ""
		return
	}
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
	// Each map of an ApplicationMaster reads at least its split from the job's file system.
	c := &a.Counters
	local := c.HDFSReadBytes < 0 && c.HDFSWrittenBytes < 0 && c.FileReadBytes > 0
	if strings.HasPrefix(p.event.Type, "MAP") && !p.job.JobTracker && local {
		p.mend(localInput, a.ID)
		c.HDFSReadBytes = c.FileReadBytes
	}
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

// host returns the name of a host. For "UNKNOWN" and "N/A", which Hadoop writes
// for attempts without a container, it returns "".
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
