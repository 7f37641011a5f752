package sim

import (
	"fmt"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

// left is a timetable in words, such as "4000 n0 1, 9000 n0 2": from 4 s on, node n0
// has room for 1 container of 1 GiB.
func left(t *testing.T, text string, everyMs int64) state.Timetable {
	t.Helper()
	list := state.Timetable{EveryMs: everyMs}
	for step := range strings.SplitSeq(text, ", ") {
		var c state.CapacityChange
		var slots int32
		must(fmt.Sscan(step, &c.AtMs, &c.Node, &slots))
		c.Left = slots1.Times(slots)
		list.Changes = append(list.Changes, c)
	}
	return list
}

var slots1 = slots(1, 1).Nodes[0].Capacity

// TestCapacity has maps of 10 s on nodes whose capacity changes. A map that runs goes
// on; no map starts where the node has less left than is in use.
func TestCapacity(t *testing.T) {
	for _, x := range []struct {
		name         string
		nodes, slots int
		capacity     string
		everyMs      int64
		maps         int32
		want         []string
	}{
		// Both maps run to their end though only one fits from 4 s on. At 10 s the node has room for one.
		{"below what is used", 1, 2, "4000 n0 1", 0, 3, []string{
			"map n0 succeeded 0-10000", "map n0 succeeded 0-10000",
			"map n0 succeeded 10000-20000",
		}},
		// From 4 s on the node has nothing left. The third map starts when it has something again, though both others end before.
		{"nothing left, and back", 1, 2, "4000 n0 0, 17000 n0 2", 0, 3, []string{
			"map n0 succeeded 0-10000", "map n0 succeeded 0-10000",
			"map n0 succeeded 17000-27000",
		}},
		// Room for one only from the start.
		{"from the start", 1, 2, "0 n0 1", 0, 2, []string{"map n0 succeeded 0-10000", "map n0 succeeded 10000-20000"}},
		// No node has anything left until 5 s, longer than anything else happens.
		{"no node at all", 2, 1, "0 n0 0, 0 n1 0, 5000 n1 1", 0, 2, []string{"map n1 succeeded 5000-15000", "map n1 succeeded 15000-25000"}},
		// Two more hours than a model may refuse all nodes.
		{"no node for three hours", 1, 1, "0 n0 0, 10800000 n0 1", 0, 1, []string{"map n0 succeeded 10800000-10810000"}},
		// Each 30 s the node has something left for the first 12 s. One map ends in them, the next one runs over.
		{"again and again", 1, 1, "0 n0 1, 12000 n0 0", 30_000, 4, []string{
			"map n0 succeeded 0-10000", "map n0 succeeded 10000-20000",
			"map n0 succeeded 30000-40000", "map n0 succeeded 40000-50000",
		}},
		// A period that is longer than a model may refuse all nodes.
		{"every three hours", 1, 1, "0 n0 0, 10000000 n0 1", 10_800_000, 1, []string{"map n0 succeeded 10000000-10010000"}},
		// The younger map is killed at 4 s, and runs again in the place of the other one.
		{"killed", 1, 2, "4000 n0 1", 0, 2, []string{"map n0 killed 0-4000", "map n0 succeeded 0-10000", "map n0 succeeded 10000-20000"}},
	} {
		c := &Config{
			CapacityKills: x.name == "killed",
			Cluster:       slots(x.nodes, x.slots), Model: newModel(t, "fifo"), Costs: NoCosts(), Actuator: Ideal,
			Capacity: left(t, x.capacity, x.everyMs),
			Source:   &Jobs{List: []Job{simpleJob("a", 0, x.maps, 0, Work{FixedMs: 10_000})}},
		}
		got, _ := ends(t, c)
		expect(t, x.name, got, x.want...)
	}
}

// TestCapacityOfMasters has the second job's ApplicationMaster wait: when its job comes, at
// 1 s, the node has room for the master of the first job and its map only.
func TestCapacityOfMasters(t *testing.T) {
	first, second := simpleJob("a", 0, 1, 0, Work{FixedMs: 10_000}), simpleJob("b", 1000, 1, 0, Work{FixedMs: 10_000})
	first.AMSize, second.AMSize = slots1, slots1
	c := &Config{
		Cluster: slots(1, 4), Source: &Jobs{List: []Job{first, second}}, Model: newModel(t, "fifo"), Costs: NoCosts(), Actuator: Ideal,
		Capacity: left(t, "500 n0 2, 7000 n0 1, 30000 n0 4", 0),
	}
	c.Costs.AMShare = 1
	masters := []string{}
	c.Record = func(e traces.Event) {
		if e, ok := e.(*traces.JobStarted); ok {
			masters = append(masters, fmt.Sprint(e.Job, " ", e.T.Milliseconds()))
		}
	}
	got, _ := ends(t, c)
	// A node reports every ms, and the first job's map starts at its second report. The job ends at 10 s. Then one container fits,
	// which is the second job's master: its map waits until 30 s.
	expect(t, "masters", masters, "a 0", "b 10001")
	expect(t, "maps", got, "map n0 succeeded 1-10001", "map n0 succeeded 30000-40000")
}

// TestCapacityFallsBeforeTheContainer has a decision come to nothing: the container would come
// 3 s after the decision, and at 2 s the node has lost the room for it.
func TestCapacityFallsBeforeTheContainer(t *testing.T) {
	c := &Config{
		Cluster: slots(1, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 10_000})}}, Model: newModel(t, "fifo"),
		Costs:    NoCosts(),
		Actuator: Labels, Capacity: left(t, "2000 n0 0, 20000 n0 1", 0),
	}
	c.Costs.LabelMs = []int32{3000}
	got, r := ends(t, c)
	expect(t, "labels", got, "map n0 succeeded 23000-33000")
	if r.Decisions.Made != 2 || r.Decisions.Unused != 1 {
		t.Errorf("%+v; want 2 decisions made, of which one came to nothing", r.Decisions)
	}
}

