package sim

import (
	"fmt"
	"math"
	"testing"

	"heddle/harness/state"
	"heddle/traces"
)

// ends are the attempts of a run, as "m0.1 n1 killed 0-4000": task, attempt, node,
// outcome, start and end in ms.
func ends(t *testing.T, c *Config) ([]string, *Result) {
	t.Helper()
	list := []string{}
	c.Ended = func(e AttemptEnd) {
		start := e.StartMs
		if !e.Launched {
			start = -1
		}
		list = append(list, fmt.Sprintf("%v n%d %v %d-%d", e.Kind, e.Node, e.Outcome, start, e.EndMs))
	}
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return list, r
}

func sum(list []int64) (all int64) {
	for _, x := range list {
		all += x
	}
	return all
}

func expect(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: attempts\n%q, want\n%q", name, got, want)
	}
}

// TestLostNode has a map of 10 s run on a node that is lost after 4 s. The map runs
// again when its master learns that: 5 s after the loss the ResourceManager notices
// it, and the master then tries for 180 s to reach the node, each 10 s, and until
// then only if the node is back.
func TestLostNode(t *testing.T) {
	lost := Fault{AtMs: 4000, What: NodeDown, Node: 0}
	for _, x := range []struct {
		name   string
		faults []Fault
		want   []string
	}{
		{"for good", []Fault{lost}, []string{"map n0 killed 0-189000", "map n1 succeeded 189000-199000"}},
		{"until the master's next try", []Fault{lost, {AtMs: 25_000, What: NodeUp, Node: 0}}, []string{"map n0 killed 0-29000", "map n0 succeeded 29000-39000"}},
		{"for so short that nobody noticed", []Fault{lost, {AtMs: 6000, What: NodeUp, Node: 0}}, []string{"map n0 killed 0-6000", "map n0 succeeded 6000-16000"}},
		{"after the map's end", []Fault{{AtMs: 11_000, What: NodeDown, Node: 0}}, []string{"map n0 succeeded 0-10000"}},
		{"the other one", []Fault{{AtMs: 4000, What: NodeDown, Node: 1}}, []string{"map n0 succeeded 0-10000"}},
	} {
		c := &Config{Cluster: slots(2, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{InputBytes: 7, FixedMs: 10_000})}}, Costs: NoCosts(), Faults: x.faults, Actuator: Ideal}
		c.Costs.NodeExpiryMs = 5000
		got, r := ends(t, c)
		expect(t, x.name, got, x.want...)
		if read := sum(r.Bytes.Read[:]); read != 7 || r.Attempts.Reruns != int64(len(x.want)-1) {
			t.Errorf("%s: %d bytes read, %d reruns; want the 7 of the job, and %d", x.name, read, r.Attempts.Reruns, len(x.want)-1)
		}
	}
}

// TestLostMapOutput has a map run again whose node is lost while reduces still need
// its output, and not if no reduce needs it.
func TestLostMapOutput(t *testing.T) {
	for reduces, want := range map[int32][]string{
		// The reduce waits for its maps, of which one is lost at 3 s; on the one slot of n1 the reduce has to make room.
		1: {"map n0 succeeded 0-1000", "map n1 succeeded 0-10000", "map n1 succeeded 10000-11000", "reduce n1 succeeded 11000-12000"},
		0: {"map n0 succeeded 0-1000", "map n1 succeeded 0-10000"},
	} {
		j := simpleJob("a", 0, 2, reduces, Work{FixedMs: 1000, OutputBytes: 10}, Work{FixedMs: 10_000, OutputBytes: 10})
		c := &Config{Cluster: slots(2, 1), Source: &Jobs{List: []Job{j}}, Model: newModel(t, "fifo"), Costs: NoCosts(), Actuator: Ideal, Faults: []Fault{{AtMs: 3000, What: NodeDown, Node: 0}}}
		got, r := ends(t, c)
		expect(t, fmt.Sprint(reduces, " reduces"), got, want...)
		if r.Bytes.MapOutput != int64(20*reduces) || r.Bytes.Shuffled != int64(20*reduces) {
			t.Errorf("%d reduces: %d bytes of map output, %d fetched; want 20 of each for a reduce", reduces, r.Bytes.MapOutput, r.Bytes.Shuffled)
		}
	}
}

// TestLostWithMaster has the job's ApplicationMaster be lost, and then the node with the
// output of its map. The next ApplicationMaster, which takes 3 s to come up, asks for the
// map again: no container is asked for, and none is lost, in between.
func TestLostWithMaster(t *testing.T) {
	j := simpleJob("a", 0, 1, 1, Work{FixedMs: 1000, OutputBytes: 10})
	j.AMSize, j.AMStartMs = j.MapSize, 3000
	j.ReduceWork = []Work{{FixedMs: 10_000}}
	for _, actuator := range []Actuator{Ideal, Native, Labels} {
		c := &Config{
			Cluster: slots(4, 1), Source: &Jobs{List: []Job{j}}, Model: newModel(t, "fifo"), Costs: NoCosts(), Actuator: actuator,
			Faults: []Fault{{AtMs: 9000, What: NodeDown, Node: 0}, {AtMs: 9000, What: NodeDown, Node: 1}},
		}
		got, _ := ends(t, c)
		expect(t, fmt.Sprint("actuator ", actuator), got, "map n1 succeeded 3000-4000", "reduce n1 killed 4000-9000", "map n3 succeeded 12000-13000", "reduce n3 succeeded 13000-23000")
	}
}

