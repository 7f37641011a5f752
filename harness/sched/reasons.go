package sched

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Reasoner is a scheduler model that keeps why it took its last decision: how long the job
// had waited for a node near its data, and which jobs it passed over before. A model embeds
// Reasoning to be one. Drivers that record reasons ask it directly after each decision, and
// find out with As whether a model is a Reasoner.
type Reasoner interface {
	// KeepReasons makes the model keep reasons from now on.
	KeepReasons()
	// Reasons returns those of the model's last answer, nil if it keeps none. They change
	// with its next answer.
	Reasons() *Reasons
}

// Reasons are why a model took a decision.
type Reasons struct {
	// Waited, Limit, Unit and Farthest are as in traces.Seen.
	Waited, Limit int64
	Unit          traces.WaitUnit
	Farthest      state.Level
	// Passed are the first jobs, in the model's order, that have a waiting task and in which
	// it started nothing. MorePassed counts the others.
	Passed     []PassedJob
	MorePassed int32
}

// PassedJob is a job that a model passed over. Waited is how long the job had waited for a
// nearer node, in the unit of the Reasons; 0 if Why is not traces.PassedWaits.
type PassedJob struct {
	Job    state.JobID
	Why    traces.PassedWhy
	Waited int64
}

// mostPassed is how many jobs Reasons list.
const mostPassed = 3

// Reasoning keeps the reasons of a model that embeds it. Until KeepReasons is called, it
// keeps none and its methods take next to no time.
type Reasoning struct{ kept *Reasons }

// KeepReasons implements Reasoner.
func (r *Reasoning) KeepReasons() { r.kept = &Reasons{Passed: make([]PassedJob, 0, mostPassed)} }

// Reasons implements Reasoner.
func (r *Reasoning) Reasons() *Reasons { return r.kept }

// Keeps reports whether reasons are kept.
func (r *Reasoning) Keeps() bool { return r.kept != nil }

// Begin forgets the reasons of the last answer. A model calls it when it is asked, with the
// unit in which it counts how long jobs wait.
func (r *Reasoning) Begin(unit traces.WaitUnit) {
	if r.kept != nil {
		*r.kept = Reasons{Passed: r.kept.Passed[:0], Unit: unit}
	}
}

// PassOver notes that the model passed over a job.
func (r *Reasoning) PassOver(id state.JobID, why traces.PassedWhy, waited int64) {
	if r.kept != nil {
		r.kept.passOver(id, why, waited)
	}
}

func (r *Reasons) passOver(id state.JobID, why traces.PassedWhy, waited int64) {
	if len(r.Passed) < mostPassed {
		r.Passed = append(r.Passed, PassedJob{id, why, waited})
	} else {
		r.MorePassed++
	}
}

// Wait notes how long the job of the decision had waited, and what its limits are.
func (r *Reasoning) Wait(waited, limit int64, farthest state.Level) {
	if r.kept != nil {
		r.kept.Waited, r.kept.Limit, r.kept.Farthest = waited, limit, farthest
	}
}

// Sight looks at the cluster as a model sees it when it decides, for traces. All drivers
// use it, so that their traces say the same.
type Sight struct {
	reasoner Reasoner // nil: the model is none
	oneNode  bool
	nameOf   func(state.JobID) traces.JobID
	cached   []state.NodeID // memory for lookAt
	seen     *traces.Seen   // what Look noted last: the element behind all
	// Memory for what Seen returns, made for many decisions at a time. What has been returned
	// is before the ends of these lists, and what Look noted last behind them.
	all        []traces.Seen
	candidates []traces.Candidate
	jobs       []traces.PassedJob
}

// mostCandidates is how many nodes a Seen lists.
const mostCandidates = 8

// manySeen is for how many decisions a Sight makes memory at a time.
const manySeen = 64

// NewSight makes the Sight of a model, which keeps reasons from then on. The function
// nameOf returns the name of a job in the trace.
func NewSight(m Model, nameOf func(state.JobID) traces.JobID) *Sight {
	s := &Sight{oneNode: FirstOnly(m), nameOf: nameOf}
	if s.reasoner, _ = As[Reasoner](m); s.reasoner != nil {
		s.reasoner.KeepReasons()
	}
	return s
}

