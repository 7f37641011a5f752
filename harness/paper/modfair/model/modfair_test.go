package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// pooled is a cluster of nodes with slots, for tests of fair1 and modfair.
type pooled struct {
	t testing.TB
	s *state.State
	v *state.View
	m *fair1
}

func newPooled(t testing.TB, model string, p sched.Params, nodes int, maps, reduces int32) *pooled {
	t.Helper()
	m := errtest.Must(sched.New(model, p))
	w := &pooled{t: t, s: state.New(), m: m.(sched.PerNode).NodeModel.(*fair1)}
	addNodes(t, w.s, nodes, 64)
	w.s.SetSlots(maps, reduces)
	w.v = w.s.View()
	return w
}

// job submits a job with its input on node 0 and has its first running maps start
// on the nodes in turn, decided by nobody.
func (w *pooled) job(pool string, maps, reduces int32, running int) state.JobID {
	w.t.Helper()
	spec := state.JobSpec{Name: pool, Pool: pool, Maps: maps, Reduces: reduces, MapSize: slot, ReduceSize: slot}
	for range maps {
		spec.Replicas.Add(0)
	}
	id := submit(w.t, w.s, &spec)
	w.s.Ask(id, state.Reduce, reduces)
	for t := range running {
		if err := w.s.Start(id, state.TaskID(t), state.NodeID(t%w.v.Nodes())); err != nil {
			w.t.Fatal(err)
		}
	}
	return id
}

// update has the model compute pools and slots at once.
func (w *pooled) update() {
	w.m.slots[state.Map], _ = clusterSlots(w.v, state.Map)
	w.m.slots[state.Reduce], _ = clusterSlots(w.v, state.Reduce)
	w.m.update(w.v)
}

// launch has the model count a map of the job that started at this level, after its job
// or pool had waited so many ms.
func (w *pooled) launch(id state.JobID, ms int64, level state.Level) {
	w.m.patienceOf(w.v, id).wait = ms * 1e6
	w.m.changed.start(w.v, 0, w.m, w.m.poolOf(w.v, id), id, 0, level)
}

func (w *pooled) names(pools []*pool) string {
	var names []string
	for _, p := range pools {
		names = append(names, p.name)
	}
	return strings.Join(names, " ")
}

// TestClassification has M1's examples: sizes 6 to 25 on nodes with 2 map slots,
// nine equal jobs on nodes with 4, and jobs at the threshold.
func TestClassification(t *testing.T) {
	for _, c := range []struct {
		name          string
		slots         int32
		sizes         []int32
		shared        string // the jobs in sharedPool, by number
		maps, reduces int32  // what sharedPool may run
	}{
		{"one small of five", 2, []int32{6, 10, 16, 21, 25}, "[0]", 3, 1},
		{"all equal", 4, []int32{6, 6, 6, 6, 6, 6, 6, 6, 6}, "[]", 0, 0},
		{"1/2 is not above 1/2", 2, []int32{6, 10, 10, 6}, "[0 3]", 3, 1},
		{"3/5 is above 1/2", 2, []int32{6, 6, 6, 10, 10}, "[]", 0, 0},
		{"one job left", 2, []int32{25}, "[]", 0, 0},
		{"one slot a node", 1, []int32{6, 6}, "[0 1]", 3, 1},
	} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m1"}, 8, c.slots, 1)
		for _, size := range c.sizes {
			w.job("p", size, 1, 0)
		}
		w.update()
		shared := []state.JobID{}
		for id := range state.JobID(len(c.sizes)) {
			if w.m.jobs.Of(id).shared {
				shared = append(shared, id)
			}
		}
		if got, most := fmt.Sprint(shared), w.m.shared.most; got != c.shared || most != [2]int32{c.maps, c.reduces} {
			t.Errorf("%s: jobs %s are in sharedPool, which may run %v; want %s and %d %d", c.name, got, most, c.shared, c.maps, c.reduces)
		}
	}
}

// TestSharedPoolIsKept has the small job end: the next one is the smallest, and
// sharedPool keeps its slots, or gets its own number with grant=each.
func TestSharedPoolIsKept(t *testing.T) {
	for grant, want := range map[string]int32{"once": 3, "each": 5} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m1", "grant": grant}, 8, 2, 1)
		w.job("a", 6, 0, 0)
		next := w.job("b", 10, 0, 0)
		w.job("c", 16, 0, 0)
		w.update()
		w.s.EndJob(0)
		w.update()
		if got := w.m.shared.most[state.Map]; got != want || !w.m.jobs.Of(next).shared {
			t.Errorf("grant %s: sharedPool has %d slots and holds the second job: %v; want %d", grant, got, w.m.jobs.Of(next).shared, want)
		}
	}
}

