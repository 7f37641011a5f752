// Package sls reads and writes the traces of YARN's Scheduler Load Simulator:
// one JSON object a job, and a second file with an object a rack.
//
// Versions differ in how a task says how long it takes (container.duration.ms,
// duration.ms, or container.start.ms and container.end.ms) and in the key of a
// job's type (am.type, yarn.sls.am.type); all are read, alone or in lists, and
// with a first object that only counts nodes. Identical jobs and tasks that a
// file counts come out one by one.
package sls

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/internal/jsonscan"
	"heddle/traces/internal/members"
	"heddle/traces/mend"
)

// Unknown stands for a number that the file does not have.
const Unknown = -1

// Job is one object. It is valid until the Reader's next Next.
type Job struct {
	ID, User, Queue, Label string
	StartMs, EndMs         int64
	Count                  int64 // identical jobs
	Tasks                  []Task
	Members                []byte // what has no field, as JSON without braces
	Offset                 int64
}

// Task is one container, or Count identical ones.
type Task struct {
	Kind           traces.TaskKind
	Count          int64
	Rack, Host     string
	StartMs, EndMs int64
	DurationMs     int64
	DelayMs        int64 // before the container is asked for
	MemoryMB       int64
	VCores         int64
	Members        []byte
}

// Node is a host of a topology file.
type Node struct {
	Rack, Name       string
	MemoryMB, VCores int64
}

// Limits of what a file may count.
const (
	maxCopies = 1 << 16       // of a job
	maxTasks  = 1 << 20       // of a job
	maxMs     = 7258118400000 // of a time: the year 2200
	maxVCores = 1 << 20       // of a container or a node
	// maxLengthMs bounds durations: ten years.
	maxLengthMs = 10 * 365 * 24 * 3600 * 1000
)

// Mends.
var (
	wrongType  = mend.Kind{Wrong: "a value of another type", Done: "taken as unknown"}
	damaged    = mend.Kind{Wrong: "a record that is not JSON", Done: "left out"}
	cutOff     = mend.Kind{Wrong: "a file that ends inside a record", Done: "read without that record"}
	badNumber  = mend.Kind{Wrong: "a number out of its range", Done: "taken as unknown"}
	noJob      = mend.Kind{Wrong: "an object that is no job", Done: "left out"}
	noTasks    = mend.Kind{Wrong: "a job without tasks", Done: "kept without tasks"}
	noStart    = mend.Kind{Wrong: "a job without a start", Done: "taken as started at the job before's"}
	noLength   = mend.Kind{Wrong: "a task without a duration over 0", Done: "taken as 1 ms long"}
	oddKind    = mend.Kind{Wrong: "a task that is neither map nor reduce", Done: "taken as a map"}
	jobAgain   = mend.Kind{Wrong: "a job's id that came before", Done: "given a suffix"}
	manyCopies = mend.Kind{Wrong: "a job of over 65,536 copies or over 1,048,576 tasks", Done: "left out"}
)

func at(offset int64) string { return "byte " + strconv.FormatInt(offset, 10) }

// Reader reads a trace job by job.
type Reader struct {
	scan  *jsonscan.Scanner
	log   *mend.Log
	job   Job
	err   error
	seen  map[string]int
	names map[string]string
	// nodes and racks are what a header object says, 0 where there is none.
	nodes, racks int64
	last         int64 // the last job's start
	madeUp       bool
}

// NewReader reads from in, which is not compressed. What it mends goes to log.
func NewReader(in io.Reader, log *mend.Log) *Reader {
	r := &Reader{scan: jsonscan.NewScanner(in), log: log, seen: map[string]int{}, names: map[string]string{}}
	r.scan.Wrong = func(offset int64, want string) error { return r.log.Add(wrongType, at(offset), "want "+want) }
	return r
}

// Reset goes on with another file of the same trace: job ids are kept.
func (r *Reader) Reset(in io.Reader) {
	wrong := r.scan.Wrong
	r.scan = jsonscan.NewScanner(in)
	r.scan.Wrong = wrong
}

