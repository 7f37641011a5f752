package steer

import (
	"fmt"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// group is decisions of the model that are carried out all or none, see sched.Decision.
// It is decided when each member has a container, or when it was given up.
type group struct {
	core    *Core
	id      int64 // number of the first member's decision
	members []*decision
	left    int    // number of members without a container
	failed  string // why the group was given up; empty: it was not
	limit   *alarm
}

func (g *group) decided() bool { return g.left == 0 || g.failed != "" }

// decideGroup starts to carry out the decisions of a group. It returns false, and
// carries out none, if one of them cannot be carried out together with the others.
func (c *Core) decideGroup(list []sched.Decision) bool {
	if !c.possibleTogether(list) {
		return false
	}
	g := &group{core: c, id: c.lastID + 1, left: len(list)}
	limit := time.Duration(sched.GroupLimitMs(c.Model)) * time.Millisecond
	g.limit = c.newAlarm(func() { g.fail(fmt.Sprintf("not all containers of the group came within %v", limit)) })
	g.limit.in(limit)
	for _, x := range list {
		if !c.carryOut(x, g) {
			g.fail("a decision of the group could not be carried out")
			break
		}
	}
	return true
}

// possibleTogether says whether the decisions of a group can be carried out, all at the
// same time.
func (c *Core) possibleTogether(list []sched.Decision) bool {
	var held []state.ReservationID
	defer func() {
		for _, r := range held {
			c.state.Cancel(r)
		}
	}()
	for _, x := range list {
		if !c.possible(x) || x.Job != list[0].Job || x.Kind != state.Reduce {
			return false
		}
		if j := c.jobs[x.Job]; j.coming[x.Kind]+int32(len(list)) > j.pending[x.Kind] {
			return false
		}
		r, err := c.state.Reserve(x.Job, x.Kind, state.None, x.Node)
		if err != nil {
			return false
		}
		held = append(held, r)
	}
	return true
}

// granted notes that a member has got its container. With the last one the group is
// complete, and the outcomes that are known already are recorded.
func (g *group) granted(d *decision) {
	g.left--
	switch {
	case g.failed != "": // it came after all: its task must not run
		d.stopTask()
	case g.left == 0:
		g.limit.off()
		for _, m := range g.members {
			m.settleHeld()
		}
	}
}

// fail gives up a group, unless it is complete. The members are given up at the end of
// the step, so that no list changes while it is gone through.
func (g *group) fail(why string) {
	if g.decided() {
		return
	}
	g.failed = why
	g.limit.off()
	g.core.givenUp = append(g.core.givenUp, g)
}

// giveUpGroups gives up the members of failed groups: those without a container get
// none, and tasks in containers that came are killed.
func (c *Core) giveUpGroups() {
	for len(c.givenUp) > 0 {
		g := c.givenUp[0]
		c.givenUp = c.givenUp[1:]
		for _, m := range g.members {
			switch {
			case m.container != nil:
				m.settleHeld()
				m.stopTask()
			case !m.settled:
				m.opening.giveUp(g.failed)
			}
		}
	}
}

// giveUp gives up the decisions of the opening that have no container.
func (op *opening) giveUp(why string) {
	op.outcome = "cancelled"
	switch {
	case op.stage == queued:
		op.unqueue()
		op.end("cancelled", why)
	case op.stage < parking:
		op.park(why)
	}
}

// holds says whether the outcome of a decision with a container has to wait until its
// group is decided. It then keeps the attempt, nil if it is unknown.
func (d *decision) holds(attempt *traces.Attempt) bool {
	if d.group == nil || d.group.decided() {
		return false
	}
	d.held, d.attempt = true, attempt
	return true
}

// settleHeld records the outcome of a decision that had to wait for its group.
func (d *decision) settleHeld() {
	if d.held {
		d.held = false
		d.settle(d.attempt)
	}
}

// stopTask kills the task in the container of a member of a failed group, or the one
// that will run there. The task then waits again.
func (d *decision) stopTask() {
	x := d.container
	if x.gone() || d.job.ended || x.surplus || d.job.live[x.id] != x {
		return
	}
	x.surplus = true
	if x.task != state.None {
		x.kill()
	}
}