// TestPoolSlots has M2's example, in all three ways of rounding, and a rule of
// the paper: what is left after the caps goes to the largest remainder.
func TestPoolSlots(t *testing.T) {
	for _, c := range []struct {
		round   string
		slots   int64
		pending []int64
		most    int64
		want    []int64
	}{
		{"remainder", 13, []int64{10, 30, 20}, 6, []int64{2, 6, 5}},
		{"floor", 13, []int64{10, 30, 20}, 6, []int64{2, 6, 4}},
		{"ceil", 13, []int64{10, 30, 20}, 6, []int64{3, 6, 5}},
		{"remainder", 13, []int64{10, 30, 20}, 100, []int64{2, 7, 4}},
		{"remainder", 1, []int64{1, 1}, 6, []int64{1, 0}},
		{"floor", 1, []int64{1, 1}, 6, []int64{0, 0}},
		{"remainder", 32, []int64{54, 54, 54}, 6, []int64{6, 6, 6}},
		{"remainder", 8, []int64{0, 0}, 6, []int64{0, 0}},
		{"remainder", 8, []int64{0, 3}, 6, []int64{0, 6}},
	} {
		var pools []slotShare
		for _, pending := range c.pending {
			pools = append(pools, slotShare{pending: pending, most: c.most})
		}
		divideSlots(c.slots, pools, c.round)
		var got []int64
		for _, p := range pools {
			got = append(got, p.slots)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d slots for %v waiting, at most %d: %v, want %v", c.round, c.slots, c.pending, c.most, got, c.want)
		}
	}
}

// TestDivideSlots has no pool get more than its most, and with remainders as much
// given as there is and pools may have; a pool with more waiting gets no less.
func TestDivideSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) slotShare {
			return slotShare{pending: rapid.Int64Range(0, 50).Draw(t, "pending"), most: rapid.Int64Range(0, 20).Draw(t, "most")}
		}), 1, 6).Draw(t, "pools")
		slots := rapid.Int64Range(0, 64).Draw(t, "slots")
		divideSlots(slots, pools, "remainder")
		given, possible := int64(0), int64(0)
		for _, p := range pools {
			if p.slots < 0 || p.slots > p.most || p.pending == 0 && p.slots > 0 {
				t.Fatalf("%+v", p)
			}
			given += p.slots
			if p.pending > 0 {
				possible += p.most
			}
		}
		if want := min(slots, possible); given != want {
			t.Fatalf("%d slots given, want %d: %+v", given, want, pools)
		}
		for _, a := range pools {
			for _, b := range pools {
				if a.pending > b.pending && a.slots < b.slots && a.slots < a.most {
					t.Fatalf("%+v has more waiting than %+v and got less", a, b)
				}
			}
		}
	})
}

// TestGrants has the ways to divide slots while tasks run: 16 slots, pools of at
// most 6 that run 4 and 1 and have 10 each waiting.
func TestGrants(t *testing.T) {
	for share, want := range map[string][2]int32{
		"total":    {6, 6}, // 16 by halves, cut at 6
		"free":     {6, 6}, // 11 free: 6 and 5 more, cut at 2 and 5
		"freeOnly": {10, 6},
	} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m2", "share": share, "maxMaps": "*=6"}, 8, 2, 1)
		w.job("a", 14, 0, 4)
		w.job("b", 11, 0, 1)
		w.update()
		got := [2]int32{w.m.pools[0].most[state.Map], w.m.pools[1].most[state.Map]}
		if got != want {
			t.Errorf("share %s: %v, want %v", share, got, want)
		}
	}
}

// TestJobOrder has M3's example for jobs: waiting and running 4/2, 8/1 and 8/3.
func TestJobOrder(t *testing.T) {
	for most, want := range map[string]string{"first": "[1 2 0]", "last": "[0 1 2]"} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m3", "mostPending": most}, 8, 4, 1)
		w.job("p", 6, 0, 2)
		w.job("p", 9, 0, 1)
		w.job("p", 11, 0, 3)
		w.update()
		if got := fmt.Sprint(w.m.sortJobs(w.v, state.Map, w.m.pools[0])); got != want {
			t.Errorf("most waiting %s: jobs %s, want %s", most, got, want)
		}
	}
}

// TestPoolOrder has M3's example for pools, with minimum 3: running and waiting
// 2/9 (2 <= 3), 3/1 (3 > 1) and 5/9 (5 > 3).
func TestPoolOrder(t *testing.T) {
	w := newPooled(t, "modfair", sched.Params{"mechanisms": "m3", "minMaps": "*=3"}, 8, 4, 1)
	w.job("P3", 14, 0, 5)
	w.job("P2", 4, 0, 3)
	w.job("P1", 11, 0, 2)
	w.job("P0", 2, 0, 2) // has nothing waiting
	w.update()
	if got, want := w.names(w.m.sortPools(state.Map)), "P1 P2 P3"; got != want {
		t.Errorf("pools %s, want %s", got, want)
	}
}

