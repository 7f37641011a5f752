package why

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces"
)

const gib = 1 << 30

// cluster has two racks of two nodes, each with room for two containers of 1 GiB.
func cluster(model string) traces.Header {
	h := traces.Header{Origin: traces.Simulated, Model: model, Actuator: "labels"}
	for _, n := range []traces.Node{"r1n1", "r1n2", "r2n1", "r2n2"} {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: n, Rack: "/" + string(n[:2]), MemoryBytes: 2 * gib, VCores: 8, Worker: true})
	}
	return h
}

const theJob = traces.JobID("job_1_0001")

func mapOf(i, number int32) traces.Attempt {
	return traces.Attempt{Task: traces.Task{Job: theJob, Index: i}, Number: number}
}

func submitted() []traces.Event {
	return []traces.Event{&traces.JobSubmitted{Job: theJob, Maps: 9, Reduces: 1, MapMemoryBytes: gib, MapVCores: 1, ReduceMemoryBytes: gib, ReduceVCores: 1}}
}

func start(t traces.Time, a traces.Attempt, n traces.Node, level traces.Level) *traces.AttemptStarted {
	return &traces.AttemptStarted{T: t, Attempt: a, Node: n, SplitLocality: level, ReplicaLocality: level}
}

func sec(s float64) traces.Time { return traces.Time(s * 1e9) }

func sentences(t *testing.T, h traces.Header, events []traces.Event, a traces.Attempt) []string {
	t.Helper()
	traces.Sort(events)
	if x := Read(&h, slices.Values(events))[a]; x != nil {
		return x.Sentences()
	}
	return nil
}

