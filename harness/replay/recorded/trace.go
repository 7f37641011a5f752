// Package recorded reads a trace into what a simulator can run: the machines of the
// cluster, and the jobs, with the blocks that their maps read and where these were, and
// with the attempts that failed, were killed or ran in parallel. A Change says in what
// the cluster is to differ from the recorded one.
//
// Tasks take as long as recorded; Costs of others may take the place of that. The
// package runs nothing and fits nothing.
package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"

	"heddle/harness/config"
	"heddle/harness/loadfit"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// Trace is a recorded run in the form that a replay needs: its jobs and tasks, and
// where each map's input was when the job was submitted.
type Trace struct {
	// Name is the trace's name in messages; its default is the file's path.
	Name   string
	Header traces.Header
	Jobs   []*Job // the recorded jobs, in order of submission
	// List has the jobs of a trace that lists jobs without their tasks; then Jobs is
	// empty. In other traces List is empty.
	List []traces.JobListed // jobs of the job list, in order of submission
	// Nodes are the cluster's workers, including those that joined during the run.
	Nodes []traces.NodeFacts
	// Heartbeats are the recorded heartbeats of nodes with room, at which the
	// scheduler model was asked for decisions.
	Heartbeats []Heartbeat
	// Decisions are the model's decisions for which YARN started the container as
	// decided.
	Decisions []Decision
	// Capacity has the changes of the capacity of nodes, in order of time.
	Capacity []traces.NodeCapacity
	// Loads has what a load of tasks is fitted to: samples of the nodes, and when
	// attempts ran.
	Loads loadfit.Fit
	// Warnings say what the trace lacks for a replay.
	Warnings []string
	// Unlike says in short why replays may not take as long as the recorded run did.
	Unlike []string

	// ExecutorAskMs are, by application of Spark, the times after its ApplicationMaster was up at which it
	// asked for its executors, which are its reduces. Launch is how long before an executor registers its container started.
	ExecutorAskMs map[traces.JobID][]int64
	Launch        traces.Time

	attempts attemptList // the task attempts that were launched, in order of their starts
	hosts    []nodeIndex
	nodes    []traces.Node // names of the nodes; a nodeIndex is an index into this list
	jobNames []traces.JobID
	mishaps  mishaps
	former   []traces.NodeFacts // workers before SetNodes
	used     coresUsed
	held     memoryHeld
	most     atOnce
}

// nodeIndex stands for a node's name: an index in Trace.nodes.
type nodeIndex int32

// hostList is a list of nodes, stored as a section of Trace.hosts: first index and
// length.
type hostList struct{ from, count uint32 }

// The method list returns the nodes of a hostList, which is a section of Trace.hosts.
func (t *Trace) list(h hostList) []nodeIndex { return t.hosts[h.from : h.from+h.count] }

// Job is a job of a trace. Times are nanoseconds from the trace's start; 0 means
// unknown.
type Job struct {
	traces.JobSubmitted
	Started, Finished traces.Time
	AMNode            traces.Node
	AMMemoryBytes     int64
	Outcome           traces.Outcome
	// Tasks are the job's tasks that events name: a list of maps and a list of
	// reduces, each sorted by index. The event JobSubmitted may have announced more
	// tasks.
	Tasks [2][]Task

	number int32 // index of this job's id in the trace's jobNames
}

// Task is a map or a reduce of a recorded job.
type Task struct {
	Index       int32 // number of the task among its job's maps or reduces
	scheduled   traces.Time
	LengthBytes int64
	OffsetBytes int64
	file        uint64 // hash of the input file's path; 0: the file is unknown
	// The field splitHosts has the hosts of the map's input split, as the
	// ApplicationMaster saw them. The fields replicas and cached have the nodes with
	// a replica or a cached copy of the input when the job was submitted.
	splitHosts, replicas, cached hostList
	// Won is the task's attempt that succeeded; nil if none did.
	Won *Attempt

	failed  traces.Time // end of the last attempt that failed; 0: none did
	running *Attempt    // an attempt that runs, while the trace is read; nil: none
	block   traces.Block
}

// Heartbeat is a heartbeat of a node with room.
type Heartbeat struct {
	T    traces.Time
	Node nodeIndex
}

