package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/fluid"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// nodesOf returns the nodes of a configuration, apart from the rest of a simulator.
func nodesOf(t testing.TB, c *Config, full bool) (*nodes, *kernel.Events) {
	t.Helper()
	e, x := new(kernel.Events), new(nodes)
	e.Reset(evFault, evRead)
	mustDo(t, x.begin(c, e, state.New(), full))
	return x, e
}

// A node has heartbeats that matter as long as it is up, has room and waits for no
// container of a label; with a model that hears full nodes, as long as it is up.
func TestHeartbeatsThatMatter(t *testing.T) {
	c := &Config{Cluster: slots(2, 1)}
	for _, full := range []bool{false, true} {
		x, _ := nodesOf(t, c, full)
		check := func(when string, wanted bool, want state.NodeID) {
			t.Helper()
			if n, at := x.nextBeat(wanted); n != want || (n == state.None) != (at == kernel.Never) {
				t.Errorf("full nodes heard %t, %s: the next heartbeat is of node %d at %d, want node %d", full, when, n, at, want)
			}
		}
		ifFull := func(yes, no state.NodeID) state.NodeID {
			if full {
				return yes
			}
			return no
		}
		check("two free nodes", true, 0)
		check("nothing waits", false, state.None)
		job := must(x.state.Submit(&state.JobSpec{Maps: 2, MapSize: x.view.Capacity(0)}))
		x.state.Hold(0, job, x.view.Capacity(0))
		x.noteRoom(0)
		check("node 0 is full", true, ifFull(0, 1))
		x.busy.Add(1)
		x.noteRoom(1)
		check("node 1 waits for a container", true, ifFull(0, state.None))
		x.lose(0)
		check("node 0 is down", true, ifFull(1, state.None))
		x.busy.Remove(1)
		x.noteRoom(1)
		check("node 1 is free again", true, 1)
		x.lose(1)
		check("both are down", true, state.None)
		x.state.Release(0, job, x.view.Capacity(0))
		x.comeBack(0)
		check("node 0 is back", true, 0)
	}
}

// Given opportunities are the heartbeats, each once, in their order, and not before now.
func TestGivenHeartbeats(t *testing.T) {
	c := &Config{Cluster: slots(3, 1), Opportunities: []Opportunity{{AtMs: 5, Node: 2}, {AtMs: 5, Node: 0}, {AtMs: 9, Node: 2}}}
	x, e := nodesOf(t, c, false)
	e.Now = 7
	got := ""
	for n, at := x.nextBeat(true); n != state.None; n, at = x.nextBeat(false) {
		got += fmt.Sprintf("%d at %d, ", n, at)
		x.beatPassed()
	}
	if got != "2 at 7, 0 at 7, 2 at 9, " {
		t.Errorf("heartbeats of nodes %s", got)
	}
}

// TestDistances: of hosts on some nodes, a node is as far as the nearest; rates between
// nodes are those of the slowest link on the way.
func TestDistances(t *testing.T) {
	c := &Config{Cluster: Machines{Racks: []Rack{{"a", 30}, {"b", 0}, {"c", 7}}}}
	for i, rack := range []string{"a", "a", "b", "b", "c"} {
		c.Cluster.Nodes = append(c.Cluster.Nodes, Node{Name: fmt.Sprint(i), Rack: rack, LinkBytesPerSec: []int64{20, 40, 50, 0, 0}[i]})
	}
	x, _ := nodesOf(t, c, false)
	for _, c := range []struct {
		n     state.NodeID
		hosts []state.NodeID
		want  state.Level
	}{
		{0, []state.NodeID{3, 0}, state.LevelNode},
		{0, []state.NodeID{3, 1}, state.LevelRack},
		{0, []state.NodeID{2, 3}, state.LevelOff},
		{0, nil, state.LevelOff},
	} {
		if got := x.level(c.hosts, c.n); got != c.want {
			t.Errorf("node %d is at level %v of %v, want %v", c.n, got, c.hosts, c.want)
		}
	}
	for _, c := range []struct {
		from, to state.NodeID
		want     int64
	}{{0, 1, 20}, {1, 2, 30}, {2, 3, 50}, {3, 3, 0}, {3, 4, 7}, {0, 3, 20}} {
		if got := x.rateBetween(c.from, c.to); got != c.want || got != x.rateBetween(c.to, c.from) {
			t.Errorf("%d B/s between nodes %d and %d, %d back, want %d", got, c.from, c.to, x.rateBetween(c.to, c.from), c.want)
		}
	}
}

