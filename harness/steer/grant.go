package steer

import (
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// newContainer finds out which decision a new container carries out.
func (d *Driver) newContainer(j *job, info yarnclient.Container) {
	k, task := kindOf(info.Priority)
	n := d.byID[info.NodeID]
	if !task || n == nil {
		return
	}
	c := &container{id: info.ID, job: j, node: n, kind: k, held: state.None, task: state.None, seen: time.Now()}
	j.live[c.id], j.unbound[c.id] = c, c
	j.granted[k]++
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
		d.grant(op, c)
		return
	}
	d.unasked(c, n.active)
}

// grant gives an opening's next decision its container.
func (d *Driver) grant(op *opening, c *container) {
	dec := op.decisions[op.granted]
	op.granted++
	dec.container, dec.grantedAt, c.by, c.held = c, d.now(), dec, dec.held
	if dec.askedAt == 0 {
		dec.askedAt, dec.remark = dec.grantedAt, "the container was there already: the node was open when the room came free"
	}
	op.job.coming[op.kind]--
	d.lookUp(c, 0)
	if op.granted < len(op.decisions) {
		return
	}
	if op.kind != state.Map {
		op.leaveLine()
	} else { // a master that has not bound them by then got them with another heartbeat
		d.newAlarm(op.leaveLine).in(2 * op.job.about.beat)
	}
	switch {
	case op.stage == queued:
		op.node.queue = slices.DeleteFunc(op.node.queue, func(x *opening) bool { return x == op })
		op.stage = ended
	case op.stage < parking:
		d.park(op, "")
	}
}

// bound says that the master has told what runs in the decision's container.
func (dec *decision) bound() bool {
	return dec.settled || dec.container != nil && dec.container.task != state.None
}

// unasked handles a container that was not decided. If it is in room that came
// free while the node was open, the model may be about to decide just that;
// else it is killed as soon as its attempt is known, and the task waits again.
func (d *Driver) unasked(c *container, op *opening) {
	if op == nil || op.job != c.job || op.kind != c.kind {
		op = c.node.last
	}
	c.node.spare = append(c.node.spare, c)
	seen := time.Now()
	for _, j := range d.jobs { // whose end may have made the room
		if !j.ended && j.has(c.node) {
			j.polls.in(0)
		}
	}
	var due *alarm
	due = d.newAlarm(func() {
		if time.Since(seen) < spareAtMost && slices.ContainsFunc(d.jobs, func(j *job) bool { return !j.ended && j.has(c.node) && j.listed.Before(seen) }) {
			due.in(20 * time.Millisecond)
			return
		}
		d.condemn(c, op)
	})
	due.in(min(spareFor, c.job.about.beat*3/4))
}

// has says whether a job has a container on a node, as far as is known.
func (j *job) has(n *node) bool {
	for _, c := range j.live {
		if c.node == n {
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
	for i, c := range n.spare {
		if c.job == j && c.kind == k && !c.gone() {
			n.spare = slices.Delete(n.spare, i, i+1)
			return c
		}
	}
	return nil
}

// condemn has a container killed that nobody decided.
func (d *Driver) condemn(c *container, op *opening) {
	i := slices.Index(c.node.spare, c)
	if i < 0 {
		return
	}
	c.node.spare = slices.Delete(c.node.spare, i, i+1)
	j := c.job
	if j.ended || c.gone() {
		return
	}
	c.surplus = true
	if c.task == state.None {
		d.hold(c)
	}
	what := "a container that was not decided: " + c.id + " on " + c.node.name
	if op != nil && op.job == j && op.kind == c.kind {
		if last := op.decisions[len(op.decisions)-1]; !last.settled {
			last.surplus = c.id
		}
		what = "a surplus container: " + c.id + " on " + c.node.name
	} else if op := c.node.active; op != nil {
		op.why = "its label came late: a container of " + string(j.jobID()) + " came instead"
	}
	d.note(what)
	if c.task != state.None {
		d.kill(c)
		return
	}
	d.lookUpSurplus(c, 0)
}

// hold takes the room of a container that is no task's, as far as is known.
func (d *Driver) hold(c *container) {
	c.holds = true
	d.state.Hold(c.node.id, c.job.id, c.job.size[c.kind])
}

func (d *Driver) unhold(c *container) {
	if c.holds {
		c.holds = false
		d.state.Release(c.node.id, c.job.id, c.job.size[c.kind])
	}
}

func (d *Driver) lookUpSurplus(c *container, try int) {
	d.newAlarm(func() {
		if c.job.ended || c.gone() || c.task != state.None || try > 20 {
			return
		}
		d.reconcile(c.job)
		d.lookUpSurplus(c, try+1)
	}).in(c.job.about.beat + 100*time.Millisecond)
}
