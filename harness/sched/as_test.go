package sched

import (
	"testing"

	"heddle/harness/state"
)

// wrapped hides all that a model can do besides Round, and observes itself.
type wrapped struct{ Model }

func (w wrapped) Unwrap() Model                { return w.Model }
func (w wrapped) Observe(*state.View, Event)   {}
func (w wrapped) PlanJob(state.JobID) struct{} { return struct{}{} } // not a JobPlanner's

// noting is a model for one node that takes notes.
type noting struct{ NodeModel }

func (*noting) Notes() map[string]float64 { return nil }

// TestAs finds what a model can do behind a wrapper and in a PerNode, and the
// wrapper's own first.
func TestAs(t *testing.T) {
	m := &noting{}
	w := wrapped{wrapped{PerNode{m}}}
	if n, ok := As[Noter](w); !ok || n != Noter(m) {
		t.Errorf("a Noter behind two wrappers: %v, %v", n, ok)
	}
	if o, ok := As[Observer](w); !ok || o != Observer(w) {
		t.Errorf("the wrapper that observes itself: %v, %v", o, ok)
	}
	if _, ok := As[JobPlanner](w); ok {
		t.Error("a model without PlanJob plans jobs, behind a wrapper")
	}
	if _, ok := As[Noter](nil); ok {
		t.Error("no model takes notes")
	}
}
