package external

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// seen is what the program knows: the View at the last request. A request has what
// differs from it.
type seen struct {
	line    []byte
	begun   bool
	racks   int
	nodes   []seenNode
	jobs    []*seenJob // by job; nil: the job has ended
	active  []state.JobID
	since   uint64 // version of the View's changes
	changed []state.JobID
	spans   [2]spans // the tasks of a job that wait now, and those that neither wait nor run
	runs    []byte
	cached  []state.NodeID
}

type seenNode struct {
	up, room       bool
	free, capacity state.Resource
	slots          [2]int32
}

type seenJob struct {
	changed      bool
	where        []int32 // by task: the node that it runs on, waits, or neither
	inputs       []input // by map
	inputChanges int32
	priority     int32
	rerun        state.TaskID
}

// input is where the input of a map is.
type input struct{ stored, cached, split []state.NodeID }

const (
	waits   = -1
	neither = -2
)

// spans are ranges of task ids as JSON.
type spans struct {
	text     []byte
	from, to state.TaskID
	open     bool
}

func (s *spans) add(t state.TaskID) {
	if s.open && t == s.to+1 {
		s.to = t
		return
	}
	s.end()
	s.from, s.to, s.open = t, t, true
}

func (s *spans) end() {
	if s.open {
		s.text = appendPair(appendComma(s.text), int64(s.from), int64(s.to))
		s.open = false
	}
}

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

// request returns a request with what changed in the View. The slice is valid until the
// next call.
func (s *seen) request(v *state.View, number int64, n state.NodeID, events []byte) []byte {
	b := appendInt(s.line[:0], `{"ask":`, number)
	b = appendInt(b, `,"now":`, v.Now())
	if n != state.None {
		b = appendInt(b, `,"node":`, n)
	}
	if !s.begun {
		b = strconv.AppendBool(append(b, `,"lateBinding":`...), v.LateBinding())
	}
	if s.racks < v.Racks() {
		b = append(b, `,"racks":[`...)
		for ; s.racks < v.Racks(); s.racks++ {
			b = appendText(appendComma(b), v.RackName(state.RackID(s.racks)))
		}
		b = append(b, ']')
	}
	b = s.appendNodes(b, v)
	b = s.appendJobs(b, v)
	if len(events) > 0 {
		b = append(append(append(b, `,"events":[`...), events...), ']')
	}
	s.begun = true
	s.line = append(b, '}', '\n')
	return s.line
}

func (s *seen) appendNodes(b []byte, v *state.View) []byte {
	start := len(b)
	b = append(b, `,"nodes":[`...)
	empty := len(b)
	for i := range v.Nodes() {
		n := state.NodeID(i)
		now := seenNode{v.Up(n), v.HasRoom(n), v.Free(n), v.Capacity(n), [2]int32{v.FreeSlots(n, state.Map), v.FreeSlots(n, state.Reduce)}}
		isNew := i == len(s.nodes)
		if isNew {
			s.nodes = append(s.nodes, seenNode{})
		}
		if s.nodes[i] == now && !isNew {
			continue
		}
		s.nodes[i] = now
		b = appendInt(appendComma(b), `{"id":`, i)
		if isNew {
			b = appendText(append(b, `,"name":`...), v.NodeName(n))
			b = appendInt(b, `,"rack":`, v.Rack(n))
		}
		b = strconv.AppendBool(append(b, `,"up":`...), now.up)
		b = strconv.AppendBool(append(b, `,"room":`...), now.room)
		b = appendResource(append(b, `,"free":`...), now.free)
		b = appendResource(append(b, `,"capacity":`...), now.capacity)
		if now.slots[0] < noLimit {
			b = appendPair(append(b, `,"slots":`...), int64(now.slots[0]), int64(now.slots[1]))
		}
		b = append(b, '}')
	}
	if len(b) == empty {
		return b[:start]
	}
	return append(b, ']')
}

const noLimit = 1<<31 - 1 // View.FreeSlots where there are no slots

func (s *seen) appendJobs(b []byte, v *state.View) []byte {
	b = s.appendEnded(b, v)
	var ok bool
	s.changed, s.since, ok = v.Changes(s.since, s.changed[:0])
	for _, id := range s.changed {
		if int(id) < len(s.jobs) && s.jobs[id] != nil {
			s.jobs[id].changed = true
		}
	}
	start := len(b)
	b = append(b, `,"jobs":[`...)
	empty := len(b)
	for _, id := range v.Active() {
		for int(id) >= len(s.jobs) {
			s.jobs = append(s.jobs, nil)
		}
		j := s.jobs[id]
		switch isNew := j == nil; {
		case isNew:
			s.active = append(s.active, id)
			b = s.appendJob(b, v, id, true)
		case !ok || j.changed || j.inputChanges != v.InputChanges(id):
			b = s.appendJob(b, v, id, false)
		}
	}
	if len(b) == empty {
		return b[:start]
	}
	return append(b, ']')
}

