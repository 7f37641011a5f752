package steer

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// Observation is one thing that steering (a Core) is told: the answer to a query of the
// cluster, the result of a change to the cluster, or the start or end of a Submission
// (a group of jobs).
type Observation struct {
	// Answers is the Number of the query (Look) or change of the cluster whose answer
	// or result this Observation brings; 0: it brings neither.
	Answers int64 `json:"answers,omitempty"`
	// What is the kind of cluster query that this Observation answers, such as "apps";
	// empty for the result of a change.
	What What `json:"what,omitempty"`
	// Sent is the time when the call to the cluster began that this Observation
	// reports.
	Sent     time.Time `json:"sent,omitzero"`
	Received time.Time `json:"received"`
	// Answer is what the cluster answered to the query; nil if there is no answer. The
	// comment at each constant of type What names the Go type of the answer.
	Answer any      `json:"answer,omitempty"`
	Err    *Failure `json:"err,omitempty"`
	// Submitted announces a new Submission, a group of jobs to steer. Released is the
	// Number of a Submission whose jobs need no more steering.
	Submitted *Submission `json:"submitted,omitempty"`
	Released  string      `json:"released,omitempty"`
	// Sampled is the metrics of a node, from its agent. Only a scheduler model that is a
	// sched.HearsLoad needs them.
	Sampled *traces.NodeSample `json:"sampled,omitempty"`
}

func (o Observation) error() error {
	if o.Err == nil {
		return nil
	}
	return o.Err
}

// What names a kind of query of the cluster. The comment beside each value gives the Go
// type of the answer.
type What string

// Kinds of queries of the cluster.
const (
	AskApps        What = "apps"        // the answer is []yarnclient.App, the applications that have one of the tags in Look.Tags
	AskApp         What = "app"         // the answer is one yarnclient.App, with its open container requests
	AskAppAttempts What = "appAttempts" // the answer is []yarnclient.AppAttempt, the attempts of one application
	AskContainers  What = "containers"  // the answer is []yarnclient.Container, the containers of one application attempt
	AskRM          What = "rm"          // the answer is a yarnclient.ClusterInfo, which describes the ResourceManager
	AskNode        What = "node"        // the answer is a yarnclient.Node, which describes one node
	// the answer is []yarnclient.Node, the nodes in the state that Look.Of names; all nodes if Look.Of is empty
	AskNodes What = "nodes"
	// the answer is int64, the number of events that the ResourceManager has still to handle; -1: it does not say
	AskQueued       What = "queued"
	AskUsed         What = "used"         // the answer is int64, the memory in MB that the scheduler counts as used under the label Look.Of
	AskTasks        What = "tasks"        // the answer is []yarnclient.Task, the tasks of one application
	AskTaskAttempts What = "taskAttempts" // the answer is []yarnclient.TaskAttempt, the attempts of one task
	AskTaskCounters What = "taskCounters" // the answer is yarnclient.Counters, those of one task
	AskJobFiles     What = "jobFiles"     // the answer is *JobFiles, read from the files in the job's staging directory
	AskReplicas     What = "replicas"     // the answer is [][]Replica: for each map, the replicas of its input's first block
)

// answers decode the answers to cluster queries from JSON.
var answers = map[What]func(data []byte) (any, error){
	AskApps: decode[[]yarnclient.App], AskApp: decode[yarnclient.App], AskAppAttempts: decode[[]yarnclient.AppAttempt],
	AskContainers: decode[[]yarnclient.Container], AskRM: decode[yarnclient.ClusterInfo],
	AskNode: decode[yarnclient.Node], AskNodes: decode[[]yarnclient.Node], AskQueued: decode[int64], AskUsed: decode[int64],
	AskTasks: decode[[]yarnclient.Task], AskTaskAttempts: decode[[]yarnclient.TaskAttempt], AskTaskCounters: decode[yarnclient.Counters],
	AskJobFiles: decode[*JobFiles], AskReplicas: decode[[][]Replica],
}

// DecodeAnswer decodes from JSON the answer to a cluster query of the kind what, as a
// recording of steering holds it.
func DecodeAnswer(what What, data []byte) (any, error) {
	if answers[what] == nil {
		return nil, fmt.Errorf("answer to unknown question %q", what)
	}
	return answers[what](data)
}

func decode[T any](data []byte) (any, error) {
	var answer T
	err := json.Unmarshal(data, &answer)
	return answer, err
}

