package steer

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// Observation is something that was learnt of the cluster, or that is asked for.
type Observation struct {
	// Answers is the Number of the Look or of the change that this answers; 0 where
	// it answers none.
	Answers int64 `json:"answers,omitempty"`
	// What is the Look's, "" for a change.
	What What `json:"what,omitempty"`
	// Sent is when the cluster was asked.
	Sent     time.Time `json:"sent,omitzero"`
	Received time.Time `json:"received"`
	// Answer is of the type that What says; nil where there is none.
	Answer any      `json:"answer,omitempty"`
	Err    *Failure `json:"err,omitempty"`
	// Submitted are jobs to come, Released the number of those that have ended.
	Submitted *Submission `json:"submitted,omitempty"`
	Released  string      `json:"released,omitempty"`
}

func (o Observation) error() error {
	if o.Err == nil {
		return nil
	}
	return o.Err
}

// What is what a Look asks for. Its answer is of the type that stands beside it.
type What string

// Questions.
const (
	AskApps         What = "apps"         // []yarnclient.App with Tags
	AskApp          What = "app"          // yarnclient.App, with what it asks for
	AskAppAttempts  What = "appAttempts"  // []yarnclient.AppAttempt of an application
	AskContainers   What = "containers"   // []yarnclient.Container of an application's attempt
	AskRM           What = "rm"           // yarnclient.ClusterInfo
	AskNode         What = "node"         // yarnclient.Node
	AskNodes        What = "nodes"        // []yarnclient.Node, in state Of, "" any
	AskTasks        What = "tasks"        // []yarnclient.Task of an application
	AskTaskAttempts What = "taskAttempts" // []yarnclient.TaskAttempt of a task
	AskJobFiles     What = "jobFiles"     // *JobFiles of an application
	AskReplicas     What = "replicas"     // [][]Replica of an application's maps
)

// DecodeAnswer is an answer of the type that what says, from its JSON.
func DecodeAnswer(what What, data []byte) (any, error) {
	switch what {
	case AskApps:
		return decode[[]yarnclient.App](data)
	case AskApp:
		return decode[yarnclient.App](data)
	case AskAppAttempts:
		return decode[[]yarnclient.AppAttempt](data)
	case AskContainers:
		return decode[[]yarnclient.Container](data)
	case AskRM:
		return decode[yarnclient.ClusterInfo](data)
	case AskNode:
		return decode[yarnclient.Node](data)
	case AskNodes:
		return decode[[]yarnclient.Node](data)
	case AskTasks:
		return decode[[]yarnclient.Task](data)
	case AskTaskAttempts:
		return decode[[]yarnclient.TaskAttempt](data)
	case AskJobFiles:
		return decode[*JobFiles](data)
	case AskReplicas:
		return decode[[][]Replica](data)
	}
	return nil, fmt.Errorf("an answer to %q, which nobody asks", what)
}

func decode[T any](data []byte) (any, error) {
	var answer T
	err := json.Unmarshal(data, &answer)
	return answer, err
}

// Submission are jobs that are steered. Its labels are no other's. Jobs of one
// Submission share them, so they are told apart only if they run one after the
// other.
type Submission struct {
	Number string `json:"number"` // of its triple of labels, "00"
	Tag    string `json:"tag"`    // in lower case
}

// Failure is why there is no answer.
type Failure struct {
	Text string `json:"text"`
	// Is names errors of package yarnclient that it is, or "refused": trying again
	// does not mend it.
	Is []string `json:"is,omitempty"`

	cause error // nil where it was recorded
}

// ErrRefused is that a job cannot be given the splits that were asked for, and that
// trying again does not mend that. Steering ends with it: to let the job run as it
// was submitted would pass it off as what it is not.
var ErrRefused = errors.New("refused")

var failures = map[string]error{
	"refused": ErrRefused, "unreachable": yarnclient.ErrUnreachable, "unauthorized": yarnclient.ErrUnauthorized,
	"notFound": yarnclient.ErrNotFound, "standby": yarnclient.ErrStandby, "unavailable": yarnclient.ErrUnavailable,
	"notRest": yarnclient.ErrNotRest, "badAnswer": yarnclient.ErrBadAnswer, "jobEnded": yarnclient.ErrJobEnded, "noMaster": yarnclient.ErrNoMaster,
}

// failureNames are the keys of failures, in order.
var failureNames = []string{"refused", "unreachable", "unauthorized", "notFound", "standby", "unavailable", "notRest", "badAnswer", "jobEnded", "noMaster"}

// FailureOf is err as a Failure, nil for none.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Text: err.Error(), cause: err}
	for _, name := range failureNames {
		if errors.Is(err, failures[name]) {
			f.Is = append(f.Is, name)
		}
	}
	return f
}

