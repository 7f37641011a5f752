package yarntest

import "heddle/yarnclient"

// ask identifies one of an application's container requests, by its priority
// and the place where the containers are requested.
type ask struct {
	priority int
	name     string // where the containers are requested: on a host, in a rack, or anywhere ("*")
}

// scratch is memory that the scheduler reuses each time it looks for a
// container to allocate, to save allocations of memory.
type scratch struct {
	waiting map[string]bool // node labels on which some application has unmet container requests
	order   []*app
}

// asyncRound tries to allocate one container on each node, as asynchronous
// scheduling does at each interval.
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

// priorities lists the priorities of container requests in the order in which
// the scheduler serves the requests of one application.
var priorities = [...]int{yarnclient.PriorityAM, yarnclient.PriorityFailedMap, yarnclient.PriorityReduce, yarnclient.PriorityMap}

// allocateOn allocates containers on a node and returns their number. It
// allocates at most as many as the parameter most says; 0 means no limit.
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

// next returns the application, and the priority of its request, for which a
// container is allocated next on a node. The order is: application priority,
// time of submission, request priority. If a request declines the node, to
// wait for a better locality, a missed opportunity is counted for the request.
func (c *Fake) next(n *node, overfull bool) (*app, int) {
	order := c.scratch.order[:0]
	for _, a := range c.apps {
		if a.ended() || len(a.asks) == 0 {
			continue
		}
		// inserting one application at a time keeps the order of submission among equal priorities; few applications wait, so this is fast enough
		at := len(order)
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
			if a.asks[ask{p, "*"}] == 0 || a.label(p) != n.sched || !overfull && !n.fits(a.memoryMB(p)+c.leaked[n.sched]) {
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
	// A request accepts a node outside its racks only after it has missed a
	// number of scheduling opportunities. That number grows with the number of
	// hosts and racks that the application's requests name.
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
