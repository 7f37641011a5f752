package tracefile

import (
	"fmt"
	"maps"
	"slices"

	"heddle/traces"
)

// sanity checks the events of a trace. It adds impossible values, and events
// that contradict each other, to the report. It needs memory for each task and
// attempt.
type sanity struct {
	report    *Report
	list      *traces.ListRules
	n         int64 // number of the event that is being checked, counted from 1 in the trace
	last      traces.Time
	nodes     map[traces.Node]bool // nodes of the cluster, from the header; empty if the trace does not name them
	jobs      map[traces.JobID]*jobState
	tasks     map[traces.Task]*taskState
	apps      map[traces.JobID]*sparkState
	decisions map[int64]bool
}

type jobState struct {
	submitted bool
	finished  bool
	succeeded bool
	// Index 0 of these arrays is for maps, index 1 for reduces. claimed is the
	// number of tasks that the job reported, scheduled the number of tasks that
	// were scheduled. over is true if a task's index was too high for the number
	// that the job reported.
	claimed   [2]int64
	scheduled [2]int64
	over      [2]bool
}

type taskState struct {
	finished bool
	attempts []attemptState
}

type attemptState struct {
	number  int32
	started traces.Time
	ended   bool
	outcome traces.Outcome
}

func newSanity(h traces.Header, r *Report) *sanity {
	s := &sanity{
		report: r, list: h.List, nodes: map[traces.Node]bool{}, jobs: map[traces.JobID]*jobState{},
		tasks: map[traces.Task]*taskState{}, apps: map[traces.JobID]*sparkState{}, decisions: map[int64]bool{},
	}
	for _, n := range h.Cluster.Nodes {
		s.nodes[n.Node] = true
	}
	checkHeader(h, func(what string, _ bool) { s.impossible("header: %s", what) })
	return s
}

func (s *sanity) warn(format string, args ...any) {
	s.warnAt(s.n, format, args...)
}

func (s *sanity) warnAt(event int64, format string, args ...any) {
	if len(s.report.Warnings) == maxFindings {
		s.report.DroppedWarnings++
		return
	}
	s.report.Warnings = append(s.report.Warnings, Finding{Event: event, What: fmt.Sprintf(format, args...)})
}

func (s *sanity) impossible(format string, args ...any) {
	if len(s.report.Impossible) == maxFindings {
		s.report.DroppedImpossible++
		return
	}
	s.report.Impossible = append(s.report.Impossible, Finding{Event: s.n, What: fmt.Sprintf(format, args...)})
}

func (s *sanity) add(e traces.Event) {
	s.n++
	traces.OutOfRange(e, func(what string, _ bool) { s.impossible("%v: %s", e.Kind(), what) })
	if t := e.At(); s.n > 1 && t < s.last {
		s.warn("%v at %d ns comes after one at %d ns", e.Kind(), t, s.last)
	} else {
		s.last = t
	}
	switch e := e.(type) {
	case *traces.NodeUp:
		s.nodes[e.Node] = true
	case *traces.NodeDown:
		s.node(e.Node)
	case *traces.NodeSample:
		s.node(e.Node)
	case *traces.NodeCapacity:
		s.node(e.Node)
	case *traces.NodeSpeed:
		s.node(e.Node)
	case *traces.Decision:
		s.decisions[e.ID] = true
	case *traces.Actuation:
		if !s.decisions[e.Decision] {
			s.warn("actuation of decision %d: no such decision was made", e.Decision)
		}
	default:
		if e.Kind().IsSpark() {
			s.spark(e)
		} else {
			s.addJob(e)
		}
	}
}

// addJob checks an event of a job, a task or an attempt.
func (s *sanity) addJob(e traces.Event) {
	switch e := e.(type) {
	case *traces.JobSubmitted:
		if s.jobs[e.Job] != nil {
			s.warn("%s is submitted again", e.Job)
		}
		s.jobs[e.Job] = &jobState{submitted: true, claimed: [2]int64{int64(e.Maps), int64(e.Reduces)}}
	case *traces.JobListed:
		if s.jobs[e.Job] != nil {
			s.warn("%s is listed again", e.Job)
		}
		s.jobs[e.Job] = &jobState{submitted: true, finished: true}
		if s.list == nil {
			s.warn("%s is listed, and the header has no rules for lists", e.Job)
		} else if err := s.list.Check(e); err != nil {
			s.impossible("jobListed: %s: %v", e.Job, err)
		}
	case *traces.JobStarted:
		s.job(e.Job)
	case *traces.JobFinished:
		j := s.job(e.Job)
		if j.finished {
			s.warn("%s finishes again", e.Job)
		}
		j.finished, j.succeeded = true, e.Outcome == traces.Succeeded
	case *traces.TaskScheduled:
		s.taskOf(s.job(e.Task.Job), e.Task)
		if s.tasks[e.Task] != nil {
			s.warn("%v is scheduled again", e.Task)
		}
		s.tasks[e.Task] = &taskState{}
	case *traces.TaskFinished:
		s.taskFinished(e)
	case *traces.AttemptStarted:
		s.attemptStarted(e)
	case *traces.AttemptFinished:
		s.attemptFinished(e)
	}
}

