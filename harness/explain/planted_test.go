package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/harness/sim"
	"heddle/harness/state"
)

// wordcount is a simulated job of 32 maps on four nodes of two slots in two racks, all of
// whose input is cached unless cold is true.
func wordcount(seed uint64, reduces int32, cold bool) *sim.Config {
	c := &sim.Config{Costs: sim.DefaultCosts(), Seed: seed}
	c.Costs.NodeBeatMs, c.Costs.AMBeatMs, c.Costs.NodeExpiryMs = 200, 200, 120_000
	for n := range 4 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprintf("r%dn%d", 1+n/2, 1+n%2), Rack: fmt.Sprint("/r", 1+n/2), Capacity: state.Resource{MemoryMB: 1024, VCores: 8},
			DiskBytesPerSec: 80e6, LinkBytesPerSec: 25e6, Cores: 2,
		})
	}
	j := sim.Job{SlowStart: 0.05, ID: "job_1_0001"}
	j.JobSpec = state.JobSpec{
		Name: "wordcount", Maps: 32, Reduces: reduces, MapSize: state.Resource{MemoryMB: 512, VCores: 1},
		ReduceSize: state.Resource{MemoryMB: 512, VCores: 1},
	}
	j.MapWork = []sim.Work{{InputBytes: 16 << 20, ComputeMs: 4000, OutputBytes: 16 << 20, SpreadPercent: 20}}
	j.ReduceWork = []sim.Work{{InputBytes: 32 * 16 << 20 / int64(reduces), ComputeMs: 3000, OutputBytes: 4 << 20, SpreadPercent: 10}}
	for i := range state.NodeID(32) {
		a := (i*7 + state.NodeID(seed)) % 4
		j.Replicas.Add(a, (a+1+i%3)%4)
		if cold {
			j.Cached.Add()
		} else {
			j.Cached.Add(a)
		}
	}
	c.Source = &sim.Jobs{List: []sim.Job{j}}
	return c
}

// TestPlanted makes what takes 30 % of the makespan or more: it must come first, with each of
// twenty seeds.
func TestPlanted(t *testing.T) {
	for _, x := range []struct {
		name    string
		reduces int32
		cold    bool
		want    []Cause
		plant   func(c *sim.Config, seed int)
	}{
		{"slow node", 2, false, []Cause{slowNode}, func(c *sim.Config, seed int) { c.Cluster.Nodes[seed%4].Speed = 0.06 }},
		{"node becomes slow", 2, false, []Cause{slowNode}, func(c *sim.Config, seed int) {
			c.Faults = []sim.Fault{{AtMs: 8000, What: sim.NodeSlow, Node: state.NodeID(seed % 4), Speed: 0.1}}
		}},
		{"narrow uplink", 2, false, []Cause{link, farRead}, func(c *sim.Config, seed int) {
			c.Cluster.Racks = []sim.Rack{{Name: fmt.Sprint("/r", 1+seed%2), UplinkBytesPerSec: 3e6}}
		}},
		{
			"narrow link", 2, false,
			[]Cause{link},
			func(c *sim.Config, seed int) { c.NodeFetches = true; c.Cluster.Nodes[seed%4].LinkBytesPerSec = 2e6 },
		},
		{"too many reduces", 8, false, []Cause{reducesHold}, func(c *sim.Config, _ int) { c.Cluster.MastersMB, c.Costs.AMBesideMB = 4096, 512 }},
		{"cold cache", 2, true, []Cause{disk}, func(c *sim.Config, _ int) {
			for i := range c.Cluster.Nodes {
				c.Cluster.Nodes[i].DiskBytesPerSec = 1e6
			}
		}},
		{"lost node", 2, false, []Cause{nodeLost}, func(c *sim.Config, seed int) {
			c.Faults = []sim.Fault{{AtMs: 9000 + 200*int64(seed), What: sim.NodeDown, Node: state.NodeID(seed % 4)}}
		}},
		{"healthy", 2, false, nil, func(*sim.Config, int) {}},
	} {
		for seed := range 20 {
			calm := simulated(t, wordcount(uint64(seed), 2, false), "capacity").explained(t)
			c := wordcount(uint64(seed), x.reduces, x.cold)
			x.plant(c, seed)
			y := simulated(t, c, "capacity").explained(t)
			planted := 1 - float64(calm.Makespan)/float64(y.Makespan)
			if planted < 0.3 && x.want != nil {
				t.Errorf("%s, seed %d: takes only %.0f %% of %v", x.name, seed, 100*planted, y.Makespan)
			}
			first := y.Lines[0]
			if x.want != nil && !slices.Contains(x.want, first.Cause) || x.want == nil && !first.Inherent && first.Share > 10 {
				t.Errorf("%s, seed %d: first of %v is %s, %v: %s", x.name, seed, y.Makespan, first.Cause, first.Seconds, first.Sentence)
			}
		}
	}
}

// TestAlike has a thousand runs on nodes that are alike, with maps that differ much, and read from the cache, from
// disks and from other nodes, some of them slowly: no line calls a node slow.
func TestAlike(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		c := wordcount(seed, 2+int32(rng.IntN(8)), true)
		disk, j := pick[int64](rng, 0, 1e6, 5e6, 80e6), &c.Source.(*sim.Jobs).List[0]
		for i := range c.Cluster.Nodes {
			c.Cluster.Nodes[i].DiskBytesPerSec = disk
		}
		j.Maps, j.Cached, j.Replicas, j.MapWork = int32(8+rng.IntN(40)), state.Hosts{}, state.Hosts{}, nil
		spread := pick(rng, 0, 0.3, 0.8)
		for range j.Maps {
			hosts := []state.NodeID{state.NodeID(rng.IntN(4)), state.NodeID(rng.IntN(4))}
			j.Replicas.Add(hosts...)
			j.Cached.Add(hosts[:rng.IntN(2)]...)
			compute := int32(4000 * math.Exp(spread*rng.NormFloat64()))
			j.MapWork = append(j.MapWork, sim.Work{InputBytes: 8 << 20, ComputeMs: compute, OutputBytes: 8 << 20})
		}
		x := simulated(t, c, pick(rng, "acl", "delay", "capacity", "random")).explained(t)
		for _, l := range x.Lines {
			if l.Cause == slowNode {
				t.Errorf("seed %d: of %v, %v: %s", seed, x.Makespan, l.Seconds, l.Sentence)
			}
		}
	}
}
