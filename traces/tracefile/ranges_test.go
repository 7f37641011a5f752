package tracefile

import (
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
)

// TestRanges has a field of each range tag, and of each type without one, out of its range.
func TestRanges(t *testing.T) {
	a := traces.Attempt{Task: traces.Task{Job: "j"}}
	for _, c := range []struct {
		event traces.Event
		want  string
	}{
		{&traces.NodeSample{Node: "n", CPUUser: -1, Load1: -1, MemoryUsedBytes: -5, DiskQueue: 1e18, IntervalNs: 1}, ""},
		{
			&traces.NodeSample{
				T: -2e18, CPUUser: -2, Load1: math.NaN(), MemoryUsedBytes: math.MinInt64, ContainersRunning: -2,
				AgentLostSamples: -1,
			},
			"t node cpuUser load1 memoryUsedBytes containersRunning agentLostSamples",
		},
		{
			&traces.NodeUp{NodeFacts: traces.NodeFacts{Node: "n", VCores: -1, Cores: math.Inf(1), MemoryBytes: 1<<60 + 1}},
			"memoryBytes vcores cores",
		},
		{&traces.TaskFinished{Task: traces.Task{Kind: 2, Index: -1}, Outcome: 4, Winner: -2}, "task.job task.kind task.index outcome winner"},
		{
			&traces.AttemptStarted{Attempt: traces.Attempt{Task: a.Task, Number: -1}, SplitLocality: 5, SampleAgeNs: -2},
			"attempt.number splitLocality sampleAgeNs",
		},
		{&traces.Actuation{Decision: 1, Bound: traces.Attempt{Task: traces.Task{Index: -1}, Number: -1}}, ""},
		{&traces.Actuation{Bound: traces.Attempt{Task: traces.Task{Index: -2}}}, "decision bound.index"},
		{
			&traces.JobSubmitted{
				Job: "j", SlowStart: 1.5, Priority: -1,
				Terms: traces.Terms{DeadlineMs: -1, Hints: traces.JobHints{Map: traces.Hints{CPU: 11}}},
			},
			"slowStart deadlineMs hints.map.cpu",
		},
		{&traces.JobPredicted{Job: "j", DonePct: 101}, "donePct"},
		{&traces.Decision{ID: 1, Job: "j", Group: -1, TaskIndex: -1}, ""},
		{&traces.BlockCached{Block: math.MaxUint64, Node: "n"}, ""},
	} {
		if got := strings.Join(outOfRange(c.event), " "); got != c.want {
			t.Errorf("%+v: out of range are %s, want %s", c.event, got, c.want)
		}
	}
}

// TestRangesOfLists holds the check against lists of any length: the fields of each
// element and those after the list are found.
func TestRangesOfLists(t *testing.T) {
	for n := range 4 {
		e := &traces.Decision{ID: 1, Job: "j", Seen: &traces.Seen{Candidates: make([]traces.Candidate, n), MoreCandidates: -1}}
		want := []string{}
		for i := range n {
			e.Seen.Candidates[i].Node = "n"
		}
		if n > 0 {
			e.Seen.Candidates[n-1].Room = 9
			want = append(want, "seen.candidates[].room")
		}
		if got := outOfRange(e); !slices.Equal(got, append(want, "seen.moreCandidates")) {
			t.Errorf("%d candidates: out of range are %v", n, got)
		}
	}
	e := &traces.Decision{ID: 1, Job: "j", Seen: &traces.Seen{Passed: make([]traces.PassedJob, 257)}}
	if got := outOfRange(e); len(got) == 0 || got[0] != "seen.passed" {
		t.Errorf("257 jobs: out of range are %v", got)
	}
	if got := outOfRange(&traces.Decision{ID: 1, Job: "j"}); len(got) > 0 {
		t.Errorf("a decision of which it is not known what was seen: out of range are %v", got)
	}
}

func outOfRange(e traces.Event) (names []string) {
	traces.OutOfRange(e, func(what string, _ bool) {
		name, _, _ := strings.Cut(what, " ")
		names = append(names, strings.TrimSuffix(name, "'s"))
	})
	return names
}
