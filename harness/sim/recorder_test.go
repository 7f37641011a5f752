package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// recorded returns a base of three nodes with a job of two maps and a reduce, and the list to
// which its recorder writes what it is told. Nothing else of a simulator is there.
func recorded(t tester) (b *base, j *job, list *[]string, ends *[]AttemptEnd) {
	list, ends = new([]string), new([]AttemptEnd)
	c := &Config{Cluster: slots(3, 2), Record: func(e traces.Event) {
		*list = append(*list, strings.TrimPrefix(fmt.Sprintf("%T", e), "*traces.")+" "+fmt.Sprintf("%+v", e))
	}}
	c.Ended = func(e AttemptEnd) { *ends = append(*ends, e) }
	c.Cluster.Nodes[1].Speed = 2
	b = apart(t, c)
	x := simpleJob("a", 0, 2, 1, Work{InputBytes: 50, OutputBytes: 30})
	x.ReduceWork, x.AMSize = []Work{{OutputBytes: 7}}, state.Resource{MemoryMB: 512}
	x.Replicas.Add(0, 2)
	x.Replicas.Add(1)
	slot := b.submit(t, &x)
	b.until(5, nil)
	b.recorder.submitted(&x, &b.jobs.list[slot])
	return b, &b.jobs.list[slot], list, ends
}

// What the recorder is told becomes one event, at the present time, with the names of what
// it is about.
func TestRecorderWrites(t *testing.T) {
	d := sched.Decision{Kind: state.Map, Node: 2, Task: state.None}
	running := attempt{task: 1, node: 2, level: state.LevelNode, split: state.LevelRack, number: 3, startMs: 2}
	reduce := attempt{task: 2, node: 1, kind: state.Reduce, startMs: 2, marks: traced}
	fetched := &rest{bytes: 60}
	for _, x := range []struct {
		tell func(b *base, j *job) // nil: that the job was submitted
		want []string              // each with words of one event
	}{
		{nil, []string{
			"JobSubmitted Job:a Maps:2 Reduces:1 MapMemoryBytes:1073741824",
			"TaskScheduled Task:task_a_m_000000 [n0 n2] LengthBytes:50", "TaskScheduled Task:task_a_m_000001 [n1]",
			"TaskScheduled Task:task_a_r_000000",
		}},
		{func(b *base, j *job) { b.recorder.started(j) }, []string{"JobStarted Job:a AMMemoryBytes:536870912 AMNode: "}},
		{func(b *base, j *job) { j.amNode = 1; b.recorder.started(j) }, []string{"JobStarted AMNode:n1"}},
		{func(b *base, j *job) { b.recorder.jobEnded(j, &JobResult{}) }, []string{"JobFinished Job:a Outcome:succeeded"}},
		{func(b *base, j *job) { b.recorder.jobEnded(j, &JobResult{Failed: true}) }, []string{"JobFinished Job:a Outcome:failed"}},
		{
			func(b *base, j *job) { b.state.Hold(1, j.id, slot); b.recorder.beat(1) },
			[]string{"Heartbeat Node:n1 FreeMemoryBytes:1073741824 FreeVCores:1"},
		},
		{func(b *base, j *job) {
			b.recorder.decided(j, &grant{decision: d, expected: 1, branch: state.BindRack, id: 9})
		}, []string{"Decision ID:9 Job:a What:map Node:n2 TaskIndex:-1 BindIndex:1 BindBranch:rack"}},
		{
			func(b *base, j *job) { b.recorder.bound(j, &grant{decision: d, id: 9, askedMs: 3}, 1) },
			[]string{"Actuation Decision:9 AskedAt:3000000 GrantedAt:5000000 Outcome:honoured Bound:attempt_a_m_000001_0"},
		},
		{func(b *base, j *job) { b.recorder.bound(j, &grant{decision: d, id: 9}, state.None) }, []string{"Actuation Outcome:none"}},
		{
			func(b *base, j *job) { b.recorder.bound(j, &grant{decision: d, id: 9, group: 1}, state.None) },
			[]string{"Actuation Outcome:cancelled Cause:not all"},
		},
		{
			func(b *base, j *job) { b.recorder.decidedAtOnce(4, j, d, 1) },
			[]string{"Decision ID:4 TaskIndex:1", "Actuation Decision:4 AskedAt:5000000 GrantedAt:5000000 Outcome:honoured"},
		},
		{
			func(b *base, j *job) { a := running; b.recorder.attemptStarted(&a) },
			[]string{"AttemptStarted Attempt:attempt_a_m_000001_3 Node:n2 Rack:r0 SplitLocality:rack ReplicaLocality:node"},
		},
		{
			func(b *base, j *job) { a := running; b.recorder.attemptEnded(&a, &rest{}, traces.Succeeded, "", true) },
			[]string{
				"AttemptStarted Attempt:attempt_a_m_000001_3", "AttemptFinished Outcome:succeeded HDFSReadBytes:50 MapOutputBytes:30",
				"TaskFinished Task:task_a_m_000001 Winner:3",
			},
		},
		{
			func(b *base, j *job) { a := running; b.recorder.attemptEnded(&a, &rest{}, traces.Killed, "", false) },
			[]string{"AttemptFinished Outcome:killed Unlaunched:true Node:n2"},
		},
		{
			func(b *base, j *job) { a := reduce; b.recorder.attemptEnded(&a, fetched, traces.Failed, "", true) },
			[]string{"AttemptFinished Outcome:failed ShuffleBytes:-1"},
		},
		{
			func(b *base, j *job) { a := reduce; b.recorder.attemptEnded(&a, fetched, traces.Succeeded, "", true) },
			[]string{"AttemptFinished Attempt:attempt_a_r_000000_0 ShuffleBytes:60 HDFSWrittenBytes:7", "TaskFinished Task:task_a_r_000000"},
		},
		{func(b *base, j *job) {
			b.recorder.memberBound(&member{grant: grant{id: 8, askedMs: 1}, task: 0, boundMs: 4}, "honoured", "")
		}, []string{"Actuation Decision:8 AskedAt:1000000 GrantedAt:4000000 Outcome:honoured"}},
		{func(b *base, j *job) { b.recorder.nodeDown(2); b.recorder.nodeUp(2) }, []string{"NodeDown Node:n2 Reason:lost", "NodeUp Node:n2"}},
		{func(b *base, j *job) { b.recorder.nodeSlowed(1, 1) }, []string{"NodeSpeed Node:n1 Speed:0.5"}},
		{func(b *base, j *job) { b.recorder.capacity(0, slot) }, []string{"NodeCapacity Node:n0 MemoryBytes:1073741824 VCores:1"}},
		{func(b *base, j *job) { b.recorder.predicted(j.id, 50, 7e6) }, []string{"JobPredicted Job:a DonePct:50 End:7000000"}},
	} {
		b, j, list, _ := recorded(t)
		if x.tell != nil {
			*list = nil
			x.tell(b, j)
		}
		if len(*list) != len(x.want) {
			t.Errorf("%d events, want %q:\n%s", len(*list), x.want, strings.Join(*list, "\n"))
			continue
		}
		for i, words := range x.want {
			for _, word := range strings.Fields(words) {
				if !strings.Contains((*list)[i], word) || !strings.Contains((*list)[i], "T:5000000 ") {
					t.Errorf("event %q at 5 ms lacks %q", (*list)[i], word)
				}
			}
		}
	}
}

