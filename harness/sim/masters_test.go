package sim

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
)

// mastersOf returns ApplicationMasters apart from the rest of a simulator.
func mastersOf(t tester, c *Config) *masters {
	am := new(masters)
	am.begin(apart(t, c))
	return am
}

// An ApplicationMaster's heartbeats are at multiples of its interval after the first one,
// each called for once, and after the time at which it was called for. One that is not up
// has none.
func TestMasterBeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := rapid.Int32Range(1, 3000).Draw(t, "interval")
		am := mastersOf(t, &Config{Cluster: slots(1, 1), Costs: Costs{AMBeatMs: interval}})
		j := simpleJob("a", 0, 1, 1, Work{})
		slot := am.submit(t, &j)
		am.callBeat(slot)
		first := rapid.Int64Range(0, 5000).Draw(t, "up")
		if got := am.until(first, nil); len(got) > 0 {
			t.Fatalf("events %q of a master that is not up", got)
		}
		am.up(slot)
		for range 5 {
			now := am.events.Now + rapid.Int64Range(0, 4000).Draw(t, "later")
			if len(am.until(now, nil)) > 0 { // the one that registration called for
				am.jobs.list[slot].beatSet = false
			}
			for range 3 {
				am.callBeat(slot)
			}
			passed := (now - first) / int64(interval)
			want := first + (passed+1)*int64(interval)
			if got := am.until(want, nil); !slices.Equal(got, []string{fmt.Sprintf("%d %d at %d", evAMBeat, slot, want)}) {
				t.Fatalf("called at %d, up at %d, every %d ms: %q, want one heartbeat at %d", now, first, interval, got, want)
			}
			am.jobs.list[slot].beatSet = false
		}
	})
}

// ApplicationMasters that wait start in the order of their jobs, where there is room, as
// long as all together take no more than their share of the memory. One may always run.
// What leaves gives back all that it took.
func TestMastersWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.SampledFrom([]float64{0, 0.1, 0.3, 0.7, 1}).Draw(t, "share")
		am := mastersOf(t, &Config{Cluster: slots(3, 4), Costs: Costs{AMShare: share}})
		var waiting, running []int32
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				j := simpleJob("a", 0, 1, 0, Work{})
				j.AMSize = state.Resource{MemoryMB: 512 * rapid.Int32Range(1, 6).Draw(t, "size"), VCores: 1}
				slot := am.submit(t, &j)
				_ = am.admit(slot)
				waiting = append(waiting, slot)
			case 1:
				n := state.NodeID(rapid.IntRange(0, 2).Draw(t, "node"))
				free, used := am.view.Free(n), am.usedMB
				am.place(n)
				for _, slot := range slices.Clone(waiting) { // the first that waits and may start has started
					j := &am.jobs.list[slot]
					may := free.Holds(j.amSize) && (used == 0 || float64(used+int64(j.amSize.MemoryMB)) <= share*3*4096)
					if may != (j.amNode == n) {
						t.Fatalf("job %d of %v on node %d with %v free, %d MB in use: started %t, want %t", slot, j.amSize, n, free, used, j.amNode == n, may)
					}
					if may {
						free, used = free.Sub(j.amSize), used+int64(j.amSize.MemoryMB)
						waiting, running = slices.DeleteFunc(waiting, func(x int32) bool { return x == slot }), append(running, slot)
					}
				}
			case 2:
				if len(running) > 0 {
					i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
					am.leave(&am.jobs.list[running[i]], false)
					am.leave(&am.jobs.list[running[i]], false) // once more changes nothing
					running = slices.Delete(running, i, i+1)
				}
			}
			sum := int64(0)
			for _, slot := range running {
				sum += int64(am.jobs.list[slot].amSize.MemoryMB)
			}
			if am.usedMB != sum || !slices.Equal(am.queued, waiting) {
				t.Fatalf("%d MB in use, %v wait; want %d, %v", am.usedMB, am.queued, sum, waiting)
			}
		}
		for _, slot := range running {
			am.leave(&am.jobs.list[slot], false)
		}
		if err := am.allFree(); err != nil || am.usedMB != 0 {
			t.Fatalf("after all have ended: %v, %d MB in use", err, am.usedMB)
		}
	})
}