// Submission is a group of jobs that share three node labels: one for
// ApplicationMasters, one for maps and one for reduces. No other group uses these
// labels. Steering can tell the group's jobs apart only if they run one after the
// other.
type Submission struct {
	Number string `json:"number"` // the NN in the group's node labels aNN, mNN and rNN, such as "00"
	Tag    string `json:"tag"`    // YARN application tag of the jobs, in lower case
	// Pool is the group of jobs among which the model shares slots; empty means the
	// jobs' queue.
	Pool string `json:"pool,omitempty"`
	// Terms are the deadline, price and hints of each of the jobs.
	Terms traces.Terms `json:"terms,omitzero"`
}

// Failure is the error of a call to the cluster, in a form that a recording of steering
// can hold.
type Failure struct {
	Text string `json:"text"`
	// Is holds short names, such as "unreachable", of the errors in package yarnclient
	// that the call's error wraps. The name "refused" stands for ErrRefused.
	Is []string `json:"is,omitempty"`

	cause error // the call's original error; nil if the Failure was read from a recording
}

// ErrRefused means that a job cannot get the input splits that Options.Splits asks for,
// and that trying again does not help. Steering ends with this error: otherwise a job
// with its original splits would be measured as one with the splits asked for.
var ErrRefused = errors.New("refused")

// failures are the errors that a Failure can hold, by their short names there.
var failures = []struct {
	name string
	err  error
}{
	{"refused", ErrRefused},
	{"unreachable", yarnclient.ErrUnreachable},
	{"unauthorized", yarnclient.ErrUnauthorized},
	{"notFound", yarnclient.ErrNotFound},
	{"standby", yarnclient.ErrStandby},
	{"unavailable", yarnclient.ErrUnavailable},
	{"notRest", yarnclient.ErrNotRest},
	{"badAnswer", yarnclient.ErrBadAnswer},
	{"jobEnded", yarnclient.ErrJobEnded},
	{"noMaster", yarnclient.ErrNoMaster},
}

// FailureOf turns an error into a Failure, which a recording of steering can hold. For
// a nil error it returns nil.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Text: err.Error(), cause: err}
	for _, known := range failures {
		if errors.Is(err, known.err) {
			f.Is = append(f.Is, known.name)
		}
	}
	return f
}

func (f *Failure) Error() string { return f.Text }

// Unwrap returns the call's original error. If the Failure was read from a recording,
// Unwrap returns the errors that Is names.
func (f *Failure) Unwrap() []error {
	if f.cause != nil {
		return []error{f.cause}
	}
	var list []error
	for _, known := range failures {
		if slices.Contains(f.Is, known.name) {
			list = append(list, known.err)
		}
	}
	return list
}

// JobFiles is what the files in a job's staging directory, and the NameNode, say about
// the job before it runs.
type JobFiles struct {
	// description of the job for state.State, steering's record of the cluster; the method locate adds the nodes that hold the job's input
	Spec state.JobSpec
	// Splits holds, for each map, the hosts that the ApplicationMaster reads as the
	// location of its input. Blocks holds, for each map, the replicas that the NameNode
	// reports; if Blocks is nil, the hosts in Splits count as replicas.
	Splits [][]string
	Blocks [][]Replica
	Beat   time.Duration // interval of the ApplicationMaster's heartbeats
	// ReduceAfter is how many maps must be done before the ApplicationMaster asks
	// for containers for reduces.
	ReduceAfter int32
	// Meta is the file job.splitmetainfo, the list of the job's splits, as submitted;
	// Metas are its parsed entries. Both are nil if the splits cannot be rewritten.
	Meta  []byte
	Metas []jobsplit.Meta
	// MostCached holds, for each map, the hosts that have the most bytes of its input
	// in their HDFS cache.
	MostCached [][]string
	// Moves says whether blocks may enter or leave HDFS caches while the job runs. If
	// so, steering asks repeatedly which replicas are cached.
	Moves bool
}

// Replica is one replica of the first HDFS block that a map reads.
type Replica struct {
	Host   string
	Cached bool
}

// Action is something that steering wants done: a call to the cluster, an event to be
// added to the trace, or a message to the operator. Equal actions have equal texts.
type Action interface{ String() string }

// Matters says whether a recording of steering keeps the action. It leaves out queries
// of the cluster, messages to the operator, and all trace events but decisions, their
// outcomes and notes.
func Matters(a Action) bool {
	switch a := a.(type) {
	case *Look, *Log:
		return false
	case *Record:
		switch a.Event.(type) {
		case *traces.Decision, *traces.Actuation, *traces.Note:
		default:
			return false
		}
	}
	return true
}

