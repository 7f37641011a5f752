package sched

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Observer is a scheduler model that learns from the events of a cluster.
// Drivers find out by type assertion whether a model is an Observer.
type Observer interface {
	// Observe tells the scheduler model of an event. The View already contains
	// the event's effect.
	Observe(v *state.View, e Event)
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
	JobSubmitted EventKind = iota // a job was submitted; Job is set
	JobEnded                      // a job ended; Job is set
	TaskStarted                   // a task attempt started; Job, Task and Node are set
	TaskEnded                     // a task attempt ended; Job, Task, Node and Failed are set
	NodeReported                  // a node sent a heartbeat; Node and Sample are set
	Confirmed                     // a decision was carried out; Decision, Job, Task and Node are set
	Cancelled                     // a decision was given up; Decision is set
)
