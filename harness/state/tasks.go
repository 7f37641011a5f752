package state

import (
	"fmt"
	"slices"
)

// job.where has one number for each task: the node it runs on, or one of the
// values below. While the task is in reservation r the number is
// reservedBase-r.
const (
	waitingTask  = -1
	rerunTask    = -2 // waits as a re-run: bound before other maps and without regard to locality
	unasked      = -3
	doneTask     = -4
	reservedBase = -5
)

// Ask says that the ApplicationMaster now asks for containers for the first n
// tasks of a kind. n counts from the job's start.
func (s *State) Ask(id JobID, k Kind, n int32) {
	j := &s.jobs[id]
	c := &j.counts[k]
	n = min(n, c.total)
	if j.ended || n <= c.asked {
		return
	}
	// No cursor has moved past a task as long as nothing has waited, so the
	// first request needs no rewinding.
	cursorsMoved := j.waited
	j.waited = true
	for i := c.asked; i < n; i++ {
		t := j.task(k, i)
		if j.where[t] != unasked { // it started before it was asked for
			continue
		}
		if cursorsMoved {
			s.wait(id, t, waitingTask)
			continue
		}
		j.where[t] = waitingTask
		setBit(j.waiting[k].bits, i)
		c.waiting++
		if k == Map && j.cached != nil && j.cached.tasks[t] != None {
			j.cachedTasks++
		}
	}
	c.asked = n
	if k == Map && !cursorsMoved {
		s.enlistAll(id)
	}
	s.noteChange(id)
	s.listWaiting(id, k)
}

// Unask says that the ApplicationMaster takes back its request for the
// highest-numbered waiting task of a kind. It returns how many tasks are then
// asked for, as in Ask, and false if no task waits.
func (s *State) Unask(id JobID, k Kind) (asked int32, ok bool) {
	j := &s.jobs[id]
	c := &j.counts[k]
	if j.ended || c.waiting == 0 {
		return c.asked, false
	}
	i := lastSet(j.waiting[k].bits)
	t := j.task(k, i)
	if j.where[t] == rerunTask {
		s.forgetRerun(j, t)
	}
	s.unwait(j, t)
	j.where[t] = unasked
	c.asked = min(c.asked, i)
	s.noteChange(id)
	if c.waiting == 0 {
		s.listWaiting(id, k)
	}
	return c.asked, true
}

// Start says that task t has started on n, whether it was decided or not. It
// fails if the task already runs or has ended.
func (s *State) Start(id JobID, t TaskID, n NodeID) error {
	j, err := s.known(id, t, n)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	k := j.kind(t)
	c := &j.counts[k]
	switch w := j.where[t]; {
	case w >= 0 || w == doneTask:
		return fmt.Errorf("start task %d of job %q on %s: the task %s", t, j.name, s.names.nodes[n], s.taskState(w))
	case w <= reservedBase:
		j.where[t] = int32(n)
		s.replace(ReservationID(reservedBase - w))
	case w == unasked:
	default:
		s.unwait(j, t)
		if c.waiting == 0 {
			s.listWaiting(id, k)
		}
	}
	if j.where[t] == rerunTask {
		s.forgetRerun(j, t)
	}
	j.where[t] = int32(n)
	c.running++
	s.takeFor(id, n, j.size[k])
	return nil
}

// Finish says that a running task has succeeded.
func (s *State) Finish(id JobID, t TaskID) error {
	j, err := s.known(id, t, 0)
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	n := j.where[t]
	if n < 0 {
		return fmt.Errorf("finish task %d of job %q: the task %s", t, j.name, s.taskState(n))
	}
	k := j.kind(t)
	j.where[t] = doneTask
	j.counts[k].running--
	j.counts[k].done++
	s.giveFor(id, NodeID(n), j.size[k])
	return nil
}

