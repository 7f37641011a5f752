package rumen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/traces/internal/jsonscan"
	"heddle/traces/internal/members"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
)

// Reader reads a trace job by job:
//
//	for r.Next() {
//		events, err := r.Events()
//	}
//	err := r.Err()
type Reader struct {
	// KeepRest keeps the members that Job, Task and Attempt have no field for.
	KeepRest bool
	// Racks are those of hosts that the trace names without one. The Reader
	// tells it the racks that it reads.
	Racks *racks.Table

	scan *jsonscan.Scanner
	log  *mend.Log
	job  Job
	err  error

	maps, reduces []Task
	attempts      []Attempt
	lists         []HostID // split hosts of all tasks
	rest          []byte   // members of all tasks and attempts
	jobRest       []byte

	hosts   []Host
	hostIDs map[string]HostID
	names   map[string]string // users, queues and the like, each kept once
	seen    map[string]int    // jobs by id
	path    []byte            // a host under way
	idPart  []byte            // "200904211745_0001" of the last id of a task
}

// NewReader reads from in, which is not compressed. What it mends goes to log.
func NewReader(in io.Reader, log *mend.Log) *Reader {
	r := &Reader{
		scan: jsonscan.NewScanner(in), log: log, hosts: make([]Host, 1), hostIDs: map[string]HostID{},
		names: map[string]string{}, seen: map[string]int{}, Racks: &racks.Table{},
	}
	r.scan.Wrong = func(offset int64, want string) error {
		return r.log.Add(wrongType, at(offset), "want "+want)
	}
	return r
}

// Reset goes on with another file of the same trace: hosts and job ids are kept.
func (r *Reader) Reset(in io.Reader) {
	wrong := r.scan.Wrong
	r.scan = jsonscan.NewScanner(in)
	r.scan.Wrong = wrong
}

// Mends.
var (
	wrongType   = mend.Kind{Wrong: "a value of another type", Done: "taken as unknown"}
	damaged     = mend.Kind{Wrong: "a record that is not JSON", Done: "left out"}
	cutOff      = mend.Kind{Wrong: "a file that ends inside a record", Done: "read without that record"}
	negative    = mend.Kind{Wrong: "a number below -1", Done: "taken as unknown"}
	hugeCount   = mend.Kind{Wrong: "a number over 2^60", Done: "taken as unknown"}
	hugeTime    = mend.Kind{Wrong: "a time after the year 2200", Done: "taken as unknown"}
	noJobID     = mend.Kind{Wrong: "a job without an id", Done: "given one"}
	jobAgain    = mend.Kind{Wrong: "a job's id that came before", Done: "given a suffix"}
	foreignIDs  = mend.Kind{Wrong: "tasks whose ids are of another job", Done: "taken as the job's they are in"}
	foreignTask = mend.Kind{Wrong: "a task's id that is none of its job's", Done: "numbered by its position"}
	taskAgain   = mend.Kind{Wrong: "a task's id that came before in its job", Done: "given the next free number"}
	foreignTry  = mend.Kind{Wrong: "an attempt's id that is none of its task's", Done: "numbered by its position"}
	tryAgain    = mend.Kind{Wrong: "an attempt's id that came before in its task", Done: "given the next free number"}
	manyTasks   = mend.Kind{Wrong: "a task beyond the first 1,048,576 maps or reduces of a job", Done: "left out"}
	manyTries   = mend.Kind{Wrong: "an attempt beyond the first 2,097,152 of a job", Done: "left out"}
	oddOutcome  = mend.Kind{Wrong: "an outcome that is not Rumen's", Done: "taken as unfinished"}
)

func at(offset int64) string { return "byte " + strconv.FormatInt(offset, 10) }

// Next goes to the next job; false at the end and after an error.
func (r *Reader) Next() bool {
	for r.err == nil {
		if r.scan.Value() {
			r.read()
			if r.scan.Err() == nil {
				r.err = r.finish()
				return r.err == nil
			}
		}
		if r.scan.Err() == nil {
			return false
		}
		r.resync()
	}
	return false
}

