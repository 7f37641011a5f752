package measure

import (
	"cmp"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// Simulate runs a simulation and computes its figures. To save time, it makes
// no trace events, so the result has no hash of a trace. How long scheduling
// decisions took, and whether their predictions came true, is not known: these
// figures are -1. h is the header that a trace of the simulation would have.
func Simulate(h traces.Header, x *sim.Config) (*Figures, *sim.Result, error) {
	s := simulation{Source: x.Source, Collector: New(h)}
	for i := range x.Cluster.Nodes {
		s.nodes = append(s.nodes, s.node(traces.Node(x.Cluster.Nodes[i].Name)))
	}
	watched := *x
	watched.Source, watched.Ended = &s, s.attemptEnded
	if x.Ended != nil {
		watched.Ended = func(e sim.AttemptEnd) {
			s.attemptEnded(e)
			x.Ended(e)
		}
	}
	r, err := sim.Run(&watched)
	if err != nil {
		return nil, nil, err
	}
	return s.of(r, &x.Capacity), r, nil
}

// simulation collects the figures of a running simulation. It also hands the
// jobs to the simulator, so that it can count each job when the job arrives.
type simulation struct {
	sim.Source
	*Collector
	nodes []*Node // figures of each node; the index is its state.NodeID
}

// Next hands the next job to the simulator, as the interface sim.Source
// requires, and counts the job.
func (s *simulation) Next(x *sim.Job) bool {
	if !s.Source.Next(x) {
		return false
	}
	s.figures.JobList = append(s.figures.JobList, &Job{
		ID: cmp.Or(x.ID, traces.JobID(x.Name)), Name: cmp.Or(x.Workload, x.Name), Maps: int(x.Maps), Reduces: int(x.Reduces),
		Queue: x.Queue, User: x.User, pool: x.Pool, DeadlineMs: x.DeadlineMs,
		SubmitMs: float64(x.SubmitMs), submitted: traces.Time(x.SubmitMs) * 1e6,
		containerBytes: [2]int64{int64(x.MapSize.MemoryMB) << 20, int64(x.ReduceSize.MemoryMB) << 20},
	})
	return true
}

// attemptEnded adds a task attempt that has ended to the figures. The figures
// are the same as if the attempt's start and end had been read from a trace.
func (s *simulation) attemptEnded(e sim.AttemptEnd) {
	j, n := s.figures.JobList[e.Job], s.nodes[e.Node]
	isMap := e.Kind == state.Map
	if isMap {
		j.SplitLocality.add(e.Split)
	}
	began, ended := traces.Time(e.StartMs)*1e6, traces.Time(e.EndMs)*1e6
	if e.Launched {
		n.Attempts++
		j.ranFrom(began)
		s.used(j, e.Kind, start{t: began, node: n}, ended)
	}
	switch e.Outcome {
	case traces.Failed:
		j.Attempts.Failed++
		return
	case traces.Killed:
		lived := traces.Time(0)
		if e.Launched {
			lived = ended - began
		}
		s.killed(j, lived, e.Preempted)
		return
	}
	j.Attempts.OK++
	s.useful(j, e.Kind, began, ended)
	waited := began - max(j.submitted, traces.Time(e.UpMs)*1e6)
	if isMap {
		s.mapped(j, e.Level, e.InputBytes, ended)
		s.phases[phaseMapWait].Add(waited)
		written := int64(0)
		if j.Reduces == 0 {
			written = e.OutputBytes
		}
		j.Bytes.add(e.InputBytes, 0, written)
		return
	}
	s.phases[phaseReduceWait].Add(waited)
	j.Bytes.add(0, e.InputBytes, e.OutputBytes)
}

// The function of returns the figures of the finished simulation.
func (s *simulation) of(r *sim.Result, capacity *state.Timetable) *Figures {
	for i := range r.Jobs {
		x := &r.Jobs[i]
		end := traces.Uncounted(traces.Time(x.EndMs)*1e6, "", traces.Succeeded)
		if x.Failed {
			end.Outcome, end.Diagnostics = traces.Failed, x.Refused
		}
		s.figures.JobList[i].hadoop = end
		s.last = max(s.last, end.T)
	}
	s.first = s.last
	for _, j := range s.figures.JobList {
		s.first = min(s.first, j.submitted)
	}
	s.offered.begin(s.first)
	for i := 0; ; i++ {
		change, ok := capacity.Change(i)
		if !ok || change.AtMs > s.last.Milliseconds() {
			break
		}
		s.offered.change(s.node(traces.Node(change.Node)), int64(change.Left.MemoryMB), traces.Time(change.AtMs)*1e6)
	}
	s.offered.end(s.last)
	f := s.Figures()
	if d := &r.Decisions; s.steered() {
		f.Decisions.Made, f.Decisions.Honoured = int(d.Made), int(d.AsExpected+d.Otherwise)
	}
	f.Decisions.BindPredicted, f.Decisions.P50Ms, f.Decisions.P95Ms = -1, -1, -1
	f.ScheduleDigest, f.TraceDigest = r.Digest.String(), ""
	f.StarvedMs = float64(r.StarvedMs)
	return f
}
