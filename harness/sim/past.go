package sim

import (
	"cmp"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// Past is what happened to an attempt in the recorded run that a job comes
// from. The simulated attempt with the same task and number ends the same way,
// unless its node is lost before.
type Past struct {
	Kind state.Kind
	// Task counts within the job and kind. Number is the attempt's, from 0.
	Task, Number int32
	// Outcome Failed or Killed: the attempt ends so Ms after its launch.
	// Succeeded: it takes Ms, while the task's other attempts take
	// Work.FixedMs.
	Outcome traces.Outcome
	Ms      int32
	// SpeculateMs, above 0, is when a speculative attempt is asked for, counted from
	// the launch.
	SpeculateMs int32
}

// Compare orders Pasts by kind, task and number.
func (p Past) Compare(q Past) int {
	return cmp.Or(cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Task, q.Task), cmp.Compare(p.Number, q.Number))
}

// past returns the attempt's Past, nil if it has none.
func (s *Sim) past(a *attempt, j *job) *Past {
	i := int32(a.task)
	if a.kind == state.Reduce {
		i -= j.total[state.Map]
	}
	at, found := slices.BinarySearchFunc(j.pasts, Past{Kind: a.kind, Task: i, Number: int32(a.number)}, Past.Compare)
	if !found {
		return nil
	}
	return &j.pasts[at]
}

// endsAsBefore reports whether the attempt's Past ends it without success. If
// so, it schedules that end. It also schedules the request for a speculative
// attempt.
func (s *Sim) endsAsBefore(id int32, a *attempt, j *job) bool {
	p := s.past(a, j)
	if p == nil {
		return false
	}
	if p.SpeculateMs > 0 {
		s.wheel.push(a.startMs+int64(p.SpeculateMs), tag(evCopy, a.gen), uint32(id))
	}
	how := evFail
	switch p.Outcome {
	case traces.Killed:
		how = evKill
	case traces.Failed:
	default:
		return false
	}
	s.wheel.push(a.startMs+max(1, int64(p.Ms)), tag(how, a.gen), uint32(id))
	return true
}

// fixedMs returns how long an attempt takes on any node, 0 if that depends.
func (s *Sim) fixedMs(a *attempt, j *job, w *Work) int32 {
	if len(j.pasts) > 0 && w.FixedMs > 0 {
		if p := s.past(a, j); p != nil && p.Outcome == traces.Succeeded {
			return max(1, p.Ms)
		}
	}
	return w.FixedMs
}
