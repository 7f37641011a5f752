package sim

import (
	"fmt"
	"math"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/traces"
)

// sampled runs jobs and returns the samples of each node, and the result.
func sampled(t *testing.T, cluster Machines, jobs ...Job) (map[traces.Node][]traces.NodeSample, *Result) {
	t.Helper()
	all := map[traces.Node][]traces.NodeSample{}
	r := must(Run(&Config{
		Cluster: cluster, Source: &Jobs{List: jobs}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts(), SampleMs: 1000,
		Record: func(e traces.Event) {
			if x, ok := e.(*traces.NodeSample); ok {
				all[x.Node] = append(all[x.Node], *x)
			}
		},
	}))
	return all, r
}

// oneNode is a node of so many cores, with room for 16 tasks.
func oneNode(cores float64) Machines {
	c := slots(1, 16)
	c.Nodes[0].Cores = cores
	return c
}

// TestGivenLoads has two tasks that sleep, of a workload whose load is given, for 300 s on
// a node with a load of its own.
func TestGivenLoads(t *testing.T) {
	j := simpleJob("a", 0, 2, 0, Work{FixedMs: 300_000})
	j.Workload = "w"
	last := map[float64]float64{}
	for _, idle := range []float64{0, 0.5} {
		_, err := Run(&Config{
			Cluster: oneNode(1), Source: &Jobs{List: []Job{j}}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts(), SampleMs: 1000,
			Loads: map[string][2]float64{"w": {1.25, 9}, "a": {7, 7}}, IdleLoad: idle,
			Record: func(e traces.Event) {
				if x, ok := e.(*traces.NodeSample); ok && x.T == 250e9 {
					last[idle] = x.Load1
				}
			},
		})
		if want := (idle + 2*1.25) * (1 - math.Exp(-250./60)); err != nil || math.Abs(last[idle]-want) > .05 {
			t.Errorf("load %.2f after 250 s (%v), want %.2f", last[idle], err, want)
		}
	}
}

// TestLoadAverage has tasks that are there from the start. So many ready to run give
// n*(1-e^(-t/60)) after t seconds. The kernel steps every 5 s and rounds.
func TestLoadAverage(t *testing.T) {
	disk := slots(2, 1)
	disk.Nodes[0].DiskBytesPerSec, disk.Nodes[1].DiskBytesPerSec = 1e6, 1e6
	local := simpleJob("a", 0, 1, 0, Work{InputBytes: 300e6, ComputeMs: 1})
	local.Replicas.Add(0)
	local.Cached.Add()
	two := disk
	two.Nodes = append([]Node(nil), disk.Nodes...)
	remote := simpleJob("a", 0, 2, 0, Work{InputBytes: 150e6, ComputeMs: 1})
	for range 2 { // one reads from its own disk, the other from that of n0 too; each at half of its rate
		remote.Replicas.Add(0)
		remote.Cached.Add()
	}
	for _, c := range []struct {
		name    string
		cluster Machines
		job     Job
		want    map[traces.Node]float64 // tasks ready to run or waiting for the disk, until 300 s
	}{
		{"one that always computes", oneNode(1), simpleJob("a", 0, 1, 0, Work{ComputeMs: 300_000}), map[traces.Node]float64{"n0": 1}},
		{"without a limit of cores", oneNode(0), simpleJob("a", 0, 1, 0, Work{ComputeMs: 300_000}), map[traces.Node]float64{"n0": 1}},
		{"three on two cores", oneNode(2), simpleJob("a", 0, 3, 0, Work{ComputeMs: 200_000}), map[traces.Node]float64{"n0": 3}},
		{"two on four cores", oneNode(4), simpleJob("a", 0, 2, 0, Work{ComputeMs: 300_000}), map[traces.Node]float64{"n0": 2}},
		{"one that sleeps", oneNode(1), simpleJob("a", 0, 1, 0, Work{FixedMs: 300_000}), map[traces.Node]float64{"n0": 0}},
		{
			"one of a given time that uses a tenth of a core", oneNode(1), simpleJob("a", 0, 1, 0, Work{FixedMs: 300_000, CoresPercent: 10}),
			map[traces.Node]float64{"n0": 0.1},
		},
		{
			"two of half a core on one", oneNode(1), simpleJob("a", 0, 2, 0, Work{ComputeMs: 300_000, CoresPercent: 50}),
			map[traces.Node]float64{"n0": 1},
		},
		{
			"a quarter of a core, without a limit", oneNode(0), simpleJob("a", 0, 1, 0, Work{ComputeMs: 300_000, CoresPercent: 25}),
			map[traces.Node]float64{"n0": 0.25},
		},
		// Each computes for a time c and sleeps for c. With a third of the core a cycle takes
		// 3c, of which it sleeps c still, and is ready to run for 2c.
		{
			"three of half a core on one", oneNode(1), simpleJob("a", 0, 3, 0, Work{ComputeMs: 200_000, CoresPercent: 50}),
			map[traces.Node]float64{"n0": 2},
		},
		{"one that reads its disk", disk, local, map[traces.Node]float64{"n0": 1, "n1": 0}},
		{"two that read one disk, one of them from another node", two, remote, map[traces.Node]float64{"n0": 2, "n1": 0}},
	} {
		samples, r := sampled(t, c.cluster, c.job)
		if end := r.Jobs[0].EndMs; end < 300_000 || end > 300_100 {
			t.Errorf("%s: the job ends at %d ms, want 300000", c.name, end)
		}
		for n, tasks := range c.want {
			if len(samples[n]) < 300 {
				t.Fatalf("%s: %d samples of %s", c.name, len(samples[n]), n)
			}
			for i, x := range samples[n][:299] {
				if int64(x.T) != int64(i+1)*1e9 {
					t.Fatalf("%s: sample %d is of %d ns", c.name, i, x.T)
				}
				step := float64((i + 1) / 5 * 5) // the last step of the average
				if want := tasks * (1 - math.Exp(-step/60)); math.Abs(x.Load1-want) > 0.01*max(1, tasks) {
					t.Errorf("%s: load of %s is %.3f after %d s, want %.3f", c.name, n, x.Load1, i+1, want)
					break
				}
			}
		}
	}
}

