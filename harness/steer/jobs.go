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

// job is a MapReduce job whose tasks steering places.
type job struct {
	core  *Core
	app   yarnclient.App
	sub   *Submission
	files *JobFiles
	// if the splits were reordered, order[i] is the original index of the split that map i reads now; nil: they were not reordered
	order   []state.TaskID
	id      state.JobID
	size    [2]state.Resource
	attempt string // id of the current application attempt; empty until the job runs
	ready   bool   // whether the model was trained for the job, if it learns
	ended   bool

	vain        int      // nodes in a row that got no container of the job in time; see inVain
	reservedMB  [2]int64 // memory reserved for the job under its labels for maps and reduces, as last told
	goneMB      int64    // memory that the ResourceManager last counted under the job's label, and no container uses
	usedAskedAt time.Time
	strange     bool             // whether it was told that the job asks for containers under other labels
	shortest    [2]time.Duration // shortest time that a container ran, by kind of task; 0: no container has ended
	demand

	live         map[string]*container
	endedIDs     map[string]bool       // ids of the job's ended containers; a late answer of YARN may still list them
	unbound      map[string]*container // running containers whose task is not known, by container id
	tasks        []taskRecord          // what steering knows of each task; the index is the task's state.TaskID
	opened       int                   // number of nodes that have this job's node label, or are about to get or lose it
	master       masterStart           // state of the ApplicationMaster's start, if the start must wait until splits are rewritten
	masterSeenAt time.Time             // time when steering last saw the ApplicationMaster's container, or last asked YARN about it
	// groups of decisions (each for one node) whose containers are not granted or whose tasks are not known, oldest first
	awaited awaited
	// groups of decisions whose node has lost the job's node label; each ends after YARN has listed the job's containers once more
	closing  []*opening
	polls    *alarm
	asks     *alarm
	polling  bool
	listedAt time.Time    // time when the call for the last list of the job's containers began
	missing  []*container // containers that YARN does not list, but that may run all the same; see mayRun
	outputs  int32        // number of finished maps whose output is known, or was asked for in vain; see mapDone
	unclear  bool         // whether the attempts of a task were asked for since the last list of all tasks, and not told
	asking   int          // number of calls under way that ask for the attempts of one task

	reconciling  bool
	reconciledAt time.Time // time when the job's tasks were last compared with the ApplicationMaster's list
	tasksAskedAt time.Time // time when the ApplicationMaster was last asked for all tasks of the job
}

// demand is the number of containers that a job's ApplicationMaster asks YARN for,
// by kind of task (map or reduce).
type demand struct {
	asked   [2]int32 // number of tasks that the ApplicationMaster has asked containers for so far
	pending [2]int32 // number of containers that the ApplicationMaster waits for, as YARN last reported
	coming  [2]int32 // number of decisions for which YARN has granted no container yet
	// whether the ApplicationMaster last asked for more or fewer containers than its job had waiting tasks, as far as steering knew
	excess bool
	// tookBack is the time since which the ApplicationMaster asks for no container of the
	// kind though decisions wait for one; zero: it asks, or none waits.
	tookBack  [2]time.Time
	heldSince time.Time // time when reduces were first held back, see awaitsOutput; zero: never
	withdrawn int32     // number of reduces that steering counts as waiting, but that YARN no longer lists as requested
}

// wants says whether the ApplicationMaster waits for more containers of the kind (map
// or reduce) than the decisions made so far will bring.
func (d *demand) wants(k state.Kind) bool { return d.coming[k] < d.pending[k] }

// taskRecord is what steering notes of a task: its container, whether it is done,
// and when that changed.
type taskRecord struct {
	on       *container // container that the task runs in; nil: the task does not run, or its container is not known
	done     bool
	unlisted bool // whether the task is done, in a container that YARN had not listed
	changed  time.Time
	output   int64 // bytes that the map has left for the reduces on node outputOn; 0: not known
	outputOn *node
}

// container is a running or ended container of a job, other than its
// ApplicationMaster's.
type container struct {
	id       string
	job      *job
	node     *node
	kind     state.Kind
	seen     time.Time // time when YARN first listed this container
	listedAt time.Time // time when the call for the last list with this container began
	// number, in the scheduling state, of the memory and cores that a decision took on a node for this container; None: no decision
	reservation state.ReservationID
	task        state.TaskID // task that runs in the container; None: not known yet
	attempt     traces.Attempt
	by          *decision // model's decision that asked for this container; nil: none
	goneAt      time.Time // time when YARN's list of containers first lacked this container; zero: YARN lists it
	surplus     bool      // whether the container is to be killed, because no decision asked for it
	takesRoom   bool      // whether takeRoom counted the container as used room of its node
}

func (x *container) gone() bool { return !x.goneAt.IsZero() }

func inOrderOfID(list map[string]*container) []*container {
	return slices.SortedFunc(maps.Values(list), func(a, b *container) int { return cmp.Compare(a.id, b.id) })
}

func (j *job) serial() string { return strings.TrimPrefix(j.app.ID, "application_") }

func (j *job) jobID() traces.JobID { return traces.JobID("job_" + j.serial()) }

func (j *job) note(text string) { j.core.note(string(j.jobID()) + ": " + text) }

// kindOf tells from the priority of a container request whether the container is for a
// map or a reduce. The second result is false if it is for neither.
func kindOf(priority int) (state.Kind, bool) {
	switch priority {
	case yarnclient.PriorityMap, yarnclient.PriorityFailedMap, 19: // 19 is the YARN priority of requests for opportunistic map containers
		return state.Map, true
	case yarnclient.PriorityReduce:
		return state.Reduce, true
	}
	return 0, false
}

