package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

var update = flag.Bool("update", false, "write the digests anew")

// scenario is a run with a bit of everything, by name of the model and actuator.
func scenario(t testing.TB, model string, a Actuator, seed uint64) *Config {
	const nodes = 24
	c := slots(nodes, 4)
	for n := range c.Nodes {
		c.Nodes[n].Rack = fmt.Sprint("r", n/8)
		c.Nodes[n].DiskBytesPerSec, c.Nodes[n].LinkBytesPerSec = 200e6, 125e6
		c.Nodes[n].Speed = []float64{1, 1, 0.7}[n%3]
		c.Nodes[n].CacheBytes = 1 << 30
	}
	for r := range 3 {
		c.Racks = append(c.Racks, Rack{fmt.Sprint("r", r), 200e6})
	}
	key := draw.Stream(seed, "scenario")
	source := &Jobs{}
	for i := range uint64(25) {
		k := key.At(i)
		maps := int32(1 + k.At(0).Below(60))
		j := simpleJob(fmt.Sprintf("job_%04d", i), int64(i)*4000, maps, maps/8, Work{
			InputBytes: 64 << 20, OutputBytes: 20 << 20, ComputeMs: 6000,
			SpreadPercent: 40,
		})
		j.Queue, j.SlowStart = []string{"a", "b"}[i%2], 0.3
		j.ReduceWork = []Work{{OutputBytes: 64 << 20, ComputeMs: 3000}}
		j.AMSize = state.Resource{MemoryMB: 512}
		for m := range uint64(maps) {
			a := k.At(1).At(m).Below(nodes)
			j.Replicas.Add(state.NodeID(a), state.NodeID((a+8)%nodes), state.NodeID((a+9)%nodes))
			j.Blocks = append(j.Blocks, traces.Block(k.At(2).At(m).Below(50)))
		}
		source.List = append(source.List, j)
	}
	costs := DefaultCosts()
	costs.NodeExpiryMs = 10_000
	return &Config{
		Cluster: c, Source: source, Model: newModel(t, model), Actuator: a, Costs: costs, Seed: seed, Speculation: HadoopSpeculation,
		CacheReads: seed%2 == 0,
		Faults: []Fault{
			{AtMs: 20_000, What: NodeSlow, Node: 3, Speed: 0.2},
			{AtMs: 30_000, What: AttemptsFail, Share: 0.02},
			{AtMs: 40_000, What: NodeDown, Node: 5},
			{AtMs: 90_000, What: NodeUp, Node: 5},
		},
	}
}

// The same input, seed and model give the digests of testdata, on any machine,
// with any number of processors, however often.
func TestDigests(t *testing.T) {
	var out strings.Builder
	for _, model := range quickModels() {
		for a := Native; a <= Ideal; a++ {
			for seed := range uint64(2) {
				r, err := Run(scenario(t, model, a, seed))
				if err != nil {
					t.Fatalf("%s, actuator %d, seed %d: %v", model, a, seed, err)
				}
				fmt.Fprintf(&out, "%s actuator=%d seed=%d %v %d ms\n", model, a, seed, r.Digest, r.MakespanMs)
			}
		}
	}
	file := filepath.Join("testdata", "digests.txt")
	if *update {
		mustDo(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want := must(os.ReadFile(file))
	if out.String() != string(want) {
		t.Errorf("digests have changed; go test -update ./harness/sim writes them anew\n%s", out.String())
	}
}

// A hundred runs, in one simulator that keeps its memory and in new ones, on one
// processor and on all.
func TestSameOverRuns(t *testing.T) {
	var s Sim
	var first traces.ScheduleDigest
	for i := range 100 {
		before := 0
		if i%10 == 0 {
			before = runtime.GOMAXPROCS(1 + i/10%2)
		}
		var r Result
		run := s.Run
		if i%3 == 0 {
			run = new(Sim).Run
		}
		mustDo(t, run(scenario(t, "capacity", Native, 1), &r))
		if before > 0 {
			runtime.GOMAXPROCS(before)
		}
		if i == 0 {
			first = r.Digest
		}
		if r.Digest != first {
			t.Fatalf("run %d: digest %v, the first had %v", i, r.Digest, first)
		}
	}
}

// Heartbeats that are left out change nothing.
func TestAllBeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		c.Costs.NodeBeatMs = max(c.Costs.NodeBeatMs, 200) // all of them take a while
		source := c.Source.(*Jobs)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		source.Rewind()
		if c.Model, err = sched.New(c.Model.Name(), nil); err != nil {
			t.Fatal(err)
		}
		c.Opportunities = everyBeat(t, c, r)
		source.Rewind()
		all, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if all.Digest != r.Digest {
			t.Fatalf("digest %v with all %d heartbeats, %v with %d", all.Digest, all.Beats, r.Digest, r.Beats)
		}
	})
}

