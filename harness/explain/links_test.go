package explain

import (
	"testing"

	"heddle/traces"
)

// TestOverLinks has a job of a real lab with links of 1 MB/s, in round numbers: both maps of a node read from another
// one, and the reduce writes as much as it fetched, to two nodes. The node is not slow, and the links are full.
func TestOverLinks(t *testing.T) {
	const second, mb = traces.Time(1e9), int64(1e6)
	h := traces.Header{Origin: traces.Measured}
	for _, n := range []traces.Node{"n1", "n2", "n3", "n4"} {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: n, Rack: "/r", MemoryBytes: 1 << 30, Worker: true})
		h.Cluster.Links = append(h.Cluster.Links, traces.LinkFacts{Node: n, BytesPerSec: mb})
	}
	job := traces.JobID("job_1_0001")
	r := run{header: h, events: []traces.Event{
		&traces.JobSubmitted{Job: job, Maps: 8, Reduces: 1, MapMemoryBytes: 1 << 29, ReduceMemoryBytes: 1 << 29, SlowStart: 1},
		&traces.BlockReplica{Block: 1, Node: "n1"}, &traces.BlockReplica{Block: 1, Node: "n2"},
		&traces.JobStarted{Job: job, AMAttempt: 1},
	}}
	ran := func(kind traces.TaskKind, index int32, from, to traces.Time, node traces.Node, level traces.Level, c traces.Counters, shuffled traces.Time) {
		a := traces.Attempt{Task: traces.Task{Job: job, Kind: kind, Index: index}}
		r.events = append(r.events, &traces.AttemptStarted{T: from, Attempt: a, Node: node, ReplicaLocality: level},
			&traces.AttemptFinished{T: to, Attempt: a, Outcome: traces.Succeeded, ShuffleDone: shuffled, Counters: c})
	}
	for i := range int32(8) {
		to, level := 7*second, traces.LevelNode
		if i >= 6 {
			to, level = 25*second, traces.LevelRack
		}
		ran(traces.Map, i, second, to, []traces.Node{"n1", "n2", "n3", "n4"}[i/2], level, traces.Counters{HDFSReadBytes: 8 * mb}, 0)
	}
	ran(traces.Reduce, 0, 26*second, 100*second, "n1", traces.LevelUnknown, traces.Counters{ShuffleBytes: 20 * mb, HDFSWrittenBytes: 40 * mb}, 50*second)
	r.events = append(r.events, &traces.JobFinished{T: 100 * second, Job: job, Outcome: traces.Succeeded})
	traces.Sort(r.events)
	x := r.explained(t)
	if l := x.Lines[0]; l.Cause != link || l.Seconds < Ns(50*second) || l.Seconds > Ns(80*second) {
		t.Errorf("first of %v is %s, %v: %s", x.Makespan, l.Cause, l.Seconds, l.Sentence)
	}
	for _, l := range x.Lines {
		if l.Cause == slowNode {
			t.Errorf("%v: %s", l.Seconds, l.Sentence)
		}
	}
}
