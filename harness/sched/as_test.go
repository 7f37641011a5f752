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

// inner is a wrapper of a model for one node.
type inner struct{ NodeModel }

func (w *inner) Unwrap() NodeModel { return w.NodeModel }

// TestAs finds what a model can do behind a wrapper and in a PerNode, and the
// wrapper's own first.
func TestAs(t *testing.T) {
	m := &noting{}
	w := wrapped{wrapped{&PerNode{&inner{m}}}}
	if n, ok := As[Noter](w); !ok || n != Noter(m) {
		t.Errorf("a Noter behind two wrappers: %v, %v", n, ok)
	}
	if o, ok := As[Observer](w); !ok || o != Observer(w) {
		t.Errorf("the wrapper that observes itself: %v, %v", o, ok)
	}
	if _, ok := As[JobPlanner](w); ok {
		t.Error("a model without PlanJob plans jobs, behind a wrapper")
	}
	if !FirstOnly(w) || FirstOnly(wrapped{}) {
		t.Error("a PerNode behind a wrapper looks at the first node only, and no model does not")
	}
	if _, ok := As[Noter](nil); ok {
		t.Error("no model takes notes")
	}
}