// Next goes to the next job; false at the end and after an error.
func (r *Reader) Next() bool {
	for r.err == nil {
		if r.scan.Value() {
			isJob := r.read()
			if r.scan.Err() == nil {
				if isJob && r.finish() {
					return true
				}
				continue
			}
		}
		if r.scan.Err() == nil {
			return false
		}
		var syntax *jsonscan.SyntaxError
		if !errors.As(r.scan.Err(), &syntax) {
			r.err = r.scan.Err()
			return false
		}
		kind := damaged
		if syntax.CutOff {
			kind = cutOff
		}
		if r.err = r.log.Add(kind, at(syntax.Offset), syntax.Reason); r.err == nil {
			r.scan.Resync()
		}
	}
	return false
}

// Job is the job that Next went to.
func (r *Reader) Job() *Job { return &r.job }

// Counts is what the file's header object says of nodes and racks, 0 where it
// has none.
func (r *Reader) Counts() (nodes, racks int64) { return r.nodes, r.racks }

// Err is nil at the end of a trace.
func (r *Reader) Err() error { return r.err }

// read reads an object; false where it is no job.
func (r *Reader) read() bool {
	s := r.scan
	r.job = Job{StartMs: Unknown, EndMs: Unknown, Count: 1, Tasks: r.job.Tasks[:0], Offset: s.Offset()}
	j, isJob, isHeader, kind := &r.job, false, false, ""
	s.Object()
	for first := true; s.More(&first, '}'); {
		key := s.Key()
		isJob = isJob || strings.HasPrefix(string(key), "job.")
		isHeader = isHeader || strings.HasPrefix(string(key), "num.")
		switch string(key) {
		case "num.nodes":
			r.number(&r.nodes, 0, maxTasks)
		case "num.racks":
			r.number(&r.racks, 0, maxTasks)
		case "job.start.ms":
			r.number(&j.StartMs, 0, maxMs)
		case "job.end.ms":
			r.number(&j.EndMs, 0, maxMs)
		case "job.queue.name":
			j.Queue = r.name()
		case "job.id":
			j.ID = r.name()
		case "job.user":
			j.User = r.name()
		case "job.label.expression":
			j.Label = r.name()
		case "job.count":
			r.number(&j.Count, 0, 1<<62)
		case "job.tasks":
			if s.Array() {
				for first := true; s.More(&first, ']'); {
					r.task()
				}
			}
		case "am.type", "yarn.sls.am.type":
			if text := r.name(); kind == "" {
				kind = text
			}
		default:
			r.keep(&j.Members, key)
		}
	}
	if !isJob && !isHeader && s.Err() == nil {
		r.mend(noJob, "no member of it begins with job.")
	}
	if kind != "" && kind != "mapreduce" {
		j.Members = members.AppendString(j.Members, "am.type", kind)
	}
	return isJob
}

