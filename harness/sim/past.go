package sim

import (
	"cmp"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// Past describes how an attempt ended in the recorded run that is replayed. The
// simulated attempt with the same task and number ends in the same way, unless
// its node is lost earlier.
type Past struct {
	Kind state.Kind
	// Task is the task's number among the job's maps or reduces, from 0. Number is
	// the number of the attempt at this task, from 0.
	Task, Number int32
	// Outcome is how the attempt ended. A Failed or Killed attempt ends Ms
	// milliseconds after its launch. A Succeeded attempt runs for Ms milliseconds,
	// and Work.FixedMs is then not used.
	Outcome traces.Outcome
	Ms      int32
	// SpeculateMs, if above 0, is the time from the attempt's launch until a
	// speculative attempt for the same task is asked for.
	SpeculateMs int32
	// Last says that the failure ended the task for good, and that the job tolerated it
	// (mapreduce.map.failures.maxpercent). The task then counts as done, without output.
	Last bool
}

// Compare orders two Pasts by kind of task, then task number, then attempt
// number.
func (p Past) Compare(q Past) int {
	return cmp.Or(cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Task, q.Task), cmp.Compare(p.Number, q.Number))
}

// past returns how an attempt ended in the recorded run that is replayed, or nil if
// the record says nothing of its end.
func (j *job) past(a *attempt) *Past {
	at, found := slices.BinarySearchFunc(j.pasts, Past{Kind: a.kind, Task: j.index(a.kind, a.task), Number: int32(a.number)}, Past.Compare)
	if !found {
		return nil
	}
	return &j.pasts[at]
}

// endsAsBefore reports whether an attempt failed or was killed in the recorded
// run that is replayed. If so, it schedules the same end. If a speculative
// attempt ran beside this attempt in the recorded run, endsAsBefore schedules
// the request for a speculative attempt.
func (at *attempts) endsAsBefore(id int32, a *attempt, j *job) bool {
	p := j.past(a)
	if p == nil {
		return false
	}
	if p.SpeculateMs > 0 {
		at.events.Push(a.startMs+int64(p.SpeculateMs), evCopy, uint32(id), a.gen)
	}
	how := evFail
	switch p.Outcome {
	case traces.Killed:
		how = evKill
	case traces.Failed:
	default:
		return false
	}
	at.events.Push(a.startMs+max(1, int64(p.Ms)), how, uint32(id), a.gen)
	return true
}

// fixedMs returns the duration, in milliseconds, of an attempt that takes
// equally long on any node. It returns 0 if the duration depends on the node.
func (j *job) fixedMs(a *attempt, w *Work) int32 {
	if len(j.pasts) > 0 && w.FixedMs > 0 {
		if p := j.past(a); p != nil && p.Outcome == traces.Succeeded {
			return max(1, p.Ms)
		}
	}
	return w.FixedMs
}
