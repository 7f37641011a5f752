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

// TestAs finds what a model can do behind a wrapper, and the wrapper's own first.
func TestAs(t *testing.T) {
	m, err := New("modfair", nil)
	if err != nil {
		t.Fatal(err)
	}
	w := wrapped{wrapped{m}}
	if n, ok := As[Noter](w); !ok || n != m.(Noter) {
		t.Errorf("a Noter behind two wrappers: %v, %v", n, ok)
	}
	if o, ok := As[Observer](w); !ok || o != Observer(w) {
		t.Errorf("the wrapper that observes itself: %v, %v", o, ok)
	}
	if _, ok := As[JobPlanner](w); ok {
		t.Error("modfair plans jobs, behind a wrapper")
	}
	if _, ok := As[Noter](nil); ok {
		t.Error("no model takes notes")
	}
}
