package steer

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// decision is one of the model's, until it is known what came of it.
type decision struct {
	id        int64
	meant     sched.Decision
	job       *job
	held      state.ReservationID
	predicted state.TaskID
	branch    state.Branch
	askedAt   traces.Time
	grantedAt traces.Time
	container *container // nil: none yet
	surplus   string     // containers that came besides
	remark    string     // on how it was carried out
	settled   bool
}

// offer is an opportunity: the model says what to start on a node with room.
func (d *Driver) offer(n *node) {
	if !d.acts || d.trouble != "" || n.refused || !n.up || !d.view.HasRoom(n.id) || !d.waiting() {
		return
	}
	d.state.SetNow(int64(d.now()))
	d.recordHeartbeat(n)
	d.observe(sched.Event{What: sched.NodeReported, Node: n.id})
	d.offers.Heartbeat(d.model, d.view, n.id, d.decide)
}

func (d *Driver) offerAll() {
	for _, n := range d.nodes {
		d.offer(n)
	}
}

// waiting says whether a job waits for anything that its master has asked for.
func (d *Driver) waiting() bool {
	for k := range 2 {
		for _, id := range d.view.WaitingJobs(state.Kind(k)) {
			if d.jobs[id].wants(state.Kind(k)) {
				return true
			}
		}
	}
	return false
}

// wants says whether YARN would give the job one more container of the kind.
func (j *job) wants(k state.Kind) bool { return j.coming[k] < j.pending[k] }

// decide takes a decision of the model, unless it cannot be carried out.
func (d *Driver) decide(x sched.Decision) bool {
	if int(x.Job) >= len(d.jobs) || x.Job < 0 || int(x.Node) >= len(d.nodes) || x.Node < 0 {
		d.log.Warn("a decision on what is not there", "model", d.model.Name(), "job", x.Job, "node", x.Node)
		return false
	}
	j, n := d.jobs[x.Job], d.nodes[x.Node]
	if j.ended || !j.wants(x.Kind) || n.refused || x.Kind == state.Map && j.strays(n) {
		return false
	}
	e := &traces.Decision{
		T: d.now(), Job: j.jobID(), What: x.Kind, Node: traces.Node(n.name), TaskIndex: -1, BindIndex: -1,
		Group: int64(x.Group), Reason: x.Reason.String(),
	}
	if x.Task != state.None {
		_, e.TaskIndex = d.view.Index(j.id, x.Task)
	}
	branch := state.BindNone
	if x.Kind == state.Map {
		_, branch = d.view.WouldBind(j.id, n.id)
		e.BindBranch = branch.String()
	}
	// The master binds late: what will run is what it takes, whatever was meant.
	held, err := d.state.Reserve(j.id, x.Kind, state.None, n.id)
	if err != nil {
		d.log.Debug("a decision that cannot be", "model", d.model.Name(), "error", err)
		return false
	}
	d.lastID++
	e.ID = d.lastID
	_, _, t, _, _ := d.state.Reservation(held)
	if x.Kind == state.Map {
		e.BindIndex = int32(t)
	}
	d.record(e)
	d.stats.decisions.Add(1)
	d.stats.open.Add(1)
	j.coming[x.Kind]++
	d.enqueue(n, j, x.Kind, &decision{id: e.ID, meant: x, job: j, held: held, predicted: t, branch: branch})
	return true
}

// strays says whether maps of the job run on other nodes than n that nobody
// decided and the master has not told of: until it does, what it would bind to
// the next container cannot be known.
func (j *job) strays(n *node) bool {
	for _, c := range j.unbound {
		if c.by == nil && !c.gone() && c.kind == state.Map && c.node != n {
			return true
		}
	}
	return false
}

// settle tells what came of a decision that got a container, once it is known
// which attempt ran there; nil: it is not.
func (d *Driver) settle(dec *decision, attempt *traces.Attempt) {
	if dec.settled {
		return
	}
	e := &traces.Actuation{Outcome: "honoured", Container: dec.container.id, Cause: dec.remark}
	if attempt != nil {
		e.Bound = *attempt
	}
	if dec.surplus != "" {
		e.Outcome, e.Cause = "surplus", "more than one container came: also "+dec.surplus
	} else {
		d.stats.honoured.Add(1)
	}
	d.end(dec, e)
	d.observe(sched.Event{What: sched.Confirmed, Job: dec.job.id, Task: dec.container.task, Node: dec.container.node.id, Decision: dec.meant})
}

// giveBack tells that nothing came of a decision; what it was for waits again.
func (d *Driver) giveBack(dec *decision, k state.Kind, n *node, outcome, cause string) {
	if dec.settled {
		return
	}
	d.state.Cancel(dec.held)
	dec.job.coming[k]--
	d.end(dec, &traces.Actuation{Outcome: outcome, Cause: cause})
	d.observe(sched.Event{What: sched.Cancelled, Job: dec.job.id, Task: dec.predicted, Node: n.id, Decision: dec.meant})
}

func (d *Driver) end(dec *decision, e *traces.Actuation) {
	dec.settled = true
	e.T, e.Decision, e.AskedAt, e.GrantedAt = d.now(), dec.id, dec.askedAt, dec.grantedAt
	d.record(e)
	d.stats.open.Add(-1)
}

func (d *Driver) observe(e sched.Event) {
	if d.observer != nil {
		d.state.SetNow(int64(d.now()))
		d.observer.Observe(d.view, e)
	}
}

func (d *Driver) recordHeartbeat(n *node) {
	free := d.view.Free(n.id)
	e := &traces.Heartbeat{T: d.now(), Node: traces.Node(n.name), FreeMemoryBytes: int64(free.MemoryMB) << 20}
	if d.set.countCores {
		e.FreeVCores = free.VCores
	}
	d.record(e)
}
