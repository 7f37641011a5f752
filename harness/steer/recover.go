package steer

import (
	"fmt"
	"time"

	"heddle/yarnclient"
)

// patience is how long steering waits for a ResourceManager to come back before it ends
// with an error.
const patience = 5 * time.Minute

// mostFailures is how many calls that change labels may fail in a row while the
// ResourceManager is active; then steering ends.
const mostFailures = 30

// doubtFor is the time after a restart of the ResourceManager during which a
// container may run though YARN does not list it, since its node has not registered
// yet. listsAfter is how long the ResourceManager may take to list a node's containers
// once the node has registered: the node reports them as it registers.
const (
	doubtFor   = 20 * time.Second
	listsAfter = 2 * time.Second
)

// suspect stops decisions until the ResourceManager says that it is active. A
// ResourceManager that has just come back gives wrong answers for about a second.
func (c *Core) suspect(why string) {
	if c.trouble != "" {
		return
	}
	c.trouble = why
	if c.relapses++; c.now.Sub(c.resumedAt) > time.Second {
		c.relapses = 0
	}
	c.log(Warn, "no decisions until the ResourceManager answers as the active one", "reason", why)
	c.awaitActive(c.now.Add(patience))
}

func (c *Core) awaitActive(until time.Time) {
	ask(c, Look{What: AskRM}, func(info yarnclient.ClusterInfo, _ time.Time, err error) {
		switch {
		case c.moves.failed > mostFailures:
			c.stop(fmt.Errorf("ResourceManager %s: given up after %d attempts to move nodes: %s: %w",
				c.Setup.Address, c.moves.failed, c.trouble, yarnclient.ErrUnavailable))
		case err == nil && info.HAState == yarnclient.HAActive && info.ID == c.RM:
			// A ResourceManager may answer this call and fail others: it is asked less and less often.
			c.after(time.Duration(min(max(c.moves.failed, c.relapses), 25))*20*time.Millisecond, c.resume)
		case err == nil && info.HAState == yarnclient.HAActive && info.ID != c.RM:
			c.RM = info.ID
			c.restartedAt = c.now
			for _, n := range c.nodes {
				n.registeredAt = time.Time{}
			}
			c.note("the ResourceManager was started anew")
			c.awaitNodes(c.now.Add(20 * time.Second))
		case c.now.After(until):
			c.stop(fmt.Errorf("ResourceManager %s did not come back within %v: %s: %w",
				c.Setup.Address, patience, c.trouble, yarnclient.ErrUnreachable))
		default:
			c.after(200*time.Millisecond, func() { c.awaitActive(until) })
		}
	})
}

// awaitNodes waits until the nodes have registered with a restarted ResourceManager, or
// until the given time. Then it resumes steering. If the cluster sets a node-locality
// delay, awaitNodes first switches this delay off again.
func (c *Core) awaitNodes(until time.Time) {
	again := func() { c.after(200*time.Millisecond, func() { c.awaitNodes(until) }) }
	ask(c, Look{What: AskNodes, Of: "RUNNING"}, func(list []yarnclient.Node, _ time.Time, err error) {
		want := 0
		for _, n := range c.nodes {
			if n.up {
				want++
			}
		}
		running := 0
		for _, info := range list {
			if n := c.byID[info.ID]; n != nil {
				n.registered()
				running++
			}
		}
		switch {
		case (err != nil || running < want) && c.now.Before(until):
			again()
		case !c.Setup.LocalityDelay:
			c.restarted()
		default:
			set := &SetScheduler{Change: NoLocalityDelay}
			c.change(set, &set.Number, func(err error) {
				if err != nil && c.now.Before(until) {
					again()
					return
				}
				c.restarted()
			})
		}
	})
}

// restarted resumes steering after a restart of the ResourceManager. Nodes still have
// their labels, but their memory sizes were reset. The next lists of containers tell
// which outcome the decisions made before the restart have.
func (c *Core) restarted() {
	for _, n := range c.nodes {
		n.size.registered(n.size.full)
		if n.active != nil {
			n.active.handledAt = c.now // the new one has no event of before
			n.active.park("the ResourceManager was started anew")
		} else {
			n.move(idleLabel, nil)
		}
	}
	clear(c.lost)
	for _, j := range c.jobs {
		j.pending, j.tookBack = [2]int32{}, [2]time.Time{}
	}
	c.resume()
}

// registered notes that the ResourceManager lists the node as running.
func (n *node) registered() {
	if n.registeredAt.IsZero() {
		n.registeredAt = n.core.now
	}
}

// mayRun says whether the container may run though a list of YARN's, asked for at the
// time sent, lacks it. After a restart the ResourceManager knows a container only
// when the container's node has registered again and reported it. A container that
// was listed since has no such excuse.
func (x *container) mayRun(sent time.Time) bool {
	c, n := x.job.core, x.node
	switch {
	case !x.listedAt.Before(c.restartedAt) || !n.up:
		return false
	case n.registeredAt.IsZero():
		return c.now.Before(c.restartedAt.Add(doubtFor))
	}
	return sent.Before(n.registeredAt.Add(listsAfter))
}

func (c *Core) resume() {
	c.trouble, c.resumedAt = "", c.now
	for _, j := range c.jobs {
		if !j.ended {
			j.polls.in(0)
			j.asks.in(0)
		}
		// While decisions were stopped, a node that kept a job's node label may have
		// run tasks in containers that steering never saw. So the ApplicationMaster is
		// asked for all tasks of the job.
		if !j.ended && j.attempt != "" {
			j.reconciledAt = time.Time{}
			j.reconcile()
		}
	}
	c.watching.apps.in(0)
	for _, n := range c.nodes {
		n.size.follow()
		if n.active != nil && n.active.stage == checking {
			n.active.since, n.active.size = time.Time{}, 0
			n.active.check()
		}
	}
}