func (s *seen) appendEnded(b []byte, v *state.View) []byte {
	kept, start := 0, len(b)
	for _, id := range s.active {
		if !v.Ended(id) {
			s.active[kept] = id
			kept++
			continue
		}
		if len(b) == start {
			b = append(b, `,"ended":[`...)
		}
		b = strconv.AppendInt(appendComma(b), int64(id), 10)
		s.jobs[id] = nil
	}
	s.active = s.active[:kept]
	if len(b) == start {
		return b
	}
	return append(b, ']')
}

func (s *seen) appendJob(b []byte, v *state.View, id state.JobID, isNew bool) []byte {
	b = appendInt(appendComma(b), `{"id":`, id)
	j := s.jobs[id]
	if isNew {
		j = newSeenJob(v, id)
		s.jobs[id] = j
		b = appendTerms(b, v, id)
	}
	j.changed = false
	if p := v.Priority(id); isNew || p != j.priority {
		j.priority = p
		b = appendInt(b, `,"priority":`, p)
	}
	if c := v.InputChanges(id); isNew || c != j.inputChanges {
		j.inputChanges = c
		b = s.appendInputs(b, v, id, j)
	}
	b = appendResource(append(b, `,"used":`...), v.Used(id))
	b = appendPair(append(b, `,"running":`...), int64(v.Running(id, state.Map)), int64(v.Running(id, state.Reduce)))
	b = appendPair(append(b, `,"done":`...), int64(v.Done(id, state.Map)), int64(v.Done(id, state.Reduce)))
	b = s.appendTasks(b, v, id, j)
	if t := v.NextRerun(id); t != j.rerun {
		j.rerun = t
		b = appendInt(b, `,"rerun":`, t)
	}
	return append(b, '}')
}

func newSeenJob(v *state.View, id state.JobID) *seenJob {
	maps, reduces := v.Tasks(id, state.Map), v.Tasks(id, state.Reduce)
	j := &seenJob{where: make([]int32, maps+reduces), inputs: make([]input, maps), rerun: state.None}
	for t := range j.where {
		j.where[t] = neither
	}
	return j
}

// appendTerms appends what stays the same while a job is there.
func appendTerms(b []byte, v *state.View, id state.JobID) []byte {
	b = appendText(append(b, `,"name":`...), v.JobName(id))
	b = appendText(append(b, `,"queue":`...), v.QueueName(v.Queue(id)))
	b = appendText(append(b, `,"pool":`...), v.PoolName(v.Pool(id)))
	b = strconv.AppendFloat(append(b, `,"weight":`...), min(v.Weight(id), math.MaxFloat64), 'g', -1, 64)
	b = appendInt(b, `,"submitted":`, v.Submitted(id))
	if d := v.Deadline(id); d != state.NoDeadline {
		b = appendInt(b, `,"deadline":`, d)
	}
	if p := v.Price(id); p != 0 {
		b = strconv.AppendFloat(append(b, `,"price":`...), p, 'g', -1, 64)
	}
	b = appendPair(append(b, `,"tasks":`...), int64(v.Tasks(id, state.Map)), int64(v.Tasks(id, state.Reduce)))
	b = appendResource(append(b, `,"sizes":[`...), v.ContainerSize(id, state.Map))
	b = appendResource(append(b, ','), v.ContainerSize(id, state.Reduce))
	return append(b, ']')
}