// Retry says that the ApplicationMaster asks again for a task that runs or has
// ended. With rerun, a map becomes a re-run: the ApplicationMaster binds it
// before all others and without regard to locality. Without, it waits as at
// first.
func (s *State) Retry(id JobID, t TaskID, rerun bool) error {
	j, err := s.known(id, t, 0)
	if err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	w := j.where[t]
	k := j.kind(t)
	switch {
	case w >= 0:
		j.counts[k].running--
		s.giveFor(id, NodeID(w), j.size[k])
	case w == doneTask:
		j.counts[k].done--
		s.noteChange(id)
	default:
		return fmt.Errorf("retry task %d of job %q: the task %s", t, j.name, s.taskState(w))
	}
	if rerun && k == Map {
		s.wait(id, t, rerunTask)
		j.rerun = append(j.rerun, t)
		s.reruns++
	} else {
		if k == Map {
			j.requeued = append(slices.DeleteFunc(j.requeued, func(x TaskID) bool { return x == t }), t)
		}
		s.wait(id, t, waitingTask)
	}
	s.listWaiting(id, k)
	return nil
}

// wait adds t to the waiting tasks, as waitingTask or rerunTask. The caller
// then calls listWaiting.
func (s *State) wait(id JobID, t TaskID, as int32) {
	j := &s.jobs[id]
	k := j.kind(t)
	i := int32(t)
	j.where[t], j.waited = as, true
	j.counts[k].waiting++
	if k == Reduce {
		i -= j.counts[Map].total
	}
	waiting := &j.waiting[k]
	setBit(waiting.bits, i)
	waiting.from = min(waiting.from, i>>5)
	if k == Reduce {
		return
	}
	j.data.rewind(s, t)
	if j.split != &j.data {
		j.split.rewind(s, t)
	}
	if j.cached != nil && j.cached.tasks[t] != None {
		j.cachedTasks++
		j.cached.relist(i)
	}
	s.enlistTask(id, t)
}

// unwait takes t from the waiting tasks. The caller then sets job.where and
// calls listWaiting.
func (s *State) unwait(j *job, t TaskID) {
	k := j.kind(t)
	j.counts[k].waiting--
	if k == Reduce {
		clearBit(j.waiting[k].bits, int32(t)-j.counts[Map].total)
		return
	}
	clearBit(j.waiting[k].bits, int32(t))
	if j.cached != nil && j.cached.tasks[t] != None {
		j.cachedTasks--
	}
}

func (l *located) rewind(s *State, t TaskID) {
	for _, n := range l.of(t) {
		l.byNode.rewind(int32(n), int32(t))
		l.byRack.rewind(s.racks[n], int32(t))
	}
}

func (j *job) kind(t TaskID) Kind {
	if int32(t) < j.counts[Map].total {
		return Map
	}
	return Reduce
}

// task returns the task of a kind with number i in it.
func (j *job) task(k Kind, i int32) TaskID {
	if k == Reduce {
		i += j.counts[Map].total
	}
	return TaskID(i)
}

func (s *State) forgetRerun(j *job, t TaskID) {
	if i := slices.Index(j.rerun, t); i >= 0 {
		j.rerun = slices.Delete(j.rerun, i, i+1)
		s.reruns--
	}
}

// known returns the job, or an error if there is no such job, task t of it or
// node n.
func (s *State) known(id JobID, t TaskID, n NodeID) (*job, error) {
	if uint(id) >= uint(len(s.jobs)) {
		return nil, fmt.Errorf("job %d: %d jobs have been submitted, numbered from 0", id, len(s.jobs))
	}
	j := &s.jobs[id]
	if uint(t) >= uint(len(j.where)) {
		if j.ended {
			return nil, fmt.Errorf("job %q has ended", j.name)
		}
		return nil, fmt.Errorf("task %d of job %q: the job has %d tasks, numbered from 0", t, j.name, len(j.where))
	}
	if uint(n) >= uint(len(s.nodes)) {
		return nil, fmt.Errorf("node %d: the cluster has %d nodes, numbered from 0", n, len(s.nodes))
	}
	return j, nil
}

func (s *State) taskState(where int32) string {
	switch {
	case where >= 0:
		return "runs on " + s.names.nodes[where]
	case where == doneTask:
		return "has ended"
	case where == unasked:
		return "is not asked for"
	case where <= reservedBase:
		return "is reserved for " + s.names.nodes[s.reservations[reservedBase-where].node]
	}
	return "waits"
}