func TestSeen(t *testing.T) {
	events := append(submitted(),
		&traces.TaskScheduled{T: sec(20), Task: mapOf(7, 0).Task, SplitHosts: []traces.Node{"r1n1", "r1n2"}},
		&traces.Decision{T: sec(31), ID: 5, Job: theJob, Node: "r2n1", TaskIndex: -1, BindIndex: 7, Reason: "rack", Values: "load=12", Seen: &traces.Seen{
			OneNode: true, ViewAgeMs: 120, Waited: 3, Limit: 4, WaitUnit: traces.WaitSkips, Farthest: traces.LevelRack,
			Candidates: []traces.Candidate{{Node: "r1n1", Level: traces.LevelNode, Room: traces.RoomFull, ForMs: 3000}, {Node: "r1n2", Level: traces.LevelNode, Room: traces.RoomFull, ForMs: 3000}},
			Passed:     []traces.PassedJob{{Job: "job_1_0000", Why: traces.PassedWaits, Waited: 2}, {Job: "job_0_0009", Why: traces.PassedNoRoom}}, MorePassed: 3,
		}},
		start(sec(31.2), mapOf(7, 0), "r2n1", traces.LevelRack),
		&traces.Actuation{T: sec(31.3), Decision: 5, Outcome: "honoured", Bound: mapOf(7, 0)},
	)
	want := []string{
		"rack-local on r2n1 at 31.2 s: its block is on r1n1 and r1n2, both full since 28.0 s; passed over 3 times; delay's limit is 4, but its job may go as far as the rack",
		"it had waited 11.2 s for a container, since its ApplicationMaster asked for it",
		"delay decided at 31.0 s, by what was seen 0.12 s before",
		"before it, delay passed over job_1_0000 (it waits for a node nearer to its data, passed over twice), job_0_0009 (r2n1 had no room for its container) and 3 more",
		"delay says of the decision: load=12",
	}
	if d := cmp.Diff(want, sentences(t, cluster("delay"), events, mapOf(7, 0))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSlotsAreTheLimit has nodes whose memory has room when all their slots for maps are taken.
func TestSlotsAreTheLimit(t *testing.T) {
	h := cluster("delay")
	h.MapSlots, h.ReduceSlots = 1, 1
	for i := range h.Cluster.Nodes {
		h.Cluster.Nodes[i].MemoryBytes = 8 * gib
	}
	for _, seen := range []*traces.Seen{nil, {Candidates: []traces.Candidate{{Node: "r1n1", Level: traces.LevelNode, Room: traces.RoomSlots, ForMs: 10_000}}}} {
		events := append(submitted(),
			&traces.TaskScheduled{T: 1, Task: mapOf(7, 0).Task, SplitHosts: []traces.Node{"r1n1"}},
			start(sec(20), mapOf(1, 0), "r1n1", traces.LevelNode),
			&traces.Decision{T: sec(30), ID: 5, Job: theJob, Node: "r2n1", TaskIndex: -1, BindIndex: 7, Seen: seen},
			start(sec(30), mapOf(7, 0), "r2n1", traces.LevelOff),
			&traces.Actuation{T: sec(30), Decision: 5, Outcome: "honoured", Bound: mapOf(7, 0)},
		)
		want := "off-rack on r2n1 at 30.0 s: its block is on r1n1, with all its map slots taken since 20.0 s"
		if got := sentences(t, h, events, mapOf(7, 0)); got[0] != want {
			t.Errorf("%q, want %q", got[0], want)
		}
	}
	// Where memory holds no more than the slots do, the node was full.
	h.Cluster.Nodes[0].MemoryBytes = gib
	events := append(submitted(), &traces.TaskScheduled{T: 1, Task: mapOf(7, 0).Task, SplitHosts: []traces.Node{"r1n1"}},
		start(sec(20), mapOf(1, 0), "r1n1", traces.LevelNode), start(sec(30), mapOf(7, 0), "r2n1", traces.LevelOff))
	if got, want := sentences(t, h, events, mapOf(7, 0))[0], "off-rack on r2n1 at 30.0 s: its block is on r1n1, full since 20.0 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFromOccupancy has a trace that does not say what the scheduler saw.
func TestFromOccupancy(t *testing.T) {
	events := append(submitted(),
		&traces.BlockReplica{Block: 3, Node: "r1n1"}, &traces.BlockReplica{Block: 3, Node: "r1n2"}, &traces.BlockReplica{Block: 3, Node: "r2n2"},
		&traces.BlockCached{Block: 3, Node: "r1n2"},
		&traces.TaskScheduled{T: 1, Task: mapOf(7, 0).Task, SplitHosts: []traces.Node{"r1n1"}, Blocks: []traces.Block{3}},
		start(sec(20), mapOf(1, 0), "r1n1", traces.LevelOff), start(sec(28), mapOf(2, 0), "r1n1", traces.LevelOff),
		&traces.AttemptFinished{T: sec(29), Attempt: mapOf(1, 0), Outcome: traces.Succeeded}, start(sec(29), mapOf(3, 0), "r1n1", traces.LevelOff),
		start(sec(30), mapOf(4, 0), "r1n2", traces.LevelOff),
		&traces.NodeDown{T: sec(25), Node: "r2n2"},
		start(sec(31.2), mapOf(7, 0), "r2n1", traces.LevelRack),
		&traces.AttemptFinished{T: sec(40), Attempt: mapOf(7, 0), Outcome: traces.Failed},
		start(sec(41), mapOf(7, 1), "r1n2", traces.LevelCache),
	)
	h := cluster("yarn")
	h.Origin = traces.Measured
	want := []string{
		"rack-local on r2n1 at 31.2 s: its block is cached on r1n2, with room, and on the disks of r1n1 (full since 28.0 s) and r2n2 (down since 25.0 s)",
		"it had waited 31.2 s for a container, since its ApplicationMaster asked for it",
		"the cluster's own scheduler chose the node and says no reason: this is told from where tasks ran",
	}
	if d := cmp.Diff(want, sentences(t, h, events, mapOf(7, 0))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"cache-local on r1n2 at 41.0 s: the node has its block in the cache", "attempt 0 before it, on r2n1, failed at 40.0 s", want[2],
	}, sentences(t, h, events, mapOf(7, 1))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	h.Cluster.Nodes[0].MemoryBytes = 0
	if got := sentences(t, h, events, mapOf(7, 0)); got[0] != "rack-local on r2n1 at 31.2 s: its block is cached on r1n2, with room, and on the disks of r1n1 (where 2 tasks ran) and r2n2 (down since 25.0 s)" ||
		!slices.Contains(got, "the trace does not say how many tasks these nodes hold") {
		t.Errorf("with a node of unknown size: %q", got)
	}
}

// TestKilled has attempts that a real ApplicationMaster killed, by what Hadoop says of them.
func TestKilled(t *testing.T) {
	reduce := traces.Attempt{Task: traces.Task{Job: theJob, Kind: traces.Reduce}}
	for _, x := range []struct {
		says string
		more []traces.Event
		want string
	}{
		{
			"Reducer preempted to make room for pending map attempts\nContainer killed by the ApplicationMaster.\n", nil,
			"it was killed at 310.0 s by its ApplicationMaster, to make room for map 8, which had waited 309.0 s: after 300 s reduces are killed in any case (mapreduce.job.reducer.unconditional-preempt.delay.sec)",
		},
		{"Reducer preempted to make room for pending map attempts", []traces.Event{
			start(sec(20), mapOf(8, 0), "r1n1", traces.LevelNode), &traces.AttemptFinished{T: sec(309), Attempt: mapOf(8, 0), Outcome: traces.Failed},
		}, "it was killed at 310.0 s by its ApplicationMaster, to make room for map 8, which had waited 1.00 s: YARN said that the job could get no more memory"},
		{"Container preempted by scheduler", nil, "it was killed at 310.0 s by YARN's scheduler, which took its container for another queue or job (preemption)"},
		{"Speculation: attempt_1_0001_r_000000_1 succeeded first!", nil, "it was killed at 310.0 s by its ApplicationMaster, since another attempt of the task succeeded first (speculation)"},
		{"TaskAttempt killed because it ran on unusable node r1n2:37001. AttemptId:attempt_1", nil, "it was killed at 310.0 s with its node, which was lost or unhealthy"},
		{"", []traces.Event{&traces.NodeDown{T: sec(300), Node: "r1n2"}}, "it was killed at 310.0 s with its node, which was lost or unhealthy"},
		{"Task KILL is received. Killing attempt!", nil, "it was killed at 310.0 s by its ApplicationMaster, which ended the task or the whole job"},
		{"Kill task attempt received from alice", nil, "it was killed at 310.0 s; the trace says: Kill task attempt received from alice"},
		{"", nil, "it was killed at 310.0 s"},
	} {
		events := append(submitted(), &traces.JobStarted{T: sec(1), Job: theJob, AMAttempt: 1}, &traces.TaskScheduled{Task: mapOf(8, 0).Task},
			start(sec(5), reduce, "r1n2", traces.LevelUnknown), &traces.AttemptFinished{T: sec(310), Attempt: reduce, Outcome: traces.Killed, Error: x.says})
		h := cluster("yarn")
		h.Origin = traces.Measured
		if got := sentences(t, h, append(events, x.more...), reduce); !slices.Contains(got, x.want) {
			t.Errorf("%q: %q, want %q", x.says, got, x.want)
		}
	}
}
