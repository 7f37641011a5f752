package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
	"heddle/traces"
)

// A table of jobs finds each by its number and by its id as long as it lives, counts their
// tasks, and gives a slot that is used again a new generation.
func TestJobsTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := state.New()
		must(s.AddNode("n", "r", state.Resource{MemoryMB: 1, VCores: 1}))
		var b jobs
		b.begin(s.View(), &Costs{}, 1, false)
		var alive []int32
		tasks := int64(0)
		before := map[int32]uint32{}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(alive) > 0 && rapid.Bool().Draw(t, "end") {
				k := rapid.IntRange(0, len(alive)-1).Draw(t, "which")
				j := &b.list[alive[k]]
				tasks -= int64(j.total[0] + j.total[1])
				s.EndJob(j.id)
				b.remove(alive[k])
				alive = slices.Delete(alive, k, k+1)
			} else {
				x := simpleJob("", 0, rapid.Int32Range(1, 5).Draw(t, "maps"), 1, Work{})
				x.ID = traces.JobID(rune('A' + i))
				id := must(s.Submit(&x.JobSpec))
				slot := b.add(id, &x, nil)
				j := &b.list[slot]
				if gen, used := before[slot]; used && gen == j.gen {
					t.Fatalf("slot %d is used again with generation %d", slot, gen)
				}
				before[slot] = j.gen
				if b.of(id) != j || j.name != x.ID {
					t.Fatalf("job %d is found as %q, want %q", id, b.of(id).name, x.ID)
				}
				alive, tasks = append(alive, slot), tasks+int64(x.Maps+1)
			}
			for c := range i + 1 {
				name := traces.JobID(rune('A' + c))
				if lives := slices.ContainsFunc(alive, func(slot int32) bool { return b.list[slot].name == name }); b.has(name) != lives {
					t.Fatalf("job %s: in the table %t, want %t", name, b.has(name), lives)
				}
			}
			if b.live != len(alive) || b.tasks != tasks {
				t.Fatalf("%d jobs of %d tasks, want %d of %d", b.live, b.tasks, len(alive), tasks)
			}
		}
	})
}

// A new job has nothing of the one whose memory it uses.
func TestJobsStartClean(t *testing.T) {
	var b jobs
	b.begin(nil, &Costs{AMStartMs: 7, FinishMs: 8}, 2, true)
	x := simpleJob("first", 0, 2, 2, Work{FixedMs: 5})
	x.ReduceShares, x.ReduceAskMs, x.AMStartMs, x.FinishMs = []int64{1, 2}, []int64{5}, 70, 80
	x.Pasts, x.Spread[0] = []Past{{}}, []Ratio{RatioOne}
	first := b.add(0, &x, nil)
	j := &b.list[first]
	if j.amStartMs != 70 || j.finishMs != 80 || len(j.askMs) != 1 || len(j.tries) != 4 || len(j.ran) != 2 || len(j.out) != 2 ||
		len(j.division) != 2 {
		t.Errorf("%+v: it lacks something of %+v", j, x)
	}
	j.out[1], j.outBytes, j.asked, j.up = 9, 9, 2, true
	j.tries[0].failed, j.ran[1].node = 3, 0
	b.remove(first)
	x = simpleJob("second", 0, 2, 2, Work{FixedMs: 5})
	if second := b.add(1, &x, nil); second != first {
		t.Fatalf("slot %d, want %d again", second, first)
	}
	if j.amStartMs != 7 || j.finishMs != 8 || j.askMs != nil || len(j.tries) != 0 || j.ran[1].node != state.None || j.out[1] != 0 ||
		j.outBytes != 0 || j.asked != 0 || j.up || len(j.division)+len(j.pasts)+len(j.spread[0]) != 0 {
		t.Errorf("%+v: it has something of the job before", j)
	}
}