// TestCapacityTraced has the changes in the trace, and a job that can never run in an
// endless timetable end the simulation.
func TestCapacityTraced(t *testing.T) {
	c := &Config{
		Cluster: slots(1, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 10_000})}}, Model: newModel(t, "fifo"),
		Costs: NoCosts(), Actuator: Ideal,
		Capacity: left(t, "0 n0 0, 3000 n0 1", 0),
	}
	changes := []string{}
	c.Record = func(e traces.Event) {
		if e, ok := e.(*traces.NodeCapacity); ok {
			changes = append(changes, fmt.Sprint(e.T.Milliseconds(), " ", e.Node, " ", e.MemoryBytes>>20, " ", e.VCores))
		}
	}
	ends(t, c)
	expect(t, "changes", changes, "0 n0 0 0", fmt.Sprint("3000 n0 ", slots1.MemoryMB, " ", slots1.VCores))

	c.Capacity, c.Record = left(t, "0 n0 0", 1000), nil
	c.Source.(*Jobs).Rewind()
	errtest.Has(t, errtest.Of(Run(c)), `job "a" is stuck`)
}

// TestWrongCapacity has timetables that are refused.
func TestWrongCapacity(t *testing.T) {
	for text, want := range map[string]string{
		"0 n7 1":             `capacity change 0: the cluster has no node "n7"`,
		"-1 n0 1":            "capacity change 0: its time, -1 ms, is negative",
		"5 n0 1, 4 n0 0":     "capacity change 1: its time, 4 ms, is before that of change 0, 5 ms",
		"0 n0 1, 60000 n0 2": "capacity change 1: its time, 60000 ms, is not before the timetable begins again at 60000 ms",
		"0 n0 -1":            "capacity change 0: node n0 has -1024 MB, -1 cores left: neither may be negative",
	} {
		c, _ := simple()
		c.Capacity = left(t, text, 60_000)
		if _, err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// foreseeing is a model that notes the timetable that it is told.
type foreseeing struct {
	sched.Model
	told []string
}

func (m *foreseeing) Foresee(t *state.Timetable) {
	var list []string
	for i := range t.Changes {
		c, _ := t.Change(i)
		list = append(list, fmt.Sprint(c.AtMs, " ", c.Node, " ", c.Left.MemoryMB))
	}
	m.told = append(m.told, strings.Join(list, ", "))
}

// TestForesee tells a model the timetable once, before the first job, if there is one and
// models are to know it.
func TestForesee(t *testing.T) {
	for _, x := range []struct {
		capacity string
		telling  traces.Telling
		want     string
	}{
		{"4000 n0 2, 9000 n0 1", traces.Telling{}, "[4000 n0 2048, 9000 n0 1024]"},
		{"4000 n0 2, 9000 n0 1", traces.Telling{LagMs: 500}, "[4500 n0 2048, 9500 n0 1024]"},
		{"4000 n0 0", traces.Telling{None: true}, "[]"},
		{"", traces.Telling{}, "[]"},
	} {
		m := &foreseeing{Model: newModel(t, "fifo")}
		c := &Config{
			Cluster: slots(1, 2), Model: m, Costs: NoCosts(), Actuator: Ideal,
			Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 10_000})}},
		}
		if x.capacity != "" {
			c.Capacity = left(t, x.capacity, 0)
			c.Capacity.Telling = x.telling
		}
		must(Run(c))
		if got := fmt.Sprint(m.told); got != x.want {
			t.Errorf("timetable %q, %+v: the model was told %s, want %s", x.capacity, x.telling, got, x.want)
		}
	}
}
