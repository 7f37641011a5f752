package sched

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Observer is a scheduler model that learns from the events of a cluster.
// Drivers find out with As whether a model is an Observer.
type Observer interface {
	// Observe tells the scheduler model of an event. The View already contains
	// the event's effect.
	Observe(v *state.View, e Event)
}

// Noter is a scheduler model that has figures of its own about a run, besides
// its decisions.
type Noter interface {
	// Notes returns figures of the run so far by name, nil if there are none.
	Notes() map[string]float64
}

// As returns the model as a T, such as an Observer. If it is none and wraps
// another model, As asks that one: the NodeModel of a PerNode, or what the
// model's method Unwrap returns.
func As[T any](m Model) (T, bool) {
	for {
		if t, ok := m.(T); ok {
			return t, true
		}
		switch wrapper := m.(type) {
		case PerNode:
			t, ok := wrapper.NodeModel.(T)
			return t, ok
		case interface{ Unwrap() Model }:
			m = wrapper.Unwrap()
		default:
			var none T
			return none, false
		}
	}
}

// Event is something that happened on the cluster. The field What gives the
// kind of event, on which it depends which other fields are set.
type Event struct {
	What EventKind
	Job  state.JobID
	Task state.TaskID
	Node state.NodeID
	// Failed says that the task attempt ended without success.
	Failed bool
	// Decision is the scheduling decision that was confirmed or cancelled. In
	// a Confirmed event, Decision.Task is the task that really started.
	Decision Decision
	// Sample is the metrics that the node reported in its heartbeat; nil if
	// the heartbeat had none.
	Sample *traces.NodeSample
}

// EventKind says what happened to a job, a task, a node or a decision.
type EventKind uint8

// Kinds of event. The comment of each kind lists the fields of Event that are
// set.
const (
	JobSubmitted EventKind = iota // kind of event: a job was submitted; the field Job is set
	JobEnded                      // kind of event: a job ended; the field Job is set
	TaskStarted                   // kind of event: a task attempt started; the fields Job, Task and Node are set
	TaskEnded                     // kind of event: a task attempt ended; the fields Job, Task, Node and Failed are set
	NodeReported                  // kind of event: a node sent a heartbeat; the fields Node and Sample are set
	Confirmed                     // kind of event: a decision was carried out; the fields Decision, Job, Task and Node are set
	Cancelled                     // kind of event: a decision was given up; the field Decision is set
)