// resync steps over a damaged record, if that is allowed.
func (r *Reader) resync() {
	var syntax *jsonscan.SyntaxError
	if !errors.As(r.scan.Err(), &syntax) {
		r.err = r.scan.Err()
		return
	}
	kind := damaged
	if syntax.CutOff {
		kind = cutOff
	}
	if r.err = r.log.Add(kind, at(syntax.Offset), syntax.Reason); r.err == nil {
		r.scan.Resync()
	}
}

// Hosts has the hosts seen so far by HostID; the first is none.
func (r *Reader) Hosts() []Host { return r.hosts }

// Err is nil at the end of a trace.
func (r *Reader) Err() error { return r.err }

// read reads the job at hand.
func (r *Reader) read() {
	s := r.scan
	r.maps, r.reduces, r.attempts = r.maps[:0], r.reduces[:0], r.attempts[:0]
	r.lists, r.rest, r.jobRest, r.idPart = r.lists[:0], r.rest[:0], r.jobRest[:0], r.idPart[:0]
	r.job = Job{SubmitMs: Unknown, LaunchMs: Unknown, FinishMs: Unknown, TotalMaps: Unknown, TotalReduces: Unknown, Offset: s.Offset()}
	j := &r.job
	s.Object()
	for first := true; s.More(&first, '}'); {
		switch key := s.Key(); string(key) {
		case "jobID":
			j.ID = r.id()
			if r.idPart = r.idPart[:0]; strings.HasPrefix(j.ID, "job_") {
				r.idPart = append(r.idPart, j.ID[len("job_"):]...)
			}
		case "jobName":
			j.Name = r.name()
		case "user":
			j.User = r.name()
		case "queue":
			j.Queue = r.name()
		case "priority":
			j.Priority = r.name()
		case "outcome":
			j.Outcome = r.outcome()
		case "submitTime":
			r.time(&j.SubmitMs)
		case "launchTime":
			r.time(&j.LaunchMs)
		case "finishTime":
			r.time(&j.FinishMs)
		case "totalMaps":
			r.count(&j.TotalMaps)
		case "totalReduces":
			r.count(&j.TotalReduces)
		case "mapTasks":
			r.maps = r.tasks(r.maps, 'm')
		case "reduceTasks":
			r.reduces = r.tasks(r.reduces, 'r')
		case "otherTasks": // set-up and clean-up
			raw := s.Raw()
			if len(raw) > 0 && raw[0] == '[' {
				r.tellRacks(raw)
			}
			if r.KeepRest {
				r.jobRest = members.AppendRaw(r.jobRest, "otherTasks", raw)
			}
		default:
			r.keep(&r.jobRest, 0, key)
		}
	}
}

func (r *Reader) tasks(to []Task, letter byte) []Task {
	if r.scan.Array() {
		for first := true; r.scan.More(&first, ']'); {
			if len(to) == maxListed {
				r.mend(manyTasks, r.job.ID)
				r.scan.Skip()
				continue
			}
			to = append(to, noTask)
			r.task(&to[len(to)-1], letter, len(to)-1)
		}
	}
	return to
}

func (r *Reader) task(t *Task, letter byte, position int) {
	s := r.scan
	t.Index, t.foreign = int32(position), true
	if !s.Object() {
		return
	}
	begin := len(r.rest)
	for first := true; s.More(&first, '}'); {
		switch key := s.Key(); string(key) {
		case "taskID":
			text, _ := s.String()
			index, number, part, ok := parseID(text, "task_", letter)
			if t.foreign = !ok || number >= 0 || !r.sameJob(part); !t.foreign {
				t.Index = index
			} else {
				r.keepText(begin, "taskID", text)
			}
		case "taskType":
			text, ok := s.String()
			if ok && string(text) != kindName(letter) {
				r.keepText(begin, "taskType", text)
			}
		case "taskStatus":
			t.Outcome = r.outcome()
		case "startTime":
			r.time(&t.StartMs)
		case "finishTime":
			r.time(&t.FinishMs)
		case "inputBytes":
			r.count(&t.InputBytes)
		case "inputRecords":
			r.count(&t.InputRecords)
		case "outputBytes":
			r.count(&t.OutputBytes)
		case "outputRecords":
			r.count(&t.OutputRecords)
		case "preferredLocations":
			t.hosts.from = len(r.lists)
			r.locations()
			t.hosts.to = len(r.lists)
		case "attempts":
			// Their members must not lie among the task's own.
			own := bytes.Clone(r.rest[begin:])
			r.rest = r.rest[:begin]
			t.attempts.from = len(r.attempts)
			if s.Array() {
				for first := true; s.More(&first, ']'); {
					if len(r.attempts) == maxTries {
						r.mend(manyTries, r.job.ID)
						s.Skip()
						continue
					}
					r.attempts = append(r.attempts, noAttempt)
					r.attempt(letter, len(r.attempts)-1-t.attempts.from)
				}
			}
			t.attempts.to = len(r.attempts)
			begin = len(r.rest)
			r.rest = append(r.rest, own...)
		default:
			r.keep(&r.rest, begin, key)
		}
	}
	t.rest = span{begin, len(r.rest)}
}

