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
	due := must(s.Submit(&spec))
	free := must(s.Submit(&JobSpec{}))
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

// TestReduceShares has shares of map output refused, copied, and gone at the job's end.
func TestReduceShares(t *testing.T) {
	s := New()
	for _, shares := range [][]int64{{1}, {0, 0}, {1, -1}, {1, MaxShares}} {
		if _, err := s.Submit(&JobSpec{Reduces: 2, ReduceShares: shares}); err == nil {
			t.Errorf("shares %v: no error", shares)
		}
	}
	given := []int64{3, 1}
	id := must(s.Submit(&JobSpec{Reduces: 2, ReduceShares: given}))
	given[0] = 9
	if got := s.View().ReduceShares(id); len(got) != 2 || got[0] != 3 || got[1] != 1 {
		t.Errorf("shares %v, want those given at the submission", got)
	}
	other := must(s.Submit(&JobSpec{Reduces: 2}))
	s.EndJob(id)
	if a, b := s.View().ReduceShares(id), s.View().ReduceShares(other); a != nil || b != nil {
		t.Errorf("shares %v of a job that has ended, and %v of one that gave none", a, b)
	}
}
