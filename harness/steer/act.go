package steer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// opening is a group of decisions for one node, one job and one kind of task. It also
// stands for the time during which the node has the job's node label for these
// decisions.
type opening struct {
	node      *node
	job       *job
	kind      state.Kind
	decisions []*decision
	granted   int // number of decisions that have a container; these come first in the list decisions
	stage     stage
	since     time.Time // time when steering began to wait for room on the node, or for the node's new memory size
	size      int64     // memory in MB that the node was last set to offer, so that no more containers fit on it than were decided
	sizedAt   time.Time
	resized   int       // how often the same size was set again
	openedAt  time.Time // time when steering began to give the node the job's node label; zero: not yet
	parkedAt  time.Time // time when YARN confirmed that the node has the label "idle"
	// time when YARN was seen to have handled all events from before parkedAt; from then on it grants the job no container on this node
	handledAt time.Time
	why       string // reason why the decisions without a container were given up; empty: they were not given up
	outcome   string // outcome of the decisions without a container, "cancelled" if their group or their request was given up; empty: "none"
	takenBack bool   // whether the decisions without a container were given up because the ApplicationMaster stopped asking for one
	limit     *alarm
	awaited   bool      // whether the job's list awaited has it
	place     int       // its number among all openings that the list has had
	blocker   *decision // decision for which the opening had to wait when that was last asked; nil: none
}

type stage uint8

const (
	queued   stage = iota
	checking       // the memory size of the node is being set, so that no more containers fit on it than were decided
	moving         // the call to YARN that gives the node the job's node label is under way
	open
	parking
	parked // the node has lost the job's node label; a container granted before may still appear in YARN's lists
	ended
)

// enqueue adds a decision to the node's queue. The decision joins the last group in the
// queue if that group is for the same job and kind of task, and if its last decision
// was made just before this one.
func (n *node) enqueue(j *job, k state.Kind, dec *decision) {
	if len(n.queue) > 0 && len(n.spare) == 0 {
		last := n.queue[len(n.queue)-1]
		if before := last.decisions[len(last.decisions)-1]; last.job == j &&
			last.kind == k && before.id == dec.id-1 && before.group == dec.group {
			dec.opening = last
			last.decisions = append(last.decisions, dec)
			j.awaited.addDecision(dec)
			return
		}
	}
	op := &opening{node: n, job: j, kind: k, decisions: []*decision{dec}}
	dec.opening = op
	if x := n.takeSpare(j, k); x != nil {
		op.grant(x)
		return
	}
	n.queue = append(n.queue, op)
	j.awaited.add(op)
	n.list()
}

// The method list adds the node to Core.queued, the nodes for which decisions wait, if
// a decision waits for this node.
func (n *node) list() {
	if !n.inQueued && len(n.queue) > 0 {
		n.inQueued = true
		n.core.queued = append(n.core.queued, n)
	}
}

// openQueued starts to carry out the next group of decisions for each node that has no
// other group under way: the node is prepared to get the job's node label. Decisions
// that must wait (see mustWait) stay queued.
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

// roomFor is how long steering waits for room on a full node of an idle cluster before
// it gives the decisions up. A killed container leaves its node after one or two
// NodeManager heartbeats.
const roomFor = 2 * time.Second

// check sets the memory that the node offers to YARN, so that no more containers fit on
// it than were decided. Then it gives the node the job's node label. On a node with
// room for only one container the memory stays as it is.
func (op *opening) check() {
	c, n, size := op.job.core, op.node, int64(op.job.size[op.kind].MemoryMB)
	lost := c.lost[op.job.sub.label(op.kind)]
	if n.size.full.MemoryMB < 2*size && n.size.left == n.size.full && n.size.offered == n.size.full.MemoryMB && lost == 0 {
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
		want, most := int64(len(op.decisions))*size, n.size.left.MemoryMB
		switch {
		case err != nil:
			c.failed("ask for node "+n.name, err)
		case info.State != "RUNNING":
			n.lost(info.State)
		case info.UsedMB+want > most && c.now.Sub(op.since) < c.grantWait.times(roomFor):
			op.checkAgain()
		case info.UsedMB+want > most:
			op.park(fmt.Sprintf("no room on the node: %d of its %d MB are in use", info.UsedMB, most))
		case info.AvailMB >= want+lost && info.AvailMB < want+lost+size:
			op.open()
		case op.size != 0 && c.now.Sub(op.since) >= c.grantWait.times(roomFor):
			op.park(fmt.Sprintf("the node has %d MB left instead of %d MB: it did not take the size it was given", info.AvailMB, want))
		default:
			op.resize(info.UsedMB+want+lost, sent)
		}
	})
}

