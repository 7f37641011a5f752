package recorded

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/traces"
)

// builder makes a Trace from the events of a trace file.
type builder struct {
	*Trace
	nodeOf  map[traces.Node]nodeIndex
	jobOf   map[traces.JobID]int32 // index of each job in the fields jobs and jobNames, by the job's id
	jobs    []*Job                 // nil for a job that events name but whose submission is not in the trace
	lastJob int32                  // index of the job that an event named last; the next event mostly names it again
	tasks   [][2]taskList          // for each job in the field jobs, its maps and its reduces
	// others has each running attempt, unless its task's field running has it: further
	// attempts of a task at a time, and attempts of tasks that their jobs do not have.
	others  map[attemptKey]*Attempt
	blocks  map[traces.Block]*history
	counts  counting
	counted bool               // whether counts covers the event that was added last
	decided map[int64]Decision // decisions whose outcome is not known yet, by ID
	apps    map[traces.JobID]*application
	uber    map[int32]bool // jobs whose tasks ran in the container of their ApplicationMaster
}

// masterContainer ends the id of the first container of an application, which YARN gives to its
// ApplicationMaster.
const masterContainer = "_000001"

// taskList has the tasks of one kind of a job, in the order in which events first name
// them.
type taskList struct {
	tasks []Task
	dense []int32         // place in tasks of each task plus 1, by the task's number; 0: there is no such task, or it is in the field rest
	rest  map[int32]int32 // places of tasks with numbers far above how many tasks there were
}

// task returns the task with a number. It makes the task if there is none. Memory
// follows the number of tasks, whatever numbers they have and however many, claims, the
// job announced.
func (l *taskList) task(number, claims int32) *Task {
	if int(number) < len(l.dense) && l.dense[number] > 0 {
		return &l.tasks[l.dense[number]-1]
	} else if place, ok := l.rest[number]; ok {
		return &l.tasks[place]
	}
	count := len(l.tasks)
	if count == cap(l.tasks) {
		l.tasks = slices.Grow(l.tasks, min(max(count, 16), int(claims)-count))
	}
	l.tasks = append(l.tasks, Task{Index: number})
	if int(number) > 8+2*count {
		if l.rest == nil {
			l.rest = map[int32]int32{}
		}
		l.rest[number] = int32(count)
	} else {
		if int(number) >= len(l.dense) {
			l.dense = append(l.dense, make([]int32, int(number)+1-len(l.dense))...)
		}
		l.dense[number] = int32(count) + 1
	}
	return &l.tasks[count]
}

// taskKey and attemptKey identify a task and an attempt within a trace.
type taskKey struct {
	job, index int32
	kind       traces.TaskKind
}

type attemptKey struct {
	taskKey
	number int32
}

// history lists the nodes that got or lost a replica or a cached copy of a block, in
// order of time.
type history struct {
	file        uint64
	offset      int64
	onDisk, ram []placed
}

type placed struct {
	t    traces.Time
	node nodeIndex
	gone bool
}

func newBuilder(name string, h traces.Header) *builder {
	t := &Trace{Name: name, Header: h, used: coresUsed{hostCores: h.Cluster.HostCores}, held: memoryHeld{}}
	anyWorker := slices.ContainsFunc(h.Cluster.Nodes, func(n traces.NodeFacts) bool { return n.Worker })
	for _, n := range h.Cluster.Nodes {
		if n.Worker || !anyWorker {
			t.Nodes = append(t.Nodes, n)
		}
	}
	return &builder{
		Trace: t, nodeOf: map[traces.Node]nodeIndex{}, jobOf: map[traces.JobID]int32{},
		others: map[attemptKey]*Attempt{}, blocks: map[traces.Block]*history{}, decided: map[int64]Decision{},
		apps: map[traces.JobID]*application{},
	}
}

// warn adds a warning. Up to its first colon it says what makes replays differ from the run.
func (b *builder) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.Warnings = append(b.Warnings, b.Name+": "+text)
	text, _, _ = strings.Cut(text, ": ")
	b.Unlike = append(b.Unlike, text)
}

