package experiment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/capture"
	"heddle/hibench"
	"heddle/traces"
)

// TestTally adds a trial's events: times are from the first submission on, records
// are those of attempts that succeeded, of the job with the tag.
func TestTally(t *testing.T) {
	attempt := func(job traces.JobID, kind traces.TaskKind, outcome traces.Outcome) *traces.AttemptFinished {
		return &traces.AttemptFinished{
			T: 5e9, Attempt: traces.Attempt{Task: traces.Task{Job: job, Kind: kind}}, Outcome: outcome,
			Counters: traces.Counters{InputRecords: 10, OutputRecords: 3},
		}
	}
	jobs := newTally([]capture.Job{{ID: "a", Name: "first", Tags: []string{"x", "y"}}, {ID: "b", Name: "second", Tags: []string{"z"}}, {ID: "c", Tags: []string{"none"}}})
	for _, e := range []traces.Event{
		&traces.JobSubmitted{T: 1e9, Job: "a"}, &traces.JobSubmitted{T: 2e9, Job: "b"},
		attempt("a", traces.Map, traces.Succeeded), attempt("a", traces.Map, traces.Failed), attempt("b", traces.Map, traces.Succeeded),
		attempt("a", traces.Map, traces.Succeeded), attempt("a", traces.Reduce, traces.Succeeded), attempt("a", traces.Reduce, traces.Killed),
		&traces.JobFinished{T: 6e9, Job: "b", Outcome: traces.Succeeded}, &traces.JobFinished{T: 7_500_000_000, Job: "a", Outcome: traces.Failed},
	} {
		jobs.add(e)
	}
	want := []JobResult{{ID: "b", Name: "second", Outcome: "succeeded", CompletionMs: 4000}, {ID: "a", Name: "first", Outcome: "failed", CompletionMs: 6500}}
	if diff := cmp.Diff(want, jobs.ended); diff != "" || jobs.makespanMs() != 6500 {
		t.Errorf("makespan %d ms, want 6500; jobs (-want +got):\n%s", jobs.makespanMs(), diff)
	}
	for tag, want := range map[string]*hibench.Counters{
		"y": {MapInputRecords: 20, MapOutputRecords: 6, ReduceOutputRecords: 3}, "z": {MapInputRecords: 10, MapOutputRecords: 3}, "none": {}, "other": nil,
	} {
		if diff := cmp.Diff(want, jobs.records(tag)); diff != "" {
			t.Errorf("records of %q (-want +got):\n%s", tag, diff)
		}
	}
}
