package rhc

import (
	"context"
	"fmt"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/paper/rhc/model"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
)

// Figure 10's cluster has 15 nodes of 4 map and 2 reduce slots. The paper does not say what its
// network is: two racks whose uplinks have 1 Gbit/s are ours, and so are the links of the nodes.
const (
	mapSlots, reduceSlots = 4, 2
	linkBytesPerSec       = 125e6
	repeats               = 5
	blockBytes            = 64 << 20
	past, pastEveryMs     = 15, 300_000 // jobs from which the costs of slots are learnt, and the time from one to the next
	waitMs                = 60_000      // between Figure 10's two jobs
)

// varies is what a job's name is followed by in the note of how its time differs between repeats.
const varies = "Deviation"

// sorts runs Figure 10's two Sort jobs, which put out as many bytes as they read, after a number
// of others. Maps are placed by delay scheduling, alike for all rules.
func (x monteCarlo) sorts(ctx context.Context, s paper.Scheduler, seed uint64) (paper.Simulation, error) {
	var jobs []sim.Job
	for i := range past {
		jobs = append(jobs, sortJob("", int64(i)*pastEveryMs, 64, 4))
	}
	jobs = append(jobs, sortJob("first", past*pastEveryMs, 64, 2), sortJob("second", past*pastEveryMs+waitMs, 224, 4))
	out := paper.Simulation{Notes: map[string]float64{}, Samples: map[string][]float64{}}
	for run := range repeats {
		key := draw.Stream(seed, "sorts").At(uint64(run))
		rule, err := x.policy(s, uint64(key))
		if err == nil && rule == nil {
			err = fmt.Errorf("model %s is no rule for a cluster", s.Model)
		}
		if err != nil {
			return out, err
		}
		info := model.With(rule)
		reduces, err := info.New(sched.Params{"costs": "slots"})
		if err != nil {
			return out, err
		}
		maps, err := sched.New("delay", nil)
		if err != nil {
			return out, err
		}
		c := sim.Config{
			Model: sched.Compose(maps, reduces), Actuator: sim.Ideal, Costs: sim.DefaultCosts(), NodeFetches: true,
			MapSlots: mapSlots, ReduceSlots: reduceSlots, MinAllocation: slot, Interrupted: ctx.Err, Seed: uint64(key), Cluster: x.sorters(),
		}
		nodes := len(c.Cluster.Nodes)
		for i := range jobs {
			jobs[i].Replicas.Reset()
			for k := range uint64(jobs[i].Maps) {
				a := draw.Stream(seed, "blocks").At(uint64(i)).At(k).Below(nodes)
				jobs[i].Replicas.Add(state.NodeID(a), state.NodeID((a+nodes/2)%nodes))
			}
		}
		ends := make([]float64, len(jobs))
		c.Ended = func(e sim.AttemptEnd) { ends[e.Job] = max(ends[e.Job], float64(e.EndMs)/1000) }
		c.Source = &sim.Jobs{List: slices.Clone(jobs)}
		if _, err := sim.Run(&c); err != nil {
			return out, err
		}
		for i := past; i < len(jobs); i++ {
			name := jobs[i].Name
			out.Samples[name] = append(out.Samples[name], ends[i]-float64(jobs[i].SubmitMs)/1000)
		}
	}
	for name, times := range out.Samples {
		out.Notes[name], out.Notes[name+varies] = stats.Mean(times).Value, stats.Deviation(times)
	}
	return out, nil
}

// sorters is Figure 10's cluster.
func (x monteCarlo) sorters() (c sim.Machines) {
	for n := range 15 {
		node := sim.Node{Name: fmt.Sprint("node", n+1), Rack: fmt.Sprint("rack", 1+n/8), Capacity: slot.Times(mapSlots + reduceSlots)}
		node.LinkBytesPerSec = linkBytesPerSec
		if x.Links == "uneven" {
			node.LinkBytesPerSec /= int64(1 + n%5)
		}
		c.Nodes = append(c.Nodes, node)
	}
	c.Racks = []sim.Rack{{Name: "rack1", UplinkBytesPerSec: linkBytesPerSec}, {Name: "rack2", UplinkBytesPerSec: linkBytesPerSec}}
	return c
}

var slot = state.Resource{MemoryMB: 1024, VCores: 1}

// sortJob is a Sort job of blocks of 64 MB.
func sortJob(name string, submitMs int64, maps, reduces int32) sim.Job {
	j := sim.Job{
		SubmitMs:  submitMs,
		SlowStart: 0.05,
		MapWork:   []sim.Work{{InputBytes: blockBytes, OutputBytes: blockBytes, ComputeMs: 10_000, SpreadPercent: 20}},
	}
	j.ReduceWork = []sim.Work{{OutputBytes: int64(maps) * blockBytes / int64(reduces), ComputeMs: 10_000}}
	j.Name, j.Maps, j.Reduces, j.MapSize, j.ReduceSize = name, maps, reduces, slot, slot
	return j
}