// The parts of the map output that reduces fetch come to all of it, and are as the shares
// say: even without shares, else in proportion, up to a byte.
func TestPartsOfOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reduces := rapid.Int32Range(1, 50).Draw(t, "reduces")
		x := simpleJob("a", 0, 1, reduces, Work{})
		shares := make([]int64, reduces)
		for i := range shares {
			shares[i] = 1
		}
		if rapid.Bool().Draw(t, "shares") {
			for i := range shares {
				shares[i] = rapid.Int64Range(0, 1000).Draw(t, "share")
			}
			shares[0]++ // one has to be above 0
			x.ReduceShares = shares
		}
		var b jobs
		b.begin(nil, &Costs{}, 1, false)
		j := &b.list[b.add(0, &x, nil)]
		bytes := rapid.Int64Range(0, 1<<45).Draw(t, "bytes")
		got, all := int64(0), int64(0)
		for _, share := range shares {
			all += share
		}
		for i, share := range shares {
			part := j.part(bytes, int64(i))
			got += part
			if want := float64(bytes) * float64(share) / float64(all); float64(part) < want-1.01 || float64(part) > want+1.01 {
				t.Fatalf("reduce %d gets %d of %d bytes, want %.1f", i, part, bytes, want)
			}
		}
		if got != bytes {
			t.Fatalf("the parts of %d bytes come to %d", bytes, got)
		}
	})
}

// A reduce of a job with few reduces fetches sixteen times while the maps run, one of many
// about four times, more often towards the end; always once more after the last map.
func TestFetchSteps(t *testing.T) {
	for _, c := range []struct{ maps, reduces, least, most int32 }{
		{1600, 1, 16, 17},
		{1600, 16, 16, 17},
		{1600, 17, 4, 7},
		{1600, 400, 4, 7},
		{3, 1, 3, 3},
		{1, 100, 1, 1},
	} {
		x := simpleJob("a", 0, c.maps, c.reduces, Work{})
		var b jobs
		b.begin(nil, &Costs{}, 1, false)
		j := &b.list[b.add(0, &x, nil)]
		steps := int32(0)
		for done := range c.maps {
			if j.fetchStep(done) != j.fetchStep(done+1) {
				steps++
			}
		}
		if steps < c.least || steps > c.most || j.fetchStep(c.maps-1) == j.fetchStep(c.maps) {
			t.Errorf("%d maps, %d reduces: %d steps, want %d to %d, the last at the end", c.maps, c.reduces, steps, c.least, c.most)
		}
	}
}

// Attempts at a task are counted from the time on at which one has ended badly; before
// that there was one.
func TestTries(t *testing.T) {
	x := simpleJob("a", 0, 2, 1, Work{})
	var b jobs
	b.begin(nil, &Costs{}, 1, false)
	j := &b.list[b.add(0, &x, nil)]
	if j.try(1) != 0 || j.try(state.None) != 0 {
		t.Errorf("%d attempts are counted, before any is", j.try(1))
	}
	if x := j.tried(1); x.begun != 1 || x.failed != 0 {
		t.Errorf("%+v, want one attempt", *x)
	}
	j.tries[1].begun++
	if j.try(1) != 2 || j.try(0) != 0 || j.tried(1).begun != 2 || len(j.tries) != 3 {
		t.Errorf("%+v, want two attempts at the second of three tasks", j.tries)
	}
}

// The first entry of a list of work also stands for as many tasks in front as have none. Where
// the simulator remembers the nodes with the input, they count, and not those that the
// scheduler knows.
func TestWorkAndReplicas(t *testing.T) {
	s := stateOf(t, 3)
	x := simpleJob("a", 0, 4, 2, Work{InputBytes: 1}, Work{InputBytes: 2}, Work{InputBytes: 3})
	x.ReduceWork = []Work{{OutputBytes: 9}}
	x.Replicas.Add(0, 1)
	id := must(s.Submit(&x.JobSpec))
	var b jobs
	b.begin(s.View(), &Costs{}, 1, false)
	j := &b.list[b.add(id, &x, nil)]
	for m, want := range []int64{1, 1, 2, 3} {
		if got := j.workOf(state.Map, state.TaskID(m)).InputBytes; got != want {
			t.Errorf("map %d reads %d bytes, want %d", m, got, want)
		}
	}
	for r := range state.TaskID(2) {
		if got := j.workOf(state.Reduce, 4+r).OutputBytes; got != 9 || j.index(state.Reduce, 4+r) != int32(r) {
			t.Errorf("reduce %d writes %d bytes, want 9", r, got)
		}
	}
	if got := b.replicas(j, 0); !slices.Equal(got, []state.NodeID{0, 1}) || len(b.replicas(j, 3)) > 0 {
		t.Errorf("the input of map 0 is on %v, of map 3 on %v; want 0 and 1, and none", got, b.replicas(j, 3))
	}
	j.replicas = &state.Hosts{}
	j.replicas.Add(2)
	if got := b.replicas(j, 0); !slices.Equal(got, []state.NodeID{2}) {
		t.Errorf("the input of map 0 is on %v, and was remembered to be on 2", got)
	}
}
