package yarntest

import (
	"slices"

	"heddle/yarnclient"
)

// register registers a job's ApplicationMaster with the ResourceManager. The
// ApplicationMaster then requests containers for its tasks.
func (c *Fake) register(a *app, attempt int) {
	if a.ended() || a.attemptNo != attempt || a.master == nil || a.master.ended {
		return
	}
	if !c.up() {
		c.after(c.cfg.AMHeartbeat, func() { c.register(a, attempt) })
		return
	}
	a.state = "RUNNING"
	a.masters = append(a.masters, a.master)
	if a.registered.IsZero() {
		a.registered = c.now
	}
	for _, t := range a.tasks {
		t.since = c.now
	}
	a.changed = true
	c.masterBeat(a, attempt)
}

// masterBeat carries out a heartbeat from an ApplicationMaster to the
// ResourceManager. The ApplicationMaster gets its new containers, chooses tasks
// for them, and sends its container requests.
func (c *Fake) masterBeat(a *app, attempt int) {
	if a.ended() || a.attemptNo != attempt {
		return
	}
	c.after(c.cfg.AMHeartbeat, func() { c.masterBeat(a, attempt) })
	if !c.up() {
		return
	}
	a.hidden = false
	granted := a.granted
	a.granted = nil
	c.bind(a, granted)
	if len(granted) > 0 || a.changed {
		a.changed = false
		c.sendAsks(a)
	}
	if a.mapsDone == len(a.Maps) && a.reducesDone == a.Reduces {
		c.finish(a, "FINISHED", "SUCCEEDED")
	}
}

// bind chooses a task for each new container, as the MapReduce
// ApplicationMaster does. Containers requested for reduces, or for maps that
// run again after a failure, are used first. The other containers are then
// given maps in three passes: maps whose split is on the container's node,
// maps whose split is in its rack, any maps. Among equal tasks, the one that
// has waited longest is chosen.
func (c *Fake) bind(a *app, granted []*container) {
	var left []*container
	for _, k := range granted {
		switch k.priority {
		case yarnclient.PriorityFailedMap:
			k.ended = !c.start(a, k, "", func(t *task) bool { return !t.reduce && t.failed })
		case yarnclient.PriorityReduce:
			if a.givesBack > 0 {
				a.givesBack--
				k.ended = true
				continue
			}
			k.ended = !c.start(a, k, "", func(t *task) bool { return t.reduce })
		default:
			left = append(left, k)
		}
	}
	for _, level := range [...]string{"node", "rack", "off"} {
		left = slices.DeleteFunc(left, func(k *container) bool {
			return c.start(a, k, level, func(t *task) bool { return !t.reduce && !t.failed && c.level(t, k.node) <= levels[level] })
		})
	}
	for _, k := range left { // no task needs the remaining new containers, so the ApplicationMaster releases them
		k.ended = true
	}
}

var levels = map[string]int{"node": 0, "rack": 1, "off": 2}

// level returns how far a map's input split is from a node: 0 if the split is
// on the node, 1 if it is in the node's rack, 2 if it is further away.
func (c *Fake) level(t *task, n *node) int {
	if slices.Contains(t.hosts, n.Host) {
		return 0
	}
	for _, h := range t.hosts {
		if m := c.byID[h+":45454"]; m != nil && m.Rack == n.Rack {
			return 1
		}
	}
	return 2
}

// start runs a task in a container. It chooses among the job's waiting tasks
// that the function fits accepts, and takes the one that was requested first.
// It returns false if there is no such task.
func (c *Fake) start(a *app, k *container, locality string, fits func(*task) bool) bool {
	var first *task
	for _, t := range a.tasks {
		if t.waiting && (first == nil || t.turn < first.turn) && fits(t) {
			first = t
		}
	}
	if first != nil {
		c.startAttempt(first, k, locality)
	}
	return first != nil
}

func (c *Fake) startAttempt(t *task, k *container, locality string) {
	t.waiting = false
	x := &attempt{task: t, number: len(t.attempts), state: "STARTING", container: k, locality: locality}
	x.run, x.fails = t.app.Run(t.kind(), t.index, x.number)
	t.attempts = append(t.attempts, x)
	t.app.attemptByName[x.id()] = x
	k.attempt = x
	x.silent = k.node.dead
	c.after(c.cfg.TaskStart, func() {
		if x.ended() || x.silent {
			return
		}
		x.state, x.started = "RUNNING", c.now
		if !t.reduce || t.app.mapsDone == len(t.app.Maps) {
			c.after(x.run, func() { c.report(x) })
		}
	})
}

