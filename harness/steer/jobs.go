package steer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// job is a job that is steered.
type job struct {
	app     yarnclient.App
	sub     *Submission
	about   *description
	id      state.JobID
	size    [2]state.Resource
	am      *yarnclient.AM
	attempt string // of the application; empty until it runs
	ended   bool

	shortest [2]time.Duration // that a task has taken, 0: none has ended

	asked   [2]int32 // tasks that the master has asked for, in all
	pending [2]int32 // containers that it waits for, as last told
	granted [2]int32 // containers that it got
	coming  [2]int32 // decisions that have no container yet
	reruns  int32    // maps that wait as re-runs
	excess  bool     // it waited for more than is known of

	live     map[string]*container
	over     map[string]bool       // containers that have ended and may still be listed
	unbound  map[string]*container // whose task the master has not told
	tasks    []taskRecord          // by state.TaskID
	opened   int                   // openings under way
	passage  passage               // of its master, where masters are held
	passedAt time.Time             // it was last seen to have passed, or looked for
	line     []*opening            // that containers are awaited for, in order of decisions
	closing  []*opening            // that wait for a last look
	polls    *alarm
	asks     *alarm
	polling  bool
	listed   time.Time    // when the last listing of containers was asked for
	doubted  time.Time    // until then, what is not listed may run
	missing  []*container // that are not listed, while in doubt

	reconciling bool
	settled     time.Time // of the last reconciliation
	surveyed    time.Time // when the last one that told all tasks began
}

// taskRecord is what is known of a task beside the State.
type taskRecord struct {
	on      *container // nil: none, or not known
	done    bool
	changed time.Time
}

// container is one that a job has.
type container struct {
	id      string
	job     *job
	node    *node
	kind    state.Kind
	seen    time.Time           // first
	held    state.ReservationID // None: decided by nobody
	task    state.TaskID        // None until the master has told
	attempt traces.Attempt
	by      *decision // nil: decided by nobody
	goneAt  time.Time // zero: it is listed
	surplus bool      // is being killed
	holds   bool      // its room, being no task's
}

func (c *container) gone() bool { return !c.goneAt.IsZero() }

func (j *job) serial() string { return strings.TrimPrefix(j.app.ID, "application_") }

func (j *job) jobID() traces.JobID { return traces.JobID("job_" + j.serial()) }

// kindOf tells a container's kind by the priority that it was asked for with.
func kindOf(priority int) (state.Kind, bool) {
	switch priority {
	case yarnclient.PriorityMap, yarnclient.PriorityFailedMap, 19: // 19 is opportunistic
		return state.Map, true
	case yarnclient.PriorityReduce:
		return state.Reduce, true
	}
	return 0, false
}

// submit adds a job that has come.
func (d *Driver) submit(app yarnclient.App, sub *Submission, about *description) {
	about.locate(d.view)
	about.spec.Priority = int32(app.Priority)
	id, err := d.state.Submit(&about.spec)
	if err != nil {
		d.log.Warn("a job is not steered", "application", app.ID, "error", err)
		return
	}
	j := &job{
		app: app, sub: sub, about: about, id: id, am: d.rm.AM(app.ID),
		size: [2]state.Resource{about.spec.MapSize, about.spec.ReduceSize},
		live: map[string]*container{}, over: map[string]bool{}, unbound: map[string]*container{},
		tasks: make([]taskRecord, about.spec.Maps+about.spec.Reduces),
	}
	j.polls, j.asks = d.newAlarm(func() { d.poll(j) }), d.newAlarm(func() { d.askPending(j) })
	d.jobs = append(d.jobs, j)
	d.apps[app.ID] = j
	d.observe(sched.Event{What: sched.JobSubmitted, Job: id})
	d.train(j)
	if d.holds() {
		d.resplit(j)
	} else {
		d.refresh(j)
	}
	d.sawApp(app)
}

// train has a model that learns do so while the job's ApplicationMaster starts:
// with its first decision, nodes would wait for it. Nothing else is decided
// meanwhile; models bound their training.
func (d *Driver) train(j *job) {
	if d.warmup == nil || j.about.spec.Maps == 0 {
		return
	}
	began := time.Now()
	err := d.warmup.Warmup(d.view, j.id, nil)
	if t := d.warmup.Training(j.id); err == nil && t != nil {
		d.note(fmt.Sprintf("%s: trained for %d episodes in %d ms", j.jobID(), len(t.Episodes), time.Since(began).Milliseconds()))
		err = d.trained(j.jobID(), t)
	}
	if err != nil { // it trains when it decides
		d.log.Warn("train", "job", j.jobID(), "error", err)
	}
}