// resize has the node offer a memory size, unless it was set to that just now, or those of too many others are
// being set. sent is when the node was asked for.
func (op *opening) resize(memoryMB int64, sent time.Time) {
	c := op.job.core
	_, sized := c.checked()
	switch {
	case op.size == memoryMB && c.now.Sub(op.sizedAt) < sizeTakes<<op.resized:
		op.checkIn(max(2*time.Millisecond, c.now.Sub(sent)))
		return
	case op.size == 0 && sized >= mostSizing:
		op.checkAgain()
		return
	case op.size == 0: // the node has room: from now on op.since tells how long steering waits for the new memory size
		op.since = c.now
	case op.size == memoryMB:
		op.resized = min(op.resized+1, 10)
	}
	op.size = memoryMB
	op.node.size.bind(op)
}

// sizeTakes is how long the ResourceManager may need to apply a node's new memory size. After that steering
// sets the size again, and then waits twice as long. Sizes of mostSizing nodes are set at a time: for each, the
// ResourceManager's scheduler computes all its queues anew, and it handles what it is sent in turn.
const (
	sizeTakes  = 100 * time.Millisecond
	mostSizing = 16
)

// checked counts the nodes that are checked, and those among them whose size is set and not applied yet.
func (c *Core) checked() (all, sized int) {
	for _, n := range c.nodes {
		if op := n.active; op != nil && op.stage == checking {
			if all++; op.size != 0 {
				sized++
			}
		}
	}
	return all, sized
}

// checkAgain looks at a node without room again after 20 ms, or later where others are looked at too, so that the
// ResourceManager is asked for 400 nodes a second at most.
func (op *opening) checkAgain() {
	all, _ := op.job.core.checked()
	op.checkIn(max(20*time.Millisecond, time.Duration(all)*2500*time.Microsecond))
}

func (op *opening) checkIn(d time.Duration) {
	op.job.core.after(d, func() {
		if op.stage == checking {
			op.check()
		}
	})
}

// The method open gives the node the job's node label, and limits the time for which
// the node keeps this label.
func (op *opening) open() {
	c := op.job.core
	op.stage, op.openedAt = moving, c.now
	op.node.move(op.job.sub.label(op.kind), func() {
		if op.stage == moving {
			op.stage = open
		}
	})
	limit := c.grantWait.limit()
	op.limit = c.newAlarm(func() {
		if op.job.pending[op.kind] > 0 {
			c.grantWait.inVain(op.openedAt, limit)
			op.job.inVain(op.kind)
		}
		op.park(fmt.Sprintf("no container within %v", limit))
	})
	op.limit.in(limit)
	op.job.polls.in(0)
}

// park takes the job's node label from the node: the node gets the label "idle". The
// argument why is the cause if decisions without a container are given up; otherwise it
// is empty.
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
	if began == checking { // the node has not got the job's node label yet, so there is no label to take away
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
		op.node.size.follow()
	}
	if op.job.ended {
		op.end("cancelled", op.why)
		return
	}
	op.job.closing = append(op.job.closing, op)
	if op.mayBeLate() {
		op.job.core.watching.queued.in(0)
	}
	op.job.polls.in(0)
	op.node.list()
}

// unsaidFor is how long after the removal of a label containers may still come, if the
// ResourceManager does not say what it has to handle. atMostLate is the longest time for
// which one that always has something to handle is waited for.
const (
	unsaidFor  = 30 * time.Second
	atMostLate = 10 * time.Minute
)

