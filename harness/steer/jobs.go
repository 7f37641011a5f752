package steer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// job is a job that is steered.
type job struct {
	core    *Core
	app     yarnclient.App
	sub     *Submission
	files   *JobFiles
	order   []state.TaskID // by map, which it was as submitted; nil: the same
	id      state.JobID
	size    [2]state.Resource
	attempt string // of the application; empty until it runs
	ended   bool

	shortest [2]time.Duration // that a task has taken, 0: none has ended
	demand

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
	surveyed    time.Time // when the last one that told all tasks was asked for
}

// demand is what a job's master waits for, by kind.
type demand struct {
	asked     [2]int32 // tasks that it has asked for, in all
	pending   [2]int32 // containers that it waits for, as last told
	coming    [2]int32 // decisions that have no container yet
	reruns    int32    // maps that wait as re-runs
	excess    bool     // it asked for more containers than it has tasks known to us
	withdrawn int32    // reduces that wait in the State, though it did not ask for them when last looked at
}

// wants says whether YARN would give the job one more container of the kind.
func (d *demand) wants(k state.Kind) bool { return d.coming[k] < d.pending[k] }

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

func (x *container) gone() bool { return !x.goneAt.IsZero() }

func inOrderOfID(list map[string]*container) []*container {
	return slices.SortedFunc(maps.Values(list), func(a, b *container) int { return cmp.Compare(a.id, b.id) })
}

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
func (c *Core) submit(app yarnclient.App, sub *Submission, files *JobFiles) {
	files.locate(c.view)
	files.Spec.Priority = int32(app.Priority)
	id, err := c.state.Submit(&files.Spec)
	if err != nil {
		c.log(Warn, "a job is not steered", "application", app.ID, "error", err)
		return
	}
	j := &job{
		core: c, app: app, sub: sub, files: files, id: id,
		size: [2]state.Resource{files.Spec.MapSize, files.Spec.ReduceSize},
		live: map[string]*container{}, over: map[string]bool{}, unbound: map[string]*container{},
		tasks: make([]taskRecord, files.Spec.Maps+files.Spec.Reduces),
	}
	j.polls, j.asks = c.newAlarm(j.poll), c.newAlarm(j.askPending)
	c.jobs = append(c.jobs, j)
	c.apps[app.ID] = j
	c.observe(sched.Event{What: sched.JobSubmitted, Job: id})
	j.train()
	if c.holds() {
		j.resplit()
	} else {
		j.refresh()
	}
	c.sawApp(app)
}

// train has a model that learns do so while the job's ApplicationMaster starts:
// with its first decision, nodes would wait for it. Nothing else is decided
// meanwhile; models bound their training.
func (j *job) train() {
	c := j.core
	if c.warmup == nil || j.files.Spec.Maps == 0 {
		return
	}
	err := c.warmup.Warmup(c.view, j.id, nil)
	if t := c.warmup.Training(j.id); err == nil && t != nil {
		c.note(fmt.Sprintf("%s: trained for %d episodes", j.jobID(), len(t.Episodes)))
		c.out = append(c.out, &Trained{j.jobID(), t})
	}
	if err != nil { // it trains when it decides
		c.log(Warn, "train", "job", j.jobID(), "error", err)
	}
}

