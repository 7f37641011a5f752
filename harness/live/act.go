package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/harness/cluster"
	"heddle/yarnclient"
)

// opening is the time for which a node is in a job's label, for one decision
// or several of the same job and kind.
type opening struct {
	node      *node
	job       *job
	kind      cluster.Kind
	decisions []*decision
	granted   int // of them, in order
	stage     stage
	since     time.Time // room on the node is looked for
	parkedAt  time.Time // since when it is certainly closed
	why       string    // it was given up
	limit     *alarm
}

type stage uint8

const (
	queued   stage = iota
	checking       // the node is made to have room for just what was decided
	moving         // into the label
	open
	parking
	parked // a container that came late may still show
	ended
)

// enqueue has a node opened for a decision, together with the one just before
// if that was alike.
func (d *Driver) enqueue(n *node, j *job, k cluster.Kind, dec *decision) {
	if len(n.queue) > 0 && len(n.spare) == 0 {
		last := n.queue[len(n.queue)-1]
		if last.job == j && last.kind == k && last.decisions[len(last.decisions)-1].id == dec.id-1 {
			last.decisions = append(last.decisions, dec)
			return
		}
	}
	op := &opening{node: n, job: j, kind: k, decisions: []*decision{dec}}
	if c := n.takeSpare(j, k); c != nil {
		d.grant(op, c)
		return
	}
	n.queue = append(n.queue, op)
	j.line = append(j.line, op)
	d.list(n)
}

// list has openQueued look at the node.
func (d *Driver) list(n *node) {
	if !n.listed && len(n.queue) > 0 {
		n.listed = true
		d.queued = append(d.queued, n)
	}
}

// openQueued begins the openings that nothing stands in the way of.
func (d *Driver) openQueued() {
	if d.trouble != "" {
		return
	}
	kept := d.queued[:0]
	for _, n := range d.queued {
		if n.active == nil && len(n.queue) > 0 && !d.mustWait(n.queue[0]) {
			op := n.queue[0]
			n.queue = slices.Delete(n.queue, 0, 1)
			n.active = op
			op.job.opened++
			now := d.now()
			for _, dec := range op.decisions {
				dec.askedAt = now
			}
			d.check(op)
		}
		if n.listed = len(n.queue) > 0; n.listed {
			kept = append(kept, n)
		}
	}
	d.queued = kept
}

// mustWait says whether a container for op could take a map that is meant for an
// earlier opening of the job. A master binds what it got between two heartbeats
// in the order of containers, but first by node, then by rack, then the rest: so
// a map that is not as near to its own container as to ours is safe only when it
// is bound, or a heartbeat later.
func (d *Driver) mustWait(op *opening) bool {
	if op.kind != cluster.Map {
		return false
	}
	v, id, here := d.view, op.job.id, op.node.id
	for _, other := range op.job.line {
		if other == op {
			return false
		}
		if other.kind != op.kind || other.node == op.node {
			continue
		}
		for _, theirs := range other.decisions {
			t := theirs.predicted
			if t == cluster.None || theirs.bound() {
				continue
			}
			ours := v.SplitLevel(id, t, here)
			if theirs.container != nil && ours >= v.SplitLevel(id, t, other.node.id) {
				continue // it is served first in any case
			}
			for _, dec := range op.decisions {
				u := dec.predicted
				if u == cluster.None {
					continue
				}
				if level := v.SplitLevel(id, u, here); ours < level || ours == level && t < u {
					return true
				}
			}
		}
	}
	return false
}

// leaveLine takes an opening out of those that containers are awaited for.
func (op *opening) leaveLine() {
	if i := slices.Index(op.job.line, op); i >= 0 {
		op.job.line = slices.Delete(op.job.line, i, i+1)
	}
}

// roomFor is how long a node may seem to be full: a container that was killed
// takes a heartbeat or two to leave.
const roomFor = 2 * time.Second

// check makes a node have room for just the containers decided. A node of one
// container needs nothing.
func (d *Driver) check(op *opening) {
	n, size := op.node, int64(op.job.size[op.kind].MemoryMB)
	if n.full.MemoryMB < 2*size {
		d.open(op)
		return
	}
	if op.stage = checking; op.since.IsZero() {
		op.since = time.Now()
	}
	ask(d, func(ctx context.Context) (yarnclient.Node, error) { return d.rm.Node(ctx, n.yarn) }, func(info yarnclient.Node, err error) {
		if op.stage != checking || d.trouble != "" {
			return
		}
		want := int64(len(op.decisions)) * size
		switch {
		case err != nil:
			d.failed("ask for node "+n.name, err)
		case info.State != "RUNNING":
			d.nodeLost(n, info.State)
		case info.UsedMB+want > n.full.MemoryMB && time.Since(op.since) < roomFor:
			d.newAlarm(func() {
				if op.stage == checking {
					d.check(op)
				}
			}).in(20 * time.Millisecond)
		case info.UsedMB+want > n.full.MemoryMB:
			d.park(op, fmt.Sprintf("the node has %d MB used otherwise", info.UsedMB))
		case info.AvailMB >= want && info.AvailMB < want+size:
			d.open(op)
		default:
			total := yarnclient.Resource{MemoryMB: info.UsedMB + want, VCores: n.full.VCores}
			d.change(func(ctx context.Context) error { return d.changes.SetNodeResource(ctx, n.yarn, total) }, func(err error) {
				if err != nil {
					d.failed("set the size of node "+n.name, err)
				} else if op.stage == checking && d.trouble == "" {
					d.check(op) // use may have fallen, and the change takes a moment
				}
			})
		}
	})
}

