package steer

import (
	"fmt"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// opening is one opening of a node: see Words in the package comment.
type opening struct {
	node      *node
	job       *job
	kind      state.Kind
	decisions []*decision
	granted   int // decisions that have a container; the first ones
	stage     stage
	since     time.Time // time when the search for room on the node began
	size      int64     // memory in MB that the node was last set to; it fits just the containers decided
	sizedAt   time.Time
	parkedAt  time.Time // time when the node was parked; no container is granted for the opening after it
	why       string    // cause of giving up; empty: not given up
	limit     *alarm
}

type stage uint8

const (
	queued   stage = iota
	checking       // the node's size is set so that it fits only the containers decided
	moving         // the label call is under way
	open
	parking
	parked // a container granted before may still appear in a listing
	ended
)

// enqueue adds a decision to the node's queue of openings. It joins the last
// opening if that serves the same job and kind and the decisions follow each
// other.
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
	j.awaited = append(j.awaited, op)
	n.list()
}

// list puts the node on Core.queued if openings wait there.
func (n *node) list() {
	if !n.inQueued && len(n.queue) > 0 {
		n.inQueued = true
		n.core.queued = append(n.core.queued, n)
	}
}

// openQueued starts the first opening of each free node, unless it must wait.
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
		if n.inQueued = len(n.queue) > 0; n.inQueued {
			kept = append(kept, n)
		}
	}
	c.queued = kept
}

// mustWait says whether the master could bind, to a container of op, a map that is
// meant for an earlier opening of the job. A master binds all containers of one
// heartbeat together: first those with a node-local map, then those with a
// rack-local one, then the rest. So a map is safe only if it is at least as near
// to its own container as to ours, if it is bound already, or if a heartbeat lies
// between.
func (op *opening) mustWait() bool {
	if op.kind != state.Map {
		return false
	}
	v, id, here := op.job.core.view, op.job.id, op.node.id
	for _, other := range op.job.awaited {
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
				continue // the master binds that container first in any case
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

// stopAwaiting removes the opening from those that mustWait looks at.
func (op *opening) stopAwaiting() {
	if i := slices.Index(op.job.awaited, op); i >= 0 {
		op.job.awaited = slices.Delete(op.job.awaited, i, i+1)
	}
}

// roomFor is how long to wait for room on a full node. A killed container leaves
// it after one or two heartbeats.
const roomFor = 2 * time.Second

// check sets the node's size so that it fits just the containers decided, and then
// opens it. A node that fits only one container needs no such size.
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
			op.park(fmt.Sprintf("no room on the node: %d of its %d MB are in use", info.UsedMB, n.full.MemoryMB))
		case info.AvailMB >= want && info.AvailMB < want+size:
			op.open()
		case op.size != 0 && c.now.Sub(op.since) >= roomFor:
			op.park(fmt.Sprintf("the node has %d MB left instead of %d MB: it did not take the size it was given", info.AvailMB, want))
		case op.size == info.UsedMB+want && c.now.Sub(op.sizedAt) < sizeTakes:
			op.checkIn(max(2*time.Millisecond, c.now.Sub(sent)))
		default:
			if op.size == 0 { // room is there: from now on it is the size that is waited for
				op.since = c.now
			}
			op.size = info.UsedMB + want
			set := &SetSize{Node: n.yarn, Total: yarnclient.Resource{MemoryMB: op.size, VCores: n.full.VCores}}
			c.change(set, &set.Number, func(err error) {
				if err != nil {
					c.failed("set the size of node "+n.name, err)
				} else if op.stage == checking && c.trouble == "" {
					op.sizedAt = c.now
					op.check() // check again: containers may have ended meanwhile
				}
			})
		}
	})
}

// sizeTakes is the time within which the ResourceManager takes in a node's new
// size. It is generous, so that the size is not set twice.
const sizeTakes = 100 * time.Millisecond

func (op *opening) checkIn(d time.Duration) {
	op.job.core.newAlarm(func() {
		if op.stage == checking {
			op.check()
		}
	}).in(d)
}

// open gives the node the job's label and limits how long it keeps that.
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

// park ends an opening by parking its node. why is the cause if the opening is
// given up, else empty.
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
	if began == checking { // the node never got the job's label
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

// close ends an opening after a listing that was asked for after the node was
// parked: no further container can appear.
func (op *opening) close() {
	op.end("none", op.why)
	op.job.closing = slices.DeleteFunc(op.job.closing, func(x *opening) bool { return x == op })
}

// end gives back the decisions of an opening that got no container.
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
		op.stopAwaiting()
	}
	for _, dec := range op.decisions[op.granted:] {
		if outcome == "none" {
			op.node.skipped = true
		}
		dec.giveBack(op.kind, op.node, outcome, cause)
	}
	op.granted = len(op.decisions)
}