// mayBeLate says whether a container may come for a decision though the node has lost
// the job's node label: the scheduler of a slow ResourceManager learns of that later.
func (op *opening) mayBeLate() bool {
	return op.granted < len(op.decisions) && !op.openedAt.IsZero() && op.handledAt.IsZero()
}

// watchQueued asks the ResourceManager whether it has handled all events, as long as
// decisions wait for that.
func (c *Core) watchQueued() {
	late := func(j *job) bool { return slices.ContainsFunc(j.closing, (*opening).mayBeLate) }
	switch {
	case !slices.ContainsFunc(c.jobs, late):
		return
	case c.trouble != "":
		c.watching.queued.in(200 * time.Millisecond)
		return
	}
	ask(c, Look{What: AskQueued}, func(n int64, sent time.Time, err error) {
		c.watching.queued.in(max(100*time.Millisecond, c.pause(8, sent)))
		if err != nil {
			c.failed("ask what the ResourceManager has to handle", err)
			return
		}
		for _, j := range c.jobs {
			for _, op := range j.closing {
				since := sent.Sub(op.parkedAt)
				if op.mayBeLate() && (n == 0 && since >= 0 || n < 0 && since >= unsaidFor || since >= atMostLate) {
					op.handledAt = c.now
					j.polls.in(0)
				}
			}
		}
	})
}

// canClose says whether a list of the job's containers that was asked for at the time
// sent has all that were granted while the node had the job's node label.
func (op *opening) canClose(sent time.Time) bool {
	return op.parkedAt.Before(sent) && !op.mayBeLate() && !sent.Before(op.handledAt)
}

// close ends an opening (a node's time with a job's node label), when all containers
// granted in that time are known.
func (op *opening) close() {
	waits := len(op.decisions) - op.granted
	op.end(cmp.Or(op.outcome, "none"), op.why)
	if op.takenBack && op.kind == state.Reduce {
		op.job.unask(int32(waits)) // else the model would choose these reduces again, before maps that wait
	}
	op.job.closing = slices.DeleteFunc(op.job.closing, func(x *opening) bool { return x == op })
}

// inVain counts nodes in a row that had a job's node label and got no container in time. After some
// it asks what the ResourceManager counts as used under the label. A scheduler that allocates
// asynchronously chooses a container first and grants it later; if its node has lost the label
// meanwhile, the container counts under the label for ever, and nodes with the label lack that much
// room. From then on they offer as much more. Two answers must agree, since a list of containers may
// be older than the first.
func (j *job) inVain(k state.Kind) {
	c, label := j.core, j.sub.label(k)
	if j.vain++; j.vain < 3 || c.now.Sub(j.usedAskedAt) < 5*time.Second {
		return
	}
	first := j.usedAskedAt.IsZero()
	j.usedAskedAt = c.now
	ask(c, Look{What: AskUsed, Of: label}, func(used int64, _ time.Time, err error) {
		if err != nil {
			c.failed("ask what is used under label "+label, err)
			return
		}
		used -= j.reservedMB[k] // the job's own reservation ends; one on a node that has lost the label since is no job's, and stays
		for _, x := range j.live {
			if x.node.label == label {
				used -= int64(j.size[x.kind].MemoryMB)
			}
		}
		lost, all := min(used, j.goneMB), int64(0)
		for _, n := range c.nodes {
			all += n.size.full.MemoryMB
		}
		lost, j.goneMB = min(lost, all), used
		if lost > c.lost[label] {
			c.lost[label] = lost
			c.note(fmt.Sprintf("the ResourceManager counts %d MB under label %s that no container uses: its nodes offer as much more", lost, label))
		} else if first && used <= 0 {
			c.log(Warn, "the ResourceManager gives the job no container though it asks for one", "job", j.jobID(), "label", label)
		}
	})
}

// The method end records the outcome of those decisions in the group op that got no
// container.
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
		op.job.awaited.remove(op)
	}
	for _, dec := range op.decisions[op.granted:] {
		if outcome == "none" {
			op.node.skipped = true
		}
		dec.giveBack(op.kind, op.node, outcome, cause)
	}
	op.granted = len(op.decisions)
}