// TestSharedPlace has sharedPool first, last, or among the pools by its slots as
// minimum.
func TestSharedPlace(t *testing.T) {
	for place, want := range map[string]string{"first": "sharedPool a b", "last": "a b sharedPool", "sorted": "a sharedPool b"} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m1,m3", "sharedPlace": place, "minMaps": "*=3"}, 8, 2, 1)
		w.job("a", 20, 0, 0)
		w.job("b", 20, 0, 3)
		w.job("b", 4, 0, 1)
		w.update()
		if got := w.names(w.m.sortPools(state.Map)); got != want {
			t.Errorf("sharedPool %s: %s, want %s", place, got, want)
		}
	}
}

// TestLearnedDelays has M4's example: waits of 0, 300 and 900 ms are a delay of
// 400 ms, and 3000 ms stands for what did not happen yet.
func TestLearnedDelays(t *testing.T) {
	for _, owner := range []string{"pool", "job"} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m4", "owner": owner, "pick": "next"}, 8, 4, 1)
		id := w.job("p", 9, 0, 0)
		w.update()
		for _, ms := range []int64{0, 300, 900} {
			w.launch(id, ms, state.LevelNode)
		}
		w.launch(id, 7000, state.LevelOff) // in neither mean
		if got := w.m.Notes(); got["nodeDelayMs"] != 400 || got["rackDelayMs"] != 3000 {
			t.Errorf("owner %s: delays %v and %v ms, want 400 and 3000", owner, got["nodeDelayMs"], got["rackDelayMs"])
		}
	}
	w := newPooled(t, "modfair", sched.Params{
		"mechanisms": "m4", "wait": "pending", "delayMean": "recent", "delayWindow": "2",
		"emptyDelayMs": "0",
	}, 8, 4, 1)
	w.s.SetNow(1e9)
	id := w.job("p", 9, 0, 0)
	w.update()
	for _, ms := range []int64{100, 500} {
		w.s.SetNow((1000 + ms) * 1e6)
		w.launch(id, 7000, state.LevelRack)
	}
	// (100/2 + 500) / (1/2 + 1)
	if got := w.m.Notes(); got["nodeDelayMs"] != 0 || got["rackDelayMs"] != 366 {
		t.Errorf("recent delays %v and %v ms, want 0 and 366", got["nodeDelayMs"], got["rackDelayMs"])
	}
}

// TestDelaysCollapse has M4 switch the delays off: a job that need not wait adds
// 0, and the delay bounds what a job that must wait can add.
func TestDelaysCollapse(t *testing.T) {
	w := newPooled(t, "modfair", sched.Params{"mechanisms": "m4"}, 4, 2, 1)
	w.job("p", 60, 0, 0)
	var offers sched.Offers
	for beat := range 400 {
		w.s.SetNow(int64(beat) * 75e6)
		n := state.NodeID(beat % 4)
		for task := range state.TaskID(60) {
			if w.v.RunsOn(0, task) == n && beat%32 >= 28 {
				errtest.None(t, w.s.Finish(0, task))
			}
		}
		offers.Heartbeat(sched.PerNode{NodeModel: w.m}, w.v, n, func(d sched.Decision) bool { return w.s.Start(d.Job, d.Task, d.Node) == nil })
	}
	if got := w.m.Notes(); got["nodeDelayMs"] > 300 || w.v.Done(0, state.Map) == 0 {
		t.Errorf("after %d maps the node delay is %v ms, want it to have fallen to 300 or less from 3000", w.v.Done(0, state.Map),
			got["nodeDelayMs"])
	}
}

