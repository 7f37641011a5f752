package sim

import (
	"cmp"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// Past is what became of an attempt in the run that a job is from. An attempt at
// the same task with the same number goes the same way here, unless its node is
// lost before.
type Past struct {
	Kind state.Kind
	// Task counts within the job and kind; Number is the attempt's.
	Task, Number int32
	// Outcome Failed or Killed: it ends so Ms after its launch. Succeeded: it takes
	// Ms where Work has FixedMs for the task's other attempts.
	Outcome traces.Outcome
	Ms      int32
	// CopyMs, above 0, is when a speculative copy is asked for, from the attempt's
	// launch on.
	CopyMs int32
}

// Compare orders pasts by kind, task and number.
func (p Past) Compare(q Past) int {
	return cmp.Or(cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Task, q.Task), cmp.Compare(p.Number, q.Number))
}

// past is an attempt's, nil: it has none.
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

// endsAsBefore says whether an attempt's past ends it without success, which is
// then to come, and has its copy asked for.
func (s *Sim) endsAsBefore(id int32, a *attempt, j *job) bool {
	p := s.past(a, j)
	if p == nil {
		return false
	}
	if p.CopyMs > 0 {
		s.wheel.push(a.startMs+int64(p.CopyMs), tag(evCopy, a.gen), uint32(id))
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

// fixedMs is what an attempt takes wherever it runs, 0: that depends.
func (s *Sim) fixedMs(a *attempt, j *job, w *Work) int32 {
	if len(j.pasts) > 0 && w.FixedMs > 0 {
		if p := s.past(a, j); p != nil && p.Outcome == traces.Succeeded {
			return max(1, p.Ms)
		}
	}
	return w.FixedMs
}