func kindName(letter byte) string {
	if letter == 'r' {
		return "REDUCE"
	}
	return "MAP"
}

// locations appends the hosts of a list of {"layers":[rack, host]}.
func (r *Reader) locations() {
	s := r.scan
	if !s.Array() {
		return
	}
	for first := true; s.More(&first, ']'); {
		if id := r.location(); id != 0 {
			r.lists = append(r.lists, id)
		}
	}
}

func (r *Reader) location() HostID {
	s := r.scan
	r.path = r.path[:0]
	if !s.Object() {
		return 0
	}
	for first := true; s.More(&first, '}'); {
		if string(s.Key()) != "layers" {
			s.Skip()
			continue
		}
		if s.Array() {
			for first := true; s.More(&first, ']'); {
				layer, _ := s.String()
				r.path = append(append(r.path, '/'), layer...)
			}
		}
	}
	if s.Err() != nil {
		return 0
	}
	// A location of one layer has no rack.
	if bytes.Count(r.path, []byte("/")) == 1 {
		return r.host(r.path[1:])
	}
	return r.host(r.path)
}

// host is the id of "/rack/host" or "host".
func (r *Reader) host(path []byte) HostID {
	if len(path) == 0 {
		return 0
	}
	if id, ok := r.hostIDs[string(path)]; ok {
		return id
	}
	whole := strings.Clone(string(path))
	h := splitHost(whole)
	if h.Name == "" {
		return 0
	}
	r.Racks.Tell(h.Name, h.Rack)
	id := HostID(len(r.hosts))
	r.hosts = append(r.hosts, h)
	r.hostIDs[whole] = id
	return id
}

func splitHost(path string) Host {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return Host{Rack: path[:i], Name: path[i+1:]}
	}
	return Host{Name: path}
}

// tellRacks takes the racks out of a list of tasks that are neither maps nor
// reduces.
func (r *Reader) tellRacks(tasks []byte) {
	s := jsonscan.NewScanner(bytes.NewReader(tasks))
	member := func(key string, value func()) {
		if !s.Object() {
			return
		}
		for first := true; s.More(&first, '}'); {
			if string(s.Key()) == key {
				value()
			} else {
				s.Skip()
			}
		}
	}
	for s.Value() {
		member("attempts", func() {
			if !s.Array() {
				return
			}
			for first := true; s.More(&first, ']'); {
				member("hostName", func() {
					path, _ := s.String()
					h := splitHost(string(path))
					r.Racks.Tell(h.Name, h.Rack)
				})
			}
		})
	}
}

// finish puts the parts of the job together, and its ids right.
func (r *Reader) finish() error {
	j := &r.job
	if j.ID == "" {
		j.ID = fmt.Sprintf("job_0_%04d", len(r.seen)+1)
		if err := r.log.Add(noJobID, at(j.Offset), j.ID); err != nil {
			return err
		}
	}
	if len(r.idPart) > 0 && strings.TrimPrefix(j.ID, "job_") != string(r.idPart) {
		if err := r.log.Add(foreignIDs, at(j.Offset), j.ID); err != nil {
			return err
		}
	}
	for first := j.ID; r.seen[j.ID] > 0; {
		if j.ID == first {
			if err := r.log.Add(jobAgain, at(j.Offset), j.ID); err != nil {
				return err
			}
		}
		r.seen[first]++
		j.ID = fmt.Sprintf("%s.%d", first, r.seen[first])
	}
	r.seen[j.ID]++
	j.Maps, j.Reduces, j.Rest = r.maps, r.reduces, r.jobRest
	if err := r.finishTasks(j.Maps); err != nil {
		return err
	}
	return r.finishTasks(j.Reduces)
}