// TestTable3 has the paper's Table 3, row by row, from VERY_HIGH to VERY_LOW.
func TestTable3(t *testing.T) {
	const node, rack, none = state.LevelNode, state.LevelRack, state.LevelOff
	for _, c := range []struct {
		last, now state.Level
		want      string
	}{
		{node, node, "VERY_HIGH HIGH NORMAL LOW VERY_LOW"},
		{node, rack, "HIGH NORMAL LOW VERY_LOW LOW"},
		{node, none, "NORMAL LOW VERY_LOW VERY_LOW LOW"},
		{rack, node, "HIGH VERY_HIGH HIGH NORMAL LOW"},
		{rack, rack, "VERY_HIGH HIGH NORMAL LOW VERY_LOW"},
		{rack, none, "HIGH NORMAL LOW VERY_LOW LOW"},
		{none, node, "HIGH VERY_HIGH VERY_HIGH HIGH NORMAL"}, // repaired
		{none, rack, "HIGH VERY_HIGH HIGH NORMAL LOW"},
		{none, none, "VERY_HIGH HIGH NORMAL LOW VERY_LOW"},
	} {
		row := func(c *mechanisms, last, now state.Level) string {
			var list []string
			for p := veryHigh; p >= veryLow; p-- {
				list = append(list, c.nextPriority(p, last, now).String())
			}
			return strings.Join(list, " ")
		}
		if got := row(&mechanisms{}, c.last, c.now); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.last, c.now, got, c.want)
		}
		want := c.want
		if c.last == none && c.now == node {
			want = "HIGH NORMAL LOW VERY_LOW LOW"
		}
		if got := row(&mechanisms{modfairParams: modfairParams{Table3: "printed"}}, c.last, c.now); got != want {
			t.Errorf("printed, %v to %v: %s, want %s", c.last, c.now, got, want)
		}
		if c.last == c.now {
			want = "HIGH HIGH NORMAL LOW LOW"
			if got := row(&mechanisms{modfairParams: modfairParams{EndLevel: "prose"}}, c.last, c.now); got != want {
				t.Errorf("prose, %v to %v: %s, want %s", c.last, c.now, got, want)
			}
		}
	}
}

// TestPriorities has M5's example: node, rack, off, node from NORMAL.
func TestPriorities(t *testing.T) {
	for table, want := range map[string]string{"repaired": "NORMAL LOW VERY_LOW NORMAL", "printed": "NORMAL LOW VERY_LOW LOW"} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m5", "table3": table}, 8, 4, 1)
		id := w.job("p", 9, 0, 0)
		w.update()
		var got []string
		for _, level := range []state.Level{state.LevelNode, state.LevelRack, state.LevelOff, state.LevelNode} {
			w.launch(id, 0, level)
			got = append(got, w.m.priority(w.v, id).String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", table, got, want)
		}
	}
}

// TestEmptyGrants has m2 count the updates that leave a waiting pool without a
// slot, and atLeastOne prevent them.
func TestEmptyGrants(t *testing.T) {
	for least, want := range map[string]struct {
		grants float64
		most   int32
	}{"false": {1, 0}, "true": {1, 1}} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m2", "share": "total", "atLeastOne": least}, 1, 2, 1)
		w.job("few", 1, 0, 0)
		w.job("many", 90, 0, 0)
		w.update()
		if got := w.m.Notes()["emptyGrants"]; got != want.grants || w.m.pools[0].most[state.Map] != want.most {
			t.Errorf("atLeastOne %s: %v empty grants, %d slots; want %+v", least, got, w.m.pools[0].most[state.Map], want)
		}
	}
}

// TestOwner has two jobs wait in one pool, until one starts a map: with owner=pool, that ends
// the wait of both. After the delays, maps of both jobs are drawn with owner=pool, and only the
// asked job's with owner=job.
func TestOwner(t *testing.T) {
	for owner, want := range map[string]struct {
		waitMs int64
		jobs   string
	}{"pool": {0, "[30 10]"}, "job": {100, "[0 10]"}} {
		w := newPooled(t, "modfair", sched.Params{"mechanisms": "m4", "owner": owner}, 8, 4, 1)
		first, second := w.job("p", 30, 0, 0), w.job("p", 10, 0, 0)
		w.update()
		if _, ok := w.m.Choose(w.v, 2); ok { // a node of the input's rack: both are asked, and both must wait
			t.Fatalf("owner %s: a map starts off its node at once", owner)
		}
		w.s.SetNow(100e6)
		if p, ok := w.m.Choose(w.v, 0); !ok || p.Job != first {
			t.Fatalf("owner %s: %+v starts on the node with the input, want a map of the first job", owner, p)
		}
		w.s.SetNow(200e6)
		w.m.Choose(w.v, 1) // a node of the other rack, where nothing may start yet
		if got := w.m.patienceOf(w.v, second).wait / 1e6; got != want.waitMs {
			t.Errorf("owner %s: the other job has waited %d ms, want %d", owner, got, want.waitMs)
		}
		drawn := map[[2]int32]bool{}
		var jobs [2]int
		for range 2000 {
			id, task, level := w.m.changed.start(w.v, 1, w.m, w.m.poolOf(w.v, second), second, 0, state.LevelOff)
			if key := [2]int32{int32(id), int32(task)}; !drawn[key] {
				drawn[key] = true
				jobs[id]++
			}
			if level != state.LevelOff {
				t.Fatalf("owner %s: a map on a node of the other rack is at level %v", owner, level)
			}
		}
		if got := fmt.Sprint(jobs); got != want.jobs {
			t.Errorf("owner %s: %s maps of the two jobs are drawn, want %s", owner, got, want.jobs)
		}
	}
}
