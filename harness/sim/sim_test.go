package sim

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

// slots is a cluster of nodes with so many slots of 1 GB, in racks of 40.
func slots(nodes, each int) Machines {
	c := Machines{WritesWait: true}
	for n := range nodes {
		c.Nodes = append(c.Nodes, Node{
			Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n/40),
			Capacity: state.Resource{MemoryMB: 1024, VCores: 1}.Times(int32(each)),
		})
	}
	return c
}

func simpleJob(name string, submitMs int64, maps, reduces int32, w ...Work) Job {
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	j := Job{SubmitMs: submitMs, SlowStart: 1, MapWork: w, ReduceWork: []Work{{FixedMs: 1000}}}
	j.JobSpec = state.JobSpec{Name: name, Queue: "default", Maps: maps, Reduces: reduces, MapSize: size, ReduceSize: size}
	return j
}

// Rewind starts the list anew.
func (s *Jobs) Rewind() { s.next = 0 }

func newModel(t testing.TB, name string) sched.Model {
	m := must(sched.New(name, nil))
	return m
}

// One node, one slot, nothing costs anything: jobs run one after the other.
func TestSingleSlotIsFIFO(t *testing.T) {
	source := &Jobs{List: []Job{
		simpleJob("a", 0, 2, 0, Work{FixedMs: 1000}),
		simpleJob("b", 100, 1, 1, Work{FixedMs: 500}),
		simpleJob("c", 10_000, 1, 0, Work{FixedMs: 700}),
	}}
	r := must(Run(&Config{Cluster: slots(1, 1), Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
	for i, want := range []int64{2000, 3500, 10_700} {
		if got := r.Jobs[i].EndMs; got < want || got > want+5 {
			t.Errorf("job %d ended at %d ms, want %d", i, got, want)
		}
	}
}

// A node of 4 containers with 2 map slots and 1 reduce slot runs 4 maps in two
// waves and 2 reduces one after the other, under each actuator.
func TestSlotsLimitTasks(t *testing.T) {
	for _, c := range []struct {
		maps, reduces int32
		wantMs        int64
	}{{0, 0, 2000}, {2, 1, 4000}, {4, 1, 3000}, {1, 2, 5000}} {
		for a := Native; a <= Ideal; a++ {
			source := &Jobs{List: []Job{simpleJob("a", 0, 4, 2, Work{FixedMs: 1000})}}
			r := must(Run(&Config{
				Cluster: slots(1, 4), Source: source, Model: newModel(t, "fifo"), Actuator: a, Costs: NoCosts(), MapSlots: c.maps,
				ReduceSlots: c.reduces,
			}))
			if got := r.Jobs[0].EndMs; got < c.wantMs || got > c.wantMs+20 {
				t.Errorf("%d map slots and %d reduce slots, actuator %d: the job ended at %d ms, want %d", c.maps, c.reduces, a, got, c.wantMs)
			}
		}
	}
}

// Jobs of more tasks than memory is meant for are refused.
func TestTooManyTasks(t *testing.T) {
	huge := simpleJob("a", 0, maxTasks, 1, Work{FixedMs: 1})
	errtest.Has(t, errtest.Of(Run(&Config{Cluster: slots(1, 1), Source: &Jobs{List: []Job{huge}}, Costs: NoCosts()})), "the limit is")
}

// quickModels are the models but clqlmrs, which trains before each job for longer
// than a test should take, and planned, which may wait for ever for a node that
// ApplicationMasters have filled.
func quickModels() []string {
	var names []string
	for _, info := range sched.List() {
		if info.Name != "clqlmrs" && info.Name != "planned" {
			names = append(names, info.Name)
		}
	}
	return names
}

// Splits that name only cached copies have more maps read them, under a model
// and under the cluster's own scheduler, which knows of nothing else. Where there
// is no cached copy, maps stay with their replicas.
func TestCachedOnly(t *testing.T) {
	const nodes, maps = 8, 64
	for _, actuator := range []Actuator{Native, Labels} {
		cached := func(splits Splits) int64 {
			j := simpleJob("a", 0, maps, 0, Work{InputBytes: 1 << 20, FixedMs: 1000})
			for m := range maps {
				j.Replicas.Add(state.NodeID(m%nodes), state.NodeID((m+3)%nodes))
				if m%2 == 0 {
					j.Cached.Add(state.NodeID((m + 3) % nodes))
				} else {
					j.Cached.Add()
				}
			}
			r := must(Run(&Config{
				Cluster: slots(nodes, 2), Source: &Jobs{List: []Job{j}}, Model: newModel(t, "capacity"), Actuator: actuator,
				Splits: splits, Costs: NoCosts(), Seed: 1,
			}))
			l := r.Maps
			if n := l[state.LevelCache] + l[state.LevelNode]; n < maps*3/4 {
				t.Errorf("actuator %d, splits %d: %d of %d maps are node-local", actuator, splits, n, maps)
			}
			return l[state.LevelCache]
		}
		if before, after := cached(AsSubmitted), cached(CachedOnly); after < maps/2-4 || after <= before {
			t.Errorf("actuator %d: %d maps are cache-local with splits as submitted, %d with cached copies only, of %d that could be", actuator,
				before, after, maps/2)
		}
	}
}

// Nodes of one machine share its cores, whichever of them tasks are on.
func TestHostCores(t *testing.T) {
	for hostCores, want := range map[float64]int64{0: 1000, 1: 4000, 2: 2000, 3: 1333, 8: 1000} {
		c := slots(4, 1)
		c.HostCores = hostCores
		source := &Jobs{List: []Job{simpleJob("a", 0, 4, 0, Work{ComputeMs: 1000})}}
		r := must(Run(&Config{Cluster: c, Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
		if r.MakespanMs < want || r.MakespanMs > want+10 {
			t.Errorf("four maps of a second on %v cores of one machine took %d ms, want %d", hostCores, r.MakespanMs, want)
		}
	}
}

// ApplicationMasters that are up beside the nodes take cores of the machine from tasks, but
// no more than half of them, and give them back when their jobs end.
func TestMasterCores(t *testing.T) {
	a, b := simpleJob("a", 0, 4, 0, Work{ComputeMs: 1000}), simpleJob("b", 0, 2, 0, Work{ComputeMs: 1000})
	half, short := simpleJob("a", 0, 2, 0, Work{ComputeMs: 1000}), simpleJob("b", 0, 1, 0, Work{FixedMs: 500})
	for _, c := range []struct {
		name      string
		cores, up float64
		jobs      []Job
		want      int64
	}{
		{"one, as when the cores were measured", 0.5, 1, []Job{a}, 2000},
		{"one more than when the cores were measured", 0.5, 0, []Job{a}, 2667},
		{"two jobs", 0.5, 1, []Job{half, b}, 2667},
		{"it takes more than all", 3, 0, []Job{a}, 4000},
		{"the second job ends", 0.5, 0, []Job{a, short}, 500 + 2333}, // half a second on one core, and what is left on 1.5
	} {
		cluster := slots(5, 1)
		cluster.HostCores, cluster.MasterCores, cluster.MastersUp = 2, c.cores, c.up
		r := must(Run(&Config{Cluster: cluster, Source: &Jobs{List: c.jobs}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
		if r.MakespanMs < c.want || r.MakespanMs > c.want+10 {
			t.Errorf("%s: %d ms, want %d", c.name, r.MakespanMs, c.want)
		}
	}
}

// A container waits until the one before it in its place is freed. Where nothing ran, or
// ended long ago, it does not wait.
func TestFree(t *testing.T) {
	for _, c := range []struct {
		name   string
		slots  int
		freeMs int32
		jobs   []Job
		starts []int64 // of the jobs' maps
	}{
		{"it is part of the launch", 1, 0, []Job{simpleJob("a", 0, 3, 0, Work{FixedMs: 1000})}, []int64{100, 1200, 2300}},
		{"in turn", 1, 500, []Job{simpleJob("a", 0, 3, 0, Work{FixedMs: 1000})}, []int64{100, 1700, 3300}},
		{"beside each other", 3, 500, []Job{simpleJob("a", 0, 3, 0, Work{FixedMs: 1000})}, []int64{100, 100, 100}},
		{
			"while it is freed", 1, 500,
			[]Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 1000}), simpleJob("b", 1300, 1, 0, Work{FixedMs: 1000})},
			[]int64{100, 1700},
		},
		{
			"after it was freed", 1, 500,
			[]Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 1000}), simpleJob("b", 5000, 1, 0, Work{FixedMs: 1000})},
			[]int64{100, 5100},
		},
	} {
		costs := NoCosts()
		costs.LaunchMs, costs.FreeMs = 100, c.freeMs
		var starts []int64
		_, err := Run(&Config{
			Cluster: slots(1, c.slots), Source: &Jobs{List: c.jobs}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: costs,
			Record: func(e traces.Event) {
				if a, ok := e.(*traces.AttemptStarted); ok {
					starts = append(starts, a.T.Milliseconds())
				}
			},
		})
		if err != nil || !slices.Equal(starts, c.starts) {
			t.Errorf("%s: maps started at %d ms, want %d; error %v", c.name, starts, c.starts, err)
		}
	}
}

// Tasks that share a core slow each other, so that two take longer beside each other than one
// after the other.
func TestContention(t *testing.T) {
	for _, c := range []struct {
		name      string
		hostCores float64
		maps      []int32 // computing times in ms, alone
		want      int64
	}{
		{"a core for each", 8, []int32{1000, 1000, 1000, 1000}, 1000},
		{"two a core: a tenth longer", 2, []int32{1000, 1000, 1000, 1000}, 2200},
		{"three on two cores", 2, []int32{1000, 1000, 1000}, 1575},
		{"four a core", 1, []int32{1000, 1000, 1000, 1000}, 5200},
		{"eight a core, which is as with four", 0.5, []int32{1000, 1000, 1000, 1000}, 10_400},
		{"the longer one goes on alone", 1, []int32{1000, 2000}, 3200},
	} {
		cluster := slots(4, 1)
		cluster.HostCores, cluster.Contention = c.hostCores, 0.1
		var work []Work
		for _, ms := range c.maps {
			work = append(work, Work{ComputeMs: ms})
		}
		job := simpleJob("a", 0, int32(len(work)), 0, work...)
		r := must(Run(&Config{Cluster: cluster, Source: &Jobs{List: []Job{job}}, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
		if r.MakespanMs < c.want || r.MakespanMs > c.want+10 {
			t.Errorf("%s: %d ms, want %d", c.name, r.MakespanMs, c.want)
		}
	}
}

// The cores of one machine have the speed of its fastest node, and so has the start of an
// ApplicationMaster beside the nodes. A slower node slows its own tasks alone.
func TestHostSpeed(t *testing.T) {
	for _, c := range []struct {
		speeds [4]float64
		want   int64 // four maps of a second on two cores, after an ApplicationMaster that starts in a second
	}{
		{[4]float64{1, 1, 1, 1}, 3000},
		{[4]float64{0.5, 0.5, 0.5, 0.5}, 6000},
		{[4]float64{2, 2, 2, 2}, 1500},
		{[4]float64{0.25, 1, 1, 1}, 5000}, // one second, and four for the map of the slow node
	} {
		cluster := slots(4, 1)
		cluster.HostCores = 2
		for i, speed := range c.speeds {
			cluster.Nodes[i].Speed = speed
		}
		costs := NoCosts()
		costs.AMStartMs = 1000
		source := &Jobs{List: []Job{simpleJob("a", 0, 4, 0, Work{ComputeMs: 1000})}}
		r := must(Run(&Config{Cluster: cluster, Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: costs}))
		if r.MakespanMs < c.want || r.MakespanMs > c.want+20 {
			t.Errorf("on nodes of the speeds %v: %d ms, want %d", c.speeds, r.MakespanMs, c.want)
		}
	}
}
