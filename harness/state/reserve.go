package state

import "fmt"

// ReservationID names a decision on its way. Numbers are used again.
type ReservationID int32

// reservation is a decision that has been made and neither seen to happen nor
// given up: its room is taken and its task does not wait.
type reservation struct {
	live  bool
	rerun bool
	kind  Kind
	job   JobID
	task  TaskID // None if others took all that waited
	node  NodeID
}

// Reserve records that a container of the job has been decided for node n. Task
// None stands for the one that would start there: the map that WouldBind says,
// or the lowest-numbered reduce. It is refused, with the reason, if the node
// cannot hold it or nothing waits.
func (s *State) Reserve(id JobID, k Kind, t TaskID, n NodeID) (ReservationID, error) {
	if uint(id) >= uint(len(s.jobs)) || uint(n) >= uint(len(s.nodes)) {
		return None, fmt.Errorf("reserve: job %d of %d, node %d of %d", id, len(s.jobs), n, len(s.nodes))
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
		why = fmt.Sprintf("there is no task %d", t)
	case j.kind(t) != k:
		why = fmt.Sprintf("task %d is a %v", t, j.kind(t))
	case j.where[t] != waitingTask && j.where[t] != rerunTask:
		why = fmt.Sprintf("task %d %s", t, s.taskState(j.where[t]))
	case !x.up:
		why = "the node is down"
	case !x.free.Holds(j.size[k]):
		why = fmt.Sprintf("the node has %v free, the container takes %v", x.free, j.size[k])
	}
	if why != "" {
		return None, fmt.Errorf("reserve a %v of job %q on %s: %s", k, j.name, s.names.nodes[n], why)
	}
	var r ReservationID
	if last := len(s.spare) - 1; last >= 0 {
		r, s.spare = s.spare[last], s.spare[:last]
	} else {
		r = ReservationID(len(s.held))
		s.held = append(s.held, reservation{})
	}
	s.held[r] = reservation{live: true, kind: k, job: id, node: n}
	j.reservations++
	s.assign(r, t)
	s.takeFor(id, n, j.size[k])
	return r, nil
}

// Confirm says that the container of a reservation runs task t, which may be
// another than expected, or None if it ended without having run one.
func (s *State) Confirm(r ReservationID, t TaskID) error {
	if uint(r) >= uint(len(s.held)) || !s.held[r].live {
		return fmt.Errorf("confirm: no reservation %d", r)
	}
	x := s.held[r]
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

// Cancel says that nothing came of a reservation: its task waits again.
func (s *State) Cancel(r ReservationID) {
	if uint(r) >= uint(len(s.held)) || !s.held[r].live {
		return
	}
	x := s.held[r]
	j := &s.jobs[x.job]
	s.giveFor(x.job, x.node, j.size[x.kind])
	if x.task == None {
		j.held = j.held.Sub(j.size[x.kind])
	} else {
		j.counts[x.kind].reserved--
		as := int32(waitingTask)
		if x.rerun {
			as = rerunTask
		}
		s.wait(x.job, x.task, as)
		s.listWaiting(x.job, x.kind)
	}
	s.free(r)
}

// Reservation is what r stands for; task may be None. False if r does not.
func (s *State) Reservation(r ReservationID) (id JobID, k Kind, t TaskID, n NodeID, ok bool) {
	if uint(r) >= uint(len(s.held)) || !s.held[r].live {
		return None, Map, None, None, false
	}
	x := &s.held[r]
	return x.job, x.kind, x.task, x.node, true
}

// assign moves t from the waiting tasks to reservation r.
func (s *State) assign(r ReservationID, t TaskID) {
	x := &s.held[r]
	j := &s.jobs[x.job]
	x.task, x.rerun = t, j.where[t] == rerunTask
	s.unwait(j, t)
	j.where[t] = reservedBase - int32(r)
	j.counts[x.kind].reserved++
	if j.counts[x.kind].waiting == 0 {
		s.listWaiting(x.job, x.kind)
	}
}

// replace gives reservation r, whose task has started elsewhere, the one that
// it would start now.
func (s *State) replace(r ReservationID) {
	x := &s.held[r]
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

// expected is the task that a container of the job would start on n.
func (s *State) expected(id JobID, k Kind, n NodeID) TaskID {
	if k == Reduce {
		return s.view.NextReduce(id)
	}
	t, _ := s.view.WouldBind(id, n)
	return t
}

func (s *State) free(r ReservationID) {
	s.held[r].live = false
	s.jobs[s.held[r].job].reservations--
	s.spare = append(s.spare, r)
}
