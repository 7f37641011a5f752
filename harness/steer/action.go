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

// Observation is one thing that a Core is told: the answer to a Look, the result
// of a change, a new Submission or the end of one.
type Observation struct {
	// Answers is the Number of the Look or change that this answers; 0: it is no
	// answer.
	Answers int64 `json:"answers,omitempty"`
	// What is the question of the Look that this answers; empty for a change.
	What What `json:"what,omitempty"`
	// Sent is when the call to the cluster began.
	Sent     time.Time `json:"sent,omitzero"`
	Received time.Time `json:"received"`
	// Answer has the type that What names; nil if there is none.
	Answer any      `json:"answer,omitempty"`
	Err    *Failure `json:"err,omitempty"`
	// Submitted announces a Submission. Released is the Number of one whose jobs
	// have ended.
	Submitted *Submission `json:"submitted,omitempty"`
	Released  string      `json:"released,omitempty"`
}

func (o Observation) error() error {
	if o.Err == nil {
		return nil
	}
	return o.Err
}

// What names the question of a Look. The comment beside each gives the type of the
// answer.
type What string

// Questions that a Look may ask.
const (
	AskApps         What = "apps"         // []yarnclient.App: those with one of Tags
	AskApp          What = "app"          // yarnclient.App, with its resource requests
	AskAppAttempts  What = "appAttempts"  // []yarnclient.AppAttempt of an application
	AskContainers   What = "containers"   // []yarnclient.Container of an application's attempt
	AskRM           What = "rm"           // yarnclient.ClusterInfo
	AskNode         What = "node"         // yarnclient.Node
	AskNodes        What = "nodes"        // []yarnclient.Node: those in state Of, all if that is empty
	AskTasks        What = "tasks"        // []yarnclient.Task of an application
	AskTaskAttempts What = "taskAttempts" // []yarnclient.TaskAttempt of a task
	AskJobFiles     What = "jobFiles"     // *JobFiles of an application
	AskReplicas     What = "replicas"     // [][]Replica: the replicas of each map's input, by map
)

// DecodeAnswer decodes an answer to question what from JSON.
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
	return nil, fmt.Errorf("answer to unknown question %q", what)
}

func decode[T any](data []byte) (any, error) {
	var answer T
	err := json.Unmarshal(data, &answer)
	return answer, err
}

// Submission is a group of jobs that share one triple of labels, which no other
// has. Steering can tell these jobs apart only if they run one after the other.
type Submission struct {
	Number string `json:"number"` // number of the triple: "00" for a00, m00 and r00
	Tag    string `json:"tag"`    // YARN tag of the jobs, in lower case
}

// Failure is the error of a call, in a form that a recording can hold.
type Failure struct {
	Text string `json:"text"`
	// Is names the errors of package yarnclient that Failure wraps, or "refused"
	// for ErrRefused.
	Is []string `json:"is,omitempty"`

	cause error // the original error; nil if read from a recording
}

// ErrRefused means that a job cannot be given the splits asked for, and that
// trying again does not help. Steering ends with it: a job that ran with its own
// splits would pass for one that ran with the others.
var ErrRefused = errors.New("refused")

var failures = map[string]error{
	"refused": ErrRefused, "unreachable": yarnclient.ErrUnreachable, "unauthorized": yarnclient.ErrUnauthorized,
	"notFound": yarnclient.ErrNotFound, "standby": yarnclient.ErrStandby, "unavailable": yarnclient.ErrUnavailable,
	"notRest": yarnclient.ErrNotRest, "badAnswer": yarnclient.ErrBadAnswer, "jobEnded": yarnclient.ErrJobEnded, "noMaster": yarnclient.ErrNoMaster,
}

// failureNames are the keys of failures, in the order in which they are tested.
var failureNames = []string{"refused", "unreachable", "unauthorized", "notFound", "standby", "unavailable", "notRest", "badAnswer", "jobEnded", "noMaster"}

// FailureOf makes a Failure of err; nil for nil.
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

// Unwrap returns the original error, or those that Is names.
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

// JobFiles is what a job's staged files tell before it runs.
type JobFiles struct {
	Spec state.JobSpec // the job for a state.State; locate fills in its nodes
	// Splits are the hosts that its master reads for each map's input. Blocks are
	// the replicas the NameNode knows; nil: those of Splits.
	Splits [][]string
	Blocks [][]Replica
	Beat   time.Duration // interval of the master's heartbeats
	// ReduceAfter is how many maps must be done before the master asks for
	// reduces.
	ReduceAfter int32
	// Meta is the job.splitmetainfo as submitted, and Metas its parsed entries.
	// Both are nil if the splits cannot be rewritten.
	Meta  []byte
	Metas []jobsplit.Meta
	// MostCached are, for each map, the hosts that cache the most bytes of its
	// input.
	MostCached [][]string
	// Moves says that cached copies in Blocks may change while the job runs, so
	// they are asked for again.
	Moves bool
}

// Replica is one copy of the first block of a map's input.
type Replica struct {
	Host   string
	Cached bool
}

// Action is something for the driver to do: one of the types below. Equal actions
// have equal texts.
type Action interface{ String() string }

// Matters says whether a recording keeps the action: it changes the cluster, or
// records a decision, its outcome or a note.
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

// Look asks the cluster a question. An Observation brings the answer.
type Look struct {
	Number int64
	What   What
	// Of is what the question is about: an application, its attempt, a node, a
	// node state or a task.
	Of string
	// App is the application that owns the task asked about, or whose JobFiles are
	// asked for.
	App  yarnclient.App
	Tags []string
	// Limit bounds the call.
	Limit time.Duration
}

// SetLabels replaces the labels of nodes.
type SetLabels struct {
	Number  int64
	LabelOf map[string]string // by "host:port"
}

// SetSize sets the memory and vcores that a node offers to YARN.
type SetSize struct {
	Number int64
	Node   string // "host:port"
	Total  yarnclient.Resource
}

// SetScheduler changes settings of the Capacity scheduler.
type SetScheduler struct {
	Number int64
	Change yarnclient.SchedulerChange
}

// Kill kills a task attempt.
type Kill struct {
	Number       int64
	App, Attempt string
}

// Rewrite replaces a job's staged job.splitmetainfo. It fails if the file's
// content is not Was.
type Rewrite struct {
	Number   int64
	App      string
	Was, Now []byte
}

// Trained reports a model's training for a job, before its first decision.
type Trained struct {
	Job      traces.JobID
	Training *sched.Training
}

// Record adds an event to the trace.
type Record struct{ Event traces.Event }

// Log is a message for the operator; Args are names and values in turn.
type Log struct {
	Level Level
	Text  string
	Args  []any
}

// Level is the severity of a Log.
type Level int8

// Levels, numbered as in log/slog.
const (
	Debug Level = -4
	Info  Level = 0
	Warn  Level = 4
)

// Stop ends steering because of Err.
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