func (s *sanity) taskFinished(e *traces.TaskFinished) {
	t := s.task(e.Task)
	if t.finished {
		s.warn("%v finishes again", e.Task)
	}
	t.finished = true
	if e.Outcome != traces.Succeeded {
		return
	}
	if a := t.find(e.Winner); a == nil || !a.ended || a.outcome == traces.Unfinished {
		s.warn("%v succeeds by attempt %d: that attempt has not ended", e.Task, e.Winner)
	}
}

func (s *sanity) attemptStarted(e *traces.AttemptStarted) {
	t := s.task(e.Attempt.Task)
	s.node(e.Node)
	if e.SplitLocality == traces.LevelCache {
		s.warn("%v has split locality %v", e.Attempt, e.SplitLocality)
	}
	if t.find(e.Attempt.Number) != nil {
		s.warn("%v starts again", e.Attempt)
		return
	}
	t.attempts = append(t.attempts, attemptState{number: e.Attempt.Number, started: e.T})
}

func (s *sanity) attemptFinished(e *traces.AttemptFinished) {
	t := s.task(e.Attempt.Task)
	a := t.find(e.Attempt.Number)
	switch {
	case a == nil:
		if !e.Unlaunched {
			s.warn("%v finishes and has not started", e.Attempt)
		}
		t.attempts = append(t.attempts, attemptState{number: e.Attempt.Number, started: e.T, ended: true, outcome: e.Outcome})
		return
	case a.ended:
		s.warn("%v finishes again", e.Attempt)
	case e.Unlaunched:
		s.warn("%v has started and ends as unlaunched", e.Attempt)
	}
	a.ended, a.outcome = true, e.Outcome
	at := a.started
	for _, p := range []struct {
		name string
		t    traces.Time
	}{{"map", e.MapDone}, {"shuffle", e.ShuffleDone}, {"sort", e.SortDone}} {
		if p.t == 0 {
			continue
		}
		if p.t < at || p.t > e.T {
			s.warn("%v: the end of its %s at %d ns is not between %d and %d ns", e.Attempt, p.name, p.t, at, e.T)
			continue
		}
		at = p.t
	}
}

// The method end warns of jobs and attempts that do not end, if the trace is
// complete.
func (s *sanity) end(complete bool) {
	if !complete {
		return
	}
	jobs, attempts := 0, 0
	for _, j := range s.jobs {
		if !j.finished {
			jobs++
		}
	}
	for _, t := range s.tasks {
		for _, a := range t.attempts {
			if !a.ended {
				attempts++
			}
		}
	}
	if jobs > 0 {
		s.warnAt(0, "%d jobs do not finish", jobs)
	}
	if attempts > 0 {
		s.warnAt(0, "%d attempts do not finish", attempts)
	}
}

func (s *sanity) node(n traces.Node) {
	if len(s.nodes) > 0 && !s.nodes[n] {
		s.warn("node %q is not in the header and did not come up", n)
		s.nodes[n] = true
	}
}

func (s *sanity) job(id traces.JobID) *jobState {
	j := s.jobs[id]
	if j == nil {
		s.warn("%s was not submitted", id)
		j = &jobState{}
		s.jobs[id] = j
	}
	return j
}

func (s *sanity) task(id traces.Task) *taskState {
	t := s.tasks[id]
	if t == nil {
		s.warn("%v was not scheduled", id)
		t = &taskState{}
		s.tasks[id] = t
	}
	return t
}

// taskOf counts a scheduled task. It warns if the task's index is too high for
// the number of tasks that the job reported.
func (s *sanity) taskOf(j *jobState, t traces.Task) {
	if !j.submitted || !t.Kind.Valid() {
		return
	}
	j.scheduled[t.Kind]++
	if n := j.claimed[t.Kind]; int64(t.Index) >= n && !j.over[t.Kind] {
		j.over[t.Kind] = true
		s.warn("taskScheduled: task.index is %d, and %s has %d %ss", t.Index, t.Job, n, t.Kind)
	}
}

// claims warns of jobs that succeeded although fewer tasks were scheduled than
// the job had reported.
func (s *sanity) claims() {
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[id]
		if !j.succeeded {
			continue
		}
		for kind, n := range j.claimed {
			if j.scheduled[kind] < n {
				s.warnAt(0, "%s says that it has %d %ss, and succeeds with %d", id, n, traces.TaskKind(kind), j.scheduled[kind])
			}
		}
	}
}

func (t *taskState) find(number int32) *attemptState {
	for i := range t.attempts {
		if t.attempts[i].number == number {
			return &t.attempts[i]
		}
	}
	return nil
}