// Decision is a decision of a scheduler model, with its time and the task attempt
// that ran in the resulting container.
type Decision struct {
	ID        int64
	T         traces.Time
	GrantedAt traces.Time // time at which YARN first reported the container that the decision asked for
	Job       int32       // see Trace.JobName
	Node      nodeIndex   // see Trace.NodeName
	TaskIndex int32       // task that the model chose; -1: any
	What      traces.TaskKind
	bound     attemptKey
}

// Attempt is a task attempt that was launched. End is 0 if the attempt has not
// ended.
type Attempt struct {
	job           int32 // index, in the trace's jobNames, of the attempt's job
	Index, number int32
	node          nodeIndex
	Kind          traces.TaskKind
	Level         traces.Level // distance of the map from its input's replicas, or from its split's hosts if replicas are unknown
	Outcome       traces.Outcome
	replica       traces.Level // distance from its input's replicas
	load          int8         // its column in Trace.Loads
	Start, End    traces.Time

	// WrittenBytes is what the attempt wrote to HDFS, by its counters; 0: not reported.
	WrittenBytes              int64
	read, mapOutput, shuffled int64 // further counters, in bytes; 0: not reported
	cpuMs                     int64 // CPU time, by its counters; 0: not reported
}

// attemptList is a list of attempts. It grows in parts, so that attempts never move and a
// long list leaves no shorter ones behind.
type attemptList [][]Attempt

func (l *attemptList) add(a Attempt) *Attempt {
	if n := len(*l); n == 0 || len((*l)[n-1]) == cap((*l)[n-1]) {
		*l = append(*l, make([]Attempt, 0, 512))
	}
	part := &(*l)[len(*l)-1]
	*part = append(*part, a)
	return &(*part)[len(*part)-1]
}