// TestFailingAttempts has each attempt fail by chance: as often as is said, and a job
// end as failed with the fourth failure of one task, no sooner.
func TestFailingAttempts(t *testing.T) {
	c := &Config{Cluster: slots(1, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 3, 0, Work{FixedMs: 1000})}}, Costs: NoCosts(), Actuator: Ideal, Faults: []Fault{{What: AttemptsFail, Share: 1}}}
	_, r := ends(t, c)
	if !r.Jobs[0].Failed || r.Attempts.Succeeded > 0 || r.Attempts.Failed < 4 || r.Attempts.Failed > 3*4-2 {
		t.Errorf("all attempts fail: %+v, job failed %t; want it failed by one task's four failures", r.Attempts, r.Jobs[0].Failed)
	}
	const maps, share = 3000, 0.05
	c.Cluster, c.Faults[0].Share = slots(10, 4), share
	for seed := range uint64(3) {
		c.Seed, c.Source = seed, &Jobs{List: []Job{simpleJob("a", 0, maps, 0, Work{FixedMs: 1000})}}
		_, r := ends(t, c)
		tries := float64(r.Attempts.Succeeded + r.Attempts.Failed + r.Attempts.Killed)
		if r.Jobs[0].Failed {
			continue // a task fails four times in a row, in one of fifty runs
		}
		if got := float64(r.Attempts.Failed) / tries; math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/tries) {
			t.Errorf("seed %d: %.4f of %.0f attempts fail, want %v", seed, got, tries, share)
		}
		if r.Attempts.Succeeded != maps || r.Attempts.Reruns != r.Attempts.Failed {
			t.Errorf("seed %d: %+v; want each map to succeed once, and each failure to be run again", seed, r.Attempts)
		}
	}
}

// TestSpeculation has one of twenty maps on a node of a twentieth of the speed, where it takes
// 200 s. Hadoop's rule finds it once it has run for longer than the others took, LATE's
// after a minute; the copy then takes 10 s, and the slow attempt is killed.
func TestSpeculation(t *testing.T) {
	for rule, want := range map[Speculation][2]int64{NoSpeculation: {200_000, 200_010}, HadoopSpeculation: {20_000, 23_000}, LATE: {70_000, 73_000}} {
		cluster := slots(20, 1)
		cluster.Nodes[7].Speed = 0.05
		j := simpleJob("a", 0, 20, 0, Work{InputBytes: 5, ComputeMs: 10_000})
		got, r := ends(t, &Config{Cluster: cluster, Source: &Jobs{List: []Job{j}}, Costs: NoCosts(), Actuator: Ideal, Model: newModel(t, "fifo"), Speculation: rule})
		if r.MakespanMs < want[0] || r.MakespanMs > want[1] {
			t.Errorf("rule %d: %d ms, want %v", rule, r.MakespanMs, want)
		}
		copies := int64(min(rule, 1))
		if r.Attempts != (Attempts{Succeeded: 20, Killed: copies, Speculative: copies}) || len(got) != 20+int(copies) {
			t.Errorf("rule %d: %+v in %q, want %d copies", rule, r.Attempts, got, copies)
		}
		if read := sum(r.Bytes.Read[:]); read != 100 {
			t.Errorf("rule %d: %d bytes read, want the 100 of the job: a copy that is killed counts for nothing", rule, read)
		}
	}
}

// TestSlowNode has a fault slow down what starts after it on its node, and nothing else.
func TestSlowNode(t *testing.T) {
	c := &Config{
		Cluster: slots(2, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 4, 0, Work{ComputeMs: 1000})}}, Model: newModel(t, "fifo"), Costs: NoCosts(), Actuator: Ideal,
		Faults: []Fault{{AtMs: 500, What: NodeSlow, Node: 1, Speed: 0.5}},
	}
	got, _ := ends(t, c)
	expect(t, "half the speed", got, "map n0 succeeded 0-1000", "map n1 succeeded 0-1000", "map n0 succeeded 1000-2000", "map n1 succeeded 1000-3000")
}

// TestPasts has attempts end as in the record that is replayed, at the times that
// the record has.
func TestPasts(t *testing.T) {
	j := simpleJob("a", 0, 2, 0, Work{FixedMs: 5000})
	j.Pasts = []Past{
		{Kind: state.Map, Task: 0, Number: 0, Outcome: traces.Failed, Ms: 700},
		{Kind: state.Map, Task: 0, Number: 1, Outcome: traces.Killed, Ms: 300},
		{Kind: state.Map, Task: 0, Number: 2, Outcome: traces.Succeeded, Ms: 900},
	}
	got, r := ends(t, &Config{Cluster: slots(1, 1), Source: &Jobs{List: []Job{j}}, Model: newModel(t, "fifo"), Costs: NoCosts(), Actuator: Ideal})
	expect(t, "replayed", got, "map n0 failed 0-700", "map n0 killed 700-1000", "map n0 succeeded 1000-1900", "map n0 succeeded 1900-6900")
	if r.Attempts != (Attempts{Succeeded: 2, Failed: 1, Killed: 1, Reruns: 2}) {
		t.Errorf("%+v", r.Attempts)
	}
}