// appendInputs appends the maps whose input is elsewhere than the program knows.
func (s *seen) appendInputs(b []byte, v *state.View, id state.JobID, j *seenJob) []byte {
	start := len(b)
	b = append(b, `,"inputs":[`...)
	empty := len(b)
	for i := range j.inputs {
		x, t := &j.inputs[i], state.TaskID(i)
		stored, split := v.Replicas(id, t), v.SplitHosts(id, t)
		s.cached = v.CachedOn(id, t, s.cached[:0])
		slices.Sort(s.cached)
		if slices.Equal(x.stored, stored) && slices.Equal(x.split, split) && slices.Equal(x.cached, s.cached) {
			continue
		}
		x.stored = append(x.stored[:0], stored...)
		x.split = append(x.split[:0], split...)
		x.cached = append(x.cached[:0], s.cached...)
		b = strconv.AppendInt(append(appendComma(b), '['), int64(i), 10)
		b = appendIDs(append(b, ','), stored)
		b = appendIDs(append(b, ','), s.cached)
		if !slices.Equal(stored, split) {
			b = appendIDs(append(b, ','), split)
		}
		b = append(b, ']')
	}
	if len(b) == empty {
		return b[:start]
	}
	return append(b, ']')
}

// appendTasks appends the tasks that do something else than the program knows.
func (s *seen) appendTasks(b []byte, v *state.View, id state.JobID, j *seenJob) []byte {
	waiting, rest := &s.spans[0], &s.spans[1]
	waiting.text, rest.text, s.runs = waiting.text[:0], rest.text[:0], s.runs[:0]
	for i, was := range j.where {
		t, now := state.TaskID(i), int32(neither)
		if v.IsWaiting(id, t) {
			now = waits
		} else if n := v.RunsOn(id, t); n != state.None {
			now = int32(n)
		}
		if now == was {
			continue
		}
		switch j.where[i] = now; now {
		case waits:
			waiting.add(t)
		case neither:
			rest.add(t)
		default:
			s.runs = appendPair(appendComma(s.runs), int64(i), int64(now))
		}
	}
	waiting.end()
	rest.end()
	for _, x := range []struct {
		key  string
		list []byte
	}{{`,"waiting":[`, waiting.text}, {`,"runs":[`, s.runs}, {`,"rest":[`, rest.text}} {
		if len(x.list) > 0 {
			b = append(append(append(b, x.key...), x.list...), ']')
		}
	}
	return b
}

var eventNames = [...]string{
	sched.JobSubmitted: "jobSubmitted", sched.JobEnded: "jobEnded", sched.TaskStarted: "taskStarted", sched.TaskEnded: "taskEnded",
	sched.Confirmed: "confirmed", sched.Cancelled: "cancelled",
}

func appendEvent(b []byte, now int64, e sched.Event) []byte {
	if e.What == sched.Cancelled {
		e.Job, e.Node, e.Task = e.Decision.Job, e.Decision.Node, e.Decision.Task
	}
	b = append(appendComma(b), `{"what":"`...)
	b = append(append(b, eventNames[e.What]...), `","now":`...)
	b = strconv.AppendInt(b, now, 10)
	b = appendInt(b, `,"job":`, e.Job)
	if e.What != sched.JobSubmitted && e.What != sched.JobEnded {
		b = appendInt(b, `,"task":`, e.Task)
		b = appendInt(b, `,"node":`, e.Node)
	}
	if e.Failed {
		b = append(b, `,"failed":true`...)
	}
	return append(b, '}')
}

// appendComma appends a comma unless a list or the text begins.
func appendComma(b []byte) []byte {
	if len(b) == 0 || b[len(b)-1] == '[' {
		return b
	}
	return append(b, ',')
}

// appendInt appends a number after its key.
func appendInt[N ~int | ~int32 | ~int64](b []byte, key string, n N) []byte {
	return strconv.AppendInt(append(b, key...), int64(n), 10)
}

func appendPair(b []byte, x, y int64) []byte {
	b = strconv.AppendInt(append(b, '['), x, 10)
	return append(strconv.AppendInt(append(b, ','), y, 10), ']')
}

func appendResource(b []byte, r state.Resource) []byte {
	return appendPair(b, int64(r.MemoryMB), int64(r.VCores))
}

func appendIDs(b []byte, ids []state.NodeID) []byte {
	b = append(b, '[')
	for _, n := range ids {
		b = strconv.AppendInt(appendComma(b), int64(n), 10)
	}
	return append(b, ']')
}

// appendText appends text as a JSON string of ASCII.
func appendText(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	escape := func(x uint16) {
		b = append(b, '\\', 'u', hex[x>>12], hex[x>>8&15], hex[x>>4&15], hex[x&15])
	}
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < utf8.RuneSelf-1:
			b = append(b, byte(r))
		case r < 1<<16:
			escape(uint16(r))
		default: // two halves, as in UTF-16
			r -= 1 << 16
			escape(uint16(0xd800 + r>>10))
			escape(uint16(0xdc00 + r&0x3ff))
		}
	}
	return append(b, '"')
}
