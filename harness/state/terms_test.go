package state

import (
	"testing"

	"heddle/traces"
)

// TestTerms submits a job with a deadline and one without, at 3 s. A deadline
// counts from the submission; a job without one is due after all others.
func TestTerms(t *testing.T) {
	s := New()
	s.SetNow(3e9)
	want := traces.Terms{DeadlineMs: 500, Price: 2.5, Hints: traces.JobHints{Map: Hints{CPU: 8, Disk: 1}, Reduce: Hints{Network: 10}}}
	var spec JobSpec
	spec.SetTerms(&want)
	if got := spec.Terms(); got != want {
		t.Errorf("terms %+v became %+v", want, got)
	}
	due, err := s.Submit(&spec)
	if err != nil {
		t.Fatal(err)
	}
	free, err := s.Submit(&JobSpec{})
	if err != nil {
		t.Fatal(err)
	}
	v := s.View()
	if got := v.Deadline(due); got != 3_500_000_000 {
		t.Errorf("a job submitted at 3 s has its deadline at %d ns, want 0.5 s later", got)
	}
	if v.Deadline(free) != NoDeadline || v.Deadline(due) >= v.Deadline(free) {
		t.Errorf("a job without a deadline is due at %d", v.Deadline(free))
	}
	if v.Price(due) != 2.5 || v.Hints(due, Map) != want.Hints.Map || v.Hints(due, Reduce) != want.Hints.Reduce {
		t.Errorf("price %v and hints %v, %v, want %+v", v.Price(due), v.Hints(due, Map), v.Hints(due, Reduce), want)
	}
}
