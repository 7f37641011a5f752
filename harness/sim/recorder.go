package sim

import (
	"cmp"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// recorder writes the trace of a run, if Config.Record is set, and reports the ends of
// attempts, if Config.Ended is. It is told what happens, and changes nothing.
type recorder struct {
	to     func(traces.Event) // Config.Record; nil: no trace is written
	ended  func(AttemptEnd)   // Config.Ended; may be nil
	config *Config
	events *kernel.Events
	view   *state.View
	jobs   *jobs
	sight  *sched.Sight // nil: what the model sees is not recorded
	group  int64        // number of the group whose decisions are carried out: that of its first decision; 0: none
}

func (r *recorder) begin(c *Config, e *kernel.Events, s *state.State, b *jobs) {
	*r = recorder{to: c.Record, ended: c.Ended, config: c, events: e, view: s.View(), jobs: b}
	if c.Reasons && c.Record != nil {
		s.FollowRoom()
		r.sight = sched.NewSight(c.Model, func(id state.JobID) traces.JobID { return b.of(id).name })
	}
}

func (r *recorder) at() traces.Time { return traces.Time(r.events.Now * 1e6) }

func (r *recorder) nodeName(n state.NodeID) traces.Node { return traces.Node(r.view.NodeName(n)) }

func (r *recorder) taskName(j *job, t state.TaskID) traces.Task {
	k, i := r.view.Index(j.id, t)
	return traces.Task{Job: j.name, Kind: k, Index: i}
}

func (r *recorder) nodeNames(list []state.NodeID) []traces.Node {
	names := make([]traces.Node, len(list))
	for i, n := range list {
		names[i] = r.nodeName(n)
	}
	return names
}

// look notes what the model saw when it decided d, if that is recorded. The decision is
// not carried out yet, and is expected to start task t.
func (r *recorder) look(d sched.Decision, t state.TaskID) {
	if r.sight != nil {
		r.sight.Look(r.view, d, t)
	}
}

// seen returns what look noted last.
func (r *recorder) seen() *traces.Seen {
	if r.sight == nil {
		return nil
	}
	return r.sight.Seen(0)
}

func (r *recorder) submitted(x *Job, j *job) {
	if r.to == nil {
		return
	}
	r.to(&traces.JobSubmitted{
		T: r.at(), Job: j.name, Name: x.Name, User: x.User, Queue: x.Queue, Priority: x.Priority, Maps: x.Maps, Reduces: x.Reduces,
		Workload: x.Workload, Costs: x.Costs, MapMemoryBytes: int64(x.MapSize.MemoryMB) << 20, MapVCores: x.MapSize.VCores,
		ReduceMemoryBytes: int64(x.ReduceSize.MemoryMB) << 20, ReduceVCores: x.ReduceSize.VCores,
		SlowStart: float64(x.SlowStart), Speculation: r.config.Speculation != NoSpeculation, Pool: x.Pool, Terms: x.Terms(),
	})
	for t := range x.Maps {
		r.to(&traces.TaskScheduled{
			T: r.at(), Task: r.taskName(j, state.TaskID(t)), SplitHosts: r.nodeNames(r.view.SplitHosts(j.id, state.TaskID(t))),
			LengthBytes: work(x.MapWork, t, x.Maps).InputBytes,
		})
	}
	for t := range x.Reduces {
		r.to(&traces.TaskScheduled{T: r.at(), Task: r.taskName(j, state.TaskID(x.Maps+t))})
	}
}

func (r *recorder) started(j *job) {
	if r.to == nil {
		return
	}
	e := &traces.JobStarted{T: r.at(), Job: j.name, AMAttempt: 1, AMMemoryBytes: int64(j.amSize.MemoryMB) << 20}
	if j.amNode != state.None {
		e.AMNode = r.nodeName(j.amNode)
	}
	r.to(e)
}

func (r *recorder) jobEnded(j *job, x *JobResult) {
	if r.to == nil {
		return
	}
	e := &traces.JobFinished{
		T: r.at(), Job: j.name, Outcome: traces.Succeeded, Counters: traces.NoCounters,
		DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1,
	}
	if x.Failed {
		e.Outcome, e.Diagnostics = traces.Failed, x.Refused
	}
	r.to(e)
}

func (r *recorder) beat(n state.NodeID) {
	if r.to == nil {
		return
	}
	free := r.view.Free(n)
	r.to(&traces.Heartbeat{T: r.at(), Node: r.nodeName(n), FreeMemoryBytes: int64(free.MemoryMB) << 20, FreeVCores: free.VCores})
}

func (r *recorder) decided(j *job, g *grant) {
	if r.to == nil {
		return
	}
	d := &g.decision
	e := &traces.Decision{
		T: r.at(), ID: g.id, Job: j.name, What: d.Kind, Node: r.nodeName(d.Node), TaskIndex: -1, BindIndex: -1,
		Reason: d.Reason.String(), Group: r.group, Values: sched.Explain(r.config.Model), Seen: r.seen(),
	}
	if d.Task != state.None {
		_, e.TaskIndex = r.view.Index(j.id, d.Task)
	}
	if d.Kind == state.Map && g.expected != state.None {
		e.BindIndex, e.BindBranch = int32(g.expected), g.branch.String()
	}
	r.to(e)
}

func (r *recorder) bound(j *job, g *grant, t state.TaskID) {
	if r.to == nil {
		return
	}
	e := &traces.Actuation{T: r.at(), Decision: g.id, AskedAt: traces.Time(g.askedMs * 1e6), GrantedAt: r.at(), Outcome: "none"}
	if t != state.None {
		e.Outcome = "honoured"
		e.Bound = traces.Attempt{Task: r.taskName(j, t), Number: j.try(t)}
	} else if g.group != 0 {
		e.Outcome, e.Cause = "cancelled", groupIncomplete
	}
	r.to(e)
}

func (r *recorder) decidedAtOnce(id int64, j *job, d sched.Decision, t state.TaskID) {
	if r.to == nil {
		return
	}
	_, i := r.view.Index(j.id, t)
	r.to(&traces.Decision{
		T: r.at(), ID: id, Job: j.name, What: d.Kind, Node: r.nodeName(d.Node), TaskIndex: i, BindIndex: -1,
		Reason: d.Reason.String(), Group: r.group, Values: sched.Explain(r.config.Model), Seen: r.seen(),
	})
	r.to(&traces.Actuation{
		T: r.at(), Decision: id, AskedAt: r.at(), GrantedAt: r.at(), Outcome: "honoured",
		Bound: traces.Attempt{Task: r.taskName(j, t), Number: j.try(t)},
	})
}

func (r *recorder) attemptName(a *attempt) traces.Attempt {
	return traces.Attempt{Task: r.taskName(&r.jobs.list[a.job], a.task), Number: int32(a.number)}
}

func (r *recorder) attemptStarted(a *attempt) {
	a.marks |= traced
	r.to(&traces.AttemptStarted{
		T: r.at(), Attempt: r.attemptName(a), Node: r.nodeName(a.node), Rack: r.view.RackName(r.view.Rack(a.node)),
		SplitLocality: a.split, ReplicaLocality: a.level, Speculative: a.is(speculative),
	})
}

// attemptEnded records and reports the end of an attempt.
func (r *recorder) attemptEnded(a *attempt, x *rest, how traces.Outcome, why string, launched bool) {
	if r.to != nil {
		r.attemptFinished(a, x, how, why, launched)
	}
	if r.ended != nil {
		r.report(a, x, how, why, launched)
	}
}

func (r *recorder) attemptFinished(a *attempt, x *rest, how traces.Outcome, why string, launched bool) {
	if !launched {
		r.to(&traces.AttemptFinished{
			T: r.at(), Attempt: r.attemptName(a), Outcome: how, Unlaunched: true, Counters: traces.NoCounters,
			Node: r.nodeName(a.node), SplitLocality: a.split, Error: why,
		})
		return
	}
	if !a.is(traced) {
		r.attemptStarted(a)
	}
	j := &r.jobs.list[a.job]
	w := j.workOf(a.kind, a.task)
	c := traces.NoCounters
	if how == traces.Succeeded {
		switch {
		case a.kind == state.Reduce:
			c.ShuffleBytes = x.bytes
			c.HDFSWrittenBytes = w.OutputBytes
		case j.total[state.Reduce] == 0:
			c.HDFSReadBytes, c.HDFSWrittenBytes = w.InputBytes, w.OutputBytes
		default:
			c.HDFSReadBytes, c.MapOutputBytes = w.InputBytes, w.OutputBytes
		}
	}
	r.to(&traces.AttemptFinished{T: r.at(), Attempt: r.attemptName(a), Outcome: how, Counters: c, Error: why})
	if how == traces.Succeeded {
		r.to(&traces.TaskFinished{T: r.at(), Task: r.attemptName(a).Task, Outcome: how, Winner: int32(a.number)})
	}
}

// taskFailed records that a task ended without success.
func (r *recorder) taskFailed(a *attempt) {
	if r.to != nil {
		r.to(&traces.TaskFinished{T: r.at(), Task: r.attemptName(a).Task, Outcome: traces.Failed, Winner: -1})
	}
}

// report passes the end of an attempt to Config.Ended.
func (r *recorder) report(a *attempt, x *rest, how traces.Outcome, why string, launched bool) {
	j := &r.jobs.list[a.job]
	w := j.workOf(a.kind, a.task)
	e := AttemptEnd{
		Job: int32(j.id), Kind: a.kind, Outcome: how, Launched: launched, Preempted: why == traces.KilledByYARN,
		Level: a.level, Split: a.split, Node: a.node,
		StartMs: a.startMs, EndMs: r.events.Now, UpMs: j.amUpMs, InputBytes: w.InputBytes, OutputBytes: w.OutputBytes,
	}
	switch {
	case a.kind == state.Reduce:
		e.InputBytes = x.bytes
	case x.readTo > 0:
		e.ReadFromMs, e.ReadToMs = a.startMs+int64(x.readFrom), a.startMs+int64(x.readTo)
	}
	r.ended(e)
}

func (r *recorder) memberBound(m *member, outcome, cause string) {
	if r.to != nil {
		r.to(&traces.Actuation{
			T: r.at(), Decision: m.grant.id, AskedAt: traces.Time(m.grant.askedMs * 1e6), GrantedAt: traces.Time(m.boundMs * 1e6), Outcome: outcome,
			Bound: traces.Attempt{Task: r.taskName(&r.jobs.list[m.grant.job], m.task), Number: m.number}, Cause: cause,
		})
	}
}

func (r *recorder) nodeUp(n state.NodeID) {
	if r.to != nil {
		r.to(&traces.NodeUp{T: r.at(), NodeFacts: traces.NodeFacts{Node: r.nodeName(n)}})
	}
}

func (r *recorder) nodeDown(n state.NodeID) {
	if r.to != nil {
		r.to(&traces.NodeDown{T: r.at(), Node: r.nodeName(n), Reason: "lost"})
	}
}

// nodeSlowed records a fault after which a node has this speed.
func (r *recorder) nodeSlowed(n state.NodeID, speed float64) {
	if r.to != nil {
		r.to(&traces.NodeSpeed{T: r.at(), Node: r.nodeName(n), Speed: speed / cmp.Or(r.config.Cluster.Nodes[n].Speed, 1)})
	}
}

func (r *recorder) capacity(n state.NodeID, left state.Resource) {
	if r.to != nil {
		r.to(&traces.NodeCapacity{T: r.at(), Node: r.nodeName(n), MemoryBytes: int64(left.MemoryMB) << 20, VCores: left.VCores})
	}
}

// sampled records a copy of a sample of a node's load.
func (r *recorder) sampled(x traces.NodeSample) {
	if r.to != nil {
		r.to(&x)
	}
}

// predicted records when the model expects a job to end.
func (r *recorder) predicted(id state.JobID, donePct uint8, end int64) {
	r.to(&traces.JobPredicted{T: r.at(), Job: r.jobs.of(id).name, DonePct: donePct, End: traces.Time(end)})
}