// A caller that wants ends of attempts alone gets as much of them as a trace has.
func TestRecorderReports(t *testing.T) {
	b, j, list, ends := recorded(t)
	b.recorder.to = nil
	*list = nil
	m := attempt{task: 1, node: 2, level: state.LevelNode, startMs: 2}
	b.recorder.attemptEnded(&m, &rest{readFrom: 1, readTo: 3}, traces.Succeeded, "", true)
	r := attempt{task: 2, node: 1, kind: state.Reduce, startMs: 2}
	b.recorder.attemptEnded(&r, &rest{bytes: 60}, traces.Killed, "", true)
	want := []AttemptEnd{
		{
			Job: int32(j.id), Outcome: traces.Succeeded, Launched: true, Level: state.LevelNode, Node: 2, StartMs: 2, EndMs: 5, ReadFromMs: 3,
			ReadToMs: 5, InputBytes: 50, OutputBytes: 30,
		},
		{
			Job: int32(j.id), Kind: state.Reduce, Outcome: traces.Killed, Launched: true, Node: 1, StartMs: 2, EndMs: 5, InputBytes: 60,
			OutputBytes: 7,
		},
	}
	want[1].Level, want[1].Split, want[0].Split = r.level, r.split, m.split
	if !slices.Equal(*ends, want) {
		t.Errorf("ends\n%+v, want\n%+v", *ends, want)
	}
	for _, tell := range []func(){
		func() { b.recorder.started(j) }, func() { b.recorder.beat(0) }, func() { b.recorder.nodeUp(0) }, func() { b.recorder.nodeDown(0) },
		func() { b.recorder.nodeSlowed(0, 1) },
		func() { b.recorder.capacity(0, slot) }, func() { b.recorder.sampled(traces.NodeSample{}) },
		func() { b.recorder.jobEnded(j, &JobResult{}) },
		func() { b.recorder.bound(j, &grant{}, 0) }, func() { b.recorder.decided(j, &grant{}) },
		func() { b.recorder.memberBound(&member{}, "", "") },
		func() { b.recorder.decidedAtOnce(1, j, sched.Decision{}, 0) },
	} {
		if tell(); len(*list) > 0 {
			t.Errorf("no trace is written, and it has %q", *list)
		}
	}
}

// The recorder changes nothing: the View is the same before and after it is told of anything.
func TestRecorderChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, j, _, _ := recorded(t)
		before := fmt.Sprint(b.view.Free(0), b.view.Free(1), b.view.Free(2), b.view.Active(), *j, b.r.Attempts, b.r.Decisions, b.events.Next())
		n := state.NodeID(rapid.IntRange(0, 2).Draw(t, "node"))
		a := attempt{task: state.TaskID(rapid.IntRange(0, 1).Draw(t, "task")), node: n}
		b.recorder.beat(n)
		b.recorder.attemptEnded(&a, &rest{}, traces.Outcome(rapid.IntRange(0, 2).Draw(t, "how")), "", rapid.Bool().Draw(t, "launched"))
		b.recorder.nodeDown(n)
		b.recorder.capacity(n, slot)
		b.recorder.started(j)
		if after := fmt.Sprint(b.view.Free(0), b.view.Free(1), b.view.Free(2), b.view.Active(), *j, b.r.Attempts, b.r.Decisions,
			b.events.Next()); after != before {
			t.Fatalf("%s, before it was recorded\n%s", after, before)
		}
	})
}
