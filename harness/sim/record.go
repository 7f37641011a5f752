package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// This file writes the trace of a simulated run, if Config.Record is set.

func (s *Sim) at() traces.Time { return traces.Time(s.events.Now * 1e6) }

func (s *Sim) nodeName(n state.NodeID) traces.Node { return traces.Node(s.view.NodeName(n)) }

func (s *Sim) taskName(j *job, t state.TaskID) traces.Task {
	k, i := s.view.Index(j.id, t)
	return traces.Task{Job: j.name, Kind: k, Index: i}
}

func (s *Sim) nodeNames(list []state.NodeID) []traces.Node {
	names := make([]traces.Node, len(list))
	for i, n := range list {
		names[i] = s.nodeName(n)
	}
	return names
}

func (s *Sim) beginSight() {
	if s.sight = nil; s.Reasons && s.Record != nil {
		s.state.FollowRoom()
		s.sight = sched.NewSight(s.Model, func(id state.JobID) traces.JobID { return s.jobs.of(id).name })
	}
}

// look notes what the model saw when it decided d, if that is recorded. The decision is
// not carried out yet, and is expected to start task t.
func (s *Sim) look(d sched.Decision, t state.TaskID) {
	if s.sight != nil {
		s.sight.Look(s.view, d, t)
	}
}

// seen returns what look noted last.
func (s *Sim) seen() *traces.Seen {
	if s.sight == nil {
		return nil
	}
	return s.sight.Seen(0)
}

func (s *Sim) recordSubmitted(x *Job, j *job) {
	if s.Record == nil {
		return
	}
	s.Record(&traces.JobSubmitted{
		T: s.at(), Job: j.name, Name: x.Name, User: x.User, Queue: x.Queue, Priority: x.Priority, Maps: x.Maps, Reduces: x.Reduces,
		Workload: x.Workload, MapMemoryBytes: int64(x.MapSize.MemoryMB) << 20, MapVCores: x.MapSize.VCores,
		ReduceMemoryBytes: int64(x.ReduceSize.MemoryMB) << 20, ReduceVCores: x.ReduceSize.VCores,
		SlowStart: float64(x.SlowStart), Speculation: s.Speculation != NoSpeculation, Pool: x.Pool, Terms: x.Terms(),
	})
	for t := range x.Maps {
		s.Record(&traces.TaskScheduled{
			T: s.at(), Task: s.taskName(j, state.TaskID(t)), SplitHosts: s.nodeNames(s.view.SplitHosts(j.id, state.TaskID(t))),
			LengthBytes: work(x.MapWork, t, x.Maps).InputBytes,
		})
	}
	for t := range x.Reduces {
		s.Record(&traces.TaskScheduled{T: s.at(), Task: s.taskName(j, state.TaskID(x.Maps+t))})
	}
}

func (s *Sim) recordStarted(j *job) {
	if s.Record == nil {
		return
	}
	e := &traces.JobStarted{T: s.at(), Job: j.name, AMAttempt: 1, AMMemoryBytes: int64(j.amSize.MemoryMB) << 20}
	if j.amNode != state.None {
		e.AMNode = s.nodeName(j.amNode)
	}
	s.Record(e)
}

func (s *Sim) recordEnded(j *job, x *JobResult) {
	if s.Record == nil {
		return
	}
	e := &traces.JobFinished{
		T: s.at(), Job: j.name, Outcome: traces.Succeeded, Counters: traces.NoCounters,
		DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1,
	}
	if x.Failed {
		e.Outcome = traces.Failed
	}
	s.Record(e)
}

func (s *Sim) recordBeat(n state.NodeID) {
	if s.Record == nil {
		return
	}
	free := s.view.Free(n)
	s.Record(&traces.Heartbeat{T: s.at(), Node: s.nodeName(n), FreeMemoryBytes: int64(free.MemoryMB) << 20, FreeVCores: free.VCores})
}

func (s *Sim) recordDecision(j *job, g *grant) {
	if s.Record == nil {
		return
	}
	d := &g.decision
	e := &traces.Decision{
		T: s.at(), ID: g.id, Job: j.name, What: d.Kind, Node: s.nodeName(d.Node), TaskIndex: -1, BindIndex: -1,
		Reason: d.Reason.String(), Group: s.inGroup, Values: sched.Explain(s.Model), Seen: s.seen(),
	}
	if d.Task != state.None {
		_, e.TaskIndex = s.view.Index(j.id, d.Task)
	}
	if d.Kind == state.Map && g.expected != state.None {
		e.BindIndex, e.BindBranch = int32(g.expected), g.branch.String()
	}
	s.Record(e)
}

