package external

import (
	"encoding/json"
	"math"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// request is a line that asks, with what differs in the View from the last one.
type request struct {
	Ask         int64         `json:"ask"`
	Now         int64         `json:"now"`
	Node        *state.NodeID `json:"node,omitempty"`
	LateBinding *bool         `json:"lateBinding,omitempty"`
	Racks       []string      `json:"racks,omitempty"`
	Nodes       []nodeChange  `json:"nodes,omitempty"`
	Ended       []state.JobID `json:"ended,omitempty"`
	Jobs        []jobChange   `json:"jobs,omitempty"`
	Events      []event       `json:"events,omitempty"`
}

type nodeChange struct {
	ID   state.NodeID  `json:"id"`
	Name string        `json:"name,omitempty"`
	Rack *state.RackID `json:"rack,omitempty"`
	nodeState
	Slots *pair `json:"slots,omitempty"`
}

type nodeState struct {
	Up       bool `json:"up"`
	Room     bool `json:"room"`
	Free     pair `json:"free"`
	Capacity pair `json:"capacity"`
}

// pair is two numbers: of memory and cores, or of maps and reduces.
type pair [2]int32

func pairOf(r state.Resource) pair { return pair{r.MemoryMB, r.VCores} }

type jobChange struct {
	ID state.JobID `json:"id"`
	*terms
	Priority *int32        `json:"priority,omitempty"`
	Inputs   [][]any       `json:"inputs,omitempty"` // number of the map, and lists of nodes
	Used     pair          `json:"used"`
	Running  pair          `json:"running"`
	Done     pair          `json:"done"`
	Waiting  []tasks       `json:"waiting,omitempty"`
	Runs     []pair        `json:"runs,omitempty"`
	Rest     []tasks       `json:"rest,omitempty"`
	Rerun    *state.TaskID `json:"rerun,omitempty"`
}

// tasks are the first and the last of a range.
type tasks [2]state.TaskID

// terms are what stays the same while a job is there.
type terms struct {
	Name      string  `json:"name"`
	Queue     string  `json:"queue"`
	Pool      string  `json:"pool"`
	Weight    float64 `json:"weight"`
	Submitted int64   `json:"submitted"`
	Deadline  *int64  `json:"deadline,omitempty"`
	Price     float64 `json:"price,omitempty"`
	Tasks     pair    `json:"tasks"`
	Sizes     [2]pair `json:"sizes"`
}

type event struct {
	What   string        `json:"what"`
	Now    int64         `json:"now"`
	Job    state.JobID   `json:"job"`
	Task   *state.TaskID `json:"task,omitempty"`
	Node   *state.NodeID `json:"node,omitempty"`
	Failed bool          `json:"failed,omitempty"`
}

// seen is what the program knows: the View at the last request.
type seen struct {
	begun   bool
	racks   int
	nodes   []seenNode
	jobs    []*seenJob // by job; nil: the job has ended
	active  []state.JobID
	since   uint64 // version of the View's changes
	changed []state.JobID
	cached  []state.NodeID
}

type seenNode struct {
	nodeState
	slots pair
}

type seenJob struct {
	changed      bool
	where        []int32 // by task: the node that it runs on, waits, or neither
	inputs       []input // by map
	inputChanges int32
	rerun        state.TaskID
}

// input is where the input of a map is.
type input struct{ stored, cached, split []state.NodeID }

const (
	waits   = -1
	neither = -2
)

// note remembers jobs that an event is about: which of their tasks run may have changed.
func (s *seen) note(e sched.Event) {
	id := e.Job
	if e.What == sched.Cancelled {
		id = e.Decision.Job
	}
	if int(id) < len(s.jobs) && s.jobs[id] != nil {
		s.jobs[id].changed = true
	}
}

// request returns a request with what changed in the View.
func (s *seen) request(v *state.View, number int64, n state.NodeID, events []event) ([]byte, error) {
	r := request{Ask: number, Now: v.Now(), Nodes: s.nodeChanges(v), Ended: s.ended(v), Jobs: s.jobChanges(v), Events: events}
	if n != state.None {
		r.Node = &n
	}
	if !s.begun {
		s.begun, r.LateBinding = true, new(v.LateBinding())
	}
	for ; s.racks < v.Racks(); s.racks++ {
		r.Racks = append(r.Racks, v.RackName(state.RackID(s.racks)))
	}
	return json.Marshal(r)
}

func (s *seen) nodeChanges(v *state.View) (list []nodeChange) {
	for i := range v.Nodes() {
		n := state.NodeID(i)
		now := seenNode{
			nodeState{v.Up(n), v.HasRoom(n), pairOf(v.Free(n)), pairOf(v.Capacity(n))},
			pair{v.FreeSlots(n, state.Map), v.FreeSlots(n, state.Reduce)},
		}
		isNew := i == len(s.nodes)
		if isNew {
			s.nodes = append(s.nodes, now)
		} else if s.nodes[i] == now {
			continue
		}
		s.nodes[i] = now
		x := nodeChange{ID: n, nodeState: now.nodeState}
		if isNew {
			x.Name, x.Rack = v.NodeName(n), new(v.Rack(n))
		}
		if slots := now.slots; slots[0] < noLimit {
			x.Slots = &slots
		}
		list = append(list, x)
	}
	return list
}

const noLimit = 1<<31 - 1 // View.FreeSlots where there are no slots

func (s *seen) jobChanges(v *state.View) (list []jobChange) {
	var ok bool
	s.changed, s.since, ok = v.Changes(s.since, s.changed[:0])
	for _, id := range s.changed {
		if int(id) < len(s.jobs) && s.jobs[id] != nil {
			s.jobs[id].changed = true
		}
	}
	for _, id := range v.Active() {
		for int(id) >= len(s.jobs) {
			s.jobs = append(s.jobs, nil)
		}
		j := s.jobs[id]
		switch {
		case j == nil:
			s.active = append(s.active, id)
			list = append(list, s.job(v, id, true))
		case !ok || j.changed || j.inputChanges != v.InputChanges(id):
			list = append(list, s.job(v, id, false))
		}
	}
	return list
}

func (s *seen) ended(v *state.View) (list []state.JobID) {
	s.active = slices.DeleteFunc(s.active, func(id state.JobID) bool {
		if !v.Ended(id) {
			return false
		}
		s.jobs[id] = nil
		list = append(list, id)
		return true
	})
	return list
}

func (s *seen) job(v *state.View, id state.JobID, isNew bool) jobChange {
	both := func(of func(state.JobID, state.Kind) int32) pair {
		return pair{of(id, state.Map), of(id, state.Reduce)}
	}
	x := jobChange{ID: id, Used: pairOf(v.Used(id)), Running: both(v.Running), Done: both(v.Done)}
	j := s.jobs[id]
	if isNew {
		j = newSeenJob(v, id)
		s.jobs[id] = j
		x.terms = &terms{
			Name: v.JobName(id), Queue: v.QueueName(v.Queue(id)), Pool: v.PoolName(v.Pool(id)), Weight: min(v.Weight(id), math.MaxFloat64),
			Submitted: v.Submitted(id), Price: v.Price(id), Tasks: both(v.Tasks),
			Sizes: [2]pair{pairOf(v.ContainerSize(id, state.Map)), pairOf(v.ContainerSize(id, state.Reduce))},
		}
		if d := v.Deadline(id); d != state.NoDeadline {
			x.Deadline = &d
		}
		x.Priority = new(v.Priority(id))
	}
	j.changed = false
	if c := v.InputChanges(id); isNew || c != j.inputChanges {
		j.inputChanges = c
		x.Inputs = s.inputs(v, id, j)
	}
	x.addTasks(v, j)
	if t := v.NextRerun(id); t != j.rerun {
		j.rerun, x.Rerun = t, &t
	}
	return x
}

func newSeenJob(v *state.View, id state.JobID) *seenJob {
	maps, reduces := v.Tasks(id, state.Map), v.Tasks(id, state.Reduce)
	j := &seenJob{where: make([]int32, maps+reduces), inputs: make([]input, maps), rerun: state.None}
	for t := range j.where {
		j.where[t] = neither
	}
	return j
}

// inputs lists the maps whose input is elsewhere than the program knows.
func (s *seen) inputs(v *state.View, id state.JobID, j *seenJob) (list [][]any) {
	for i := range j.inputs {
		x, t := &j.inputs[i], state.TaskID(i)
		stored, split := v.Replicas(id, t), v.SplitHosts(id, t)
		s.cached = v.CachedOn(id, t, s.cached[:0])
		slices.Sort(s.cached)
		if slices.Equal(x.stored, stored) && slices.Equal(x.split, split) && slices.Equal(x.cached, s.cached) {
			continue
		}
		copied := func(nodes []state.NodeID) []state.NodeID { return append([]state.NodeID{}, nodes...) } // never nil
		*x = input{copied(stored), copied(s.cached), copied(split)}
		where := []any{i, x.stored, x.cached}
		if !slices.Equal(stored, split) {
			where = append(where, x.split)
		}
		list = append(list, where)
	}
	return list
}

// addTasks adds the tasks that do something else than the program knows.
func (x *jobChange) addTasks(v *state.View, j *seenJob) {
	for i, was := range j.where {
		t, now := state.TaskID(i), int32(neither)
		if v.IsWaiting(x.ID, t) {
			now = waits
		} else if n := v.RunsOn(x.ID, t); n != state.None {
			now = int32(n)
		}
		if now == was {
			continue
		}
		switch j.where[i] = now; now {
		case waits:
			x.Waiting = with(x.Waiting, t)
		case neither:
			x.Rest = with(x.Rest, t)
		default:
			x.Runs = append(x.Runs, pair{int32(t), now})
		}
	}
}

// with adds a task to ranges.
func with(ranges []tasks, t state.TaskID) []tasks {
	if n := len(ranges); n > 0 && ranges[n-1][1] == t-1 {
		ranges[n-1][1] = t
		return ranges
	}
	return append(ranges, tasks{t, t})
}

var eventNames = [...]string{
	sched.JobSubmitted: "jobSubmitted", sched.JobEnded: "jobEnded", sched.TaskStarted: "taskStarted", sched.TaskEnded: "taskEnded",
	sched.Confirmed: "confirmed", sched.Cancelled: "cancelled",
}

func eventOf(now int64, e sched.Event) event {
	if e.What == sched.Cancelled {
		e.Job, e.Node, e.Task = e.Decision.Job, e.Decision.Node, e.Decision.Task
	}
	x := event{What: eventNames[e.What], Now: now, Job: e.Job, Failed: e.Failed}
	if e.What != sched.JobSubmitted && e.What != sched.JobEnded {
		x.Task, x.Node = &e.Task, &e.Node
	}
	return x
}
