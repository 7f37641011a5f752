package steer

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// decision is one decision of the scheduler model, and its outcome once that is known.
type decision struct {
	id          int64
	meant       sched.Decision
	job         *job
	reservation state.ReservationID
	predicted   state.TaskID
	askedAt     traces.Time
	grantedAt   traces.Time
	container   *container // container that YARN granted for the decision; nil: none yet
	surplus     string     // id of a container that YARN granted on the node in addition to the one that the decision asked for
	remark      string     // remark for the trace, recorded if the decision's outcome is "honoured"
	settled     bool
	opening     *opening
	group       *group          // group that the decision belongs to; nil: none
	held        bool            // the outcome is known, and is recorded when the group is decided
	attempt     *traces.Attempt // with held: the attempt that ran in the container; nil: not known
}

// offer asks the model what to start on the node, if the node has room and any
// ApplicationMaster waits for containers.
func (n *node) offer() {
	if n.core.waiting() {
		n.opportunity()
	}
}

// opportunity asks the model what to start on the node, if the node has room. It
// returns whether it asked.
func (n *node) opportunity() bool {
	c := n.core
	if !c.acts || c.trouble != "" || n.skipped || !n.up || !c.view.HasRoom(n.id) {
		return false
	}
	c.state.SetNow(int64(c.at()))
	free := c.view.Free(n.id)
	e := &traces.Heartbeat{T: c.at(), Node: traces.Node(n.name), FreeMemoryBytes: int64(free.MemoryMB) << 20}
	if c.Setup.CountCores {
		e.FreeVCores = free.VCores
	}
	c.record(e)
	n.report()
	c.offers.Group = c.decideGroup
	c.offers.Heartbeat(c.Model, c.view, n.id, c.decide)
	return true
}

func (c *Core) offerAll() {
	for _, n := range c.nodes {
		n.offer()
	}
}

// waiting says whether any job's ApplicationMaster waits for more containers than the
// model's decisions so far will bring.
func (c *Core) waiting() bool {
	for k := range 2 {
		for _, id := range c.view.WaitingJobs(state.Kind(k)) {
			if c.jobs[id].wants(state.Kind(k)) {
				return true
			}
		}
	}
	return false
}

// decide starts to carry out a decision of the model. It returns false if the decision
// cannot be carried out.
func (c *Core) decide(x sched.Decision) bool { return c.possible(x) && c.carryOut(x, nil) }

// possible says whether a decision is about a job that asks for such a container, and
// about a node that takes decisions.
func (c *Core) possible(x sched.Decision) bool {
	if int(x.Job) >= len(c.jobs) || x.Job < 0 || int(x.Node) >= len(c.nodes) || x.Node < 0 {
		c.log(Warn, "the model decided for an unknown job or node", "model", c.Model.Name(), "job", x.Job, "node", x.Node)
		return false
	}
	j, n := c.jobs[x.Job], c.nodes[x.Node]
	return !j.ended && j.wants(x.Kind) && !n.skipped && (x.Kind != state.Map || !j.runsUnknownMaps(n))
}

// carryOut starts to carry out a decision, of a group or of none. It returns false if
// the node has no room for the container.
func (c *Core) carryOut(x sched.Decision, g *group) bool {
	j, n := c.jobs[x.Job], c.nodes[x.Node]
	e := &traces.Decision{
		T: c.at(), Job: j.jobID(), What: x.Kind, Node: traces.Node(n.name), TaskIndex: -1, BindIndex: -1,
		Reason: x.Reason.String(), Values: sched.Explain(c.Model),
	}
	if x.Task != state.None {
		_, e.TaskIndex = c.view.Index(j.id, x.Task)
	}
	expected := c.view.NextReduce(j.id)
	if x.Kind == state.Map {
		var branch state.Branch
		expected, branch = c.view.WouldBind(j.id, n.id)
		e.BindBranch = branch.String()
	}
	if c.sight != nil {
		c.sight.Look(c.view, x, expected)
		e.Seen = c.sight.Seen(j.ageMs())
	}
	// Reserve room for a task of this kind without naming the task: the
	// ApplicationMaster chooses one when it gets the container.
	reservation, err := c.state.Reserve(j.id, x.Kind, state.None, n.id)
	if err != nil {
		c.log(Debug, "the model decided what cannot be reserved", "model", c.Model.Name(), "error", err)
		return false
	}
	c.lastID++
	e.ID = c.lastID
	_, _, t, _, _ := c.state.Reservation(reservation)
	if x.Kind == state.Map {
		e.BindIndex = int32(t)
	}
	d := &decision{id: e.ID, meant: x, job: j, reservation: reservation, predicted: t, group: g}
	if g != nil {
		e.Group = g.id
		g.members = append(g.members, d)
	}
	c.record(e)
	c.stats.Decisions++
	c.stats.Open++
	j.coming[x.Kind]++
	n.enqueue(j, x.Kind, d)
	return true
}

