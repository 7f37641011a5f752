package steer

import (
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// newContainer finds out which decision a new container carries out.
func (j *job) newContainer(info yarnclient.Container) {
	c := j.core
	k, task := kindOf(info.Priority)
	n := c.byID[info.NodeID]
	if !task || n == nil {
		return
	}
	x := &container{id: info.ID, job: j, node: n, kind: k, held: state.None, task: state.None, seen: c.now}
	j.live[x.id], j.unbound[x.id] = x, x
	j.pending[k] = max(0, j.pending[k]-1)
	op := n.active
	if op == nil || op.job != j || op.kind != k || op.granted == len(op.decisions) && n.last != nil {
		if late := n.last; late != nil && late.job == j && late.kind == k && late.stage == parked && late.granted < len(late.decisions) {
			op = late
		}
	}
	// Room that came free while the node was open serves who waits for it.
	for i := 0; i < len(n.queue) && (op == nil || op.job != j || op.kind != k || op.granted == len(op.decisions)); i++ {
		op = n.queue[i]
	}
	if op != nil && op.job == j && op.kind == k && op.granted < len(op.decisions) {
		op.grant(x)
		return
	}
	x.unasked(n.active)
}

// grant gives an opening's next decision its container.
func (op *opening) grant(x *container) {
	c, dec := op.job.core, op.decisions[op.granted]
	op.granted++
	dec.container, dec.grantedAt, x.by, x.held = x, c.at(), dec, dec.held
	if dec.askedAt == 0 {
		dec.askedAt, dec.remark = dec.grantedAt, "the container was there already: the node was open when the room came free"
	}
	op.job.coming[op.kind]--
	x.lookUp(0)
	if op.granted < len(op.decisions) {
		return
	}
	if op.kind != state.Map {
		op.leaveLine()
	} else { // a master that has not bound them by then got them with another heartbeat
		c.newAlarm(op.leaveLine).in(2 * op.job.files.Beat)
	}
	switch {
	case op.stage == queued:
		op.node.queue = slices.DeleteFunc(op.node.queue, func(y *opening) bool { return y == op })
		op.stage = ended
	case op.stage < parking:
		op.park("")
	}
}

// unasked handles a container that was not decided. If it is in room that came
// free while the node was open, the model may be about to decide just that;
// else it is killed as soon as its attempt is known, and the task waits again.
func (x *container) unasked(op *opening) {
	c := x.job.core
	if op == nil || op.job != x.job || op.kind != x.kind {
		op = x.node.last
	}
	x.node.spare = append(x.node.spare, x)
	seen := c.now
	for _, j := range c.jobs { // whose end may have made the room
		if !j.ended && j.has(x.node) {
			j.polls.in(0)
		}
	}
	var due *alarm
	due = c.newAlarm(func() {
		if c.now.Sub(seen) < spareAtMost && slices.ContainsFunc(c.jobs, func(j *job) bool { return !j.ended && j.has(x.node) && j.listed.Before(seen) }) {
			due.in(20 * time.Millisecond)
			return
		}
		x.condemn(op)
	})
	due.in(min(spareFor, x.job.files.Beat*3/4))
}

// has says whether a job has a container on a node, as far as is known.
func (j *job) has(n *node) bool {
	for _, x := range j.live {
		if x.node == n {
			return true
		}
	}
	return false
}

// spareFor is how long a container that was not decided may be decided still:
// until its end is known, another job's container may seem to be in its room.
// It is less than a decision takes to be settled, see lookUp.
const spareFor = 200 * time.Millisecond

// spareAtMost is for how long it is waited until the node's other containers have
// been looked at.
const spareAtMost = 2 * time.Second

// takeSpare is a container of the job on the node that nobody decided yet.
func (n *node) takeSpare(j *job, k state.Kind) *container {
	for i, x := range n.spare {
		if x.job == j && x.kind == k && !x.gone() {
			n.spare = slices.Delete(n.spare, i, i+1)
			return x
		}
	}
	return nil
}

// condemn has a container killed that nobody decided.
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
		x.hold()
	}
	what := "a container that was not decided: " + x.id + " on " + x.node.name
	if op != nil && op.job == j && op.kind == x.kind {
		if last := op.decisions[len(op.decisions)-1]; !last.settled {
			last.surplus = x.id
		}
		what = "a surplus container: " + x.id + " on " + x.node.name
	} else if op := x.node.active; op != nil {
		op.why = "its label came late: a container of " + string(j.jobID()) + " came instead"
	}
	j.core.note(what)
	if x.task != state.None {
		x.kill()
		return
	}
	x.lookUpSurplus(0)
}

// hold takes the room of a container that is no task's, as far as is known.
func (x *container) hold() {
	x.holds = true
	x.job.core.state.Hold(x.node.id, x.job.id, x.job.size[x.kind])
}

// release gives back the room that hold took.
func (x *container) release() {
	if x.holds {
		x.holds = false
		x.job.core.state.Release(x.node.id, x.job.id, x.job.size[x.kind])
	}
}

func (x *container) lookUpSurplus(try int) {
	x.job.core.newAlarm(func() {
		if x.job.ended || x.gone() || x.task != state.None || try > 20 {
			return
		}
		x.job.reconcile()
		x.lookUpSurplus(try + 1)
	}).in(x.job.files.Beat + 100*time.Millisecond)
}
