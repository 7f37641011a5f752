package state

import "fmt"

// ReservationID numbers reservations: decisions to give a job a container that
// have not been carried out yet. The number of an ended reservation is used
// again.
type ReservationID int32

// reservation is a decision to give a job a container, as long as the decision
// has been neither carried out nor cancelled. The node's memory and cores are
// taken already, and the container's task no longer waits.
type reservation struct {
	live  bool
	rerun bool
	kind  Kind
	job   JobID
	task  TaskID // task expected to run in the container; None if no task of the container's kind (map or reduce) waits
	node  NodeID
}

// Reserve records the decision to give the job a container on node n for task
// t. If t is None, Reserve takes the task that would start in the container:
// the map that WouldBind returns, or the lowest-numbered waiting reduce.
// Reserve fails if the task does not wait, or if the node has no room for the
// container.
func (s *State) Reserve(id JobID, k Kind, t TaskID, n NodeID) (ReservationID, error) {
	if uint(id) >= uint(len(s.jobs)) {
		return None, fmt.Errorf("reserve for job %d: %d jobs have been submitted, numbered from 0", id, len(s.jobs))
	}
	if uint(n) >= uint(len(s.nodes)) {
		return None, fmt.Errorf("reserve on node %d: the cluster has %d nodes, numbered from 0", n, len(s.nodes))
	}
	j := &s.jobs[id]
	if t == None {
		t = s.expected(id, k, n)
	}
	var why string
	switch x := &s.nodes[n]; {
	case j.ended:
		why = "the job has ended"
	case t == None:
		why = fmt.Sprintf("no %v waits", k)
	case uint(t) >= uint(len(j.where)):
		why = fmt.Sprintf("the job has no task %d", t)
	case j.kind(t) != k:
		why = fmt.Sprintf("task %d is a %v", t, j.kind(t))
	case j.where[t] != waitingTask && j.where[t] != rerunTask:
		why = fmt.Sprintf("task %d %s", t, s.taskState(j.where[t]))
	case !s.up.Has(n):
		why = "the node is down"
	case !s.hasSlot(x, k):
		why = fmt.Sprintf("all %d %v slots of the node are taken", s.slots[k], k)
	case !x.free.Holds(j.size[k]):
		why = fmt.Sprintf("the node has %v free, but the container takes %v", x.free, j.size[k])
	}
	if why != "" {
		return None, fmt.Errorf("reserve a %v of job %q on %s: %s", k, j.name, s.names.nodes[n], why)
	}
	var r ReservationID
	if last := len(s.spare) - 1; last >= 0 {
		r, s.spare = s.spare[last], s.spare[:last]
	} else {
		r = ReservationID(len(s.reservations))
		s.reservations = append(s.reservations, reservation{})
	}
	s.reservations[r] = reservation{live: true, kind: k, job: id, node: n}
	j.reservations++
	s.assign(r, t)
	s.takeTask(id, n, k)
	return r, nil
}

// Confirm records that the container of reservation r (a decision not carried
// out so far) runs task t, which may differ from the expected task. If t is
// None, the container ended without a task.
func (s *State) Confirm(r ReservationID, t TaskID) error {
	if uint(r) >= uint(len(s.reservations)) || !s.reservations[r].live {
		return fmt.Errorf("confirm reservation %d: there is none, or it has ended", r)
	}
	x := s.reservations[r]
	j := &s.jobs[x.job]
	if t == None || t != x.task {
		s.Cancel(r)
		if t == None {
			return nil
		}
		return s.Start(x.job, t, x.node)
	}
	if x.rerun {
		s.forgetRerun(j, t)
	}
	j.where[t] = int32(x.node)
	j.counts[x.kind].reserved--
	j.counts[x.kind].running++
	s.free(r)
	return nil
}

// Cancel records that the container of reservation r will not come. The
// container's memory and cores become free, and its expected task waits again.
func (s *State) Cancel(r ReservationID) {
	if uint(r) >= uint(len(s.reservations)) || !s.reservations[r].live {
		return
	}
	x := s.reservations[r]
	j := &s.jobs[x.job]
	s.giveTask(x.job, x.node, x.kind)
	if x.task == None {
		j.held = j.held.Sub(j.size[x.kind])
	} else {
		s.unassign(r)
	}
	s.free(r)
}

// Unbind takes the expected task from reservation r. The task waits again; the
// container stays, with no task expected in it.
func (s *State) Unbind(r ReservationID) {
	x := &s.reservations[r]
	if !x.live || x.task == None {
		return
	}
	s.unassign(r)
	j := &s.jobs[x.job]
	j.held = j.held.Add(j.size[x.kind])
}

// Bind makes the waiting task t the expected task of reservation r, which has
// none.
func (s *State) Bind(r ReservationID, t TaskID) {
	x := &s.reservations[r]
	j := &s.jobs[x.job]
	j.held = j.held.Sub(j.size[x.kind])
	s.assign(r, t)
}

// Reservation returns the job, kind, task and node of reservation r. The task
// is None if none is expected in the container. The result ok is false if r
// has ended.
func (s *State) Reservation(r ReservationID) (id JobID, k Kind, t TaskID, n NodeID, ok bool) {
	if uint(r) >= uint(len(s.reservations)) || !s.reservations[r].live {
		return None, Map, None, None, false
	}
	x := &s.reservations[r]
	return x.job, x.kind, x.task, x.node, true
}

// assign makes the waiting task t the expected task of reservation r (a
// container decided on but not started). The task then no longer waits.
func (s *State) assign(r ReservationID, t TaskID) {
	x := &s.reservations[r]
	j := &s.jobs[x.job]
	x.task, x.rerun = t, j.where[t] == rerunTask
	s.unwait(j, t)
	j.where[t] = reservedBase - int32(r)
	j.counts[x.kind].reserved++
	if j.counts[x.kind].waiting == 0 {
		s.listWaiting(x.job, x.kind)
	}
}

// unassign makes the expected task of reservation r wait again.
func (s *State) unassign(r ReservationID) {
	x := &s.reservations[r]
	s.jobs[x.job].counts[x.kind].reserved--
	as := int32(waitingTask)
	if x.rerun {
		as = rerunTask
	}
	s.wait(x.job, x.task, as)
	s.listWaiting(x.job, x.kind)
	x.task, x.rerun = None, false
}

// replace gives reservation r (a container decided on but not started) a new
// expected task, because its expected task has started in another container.
// The new task is the one that a container on the same node would start now.
func (s *State) replace(r ReservationID) {
	x := &s.reservations[r]
	j := &s.jobs[x.job]
	if x.rerun {
		s.forgetRerun(j, x.task)
	}
	j.counts[x.kind].reserved--
	x.task = None
	if t := s.expected(x.job, x.kind, x.node); t != None {
		s.assign(r, t)
	} else {
		j.held = j.held.Add(j.size[x.kind])
	}
}

// expected returns the task that a new container of the job would start on node
// n, or None if no task waits.
func (s *State) expected(id JobID, k Kind, n NodeID) TaskID {
	if k == Reduce {
		return s.view.NextReduce(id)
	}
	t, _ := s.view.WouldBind(id, n)
	return t
}

func (s *State) free(r ReservationID) {
	s.reservations[r].live = false
	s.jobs[s.reservations[r].job].reservations--
	s.spare = append(s.spare, r)
}
