package sim

import (
	"fmt"
	"math"
	"testing"

	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// pair is two nodes in racks of their own, of one slot each. The only block of the
// jobs below is on the first, n0.
func pair(change func(*Machines)) Machines {
	c := slots(2, 1)
	c.Nodes[1].Rack = "other"
	if change != nil {
		change(&c)
	}
	return c
}

// remote is a job of maps that read 100 MB from n0, and compute for a second.
func remote(maps int32) Job {
	j := simpleJob("a", 0, maps, 0, Work{InputBytes: 100e6, ComputeMs: 1000})
	for range maps {
		j.Replicas.Add(0)
		j.Cached.Add()
	}
	return j
}

// full fills n0 for as long as all of a test, so that other tasks run on n1.
func full() Job { return simpleJob("full", 0, 1, 0, Work{FixedMs: 900_000}) }

// TestTimesByHand has the times of runs so small that they are worked out by hand.
// Each is exact but for the rounding of a transfer to whole ms.
func TestTimesByHand(t *testing.T) {
	rate := func(c *Machines, disk, link, memory int64) {
		for i := range c.Nodes {
			c.Nodes[i].DiskBytesPerSec, c.Nodes[i].LinkBytesPerSec, c.Nodes[i].MemoryBytesPerSec = disk, link, memory
		}
	}
	for _, x := range []struct {
		name    string
		cluster Machines
		jobs    []Job
		want    int64 // end of the last of the jobs, in ms
	}{
		{"compute alone", slots(1, 1), []Job{simpleJob("a", 0, 1, 0, Work{ComputeMs: 1234})}, 1234},
		{
			"a node of half the speed", pair(func(c *Machines) { c.Nodes[0].Speed, c.Nodes = 0.5, c.Nodes[:1] }),
			[]Job{simpleJob("a", 0, 1, 0, Work{ComputeMs: 1234})},
			2468,
		},
		{"two tasks on one core", pair(func(c *Machines) {
			c.Nodes = c.Nodes[:1]
			c.Nodes[0].Capacity, c.Nodes[0].Cores = c.Nodes[0].Capacity.Times(2), 1
		}), []Job{simpleJob("a", 0, 2, 0, Work{ComputeMs: 1000})}, 2000},
		{"three tasks on two cores", pair(func(c *Machines) {
			c.Nodes = c.Nodes[:1]
			c.Nodes[0].Capacity, c.Nodes[0].Cores = c.Nodes[0].Capacity.Times(3), 2
		}), []Job{simpleJob("a", 0, 3, 0, Work{ComputeMs: 1000})}, 1500},
		{
			"from the own disk: 100 MB at 50 MB/s", pair(func(c *Machines) { rate(c, 50e6, 1e6, 0); c.Nodes = c.Nodes[:1] }),
			[]Job{remote(1)},
			2000 + 1000,
		},
		{"two share the disk", pair(func(c *Machines) {
			rate(c, 50e6, 1e6, 0)
			c.Nodes = c.Nodes[:1]
			c.Nodes[0].Capacity = c.Nodes[0].Capacity.Times(2)
		}), []Job{remote(2)}, 4000 + 1000},
		{"over the network: the link is the slowest", pair(func(c *Machines) { rate(c, 50e6, 20e6, 0) }), []Job{full(), remote(1)}, 5000 + 1000},
		{
			"over the network: the uplink is the slowest", pair(func(c *Machines) { rate(c, 50e6, 20e6, 0); c.Racks = []Rack{{"other", 10e6}} }),
			[]Job{full(), remote(1)},
			10_000 + 1000,
		},
		{
			"a rack's uplink counts for its own rack alone", pair(func(c *Machines) { rate(c, 50e6, 20e6, 0); c.Racks = []Rack{{"third", 1}} }),
			[]Job{full(), remote(1)},
			5000 + 1000,
		},
		{
			"over the network: the disk is the slowest", pair(func(c *Machines) { rate(c, 10e6, 20e6, 0) }),
			[]Job{full(), remote(1)},
			10_000 + 1000,
		},
		{"two share the link of the node that has it", pair(func(c *Machines) {
			rate(c, 50e6, 20e6, 0)
			c.Nodes[1].Capacity = c.Nodes[1].Capacity.Times(2)
		}), []Job{full(), remote(2)}, 10_000 + 1000},
		{"nothing limits the network", pair(nil), []Job{full(), remote(1)}, 1000},
		{
			"no node is known to have the block", pair(func(c *Machines) { rate(c, 50e6, 20e6, 0) }),
			[]Job{simpleJob("a", 0, 1, 0, Work{InputBytes: 100e6, ComputeMs: 1000})},
			1000,
		},
		{
			"HDFS output: 60 MB at 20 MB/s", pair(func(c *Machines) { rate(c, 20e6, 0, 0) }),
			[]Job{simpleJob("a", 0, 1, 0, Work{OutputBytes: 60e6, ComputeMs: 1000})},
			1000 + 3000,
		},
		{
			"HDFS output in the page cache", pair(func(c *Machines) { rate(c, 20e6, 0, 0); c.WritesWait = false }),
			[]Job{simpleJob("a", 0, 1, 0, Work{OutputBytes: 60e6, ComputeMs: 1000})},
			1000,
		},
		{
			"map output for reduces is not HDFS output", pair(func(c *Machines) { rate(c, 20e6, 0, 0) }),
			[]Job{simpleJob("a", 0, 1, 1, Work{OutputBytes: 60e6, ComputeMs: 1000})},
			1000 + 1000,
		},
		{
			"a time that is given is no node's", pair(func(c *Machines) { rate(c, 1, 1, 1); c.Nodes[0].Speed, c.Nodes[1].Speed = 0.1, 0.1 }),
			[]Job{simpleJob("a", 0, 1, 0, Work{InputBytes: 100e6, FixedMs: 700})},
			700,
		},
	} {
		r, err := Run(&Config{Cluster: x.cluster, Source: &Jobs{List: x.jobs}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()})
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		last := r.Jobs[len(r.Jobs)-1]
		if got := last.EndMs - x.jobs[len(x.jobs)-1].SubmitMs; got < x.want || got > x.want+2 {
			t.Errorf("%s: the job takes %d ms, want %d", x.name, got, x.want)
		}
	}
}

// TestCachedCopy reads a cached copy at the memory's rate, and the replica beside it
// at the disk's.
func TestCachedCopy(t *testing.T) {
	for cached, want := range map[bool]int64{true: 100 + 1000, false: 2000 + 1000} {
		j := simpleJob("a", 0, 1, 0, Work{InputBytes: 100e6, ComputeMs: 1000})
		j.Replicas.Add(0)
		if cached {
			j.Cached.Add(0)
		} else {
			j.Cached.Add()
		}
		c := slots(1, 1)
		c.Nodes[0].DiskBytesPerSec, c.Nodes[0].MemoryBytesPerSec = 50e6, 1e9
		r := must(Run(&Config{Cluster: c, Source: &Jobs{List: []Job{j}}, Costs: NoCosts(), Actuator: Ideal}))
		if r.MakespanMs < want || r.MakespanMs > want+2 {
			t.Errorf("cached %t: %d ms, want %d", cached, r.MakespanMs, want)
		}
	}
}

// TestWaves: N equal maps on S slots take as many waves as N/S, rounded up. A node
// fills its slots within a ms for each.
func TestWaves(t *testing.T) {
	for _, x := range []struct{ nodes, each, maps int32 }{
		{1, 1, 1},
		{1, 1, 7},
		{1, 4, 4},
		{1, 4, 5},
		{3, 2, 6},
		{3, 2, 7},
		{3, 2, 12},
		{3, 2, 13},
		{50, 1, 49},
	} {
		for _, model := range []string{"fifo", "capacity", "fair", "random"} {
			r := must(Run(&Config{
				Cluster: slots(int(x.nodes), int(x.each)), Source: &Jobs{List: []Job{simpleJob("a", 0, x.maps, 0, Work{FixedMs: 1000})}},
				Model: newModel(t, model), Actuator: Ideal, Costs: NoCosts(),
			}))
			waves := int64((x.maps + x.nodes*x.each - 1) / (x.nodes * x.each))
			if r.MakespanMs < 1000*waves || r.MakespanMs > (1000+int64(x.each))*waves {
				t.Errorf("%s: %d maps on %d nodes of %d slots take %d ms, want %d waves of 1000", model, x.maps, x.nodes, x.each, r.MakespanMs, waves)
			}
		}
	}
}

// TestCostsByHand has a job of one map and one reduce take all costs of Hadoop's own
// steps, each once, and waits for heartbeats: of nodes for three containers, and of
// the master, which asks and learns of containers, for the map and the reduce.
func TestCostsByHand(t *testing.T) {
	c := Costs{
		SubmitMs: 300, AMStartMs: 3000, LaunchMs: 100, TaskStartMs: 1000, CommitMs: 50, FinishMs: 500, Fetchers: 5, FetchMs: 10,
		RampUp: 0.5, AMShare: 1,
	}
	j := simpleJob("a", 0, 1, 1, Work{ComputeMs: 2000, OutputBytes: 1 << 20})
	j.ReduceWork = []Work{{ComputeMs: 4000, OutputBytes: 1 << 20}}
	j.AMSize = state.Resource{MemoryMB: 1024, VCores: 1}
	// Map: launch, JVM, compute. Reduce: launch, JVM, one fetch by five fetchers, compute, commit.
	steps := int64(300 + 3000 + (100 + 1000 + 2000) + (100 + 1000 + 10/5 + 4000 + 50) + 500)
	for _, beats := range []struct{ node, master int32 }{{0, 0}, {1000, 0}, {0, 1000}, {1000, 1000}, {3000, 200}} {
		c.NodeBeatMs, c.AMBeatMs = beats.node, beats.master
		for seed := range uint64(10) {
			r := must(Run(&Config{Cluster: slots(1, 2), Source: &Jobs{List: []Job{j}}, Costs: c, Seed: seed}))
			// A master's heartbeats: one to ask for the map and one to learn of its container, which both wait for a
			// whole interval or no heartbeat of the node; one to decide on the reduce, and two as for the map.
			least := steps + 3*int64(beats.master)
			most := steps + 3*max(1, int64(beats.node)) + 5*int64(beats.master)
			if r.MakespanMs < least || r.MakespanMs > most {
				t.Errorf("heartbeats of %+v ms, seed %d: %d ms, want %d to %d", beats, seed, r.MakespanMs, least, most)
			}
		}
	}
}

// TestShuffleByHand: a reduce on another node fetches what two maps left, over the
// link of its own node or the uplink between the racks, whichever is slower.
func TestShuffleByHand(t *testing.T) {
	for _, x := range []struct {
		link, uplink int64
		want         int64 // of 80 MB
	}{{20e6, 0, 4000}, {20e6, 10e6, 8000}, {20e6, 40e6, 4000}, {0, 0, 0}} {
		c := pair(nil)
		c.Nodes[0].Capacity = c.Nodes[0].Capacity.Times(2)
		for i := range c.Nodes {
			c.Nodes[i].LinkBytesPerSec = x.link
		}
		c.Racks = []Rack{{"r0", x.uplink}, {"other", x.uplink}}
		c.Nodes[1].Capacity = c.Nodes[1].Capacity.Times(4)
		j := simpleJob("a", 100, 2, 1, Work{ComputeMs: 1000, OutputBytes: 40e6})
		j.ReduceWork, j.ReduceSize.MemoryMB = []Work{{ComputeMs: 500}}, 4096
		// n1 is full while the maps start on n0, and only n1 is large enough for the reduce.
		early := simpleJob("early", 0, 1, 0, Work{FixedMs: 500})
		early.MapSize.MemoryMB = 4096
		on := map[traces.Task]traces.Node{}
		r := must(Run(&Config{
			Cluster: c, Source: &Jobs{List: []Job{early, j}}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts(),
			Record: func(e traces.Event) {
				if e, ok := e.(*traces.AttemptStarted); ok {
					on[e.Attempt.Task] = e.Node
				}
			},
		}))
		task := func(k state.Kind, i int32) traces.Node { return on[traces.Task{Job: "a", Kind: k, Index: i}] }
		if task(state.Map, 0) != "n0" || task(state.Map, 1) != "n0" || task(state.Reduce, 0) != "n1" {
			t.Fatalf("the tasks run on %v, want both maps on n0 and the reduce on n1", on)
		}
		want := 100 + 1000 + x.want + 500
		if got := r.Jobs[1].EndMs; got < want || got > want+5 {
			t.Errorf("link of %d, uplink of %d B/s: the job ends at %d ms, want %d", x.link, x.uplink, got, want)
		}
		if r.Bytes.Shuffled != 80e6 {
			t.Errorf("%d bytes fetched, want all of the maps' output", r.Bytes.Shuffled)
		}
	}
}

// TestSlowStart has reduces ask for containers when so many maps are done, and no
// earlier: four maps of 1 s run one after the other, and the reduce beside them.
func TestSlowStart(t *testing.T) {
	for _, x := range []struct {
		share  float32
		before int64 // ms after which the reduce may start
	}{{0, 0}, {0.25, 1000}, {0.3, 2000}, {0.5, 2000}, {0.75, 3000}, {1, 4000}} {
		j := simpleJob("a", 0, 4, 1, Work{FixedMs: 1000})
		j.SlowStart = x.share
		first := int64(-1)
		_, err := Run(&Config{
			Cluster: slots(1, 2), Source: &Jobs{List: []Job{j}}, Actuator: Ideal, Costs: NoCosts(), MapSlots: 1, ReduceSlots: 1,
			Record: func(e traces.Event) {
				if e, ok := e.(*traces.AttemptStarted); ok && e.Attempt.Kind == state.Reduce {
					first = e.T.Milliseconds()
				}
			},
		})
		mustDo(t, err)
		if first < x.before || x.share == 1 && first > x.before+10 {
			t.Errorf("slow start %v: the reduce starts at %d ms, want %d or later", x.share, first, x.before)
		}
	}
}

// TestCachesKeepWhatWasRead: of blocks that are read in turn, a cache with room for
// all has each from the second time on, and one with room for all but one has none,
// since what is read longest ago goes first.
func TestCachesKeepWhatWasRead(t *testing.T) {
	const blocks, jobs, size = 5, 4, int64(1 << 20)
	for room, want := range map[int64]int64{0: 0, blocks - 1: 0, blocks: blocks * (jobs - 1), 2 * blocks: blocks * (jobs - 1)} {
		source := &Jobs{}
		for i := range int64(jobs) {
			j := simpleJob(fmt.Sprint("job", i), i*60_000, blocks, 0, Work{InputBytes: size, ComputeMs: 10})
			for b := range blocks {
				j.Replicas.Add(0)
				j.Blocks = append(j.Blocks, traces.Block(b))
			}
			source.List = append(source.List, j)
		}
		c := slots(1, 1)
		c.Nodes[0].CacheBytes = room * size
		r := must(Run(&Config{Cluster: c, Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts(), CacheReads: true}))
		if got := r.Maps[state.LevelCache]; got != want || r.Maps[state.LevelNode] != blocks*jobs-want {
			t.Errorf("room for %d blocks: %d of %d reads from the cache, want %d", room, got, blocks*jobs, want)
		}
	}
}

// TestLabelsByHand has containers come one at a time to a node, each so long after its
// decision as a label takes; with other actuators all come at once.
func TestLabelsByHand(t *testing.T) {
	for actuator, want := range map[Actuator][]int64{Ideal: {0, 0, 0, 0}, Native: {0, 0, 0, 0}, Labels: {100, 200, 300, 400}} {
		costs := NoCosts()
		costs.LabelMs = []int32{100}
		var starts []int64
		r := must(Run(&Config{
			Cluster: slots(1, 4), Source: &Jobs{List: []Job{simpleJob("a", 0, 4, 0, Work{FixedMs: 5000})}}, Model: newModel(t, "fifo"),
			Actuator: actuator, Costs: costs,
			Record: func(e traces.Event) {
				if e, ok := e.(*traces.AttemptStarted); ok {
					starts = append(starts, e.T.Milliseconds())
				}
			},
		}))
		for i, ms := range want {
			if len(starts) != len(want) || starts[i] < ms || starts[i] > ms+4 {
				t.Errorf("actuator %d: maps start at %v ms, want %v", actuator, starts, want)
				break
			}
		}
		if r.Decisions.Made != 4 || r.Decisions.AsExpected != 4 || r.Decisions.Unused != 0 {
			t.Errorf("actuator %d: %+v, want four decisions, each as expected", actuator, r.Decisions)
		}
	}
}

// TestMastersShare has ApplicationMasters take no more than their share of the memory
// together, but one of them always run.
func TestMastersShare(t *testing.T) {
	for _, x := range []struct {
		share float64
		most  int
	}{{0, 1}, {0.1, 1}, {0.25, 2}, {0.5, 4}, {1, 6}} {
		costs := NoCosts()
		costs.AMShare = x.share
		source := &Jobs{}
		for i := range 6 {
			j := simpleJob(fmt.Sprint("job", i), 0, 1, 0, Work{FixedMs: 1000})
			j.AMSize = state.Resource{MemoryMB: 1024, VCores: 1}
			source.List = append(source.List, j)
		}
		running, most := 0, 0
		must(Run(&Config{Cluster: slots(2, 4), Source: source, Costs: costs, Record: func(e traces.Event) {
			switch e.(type) {
			case *traces.JobStarted:
				running++
				most = max(most, running)
			case *traces.JobFinished:
				running--
			}
		}}))
		if most != x.most {
			t.Errorf("a share of %v of 8 GB: %d masters of 1 GB at a time, want %d", x.share, most, x.most)
		}
	}
}

// TestLongTasks has a task on a slow node take as long as it does, up to the 49 days that
// the simulator can look ahead, and never less.
func TestLongTasks(t *testing.T) {
	const month = math.MaxInt32
	for speed, want := range map[float64]int64{
		1: month, 0.5: 2 * month, 0.25: kernel.MaxAheadMs, 1e-3: kernel.MaxAheadMs,
		1e-6: kernel.MaxAheadMs, 1e-300: kernel.MaxAheadMs,
	} {
		for _, cores := range []float64{0, 1} {
			c := slots(1, 1)
			c.Nodes[0].Speed = speed
			if c.Nodes[0].Cores = cores; cores > 0 && speed < 0.5 {
				continue // shared cores need not look ahead
			}
			r := must(Run(&Config{
				Cluster: c, Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{ComputeMs: month})}}, Costs: NoCosts(),
				Actuator: Ideal,
			}))
			if r.MakespanMs < want || r.MakespanMs > want+10 {
				t.Errorf("speed %v, %v cores: %d ms, want %d", speed, cores, r.MakespanMs, want)
			}
		}
	}
}
