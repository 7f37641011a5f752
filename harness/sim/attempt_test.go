package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// attemptsOf returns attempts apart from the rest of a simulator: with ApplicationMasters
// that nobody answers.
func attemptsOf(t tester, c *Config) *attempts {
	b, am, ca, at := apart(t, c), new(masters), new(caches), new(attempts)
	am.begin(b)
	ca.begin(b.state, c.Cluster.Nodes, c.CacheReads)
	at.begin(b, am, ca, nil)
	return at
}

// start starts a task of a job on a node.
func (at *attempts) start(t tester, slot int32, k state.Kind, task state.TaskID, n state.NodeID) int32 {
	t.Helper()
	if err := at.state.Start(at.jobs.list[slot].id, task, n); err != nil {
		t.Fatal(err)
	}
	id := at.launch(slot, k, task, n)
	at.bookFresh()
	return id
}

// handle carries out the events of attempts, and leaves out others.
func (at *attempts) handle(e kernel.Event) {
	switch e.Kind() {
	case kernel.FlowEnd:
		at.flowEnded(e.ID)
	case evRead, evPhase, evBooked:
		at.timeUp(e)
	case evFail:
		if e.IsFor(at.list[e.ID].gen) {
			at.fail(int32(e.ID))
		}
	}
}

// An attempt that is alone takes the sum of its phases: it is launched, its JVM starts, it
// reads, computes and writes; a fast node is faster in what it computes alone. Where nothing
// has a limit, reads and writes take no time.
func TestAttemptAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, name) }
		c := &Config{Cluster: slots(1, 1), Costs: Costs{
			LaunchMs: int32(draw("launch", 500)), TaskStartMs: int32(draw("jvm", 2000)),
			CommitMs: int32(draw("commit", 200)),
		}}
		n := &c.Cluster.Nodes[0]
		n.Speed = rapid.SampledFrom([]float64{1, 0.5, 4}).Draw(t, "speed")
		if rapid.Bool().Draw(t, "cores") {
			n.Cores = 1
		}
		read, written := 0.0, 0.0
		w := Work{ComputeMs: int32(draw("compute", 60_000)), InputBytes: draw("in", 1e9), OutputBytes: draw("out", 1e9)}
		if rapid.Bool().Draw(t, "disk") {
			n.DiskBytesPerSec = 50e6
			read, written = float64(w.InputBytes)/50e3, float64(w.OutputBytes)/50e3
		}
		j := simpleJob("a", 0, 1, 0, w)
		j.Replicas.Add(0)
		at := attemptsOf(t, c)
		slot := at.submit(t, &j)
		at.masters.up(slot)
		id := at.start(t, slot, state.Map, 0, 0)
		ended := int64(-1)
		at.until(1e7, func(e kernel.Event) {
			if at.handle(e); ended < 0 && !at.list[id].runs() {
				ended = at.events.Now
			}
		})
		want := float64(c.Costs.LaunchMs) + float64(int64(c.Costs.TaskStartMs)+int64(w.ComputeMs))/n.Speed + read + written
		if w.OutputBytes > 0 {
			want += float64(c.Costs.CommitMs)
		}
		if math.Abs(float64(ended)-want) > 6 {
			t.Fatalf("%+v on %+v with %+v ends at %d ms, want %.1f", w, *n, c.Costs, ended, want)
		}
		if got := at.r.Bytes; got.Written != w.OutputBytes || got.Read[state.LevelNode] != w.InputBytes {
			t.Fatalf("bytes %+v of %+v", got, w)
		}
	})
}