// ApplicationMasters beside the nodes start in the order of their jobs, as many at a time
// as have room there. One may always run. What they take is no headroom of any job.
func TestMastersWaitBeside(t *testing.T) {
	for _, x := range []struct {
		name            string
		mastersMB, amMB int32
		atOnce          int
	}{
		{"two have room", 1200, 512, 2},
		{"all have room", 2048, 512, 4},
		{"none has room", 256, 512, 1},
		{"nobody knows what one takes", 256, 0, 4},
		{"nobody knows what room there is", 0, 512, 4},
	} {
		cluster := slots(1, 1)
		cluster.MastersMB = x.mastersMB
		am := mastersOf(t, &Config{Cluster: cluster, Costs: Costs{AMBesideMB: x.amMB}})
		free := am.view.Total().MemoryMB
		var list []int32
		for range 4 {
			j := simpleJob("a", 0, 1, 0, Work{})
			slot := am.submit(t, &j)
			_ = am.admit(slot)
			list = append(list, slot)
		}
		for ended := range list {
			for i, slot := range list {
				if want := i >= ended && i < ended+x.atOnce; am.jobs.list[slot].amBeside != want {
					t.Errorf("%s: ApplicationMaster %d runs %t after %d have ended, want %t", x.name, i, !want, ended, want)
				}
			}
			left := max(0, x.mastersMB-x.amMB*int32(min(x.atOnce, 4-ended)))
			if got := am.headroomMB(&am.jobs.list[list[ended]]); got != free+left {
				t.Errorf("%s: a headroom of %d MB after %d have ended, want %d", x.name, got, ended, free+left)
			}
			am.leave(&am.jobs.list[list[ended]], false)
			am.leave(&am.jobs.list[list[ended]], false) // once more changes nothing
		}
		if len(am.beside.queued) > 0 || am.beside.usedMB != 0 {
			t.Errorf("%s: %d wait and %d MB are in use after all have ended", x.name, len(am.beside.queued), am.beside.usedMB)
		}
	}
}

// A job of 20 maps and 10 reduces has a cluster of 10 slots for itself. How many reduces
// it asks for is worked out by the rule of scheduleReduces by hand: of all memory, the
// share of the maps that are done, a half at most, is for reduces, or what the maps leave.
func TestRampUpByHand(t *testing.T) {
	for _, x := range []struct {
		done, running int32
		slowStart     float32
		want          int32
	}{
		{0, 10, 0, 0},     // a share of 0
		{1, 10, 0, 0},     // half a slot
		{5, 10, 0, 2},     // a quarter of 10 slots, rounded down
		{4, 10, 0.25, 0},  // 5 maps have to be done before
		{6, 10, 0.25, 3},  // 3 of 10 slots
		{10, 5, 0, 5},     // a half of 10 slots; the other 5 run maps
		{15, 1, 0, 5},     // a half; the maps need the other 5
		{18, 1, 0, 8},     // two maps leave 8
		{19, 0, 0, 9},     // one map waits
		{12, 8, 0, 10},    // no map waits: all
		{20, 0, 1, 10},    // all are done
		{19, 1, 1, 0},     // slow start of 1 waits for the last map
		{19, 1, 0.95, 10}, // no map waits
	} {
		am := mastersOf(t, &Config{Cluster: slots(1, 10), Costs: NoCosts()})
		j := simpleJob("a", 0, 20, 10, Work{})
		j.SlowStart = x.slowStart
		slot := am.submit(t, &j)
		am.until(5, nil)
		am.up(slot)
		y := &am.jobs.list[slot]
		for m := range state.TaskID(x.done + x.running) {
			mustDo(t, am.state.Start(y.id, m, 0))
			if m < state.TaskID(x.done) {
				mustDo(t, am.state.Finish(y.id, m))
				y.done[state.Map]++
			}
		}
		am.rampUp(y)
		if got := am.view.Waiting(y.id, state.Reduce); got != x.want || y.asked != x.want {
			t.Errorf("%d maps done, %d run, slow start %v: asks for %d reduces, %d in the cluster; want %d", x.done, x.running, x.slowStart, y.asked,
				got, x.want)
		}
	}
}

