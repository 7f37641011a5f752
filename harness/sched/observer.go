package sched

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Observer is a model that learns from the events of a cluster. Drivers find it
// by type assertion.
type Observer interface {
	// Observe tells the model of an event. The View shows the event already.
	Observe(v *state.View, e Event)
}

// Event is what happened. What says which other fields are set.
type Event struct {
	What EventKind
	Job  state.JobID
	Task state.TaskID
	Node state.NodeID
	// Failed says that a task ended without success.
	Failed bool
	// Decision is the one that was confirmed or cancelled. When confirmed, its
	// Task is the task that started.
	Decision Decision
	// Sample is the node's metrics in its heartbeat, nil if it sent none.
	Sample *traces.NodeSample
}

// EventKind says what happened to a job, a task, a node or a decision.
type EventKind uint8

// Kinds of event, each with the fields of Event that it sets.
const (
	JobSubmitted EventKind = iota // sets Job
	JobEnded                      // sets Job
	TaskStarted                   // sets Job, Task, Node
	TaskEnded                     // sets Job, Task, Node, Failed
	NodeReported                  // sets Node, Sample
	Confirmed                     // sets Decision, Job, Task, Node
	Cancelled                     // sets Decision
)