// Whatever starts, ends well, fails, is killed or is on a node that is lost: each attempt
// ends once, no place in memory is used twice at a time, and rooms, transfers and what was
// read come to what ran.
func TestAttemptsConserve(t *testing.T) {
	const nodes, each, maps, reduces, in, out = 3, 3, 12, 4, 10_000_000, 7_000_000
	rapid.Check(t, func(t *rapid.T) {
		c := &Config{
			Cluster: slots(nodes, each), Costs: NoCosts(), Faults: []Fault{{AtMs: 1e9, What: NodeDown}},
			NodeFetches: rapid.Bool().Draw(t, "node fetches"),
		}
		for i := range c.Cluster.Nodes {
			c.Cluster.Nodes[i].DiskBytesPerSec, c.Cluster.Nodes[i].LinkBytesPerSec, c.Cluster.Nodes[i].Cores = 20e6, 20e6, 1.5
		}
		at := attemptsOf(t, c)
		j := simpleJob("a", 0, maps, reduces, Work{ComputeMs: 900, InputBytes: in, OutputBytes: out})
		j.ReduceWork = []Work{{ComputeMs: 700}}
		for range maps {
			j.Replicas.Add(0)
		}
		slot := at.submit(t, &j)
		at.masters.up(slot)
		y := &at.jobs.list[slot]
		y.asked = reduces
		at.state.Ask(y.id, state.Reduce, reduces)
		launched := int64(0)
		step := func() {
			at.until(at.events.Now+rapid.Int64Range(0, 800).Draw(t, "later"), at.handle)
			n := state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node"))
			var alive []int32
			for id := range at.list {
				if at.list[id].runs() {
					alive = append(alive, int32(id))
				}
			}
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what == 0 && len(alive) > 0:
				at.kill(rapid.SampledFrom(alive).Draw(t, "killed"), "", true)
			case what == 1 && len(alive) > 0:
				// the fourth failure ends the job
				if id := rapid.SampledFrom(alive).Draw(t, "failed"); y.tried(at.list[id].task).failed < maxFailures-1 {
					at.fail(id)
				}
			case what == 2:
				at.loseNode(n)
				at.killLost(n)
				at.loseOutput(slot, n)
				at.fetches.comeBack(n)
			default:
				for _, k := range []state.Kind{state.Map, state.Reduce} {
					if at.view.Fits(n, y.id, k) && at.view.Waiting(y.id, k) > 0 {
						at.start(t, slot, k, at.view.NthWaiting(y.id, k, 0), n)
						launched++
					}
				}
			}
		}
		check := func() {
			used := make([]int32, nodes)
			seen := slices.Clone(at.idle)
			for id := range at.list {
				if a := &at.list[id]; a.runs() {
					seen = append(seen, int32(id))
					used[a.node]++
				}
			}
			slices.Sort(seen)
			if len(seen) != len(at.list) || len(slices.Compact(seen)) != len(at.list) || len(at.list)-len(at.idle) != at.running {
				t.Fatalf("of %d places, %v are idle, and %d attempts run", len(at.list), at.idle, at.running)
			}
			a := at.r.Attempts
			lost := int64(y.done[state.Map]+y.done[state.Reduce]) - a.Succeeded
			if ended := a.Succeeded + a.Failed + a.Killed; ended+int64(at.running) != launched || lost != 0 {
				t.Fatalf("%+v have ended and %d run, of %d that started; %v tasks are done", a, at.running, launched, y.done)
			}
			for n, x := range used {
				if free := at.view.Free(state.NodeID(n)); free.MemoryMB != 1024*(each-x) {
					t.Fatalf("node %d runs %d attempts, and has %v free", n, x, free)
				}
			}
			read := int64(0)
			for _, bytes := range at.r.Bytes.Read {
				read += bytes
			}
			if read != in*int64(y.done[state.Map]) || at.r.Bytes.MapOutput != out*int64(y.done[state.Map]) || y.outBytes != at.r.Bytes.MapOutput {
				t.Fatalf("%d maps are done: %d bytes read, %d of map output, %d for reduces", y.done[state.Map], read, at.r.Bytes.MapOutput, y.outBytes)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			step()
			check()
		}
		for id := range at.list {
			if at.list[id].runs() {
				at.kill(int32(id), "", true)
			}
		}
		check()
		if y.waiting != -1 || y.woken != -1 {
			t.Fatalf("reduces %d and %d wait, and none runs", y.waiting, y.woken)
		}
		at.until(at.events.Now+1e6, func(e kernel.Event) {
			if e.Kind() == kernel.FlowEnd {
				t.Fatalf("at %d ms a transfer ends, and no attempt runs", at.events.Now)
			}
		})
		if err := at.allFree(); err != nil {
			t.Fatal(err)
		}
	})
}

