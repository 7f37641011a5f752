package steer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// opening is the time for which a node is in a job's label, for one decision
// or several of the same job and kind.
type opening struct {
	node      *node
	job       *job
	kind      state.Kind
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
func (d *Driver) enqueue(n *node, j *job, k state.Kind, dec *decision) {
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
	if op.kind != state.Map {
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
			if t == state.None || theirs.bound() {
				continue
			}
			ours := v.SplitLevel(id, t, here)
			if theirs.container != nil && ours >= v.SplitLevel(id, t, other.node.id) {
				continue // it is served first in any case
			}
			for _, dec := range op.decisions {
				u := dec.predicted
				if u == state.None {
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
	id := n.yarn
	ask(d, func(ctx context.Context) (yarnclient.Node, error) { return d.rm.Node(ctx, id) }, func(info yarnclient.Node, err error) {
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
			d.change(func(ctx context.Context) error { return d.changes.SetNodeResource(ctx, id, total) }, func(err error) {
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