// add takes one event of the trace while the trace is read, and keeps no reference to
// the event.
func (b *builder) add(e traces.Event) error {
	b.mishaps.add(e)
	b.counted = false
	switch e := e.(type) {
	case *traces.NodeUp:
		if e.Worker && !slices.ContainsFunc(b.Nodes, func(n traces.NodeFacts) bool { return n.Node == e.Node }) {
			b.Nodes = append(b.Nodes, e.NodeFacts)
		}
	case *traces.NodeCapacity:
		b.Capacity = append(b.Capacity, *e)
	case *traces.NodeSample:
		if e.Load1 >= 0 {
			b.Loads.Sampled(e.Node, e.T, e.Load1)
		}
		b.used.sampled(e)
		b.held.sampled(e)
	case *traces.JobSubmitted:
		return b.submitted(e)
	case *traces.JobListed:
		return b.listed(e)
	case *traces.JobStarted:
		b.masterUp(e)
	case *traces.JobFinished:
		b.jobEnded(e)
	case *traces.TaskScheduled:
		b.scheduled(e)
	case *traces.AttemptStarted:
		b.started(e)
	case *traces.AttemptFinished:
		b.finished(e)
	case *traces.BlockReplica:
		h := b.block(e.Block)
		h.file, h.offset = fileOf(e.Path), e.OffsetBytes
		h.onDisk = append(h.onDisk, placed{e.T, b.node(e.Node), e.Gone})
	case *traces.BlockCached:
		h := b.block(e.Block)
		h.ram = append(h.ram, placed{e.T, b.node(e.Node), e.Gone})
	case *traces.Decision:
		b.decided[e.ID] = Decision{ID: e.ID, T: e.T, TaskIndex: e.TaskIndex, What: e.What, Job: b.job(e.Job), Node: b.node(e.Node)}
	case *traces.Actuation:
		b.actuated(e)
	case *traces.Heartbeat:
		b.Heartbeats = append(b.Heartbeats, Heartbeat{e.T, b.node(e.Node)})
	}
	return nil
}

func (b *builder) actuated(e *traces.Actuation) {
	if d, ok := b.decided[e.Decision]; ok && e.Outcome == "honoured" && e.GrantedAt >= d.T {
		d.GrantedAt, d.bound = e.GrantedAt, attemptKey{b.key(e.Bound.Task), e.Bound.Number}
		b.Decisions = append(b.Decisions, d)
	}
	delete(b.decided, e.Decision)
}

func (b *builder) masterUp(e *traces.JobStarted) {
	j := b.jobs[b.job(e.Job)]
	if j == nil {
		return
	}
	if j.Started == 0 {
		b.used.changed(e.T, 0, -1)
		b.used.up++
	}
	j.Started, j.AMNode, j.AMMemoryBytes = e.T, e.AMNode, e.AMMemoryBytes
}

func (b *builder) jobEnded(e *traces.JobFinished) {
	j := b.jobs[b.job(e.Job)]
	if j == nil {
		return
	}
	switch {
	case j.Finished > 0:
	case j.Started == 0:
		b.used.changed(e.T, 0, -1)
	default:
		b.used.up--
	}
	j.Finished, j.Outcome = e.T, e.Outcome
}

func (b *builder) scheduled(e *traces.TaskScheduled) {
	key := b.key(e.Task)
	b.counted = b.counts.has(key.job, b.jobs[key.job])
	t := b.task(key)
	if t == nil {
		return
	}
	t.scheduled, t.LengthBytes, t.file, t.OffsetBytes = e.T, e.LengthBytes, fileOf(e.Path), e.OffsetBytes
	from := len(b.hosts)
	for _, n := range e.SplitHosts {
		b.hosts = append(b.hosts, b.node(n))
	}
	t.splitHosts = b.hostsFrom(from)
	if len(e.Blocks) > 0 {
		t.block = e.Blocks[0]
	}
}

func (b *builder) submitted(e *traces.JobSubmitted) error {
	if b.Header.List != nil {
		return fmt.Errorf("job %s is submitted, but the header says that the trace lists its jobs", e.Job)
	}
	if e.Maps < 0 || e.Reduces < 0 {
		return fmt.Errorf("job %s has %d maps and %d reduces: neither may be negative", e.Job, e.Maps, e.Reduces)
	}
	i := b.job(e.Job)
	if b.jobs[i] != nil {
		return fmt.Errorf("job %s is submitted twice", e.Job)
	}
	b.jobs[i] = &Job{JobSubmitted: *e, number: i}
	b.Jobs = append(b.Jobs, b.jobs[i])
	b.used.changed(e.T, 0, 1)
	return nil
}

// listed adds a job of a job list to the trace while the trace is read.
func (b *builder) listed(e *traces.JobListed) error {
	if b.Header.List == nil {
		return fmt.Errorf("job %s is listed, but the header has no rules that make its tasks", e.Job)
	}
	if err := b.Header.List.Check(e); err != nil {
		return fmt.Errorf("job %s: %w", e.Job, err)
	}
	if _, again := b.jobOf[e.Job]; again {
		return fmt.Errorf("job %s is listed twice", e.Job)
	}
	b.job(e.Job)
	b.List = append(b.List, *e)
	return nil
}

func (b *builder) started(e *traces.AttemptStarted) {
	key := attemptKey{b.key(e.Attempt.Task), e.Attempt.Number}
	if strings.HasSuffix(e.Container, masterContainer) {
		if b.uber == nil {
			b.uber = map[int32]bool{}
		}
		b.uber[key.job] = true
	}
	a := b.attempts.add(Attempt{
		job: key.job, Index: key.index, number: key.number, node: b.node(e.Node), Kind: key.kind,
		Level: cmp.Or(e.ReplicaLocality, e.SplitLocality), replica: e.ReplicaLocality, Start: e.T,
	})
	b.used.changed(e.T, 1, 0)
	b.counted = b.counts.has(key.job, b.jobs[key.job]) && !b.counts.endedFirst[key]
	if j := b.jobs[key.job]; j != nil {
		a.load = b.Loads.Started(e.Node, e.T, j.Kind(), key.kind)
	}
	// The call makes the task, as its scheduling event may be missing or come later.
	switch t := b.task(key.taskKey); {
	case t == nil, t.running != nil && t.running.number != key.number:
		b.others[key] = a
	default:
		t.running = a
		delete(b.others, key)
	}
	b.mishaps.started(key)
}

