package yarntest

import "heddle/yarnclient"

// ask is a row of an application's pending table.
type ask struct {
	priority int
	name     string // host, rack or "*"
}

// scratch is reused between rounds.
type scratch struct {
	waiting map[string]bool // labels that some application waits for
	order   []*app
}

// asyncRound offers every node once.
func (c *Fake) asyncRound() {
	c.after(c.cfg.Async, c.asyncRound)
	if !c.up() {
		return
	}
	waiting := c.waitingLabels()
	for _, n := range c.nodes {
		if len(waiting) == 0 {
			return
		}
		if waiting[n.sched] && n.state == "RUNNING" && c.allocateOn(n, 1) > 0 {
			waiting = c.waitingLabels()
		}
	}
}

func (c *Fake) waitingLabels() map[string]bool {
	if c.scratch.waiting == nil {
		c.scratch.waiting = map[string]bool{}
	}
	clear(c.scratch.waiting)
	for _, a := range c.apps {
		for _, p := range priorities {
			if !a.ended() && a.asks[ask{p, "*"}] > 0 {
				c.scratch.waiting[a.label(p)] = true
			}
		}
	}
	return c.scratch.waiting
}

// priorities in the order they are served.
var priorities = [...]int{yarnclient.PriorityAM, yarnclient.PriorityFailedMap, yarnclient.PriorityReduce, yarnclient.PriorityMap}

// allocateOn gives the node up to most containers, 0 for no bound, and returns
// how many.
func (c *Fake) allocateOn(n *node, most int) int {
	given := 0
	for most == 0 || given < most {
		a, priority := c.next(n, false)
		if a == nil {
			break
		}
		c.allocate(n, a, priority)
		given++
		if n.twice {
			n.twice = false
			if b, p := c.next(n, true); b != nil {
				c.allocate(n, b, p)
				given++
			}
		}
	}
	return given
}

// next is the application and priority that the node serves next: by
// application priority, then submission, then request priority. A request
// that passes over the node for locality counts the opportunity.
func (c *Fake) next(n *node, overfull bool) (*app, int) {
	order := c.scratch.order[:0]
	for _, a := range c.apps {
		if a.ended() || len(a.asks) == 0 {
			continue
		}
		at := len(order) // few are waiting: insertion keeps submission order
		for at > 0 && order[at-1].priority < a.priority {
			at--
		}
		order = append(order, nil)
		copy(order[at+1:], order[at:])
		order[at] = a
	}
	c.scratch.order = order
	for _, a := range order {
		for _, p := range priorities {
			if a.asks[ask{p, "*"}] == 0 || a.label(p) != n.sched || !overfull && !n.fits(a.memoryMB(p)) {
				continue
			}
			if c.localEnough(n, a, p) {
				return a, p
			}
		}
	}
	return nil, 0
}

func (c *Fake) localEnough(n *node, a *app, priority int) bool {
	if c.cfg.LocalityDelay <= 0 || priority != yarnclient.PriorityMap || a.asks[ask{priority, n.Host}] > 0 {
		return true
	}
	delay := min(c.cfg.LocalityDelay, len(c.nodes))
	if a.asks[ask{priority, n.Rack}] > 0 && a.missed > delay {
		return true
	}
	names := 0
	for k := range a.asks {
		if k.priority == priority {
			names++
		}
	}
	// Off-switch waits with the share of the cluster that the asks name.
	pending := a.asks[ask{priority, "*"}]
	if a.asks[ask{priority, n.Rack}] == 0 && a.missed > min(len(c.nodes), pending*(names-1)/len(c.nodes)) {
		return true
	}
	a.missed++
	return false
}

func (c *Fake) allocate(n *node, a *app, priority int) {
	k := &container{app: a, node: n, priority: priority, memoryMB: a.memoryMB(priority), started: c.now}
	n.used.MemoryMB += k.memoryMB
	n.used.VCores++
	n.containers = append(n.containers, k)
	names := []string{"*"}
	switch {
	case a.asks[ask{priority, n.Host}] > 0:
		names = append(names, n.Rack, n.Host)
		a.missed = 0
	case a.asks[ask{priority, n.Rack}] > 0:
		names = append(names, n.Rack)
	}
	for _, name := range names {
		key := ask{priority, name}
		if a.asks[key]--; a.asks[key] <= 0 {
			delete(a.asks, key)
		}
	}
	k.id = c.containerID(a)
	a.live = append(a.live, k)
	if priority == yarnclient.PriorityAM {
		a.master = k
		if a.launched.IsZero() {
			a.launched = c.now
		}
		attempt := a.attemptNo
		c.after(c.cfg.AMStart, func() { c.register(a, attempt) })
		return
	}
	a.granted = append(a.granted, k)
}
