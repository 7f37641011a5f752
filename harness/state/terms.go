package state

import (
	"fmt"
	"math"

	"heddle/traces"
)

// Hints say how heavily one task uses each resource of its node.
type Hints = traces.Hints

// NoDeadline is the deadline of a job without one: a time after all others.
const NoDeadline = math.MaxInt64

// maxDeadlineMs is the greatest time from a job's submission to its deadline:
// ten years.
const maxDeadlineMs = 10 * 365 * 24 * 3600 * 1000

// SetTerms sets the job's deadline, price and hints from those of a trace.
func (s *JobSpec) SetTerms(t *traces.Terms) {
	s.DeadlineMs, s.Price, s.Hints = t.DeadlineMs, t.Price, [2]Hints{t.Hints.Map, t.Hints.Reduce}
}

// Terms returns the job's deadline, price and hints as a trace has them.
func (s *JobSpec) Terms() traces.Terms {
	return traces.Terms{DeadlineMs: s.DeadlineMs, Price: s.Price, Hints: traces.JobHints{Map: s.Hints[Map], Reduce: s.Hints[Reduce]}}
}

func (s *JobSpec) checkTerms() error {
	if s.DeadlineMs < 0 || s.DeadlineMs > maxDeadlineMs {
		return fmt.Errorf("a deadline %d ms after the submission: want 0 (none) to ten years", s.DeadlineMs)
	}
	if !(s.Price >= 0) || math.IsInf(s.Price, 1) {
		return fmt.Errorf("price %v: want a number of 0 or more", s.Price)
	}
	for k := range s.Hints {
		h := &s.Hints[k]
		for _, x := range []struct {
			what  string
			value uint8
		}{{"CPU", h.CPU}, {"memory", h.Memory}, {"disk", h.Disk}, {"network", h.Network}} {
			if x.value > traces.MaxHint {
				return fmt.Errorf(
					"a %s hint of %d for a %s: want 1 to %d, or 0 for none",
					x.what,
					x.value,
					[2]string{"map", "reduce"}[k],
					traces.MaxHint,
				)
			}
		}
	}
	return nil
}

// terms are a job's deadline (absolute, in ns; NoDeadline if there is none), price and
// hints. They stand beside the jobs, as most models never read them.
type terms struct {
	deadline int64
	price    float64
	hints    [2]Hints
}

// deadline returns the time of a deadline that is ms after now.
func (s *State) deadline(ms int64) int64 {
	if ms == 0 {
		return NoDeadline
	}
	return s.now + ms*1e6
}

// Deadline returns the time until which a job should have ended, in nanoseconds
// since the run's start. It is NoDeadline for a job that has none.
func (v *View) Deadline(id JobID) int64 { return v.s.terms[id].deadline }

// Price returns what a job pays, in any unit; 0 if it does not say.
func (v *View) Price(id JobID) float64 { return v.s.terms[id].price }

// Hints returns how heavily one of the job's tasks of kind k uses its node, as the
// job's user says. A value of 0 means that the user does not say.
func (v *View) Hints(id JobID, k Kind) Hints { return v.s.terms[id].hints[k] }
