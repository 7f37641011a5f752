package measure_test

import (
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
)

// TestStarved: two reduces hold both slots from 11 to 310 s while a map of their job waits.
func TestStarved(t *testing.T) {
	const gib = 1 << 30
	id := func(job traces.JobID, kind traces.TaskKind, i int32) traces.Attempt {
		return traces.Attempt{Task: traces.Task{Job: job, Kind: kind, Index: i}}
	}
	at := func(sec int64) traces.Time { return traces.Time(sec * 1e9) }
	start := func(sec int64, a traces.Attempt, n traces.Node) traces.Event {
		return &traces.AttemptStarted{T: at(sec), Attempt: a, Node: n}
	}
	end := func(sec int64, a traces.Attempt, how traces.Outcome) traces.Event {
		return &traces.AttemptFinished{T: at(sec), Attempt: a, Outcome: how, Counters: traces.NoCounters}
	}
	deadlock := func(job traces.JobID, from int64) []traces.Event {
		var events []traces.Event
		for _, task := range []traces.Attempt{id(job, traces.Map, 0), id(job, traces.Map, 1), id(job, traces.Reduce, 0), id(job, traces.Reduce, 1)} {
			events = append(events, &traces.TaskScheduled{Task: task.Task})
		}
		return append(events,
			start(from, id(job, traces.Map, 0), "n1"), start(from, id(job, traces.Reduce, 0), "n1"), end(from+10, id(job, traces.Map, 0), traces.Succeeded),
			start(from+11, id(job, traces.Reduce, 1), "n1"), end(from+310, id(job, traces.Reduce, 1), traces.Killed), start(from+311, id(job, traces.Map, 1), "n1"),
			end(from+320, id(job, traces.Map, 1), traces.Succeeded))
	}
	sized := &traces.JobSubmitted{Job: "a", MapMemoryBytes: gib, ReduceMemoryBytes: gib}
	nodes := func(n ...traces.NodeFacts) (h traces.Header) { h.Cluster.Nodes = n; return h }
	one, other := traces.NodeFacts{Node: "n1", MemoryBytes: 2 * gib, Worker: true}, traces.NodeFacts{Node: "n2", MemoryBytes: gib, Worker: true}
	for _, x := range []struct {
		name   string
		h      traces.Header
		more   []traces.Event
		wantMs float64
	}{
		{"all slots are held", nodes(one), []traces.Event{sized}, 299_000},
		{"another node has room", nodes(one, other), []traces.Event{sized}, 0},
		{"another node has room until it is lost", nodes(one, other), []traces.Event{sized, &traces.NodeDown{T: at(110), Node: "n2"}}, 200_000},
		{"another node has room until less is left of it", nodes(one, other), []traces.Event{sized, &traces.NodeCapacity{T: at(210), Node: "n2"}}, 100_000},
		{"an ApplicationMaster takes the room", nodes(one, other), []traces.Event{sized, &traces.JobStarted{Job: "a", AMNode: "n2", AMMemoryBytes: gib}}, 299_000},
		{"a map of another job runs on the other node", nodes(one, other), []traces.Event{
			sized,
			&traces.JobSubmitted{Job: "b", MapMemoryBytes: gib}, start(10, id("b", traces.Map, 0), "n2"), end(60, id("b", traces.Map, 0), traces.Succeeded),
		}, 0},
		{"nobody says how much memory there is", traces.Header{}, []traces.Event{&traces.JobSubmitted{Job: "a"}}, 299_000},
		{
			"two jobs at once count once", nodes(traces.NodeFacts{Node: "n1", MemoryBytes: 4 * gib, Worker: true}),
			append(deadlock("b", 0), sized, &traces.JobSubmitted{Job: "b", MapMemoryBytes: gib, ReduceMemoryBytes: gib}), 299_000,
		},
		{"a map whose output was lost runs again", nodes(traces.NodeFacts{Node: "n1", MemoryBytes: 2 * gib, Worker: true}, traces.NodeFacts{Node: "n3", MemoryBytes: gib, Worker: true}), []traces.Event{
			sized, &traces.TaskScheduled{Task: id("a", traces.Map, 2).Task}, start(0, id("a", traces.Map, 2), "n3"), end(5, id("a", traces.Map, 2), traces.Succeeded), &traces.NodeDown{T: at(6), Node: "n3"},
		}, 299_000},
	} {
		events := append(deadlock("a", 0), x.more...)
		traces.Sort(events)
		f := measure.Of(x.h, slices.Values(events))
		if f.StarvedMs != x.wantMs {
			t.Errorf("%s: for %.0f ms, want %.0f", x.name, f.StarvedMs, x.wantMs)
		}
		if killed := 299_000 * float64(f.Attempts.Killed); f.KilledMs != killed || killed == 0 {
			t.Errorf("%s: %d killed attempts ran for %.0f ms, want %.0f", x.name, f.Attempts.Killed, f.KilledMs, killed)
		}
	}
}

// TestStarvedText: each model has its own figures, the one with the worst trial first.
func TestStarvedText(t *testing.T) {
	f := func(model string, ms, of float64) *measure.Figures {
		return &measure.Figures{Model: model, StarvedMs: ms, MakespanMs: of}
	}
	const held, change = "reduces held all slots while maps of their own jobs waited", ": give fewer reduces "
	for want, trials := range map[string][]*measure.Figures{
		" for 200.0 of 300.0 s (what is measured is mostly this wait)": {f("yarn", 200_000, 300_000)},
		" in 2 of 3 trials, for 9.0 of 150.0 s":                        {f("yarn", 9000, 150_000), f("yarn", 9000, 150_000), f("yarn", 0, 150_000)},
		" under acl in 3 of 3 trials, for 9.0 of 150.0 s and at worst 316.0 of 425.0 s, under yarn in 1 of 2 trials, for 20.0 of 160.0 s": {
			f("delay", 0, 150_000), f("yarn", 20_000, 160_000), f("yarn", 0, 150_000), f("acl", 9000, 150_000), f("acl", 316_000, 425_000), f("acl", 9000, 150_000),
		},
	} {
		if got := measure.StarvedText(trials...); !strings.HasPrefix(got, held+want+change) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