// A job of which a map waits and none runs withdraws its requests for reduces, and has
// to kill one if there is no room for a map, or else after 300 s.
func TestStarve(t *testing.T) {
	for _, x := range []struct {
		name          string
		slots         int
		mastersMB     int32
		reduces, maps int32 // that run
		afterMs       int64
		starve        bool
		kill          int32
	}{
		{"a map runs", 3, 0, 1, 1, 0, false, 0},
		{"there is room", 3, 0, 2, 0, 0, true, 0},
		{"there is room, for 299 s", 3, 0, 2, 0, 299_000, true, 0},
		{"there is room, for 300 s", 3, 0, 2, 0, 300_000, true, 2},
		{"there is none", 2, 0, 2, 0, 0, true, 1},
		{"there is room for ApplicationMasters alone", 2, 4096, 2, 0, 0, true, 0},
		{"there is room for ApplicationMasters alone, for 300 s", 2, 4096, 2, 0, 300_000, true, 2},
		{"there is too little room for ApplicationMasters alone", 2, 1023, 2, 0, 0, true, 2},
		{"no reduce was asked for", 2, 0, 0, 0, 0, false, 0},
	} {
		cluster := slots(1, x.slots)
		cluster.MastersMB = x.mastersMB
		am := mastersOf(t, &Config{Cluster: cluster, Costs: NoCosts()})
		j := simpleJob("a", 0, 2, 5, Work{})
		slot := am.submit(t, &j)
		am.up(slot)
		y := &am.jobs.list[slot]
		if x.reduces > 0 {
			y.asked = 4
			am.state.Ask(y.id, state.Reduce, y.asked)
		}
		for i := range state.TaskID(x.maps) {
			mustDo(t, am.state.Start(y.id, i, 0))
		}
		for i := range state.TaskID(x.reduces) {
			mustDo(t, am.state.Start(y.id, 2+i, 0))
		}
		am.until(x.afterMs, nil)
		starve, kill := am.starve(y)
		if starve != x.starve || kill != x.kill {
			t.Errorf("%s: starves %t, kills %d; want %t, %d", x.name, starve, kill, x.starve, x.kill)
		}
		if want := (4 - x.reduces) * min(1, x.reduces); !starve && am.view.Waiting(y.id, state.Reduce) != want || starve &&
			(am.view.Waiting(y.id, state.Reduce) != 0 || y.asked != x.reduces) {
			t.Errorf("%s: %d reduces wait, %d were asked for", x.name, am.view.Waiting(y.id, state.Reduce), y.asked)
		}
	}
}

// The 300 s of a map that is put back begin anew, unless another one has waited all along.
func TestStarveAgain(t *testing.T) {
	for _, x := range []struct {
		name    string
		waits   state.TaskID // maps that wait all along
		afterMs int64        // after the map was put back
		kills   bool
	}{
		{"it alone, at once", 0, 0, false},
		{"it alone, for 299 s", 0, 299_000, false},
		{"it alone, for 300 s", 0, 300_000, true},
		{"another one, all along", 1, 0, true},
	} {
		am := mastersOf(t, &Config{Cluster: slots(1, 3), Costs: NoCosts()})
		j := simpleJob("a", 0, 2, 2, Work{})
		slot := am.submit(t, &j)
		am.up(slot)
		y := &am.jobs.list[slot]
		y.asked = 1
		am.state.Ask(y.id, state.Reduce, y.asked)
		for _, task := range []state.TaskID{1, 0, 2}[x.waits:] {
			mustDo(t, am.state.Start(y.id, task, 0))
		}
		const lostMs = 400_000
		am.until(lostMs, nil)
		mustDo(t, am.askAgain(y, 0, true))
		if x.waits == 0 {
			mustDo(t, am.askAgain(y, 1, true))
		}
		am.until(lostMs+x.afterMs, nil)
		if starve, kill := am.starve(y); !starve || kill > 0 != x.kills {
			t.Errorf("%s: starves %t, kills %d; want it to starve, and to kill %t", x.name, starve, kill, x.kills)
		}
	}
}

// A job ends once, when all is done and its ApplicationMaster is up, so long after that as
// this one takes to finish.
func TestEndIfDone(t *testing.T) {
	am := mastersOf(t, &Config{Cluster: slots(1, 1), Costs: Costs{FinishMs: 500}})
	j := simpleJob("a", 0, 1, 0, Work{})
	slot := am.submit(t, &j)
	y := &am.jobs.list[slot]
	am.endIfDone(slot)
	y.done = y.total
	am.endIfDone(slot)
	if got := am.until(1000, nil); len(got) > 0 || y.ended {
		t.Fatalf("events %q without an ApplicationMaster, ended %t", got, y.ended)
	}
	am.up(slot)
	am.endIfDone(slot)
	if got := am.until(2000, nil); !slices.Equal(got, []string{fmt.Sprintf("%d %d at 1500", evEndJob, slot)}) {
		t.Errorf("events %q, want one end at 1500 ms", got)
	}
}

