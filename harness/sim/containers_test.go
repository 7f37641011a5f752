package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// containersOf returns containers apart from the rest of a simulator: with attempts, and with
// ApplicationMasters whose heartbeats bind what they were given.
func containersOf(t tester, c *Config) *containers {
	at := attemptsOf(t, c)
	cs := new(containers)
	cs.begin(at.base, at.masters, at)
	return cs
}

// handle carries out the events of containers and attempts.
func (cs *containers) handle(e kernel.Event) {
	switch e.Kind() {
	case evGrant:
		cs.granted(e.ID)
	case evGroup:
		if e.IsFor(cs.groups[e.ID].gen) {
			cs.failGroup(e.ID)
		}
	case evAMBeat:
		if j := &cs.jobs.list[e.ID]; e.IsFor(j.gen) {
			j.beatSet = false
			cs.bind(int32(e.ID))
		}
	default:
		cs.attempts.handle(e)
	}
}

// outstanding returns the number of containers that have no task yet.
func (cs *containers) outstanding() int64 {
	spare := 0
	for i := cs.spareGrant; i != 0; i = cs.grants[i].next {
		spare++
	}
	return int64(len(cs.grants) - 1 - spare)
}

// However decisions, heartbeats, lost ApplicationMasters and ends of jobs follow each other:
// of each decision that was possible there is one container, which gets the task expected or
// another, is given back, or is still to come. None keeps room for ever.
func TestContainersConserve(t *testing.T) {
	const nodes = 3
	rapid.Check(t, func(t *rapid.T) {
		c := &Config{Cluster: slots(nodes, 3), Costs: NoCosts(), Actuator: Actuator(rapid.IntRange(int(Native), int(Ideal)).Draw(t, "actuator"))}
		c.Costs.AMBeatMs, c.Costs.LabelMs = 1000, []int32{10, 1500}
		cs := containersOf(t, c)
		var jobs []int32
		for range 2 {
			j := simpleJob("a", 0, 10, 4, Work{FixedMs: 3000})
			for m := range 10 {
				j.Replicas.Add(state.NodeID(m % nodes))
			}
			slot := cs.submit(t, &j)
			cs.masters.up(slot)
			cs.jobs.list[slot].asked = 4
			cs.state.Ask(cs.jobs.list[slot].id, state.Reduce, 4)
			jobs = append(jobs, slot)
		}
		check := func() {
			d := cs.r.Decisions
			if out := cs.outstanding(); d.Made != d.AsExpected+d.Otherwise+d.Unused+out {
				t.Fatalf("%+v, and %d containers without a task", d, out)
			}
			for i := range cs.attempts.list {
				if a := &cs.attempts.list[i]; a.runs() && !cs.view.Up(a.node) {
					t.Fatalf("attempt %d runs on node %d, which is down", i, a.node)
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			slot := rapid.SampledFrom(jobs).Draw(t, "job")
			j := &cs.jobs.list[slot]
			decide := func(group int32) sched.Decision {
				d := sched.Decision{
					Job: j.id, Kind: state.Kind(rapid.IntRange(0, 1).Draw(t, "kind")),
					Node: state.NodeID(rapid.IntRange(0, nodes).Draw(t, "node")), Task: state.None,
				}
				return d
			}
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0: // the ApplicationMaster is lost, and the next is up at once
				j.gen++
				j.beatSet = false
				cs.attempts.killAll(slot, "", true)
				cs.drop(j)
				j.up = false
				cs.masters.unaskAll(j)
				j.asked = 0
				cs.masters.up(slot)
			case 1:
				a, b := decide(1), decide(1)
				a.Kind, b.Kind = state.Reduce, state.Reduce
				cs.carryGroup([]sched.Decision{a, b})
			default:
				cs.carryOut(decide(0))
			}
			check()
			cs.until(cs.events.Now+rapid.Int64Range(0, 700).Draw(t, "later"), cs.handle)
			check()
		}
		cs.until(cs.events.Now+20_000, cs.handle)
		check()
		if out := cs.outstanding(); out != 0 {
			t.Fatalf("%d containers have no task at the end", out)
		}
		for i := range cs.attempts.list {
			if cs.attempts.list[i].runs() {
				cs.attempts.kill(int32(i), "", false)
			}
		}
		for n := range cs.nodes.list {
			if cs.nodes.busy.Has(state.NodeID(n)) {
				t.Fatalf("node %d waits for a container at the end", n)
			}
		}
	})
}

// An ApplicationMaster that learns of several containers gives each a map with its split on the
// container's host, if one is left when all containers have taken theirs, before it gives
// any a map of the rack or of elsewhere.
func TestBindsNearestFirst(t *testing.T) {
	const nodes, maps = 4, 6
	rapid.Check(t, func(t *rapid.T) {
		c := &Config{Cluster: slots(nodes, 3), Costs: NoCosts()}
		for n := range nodes {
			c.Cluster.Nodes[n].Rack = []string{"a", "b"}[n%2]
		}
		c.Costs.AMBeatMs = 1000
		cs := containersOf(t, c)
		j := simpleJob("a", 0, maps, 0, Work{FixedMs: 60_000})
		var hosts [maps]state.NodeID
		for m := range hosts {
			hosts[m] = state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "host"))
			j.Replicas.Add(hosts[m])
		}
		slot := cs.submit(t, &j)
		cs.until(1, nil)
		cs.masters.up(slot)
		id := cs.jobs.list[slot].id
		for range rapid.IntRange(1, maps).Draw(t, "containers") {
			cs.carryOut(sched.Decision{Job: id, Kind: state.Map, Node: state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node")), Task: state.None})
		}
		cs.until(2000, cs.handle)
		far := map[state.NodeID]bool{} // nodes with a container whose map is not of the node
		for i := range cs.attempts.list {
			if a := &cs.attempts.list[i]; a.runs() && hosts[a.task] != a.node {
				far[a.node] = true
			}
		}
		for m, host := range hosts {
			task := state.TaskID(m)
			on := cs.view.RunsOn(id, task)
			if far[host] && on != host {
				t.Fatalf("map %d of node %d runs on node %d, and a container of its node has a map of another one", m, host, on)
			}
			if on == state.None && far[host] {
				t.Fatalf("map %d of node %d waits, and a container of its node has a map of another one", m, host)
			}
		}
		if err := cs.r.Decisions; err.Made != err.AsExpected+err.Otherwise {
			t.Fatalf("%+v: all containers get a map", err)
		}
	})
}

// A node label gives a node to one job at a time: until the container has come, no other
// decision is possible there.
func TestLabelKeepsNode(t *testing.T) {
	c := &Config{Cluster: slots(2, 4), Costs: NoCosts(), Actuator: Labels}
	c.Costs.LabelMs = []int32{100}
	cs := containersOf(t, c)
	j := simpleJob("a", 0, 4, 0, Work{FixedMs: 1000})
	slot := cs.submit(t, &j)
	cs.masters.up(slot)
	d := sched.Decision{Job: cs.jobs.list[slot].id, Kind: state.Map, Task: state.None}
	other := d
	other.Node = 1
	got := []bool{cs.carryOut(d), cs.carryOut(d), cs.carryOut(other)}
	cs.until(99, cs.handle)
	got = append(got, cs.carryOut(d))
	cs.until(101, cs.handle)
	got = append(got, cs.carryOut(d))
	if !slices.Equal(got, []bool{true, false, true, false, true}) || cs.r.Decisions.Refused != 2 || cs.r.Decisions.AsExpected != 2 {
		t.Errorf("decisions are possible %v, %+v", got, cs.r.Decisions)
	}
	for _, wrong := range []sched.Decision{{Job: 7}, {Job: -1}, {Node: 2}, {Node: -1}} {
		if cs.carryOut(wrong) {
			t.Errorf("%+v was carried out", wrong)
		}
	}
}
