package recorded

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/sim"
	"heddle/traces"
	"heddle/traces/errtest"
)

func TestPasts(t *testing.T) {
	const ok, failed, killed = traces.Succeeded, traces.Failed, traces.Killed
	at := func(start, end int, how traces.Outcome) life {
		return life{traces.Time(start) * 1e9, traces.Time(end) * 1e9, "n1", how, false}
	}
	m := mishaps{outages: []outage{{t: 100e9, node: "n1"}, {120e9, "n1", true}}}
	for _, c := range []struct {
		name      string
		list      []life
		lost      bool // without success
		tolerated bool // by its job, which succeeded
		fromLast  bool
		want      []sim.Past
		lastMapAt int
	}{
		{
			name: "failed, then well", list: []life{at(0, 5, failed), at(6, 20, ok)},
			want: []sim.Past{{Outcome: failed, Ms: 5000}, {Number: 1, Outcome: ok, Ms: 14000}},
		},
		{
			name: "the copy won", list: []life{at(0, 30, killed), at(10, 29, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 30000, SpeculateMs: 10000}, {Number: 1, Outcome: ok, Ms: 19000}},
		},
		{
			name: "the copy lost", list: []life{at(10, 29, killed), at(0, 28, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 28000, SpeculateMs: 10000}, {Number: 1, Outcome: ok, Ms: 19000}},
		},
		{
			name: "its node was lost", list: []life{at(80, 101, killed), at(102, 110, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 20000}, {Number: 1, Outcome: ok, Ms: 8000}},
		},
		{
			name: "killed a while before its node's loss was noticed", list: []life{at(80, 90, killed), at(91, 95, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 10000}, {Number: 1, Outcome: ok, Ms: 4000}},
		},
		{
			name: "its master heard first of its node's loss", list: []life{at(80, 91, killed), at(92, 95, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 11000}, {Number: 1, Outcome: ok, Ms: 3000}},
		},
		{
			name: "killed on a node that was lost before", list: []life{at(100, 105, killed), at(106, 110, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 5000}, {Number: 1, Outcome: ok, Ms: 4000}},
		},
		{
			name: "one after the other, without a break", list: []life{at(0, 10, killed), at(10, 20, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 10000}, {Number: 1, Outcome: ok, Ms: 10000}},
		},
		{
			name: "failed, then with a copy", list: []life{at(0, 6, failed), at(6, 30, killed), at(16, 29, ok)},
			want: []sim.Past{
				{Outcome: failed, Ms: 6000},
				{Number: 1, Outcome: ok, Ms: 24000, SpeculateMs: 10000},
				{Number: 2, Outcome: ok, Ms: 13000},
			},
		},
		{
			name: "killed", list: []life{at(0, 7, killed), at(8, 9, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 7000}, {Number: 1, Outcome: ok, Ms: 1000}},
		},
		{
			name: "a reduce made way for maps", list: []life{at(0, 7, killed), at(8, 30, ok)}, fromLast: true, lastMapAt: 20,
			want: []sim.Past{{Number: 1, Outcome: ok, Ms: 10000}},
		},
		{
			name: "its job tolerated that it failed", list: []life{
				at(0, 1, failed), at(1, 2, failed), at(2, 3, failed),
				at(3, 4, failed), at(4, 5, failed),
			}, lost: true, tolerated: true,
			want: []sim.Past{
				{Outcome: failed, Ms: 1000},
				{Number: 1, Outcome: failed, Ms: 1000},
				{Number: 2, Outcome: failed, Ms: 1000},
				{Number: 3, Outcome: killed, Ms: 1000},
				{Number: 4, Outcome: failed, Ms: 1000, Last: true},
			},
		},
		{name: "its job failed", list: []life{at(0, 7, killed)}, lost: true, want: []sim.Past{{Outcome: ok, Ms: 7000}}},
		{
			name: "a cluster with ten attempts a task", list: []life{
				at(0, 1, failed), at(1, 2, failed), at(2, 3, failed),
				at(3, 4, failed), at(4, 5, ok),
			},
			want: []sim.Past{
				{Outcome: failed, Ms: 1000},
				{Number: 1, Outcome: failed, Ms: 1000},
				{Number: 2, Outcome: failed, Ms: 1000},
				{Number: 3, Outcome: killed, Ms: 1000},
				{Number: 4, Outcome: ok, Ms: 1000},
			},
		},
	} {
		if d := cmp.Diff(c.want, m.pasts(c.list, traces.Time(c.lastMapAt)*1e9, !c.lost, c.tolerated, c.fromLast)); d != "" {
			t.Errorf("%s: want -, got +:\n%s", c.name, d)
		}
	}
}

// TestTaken has a model that takes containers itself not repeat what YARN took.
func TestTaken(t *testing.T) {
	first := traces.Attempt{Task: traces.Task{Job: "a"}}
	again := traces.Attempt{Task: first.Task, Number: 1}
	x := errtest.Must(New("x", traces.Header{}, slices.Values([]traces.Event{
		&traces.JobSubmitted{Job: "a", Maps: 1}, &traces.TaskScheduled{Task: first.Task},
		&traces.AttemptStarted{T: 1e9, Attempt: first, Node: "n"},
		&traces.AttemptFinished{T: 8e9, Attempt: first, Outcome: traces.Killed, Error: traces.KilledByYARN},
		&traces.AttemptStarted{T: 9e9, Attempt: again, Node: "n"}, &traces.AttemptFinished{T: 20e9, Attempt: again, Outcome: traces.Succeeded},
		&traces.JobFinished{T: 21e9, Job: "a", Outcome: traces.Succeeded},
	})))
	last := sim.Past{Outcome: traces.Succeeded, Ms: 11_000}
	for preempts, want := range map[bool][]sim.Past{
		true:  {last},
		false: {{Outcome: traces.Killed, Ms: 7000}, {Outcome: traces.Succeeded, Number: 1, Ms: 11_000}},
	} {
		var j sim.Job
		NewSource(Settings{Trace: x, Preempts: preempts}, &sim.Machines{}).addPasts(x.Jobs[0], &j)
		if d := cmp.Diff(want, j.Pasts); d != "" {
			t.Errorf("a model that takes containers: %v: want -, got +:\n%s", preempts, d)
		}
	}
}