// everyBeat is all heartbeats of all nodes to the end of the run r of c.
func everyBeat(t *rapid.T, c *Config, r *Result) []Opportunity {
	var s Sim
	if err := s.begin(c, new(Result)); err != nil {
		t.Fatal(err)
	}
	end := int64(0)
	for _, j := range r.Jobs {
		end = max(end, j.EndMs)
	}
	for n := range s.nodes.list {
		s.nodes.ring.Set(int32(n), true)
	}
	list := []Opportunity{}
	for n, at := s.nodes.ring.Next(0); at <= end; n, at = s.nodes.ring.Next(at) {
		list = append(list, Opportunity{AtMs: at, Node: state.NodeID(n)})
		s.nodes.ring.Passed()
	}
	return list
}

// A run's heartbeats, fed to another one, give the same decisions.
func TestOpportunities(t *testing.T) {
	for _, actuator := range []Actuator{Native, Labels, Ideal} {
		c := scenario(t, "delay", actuator, 1)
		var decisions []string
		var fed []Opportunity
		c.Record = func(e traces.Event) {
			switch e := e.(type) {
			case *traces.Decision:
				decisions = append(decisions, fmt.Sprint(*e))
			case *traces.Heartbeat:
				var n int
				fmt.Sscanf(string(e.Node), "n%d", &n)
				fed = append(fed, Opportunity{AtMs: e.T.Milliseconds(), Node: state.NodeID(n)})
			}
		}
		c.Faults, c.Speculation = nil, NoSpeculation // their copies take room at heartbeats, too
		for i := range c.Source.(*Jobs).List {
			c.Source.(*Jobs).List[i].AMSize = state.Resource{} // and so do masters
		}
		r := must(Run(c))
		want := decisions
		decisions = nil
		c.Source.(*Jobs).Rewind()
		c.Model, c.Opportunities = newModel(t, "delay"), fed
		c.Record = func(e traces.Event) {
			if d, ok := e.(*traces.Decision); ok {
				decisions = append(decisions, fmt.Sprint(*d))
			}
		}
		again := must(Run(c))
		if r.Digest != again.Digest || strings.Join(want, "\n") != strings.Join(decisions, "\n") {
			t.Errorf("actuator %d: %d decisions, digest %v; fed with the heartbeats %d, %v", actuator, len(want), r.Digest, len(decisions),
				again.Digest)
		}
	}
}

// A run in memory that another has used allocates next to nothing.
func TestNoAllocations(t *testing.T) {
	for _, nodeFetches := range []bool{false, true} {
		noAllocations(t, nodeFetches)
	}
}

func noAllocations(t *testing.T, nodeFetches bool) {
	var s Sim
	var r Result
	events := int64(0)
	run := func() {
		c := scenario(t, "capacity", Native, 1)
		c.NodeFetches = nodeFetches
		c.Faults, c.Speculation = nil, NoSpeculation
		mustDo(t, s.begin(c, &r))
		for s.jobs.live == 0 {
			mustDo(t, s.step())
		}
	}
	run()
	for range 1000 { // warm
		mustDo(t, s.step())
	}
	allocs := testing.AllocsPerRun(3, func() {
		before := s.events.Handled + r.Beats
		for range 500 {
			mustDo(t, s.step())
		}
		events = s.events.Handled + r.Beats - before
	})
	t.Logf("%.0f allocations in %d events", allocs, events)
	// Disks and links that were never so full before still grow; a long run has
	// none of that, see heddle bench.
	if allocs > float64(events)/20 {
		t.Errorf("%.0f allocations in %d events", allocs, events)
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
