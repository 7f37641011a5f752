package sched

import (
	"fmt"

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

// Ticker is a scheduler model with a clock. Drivers find out with As whether a
// model is a Ticker.
type Ticker interface {
	// PeriodMs returns the time between two calls of Tick, in milliseconds. It is
	// 1 or more, and the same at every call.
	PeriodMs() int64
	// Tick is called at whole multiples of the period, counted from the start of
	// the run, while a job is submitted that has not ended. It changes only the
	// model's own data. On a real cluster a tick may be late, and one that would
	// come after the next is left out: View.Now has the time.
	Tick(v *state.View)
}

// Foreseer is a scheduler model that can use how the capacity of nodes will change.
// Drivers find out with As whether a model is a Foreseer.
type Foreseer interface {
	// Foresee tells the model the timetable of the nodes' capacity, before the first
	// job, as Timetable.Told returns it: it may be late or in error. It is not called
	// if models are told nothing. The model must not change it.
	Foresee(t *state.Timetable)
}

// NextTick returns the time of the first tick of a Ticker with this period after
// the time now. Both times and the period are in the same unit.
func NextTick(now, period int64) int64 { return now - now%period + period }

// CheckPeriod refuses a model that is a Ticker without a possible period.
func CheckPeriod(m Model) error {
	if t, ok := As[Ticker](m); ok && (t.PeriodMs() < 1 || t.PeriodMs() > maxPeriodMs) {
		return fmt.Errorf("model %s: its period between ticks is %d ms: want 1 to %d", m.Name(), t.PeriodMs(), int64(maxPeriodMs))
	}
	return nil
}

const maxPeriodMs = 86_400_000 // a day

// Process is a scheduler model that may fail, as a program of its own decides. Drivers find
// out with As whether a model is a Process.
type Process interface {
	// Start is called once, before anything else. If it fails, nothing is left running.
	Start() error
	// Failed returns why the model can decide no more, nil if it can. A driver asks now
	// and then, and ends the run at an error. The model then decides nothing.
	Failed() error
	// Close ends the program. It is called at the end of the run, also after an error.
	Close() error
}

// Noter is a scheduler model that has figures of its own about a run, besides
// its decisions.
type Noter interface {
	// Notes returns figures of the run so far by name, nil if there are none.
	Notes() map[string]float64
}

// Explainer is a scheduler model that says more of a decision than its reason. Drivers
// that record decisions ask it directly after each.
type Explainer interface {
	// Explain returns names and numbers, such as "pGood=0.25 load=12", of the model's
	// last decision.
	Explain() string
}

// EstimatedBytes is the name before the bytes that a model expects all reduces of a
// decision's job to fetch. Figures of a trace hold these against what was fetched.
const EstimatedBytes = "estimatedBytes"

// Explain returns what the model says of its last decision, nothing if it is no Explainer.
func Explain(m Model) string {
	if x, ok := As[Explainer](m); ok {
		return x.Explain()
	}
	return ""
}

// As returns the model as a T, such as an Observer. If it is none and wraps
// another model, As asks that one. A wrapper has a method Unwrap that returns
// the Model or the NodeModel in it, as PerNode has. Of two composed models, As asks
// the one for maps first. What both have to hear or to tell, the composition passes
// on itself.
func As[T any](m Model) (T, bool) {
	for at := any(m); ; {
		if t, ok := at.(T); ok {
			return t, true
		}
		switch wrapper := at.(type) {
		case interface{ Unwrap() Model }:
			at = wrapper.Unwrap()
		case interface{ Unwrap() NodeModel }:
			at = wrapper.Unwrap()
		case *composed:
			if t, ok := As[T](wrapper.maps); ok {
				return t, true
			}
			at = wrapper.reduces
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
	// Sample is the newest metrics of the node, if the model is a HearsLoad; nil if
	// there are none, as on a cluster without agents. The model must not change it. SampleAgeMs is how
	// long ago the Sample was taken, in milliseconds.
	Sample      *traces.NodeSample
	SampleAgeMs int64
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
	// kind of event: a node sent a heartbeat; the field Node is set, and Sample and SampleAgeMs if the node has a sample
	NodeReported
	Confirmed // kind of event: a decision was carried out; the fields Decision, Job, Task and Node are set
	Cancelled // kind of event: a decision was given up; the field Decision is set
)
