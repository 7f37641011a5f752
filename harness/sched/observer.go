package sched

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Observer is a model that learns from what happens. Drivers find it by type
// assertion.
type Observer interface {
	// Observe is told of an event after the View shows it.
	Observe(v *state.View, e Event)
}

// Event is what an Observer is told. Which fields are set depends on What.
type Event struct {
	What EventKind
	Job  state.JobID
	Task state.TaskID
	Node state.NodeID
	// Failed is true where a task ended without success.
	Failed bool
	// Decision is the one that was confirmed, with Task the one that started,
	// or cancelled.
	Decision Decision
	// Sample is the node's metrics with its heartbeat, nil where there are none.
	Sample *traces.NodeSample
}

// EventKind is what happened.
type EventKind uint8

// Kinds of event.
const (
	JobSubmitted EventKind = iota // Job
	JobEnded                      // Job
	TaskStarted                   // Job, Task, Node
	TaskEnded                     // Job, Task, Node, Failed
	NodeReported                  // Node, Sample
	Confirmed                     // Decision, Job, Task, Node
	Cancelled                     // Decision
)
