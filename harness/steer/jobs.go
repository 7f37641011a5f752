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

// job is a steered job.
type job struct {
	core    *Core
	app     yarnclient.App
	sub     *Submission
	files   *JobFiles
	order   []state.TaskID // order[i] is the map as submitted whose split map i reads now; nil: unchanged
	id      state.JobID
	size    [2]state.Resource
	attempt string // application attempt; empty until it runs
	ended   bool

	shortest [2]time.Duration // shortest run of a container, by kind; 0: none has ended
	demand

	live         map[string]*container
	endedIDs     map[string]bool       // ids of containers that have ended; a late listing may still show them
	unbound      map[string]*container // containers of live whose task is not known, by id
	tasks        []taskRecord          // by state.TaskID
	opened       int                   // openings that are past the queue and not parked
	master       masterStart           // how far the start of its master is, if masters are held
	masterSeenAt time.Time             // time when its master was last asked for, or seen to have a container
	awaited      []*opening            // awaited openings, in the order of their decisions
	closing      []*opening            // parked openings that wait for one more listing
	polls        *alarm
	asks         *alarm
	polling      bool
	listedAt     time.Time    // time when the last listing of containers was asked for
	doubtUntil   time.Time    // until then a container that is not listed may still run
	missing      []*container // containers not listed before doubtUntil

	reconciling  bool
	reconciledAt time.Time // end of the last reconciliation
	tasksAskedAt time.Time // time when the last listing of all tasks was asked for
}

// demand is what a job's master asks YARN for, by kind.
type demand struct {
	asked     [2]int32 // tasks that it has asked for so far
	pending   [2]int32 // containers that it waits for, as last listed
	coming    [2]int32 // decisions without a container
	reruns    int32    // waiting maps that ran before and failed
	excess    bool     // it asked for more containers than it has waiting tasks known to us
	withdrawn int32    // reduces that wait in the State, but are not in the last listing of requests
}

// wants says whether the master waits for more containers of the kind than
// decisions are to bring.
func (d *demand) wants(k state.Kind) bool { return d.coming[k] < d.pending[k] }

// taskRecord is what is known of a task beyond the State.
type taskRecord struct {
	on      *container // container it runs in; nil: none, or not known
	done    bool
	changed time.Time
}

// container is a running or ended container of a job, without the master's.
type container struct {
	id          string
	job         *job
	node        *node
	kind        state.Kind
	seen        time.Time           // time of its first listing
	reservation state.ReservationID // its reservation in the State; None: no decision
	task        state.TaskID        // None: unbound
	attempt     traces.Attempt
	by          *decision // decision that it carries out; nil: none
	goneAt      time.Time // time of the first listing without it; zero: listed
	surplus     bool      // is to be killed
	takesRoom   bool      // see takeRoom
}

func (x *container) gone() bool { return !x.goneAt.IsZero() }

func inOrderOfID(list map[string]*container) []*container {
	return slices.SortedFunc(maps.Values(list), func(a, b *container) int { return cmp.Compare(a.id, b.id) })
}

func (j *job) serial() string { return strings.TrimPrefix(j.app.ID, "application_") }

func (j *job) jobID() traces.JobID { return traces.JobID("job_" + j.serial()) }

// kindOf tells the kind of task by the priority of the container request. ok is
// false for other containers.
func kindOf(priority int) (state.Kind, bool) {
	switch priority {
	case yarnclient.PriorityMap, yarnclient.PriorityFailedMap, 19: // 19 is the priority of opportunistic maps
		return state.Map, true
	case yarnclient.PriorityReduce:
		return state.Reduce, true
	}
	return 0, false
}

// submit adds a job whose files were read.
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
		live: map[string]*container{}, endedIDs: map[string]bool{}, unbound: map[string]*container{},
		tasks: make([]taskRecord, files.Spec.Maps+files.Spec.Reduces),
	}
	j.polls, j.asks = c.newAlarm(j.poll), c.newAlarm(j.askPending)
	c.jobs = append(c.jobs, j)
	c.apps[app.ID] = j
	c.observe(sched.Event{What: sched.JobSubmitted, Job: id})
	j.train()
	if c.holdsMasters() {
		j.resplit()
	} else {
		j.refresh()
	}
	c.sawApp(app)
}

// train lets a model that learns train while the job's master starts. Nodes would
// wait if it trained with its first decision. Nothing else is decided meanwhile;
// models bound their training themselves.
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
	if err != nil { // the model trains with its first decision instead
		c.log(Warn, "the model could not be trained before the job's first decision", "job", j.jobID(), "error", err)
	}
}

// end drops the job, its openings and its containers.
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
		// Give these back before EndJob: the State then forgets the job's
		// reservations.
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

// settleUnbound settles the decisions of unbound containers. The job's history
// file tells later what they ran.
func (j *job) settleUnbound() {
	for _, x := range inOrderOfID(j.unbound) {
		if x.by != nil {
			x.by.settle(nil)
		}
	}
}

// went notes that a container is no longer listed. Its attempt counts as succeeded
// until the master says otherwise.
func (x *container) went() {
	j := x.job
	delete(j.live, x.id)
	j.endedIDs[x.id] = true
	x.goneAt = j.core.now
	switch {
	case x.task != state.None:
		x.ended()
	case x.reservation == state.None:
		x.freeRoom()
		j.reconcile() // it may have run a task
	default: // lookUp still asks what it ran
		return
	}
	x.node.offer()
}

// ended notes that the container of a known task has ended.
func (x *container) ended() {
	j := x.job
	c, record := j.core, &j.tasks[x.task]
	if record.on != x { // the task runs in another container by now
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
		c.log(Debug, "a task that failed could not be noted as waiting", "error", err)
		return
	}
	if k, _ := c.view.Index(j.id, t); rerun && k == state.Map {
		j.reruns++
	}
	c.offerAll()
}

// kill kills the attempt in a surplus container; its task waits again. It waits
// until the node is parked, else YARN would grant another container there.
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
			c.note("attempt " + kill.Attempt + ", which no decision asked for, was not killed: " + err.Error())
			x.surplus = false
			return
		}
		c.note("attempt " + kill.Attempt + ", which no decision asked for, in " + x.id + " on " + x.node.name + ", was killed")
	})
}

// masterLost follows a job to its next application attempt. The containers of the
// last were killed; tasks that were done may be kept.
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
		j.endedIDs[x.id] = true
		delete(j.live, x.id)
		delete(j.unbound, x.id)
		switch {
		case x.task != state.None:
			j.retry(x.task, false)
		case x.reservation != state.None:
			c.state.Cancel(x.reservation)
			x.reservation = state.None
			if x.by != nil {
				x.by.settle(nil)
			}
		default:
			x.freeRoom()
		}
	}
	for k := range j.asked { // until the next master asks, other jobs get the free room
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