// Look notes what the model saw when it took decision d. A driver calls it after the model
// has answered and before it carries the decision out. The argument t is the task that the
// decision is expected to start.
func (s *Sight) Look(v *state.View, d Decision, t state.TaskID) {
	s.all, s.candidates, s.jobs = roomFor(s.all, 1), roomFor(s.candidates, mostCandidates), roomFor(s.jobs, mostPassed)
	e := &s.all[:len(s.all)+1][len(s.all)]
	*e = traces.Seen{OneNode: s.oneNode, Candidates: s.candidates[len(s.candidates):], Passed: s.jobs[len(s.jobs):]}
	s.seen = e
	if d.Kind == state.Map && t != state.None {
		s.lookAt(v, d, t)
	}
	var r *Reasons
	if s.reasoner != nil {
		r = s.reasoner.Reasons()
	}
	if r == nil {
		s.passedInOrder(v, d)
		return
	}
	e.Waited, e.Limit, e.WaitUnit, e.Farthest, e.MorePassed = r.Waited, r.Limit, r.Unit, r.Farthest, r.MorePassed
	for _, p := range r.Passed {
		e.Passed = append(e.Passed, traces.PassedJob{Job: s.nameOf(p.Job), Why: p.Why, Waited: p.Waited})
	}
}

// lookAt lists the nodes that are nearer to the input of map t than the decision's node.
func (s *Sight) lookAt(v *state.View, d Decision, t state.TaskID) {
	level := v.Level(d.Job, t, d.Node)
	if level == state.LevelCache {
		return
	}
	s.cached = v.CachedOn(d.Job, t, s.cached[:0])
	for _, n := range s.cached {
		s.candidate(v, d, n, state.LevelCache)
	}
	if level == state.LevelNode {
		return
	}
	for _, n := range v.Replicas(d.Job, t) {
		if len(s.cached) == 0 || v.Level(d.Job, t, n) != state.LevelCache {
			s.candidate(v, d, n, state.LevelNode)
		}
	}
}

func (s *Sight) candidate(v *state.View, d Decision, n state.NodeID, level state.Level) {
	if len(s.seen.Candidates) == mostCandidates {
		s.seen.MoreCandidates++
		return
	}
	c := traces.Candidate{Node: traces.Node(v.NodeName(n)), Level: level}
	if !v.Fits(n, d.Job, d.Kind) {
		switch c.Room = traces.RoomFull; {
		case !v.Up(n):
			c.Room = traces.RoomDown
		case v.Free(n).Holds(v.ContainerSize(d.Job, d.Kind)):
			c.Room = traces.RoomSlots
		}
		c.ForMs = -1
		if since, ok := v.FullSince(n, d.Job, d.Kind); ok {
			c.ForMs = (v.Now() - since) / 1e6
		}
	}
	s.seen.Candidates = append(s.seen.Candidates, c)
}

// passedInOrder lists the jobs that come before the decision's in FIFO order and have a
// waiting task of the same kind, for a model that does not say which it passed over.
func (s *Sight) passedInOrder(v *state.View, d Decision) {
	jobs := v.WaitingJobs(d.Kind)
	place := min(v.Place(d.Job, d.Kind), len(jobs))
	for _, id := range jobs[:min(place, mostPassed)] {
		why := traces.PassedModel
		if !v.Fits(d.Node, id, d.Kind) {
			why = traces.PassedNoRoom
		}
		s.seen.Passed = append(s.seen.Passed, traces.PassedJob{Job: s.nameOf(id), Why: why})
	}
	s.seen.MorePassed = int32(max(0, place-mostPassed))
}

// roomFor returns a list to which n more elements can be appended without new memory: the
// same list, or an empty one.
func roomFor[T any](list []T, n int) []T {
	if cap(list)-len(list) < n {
		return make([]T, 0, manySeen*n)
	}
	return list
}

// Seen returns what Look saw, for the event of the decision; nil if there is nothing to
// tell. The argument ageMs is how old the driver's view of the job was, in milliseconds.
// It is called once at most for each call of Look.
func (s *Sight) Seen(ageMs int64) *traces.Seen {
	e := s.seen
	if len(e.Candidates)+len(e.Passed) == 0 && e.Waited == 0 && ageMs == 0 {
		return nil
	}
	e.ViewAgeMs = ageMs
	s.all = s.all[:len(s.all)+1]
	e.Candidates, s.candidates = kept(e.Candidates, s.candidates)
	e.Passed, s.jobs = kept(e.Passed, s.jobs)
	return e
}

// kept returns a list that was made behind the end of all, and all with it.
func kept[T any](list, all []T) (some, with []T) {
	n := len(list)
	if n == 0 {
		return nil, all
	}
	return list[:n:n], all[:len(all)+n]
}