// report ends a task attempt when its running time is over. Its
// ApplicationMaster learns of the end at once.
func (c *Fake) report(x *attempt) {
	if x.ended() || x.silent {
		return
	}
	if x.fails {
		c.endAttempt(x, "FAILED")
	} else {
		c.endAttempt(x, "SUCCEEDED")
	}
}

// endAttempt ends a task attempt in the given state. Unless the attempt
// succeeded, a container for its task is requested again.
func (c *Fake) endAttempt(x *attempt, state string) {
	t, a := x.task, x.task.app
	if x.started.IsZero() {
		x.started = c.now
	}
	x.state, x.finished, x.container.ended = state, c.now, true
	if a.ended() {
		return
	}
	count := func(inMap, inReduce *int) {
		if t.reduce {
			*inReduce++
		} else {
			*inMap++
		}
	}
	a.changed = true
	switch state {
	case "SUCCEEDED":
		t.done = true
		count(&a.mapsDone, &a.reducesDone)
		if !t.reduce && a.mapsDone == len(a.Maps) {
			c.shuffled(a)
		}
		return
	case "FAILED":
		count(&a.failedMap, &a.failedReduce)
		t.failed = true
	default:
		count(&a.killedMap, &a.killedReduce)
	}
	a.turns++
	t.waiting, t.since, t.turn = true, c.now, a.turns
	if t.reduce {
		t.failed = false // the container for a failed reduce is requested like that of a new reduce, since requests for reduces never name a host
	}
}

// shuffled lets the running reduces of a job go on when the job's last map has
// ended, since they can then fetch all map outputs.
func (c *Fake) shuffled(a *app) {
	for _, t := range a.tasks {
		for _, x := range t.attempts {
			if t.reduce && x.state == "RUNNING" {
				c.after(x.run, func() { c.report(x) })
			}
		}
	}
}

// sendAsks replaces the application's container requests by those of its
// waiting tasks.
func (c *Fake) sendAsks(a *app) {
	clear(a.asks)
	if !a.reducesAsked && float64(a.mapsDone) >= a.Slowstart*float64(len(a.Maps)) {
		a.reducesAsked = true
		for _, t := range a.tasks {
			t.waiting = t.waiting || t.reduce && !t.done && len(t.attempts) == 0
		}
	}
	for _, t := range a.tasks {
		switch {
		case !t.waiting || t.reduce && a.takesBack:
		case t.reduce:
			a.asks[ask{yarnclient.PriorityReduce, "*"}]++
		case t.failed:
			a.asks[ask{yarnclient.PriorityFailedMap, "*"}]++
		default:
			a.asks[ask{yarnclient.PriorityMap, "*"}]++
			var racks []string
			for _, h := range t.hosts {
				a.asks[ask{yarnclient.PriorityMap, h}]++
				if n := c.byID[h+":45454"]; n != nil && !slices.Contains(racks, n.Rack) {
					racks = append(racks, n.Rack)
				}
			}
			for _, r := range racks {
				a.asks[ask{yarnclient.PriorityMap, r}]++
			}
		}
	}
}

// finish ends an application. The resources of its containers are freed with
// the next heartbeats of their nodes.
func (c *Fake) finish(a *app, state, final string) {
	a.state, a.final, a.finished = state, final, c.now
	clear(a.asks)
	for _, k := range a.live {
		k.ended = true
		if k.attempt != nil && !k.attempt.ended() {
			c.endAttempt(k.attempt, "KILLED")
		}
	}
}

// KillMaster ends a job's running ApplicationMaster with all containers of the
// job. The ResourceManager starts another ApplicationMaster, for which the
// completed maps stay completed.
func (c *Fake) KillMaster(appID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if a := c.appByID[appID]; a != nil && a.master != nil && !a.ended() {
		a.mastersFailed++
		c.masterLost(a)
	}
}

// masterLost handles the end of an ApplicationMaster. As in YARN, only those that failed
// count towards the most attempts of an application, not those that went with their node.
func (c *Fake) masterLost(a *app) {
	if a.ended() {
		return
	}
	for _, k := range a.live {
		k.ended = true
		if k.attempt != nil && !k.attempt.ended() {
			c.endAttempt(k.attempt, "KILLED")
		}
	}
	a.master, a.granted = nil, nil
	if a.mastersFailed == 2 { // the default of yarn.resourcemanager.am.max-attempts
		c.finish(a, "FAILED", "FAILED")
		return
	}
	a.attemptNo++
	a.containerSeq = 0
	a.state = "ACCEPTED"
	clear(a.asks)
	a.asks[ask{yarnclient.PriorityAM, "*"}] = 1
}
