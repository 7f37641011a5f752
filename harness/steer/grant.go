package steer

import (
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// newContainer finds the decision that asked for a new container, which is in a list
// that was asked for at the time sent. If there is none, the
// container is kept for a short time, in case the model soon decides to start such a
// container.
func (j *job) newContainer(info yarnclient.Container, sent time.Time) {
	c := j.core
	k, task := kindOf(info.Priority)
	n := c.byID[info.NodeID]
	if !task || n == nil {
		return
	}
	x := &container{id: info.ID, job: j, node: n, kind: k, reservation: state.None, task: state.None, seen: c.now, listedAt: sent}
	j.live[x.id], j.unbound[x.id] = x, x
	j.pending[k] = max(0, j.pending[k]-1)
	// The container may come late, after the node has lost the job's node label. Or it may
	// use room that came free while the node had the label: then it can serve a decision
	// that still waits for the node.
	for _, op := range slices.Concat([]*opening{n.active}, j.closing, n.queue) {
		if op.lacks(j, n, k) {
			op.grant(x)
			return
		}
	}
	x.keepSpare(n.active)
}

// lacks says whether the opening, nil for none, is of this job, node and kind of task, and
// has a decision without a container.
func (op *opening) lacks(j *job, n *node, k state.Kind) bool {
	return op != nil && op.job == j && op.node == n && op.kind == k && op.granted < len(op.decisions)
}

// grant assigns the container to a decision: the first one in the group op that still
// lacks a container.
func (op *opening) grant(x *container) {
	c, dec := op.job.core, op.decisions[op.granted]
	op.granted++
	op.job.vain, op.job.goneMB = 0, 0
	if !op.openedAt.IsZero() {
		c.grantWait.came(c.now, c.now.Sub(op.openedAt))
	}
	dec.container, dec.grantedAt, x.by, x.reservation = x, c.at(), dec, dec.reservation
	if dec.askedAt == 0 {
		dec.askedAt, dec.remark = dec.grantedAt, "the container was there already: the node was open when the room came free"
	}
	op.job.coming[op.kind]--
	x.lookUp(0)
	if dec.group != nil {
		dec.group.granted(dec)
	}
	if op.granted < len(op.decisions) {
		return
	}
	if op.kind != state.Map {
		op.job.awaited.remove(op)
	} else {
		// The ApplicationMaster learns of this container within two of its heartbeats. It assigns tasks to
		// later containers separately, so after that time no decision need wait for this one.
		c.after(2*op.job.files.Beat, func() { op.job.awaited.remove(op) })
	}
	switch {
	case op.stage == queued:
		op.unqueue()
		op.stage = ended
	case op.stage < parking:
		op.park("")
	}
}

// unqueue takes the opening off its node's queue.
func (op *opening) unqueue() {
	op.node.queue = slices.DeleteFunc(op.node.queue, func(x *opening) bool { return x == op })
}

// keepSpare keeps a container that no decision asked for. YARN may have granted it in
// room that came free while the node had the job's node label, and the model may soon
// decide to start just such a container there. If not, the container is killed.
func (x *container) keepSpare(op *opening) {
	c := x.job.core
	if op == nil || op.job != x.job || op.kind != x.kind {
		op = x.node.last
	}
	x.node.spare = append(x.node.spare, x)
	seen := c.now
	for _, j := range c.jobs { // list this job's containers again, since one of them may have ended and left its room to the new container
		if !j.ended && j.has(x.node) {
			j.polls.in(0)
		}
	}
	var due *alarm
	due = c.newAlarm(func() {
		if c.now.Sub(seen) < spareAtMost && slices.ContainsFunc(c.jobs,
			func(j *job) bool { return !j.ended && j.has(x.node) && j.listedAt.Before(seen) }) {
			due.in(20 * time.Millisecond)
			return
		}
		x.condemn(op)
	})
	due.in(min(spareFor, x.job.files.Beat*3/4))
}

// The method has says whether the job, as far as steering knows, has a container on the
// node.
func (j *job) has(n *node) bool {
	for _, x := range j.live {
		if x.node == n {
			return true
		}
	}
	return false
}

// spareFor is how long a container that no decision asked for is kept, in case the
// model soon asks for it. The container uses the room of one that has ended, and the
// model can decide only after steering has seen that end. The time is over before
// lookUp records the outcome of an earlier decision, so that the outcome can name this
// container as surplus.
const spareFor = 200 * time.Millisecond

// spareAtMost is the longest time for which a container that no decision asked for is
// kept, while steering waits for new lists of the containers on its node.
const spareAtMost = 2 * time.Second

// takeSpare returns a container of the job and kind that YARN granted on the node
// without a decision; nil if there is none.
func (n *node) takeSpare(j *job, k state.Kind) *container {
	for i, x := range n.spare {
		if x.job == j && x.kind == k && !x.gone() {
			n.spare = slices.Delete(n.spare, i, i+1)
			return x
		}
	}
	return nil
}

// condemn kills a container that YARN granted and that no decision of the model asked
// for. The task in the container then waits again.
func (x *container) condemn(op *opening) {
	i := slices.Index(x.node.spare, x)
	if i < 0 {
		return
	}
	x.node.spare = slices.Delete(x.node.spare, i, i+1)
	j := x.job
	if j.ended || x.gone() {
		return
	}
	x.surplus = true
	if x.task == state.None {
		x.takeRoom()
	}
	what := "a container that no decision asked for: " + x.id + " on " + x.node.name
	if op != nil && op.job == j && op.kind == x.kind {
		if last := op.decisions[len(op.decisions)-1]; !last.settled {
			last.surplus = x.id
		}
		what = "a container more than decided: " + x.id + " on " + x.node.name
	} else if op := x.node.active; op != nil {
		op.why = "the node had the label of " + string(j.jobID()) + " for too long: a container of that job came instead"
	}
	j.core.note(what)
	if x.task != state.None {
		x.kill()
		return
	}
	x.lookUpSurplus(0)
}

// takeRoom counts the container as used room of its node, though its task is not known,
// so that the model does not use that room.
func (x *container) takeRoom() {
	x.takesRoom = true
	x.job.core.state.Hold(x.node.id, x.job.id, x.job.size[x.kind])
}

// freeRoom undoes takeRoom: the container no longer counts as used room of its node.
func (x *container) freeRoom() {
	if x.takesRoom {
		x.takesRoom = false
		x.job.core.state.Release(x.node.id, x.job.id, x.job.size[x.kind])
	}
}

func (x *container) lookUpSurplus(try int) {
	x.job.core.after(x.job.files.Beat+100*time.Millisecond, func() {
		if x.job.ended || x.gone() || x.task != state.None || try > 20 {
			return
		}
		x.job.reconcile()
		x.lookUpSurplus(try + 1)
	})
}