func (l attemptList) all() iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		for _, part := range l {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// coresPercent returns the share of a core, in percent, that the attempt used on
// average; 0 if it is not known.
func (a *Attempt) coresPercent() uint8 {
	if !(a.Ms() > 0) {
		return 0
	}
	return uint8(min(100, 100*float64(a.cpuMs)/a.Ms()))
}

// CPUMs returns the attempt's CPU time by its counters, in milliseconds; 0 if it is not
// reported.
func (a *Attempt) CPUMs() float64 { return float64(a.cpuMs) }

// Ms returns how long the attempt ran, in milliseconds.
func (a *Attempt) Ms() float64 { return float64(a.End-a.Start) / 1e6 }

// Load reads the trace file at path. If the file was cut off, Load reads what is
// there and adds a warning.
func Load(path string) (*Trace, error) {
	r, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return Read(path, r, nil)
}

// Read reads the trace of an open file. If the file was cut off, Read reads what is
// there and adds a warning. Each event is also given to the function also, if that is
// not nil.
func Read(path string, r *tracefile.Reader, also func(traces.Event)) (*Trace, error) {
	t, _, err := read(path, r, false, func(e traces.Event, _ bool) {
		if also != nil {
			also(e)
		}
	})
	return t, err
}

// ReadContainers reads a trace as Read does, and takes an application of Spark for a job whose
// reduces are its executors. The function also gets the events of that job instead of Spark's.
func ReadContainers(path string, r *tracefile.Reader, also func(traces.Event)) (*Trace, error) {
	t, _, err := read(path, r, true, func(e traces.Event, _ bool) { also(e) })
	return t, err
}

// ReadBrief reads a trace as Read does, in less than half of the time. It leaves out the
// Heartbeats, and the Decisions unless the run was measured, and does not check values
// of events that it does not need. It gives each event that it reads to the function also,
// and whether Counts covers the event. Counts does not cover events of jobs and nodes.
func ReadBrief(path string, r *tracefile.Reader, also func(e traces.Event, counted bool)) (*Trace, Counts, error) {
	r.Skip(traces.KindTaskFinished, traces.KindHeartbeat)
	if r.Header().Origin != traces.Measured {
		r.Skip(traces.KindDecision, traces.KindActuation)
	}
	return read(path, r, false, also)
}

func read(path string, r *tracefile.Reader, spark bool, also func(e traces.Event, counted bool)) (*Trace, Counts, error) {
	possible, err := tracefile.NewPossible(r.Header())
	if err != nil {
		return nil, Counts{}, fmt.Errorf("load trace %s: %w", path, err)
	}
	possible.Spark = spark
	b := newBuilder(path, r.Header())
	for r.Next() {
		e := r.Event()
		err := possible.Add(e)
		if err == nil && e.Kind().IsSpark() {
			b.spark(e)
			continue
		}
		if err == nil {
			err = b.add(e)
		}
		if err != nil {
			return nil, Counts{}, fmt.Errorf("load trace %s: %w", path, err)
		}
		also(e, b.counted)
	}
	if err := b.applications(also); err != nil {
		return nil, Counts{}, fmt.Errorf("load trace %s: %w", path, err)
	}
	if text := possible.Warning(); text != "" {
		b.warn("%s", text)
	}
	var damage *tracefile.DamageError
	unread := r.Err()
	if unread != nil && !(errors.As(unread, &damage) && damage.CutOff) {
		return nil, Counts{}, unread
	} else if unread != nil {
		b.warn("%v: only the events before it are replayed", unread)
	}
	counts := b.countsOfAll()
	t, err := b.finish()
	if err != nil && unread != nil {
		err = unread
	}
	return t, counts, err
}

// New makes a Trace from events, which must come in order of time. It keeps no
// reference to them.
func New(name string, h traces.Header, events iter.Seq[traces.Event]) (*Trace, error) {
	b := newBuilder(name, h)
	var bad error
	for e := range events {
		if bad == nil { // a simulation that makes events cannot be stopped by them
			bad = b.add(e)
		}
	}
	if bad != nil {
		return nil, fmt.Errorf("load trace %s: %w", name, bad)
	}
	return b.finish()
}

// OwnModel returns the scheduler model that was in use when a trace was recorded. A
// trace converted from other logs may name no model; then it is the cluster's own
// scheduler.
func (t *Trace) OwnModel() config.Model {
	return config.Model{Model: cmp.Or(t.Header.Model, config.ModelYARN), Params: t.Header.Params}
}

// OwnBehaviour returns how the cluster behaved when a trace was recorded, as far as the
// trace's events do not say it.
func (t *Trace) OwnBehaviour() config.Behaviour {
	return config.Behaviour{Actuator: t.Header.Actuator, Splits: t.Header.Splits}
}

// Tasks returns how many maps and reduces the trace has.
func (t *Trace) Tasks() int {
	n := 0
	for _, j := range t.Jobs {
		n += len(j.Tasks[0]) + len(j.Tasks[1])
	}
	return n
}

// JobName returns the id of a job, by its index in a Decision.
func (t *Trace) JobName(job int32) traces.JobID { return t.jobNames[job] }

// NodeName returns the name of a node, by its index in a Decision or Heartbeat.
func (t *Trace) NodeName(n nodeIndex) traces.Node { return t.nodes[n] }

// NodeOf returns the node on which an attempt ran.
func (t *Trace) NodeOf(a *Attempt) traces.Node { return t.nodes[a.node] }

// ShortestMs returns the duration of the shortest attempt that succeeded, in ms;
// infinity if there is none.
func (t *Trace) ShortestMs() float64 {
	least := math.Inf(1)
	for a := range t.attempts.all() {
		if a.Outcome == traces.Succeeded && a.End > a.Start {
			least = min(least, a.Ms())
		}
	}
	return least
}

// FirstStart returns the time when the first of the job's maps that succeeded started; 0 if
// none did.
func (j *Job) FirstStart() traces.Time {
	var first traces.Time
	for i := range j.Tasks[traces.Map] {
		if a := j.Tasks[traces.Map][i].Won; a != nil && (first == 0 || a.Start < first) {
			first = a.Start
		}
	}
	return first
}

// LastMap returns the time when the job's last map ended; 0 if it has no maps.
func (j *Job) LastMap() traces.Time {
	return j.lastEnd(j.Tasks[traces.Map])
}

// lastEnd returns the time when the last of the tasks ended: with success, or for good if the job
// tolerated that.
func (j *Job) lastEnd(tasks []Task) (last traces.Time) {
	for i := range tasks {
		if a := tasks[i].Won; a != nil {
			last = max(last, a.End)
		} else if j.Outcome == traces.Succeeded {
			last = max(last, tasks[i].failed)
		}
	}
	return last
}

// LastEnd returns the time when the last task of the job ended.
func (j *Job) LastEnd() traces.Time {
	return max(j.LastMap(), j.lastEnd(j.Tasks[traces.Reduce]))
}

// Kind returns the job's kind, such as sort, by which a calibration
// finds the job's costs.
func (j *Job) Kind() string { return cmp.Or(j.Costs, j.Workload, j.Name) }
