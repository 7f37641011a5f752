package explain

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

// run is a simulated run: its header, and its events in order.
type run struct {
	header traces.Header
	events []traces.Event
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// simulated runs a simulation and keeps its trace.
func simulated(t testing.TB, c *sim.Config, model string) *run {
	t.Helper()
	r := &run{header: traces.Header{Origin: traces.Simulated, Model: model, MapSlots: c.MapSlots, ReduceSlots: c.ReduceSlots}}
	r.header.Cluster.HostCores = c.Cluster.HostCores
	for i := range c.Cluster.Nodes {
		n := &c.Cluster.Nodes[i]
		r.header.Cluster.Nodes = append(r.header.Cluster.Nodes, traces.NodeFacts{
			Node: traces.Node(n.Name), Rack: n.Rack, MemoryBytes: int64(n.Capacity.MemoryMB) << 20, VCores: n.Capacity.VCores, Cores: n.Cores,
			Worker: true,
		})
		if n.DiskBytesPerSec > 0 {
			r.header.Cluster.Disks = append(r.header.Cluster.Disks, traces.DiskFacts{Node: traces.Node(n.Name), BytesPerSec: n.DiskBytesPerSec})
		}
		if n.LinkBytesPerSec > 0 {
			r.header.Cluster.Links = append(r.header.Cluster.Links, traces.LinkFacts{Node: traces.Node(n.Name), BytesPerSec: n.LinkBytesPerSec})
		}
	}
	for _, rack := range c.Cluster.Racks {
		r.header.Cluster.Links = append(r.header.Cluster.Links, traces.LinkFacts{Rack: rack.Name, BytesPerSec: rack.UplinkBytesPerSec})
	}
	m := errtest.Must(sched.New(model, nil))
	c.Model = m
	c.Record = func(e traces.Event) {
		if e.Kind() != traces.KindHeartbeat {
			r.events = append(r.events, e)
		}
	}
	errtest.Must(sim.Run(c))
	traces.Sort(r.events)
	return r
}

// drawn is a random run: any cluster, jobs, faults, and shared cores, disks and links.
func drawn(t testing.TB, seed uint64) *run {
	rng := rand.New(rand.NewPCG(seed, 52))
	c := &sim.Config{
		Costs: pick(rng, sim.NoCosts(), sim.DefaultCosts(), sim.DefaultCosts()), Seed: seed,
		Actuator: pick(rng, sim.Native, sim.Native, sim.Ideal, sim.Labels),
	}
	c.Costs.NodeExpiryMs = 5000
	nodes, racks := 2+rng.IntN(6), 1+rng.IntN(3)
	for n := range nodes {
		x := sim.Node{Name: fmt.Sprintf("r%dn%d", n%racks, n), Rack: fmt.Sprint("/r", n%racks), Speed: pick(rng, 0, 0, 0, 0.3)}
		x.Capacity = state.Resource{MemoryMB: int32(1024 * (1 + rng.IntN(4))), VCores: int32(2 + rng.IntN(4))}
		x.DiskBytesPerSec, x.LinkBytesPerSec = pick[int64](rng, 0, 5e6, 80e6), pick[int64](rng, 0, 5e6, 25e6)
		x.Cores = pick(rng, 0.0, 1, 2)
		c.Cluster.Nodes = append(c.Cluster.Nodes, x)
	}
	if rng.IntN(3) == 0 {
		c.Cluster.HostCores = 2
	}
	if rng.IntN(4) == 0 {
		c.MapSlots, c.ReduceSlots = int32(1+rng.IntN(3)), int32(1+rng.IntN(2))
	}
	c.Speculation = sim.Speculation(rng.IntN(2))
	masters, calm := rng.IntN(2) == 0, rng.IntN(3) > 0
	if !calm {
		drawFaults(rng, c, nodes, masters)
	}
	at := int64(0)
	jobs := &sim.Jobs{}
	for i := range 1 + rng.IntN(5) {
		at += int64(rng.IntN(5000))
		jobs.List = append(jobs.List, drawJob(rng, i, at, nodes, masters))
	}
	c.Source = jobs
	return simulated(t, c, pick(rng, "fifo", "delay", "acl", "capacity", "fair", "random"))
}

func drawFaults(rng *rand.Rand, c *sim.Config, nodes int, masters bool) {
	at := int64(0)
	for range 1 + rng.IntN(4) {
		at += int64(rng.IntN(20_000))
		n := state.NodeID(1 + rng.IntN(nodes-1))
		switch {
		case rng.IntN(3) == 0 && !masters:
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.NodeDown, Node: n})
			at += int64(rng.IntN(40_000))
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.NodeUp, Node: n})
		case rng.IntN(2) == 0:
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.NodeSlow, Node: n, Speed: pick(rng, 0.2, 0.5, 1)})
		default:
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.AttemptsFail, Share: pick(rng, 0, 0.05, 0.2)})
		}
	}
}

func drawJob(rng *rand.Rand, i int, at int64, nodes int, masters bool) sim.Job {
	size := func() state.Resource { return state.Resource{MemoryMB: pick[int32](rng, 512, 1024), VCores: 1} }
	j := sim.Job{SubmitMs: at, SlowStart: pick[float32](rng, 0.05, 0.5, 1), ID: traces.JobID(fmt.Sprintf("job_7_%04d", i+1))}
	j.JobSpec = state.JobSpec{
		Name: fmt.Sprint("job", i%2), Queue: pick(rng, "a", "b"), Maps: int32(1 + rng.IntN(30)), MapSize: size(),
		ReduceSize: size(),
	}
	j.MapWork = []sim.Work{{InputBytes: 64 << 20, ComputeMs: int32(1000 + rng.IntN(9000)), OutputBytes: 32 << 20, SpreadPercent: 30}}
	j.Reduces = int32(rng.IntN(8))
	j.ReduceWork = []sim.Work{{InputBytes: 32 << 20, ComputeMs: int32(1000 + rng.IntN(5000)), OutputBytes: 8 << 20}}
	if masters {
		j.AMSize = state.Resource{MemoryMB: 512, VCores: 1}
	}
	for range j.Maps {
		var hosts []state.NodeID
		for _, n := range rng.Perm(nodes)[:min(nodes, 1+rng.IntN(2))] {
			hosts = append(hosts, state.NodeID(n))
		}
		j.Replicas.Add(hosts...)
		if rng.IntN(3) == 0 {
			j.Cached.Add(hosts[0])
		} else {
			j.Cached.Add()
		}
	}
	return j
}

func (r *run) explained(t testing.TB) *Explanation {
	t.Helper()
	reader := New(&r.header)
	for _, e := range r.events {
		reader.Add(e)
	}
	x, ok := reader.Explain()
	if !ok {
		t.Fatal("nothing explained")
	}
	return x
}