// Look is an action that queries the cluster. An Observation with the Look's Number
// brings the answer.
type Look struct {
	Number int64
	What   What
	// Of is what the query is about: the id of an application, an application attempt,
	// a node or a task, or a node state.
	Of string
	// App is the application that owns the task asked about, or whose staging directory
	// is to be read.
	App  yarnclient.App
	Tags []string
	// Limit is the time limit of the call that sends this query.
	Limit time.Duration
}

// SetLabels is an action that replaces the labels of nodes.
type SetLabels struct {
	Number  int64
	LabelOf map[string]string // new label of each node, by the node's "host:port"
}

// SetSize is an action that sets the memory and vcores that a NodeManager offers to
// YARN.
type SetSize struct {
	Number int64
	Node   string // NodeManager's id, "host:port"
	Total  yarnclient.Resource
}

// SetScheduler is an action that changes settings of YARN's CapacityScheduler.
type SetScheduler struct {
	Number int64
	Change yarnclient.SchedulerChange
}

// Kill is an action that kills a task attempt.
type Kill struct {
	Number       int64
	App, Attempt string
}

// Rewrite is an action that replaces the content Was of a job's staged file
// job.splitmetainfo by the content Now. It fails if the file's present content is not
// Was.
type Rewrite struct {
	Number   int64
	App      string
	Was, Now []byte
}

// Train is an action that has a scheduler model train for a job, by the method Run.
type Train struct {
	Number int64
	Job    traces.JobID
	study  sched.Study
	keep   func()
}

// Run trains. It may take long, and may run in any goroutine until its Observation is
// given to the Core. It returns false if goOn ended it; then it must not be observed.
func (a *Train) Run(goOn func() bool) bool {
	a.keep = a.study(goOn)
	return a.keep != nil
}

// Trained is an action that reports how a scheduler model trained for a job, before its
// first decision for that job.
type Trained struct {
	Job      traces.JobID
	Training *sched.Training
}

// Record is an action that adds an event, such as a decision, to the trace.
type Record struct{ Event traces.Event }

// Log is an action that shows a message to the operator. Args alternates the names and
// values of the message's details.
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

// Stop is an action that ends steering because of the error Err.
type Stop struct{ Err error }

func (a *Look) String() string {
	return fmt.Sprintf("%d look at %s of %q%v within %v", a.Number, a.What, a.Of, a.Tags, a.Limit)
}

func (a *SetLabels) String() string { return fmt.Sprintf("%d label %v", a.Number, a.LabelOf) }

func (a *SetSize) String() string {
	return fmt.Sprintf("%d size of %s: %d MB, %d vcores", a.Number, a.Node, a.Total.MemoryMB, a.Total.VCores)
}

// The two empty lists are what recordings have in the place of queues to be removed and added.
func (a *SetScheduler) String() string {
	return fmt.Sprintf("%d scheduler {[] [] %v %v}", a.Number, a.Change.Update, a.Change.Global)
}

func (a *Kill) String() string { return fmt.Sprintf("%d kill %s of %s", a.Number, a.Attempt, a.App) }

func (a *Rewrite) String() string {
	return fmt.Sprintf("%d rewrite splits of %s: CRC %08x, was %08x", a.Number, a.App, crc32.ChecksumIEEE(a.Now), crc32.ChecksumIEEE(a.Was))
}

func (a *Train) String() string { return fmt.Sprintf("%d train for %s", a.Number, a.Job) }

func (a *Trained) String() string {
	return fmt.Sprintf("trained for %s: %d episodes", a.Job, len(a.Training.Episodes))
}

func (a *Record) String() string {
	event := a.Event
	if d, ok := event.(*traces.Decision); ok {
		without := *d
		without.Seen = nil
		event = &without
	}
	// A decision reads as in recordings from before decisions had what the model saw, and, if
	// it has none, values.
	text := strings.Replace(fmt.Sprintf("%+v", event), " Seen:<nil>}", "}", 1)
	return fmt.Sprintf("record %T%s", event, strings.Replace(text, " Values:}", "}", 1))
}
func (a *Log) String() string  { return fmt.Sprintf("log %d %s %v", a.Level, a.Text, a.Args) }
func (a *Stop) String() string { return fmt.Sprintf("stop: %v", a.Err) }