func (r *Reader) finishTasks(tasks []Task) error {
	for i := range tasks {
		t := &tasks[i]
		t.Hosts = r.lists[t.hosts.from:t.hosts.to]
		t.Attempts = r.attempts[t.attempts.from:t.attempts.to]
		t.Rest = r.rest[t.rest.from:t.rest.to]
		if t.foreign {
			if err := r.log.Add(foreignTask, at(r.job.Offset), fmt.Sprintf("%s, task %d", r.job.ID, i)); err != nil {
				return err
			}
		}
		for k := range t.Attempts {
			a := &t.Attempts[k]
			a.Rest = r.rest[a.rest.from:a.rest.to]
			if !a.foreign && !t.foreign && a.index != t.Index {
				a.Number, a.foreign = int32(k), true
			}
			if a.foreign {
				if err := r.log.Add(foreignTry, at(r.job.Offset), fmt.Sprintf("%s, task %d, attempt %d", r.job.ID, i, k)); err != nil {
					return err
				}
			}
		}
		if err := unique(t.Attempts, func(a *Attempt) *int32 { return &a.Number }, func(number int32) error {
			return r.log.Add(tryAgain, at(r.job.Offset), fmt.Sprintf("%s, task %d, attempt %d", r.job.ID, i, number))
		}); err != nil {
			return err
		}
	}
	return unique(tasks, func(t *Task) *int32 { return &t.Index }, func(index int32) error {
		return r.log.Add(taskAgain, at(r.job.Offset), fmt.Sprintf("%s, task %d", r.job.ID, index))
	})
}

// unique gives numbers that come twice the next one above all others. Numbers
// mostly ascend, and then cost nothing.
func unique[T any](list []T, number func(*T) *int32, again func(int32) error) error {
	ascending, top := true, int32(-1)
	for i := range list {
		n := *number(&list[i])
		ascending = ascending && n > top
		top = max(top, n)
	}
	if ascending {
		return nil
	}
	seen := make(map[int32]bool, len(list))
	for i := range list {
		n := number(&list[i])
		if seen[*n] {
			if err := again(*n); err != nil {
				return err
			}
			top++
			*n = top
		}
		seen[*n] = true
	}
	return nil
}

// parseID reads "task_TIMESTAMP_JOB_m_INDEX" or, with a NUMBER behind it, an
// attempt's id. part is "TIMESTAMP_JOB"; number is -1 where there is none.
func parseID(id []byte, prefix string, letter byte) (index, number int32, part []byte, ok bool) {
	if !bytes.HasPrefix(id, []byte(prefix)) {
		return 0, 0, nil, false
	}
	rest := id[len(prefix):]
	i := bytes.IndexByte(rest, '_')
	if i < 0 {
		return 0, 0, nil, false
	}
	k := bytes.IndexByte(rest[i+1:], '_')
	if k < 0 || i+k+4 >= len(rest) || rest[i+k+2] != letter || rest[i+k+3] != '_' {
		return 0, 0, nil, false
	}
	part, rest = rest[:i+1+k], rest[i+k+4:]
	number = -1
	if u := bytes.IndexByte(rest, '_'); u >= 0 {
		if number, ok = digits(rest[u+1:]); !ok {
			return 0, 0, nil, false
		}
		rest = rest[:u]
	}
	index, ok = digits(rest)
	return index, number, part, ok
}

func digits(text []byte) (int32, bool) {
	n := int32(0)
	for _, c := range text {
		if c < '0' || c > '9' || n > maxIndex/10 {
			return 0, false
		}
		n = n*10 + int32(c-'0')
	}
	return n, len(text) > 0 && n < maxIndex
}

// sameJob is true for ids of the job that the first id was of.
func (r *Reader) sameJob(part []byte) bool {
	if len(r.idPart) == 0 {
		r.idPart = append(r.idPart, part...)
	}
	return bytes.Equal(part, r.idPart)
}