// maxReduces is the greatest number of reduces of a steered job. It limits the memory
// that a job's settings can ask for.
const maxReduces = 1 << 20

// submit starts to steer a job whose staging directory was read.
func (c *Core) submit(app yarnclient.App, sub *Submission, files *JobFiles) {
	if maps, reduces := files.Spec.Maps, files.Spec.Reduces; int(maps) != len(files.Splits) || reduces < 0 || reduces > maxReduces {
		c.log(Warn, "a job is not steered", "application", app.ID, "error",
			fmt.Sprintf("it has %d maps of %d splits and %d reduces: want a map for each split, and 0 to "+
				"%d reduces", maps, len(files.Splits), reduces, maxReduces))
		return
	}
	files.locate(c.view)
	files.Spec.Priority, files.Spec.Pool = int32(app.Priority), sub.Pool
	files.Spec.SetTerms(&sub.Terms)
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
	c.awaitTick()
	if c.warmup != nil && files.Spec.Maps > 0 {
		c.unready = append(c.unready, j)
		c.study()
	} else {
		j.begin()
	}
	c.sawApp(app)
}

// begin lets a job for which the model is ready ask for containers.
func (j *job) begin() {
	if j.ready = true; j.ended {
		return
	}
	if j.core.holdsMasters() {
		j.resplit()
	} else {
		j.refresh()
	}
}

// study lets a model that learns train for one job after another, while their
// ApplicationMasters start and other jobs run. So a training can use what the one before it
// taught, and the cluster's other cores stay free.
func (c *Core) study() {
	for len(c.unready) > 0 && !c.studying {
		j := c.unready[0]
		if c.unready = c.unready[1:]; j.ended {
			continue
		}
		study, err := c.warmup.Study(c.view, j.id)
		if err != nil { // the error does not end steering: the model will train when it first decides for this job
			c.log(Warn, "the model could not be trained before the job's first decision", "job", j.jobID(), "error", err)
			j.begin()
			continue
		}
		c.studying = true
		train := &Train{Job: j.jobID(), study: study}
		c.change(train, &train.Number, func(error) {
			if c.studying = false; train.keep == nil { // in a replay of a recording, nobody has carried the action out
				train.Run(nil)
			}
			train.keep()
			if t := c.warmup.Training(j.id); t != nil && !j.ended {
				j.note(fmt.Sprintf("trained for %d episodes", len(t.Episodes)))
				c.out = append(c.out, &Trained{j.jobID(), t})
			}
			if j.begin(); !j.ended {
				j.asks.in(0)
			}
			c.study()
		})
	}
}

// The method end stops steering the job: it cancels the job's decisions that have no
// outcome yet, and forgets the job's containers.
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
		// Decisions without a container are cancelled before EndJob is called,
		// because EndJob drops the job's reservations of room.
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

// settleUnbound records the outcome of decisions whose containers run a task that
// steering does not know. The job's history file will tell which task it was.
func (j *job) settleUnbound() {
	for _, x := range inOrderOfID(j.unbound) {
		if x.by != nil {
			x.by.settle(nil)
		}
	}
}

// went notes that YARN no longer lists a container. The container's task attempt counts
// as succeeded until the ApplicationMaster says otherwise.
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
		j.reconcile() // the ApplicationMaster's list of tasks may tell which task the ended container ran
	default: // nothing is noted yet: lookUp asks which task the container ran, if it ran any
		j.reconcile()
		x.lookUp(0)
		return
	}
	x.node.offer()
}

// The method ended notes that a container whose task is known has ended.
func (x *container) ended() {
	j := x.job
	c, record := j.core, &j.tasks[x.task]
	if record.on != x { // nothing to note: the task already runs in another container
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
	if x.kind == state.Map {
		j.mapDone(x.task, x.node)
	}
	c.observe(sched.Event{What: sched.TaskEnded, Job: j.id, Task: x.task, Node: x.node.id})
}

func (j *job) retry(t state.TaskID, rerun bool) {
	c := j.core
	j.loseOutput(t)
	j.tasks[t] = taskRecord{changed: c.now}
	if err := c.state.Retry(j.id, t, rerun); err != nil {
		c.log(Debug, "a task that failed could not be noted as waiting", "error", err)
		return
	}
	c.offerAll()
}

// kill kills the task attempt in a container that no decision asked for; the task then
// waits again. The kill is delayed until the node has lost the job's node label, since
// YARN would otherwise grant another container there.
func (x *container) kill() {
	j := x.job
	c := j.core
	if x.gone() || j.ended {
		return
	}
	if op := x.node.active; op != nil && op.job == j && op.kind == x.kind || x.node.label == j.sub.label(x.kind) {
		c.after(50*time.Millisecond, x.kill)
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

// masterLost notes that the job's ApplicationMaster was lost and a new application
// attempt runs. YARN has killed the containers of the lost attempt. The new attempt may
// keep finished tasks.
func (j *job) masterLost(next string) {
	c := j.core
	j.note("ApplicationMaster started anew, " + next)
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
	// no task counts as asked for until the next ApplicationMaster asks for containers; until then other jobs get the free room
	for k := range j.asked {
		for {
			if _, waited := c.state.Unask(j.id, state.Kind(k)); !waited {
				break
			}
		}
		j.asked[k] = 0
	}
	j.polls.in(200 * time.Millisecond)
	j.asks.in(200 * time.Millisecond)
}
