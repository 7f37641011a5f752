package tracefile

import (
	"fmt"

	"heddle/traces"
)

// sanity looks for events that contradict each other and notes them in a
// report. It keeps one entry a task and attempt.
type sanity struct {
	report    *Report
	n         int64 // number of the event under way
	last      traces.Time
	nodes     map[traces.Node]bool // empty: the trace does not name its nodes
	jobs      map[traces.JobID]*jobState
	tasks     map[traces.Task]*taskState
	decisions map[int64]bool
}

type jobState struct{ submitted, finished bool }

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
		report: r, nodes: map[traces.Node]bool{}, jobs: map[traces.JobID]*jobState{},
		tasks: map[traces.Task]*taskState{}, decisions: map[int64]bool{},
	}
	for _, n := range h.Cluster.Nodes {
		s.nodes[n.Node] = true
	}
	return s
}

func (s *sanity) warn(format string, args ...any) {
	s.warnAt(s.n, format, args...)
}

func (s *sanity) warnAt(event int64, format string, args ...any) {
	if len(s.report.Warnings) == maxWarnings {
		s.report.DroppedWarnings++
		return
	}
	s.report.Warnings = append(s.report.Warnings, Finding{Event: event, What: fmt.Sprintf(format, args...)})
}

func (s *sanity) add(e traces.Event) {
	s.n++
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
	case *traces.JobSubmitted:
		if s.jobs[e.Job] != nil {
			s.warn("%s is submitted again", e.Job)
		}
		s.jobs[e.Job] = &jobState{submitted: true}
	case *traces.JobStarted:
		s.job(e.Job)
	case *traces.JobFinished:
		j := s.job(e.Job)
		if j.finished {
			s.warn("%s finishes again", e.Job)
		}
		j.finished = true
		s.outcome(e.Outcome)
	case *traces.TaskScheduled:
		s.job(e.Task.Job)
		if !e.Task.Kind.Valid() {
			s.warn("%v is no kind of task", e.Task.Kind)
		}
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
	case *traces.Decision:
		s.decisions[e.ID] = true
	case *traces.Actuation:
		if !s.decisions[e.Decision] {
			s.warn("actuation of decision %d, which was not made", e.Decision)
		}
	}
}

func (s *sanity) taskFinished(e *traces.TaskFinished) {
	t := s.task(e.Task)
	if t.finished {
		s.warn("%v finishes again", e.Task)
	}
	t.finished = true
	s.outcome(e.Outcome)
	if e.Outcome != traces.Succeeded {
		return
	}
	if a := t.find(e.Winner); a == nil || !a.ended || a.outcome == traces.Unfinished {
		s.warn("%v succeeds by attempt %d, which has not ended", e.Task, e.Winner)
	}
}

func (s *sanity) attemptStarted(e *traces.AttemptStarted) {
	t := s.task(e.Attempt.Task)
	s.node(e.Node)
	if !e.SplitLocality.Valid() || e.SplitLocality == traces.LevelCache {
		s.warn("%v has split locality %v", e.Attempt, e.SplitLocality)
	}
	if !e.ReplicaLocality.Valid() {
		s.warn("%v has replica locality %v", e.Attempt, e.ReplicaLocality)
	}
	if t.find(e.Attempt.Number) != nil {
		s.warn("%v starts again", e.Attempt)
		return
	}
	t.attempts = append(t.attempts, attemptState{number: e.Attempt.Number, started: e.T})
}

func (s *sanity) attemptFinished(e *traces.AttemptFinished) {
	t := s.task(e.Attempt.Task)
	s.outcome(e.Outcome)
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

// end looks for what should have ended in a complete trace.
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

func (s *sanity) outcome(o traces.Outcome) {
	if !o.Valid() {
		s.warn("%v is no outcome", o)
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
