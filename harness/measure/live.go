package measure

import (
	"fmt"
	"maps"

	"heddle/traces"
)

// Live follows a run that goes on, by its events so far. It keeps what runs, and no
// event. Its zero value is ready.
type Live struct {
	now      Now
	attempts map[traces.Attempt]bool // that run
}

// Now is what a run that goes on has done so far, and does.
type Now struct {
	At              traces.Time // of the last event
	Jobs, JobsEnded int
	Maps, Reduces   TasksNow
	// Locality counts the maps that have started, by how near they were to a copy of
	// their block.
	Locality Locality
	// Decisions counts those that were made, and Outcomes those whose outcome is known,
	// such as "honoured".
	Decisions int
	Outcomes  map[string]int
}

// TasksNow counts maps or reduces.
type TasksNow struct {
	All, Done int // Done counts those that succeeded, again if their output was lost
	Running   int // attempts
}

// DecisionsText says what became of the decisions.
func (n *Now) DecisionsText() string {
	known := 0
	for _, count := range n.Outcomes {
		known += count
	}
	return fmt.Sprintf("%d decisions, %d of %d honoured", n.Decisions, n.Outcomes["honoured"], known)
}

// Now returns what the run does now. Later events do not change the result.
func (l *Live) Now() Now {
	now := l.now
	now.Outcomes = maps.Clone(l.now.Outcomes)
	return now
}

func (l *Live) tasks(kind traces.TaskKind) *TasksNow {
	if kind == traces.Map {
		return &l.now.Maps
	}
	return &l.now.Reduces
}

// Add takes an event. Events may be missing, or come twice.
func (l *Live) Add(event traces.Event) {
	if l.attempts == nil {
		l.attempts, l.now.Outcomes = map[traces.Attempt]bool{}, map[string]int{}
	}
	l.now.At = max(l.now.At, event.At())
	switch e := event.(type) {
	case *traces.JobSubmitted:
		l.now.Jobs++
		l.now.Maps.All += int(e.Maps)
		l.now.Reduces.All += int(e.Reduces)
	case *traces.JobFinished:
		l.now.JobsEnded++
	case *traces.TaskFinished:
		if e.Outcome == traces.Succeeded {
			l.tasks(e.Task.Kind).Done++
		}
	case *traces.AttemptStarted:
		if l.attempts[e.Attempt] {
			return
		}
		l.attempts[e.Attempt] = true
		l.tasks(e.Attempt.Kind).Running++
		if e.Attempt.Kind == traces.Map {
			l.now.Locality.Add(e.ReplicaLocality)
		}
	case *traces.AttemptFinished:
		if l.attempts[e.Attempt] {
			delete(l.attempts, e.Attempt)
			l.tasks(e.Attempt.Kind).Running--
		}
	case *traces.Decision:
		l.now.Decisions++
	case *traces.Actuation:
		l.now.Outcomes[e.Outcome]++
	}
}