// Of two attempts at a task the one that ends first counts, and the other is killed. If one
// ends badly, the other goes on as the only one. Each gives back its own room.
func TestTwoAttempts(t *testing.T) {
	for _, x := range []struct {
		name  string
		do    func(at *attempts, first, second int32)
		want  Attempts
		alive int32 // the attempt that runs then, 1 or 2; 0: none
	}{
		{"the first succeeds", func(at *attempts, first, second int32) { at.succeed(first) }, Attempts{Succeeded: 1, Killed: 1}, 0},
		{"the second succeeds", func(at *attempts, first, second int32) { at.succeed(second) }, Attempts{Succeeded: 1, Killed: 1}, 0},
		{"the first fails", func(at *attempts, first, second int32) { at.fail(first) }, Attempts{Failed: 1}, 2},
		{"the second is killed", func(at *attempts, first, second int32) { at.kill(second, "", true) }, Attempts{Killed: 1}, 1},
		{"both are killed", func(at *attempts, first, second int32) { at.killAll(at.list[first].job, "", true) }, Attempts{Killed: 2}, 0},
	} {
		at := attemptsOf(t, &Config{Cluster: slots(2, 1), Costs: NoCosts()})
		j := simpleJob("a", 0, 1, 0, Work{FixedMs: 5000})
		slot := at.submit(t, &j)
		at.masters.up(slot)
		y := &at.jobs.list[slot]
		first := at.start(t, slot, state.Map, 0, 0)
		at.state.Hold(1, y.id, y.size[state.Map])
		y.speculative++
		second := at.launch(slot, state.Map, 0, 1)
		at.rest[first].other, at.rest[second].other = second, first
		at.list[first].marks, at.list[second].marks = doubled, doubled|speculative
		at.until(1000, at.handle)
		x.do(at, first, second)
		if at.r.Attempts != x.want || y.speculative != 0 {
			t.Errorf("%s: %+v, %d speculative; want %+v and none", x.name, at.r.Attempts, y.speculative, x.want)
		}
		for i, id := range []int32{first, second} {
			full := at.view.Free(state.NodeID(i)) != at.view.Capacity(state.NodeID(i))
			if alive := x.alive == int32(i+1); at.list[id].runs() != alive || full != alive {
				t.Errorf("%s: attempt %d runs %t, its node is full %t; want %t", x.name, i+1, at.list[id].runs(), full, alive)
			} else if a := &at.list[id]; alive && a.is(speculative|doubled) {
				t.Errorf("%s: attempt %d has the place of a second one: %+v", x.name, i+1, a)
			}
		}
		if waits := at.view.Waiting(y.id, state.Map) == 1; waits != (x.name == "both are killed") {
			t.Errorf("%s: the task waits %t", x.name, waits)
		}
	}
}

// A task is tried again after three failures, and the fourth fails the job. A kill does
// not count.
func TestFailures(t *testing.T) {
	at := attemptsOf(t, &Config{Cluster: slots(1, 1), Costs: NoCosts()})
	j := simpleJob("a", 0, 2, 0, Work{FixedMs: 5000})
	slot := at.submit(t, &j)
	at.masters.up(slot)
	got := ""
	for i := range 5 {
		id := at.start(t, slot, state.Map, 1, 0)
		if at.list[id].number != uint8(i) || at.list[id].is(rerun) != (i > 0) {
			t.Errorf("attempt %d has number %d, rerun %t", i, at.list[id].number, at.list[id].is(rerun))
		}
		if i == 2 {
			at.kill(id, "", true)
			continue
		}
		got += fmt.Sprint(at.fail(id), " ")
	}
	if got != "false false false true " || at.r.Attempts != (Attempts{Failed: 4, Killed: 1, Reruns: 4}) {
		t.Errorf("failures end the job: %s, %+v", got, at.r.Attempts)
	}
}

