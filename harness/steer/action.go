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

// Observation is one thing that a Core is told: the answer to a question, the result
// of a change to the cluster, or the start or end of a Submission.
type Observation struct {
	// Answers is the Number of the question or change that this Observation belongs
	// to; 0: it belongs to none.
	Answers int64 `json:"answers,omitempty"`
	// What is the question that this Observation answers; empty for the result of a
	// change.
	What What `json:"what,omitempty"`
	// Sent is the time when the call to the cluster began.
	Sent     time.Time `json:"sent,omitzero"`
	Received time.Time `json:"received"`
	// Answer is the answer, of the type that belongs to the question What; nil if
	// there is none.
	Answer any      `json:"answer,omitempty"`
	Err    *Failure `json:"err,omitempty"`
	// Submitted announces a new Submission. Released is the Number of a Submission
	// whose jobs have ended.
	Submitted *Submission `json:"submitted,omitempty"`
	Released  string      `json:"released,omitempty"`
}

func (o Observation) error() error {
	if o.Err == nil {
		return nil
	}
	return o.Err
}

// What names a question about the cluster. The comment beside each value gives the
// type of the answer.
type What string

// Kinds of questions about the cluster.
const (
	AskApps         What = "apps"         // the answer is []yarnclient.App, those with one of the Look's Tags
	AskApp          What = "app"          // the answer is the yarnclient.App, with its resource requests
	AskAppAttempts  What = "appAttempts"  // the answer is []yarnclient.AppAttempt, those of an application
	AskContainers   What = "containers"   // the answer is []yarnclient.Container, those of an application's attempt
	AskRM           What = "rm"           // the answer is the yarnclient.ClusterInfo
	AskNode         What = "node"         // the answer is the yarnclient.Node
	AskNodes        What = "nodes"        // the answer is []yarnclient.Node, in the state that Of names; all nodes if Of is empty
	AskTasks        What = "tasks"        // the answer is []yarnclient.Task, the tasks of an application
	AskTaskAttempts What = "taskAttempts" // the answer is []yarnclient.TaskAttempt, the attempts of a task
	AskJobFiles     What = "jobFiles"     // the answer is *JobFiles, the content of an application's staged files
	AskReplicas     What = "replicas"     // the answer is [][]Replica, the replicas of the input, a list for each map
)

// DecodeAnswer decodes from JSON the answer to a question of the kind what.
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

// Submission is a group of jobs that share three node labels: for
// ApplicationMasters, maps and reduces. No other group has these. Steering can tell
// the group's jobs apart only if they run one after the other.
type Submission struct {
	Number string `json:"number"` // the NN in the group's node labels aNN, mNN and rNN, such as "00"
	Tag    string `json:"tag"`    // YARN application tag of the jobs, in lower case
}

// Failure is the error of a call to the cluster, in a form that a recording can
// hold.
type Failure struct {
	Text string `json:"text"`
	// Is names the errors of package yarnclient that the call's error wraps, or
	// "refused" for ErrRefused.
	Is []string `json:"is,omitempty"`

	cause error // the call's original error; nil if the Failure was read from a recording
}

// ErrRefused means that a job cannot get the splits that the options ask for, and
// that trying again does not help. Steering ends with it: otherwise a job with its
// original splits would count as a job with the splits asked for.
var ErrRefused = errors.New("refused")

var failures = map[string]error{
	"refused": ErrRefused, "unreachable": yarnclient.ErrUnreachable, "unauthorized": yarnclient.ErrUnauthorized,
	"notFound": yarnclient.ErrNotFound, "standby": yarnclient.ErrStandby, "unavailable": yarnclient.ErrUnavailable,
	"notRest": yarnclient.ErrNotRest, "badAnswer": yarnclient.ErrBadAnswer, "jobEnded": yarnclient.ErrJobEnded, "noMaster": yarnclient.ErrNoMaster,
}

// failureNames are the names of known errors, in the order in which an error is
// tested for them.
var failureNames = []string{"refused", "unreachable", "unauthorized", "notFound", "standby", "unavailable", "notRest", "badAnswer", "jobEnded", "noMaster"}

// FailureOf turns an error into a Failure, which a recording can hold; nil for nil.
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

// Unwrap returns the call's original error; if it was read from a recording, the
// errors that Is names.
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

// JobFiles is what a job's staged files say about it before it runs.
type JobFiles struct {
	Spec state.JobSpec // the job as steering's record of the cluster takes it; locate adds node ids
	// Splits are the hosts that the ApplicationMaster reads for each map's input.
	// Blocks are the replicas that the NameNode reports; if nil, the hosts in Splits
	// count as replicas.
	Splits [][]string
	Blocks [][]Replica
	Beat   time.Duration // interval of the ApplicationMaster's heartbeats
	// ReduceAfter is how many maps must be done before the ApplicationMaster asks
	// for containers for reduces.
	ReduceAfter int32
	// Meta is the file job.splitmetainfo as submitted; Metas are its parsed entries.
	// Both are nil if the splits cannot be rewritten.
	Meta  []byte
	Metas []jobsplit.Meta
	// MostCached are, for each map, the hosts with most bytes of its input in their
	// HDFS cache.
	MostCached [][]string
	// Moves says that blocks may enter or leave HDFS caches while the job runs. The
	// cached copies in Blocks are then asked for repeatedly.
	Moves bool
}

// Replica is one replica of the first HDFS block that a map reads.
type Replica struct {
	Host   string
	Cached bool
}

// Action is something that steering wants done: a call to the cluster, an entry in a
// record, or a message. Equal actions have equal texts.
type Action interface{ String() string }

// Matters says whether a recording keeps the action. It keeps actions that change
// the cluster, or that record a decision, its outcome or a note.
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

// Look is a question to the cluster. An Observation brings the answer.
type Look struct {
	Number int64
	What   What
	// Of is the subject of the question: the id of an application, an application
	// attempt, a node or a task, or a node state.
	Of string
	// App is the application that owns the task asked about, or the one whose staged
	// files are asked for.
	App  yarnclient.App
	Tags []string
	// Limit is the time limit of the call.
	Limit time.Duration
}

// SetLabels is an action that replaces the labels of nodes.
type SetLabels struct {
	Number  int64
	LabelOf map[string]string // new labels, by "host:port" of the node
}

// SetSize sets the memory and vcores that a NodeManager offers to YARN.
type SetSize struct {
	Number int64
	Node   string // NodeManager's id, "host:port"
	Total  yarnclient.Resource
}

// SetScheduler changes settings of YARN's CapacityScheduler.
type SetScheduler struct {
	Number int64
	Change yarnclient.SchedulerChange
}

// Kill is an action that kills a task attempt.
type Kill struct {
	Number       int64
	App, Attempt string
}

// Rewrite is an action that replaces a job's staged file job.splitmetainfo. It fails
// if the file's content is not Was.
type Rewrite struct {
	Number   int64
	App      string
	Was, Now []byte
}

// Trained reports how a model trained for a job before its first decision.
type Trained struct {
	Job      traces.JobID
	Training *sched.Training
}

// Record is an action that adds an event to the trace.
type Record struct{ Event traces.Event }

// Log is a message for the operator; Args alternates names and values.
type Log struct {
	Level Level
	Text  string
	Args  []any
}

// Level is the severity of a Log message.
type Level int8

// severity levels, numbered as in log/slog
const (
	Debug Level = -4
	Info  Level = 0
	Warn  Level = 4
)

// Stop is an action that ends steering because of Err.
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