// endJob forgets what a job waited for.
func (d *Driver) endJob(j *job) {
	if j.ended {
		return
	}
	for _, n := range d.nodes {
		rest := n.queue[:0]
		for _, op := range n.queue {
			if op.job == j {
				d.endOpening(op, "cancelled", "the job has ended")
			} else {
				rest = append(rest, op)
			}
		}
		n.queue = rest
		op := n.active
		if op == nil || op.job != j {
			continue
		}
		// Now: with the job, the State forgets what is reserved for it.
		for _, dec := range op.decisions[op.granted:] {
			d.giveBack(dec, op.kind, n, "cancelled", "the job has ended")
		}
		if op.stage < parking {
			d.park(op, "the job has ended")
		}
	}
	for _, c := range j.unbound { // which task they ran the history knows
		if c.by != nil {
			d.settle(c.by, nil)
		}
	}
	for _, op := range j.closing {
		d.endOpening(op, "cancelled", "the job has ended")
	}
	j.closing = nil
	left := map[*node]bool{}
	for _, c := range j.live {
		left[c.node] = true
	}
	j.ended = true
	j.polls.off()
	j.asks.off()
	d.state.EndJob(j.id)
	d.observe(sched.Event{What: sched.JobEnded, Job: j.id})
	j.live, j.unbound = nil, nil
	for _, n := range d.nodes {
		if left[n] {
			d.offer(n)
		}
	}
}

// containerGone says that a container is no longer listed: its attempt has
// ended, and well unless the master says otherwise.
func (d *Driver) containerGone(j *job, c *container) {
	delete(j.live, c.id)
	j.over[c.id] = true
	c.goneAt = time.Now()
	switch {
	case c.task != state.None:
		d.attemptEnded(j, c)
	case c.held == state.None:
		d.unhold(c)
		d.reconcile(j) // it may have run something
	default: // what it ran is still to be found out
		return
	}
	d.offer(c.node)
}

// attemptEnded follows a container that ran a known task and is gone.
func (d *Driver) attemptEnded(j *job, c *container) {
	record := &j.tasks[c.task]
	if record.on != c { // it runs elsewhere by now
		return
	}
	record.on, record.changed = nil, time.Now()
	if c.surplus || !c.node.up {
		d.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: c.task, Node: c.node.id, Failed: true})
		d.retry(j, c.task, false)
		return
	}
	record.done = true
	if took := time.Since(c.seen); j.shortest[c.kind] == 0 || took < j.shortest[c.kind] {
		j.shortest[c.kind] = took
	}
	if err := d.state.Finish(j.id, c.task); err != nil {
		d.reconcile(j)
		return
	}
	d.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: c.task, Node: c.node.id})
}

func (d *Driver) retry(j *job, t state.TaskID, rerun bool) {
	j.tasks[t] = taskRecord{changed: time.Now()}
	if err := d.state.Retry(j.id, t, rerun); err != nil {
		d.log.Debug("retry", "error", err)
		return
	}
	if k, _ := d.view.Index(j.id, t); rerun && k == state.Map {
		j.reruns++
	}
	d.offerAll()
}

// kill ends an attempt that nobody decided; its task waits again. Before the
// node is parked, another would come instead.
func (d *Driver) kill(c *container) {
	if c.gone() || c.job.ended {
		return
	}
	if op := c.node.active; op != nil && op.job == c.job && op.kind == c.kind || c.node.label == c.job.sub.label(c.kind) {
		d.newAlarm(func() { d.kill(c) }).in(50 * time.Millisecond)
		return
	}
	id := c.attempt.String()
	d.change(func(ctx context.Context) error { return c.job.am.KillAttempt(ctx, id) }, func(err error) {
		if err != nil {
			d.note("surplus " + id + " was not killed: " + err.Error())
			c.surplus = false
			return
		}
		d.note("surplus " + id + " in " + c.id + " on " + c.node.name + " was killed")
	})
}

// masterLost follows a job to the next attempt of its master: what ran was
// killed, what was done may be kept.
func (d *Driver) masterLost(j *job, next string) {
	d.note(string(j.jobID()) + ": ApplicationMaster started anew, " + next)
	j.attempt = next
	j.pending = [2]int32{}
	for _, n := range d.nodes {
		if op := n.active; op != nil && op.job == j && op.stage < parking {
			d.park(op, "the ApplicationMaster was lost")
		}
	}
	for id, c := range j.live {
		c.goneAt = time.Now()
		j.over[id] = true
		delete(j.live, id)
		delete(j.unbound, id)
		switch {
		case c.task != state.None:
			d.retry(j, c.task, false)
		case c.held != state.None:
			d.state.Cancel(c.held)
			c.held = state.None
			if c.by != nil {
				d.settle(c.by, nil)
			}
		default:
			d.unhold(c)
		}
	}
	for k := range j.asked { // until the next one asks, others get what comes free
		for {
			if _, waited := d.state.Unask(j.id, state.Kind(k)); !waited {
				break
			}
		}
		j.asked[k] = 0
	}
	j.reruns = 0
	j.polls.in(200 * time.Millisecond)
	j.asks.in(200 * time.Millisecond)
}