// open moves the node into the job's label.
func (d *Driver) open(op *opening) {
	op.stage = moving
	d.move(op.node, op.job.sub.label(op.kind), func() {
		if op.stage == moving {
			op.stage = open
		}
	})
	op.limit = d.newAlarm(func() { d.park(op, fmt.Sprintf("no container within %v", d.set.grantLimit)) })
	op.limit.in(d.set.grantLimit)
	op.job.polls.in(0)
}

// newContainer finds out which decision a new container carries out.
func (d *Driver) newContainer(j *job, info yarnclient.Container) {
	k, task := kindOf(info.Priority)
	n := d.byID[info.NodeID]
	if !task || n == nil {
		return
	}
	c := &container{id: info.ID, job: j, node: n, kind: k, held: cluster.None, task: cluster.None}
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
	if op.kind != cluster.Map {
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
	return dec.settled || dec.container != nil && dec.container.task != cluster.None
}

// unasked handles a container that was not decided. If it is in room that came
// free while the node was open, the model may be about to decide just that;
// else it is killed as soon as its attempt is known, and the task waits again.
func (d *Driver) unasked(c *container, op *opening) {
	if op == nil || op.job != c.job || op.kind != c.kind {
		op = c.node.last
	}
	c.node.spare = append(c.node.spare, c)
	d.newAlarm(func() { d.condemn(c, op) }).in(min(spareFor, c.job.about.beat*3/4))
}

// spareFor is how long a container that was not decided may be decided still:
// until its end is known, another job's container may seem to be in its room.
// It is less than a decision takes to be settled, see lookUp.
const spareFor = 200 * time.Millisecond

// takeSpare is a container of the job on the node that nobody decided yet.
func (n *node) takeSpare(j *job, k cluster.Kind) *container {
	for i, c := range n.spare {
		if c.job == j && c.kind == k {
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
	if j.ended || c.gone {
		return
	}
	c.surplus = true
	if c.task == cluster.None {
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
	if c.task != cluster.None {
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
		if c.job.ended || c.gone || c.task != cluster.None || try > 20 {
			return
		}
		d.reconcile(c.job)
		d.lookUpSurplus(c, try+1)
	}).in(c.job.about.beat + 100*time.Millisecond)
}

// park closes an opening; why says that it is given up.
func (d *Driver) park(op *opening, why string) {
	if op.stage >= parking {
		return
	}
	if op.why == "" {
		op.why = why
	}
	began := op.stage
	op.stage = parking
	if op.limit != nil {
		op.limit.off()
	}
	if began == checking { // never opened
		d.wasParked(op)
		return
	}
	d.move(op.node, idleLabel, func() { d.wasParked(op) })
}

func (d *Driver) wasParked(op *opening) {
	if op.stage == ended {
		return
	}
	op.stage, op.parkedAt = parked, time.Now()
	op.job.opened--
	if op.node.active == op {
		op.node.active, op.node.last = nil, op
	}
	if op.job.ended {
		d.endOpening(op, "cancelled", op.why)
		return
	}
	op.job.closing = append(op.job.closing, op)
	op.job.polls.in(0)
	d.list(op.node)
}

// closeOpening ends an opening of which no further container can show.
func (d *Driver) closeOpening(op *opening) {
	d.endOpening(op, "none", op.why)
	op.job.closing = slices.DeleteFunc(op.job.closing, func(x *opening) bool { return x == op })
}

// endOpening gives the decisions back that have no container.
func (d *Driver) endOpening(op *opening, outcome, cause string) {
	if op.stage == ended {
		return
	}
	if op.stage >= checking && op.stage < parked {
		op.job.opened--
		if op.limit != nil {
			op.limit.off()
		}
	}
	op.stage = ended
	if op.granted < len(op.decisions) {
		op.leaveLine()
	}
	for _, dec := range op.decisions[op.granted:] {
		if outcome == "none" {
			op.node.refused = true
		}
		d.giveBack(dec, op.kind, op.node, outcome, cause)
	}
	op.granted = len(op.decisions)
}

// giveUp ends what is on its way when steering ends.
func (d *Driver) giveUp() {
	for _, n := range d.nodes {
		for _, op := range append(n.queue, n.active, n.last) {
			if op != nil {
				d.endOpening(op, "cancelled", "steering ended")
			}
		}
	}
	for _, j := range d.jobs {
		for _, op := range j.closing {
			d.endOpening(op, "cancelled", "steering ended")
		}
		for _, c := range j.unbound {
			if c.by != nil {
				d.settle(c.by, nil)
			}
		}
	}
	d.rm.Close()
}

// hostOf cuts the port off.
func hostOf(address string) string {
	for i := range len(address) {
		if address[i] == ':' {
			return address[:i]
		}
	}
	return address
}