// TestLoadDecays has a pause of 100 s in which no job is alive, and no samples come.
// Then the load is what the pause has left of it.
func TestLoadDecays(t *testing.T) {
	samples, _ := sampled(t, oneNode(1), simpleJob("a", 0, 1, 0, Work{ComputeMs: 300_000}),
		simpleJob("b", 400_000, 1, 0, Work{FixedMs: 10_000}))
	list := samples["n0"]
	last := list[len(list)-1]
	if pause := list[301].T - list[300].T; pause != 100e9 {
		t.Errorf("pause of %d ns between two samples, want 100 s", pause)
	}
	// The task ends just before the step of 300 s.
	if want := (1 - math.Exp(-295.0/60)) * math.Exp(-115.0/60); math.Abs(last.Load1-want) > 0.01 {
		t.Errorf("load %.3f at %d ns, want %.3f", last.Load1, last.T, want)
	}
}

// TestCoreSecondsAreKept compares the samples' use of cores with the computing of all
// tasks, which differ in length, in shares of a core, and in their nodes' speed.
func TestCoreSecondsAreKept(t *testing.T) {
	for _, cores := range []float64{0, 1, 3} {
		c := slots(2, 8)
		c.Nodes[0].Cores, c.Nodes[1].Cores, c.Nodes[1].Speed = cores, cores, 0.5
		var jobs []Job
		for i := range 20 {
			jobs = append(jobs, simpleJob(fmt.Sprint("j", i), int64(i)*3100, 3, 0,
				Work{ComputeMs: int32(1700 * (i%5 + 1)), CoresPercent: uint8(i * 20 % 100)}))
		}
		jobs = append(jobs, simpleJob("last", 900_000, 1, 0, Work{FixedMs: 5000})) // so that all is sampled before the run ends
		samples, used, want := map[traces.Node]float64{}, 0.0, 0.0
		all, _ := sampled(t, c, jobs...)
		for n, list := range all {
			for _, x := range list {
				if limit := cores; limit > 0 && x.CPUUser > limit*1.001 {
					t.Errorf("%v cores: %s uses %.3f", cores, n, x.CPUUser)
				}
				samples[n] += x.CPUUser * float64(x.IntervalNs) / 1e9
			}
			// What takes a second of a core at speed 1 takes two at half of it.
			used += samples[n] * map[traces.Node]float64{"n0": 1, "n1": 0.5}[n]
		}
		for _, j := range jobs[:20] {
			share := float64(j.MapWork[0].CoresPercent) / 100
			if share == 0 {
				share = 1
			}
			want += 3 * share * float64(j.MapWork[0].ComputeMs) / 1000
		}
		if math.Abs(used-want) > 0.002*want || samples["n1"] == 0 {
			t.Errorf("%v cores: samples have %.2f core seconds, %v by node; the tasks compute for %.2f", cores, used, samples, want)
		}
	}
}

// TestSampleOfNode has what else a sample says: memory, containers, the disk's rates.
func TestSampleOfNode(t *testing.T) {
	c := slots(1, 4)
	c.Nodes[0].DiskBytesPerSec, c.WritesWait = 10e6, true
	a := simpleJob("a", 0, 2, 0, Work{OutputBytes: 100e6}, Work{FixedMs: 20_000})
	samples, _ := sampled(t, c, a)
	x := samples["n0"][4]
	if x.MemoryUsedBytes != 2<<30 || x.ContainersRunning != 2 || x.AllocatedMemoryBytes != 2<<30 || x.AllocatedVCores != 2 ||
		x.DiskReadBytesPerSec != 0 || math.Abs(x.DiskWriteBytesPerSec-10e6) > 1e5 {
		t.Errorf("%+v", x)
	}
	if len(samples["n0"]) < 15 || samples["n0"][14].DiskWriteBytesPerSec != 0 {
		t.Errorf("the disk is used after the 10 s that its 100 MB take")
	}
}

