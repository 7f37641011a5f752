package steer

import (
	"fmt"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// opening is a group of decisions for one node, one job and one kind of task, and
// the time during which the node has the job's label for them.
type opening struct {
	node      *node
	job       *job
	kind      state.Kind
	decisions []*decision
	granted   int // number of decisions that have a container; they are the first ones in the list
	stage     stage
	since     time.Time // time when steering began to wait for room on the node, or for its new size
	size      int64     // memory in MB that the node was last set to offer, so that just the containers decided fit
	sizedAt   time.Time
	parkedAt  time.Time // time when the node got the label "idle"; after it YARN grants the job no container there
	why       string    // why the decisions without a container were given up; empty: they were not
	limit     *alarm
}

type stage uint8

const (
	queued   stage = iota
	checking       // the memory size of the node is being set so that only the containers decided fit
	moving         // the call to YARN that gives the node the job's label is under way
	open
	parking
	parked // the node has lost the job's label; a container granted before may still appear in YARN's lists
	ended
)

// enqueue queues a decision for the node. The decision joins the last group in the
// queue if that group has the same job and kind of task, and was decided just before
// it.
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

// list puts the node on Core.queued, the list of nodes for which decisions wait, if
// there are any for this node.
func (n *node) list() {
	if !n.inQueued && len(n.queue) > 0 {
		n.inQueued = true
		n.core.queued = append(n.core.queued, n)
	}
}

// openQueued starts to carry out the next decisions for each free node: the node is
// prepared to get the job's node label. Decisions that must wait (see mustWait) stay
// queued.
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

// mustWait says whether the ApplicationMaster could give a container on op's node a
// map that an earlier decision of the job means for another node. It assigns maps to
// all containers of one heartbeat together: first node-local maps, then rack-local
// ones, then the rest. So op need not wait if the map is at least as near to its own
// container, is assigned already, or gets its container in an earlier heartbeat.
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
				continue // the ApplicationMaster assigns a map to the other node's container first in any case
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

// stopAwaiting removes op from the job's list of decisions whose containers are not
// granted or whose tasks are not known.
func (op *opening) stopAwaiting() {
	if i := slices.Index(op.job.awaited, op); i >= 0 {
		op.job.awaited = slices.Delete(op.job.awaited, i, i+1)
	}
}

// roomFor is how long to wait for room on a full node. A killed container leaves its
// node after one or two NodeManager heartbeats.
const roomFor = 2 * time.Second

// check sets the size of the node so that just the containers decided fit, and then
// gives it the job's node label. A node that is too small for two containers needs
// no such size.
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
			if op.size == 0 { // the node has room: from now on steering waits for the new size
				op.since = c.now
			}
			op.size = info.UsedMB + want
			set := &SetSize{Node: n.yarn, Total: yarnclient.Resource{MemoryMB: op.size, VCores: n.full.VCores}}
			c.change(set, &set.Number, func(err error) {
				if err != nil {
					c.failed("set the size of node "+n.name, err)
				} else if op.stage == checking && c.trouble == "" {
					op.sizedAt = c.now
					op.check() // containers may have ended meanwhile, so the node's memory is checked again
				}
			})
		}
	})
}

// sizeTakes is the longest time that the ResourceManager is expected to need for a
// node's new size. It is generous, so that the size is not set twice.
const sizeTakes = 100 * time.Millisecond

func (op *opening) checkIn(d time.Duration) {
	op.job.core.newAlarm(func() {
		if op.stage == checking {
			op.check()
		}
	}).in(d)
}

// open gives the node the job's node label, and limits how long the node keeps it.
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

// park takes the job's node label from the node: the node gets the label "idle". why
// is the cause if decisions are given up, else empty.
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
	if began == checking { // the node never got the job's node label
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

// close ends an opening (a node's time with a job's label). It is called after a
// list of containers that was asked for later than the label was taken away: YARN
// can grant no further container.
func (op *opening) close() {
	op.end("none", op.why)
	op.job.closing = slices.DeleteFunc(op.job.closing, func(x *opening) bool { return x == op })
}

// end records the outcome of those decisions in op that got no container.
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
