package why

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/nearest"
	"heddle/traces"
	"heddle/traces/printable"
)

// Find explains the attempts of one task, in their order. The text is its id, or that of an
// attempt, as Hadoop writes it, or a job and a task such as 1/m7. If the trace has not
// exactly one such task, the error says what it has.
func Find(h *traces.Header, events iter.Seq[traces.Event], text string) ([]*Explanation, error) {
	w, err := parseWanted(text)
	if err != nil {
		return nil, err
	}
	s := search{wanted: w, jobs: map[traces.JobID]*[2]int32{}}
	var list []*Explanation
	for x := range Each(h, s.watch(events)) {
		if w.matches(x.Attempt) {
			s.found = true
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *Explanation) int { return Compare(a.Attempt, b.Attempt) })
	return list, s.check()
}

// wanted is the task, or the attempt, that a user asks about.
type wanted struct {
	text   string
	job    string // id of the job, or its number; empty: the only job
	kind   traces.TaskKind
	index  int32
	number int32 // -1: all attempts of the task
}

// The forms of a task: Hadoop's ids, and short forms such as 3/m7, m7 and 3/m7/1.
var taskForms = regexp.MustCompile(`^(?:(?:task_|attempt_)?(.*?)[/_ ])?([mr])_?(\d+)(?:[/_](\d+))?$`)

func parseWanted(text string) (wanted, error) {
	parts := taskForms.FindStringSubmatch(text)
	if parts == nil {
		return wanted{}, fmt.Errorf("TASK %q: want the id of a task or an attempt, or a job and a task such as 1/m7 or 1/r0", text)
	}
	w := wanted{text: text, job: parts[1], number: -1}
	if parts[2] == "r" {
		w.kind = traces.Reduce
	}
	index, err := strconv.ParseInt(parts[3], 10, 32)
	if err == nil && parts[4] != "" {
		var n int64
		n, err = strconv.ParseInt(parts[4], 10, 32)
		w.number = int32(n)
	}
	if err != nil {
		return wanted{}, fmt.Errorf("TASK %q: its number is too large", text)
	}
	w.index = int32(index)
	return w, nil
}

func (w *wanted) matchesJob(id traces.JobID) bool {
	name := string(id)
	if w.job == "" || w.job == name || "job_"+w.job == name {
		return true
	}
	number, err := strconv.ParseUint(w.job, 10, 64)
	if err != nil {
		return false
	}
	own, err := strconv.ParseUint(name[strings.LastIndexByte(name, '_')+1:], 10, 64)
	return err == nil && own == number
}

func (w *wanted) matches(a traces.Attempt) bool {
	return a.Kind == w.kind && a.Index == w.index && (w.number < 0 || a.Number == w.number) && w.matchesJob(a.Job)
}

// search is what was found of a wanted task.
type search struct {
	wanted wanted
	jobs   map[traces.JobID]*[2]int32 // by job: the number of its maps and reduces that the trace names
	found  bool
}

// watch passes the events of a trace on, and notes which tasks there are.
func (s *search) watch(events iter.Seq[traces.Event]) iter.Seq[traces.Event] {
	return func(yield func(traces.Event) bool) {
		for e := range events {
			switch e := e.(type) {
			case *traces.JobSubmitted:
				s.note(traces.Task{Job: e.Job, Index: e.Maps - 1})
				s.note(traces.Task{Job: e.Job, Kind: traces.Reduce, Index: e.Reduces - 1})
			case *traces.TaskScheduled:
				s.note(e.Task)
			case *traces.AttemptStarted:
				s.note(e.Attempt.Task)
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (s *search) note(t traces.Task) {
	n := s.jobs[t.Job]
	if n == nil {
		n = &[2]int32{}
		s.jobs[t.Job] = n
	}
	if t.Kind.Valid() {
		n[t.Kind] = max(n[t.Kind], t.Index+1)
	}
}

// mostNamed is how many jobs a message names.
const mostNamed = 5

// check returns an error that says what there is, if not exactly one task was found.
func (s *search) check() error {
	w := &s.wanted
	var jobs, names []string
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		names = append(names, string(id))
		if w.matchesJob(id) {
			jobs = append(jobs, string(id))
		}
	}
	switch {
	case len(names) == 0:
		return errors.New("it has no jobs of MapReduce; a task of Spark is named s4/t2")
	case len(jobs) == 0:
		return fmt.Errorf("no job %s: %s", w.job, s.near(names))
	case len(jobs) > 1:
		for i := range jobs {
			jobs[i] = fmt.Sprintf("%s/%s%d", jobs[i], w.kind.Letter(), w.index)
		}
		return fmt.Errorf("%s may be of %d jobs: want one of %s", w.text, len(jobs), printable.First(mostNamed, jobs))
	case s.found:
		return nil
	}
	has := s.jobs[traces.JobID(jobs[0])]
	if w.index >= has[w.kind] {
		return fmt.Errorf("%s has no %s%d: it has %s and %s", jobs[0], w.kind.Letter(), w.index, span("map", has[0]), span("reduce",
			has[1]))
	}
	if w.number >= 0 {
		return fmt.Errorf("%s%d of %s has no attempt %d that got a container; without that number, all are told", w.kind.Letter(),
			w.index, jobs[0], w.number)
	}
	return fmt.Errorf("%s%d of %s never got a container", w.kind.Letter(), w.index, jobs[0])
}

// span says which tasks of a kind there are.
func span(kind string, n int32) string {
	switch n {
	case 0:
		return "no " + kind + "s"
	case 1:
		return "one " + kind + ", " + kind[:1] + "0"
	}
	return fmt.Sprintf("%ss %s0 to %s%d", kind, kind[:1], kind[:1], n-1)
}

// near names the jobs that may be meant.
func (s *search) near(names []string) string {
	if name := cmp.Or(nearest.Name(s.wanted.job, names), nearest.Name("job_"+s.wanted.job, names)); name != "" {
		return "did you mean " + name + "?"
	}
	return "it has " + printable.First(mostNamed, names)
}