// TestModelHearsSamples gives a model samples that are a period old at most, and a
// model that does not ask none.
func TestModelHearsSamples(t *testing.T) {
	l := &schedtest.Listener{NodeModel: newModel(t, "fifo").(sched.PerNode).NodeModel, Period: 1000}
	records := 0
	c := &Config{
		Cluster: oneNode(1), Source: &Jobs{List: []Job{simpleJob("a", 0, 2, 0, Work{ComputeMs: 30_000})}}, Actuator: Ideal, Costs: DefaultCosts(),
		Model: schedtest.Wrap(sched.PerNode{NodeModel: l}), Record: func(e traces.Event) {
			if _, ok := e.(*traces.NodeSample); ok {
				records++
			}
		},
	}
	must(Run(c))
	if len(l.Samples) < 60 || len(l.Samples) > records || l.OldestMs > 1000 || l.Samples[50].Load1 < 0.5 {
		t.Errorf("%d samples heard, %d recorded, up to %d ms old", len(l.Samples), records, l.OldestMs)
	}
	c.Model, c.Source, records = newModel(t, "fifo"), &Jobs{List: []Job{simpleJob("a", 0, 2, 0, Work{ComputeMs: 30_000})}}, 0
	if _, err := Run(c); err != nil || records > 0 {
		t.Errorf("%d samples that nobody asked for; %v", records, err)
	}
}

// TestSamplesChangeNothing runs a scenario with faults and all kinds of work with and
// without samples.
func TestSamplesChangeNothing(t *testing.T) {
	for a := Native; a <= Ideal; a++ {
		for _, m := range []string{"capacity", "fifo"} {
			quiet := must(Run(scenario(t, m, a, 1)))
			c := scenario(t, m, a, 1)
			c.SampleMs = 700
			nodes := map[traces.Node]bool{}
			c.Record = func(e traces.Event) {
				if x, ok := e.(*traces.NodeSample); ok {
					nodes[x.Node] = true
					if x.CPUUser < 0 || x.Load1 < 0 || x.Load1 > 1000 || x.DiskReadBytesPerSec < 0 || x.MemoryUsedBytes < 0 {
						t.Fatalf("%+v", *x)
					}
				}
			}
			r := must(Run(c))
			if r.Digest != quiet.Digest || len(nodes) != len(c.Cluster.Nodes) {
				t.Errorf("%s, actuator %d: digest %v with samples of %d nodes, %v without", m, a, r.Digest, len(nodes), quiet.Digest)
			}
		}
	}
}

// A node that is down has no samples, and its tasks no longer count. When it is back, the
// load is what the time without tasks has left, and grows by the tasks that start there then.
func TestLoadOfLostNode(t *testing.T) {
	c := slots(2, 1)
	j := simpleJob("a", 0, 2, 0, Work{ComputeMs: 300_000})
	samples := map[traces.Node]map[int64]traces.NodeSample{"n0": {}, "n1": {}}
	_, err := Run(&Config{
		Cluster: c, Source: &Jobs{List: []Job{j}}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts(), SampleMs: 1000,
		Faults: []Fault{{AtMs: 100_000, What: NodeDown, Node: 1}, {AtMs: 160_000, What: NodeUp, Node: 1}},
		Record: func(e traces.Event) {
			if x, ok := e.(*traces.NodeSample); ok {
				samples[x.Node][x.T.Milliseconds()/1000] = *x
			}
		},
	})
	mustDo(t, err)
	full := func(seconds float64) float64 { return 1 - math.Exp(-seconds/60) }
	for _, x := range []struct {
		node   traces.Node
		second int64
		load   float64 // below 0: there is no sample
		tasks  int32
	}{
		{"n0", 99, full(95), 1},
		{"n1", 99, full(95), 1},
		{"n0", 130, full(130), 1},
		{"n1", 101, -1, 0},
		{"n1", 130, -1, 0},
		{"n1", 159, -1, 0},
		{"n1", 161, full(95) * math.Exp(-60./60), 1},
		{"n1", 221, full(95)*math.Exp(-120./60) + full(60), 1},
		{"n0", 221, full(220), 1},
	} {
		got, ok := samples[x.node][x.second]
		if ok != (x.load >= 0) || ok && (math.Abs(got.Load1-x.load) > 0.03 || got.ContainersRunning != x.tasks) {
			t.Errorf("%s after %d s: sample %t, load %.3f of %d tasks; want %.3f of %d", x.node, x.second, ok, got.Load1, got.ContainersRunning,
				x.load, x.tasks)
		}
	}
}