func (r *Reader) task() {
	s := r.scan
	t := Task{
		Count: 1, StartMs: Unknown, EndMs: Unknown, DurationMs: Unknown, DelayMs: 0, MemoryMB: Unknown, VCores: Unknown,
	}
	older, kind := int64(Unknown), "map"
	priority := int64(Unknown)
	if s.Object() {
		for first := true; s.More(&first, '}'); {
			switch key := s.Key(); string(key) {
			case "count":
				r.number(&t.Count, 0, 1<<62)
			case "container.host":
				text, _ := s.String()
				t.Rack, t.Host = r.host(string(text))
			case "container.start.ms":
				r.number(&t.StartMs, 0, maxMs)
			case "container.end.ms":
				r.number(&t.EndMs, 0, maxMs)
			case "container.duration.ms":
				r.number(&t.DurationMs, 0, maxLengthMs)
			case "duration.ms":
				r.number(&older, 0, maxLengthMs)
			case "container.request.delay":
				r.number(&t.DelayMs, 0, maxLengthMs)
			case "container.memory-mb":
				r.number(&t.MemoryMB, 0, 1<<40)
			case "container.vcores":
				r.number(&t.VCores, 0, maxVCores)
			case "container.priority":
				r.number(&priority, 0, 1<<31-1)
			case "container.type":
				kind = r.name()
			default:
				r.keep(&t.Members, key)
			}
		}
	}
	if s.Err() != nil {
		return
	}
	switch kind {
	case "map":
	case "reduce":
		t.Kind = traces.Reduce
	default:
		r.mend(oddKind, kind)
		t.Members = members.AppendString(t.Members, "container.type", kind)
	}
	if priority != Unknown && priority != usualPriority(t.Kind) {
		t.Members = members.AppendInt(t.Members, "container.priority", priority)
	}
	// The order of preference is SLS's own.
	if t.DurationMs < 0 {
		t.DurationMs = older
	}
	if t.DurationMs < 0 && t.StartMs >= 0 && t.EndMs >= 0 {
		t.DurationMs = t.EndMs - t.StartMs
	}
	if t.DurationMs <= 0 {
		r.mend(noLength, fmt.Sprintf("%s, task %d", r.job.ID, len(r.job.Tasks)))
		t.DurationMs = 1
	}
	r.job.Tasks = append(r.job.Tasks, t)
}

// usualPriority is what SLS's converter gives maps and reduces.
func usualPriority(k traces.TaskKind) int64 {
	if k == traces.Reduce {
		return 10
	}
	return 20
}

// host splits "/rack/host".
func (r *Reader) host(path string) (rack, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", r.intern(path)
	}
	return r.intern(path[:i]), r.intern(path[i+1:])
}

// finish puts what is missing in; false where the job is left out.
func (r *Reader) finish() bool {
	j := &r.job
	if j.StartMs < 0 {
		r.add(noStart, j.ID)
		j.StartMs = r.last
	}
	r.last = j.StartMs
	if len(j.Tasks) == 0 {
		r.add(noTasks, j.ID)
	}
	j.Count = max(j.Count, 1)
	if j.Count > maxCopies {
		r.add(manyCopies, fmt.Sprintf("%s: %d jobs", j.ID, j.Count))
		return false
	}
	left := int64(maxTasks)
	for i := range j.Tasks {
		t := &j.Tasks[i]
		t.Count = max(t.Count, 1)
		if t.Count > left {
			r.add(manyCopies, fmt.Sprintf("%s, task %d: %d tasks", j.ID, i, t.Count))
			return false
		}
		left -= t.Count
	}
	return r.err == nil
}

func (r *Reader) add(kind mend.Kind, about string) {
	if r.err == nil {
		r.err = r.log.Add(kind, at(r.job.Offset), about)
	}
}

// unique is an id that no job had before, like id.
func (r *Reader) unique(id string) string {
	again := id
	for first := id; r.seen[again] > 0; {
		if again == first {
			r.add(jobAgain, first)
		}
		r.seen[first]++
		again = fmt.Sprintf("%s.%d", first, r.seen[first])
	}
	r.seen[again]++
	return again
}

func (r *Reader) mend(kind mend.Kind, about string) {
	if err := r.log.Add(kind, at(r.scan.Offset()), about); err != nil {
		r.scan.Fail(err)
	}
}

func (r *Reader) number(to *int64, least, most int64) {
	n, ok := r.scan.Int()
	if ok && n >= least && n <= most {
		*to = n
	} else if ok {
		r.mend(badNumber, strconv.FormatInt(n, 10))
	}
}

func (r *Reader) name() string {
	text, _ := r.scan.String()
	return r.intern(string(text))
}

// maxNames bounds the texts kept for all jobs.
const maxNames = 1 << 16

func (r *Reader) intern(text string) string {
	if kept, ok := r.names[text]; ok {
		return kept
	}
	if len(r.names) == maxNames {
		clear(r.names)
	}
	text = strings.Clone(text)
	r.names[text] = text
	return text
}

func (r *Reader) keep(to *[]byte, key []byte) {
	name := string(key)
	*to = members.AppendRaw(*to, name, r.scan.Raw())
}