// ended returns an attempt that was running, and no longer counts it as running. It
// returns nil if the attempt was not.
func (b *builder) ended(key attemptKey) (t *Task, a *Attempt) {
	if t = b.task(key.taskKey); t != nil && t.running != nil && t.running.number == key.number {
		a, t.running = t.running, nil
		return t, a
	}
	a = b.others[key]
	delete(b.others, key)
	return t, a
}

func (b *builder) finished(e *traces.AttemptFinished) {
	key := attemptKey{b.key(e.Attempt.Task), e.Attempt.Number}
	t, a := b.ended(key)
	b.counted = b.counts.has(key.job, b.jobs[key.job]) && b.counts.ended(key, a)
	if a == nil {
		return
	}
	b.used.changed(e.T, -1, 0)
	c := &e.Counters
	a.End, a.Outcome = e.T, e.Outcome
	a.read, a.WrittenBytes = max(0, c.HDFSReadBytes), max(0, c.HDFSWrittenBytes)
	a.mapOutput, a.shuffled = max(0, c.MapOutputBytes), max(0, c.ShuffleBytes)
	a.cpuMs = max(0, c.CPUMs)
	b.Loads.Ended(b.nodes[a.node], a.load, a.Start, a.End, a.cpuMs)
	switch {
	case t == nil:
	case e.Outcome == traces.Failed:
		t.failed = e.T
	case e.Outcome == traces.Succeeded && t.Won == nil:
		t.Won = a
	}
	if b.counted {
		b.counts.add(a, a.End)
	}
	b.mishaps.ended(key.taskKey, life{a.Start, a.End, b.nodes[a.node], a.Outcome, strings.HasPrefix(e.Error, traces.KilledByYARN)})
}

// job returns the index of the job with this id; a new id gets a new index.
func (b *builder) job(id traces.JobID) int32 {
	if len(b.jobNames) > 0 && b.jobNames[b.lastJob] == id {
		return b.lastJob
	}
	i, ok := b.jobOf[id]
	if !ok {
		i = int32(len(b.jobs))
		b.jobOf[id], b.jobs, b.jobNames, b.tasks = i, append(b.jobs, nil), append(b.jobNames, id), append(b.tasks, [2]taskList{})
		b.counts.jobs = append(b.counts.jobs, traces.HashName(string(id)))
	}
	b.lastJob = i
	return i
}

// node returns the index of the node with this name; a new name gets a new index.
func (b *builder) node(name traces.Node) nodeIndex {
	i, ok := b.nodeOf[name]
	if !ok {
		i = nodeIndex(len(b.nodes))
		b.nodeOf[name], b.nodes = i, append(b.nodes, name)
		b.counts.nodes = append(b.counts.nodes, traces.HashName(string(name)))
	}
	return i
}

// hostsFrom returns the hostList that finds the nodes of Trace.hosts from an index on.
func (b *builder) hostsFrom(from int) hostList {
	return hostList{uint32(from), uint32(len(b.hosts) - from)}
}

// addHosts appends a list of nodes to Trace.hosts and returns the hostList that finds
// the nodes there.
func (b *builder) addHosts(list []nodeIndex) hostList {
	from := len(b.hosts)
	b.hosts = append(b.hosts, list...)
	return b.hostsFrom(from)
}

// fileOf returns a hash of a file's path, to compare files by; 0 for an empty path.
func fileOf(path string) uint64 {
	if path == "" {
		return 0
	}
	return traces.HashName(path)
}

func (b *builder) block(id traces.Block) *history {
	h := b.blocks[id]
	if h == nil {
		h = &history{}
		b.blocks[id] = h
	}
	return h
}

func (b *builder) key(id traces.Task) taskKey { return taskKey{b.job(id.Job), id.Index, id.Kind} }

// task returns the task with this key; nil if its job has no such task. It makes the
// task when an event first names it. So the memory depends on the events and not on
// the number of tasks that a job announces.
func (b *builder) task(k taskKey) *Task {
	j := b.jobs[k.job]
	if j == nil || !k.kind.Valid() || k.index < 0 || k.index >= j.claims(k.kind) {
		return nil
	}
	return b.tasks[k.job][k.kind].task(k.index, j.claims(k.kind))
}

// claims returns how many tasks of a kind the job announced at its submission.
func (j *Job) claims(k traces.TaskKind) int32 {
	if k == traces.Map {
		return j.Maps
	}
	return j.Reduces
}