// Reduces wait for maps, and go on when enough more of these are done, all in the order in
// which they came to wait last; one that is killed leaves the others waiting.
func TestReducesWaitForMaps(t *testing.T) {
	at := attemptsOf(t, &Config{Cluster: slots(1, 20), Costs: NoCosts()})
	j := simpleJob("a", 0, 4, 3, Work{FixedMs: 1000, OutputBytes: 300})
	j.ReduceWork = []Work{{ComputeMs: 10}}
	slot := at.submit(t, &j)
	at.masters.up(slot)
	y := &at.jobs.list[slot]
	at.state.Ask(y.id, state.Reduce, 3)
	var reduces []int32
	for i := range state.TaskID(3) {
		reduces = append(reduces, at.start(t, slot, state.Reduce, 4+i, 0))
	}
	at.until(100, at.handle)
	waiting := func() (list []int32) {
		for id := y.waiting; id >= 0; id = at.rest[id].next {
			list = append(list, id)
		}
		return list
	}
	if got := waiting(); len(got) != 3 {
		t.Fatalf("reduces %v wait, want all three", got)
	}
	at.kill(reduces[1], "", true)
	if got := waiting(); !slices.Equal(got, []int32{reduces[2], reduces[0]}) {
		t.Fatalf("reduces %v wait, want %v without the one that was killed", got, reduces)
	}
	for m := range state.TaskID(4) {
		id := at.start(t, slot, state.Map, m, 0)
		at.succeed(id)
		if got, want := len(waiting()), 2; m < 3 && got != want {
			t.Errorf("after %d maps, %d reduces wait, want %d", m+1, got, want)
		}
	}
	at.until(200, at.handle)
	if y.done != [2]int32{4, 2} || at.r.Bytes.Shuffled != 800 {
		t.Errorf("%v tasks done, %d bytes fetched; want 4 maps, 2 reduces and two thirds of 1200 bytes", y.done, at.r.Bytes.Shuffled)
	}
}

// How an attempt ends that is in a record: as there, at the time from its launch; one that
// the record does not have runs as its work says.
func TestEndsAsRecorded(t *testing.T) {
	c := &Config{Cluster: slots(1, 4), Costs: NoCosts()}
	c.Costs.LaunchMs = 100
	at := attemptsOf(t, c)
	j := simpleJob("a", 0, 4, 0, Work{FixedMs: 5000})
	j.Pasts = []Past{
		{Task: 0, Outcome: traces.Failed, Ms: 700},
		{Task: 1, Outcome: traces.Killed, Ms: 300},
		{Task: 2, Outcome: traces.Succeeded, Ms: 900, SpeculateMs: 50},
	}
	slot := at.submit(t, &j)
	at.masters.up(slot)
	for m := range state.TaskID(4) {
		at.start(t, slot, state.Map, m, 0)
	}
	want := []string{
		fmt.Sprintf("%d 2 at 150", evCopy), fmt.Sprintf("%d 1 at 400", evKill), fmt.Sprintf("%d 0 at 800", evFail),
		fmt.Sprintf("%d 2 at 1000", evPhase), fmt.Sprintf("%d 3 at 5100", evPhase),
	}
	got := slices.DeleteFunc(at.until(6000, nil), func(s string) bool { return s == fmt.Sprintf("%d %d at 0", evAMBeat, slot) })
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// The youngest reduce is the one that started last, of those that are the only attempt.
func TestYoungestReduce(t *testing.T) {
	at := attemptsOf(t, &Config{Cluster: slots(1, 4), Costs: NoCosts()})
	j := simpleJob("a", 0, 1, 3, Work{FixedMs: 1})
	slot := at.submit(t, &j)
	at.masters.up(slot)
	if got := at.youngestReduce(slot); got != -1 {
		t.Errorf("reduce %d, and none runs", got)
	}
	at.state.Ask(at.jobs.list[slot].id, state.Reduce, 3)
	var ids [3]int32
	for i := range ids {
		at.until(int64(i)*10, nil)
		ids[i] = at.start(t, slot, state.Reduce, state.TaskID(1+i), 0)
	}
	at.list[ids[2]].marks |= speculative
	if got := at.youngestReduce(slot); got != ids[1] {
		t.Errorf("attempt %d, want %d", got, ids[1])
	}
	at.list[ids[2]].marks &^= speculative
	if got := at.youngestReduce(slot); got != ids[2] {
		t.Errorf("attempt %d, want %d", got, ids[2])
	}
	if got := at.youngestReduce(slot + 1); got != -1 {
		t.Errorf("attempt %d of a job that has none", got)
	}
}