func (f *Failure) Error() string { return f.Text }

// Unwrap returns the errors that it is.
func (f *Failure) Unwrap() []error {
	if f.cause != nil {
		return []error{f.cause}
	}
	var list []error
	for _, name := range f.Is {
		if err := failures[name]; err != nil {
			list = append(list, err)
		}
	}
	return list
}

// JobFiles is what a job's staged files say of it before it runs.
type JobFiles struct {
	Spec state.JobSpec // without nodes
	// Splits are, by map, the hosts that its ApplicationMaster reads; Blocks where
	// its input is, nil: where Splits says.
	Splits [][]string
	Blocks [][]Replica
	Beat   time.Duration // between its master's heartbeats
	// ReduceAfter is how many maps are done before reduces are asked for.
	ReduceAfter int32
	// Meta is the job.splitmetainfo as it was submitted, and Metas what is in it; nil
	// where they cannot be rewritten.
	Meta  []byte
	Metas []jobsplit.Meta
	// MostCached are, by map, the hosts that cache most of its input.
	MostCached [][]string
	// Moves says that Blocks may change while the job runs.
	Moves bool
}

// Replica is a copy of a map's input.
type Replica struct {
	Host   string
	Cached bool
}

// Action is something to be done: one of the types below. Its text is the same for
// the same action.
type Action interface{ String() string }

// Matters says whether an action changes something, or is the event of a decision
// or of what became of it.
func Matters(a Action) bool {
	switch a := a.(type) {
	case *Look, *Log:
		return false
	case *Record:
		switch a.Event.(type) {
		case *traces.Decision, *traces.Actuation, *traces.Note:
			return true
		}
		return false
	}
	return true
}

// Look asks the cluster. Its answer is an Observation.
type Look struct {
	Number int64
	What   What
	// Of is the application, its attempt, the node, the state or the task asked of.
	Of string
	// App is the application of a task, and the whole application of JobFiles.
	App  yarnclient.App
	Tags []string
	// Limit is how long the answer may take.
	Limit time.Duration
}

// SetLabels gives nodes labels.
type SetLabels struct {
	Number  int64
	LabelOf map[string]string // by "host:port"
}

// SetSize sets what a node offers.
type SetSize struct {
	Number int64
	Node   string // "host:port"
	Total  yarnclient.Resource
}

// SetScheduler sets the Capacity scheduler's settings.
type SetScheduler struct {
	Number int64
	Change yarnclient.SchedulerChange
}

// Kill ends a task's attempt.
type Kill struct {
	Number       int64
	App, Attempt string
}

// Rewrite replaces a job's job.splitmetainfo, which has to hold Was.
type Rewrite struct {
	Number   int64
	App      string
	Was, Now []byte
}

// Trained is the record of a model's training for a job, before its first decision.
type Trained struct {
	Job      traces.JobID
	Training *sched.Training
}

// Record is an event for the trace.
type Record struct{ Event traces.Event }

// Log is what an operator may want to know; Args are names and values in turn.
type Log struct {
	Level Level
	Text  string
	Args  []any
}

// Level is how much a Log matters.
type Level int8

// Levels, as log/slog has them.
const (
	Debug Level = -4
	Info  Level = 0
	Warn  Level = 4
)

// Stop ends steering.
type Stop struct{ Err error }

func (a *Look) String() string {
	return fmt.Sprintf("%d look at %s of %q%v within %v", a.Number, a.What, a.Of, a.Tags, a.Limit)
}

func (a *SetLabels) String() string { return fmt.Sprintf("%d label %v", a.Number, a.LabelOf) }

func (a *SetSize) String() string {
	return fmt.Sprintf("%d size of %s: %d MB, %d vcores", a.Number, a.Node, a.Total.MemoryMB, a.Total.VCores)
}

func (a *SetScheduler) String() string { return fmt.Sprintf("%d scheduler %v", a.Number, a.Change) }
func (a *Kill) String() string         { return fmt.Sprintf("%d kill %s of %s", a.Number, a.Attempt, a.App) }

func (a *Rewrite) String() string {
	return fmt.Sprintf("%d rewrite splits of %s: CRC %08x, was %08x", a.Number, a.App, crc32.ChecksumIEEE(a.Now), crc32.ChecksumIEEE(a.Was))
}

func (a *Trained) String() string {
	return fmt.Sprintf("trained for %s: %d episodes", a.Job, len(a.Training.Episodes))
}

func (a *Record) String() string { return fmt.Sprintf("record %T%+v", a.Event, a.Event) }
func (a *Log) String() string    { return fmt.Sprintf("log %d %s %v", a.Level, a.Text, a.Args) }
func (a *Stop) String() string   { return fmt.Sprintf("stop: %v", a.Err) }