// end forgets what a job waited for.
func (j *job) end() {
	if j.ended {
		return
	}
	c := j.core
	for _, n := range c.nodes {
		rest := n.queue[:0]
		for _, op := range n.queue {
			if op.job == j {
				op.end("cancelled", "the job has ended")
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
			dec.giveBack(op.kind, n, "cancelled", "the job has ended")
		}
		if op.stage < parking {
			op.park("the job has ended")
		}
	}
	j.settleUnbound()
	for _, op := range j.closing {
		op.end("cancelled", "the job has ended")
	}
	j.closing = nil
	left := map[*node]bool{}
	for _, x := range j.live {
		left[x.node] = true
	}
	j.ended = true
	j.polls.off()
	j.asks.off()
	c.state.EndJob(j.id)
	c.observe(sched.Event{What: sched.JobEnded, Job: j.id})
	j.live, j.unbound = nil, nil
	for _, n := range c.nodes {
		if left[n] {
			n.offer()
		}
	}
}

// settleUnbound settles the decisions of containers whose tasks the master has not
// told: which they ran the history knows.
func (j *job) settleUnbound() {
	for _, x := range inOrderOfID(j.unbound) {
		if x.by != nil {
			x.by.settle(nil)
		}
	}
}

// went says that a container is no longer listed: its attempt has ended, and well
// unless the master says otherwise.
func (x *container) went() {
	j := x.job
	delete(j.live, x.id)
	j.over[x.id] = true
	x.goneAt = j.core.now
	switch {
	case x.task != state.None:
		x.ended()
	case x.held == state.None:
		x.release()
		j.reconcile() // it may have run something
	default: // what it ran is still to be found out
		return
	}
	x.node.offer()
}

// ended follows a container that ran a known task and is gone.
func (x *container) ended() {
	j := x.job
	c, record := j.core, &j.tasks[x.task]
	if record.on != x { // it runs elsewhere by now
		return
	}
	record.on, record.changed = nil, c.now
	if x.surplus || !x.node.up {
		c.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: x.task, Node: x.node.id, Failed: true})
		j.retry(x.task, false)
		return
	}
	record.done = true
	if took := c.now.Sub(x.seen); j.shortest[x.kind] == 0 || took < j.shortest[x.kind] {
		j.shortest[x.kind] = took
	}
	if err := c.state.Finish(j.id, x.task); err != nil {
		j.reconcile()
		return
	}
	c.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: x.task, Node: x.node.id})
}

func (j *job) retry(t state.TaskID, rerun bool) {
	c := j.core
	j.tasks[t] = taskRecord{changed: c.now}
	if err := c.state.Retry(j.id, t, rerun); err != nil {
		c.log(Debug, "retry", "error", err)
		return
	}
	if k, _ := c.view.Index(j.id, t); rerun && k == state.Map {
		j.reruns++
	}
	c.offerAll()
}

// kill ends an attempt that nobody decided; its task waits again. Before the
// node is parked, another would come instead.
func (x *container) kill() {
	j := x.job
	c := j.core
	if x.gone() || j.ended {
		return
	}
	if op := x.node.active; op != nil && op.job == j && op.kind == x.kind || x.node.label == j.sub.label(x.kind) {
		c.newAlarm(x.kill).in(50 * time.Millisecond)
		return
	}
	kill := &Kill{App: j.app.ID, Attempt: x.attempt.String()}
	c.change(kill, &kill.Number, func(err error) {
		if err != nil {
			c.note("surplus " + kill.Attempt + " was not killed: " + err.Error())
			x.surplus = false
			return
		}
		c.note("surplus " + kill.Attempt + " in " + x.id + " on " + x.node.name + " was killed")
	})
}

// masterLost follows a job to the next attempt of its master: what ran was
// killed, what was done may be kept.
func (j *job) masterLost(next string) {
	c := j.core
	c.note(string(j.jobID()) + ": ApplicationMaster started anew, " + next)
	j.attempt = next
	j.pending = [2]int32{}
	for _, n := range c.nodes {
		if op := n.active; op != nil && op.job == j && op.stage < parking {
			op.park("the ApplicationMaster was lost")
		}
	}
	for _, x := range inOrderOfID(j.live) {
		x.goneAt = c.now
		j.over[x.id] = true
		delete(j.live, x.id)
		delete(j.unbound, x.id)
		switch {
		case x.task != state.None:
			j.retry(x.task, false)
		case x.held != state.None:
			c.state.Cancel(x.held)
			x.held = state.None
			if x.by != nil {
				x.by.settle(nil)
			}
		default:
			x.release()
		}
	}
	for k := range j.asked { // until the next one asks, others get what comes free
		for {
			if _, waited := c.state.Unask(j.id, state.Kind(k)); !waited {
				break
			}
		}
		j.asked[k] = 0
	}
	j.reruns = 0
	j.polls.in(200 * time.Millisecond)
	j.asks.in(200 * time.Millisecond)
}