// TestSpeeds: a computation takes its time divided by the node's speed, rounded, and at
// most as long as the simulator can look ahead. A node that slows down has its cores
// compute less.
func TestSpeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Float64Range(1e-5, 100).Draw(t, "speed")
		ms := rapid.Int64Range(0, 1<<31).Draw(t, "ms")
		n := node{slow: slowness(speed)}
		want := min(float64(ms)/speed, kernel.MaxAheadMs)
		if got := float64(n.on(ms)); math.Abs(got-want) > 1+want*speed/(1<<16) {
			t.Fatalf("%d ms at speed %v take %.0f ms, want %.0f", ms, speed, got, want)
		}
	})
	for _, speed := range []float64{0, -1, math.NaN()} {
		if n := (node{slow: slowness(speed)}); n.on(1234) != 1234 {
			t.Errorf("speed %v: %d ms, want 1234", speed, n.on(1234))
		}
	}
	c := &Config{Cluster: slots(1, 1)}
	c.Cluster.Nodes[0].Cores = 2
	x, _ := nodesOf(t, c, false)
	for _, speed := range []float64{1, 0.5, 4} {
		x.slow(0, speed)
		var flows [4]fluid.Flow
		for i := range flows { // four computations share two cores
			flows[i] = x.flows.Compute(0, 0, 1e9, uint32(i))
		}
		if got, want := x.flows.Rate(flows[0]), 0.5e6*speed; math.Abs(float64(got)-want) > 0.01*want {
			t.Errorf("at speed %v, each computation gets %d us of a core a second, want %.0f", speed, got, want)
		}
		for _, f := range flows {
			x.flows.Cancel(0, f)
		}
	}
}

// A quarter of the nodes at most, rounded up, is slow: those with the fewest successful attempts. Nodes with
// equally many are all slow or none is.
func TestSlowNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := nodes{done: make([]int64, rapid.IntRange(1, 30).Draw(t, "nodes"))}
		for i := range x.done {
			x.done[i] = rapid.Int64Range(0, 5).Draw(t, "done")
		}
		slow, most := 0, int64(0)
		for i := range x.done {
			if x.isSlow(state.NodeID(i)) {
				slow++
				most = max(most, x.done[i])
			}
		}
		for i, d := range x.done {
			if slow > 0 && d > 0 && d <= most && !x.isSlow(state.NodeID(i)) {
				t.Fatalf("node %d with %d attempts is not slow, one with %d is: %+v", i, d, most, x.done)
			}
		}
		if 4*slow > len(x.done)+3 {
			t.Fatalf("%d of %d nodes are slow", slow, len(x.done))
		}
	})
}

// The timetable of capacity is followed to the ms, again and again if it says so, and
// nodes have heartbeats only while they have room.
func TestCapacityTimetable(t *testing.T) {
	half, none := state.Resource{MemoryMB: 1024, VCores: 1}, state.Resource{}
	c := &Config{Cluster: slots(2, 2), Capacity: state.Timetable{EveryMs: 1000, Changes: []state.CapacityChange{
		{AtMs: 0, Node: "n1", Left: half}, {AtMs: 100, Node: "n1", Left: none}, {AtMs: 400, Node: "n1", Left: half.Times(2)},
	}}}
	x, e := nodesOf(t, c, false)
	mustDo(t, x.beginCapacity())
	var got []string
	for next := e.Next(); next < 2000; next = e.Next() {
		e.Advance(next)
		if !e.Stalled() {
			t.Fatal("a timetable that never ends counts as progress")
		}
		for list := e.Take(); len(list) > 0; list = e.Take() {
			n, left := x.changeCapacity(int(list[0].ID))
			x.lose(0) // so that only node 1 can have heartbeats
			beat, _ := x.nextBeat(true)
			got = append(got, fmt.Sprintf("%d: node %d has %d MB, beat of %d", next, n, left.MemoryMB, beat))
			if x.view.Capacity(n) != left {
				t.Errorf("node %d has %v, want %v", n, x.view.Capacity(n), left)
			}
		}
	}
	want := "0: node 1 has 1024 MB, beat of 1|100: node 1 has 0 MB, beat of -1|400: node 1 has 2048 MB, beat of 1|" +
		"1000: node 1 has 1024 MB, beat of 1|1100: node 1 has 0 MB, beat of -1|1400: node 1 has 2048 MB, beat of 1"
	if strings.Join(got, "|") != want {
		t.Errorf("changes\n%s, want\n%s", strings.Join(got, "|"), want)
	}
}

// Without any limit nothing is shared; with one, a transfer takes as long as the slowest
// resource on its way says.
func TestSharedResources(t *testing.T) {
	if x, _ := nodesOf(t, &Config{Cluster: slots(2, 1)}, false); x.flows != nil {
		t.Error("nothing has a limit, and resources are shared")
	}
	for name, change := range map[string]func(*Machines){
		"disk": func(c *Machines) { c.Nodes[0].DiskBytesPerSec = 1000 }, "link": func(c *Machines) { c.Nodes[1].LinkBytesPerSec = 1000 },
		"uplink": func(c *Machines) { c.Racks = []Rack{{"r1", 1000}} },
	} {
		c := &Config{Cluster: slots(41, 1)} // the last node is in rack r1
		change(&c.Cluster)
		x, _ := nodesOf(t, c, false)
		to := state.NodeID(1)
		if name == "uplink" {
			to = 40
		}
		x.flows.Read(0, 0, to, false, 5000, 7)
		if end := x.flows.Next(); end < 5000 || end > 5001 {
			t.Errorf("limit of a %s: 5000 bytes end at %d ms, want 5000", name, end)
		}
	}
}
