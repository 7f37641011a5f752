package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// TestLeastByHand has the bound of a job worked out by hand: the ApplicationMaster is up
// after 3.3 s. Ten maps compute 2 s each after a start of 1 s, on 2 nodes with 2 cores
// each: 30 s on 4 cores are 7.5 s, after a launch of 0.1 s. A reduce starts after the last
// map, for 1 s, and computes 3 s. The job ends 0.5 s later. What the bound leaves for
// rounding is 4 ms a phase.
func TestLeastByHand(t *testing.T) {
	c := &Config{Costs: DefaultCosts()}
	for n := range 2 {
		c.Cluster.Nodes = append(c.Cluster.Nodes,
			Node{Name: fmt.Sprint("n", n), Rack: "r", Cores: 2, Capacity: state.Resource{MemoryMB: 8192, VCores: 8}})
	}
	j := simpleJob("job", 0, 10, 1)
	j.SlowStart = 1
	j.MapWork, j.ReduceWork = []Work{{ComputeMs: 2000}}, []Work{{ComputeMs: 3000}}
	const want = 300 + 3000 + 100 + 7500 + 1000 + 3000 + 500
	if got := c.LeastMs(&j); got > want || got < want-3*perPhase {
		t.Errorf("%d ms, want %d", got, want)
	}
	c.Speculation = LATE
	if got := c.LeastMs(&j); got != 0 {
		t.Errorf("with speculation: %d ms, want 0", got)
	}
}

// TestLeast has no job end before its bound, whatever the cluster, the work and the model.
func TestLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Config{Costs: DefaultCosts(), Actuator: Ideal, Seed: rapid.Uint64().Draw(t, "seed")}
		c.Cluster.WritesWait = rapid.Bool().Draw(t, "writes wait")
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		for n := range nodes {
			x := Node{
				Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n%2),
				Capacity: state.Resource{MemoryMB: 1024, VCores: 1}.Times(rapid.Int32Range(1, 6).Draw(t, "slots")),
				Cores:    float64(rapid.IntRange(0, 4).Draw(t, "cores")), Speed: rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(t, "speed"),
				DiskBytesPerSec:   rapid.SampledFrom([]int64{0, 30e6, 120e6}).Draw(t, "disk"),
				LinkBytesPerSec:   rapid.SampledFrom([]int64{0, 1e8, 1e9}).Draw(t, "link"),
				MemoryBytesPerSec: rapid.SampledFrom([]int64{0, 2e9}).Draw(t, "memory"),
			}
			c.Cluster.Nodes = append(c.Cluster.Nodes, x)
		}
		maps, reduces := rapid.Int32Range(1, 30).Draw(t, "maps"), rapid.Int32Range(0, 4).Draw(t, "reduces")
		j := simpleJob("job", 0, maps, reduces)
		j.SlowStart = rapid.SampledFrom([]float32{0, 0.05, 1}).Draw(t, "slow start")
		j.MapWork = []Work{{
			InputBytes: rapid.Int64Range(0, 128<<20).Draw(t, "bytes"), OutputBytes: rapid.Int64Range(0, 64<<20).Draw(t, "out"),
			ComputeMs: rapid.Int32Range(0, 9000).Draw(t, "ms"), SpreadPercent: 10,
		}}
		j.ReduceWork = []Work{{
			OutputBytes: rapid.Int64Range(0, 64<<20).Draw(t, "written"),
			ComputeMs:   rapid.Int32Range(0, 9000).Draw(t, "reduce ms"), SpreadPercent: 10,
		}}
		c.NodeFetches = rapid.Bool().Draw(t, "from nodes")
		if rapid.Bool().Draw(t, "fixed") {
			j.MapWork[0].FixedMs = rapid.Int32Range(1, 5000).Draw(t, "fixed ms")
		}
		j.Replicas, j.Cached = state.Hosts{}, state.Hosts{}
		for range maps {
			at := state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "replica"))
			j.Replicas.Add(at)
			if rapid.Bool().Draw(t, "cached") {
				j.Cached.Add(at)
			} else {
				j.Cached.Add()
			}
		}
		least := c.LeastMs(&j)
		m := must(sched.New(rapid.SampledFrom(idealModels).Draw(t, "model"), nil))
		c.Source, c.Model = &Jobs{List: []Job{j}}, m
		r := must(Run(c))
		if got := r.Jobs[0].EndMs - r.Jobs[0].SubmitMs; got < least {
			t.Fatalf("the job takes %d ms, and the bound is %d", got, least)
		}
	})
}