func (s *Sim) recordBound(j *job, g *grant, t state.TaskID) {
	if s.Record == nil {
		return
	}
	e := &traces.Actuation{T: s.at(), Decision: g.id, AskedAt: traces.Time(g.askedMs * 1e6), GrantedAt: s.at(), Outcome: "none"}
	if t != state.None {
		e.Outcome = "honoured"
		e.Bound = traces.Attempt{Task: s.taskName(j, t), Number: j.try(t)}
	} else if g.group != 0 {
		e.Outcome, e.Cause = "cancelled", groupIncomplete
	}
	s.Record(e)
}

func (s *Sim) recordIdeal(j *job, d sched.Decision, t state.TaskID) {
	if s.Record == nil {
		return
	}
	id := s.r.Decisions.Made
	_, i := s.view.Index(j.id, t)
	s.Record(&traces.Decision{
		T: s.at(), ID: id, Job: j.name, What: d.Kind, Node: s.nodeName(d.Node), TaskIndex: i, BindIndex: -1,
		Reason: d.Reason.String(), Group: s.inGroup, Values: sched.Explain(s.Model), Seen: s.seen(),
	})
	s.Record(&traces.Actuation{
		T: s.at(), Decision: id, AskedAt: s.at(), GrantedAt: s.at(), Outcome: "honoured",
		Bound: traces.Attempt{Task: s.taskName(j, t), Number: j.try(t)},
	})
}

func (s *Sim) attemptName(a *attempt) traces.Attempt {
	return traces.Attempt{Task: s.taskName(&s.jobs.list[a.job], a.task), Number: int32(a.number)}
}

func (s *Sim) recordAttempt(a *attempt) {
	a.traced = true
	s.Record(&traces.AttemptStarted{
		T: s.at(), Attempt: s.attemptName(a), Node: s.nodeName(a.node), Rack: s.view.RackName(s.view.Rack(a.node)),
		SplitLocality: a.split, ReplicaLocality: a.level, Speculative: a.speculative,
	})
}

func (s *Sim) recordAttemptEnd(a *attempt, how traces.Outcome, launched bool) {
	if !launched {
		s.Record(&traces.AttemptFinished{
			T: s.at(), Attempt: s.attemptName(a), Outcome: how, Unlaunched: true, Counters: traces.NoCounters,
			Node: s.nodeName(a.node), SplitLocality: a.split,
		})
		return
	}
	if !a.traced {
		s.recordAttempt(a)
	}
	j := &s.jobs.list[a.job]
	w := j.workOf(a.kind, a.task)
	c := traces.NoCounters
	if how == traces.Succeeded {
		switch {
		case a.kind == state.Reduce:
			c.ShuffleBytes = a.bytes
			c.HDFSWrittenBytes = w.OutputBytes
		case j.total[state.Reduce] == 0:
			c.HDFSReadBytes, c.HDFSWrittenBytes = w.InputBytes, w.OutputBytes
		default:
			c.HDFSReadBytes, c.MapOutputBytes = w.InputBytes, w.OutputBytes
		}
	}
	s.Record(&traces.AttemptFinished{T: s.at(), Attempt: s.attemptName(a), Outcome: how, Counters: c})
	if how == traces.Succeeded {
		s.Record(&traces.TaskFinished{T: s.at(), Task: s.attemptName(a).Task, Outcome: how, Winner: int32(a.number)})
	}
}

// reportEnd passes the end of an attempt to Config.Ended.
func (s *Sim) reportEnd(a *attempt, how traces.Outcome, launched bool) {
	j := &s.jobs.list[a.job]
	w := j.workOf(a.kind, a.task)
	e := AttemptEnd{
		Job: int32(j.id), Kind: a.kind, Outcome: how, Launched: launched, Level: a.level, Split: a.split, Node: a.node,
		StartMs: a.startMs, EndMs: s.events.Now, InputBytes: w.InputBytes, OutputBytes: w.OutputBytes,
	}
	switch {
	case a.kind == state.Reduce:
		e.InputBytes = a.bytes
	case a.readTo > 0:
		e.ReadFromMs, e.ReadToMs = a.startMs+int64(a.readFrom), a.startMs+int64(a.readTo)
	}
	s.Ended(e)
}