// Recorded times at which a job asks for reduces count from when its first ApplicationMaster
// is up, and are events of a generation. Requests can be withdrawn.
func TestRecordedAsks(t *testing.T) {
	am := mastersOf(t, &Config{Cluster: slots(1, 4), Costs: NoCosts()})
	j := simpleJob("a", 0, 1, 3, Work{})
	j.ReduceAskMs = []int64{0, 400, 1500}
	slot := am.submit(t, &j)
	y := &am.jobs.list[slot]
	if got := am.until(500, nil); len(got) > 0 {
		t.Fatalf("events %q before the ApplicationMaster is up", got)
	}
	am.up(slot)
	if y.asked != 1 || am.view.Waiting(y.id, state.Reduce) != 1 {
		t.Errorf("asked for %d reduces, want the one at its start", y.asked)
	}
	if got := am.until(1000, nil); !slices.Equal(got,
		[]string{fmt.Sprintf("%d %d at 500", evAMBeat, slot), fmt.Sprintf("%d %d at 900", evAsk, slot)}) {
		t.Errorf("events %q, want a heartbeat now and the time 900", got)
	}
	am.unaskAll(y)
	if am.view.Waiting(y.id, state.Reduce)+am.view.Waiting(y.id, state.Map) != 0 {
		t.Error("requests are left")
	}
	y.up, y.beatSet, y.asked = false, false, 0
	y.gen++
	am.until(1500, nil)
	am.up(slot) // the next ApplicationMaster
	if y.asked != 2 || am.view.Waiting(y.id, state.Map) != 1 {
		t.Errorf("asked for %d reduces, want the two whose times have passed, and the map", y.asked)
	}
	if got := am.until(3000, nil); len(got) != 3 || got[2] != fmt.Sprintf("%d %d at 2000", evAsk, slot) {
		t.Errorf("events %q, want the time 2000 twice: of the lost ApplicationMaster and of this one", got)
	}
}

// ApplicationMasters on a machine that runs all nodes share its cores as they start: one
// uses a core and a half of two for 2 s, so two at once have two thirds of what they want.
// Beside eight running maps, one has as much as all of them, and so have eight together.
func TestMastersShareCores(t *testing.T) {
	for _, c := range []struct {
		name      string
		hostCores float64
		at        []int64 // submissions, in ms
		want      []int64 // from submission to the start of the first task
	}{
		{"cores unknown", 0, []int64{0, 0, 0}, []int64{2000, 2000, 2000}},
		{"one", 2, []int64{0}, []int64{2000}},
		{"two", 2, []int64{0, 0}, []int64{3000, 3000}},
		{"three", 2, []int64{0, 0, 0}, []int64{4500, 4500, 4500}},
		{"three on many cores", 8, []int64{0, 0, 0}, []int64{2000, 2000, 2000}},
		{"one on less than it uses", 1, []int64{0}, []int64{2000}},
		{"beside eight maps", 2, []int64{0, 10_000}, []int64{2000, 3000}},
		{
			"eight beside eight maps", 2,
			[]int64{0, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000},
			[]int64{2000, 24_000, 24_000, 24_000, 24_000, 24_000, 24_000, 24_000, 24_000},
		},
		{"one after another", 2, []int64{0, 1000}, []int64{2500, 3000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := slots(4, 32) // room for the tasks of all
			cluster.HostCores = c.hostCores
			source := &Jobs{}
			for i, at := range c.at {
				source.List = append(source.List, simpleJob(string(rune('a'+i)), at, 8, 0, Work{ComputeMs: 20_000}))
			}
			costs := NoCosts()
			costs.AMStartMs = 2000
			r := must(Run(&Config{Cluster: cluster, Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: costs}))
			for i, want := range c.want {
				if got := r.Jobs[i].StartMs - r.Jobs[i].SubmitMs; got < want || got > want+10 {
					t.Errorf("ApplicationMaster %d took %d ms to start, want %d", i, got, want)
				}
			}
		})
	}
}
