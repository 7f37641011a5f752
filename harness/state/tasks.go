package state

import (
	"fmt"
	"slices"
)

// The field where of a job has one number for each task: the node that the
// task runs on, or one of the negative values below, which stand for other
// states. For a task that is expected in the container of reservation r, the
// number is reservedBase-r.
const (
	waitingTask  = -1
	rerunTask    = -2 // a failed map that waits again; the ApplicationMaster starts such a map before other maps, on any node
	unasked      = -3
	doneTask     = -4
	reservedBase = -5
)

// Ask records that the ApplicationMaster has asked for containers for the
// job's first n tasks of kind k. The number n includes the tasks of earlier
// requests.
func (s *State) Ask(id JobID, k Kind, n int32) {
	j := &s.jobs[id]
	c := &j.counts[k]
	n = min(n, c.total)
	if j.ended || n <= c.asked {
		return
	}
	// Cursors in the job's lists of maps stand where the next search for a waiting
	// map begins. They cannot have moved before some task of the job waited. So
	// the ApplicationMaster's first request for containers need not move the
	// cursors back.
	cursorsMoved := j.waited
	j.waited = true
	for i := c.asked; i < n; i++ {
		t := j.task(k, i)
		if j.where[t] != unasked { // the task started before the ApplicationMaster asked for it, so it does not wait
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

// Unask records that the ApplicationMaster withdraws its request for the
// highest-numbered waiting task of kind k. It returns for how many of the
// job's first tasks of this kind containers are still asked for. The result ok
// is false if no task of this kind waits.
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

// Start records that task t has started on node n, even if the scheduler did
// not decide that. It fails if the task is running already or has ended.
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
	s.takeTask(id, n, k)
	return nil
}

// Finish records that a running task has succeeded.
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
	s.giveTask(id, NodeID(n), k)
	return nil
}

// Retry records that the ApplicationMaster asks again for a container for a
// task that is running or has ended. If rerun is true and the task is a map,
// the ApplicationMaster will start it before all other maps and without regard
// to locality. Otherwise the task waits like a new one.
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
		s.giveTask(id, NodeID(w), k)
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

// wait adds task t to the waiting tasks. The parameter as is the task's new
// state, waitingTask or rerunTask. The caller must then call listWaiting.
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

// unwait removes task t from the waiting tasks. The caller must then set the
// task's entry in job.where and call listWaiting.
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

// task returns the job's task number i of kind k, counted from 0 within that
// kind.
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

// known returns the job with the given id. It returns an error if this job, its
// task t or node n does not exist.
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