// ageMs returns how old the last list of the job's containers is, in ms; 0 if there was none.
func (j *job) ageMs() int64 {
	if j.listedAt.IsZero() {
		return 0
	}
	return max(0, j.core.now.Sub(j.listedAt).Milliseconds())
}

// runsUnknownMaps says whether another node than n runs a map container of this job
// that no decision asked for, and whose task is not known. Until that task is known,
// nobody can predict which map the ApplicationMaster chooses next.
func (j *job) runsUnknownMaps(n *node) bool {
	for _, x := range j.unbound {
		if x.by == nil && !x.gone() && x.kind == state.Map && x.node != n {
			return true
		}
	}
	return false
}

// settle records the outcome of a decision that got a container. The argument
// attempt is the task attempt that ran in the container; nil if unknown.
func (d *decision) settle(attempt *traces.Attempt) {
	if d.settled || d.holds(attempt) {
		return
	}
	e, what := &traces.Actuation{Outcome: "honoured", Container: d.container.id, Cause: d.remark}, sched.Confirmed
	if attempt != nil {
		e.Bound = *attempt
	}
	switch {
	case d.group != nil && d.group.failed != "":
		e.Outcome, e.Cause, what = "cancelled", d.group.failed, sched.Cancelled
	case d.surplus != "":
		e.Outcome, e.Cause = "surplus", "more than one container came: also "+d.surplus
	default:
		d.job.core.stats.Honoured++
	}
	d.end(e, what, d.container.task, d.container.node)
}

// unused records that a decision got its container and no task ran in it.
func (d *decision) unused() {
	if d.settled {
		return
	}
	cause := "no task ran in the container"
	if d.container.gone() {
		cause = "the container was gone before a task ran in it"
	}
	d.end(&traces.Actuation{Outcome: "unused", Container: d.container.id, Cause: cause}, sched.Cancelled, d.predicted, d.container.node)
	if d.group != nil {
		d.group.fail(cause)
	}
}

// giveBack records that a decision got no container. The task that the decision was
// meant for counts as waiting again.
func (d *decision) giveBack(k state.Kind, n *node, outcome, cause string) {
	if d.settled {
		return
	}
	d.job.core.state.Cancel(d.reservation)
	d.job.coming[k]--
	d.end(&traces.Actuation{Outcome: outcome, Cause: cause}, sched.Cancelled, d.predicted, n)
	if d.group != nil {
		d.group.fail("another decision of the group came to nothing: " + cause)
	}
}

// The method end records the outcome, and tells the model what became of the decision's task t.
func (d *decision) end(e *traces.Actuation, what sched.EventKind, t state.TaskID, n *node) {
	c := d.job.core
	d.settled = true
	e.T, e.Decision, e.AskedAt, e.GrantedAt = c.at(), d.id, d.askedAt, d.grantedAt
	c.record(e)
	c.stats.Open--
	c.observe(sched.Event{What: what, Job: d.job.id, Task: t, Node: n.id, Decision: d.meant})
}

// bound says whether steering knows which task runs in the decision's container, or has
// recorded the decision's outcome already.
func (d *decision) bound() bool {
	return d.settled || d.container != nil && d.container.task != state.None
}
