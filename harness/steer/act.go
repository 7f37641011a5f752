package steer

import (
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
	size      int64     // in MB, that the node was last given for that
	sizedAt   time.Time
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
func (n *node) enqueue(j *job, k state.Kind, dec *decision) {
	if len(n.queue) > 0 && len(n.spare) == 0 {
		last := n.queue[len(n.queue)-1]
		if last.job == j && last.kind == k && last.decisions[len(last.decisions)-1].id == dec.id-1 {
			last.decisions = append(last.decisions, dec)
			return
		}
	}
	op := &opening{node: n, job: j, kind: k, decisions: []*decision{dec}}
	if x := n.takeSpare(j, k); x != nil {
		op.grant(x)
		return
	}
	n.queue = append(n.queue, op)
	j.line = append(j.line, op)
	n.list()
}

// list has openQueued look at the node.
func (n *node) list() {
	if !n.listed && len(n.queue) > 0 {
		n.listed = true
		n.core.queued = append(n.core.queued, n)
	}
}

// openQueued begins the openings that nothing stands in the way of.
func (c *Core) openQueued() {
	if c.trouble != "" {
		return
	}
	kept := c.queued[:0]
	for _, n := range c.queued {
		if n.active == nil && len(n.queue) > 0 && !n.queue[0].mustWait() {
			op := n.queue[0]
			n.queue = slices.Delete(n.queue, 0, 1)
			n.active = op
			op.job.opened++
			for _, dec := range op.decisions {
				dec.askedAt = c.at()
			}
			op.check()
		}
		if n.listed = len(n.queue) > 0; n.listed {
			kept = append(kept, n)
		}
	}
	c.queued = kept
}

// mustWait says whether a container for op could take a map that is meant for an
// earlier opening of the job. A master binds what it got between two heartbeats
// in the order of containers, but first by node, then by rack, then the rest: so
// a map that is not as near to its own container as to ours is safe only when it
// is bound, or a heartbeat later.
func (op *opening) mustWait() bool {
	if op.kind != state.Map {
		return false
	}
	v, id, here := op.job.core.view, op.job.id, op.node.id
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
func (op *opening) check() {
	c, n, size := op.job.core, op.node, int64(op.job.size[op.kind].MemoryMB)
	if n.full.MemoryMB < 2*size {
		op.open()
		return
	}
	if op.stage = checking; op.since.IsZero() {
		op.since = c.now
	}
	ask(c, Look{What: AskNode, Of: n.yarn}, func(info yarnclient.Node, sent time.Time, err error) {
		if op.stage != checking || c.trouble != "" {
			return
		}
		want := int64(len(op.decisions)) * size
		switch {
		case err != nil:
			c.failed("ask for node "+n.name, err)
		case info.State != "RUNNING":
			n.lost(info.State)
		case info.UsedMB+want > n.full.MemoryMB && c.now.Sub(op.since) < roomFor:
			op.checkIn(20 * time.Millisecond)
		case info.UsedMB+want > n.full.MemoryMB:
			op.park(fmt.Sprintf("the node has %d MB used otherwise", info.UsedMB))
		case info.AvailMB >= want && info.AvailMB < want+size:
			op.open()
		case c.now.Sub(op.since) >= roomFor:
			op.park(fmt.Sprintf("the node has %d MB left, whatever size it is given", info.AvailMB))
		case op.size == info.UsedMB+want && c.now.Sub(op.sizedAt) < sizeTakes:
			op.checkIn(max(2*time.Millisecond, c.now.Sub(sent)))
		default:
			op.size = info.UsedMB + want
			set := &SetSize{Node: n.yarn, Total: yarnclient.Resource{MemoryMB: op.size, VCores: n.full.VCores}}
			c.change(set, &set.Number, func(err error) {
				if err != nil {
					c.failed("set the size of node "+n.name, err)
				} else if op.stage == checking && c.trouble == "" {
					op.sizedAt = c.now
					op.check() // use may have fallen
				}
			})
		}
	})
}

// sizeTakes is how long a node's new size may take until the ResourceManager knows
// it: longer than it does, so that it is not set again meanwhile.
const sizeTakes = 100 * time.Millisecond

func (op *opening) checkIn(d time.Duration) {
	op.job.core.newAlarm(func() {
		if op.stage == checking {
			op.check()
		}
	}).in(d)
}

// open moves the node into the job's label.
func (op *opening) open() {
	op.stage = moving
	op.node.move(op.job.sub.label(op.kind), func() {
		if op.stage == moving {
			op.stage = open
		}
	})
	limit := op.job.core.Setup.GrantLimit
	op.limit = op.job.core.newAlarm(func() { op.park(fmt.Sprintf("no container within %v", limit)) })
	op.limit.in(limit)
	op.job.polls.in(0)
}

// park closes an opening; why says that it is given up.
func (op *opening) park(why string) {
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
		op.wasParked()
		return
	}
	op.node.move(idleLabel, op.wasParked)
}

func (op *opening) wasParked() {
	if op.stage == ended {
		return
	}
	op.stage, op.parkedAt = parked, op.job.core.now
	op.job.opened--
	if op.node.active == op {
		op.node.active, op.node.last = nil, op
	}
	if op.job.ended {
		op.end("cancelled", op.why)
		return
	}
	op.job.closing = append(op.job.closing, op)
	op.job.polls.in(0)
	op.node.list()
}

// close ends an opening of which no further container can show.
func (op *opening) close() {
	op.end("none", op.why)
	op.job.closing = slices.DeleteFunc(op.job.closing, func(x *opening) bool { return x == op })
}

// end gives the decisions back that have no container.
func (op *opening) end(outcome, cause string) {
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
		dec.giveBack(op.kind, op.node, outcome, cause)
	}
	op.granted = len(op.decisions)
}
